//! From a request to an answer: which script, which fault, which refusal, which turn.

use http::Method;
use serde_json::{Value, json};

use crate::answer::{self, Answer};
use crate::behaviour::{Behaviour, WindowError, WindowMode};
use crate::error::WireError;
use crate::fault::Fault;
use crate::log::Trace;
use crate::plan;
use crate::request::Ask;
use crate::script::{CountBy, Script};
use crate::server::{Shared, is_chat};

/// Answers one request.
pub(crate) fn route(
    shared: &Shared,
    trace: &Trace,
    method: &Method,
    path: &str,
    headers: Vec<(String, String)>,
    body: &[u8],
) -> Answer {
    let get = *method == Method::GET || *method == Method::HEAD;
    match path {
        "/health" | "/healthz" | "/v1/health" if get => Answer::json(200, &json!({"status": "ok"})),
        "/v1/models" | "/models" if get => Answer::json(200, &models(shared)),
        "/props" if get => props(shared),
        p if is_chat(p) && *method == Method::POST => chat(shared, trace, headers, body),
        p if get && p.starts_with("/v1/models/") => model(shared, &p["/v1/models/".len()..]),
        _ => Answer::error(&WireError::new(
            404,
            "invalid_request_error",
            format!("Unknown request URL: {method} {path}."),
        )),
    }
}

fn entry(script: &Script, id: &str) -> Value {
    let mut v = json!({
        "id": id, "object": "model", "created": plan::CREATED, "owned_by": "kilter-mock"
    });
    if let Some(n) = script.file().window.declared {
        v["max_model_len"] = json!(n);
    }
    v
}

fn models(shared: &Shared) -> Value {
    let data: Vec<Value> = shared
        .router
        .scripts
        .iter()
        .flat_map(|s| {
            std::iter::once(s.name())
                .chain(s.file().slots.iter().map(String::as_str))
                .map(|id| entry(s, id))
        })
        .collect();
    json!({"object": "list", "data": data})
}

fn model(shared: &Shared, id: &str) -> Answer {
    match shared.router.scripts.iter().find(|s| s.answers_to(id)) {
        Some(s) => Answer::json(200, &entry(s, id)),
        None => Answer::error(&unknown_model(id)),
    }
}

fn unknown_model(id: &str) -> WireError {
    let mut e = WireError::new(
        404,
        "invalid_request_error",
        format!("The model '{id}' does not exist or you do not have access to it."),
    );
    e.param = Some("model".to_owned());
    e.code = Some("model_not_found".to_owned());
    e
}

fn props(shared: &Shared) -> Answer {
    let script = shared
        .router
        .scripts
        .iter()
        .find(|s| s.file().template.props.unwrap_or(false));
    match script {
        Some(s) => {
            let f = s.file();
            Answer::json(
                200,
                &json!({
                    "default_generation_settings": {"n_ctx": f.window.tokens},
                    "chat_template_caps": {"supports_tools": !f.template.drops_tools.unwrap_or(false)}
                }),
            )
        }
        None => Answer::error(&WireError::new(404, "not_found_error", "File Not Found")),
    }
}

