//! The server that the protocol's conformance suite asks: the suite's own tools, prompts and resources, on the transport
//! of `kilter mcp`. `cargo run --example conformance -- 127.0.0.1:0` prints its address.
#![allow(
    deprecated,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for tests; the suite asks for sampling, roots and logging of the older era"
)]

mod shapes;

use std::sync::Arc;
use std::time::Duration;

use kilter_mcp::link::http::{Options, endpoint, guard, listen};
use kilter_mcp::link::rmcp;
use kilter_mcp::link::sessions::Counted;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use shapes::*;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

const STATELESS: &str = "2026-07-28";

#[derive(Clone)]
struct Fixture {
    changes: broadcast::Sender<&'static str>,
}

type Context = RequestContext<RoleServer>;

fn is_stateless(context: &Context) -> bool {
    context
        .protocol_version()
        .is_some_and(|v| v.as_str() >= STATELESS)
}

impl Fixture {
    async fn form(
        &self,
        message: &str,
        properties: Value,
        required: bool,
        context: &Context,
    ) -> Result<Value, ErrorData> {
        let mut schema = json!({"type": "object", "properties": properties});
        if required {
            let names: Vec<&String> = properties
                .as_object()
                .map(|m| m.keys().collect())
                .unwrap_or_default();
            schema["required"] = json!(names);
        }
        let params = typed(json!({"mode": "form", "message": message, "requestedSchema": schema}))?;
        let given = context
            .peer
            .create_elicitation(params)
            .await
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        Ok(serde_json::to_value(given).unwrap_or_default())
    }

