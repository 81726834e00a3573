//! The tool line of the card: where calls were written, by the turns that wanted one.

use kilter_behavior::profile::{ToolChannel, ToolsInPrompt};
use kilter_core::Provenance;

use crate::card::{ToolLine, ToolWord};
use crate::derive::{counts, kinds, plural, turns_of};
use crate::plan::Wants;
use crate::run::tools_cost_nothing;
use crate::session::{Session, Turn};
use crate::window::grouped;

/// The tool line.
pub(crate) fn line(s: &Session<'_>) -> ToolLine {
    let asked: Vec<&Turn> = s
        .turns
        .iter()
        .filter(|t| t.answered() && matches!(t.wants, Wants::Call | Wants::TwoCalls))
        .collect();
    let of = asked.len() as u32;
    let native = asked
        .iter()
        .filter(|t| !t.obs.native_calls.is_empty())
        .count() as u32;
    let dialects = kinds(asked.iter().filter_map(|t| dialect(t)));
    let in_content: u32 = dialects.iter().map(|(_, n)| n).sum();
    let rejected = kinds(
        asked
            .iter()
            .flat_map(|t| t.obs.rejected.iter().map(|(_, r)| r.as_str())),
    );
    let free: Vec<&Turn> = s
        .turns
        .iter()
        .filter(|t| t.answered() && t.wants == Wants::NoCall)
        .collect();
    let two: Vec<&Turn> = s
        .turns
        .iter()
        .filter(|t| t.answered() && t.wants == Wants::TwoCalls)
        .collect();
    let mut line = ToolLine {
        of,
        native,
        recovered: counts(&dialects),
        rejected: counts(&rejected),
        parallel: (!two.is_empty() && native + in_content > 0).then(|| {
            two.iter()
                .any(|t| t.obs.native_calls.len().max(t.obs.recovered.len()) >= 2)
        }),
        uncalled_for: free.iter().filter(|t| t.called()).count() as u32,
        uncalled_for_of: free.len() as u32,
        ..ToolLine::default()
    };
    let main_dialect = dialects.first().map(|(d, _)| d.clone());
    match s.profile.tools() {
        ToolChannel::Structured => {
            line.channel = ToolWord::Structured;
            line.seen = native;
            line.evidence = format!("{} in the native array", turns_of(native, of));
        }
        ToolChannel::TaggedInContent { .. } | ToolChannel::BareJson => {
            line.channel = ToolWord::InContent;
            line.dialect = match s.profile.tools() {
                ToolChannel::TaggedInContent { dialect } => Some(dialect.clone()),
                _ => main_dialect,
            };
            line.seen = in_content;
            let array = if native == 0 {
                "native array always empty".to_owned()
            } else {
                format!("native array in {native}")
            };
            line.evidence = format!("{}; {array}", turns_of(in_content, of));
        }
        ToolChannel::Unknown => silent(s, &mut line, in_content),
    }
    if line.rejected.iter().any(|c| c.name != "guard")
        && line.channel != ToolWord::TemplateDropsTools
    {
        let parts: Vec<String> = line
            .rejected
            .iter()
            .map(|c| format!("{} {}", c.count, c.name))
            .collect();
        line.evidence
            .push_str(&format!("; not taken: {}", parts.join(", ")));
    }
    if line.uncalled_for > 0 {
        line.evidence.push_str("; calls where none is needed");
    }
    line
}

/// The tool line where no channel was learnt.
fn silent(s: &Session<'_>, line: &mut ToolLine, in_content: u32) {
    let of = line.of;
    if line.native + in_content > 0 {
        line.channel = ToolWord::Unknown;
        line.seen = line.native + in_content;
        line.evidence = format!(
            "{} call: native {}, in content {in_content}",
            turns_of(line.seen, of),
            line.native
        );
    } else if of == 0 {
        let refused = s
            .turns
            .iter()
            .any(|t| !t.answered() && (400..500).contains(&t.status) && t.obs.request.tools > 0);
        if refused {
            line.channel = ToolWord::Refused;
            line.evidence = "requests with tools are refused".to_owned();
        } else {
            line.evidence = "no turn to tell from".to_owned();
        }
    } else if s.profile.tools_in_prompt() == ToolsInPrompt::Dropped || tools_cost_nothing(s) {
        line.channel = ToolWord::TemplateDropsTools;
        let counted = s
            .turns
            .iter()
            .find(|t| t.name == "no tool needed" && t.answered())
            .and_then(|t| Some((t.obs.usage.prompt_tokens?, t.obs.request.tools)));
        line.evidence = match counted {
            Some((n, tools)) => format!(
                "prompt_tokens {} with and without {tools} tools; no call in {}",
                grouped(n),
                plural(of, "turn")
            ),
            None => format!(
                "prompt_tokens do not count them; no call in {}",
                plural(of, "turn")
            ),
        };
    } else {
        line.channel = ToolWord::NoneEmitted;
        let reached = match s.profile.tools_in_prompt() {
            ToolsInPrompt::Kept => "; the tools do reach the prompt",
            _ => "",
        };
        line.evidence = format!("no call in {}{reached}", plural(of, "turn"));
    }
}

/// The dialect of a turn's first recovered call.
pub(crate) fn dialect(turn: &Turn) -> Option<String> {
    if !turn.obs.native_calls.is_empty() {
        return None;
    }
    turn.obs.recovered.iter().find_map(|c| match &c.provenance {
        Provenance::Recovered { dialect, .. } => Some(dialect.clone()),
        Provenance::Native => None,
    })
}