fn chat(shared: &Shared, trace: &Trace, headers: Vec<(String, String)>, body: &[u8]) -> Answer {
    shared.log.count(|c| c.chats += 1);
    let Some(mut ask) = Ask::read(body, headers) else {
        return Answer::error(&WireError::new(
            400,
            "invalid_request_error",
            "We could not parse the JSON body of your request.",
        ));
    };
    let scripts = &shared.router.scripts;
    let script = scripts
        .iter()
        .find(|s| s.answers_to(&ask.model))
        .or_else(|| scripts.first().filter(|_| shared.router.any_slot));
    let Some(script) = script else {
        return Answer::error(&unknown_model(&ask.model));
    };
    let session = match script.file().counted {
        CountBy::Session => ask.session.clone(),
        CountBy::Global => String::new(),
    };
    ask.seed = script.seed();
    ask.turn = shared.turns(script.name(), &session) + 1;
    let picked = script.select(&ask).to_owned();
    let (actor, variant) = if picked == "base" || script.file().variants.contains_key(&picked) {
        (script, picked.as_str())
    } else {
        let other = scripts.iter().find(|s| s.name() == picked);
        (other.unwrap_or(script), "base")
    };
    let b = actor.behaviour(&ask, variant);
    trace.update(|r| {
        r.session.clone_from(&ask.session);
        r.slot.clone_from(&ask.model);
        r.model = format!("{}/{variant}", actor.name());
    });

    let fault = struck(shared, actor, &b, &ask);
    if let Some(f) = fault {
        shared.log.count(|c| c.faults += 1);
        trace.update(|r| r.struck = format!("fault:{:?}", f.kind).to_lowercase());
        if let Some(a) = answer::fault_alone(f) {
            return a;
        }
    }
    if let Some(e) = refusal(&b, &ask) {
        shared.log.count(|c| c.refused += 1);
        trace.update(|r| {
            r.struck = format!("refused:{}", e.param.as_deref().unwrap_or(&e.kind));
        });
        return Answer::error(&e);
    }
    shared.answered(script.name(), &session);
    shared.log.count(|c| c.turns += 1);
    trace.update(|r| r.turn = ask.turn);
    let prompt = plan::prompt_tokens(&b, &ask);
    match (b.window.mode.unwrap_or_default(), b.window.tokens) {
        (WindowMode::Truncate, Some(n)) if prompt > n => {
            // What was cut away never reached the model: it decides on the rest.
            let seen = ask.cut_to(n, &b.template);
            let on_rest = actor.behaviour(&seen, variant);
            let plan = plan::plan(&on_rest, &seen, n);
            answer::turn(&plan, &on_rest, &ask, fault)
        }
        _ => answer::turn(&plan::plan(&b, &ask, prompt), &b, &ask, fault),
    }
}

/// The fault that strikes this request.
fn struck<'b>(shared: &Shared, actor: &Script, b: &'b Behaviour, ask: &Ask) -> Option<&'b Fault> {
    b.faults
        .iter()
        .flatten()
        .enumerate()
        .filter(|(_, f)| f.when.holds(ask))
        .find(|(i, f)| {
            let before = shared.hit(actor.name(), *i);
            before >= f.skip && f.times.is_none_or(|n| before < f.skip + n)
        })
        .map(|(_, f)| f)
}

fn refusal(b: &Behaviour, ask: &Ask) -> Option<WireError> {
    let reasons = plan::reasons(b, ask);
    b.refuse
        .iter()
        .flatten()
        .find_map(|r| r.strike(ask, reasons))
        .or_else(|| window(b, ask))
}

fn window(b: &Behaviour, ask: &Ask) -> Option<WireError> {
    let n_ctx = b.window.tokens?;
    if b.window.mode.unwrap_or_default() != WindowMode::Refuse {
        return None;
    }
    let mut prompt = plan::prompt_tokens(b, ask);
    if b.window.counts_cap.unwrap_or(false) {
        prompt += ask.cap.unwrap_or(0);
    }
    if prompt <= n_ctx {
        return None;
    }
    Some(match b.window.error.unwrap_or_default() {
        WindowError::ExceedContextSize => {
            let mut e = WireError::new(
                400,
                "exceed_context_size_error",
                "the request exceeds the available context size, try increasing it",
            );
            e.code = None;
            e.more = vec![
                ("n_prompt_tokens".to_owned(), json!(prompt)),
                ("n_ctx".to_owned(), json!(n_ctx)),
            ];
            e
        }
        WindowError::ContextLength => {
            let mut e = WireError::new(
                400,
                "invalid_request_error",
                format!(
                    "This model's maximum context length is {n_ctx} tokens. However, your messages \
                     resulted in {prompt} tokens. Please reduce the length of the messages."
                ),
            );
            e.param = Some("messages".to_owned());
            e.code = Some("context_length_exceeded".to_owned());
            e
        }
    })
}