    async fn old(
        &self,
        request: &CallToolRequestParams,
        context: &Context,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        let argument = |name: &str| {
            let args = request.arguments.as_ref();
            args.and_then(|a| a.get(name))
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let said = |given: Result<Value, ErrorData>| {
            let given = given?;
            text(format!(
                "Elicitation completed: action={}, content={}",
                given["action"].as_str().unwrap_or_default(),
                given["content"]
            ))
        };
        Some(match request.name.as_ref() {
            "test_sampling" => {
                let params = match typed(sample(&argument("prompt"), 100)["params"].clone()) {
                    Ok(params) => params,
                    Err(e) => return Some(Err(e)),
                };
                match context.peer.create_message(params).await {
                    Ok(given) => {
                        let given = serde_json::to_value(given).unwrap_or_default();
                        text(format!(
                            "LLM response: {}",
                            given["content"]["text"].as_str().unwrap_or_default()
                        ))
                    }
                    Err(e) => Err(ErrorData::internal_error(e.to_string(), None)),
                }
            }
            "test_elicitation" => {
                let properties = json!({"username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}});
                match self
                    .form(&argument("message"), properties, true, context)
                    .await
                {
                    Ok(given) => text(format!("User response: {given}")),
                    Err(e) => Err(e),
                }
            }
            "test_elicitation_sep1034_defaults" => {
                let properties = json!({
                    "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
                    "score": {"type": "number", "default": 95.5},
                    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                    "verified": {"type": "boolean", "default": true}});
                said(
                    self.form(
                        "defaults of all primitive types",
                        properties,
                        false,
                        context,
                    )
                    .await,
                )
            }
            "test_elicitation_sep1330_enums" => {
                let properties = json!({
                    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
                    "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"},
                        {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
                    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                        "enumNames": ["Option One", "Option Two", "Option Three"]},
                    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
                    "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"},
                        {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}});
                said(
                    self.form("all five forms of a choice", properties, false, context)
                        .await,
                )
            }
            _ => return None,
        })
    }

    fn rounds(
        &self,
        request: &CallToolRequestParams,
        context: &Context,
    ) -> Result<Option<CallToolResponse>, ErrorData> {
        let given = request.input_responses.as_ref();
        let state = opened(request)?;
        let name = || elicit("What is your name?", json!({"name": {"type": "string"}}));
        let answered = |key: &str| given.and_then(|g| g.get(key));
        let done = |words: String| text(words).map(Some);
        let again = |requests: Value, state: Option<&str>| {
            Ok(Some(CallToolResponse::InputRequired(ask(requests, state)?)))
        };
        match request.name.as_ref() {
            "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
                match accepted(given, "user_name", "name").and_then(Value::as_str) {
                    Some(who) => done(format!("Hello, {who}!")),
                    None => again(json!({"user_name": name()}), None),
                }
            }
            "test_input_required_result_sampling" => match answered("capital_question") {
                Some(a) => done(
                    a["content"]["text"]
                        .as_str()
                        .unwrap_or("no text")
                        .to_owned(),
                ),
                None => again(
                    json!({"capital_question": sample("What is the capital of France?", 100)}),
                    None,
                ),
            },
            "test_input_required_result_list_roots" => match answered("client_roots") {
                Some(a) => done(format!("the roots are {}", a["roots"])),
                None => again(json!({"client_roots": roots()}), None),
            },
            "test_input_required_result_request_state"
            | "test_input_required_result_tampered_state" => {
                match (state, accepted(given, "confirm", "ok")) {
                    (Some(_), Some(_)) => done("state-ok".to_owned()),
                    _ => again(
                        json!({"confirm": elicit("Please confirm", json!({"ok": {"type": "boolean"}}))}),
                        Some("confirm"),
                    ),
                }
            }
            "test_input_required_result_multiple_inputs" => {
                let all = ["user_name", "greeting", "client_roots"]
                    .iter()
                    .all(|k| answered(k).is_some());
                match (state, all) {
                    (Some(_), true) => done("all three were answered".to_owned()),
                    _ => again(
                        json!({"user_name": name(), "greeting": sample("Generate a greeting", 50), "client_roots": roots()}),
                        Some("three"),
                    ),
                }
            }
            "test_input_required_result_multi_round" => match state.as_deref() {
                Some("round-2") if answered("step2").is_some() => {
                    done("both rounds are done".to_owned())
                }
                Some("round-1") if answered("step1").is_some() => again(
                    json!({"step2": elicit("Step 2: What is your favorite color?", json!({"color": {"type": "string"}}))}),
                    Some("round-2"),
                ),
                _ => again(
                    json!({"step1": elicit("Step 1: What is your name?", json!({"name": {"type": "string"}}))}),
                    Some("round-1"),
                ),
            },
            "test_input_required_result_capabilities" => {
                let has = context.client_capabilities().unwrap_or_default();
                let mut requests = json!({});
                if has.elicitation.is_some() {
                    requests["user_name"] = name();
                }
                if has.sampling.is_some() {
                    requests["capital_question"] = sample("What is the capital of France?", 100);
                }
                if has.roots.is_some() {
                    requests["client_roots"] = roots();
                }
                match given {
                    Some(_) => done("answered".to_owned()),
                    None => again(requests, None),
                }
            }
            _ => Ok(None),
        }
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = typed::<ServerCapabilities>(json!({
            "tools": {"listChanged": true}, "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true}, "logging": {}, "completions": {},
        }))
        .expect("capabilities");
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("kilter-conformance", "1"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        whole(json!({"tools": tools()}))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let found = tools().into_iter().find(|t| t["name"] == name)?;
        serde_json::from_value(found).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(answer) = self.rounds(&request, &context)? {
            return Ok(answer);
        }
        if !is_stateless(&context)
            && let Some(answer) = self.old(&request, &context).await
        {
            return answer;
        }
        let content =
            |content: Value| Ok(whole::<CallToolResult>(json!({"content": content}))?.into());
        let image = || json!({"type": "image", "data": PNG, "mimeType": "image/png"});
        match request.name.as_ref() {
            "test_simple_text" => text("This is a simple text response for testing."),
            "test_image_content" => content(json!([image()])),
            "test_audio_content" => {
                content(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]))
            }
            "test_embedded_resource" => content(json!([{"type": "resource", "resource": {
                "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}}])),
            "test_multiple_content_types" => content(json!([
                {"type": "text", "text": "Multiple content types test:"}, image(),
                {"type": "resource", "resource": {"uri": "test://mixed-content-resource", "mimeType": "application/json",
                    "text": "{\"test\":\"data\",\"value\":123}"}}])),
            "test_error_handling" => {
                let failed = json!({"isError": true, "content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}]});
                Ok(whole::<CallToolResult>(failed)?.into())
            }
            "test_tool_with_logging" => {
                for words in [
                    "Tool execution started",
                    "Tool processing data",
                    "Tool execution completed",
                ] {
                    let param =
                        LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(words));
                    let _ = context.peer.notify_logging_message(param).await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                text("logged three times")
            }
            "test_tool_with_progress" => {
                for step in [0.0, 50.0, 100.0] {
                    if let Some(token) = context.meta.get_progress_token() {
                        let param = ProgressNotificationParam::new(token, step).with_total(100.0);
                        let _ = context.peer.notify_progress(param).await;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                text("done in three steps")
            }
            "test_missing_capability" => match context
                .client_capabilities()
                .is_some_and(|c| c.sampling.is_some())
            {
                true => text("sampling is there"),
                false => Err(ErrorData::missing_required_client_capability(typed(
                    json!({"sampling": {}}),
                )?)),
            },
            "test_trigger_tool_change" => {
                let _ = self.changes.send("tools");
                text("the tools have changed")
            }
            "test_trigger_prompt_change" => {
                let _ = self.changes.send("prompts");
                text("the prompts have changed")
            }
            name if tools().iter().any(|t| t["name"] == name) => text("done"),
            name => Err(ErrorData::invalid_params(
                format!("there is no tool `{name}`"),
                None,
            )),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        whole(json!({"resources": [
            {"uri": "test://static-text", "name": "static text", "description": "a text", "mimeType": "text/plain"},
            {"uri": "test://static-binary", "name": "static binary", "description": "a picture", "mimeType": "image/png"},
            {"uri": "test://watched-resource", "name": "watched", "description": "a text to watch", "mimeType": "text/plain"},
        ]}))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        whole(
            json!({"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "data by id",
            "description": "data", "mimeType": "application/json"}]}),
        )
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let id = uri
            .strip_prefix("test://template/")
            .and_then(|r| r.strip_suffix("/data"));
        let one = match (uri, id) {
            ("test://static-text", _) => {
                json!({"mimeType": "text/plain", "text": "This is the content of the static text resource."})
            }
            ("test://static-binary", _) => json!({"mimeType": "image/png", "blob": PNG}),
            ("test://watched-resource", _) => json!({"mimeType": "text/plain", "text": "watched"}),
            (_, Some(id)) => {
                let text =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                json!({"mimeType": "application/json", "text": text.to_string()})
            }
            _ => {
                return Err(ErrorData::resource_not_found(
                    "Resource not found",
                    Some(json!({"uri": uri})),
                ));
            }
        };
        let mut one = one;
        one["uri"] = json!(uri);
        Ok(whole::<ReadResourceResult>(json!({"contents": [one]}))?.into())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, _: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        match is_stateless(&context) {
            true => Err(ErrorData::method_not_found::<SetLevelRequestMethod>()),
            false => Ok(()),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        whole(json!({"prompts": [
            {"name": "test_simple_prompt", "description": "a prompt"},
            {"name": "test_prompt_with_arguments", "description": "a prompt", "arguments": [
                {"name": "arg1", "description": "first", "required": true}, {"name": "arg2", "description": "second", "required": true}]},
            {"name": "test_prompt_with_embedded_resource", "description": "a prompt", "arguments": [
                {"name": "resourceUri", "description": "what to embed", "required": true}]},
            {"name": "test_prompt_with_image", "description": "a prompt"},
            {"name": "test_input_required_result_prompt", "description": "a prompt that asks first"},
        ]}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let argument = |name: &str| {
            let args = request.arguments.as_ref();
            let value = args
                .and_then(|a| serde_json::to_value(a).ok())
                .unwrap_or_default();
            value[name].as_str().unwrap_or_default().to_owned()
        };
        let user = |content: Value| json!({"role": "user", "content": content});
        let words = |text: String| json!({"type": "text", "text": text});
        let messages = match request.name.as_str() {
            "test_simple_prompt" => {
                vec![user(words("This is a simple prompt for testing.".into()))]
            }
            "test_prompt_with_arguments" => vec![user(words(format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            )))],
            "test_prompt_with_embedded_resource" => vec![
                user(
                    json!({"type": "resource", "resource": {"uri": argument("resourceUri"), "mimeType": "text/plain",
                    "text": "Embedded resource content for testing."}}),
                ),
                user(words("Please process the embedded resource above.".into())),
            ],
            "test_prompt_with_image" => vec![
                user(json!({"type": "image", "data": PNG, "mimeType": "image/png"})),
                user(words("Please analyze the image above.".into())),
            ],
            "test_input_required_result_prompt" => {
                let given = request.input_responses.as_ref();
                match accepted(given, "user_context", "context") {
                    Some(context) => vec![user(words(format!("the context is {context}")))],
                    None => {
                        let form = elicit(
                            "What context should the prompt use?",
                            json!({"context": {"type": "string"}}),
                        );
                        return Ok(GetPromptResponse::InputRequired(ask(
                            json!({"user_context": form}),
                            None,
                        )?));
                    }
                }
            }
            name => {
                return Err(ErrorData::invalid_params(
                    format!("there is no prompt `{name}`"),
                    None,
                ));
            }
        };
        Ok(whole::<GetPromptResult>(json!({"messages": messages}))?.into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        whole(
            json!({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}}),
        )
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => {
                    let _ = match change {
                        Ok("tools") => context.sink().notify_tool_list_changed().await,
                        Ok(_) => context.sink().notify_prompt_list_changed().await,
                        Err(_) => return Ok(()),
                    };
                }
            }
        }
    }
}

#[tokio::main]
async fn main() {
    let bind = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let options = Options::default();
    let stop = CancellationToken::new();
    let sessions = Counted::new(options.keeping);
    let (changes, _) = broadcast::channel(64);
    let fixture = Fixture { changes };
    let service = endpoint(move || fixture.clone(), sessions.clone(), stop.clone());
    let router = guard(
        axum::Router::new().route_service("/mcp", service),
        &options,
        vec![sessions],
    );
    let served = listen(router, bind.parse().expect("an address"), &options, stop)
        .await
        .expect("a port");
    println!("{}", served.url(None));
    std::future::pending::<()>().await;
    drop(Arc::new(served));
}
