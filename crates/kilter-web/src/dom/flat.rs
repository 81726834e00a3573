//! Lays the parser's linked nodes flat in document order, with shadow roots and frames where they are seen.

use super::parse::{self, Limits};
use super::sink::{Data, Linked, NONE};
use super::{Attribute, Document, Element, Kind, Node};

/// Attribute bytes of one value that are kept, except those of `srcdoc` and `style`-free addresses.
const MAX_VALUE: usize = 1 << 16;

/// What is still to be laid: a node, or the end of the element at this place of the output.
enum Step {
    Node(u32),
    End(u32),
    /// Everything under the node, without the node.
    Under(u32),
}

pub(super) fn flatten(mut linked: Vec<Linked>, cut: bool, limits: &Limits, frame: u32) -> Document {
    let mut nodes = vec![Node {
        parent: 0,
        end: 1,
        kind: Kind::Document,
    }];
    nodes.reserve(linked.len());
    let mut cut = cut;
    let mut parents = vec![0_u32];
    let mut hosts: Vec<Host> = Vec::new();
    let mut steps = vec![Step::Under(fragment_root(&linked))];
    while let Some(step) = steps.pop() {
        match step {
            Step::End(at) => {
                let end = index(&nodes);
                nodes[at as usize].end = end;
                parents.pop();
                if hosts.last().is_some_and(|h| h.at == at) {
                    hosts.pop();
                }
            }
            Step::Under(id) => push_children(&linked, id, &mut steps),
            Step::Node(id) => {
                let parent = parents.last().copied().unwrap_or(0);
                let at = index(&nodes);
                match std::mem::replace(&mut linked[id as usize].data, Data::Nothing) {
                    Data::Document | Data::Nothing => {}
                    Data::Text(text) => nodes.push(Node {
                        parent,
                        end: at + 1,
                        kind: Kind::Text(text),
                    }),
                    Data::Element { name, attrs } => {
                        let element = element(name, attrs);
                        if element.tag() == "template" {
                            continue;
                        }
                        let slot = (element.tag() == "slot").then(|| {
                            let name = element.attr("name").unwrap_or_default().to_owned();
                            take_slotted(&mut linked, hosts.last_mut(), &name)
                        });
                        let inner = (element.tag() == "iframe" && frame < limits.frames)
                            .then(|| element.attr("srcdoc").map(str::to_owned))
                            .flatten();
                        nodes.push(Node {
                            parent,
                            end: at + 1,
                            kind: Kind::Element(element),
                        });
                        if let Some(html) = inner {
                            let inner = parse::document(&html, limits, frame + 1);
                            cut |= inner.cut;
                            graft(&mut nodes, at, inner);
                            continue;
                        }
                        parents.push(at);
                        steps.push(Step::End(at));
                        match (slot, shadow_root(&linked, id)) {
                            (Some(slotted), _) if !slotted.is_empty() => {
                                steps.extend(slotted.into_iter().rev().map(Step::Node));
                            }
                            (_, Some((template, content))) => {
                                // The light children come where the shadow tree's slots stand, the rest after it.
                                let light =
                                    children(&linked, id).filter(|c| *c != template).collect();
                                hosts.push(Host { at, light });
                                push_children(&linked, id, &mut steps);
                                steps.push(Step::Under(content));
                            }
                            _ => push_children(&linked, id, &mut steps),
                        }
                    }
                }
            }
        }
    }
    let end = index(&nodes);
    nodes[0].end = end;
    Document { nodes, cut }
}

/// An element with a shadow root, and its children that have not found a slot.
struct Host {
    at: u32,
    light: Vec<u32>,
}

fn index(nodes: &[Node]) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(NONE)
}

fn children(linked: &[Linked], id: u32) -> impl Iterator<Item = u32> + '_ {
    let first = linked[id as usize].first;
    std::iter::successors((first != NONE).then_some(first), |c| {
        let next = linked[*c as usize].next;
        (next != NONE).then_some(next)
    })
}

fn push_children(linked: &[Linked], id: u32, steps: &mut Vec<Step>) {
    let mut child = linked[id as usize].last;
    while child != NONE {
        steps.push(Step::Node(child));
        child = linked[child as usize].prev;
    }
}

/// A parsed fragment hangs under an `html` element of the parser's own; a document does not.
fn fragment_root(linked: &[Linked]) -> u32 {
    let first = linked[0].first;
    let is_context = linked.get(1).is_some_and(|c| {
        c.parent == NONE
            && c.first == NONE
            && matches!(&c.data, Data::Element { name, .. } if &*name.local == "body")
    });
    if is_context && first != NONE {
        first
    } else {
        0
    }
}

/// The declarative shadow root among the children: the template and its content.
fn shadow_root(linked: &[Linked], id: u32) -> Option<(u32, u32)> {
    children(linked, id).find_map(|c| {
        let node = &linked[c as usize];
        let Data::Element { attrs, .. } = &node.data else {
            return None;
        };
        let is_root =
            node.template != NONE && attrs.iter().any(|a| &*a.name.local == "shadowrootmode");
        is_root.then_some((c, node.template))
    })
}

/// Takes from the host the children that belong into the slot of this name.
fn take_slotted(linked: &mut [Linked], host: Option<&mut Host>, name: &str) -> Vec<u32> {
    let Some(host) = host else {
        return Vec::new();
    };
    let belongs = |id: u32| match &linked[id as usize].data {
        Data::Element { attrs, .. } => {
            let slot = attrs.iter().find(|a| &*a.name.local == "slot");
            slot.map_or("", |a| &*a.value) == name
        }
        Data::Text(_) => name.is_empty(),
        _ => false,
    };
    let (taken, left) = host.light.drain(..).partition(|c| belongs(*c));
    host.light = left;
    // A node is laid once: what was taken here has lost its data when the host's own turn comes.
    taken
}

fn element(name: html5ever::QualName, attrs: Vec<html5ever::Attribute>) -> Element {
    Element {
        foreign: name.ns != html5ever::ns!(html),
        name: name.local,
        attrs: attrs
            .into_iter()
            .map(|a| Attribute {
                value: bounded(&a.value, &a.name.local),
                name: a.name.local,
            })
            .collect(),
    }
}

fn bounded(value: &str, name: &str) -> String {
    if value.len() <= MAX_VALUE || name == "srcdoc" {
        return value.to_owned();
    }
    let mut end = MAX_VALUE;
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    value[..end].to_owned()
}

/// Copies what a framed page shows under the frame at `at`.
fn graft(nodes: &mut Vec<Node>, at: u32, inner: Document) {
    let body = inner.first("body").map_or(0, |b| b.0);
    let end = inner.nodes[body as usize].end;
    let shift = at.wrapping_sub(body);
    for node in inner
        .nodes
        .into_iter()
        .take(end as usize)
        .skip(body as usize + 1)
    {
        nodes.push(Node {
            parent: node.parent.wrapping_add(shift),
            end: node.end.wrapping_add(shift),
            kind: node.kind,
        });
    }
    nodes[at as usize].end = index(nodes);
}
