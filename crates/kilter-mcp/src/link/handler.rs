//! Requests of the protocol to calls of the server.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode, ErrorData, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, model};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::server::{Progress, Server, Step, View, listing};
use crate::session::Session;
use crate::surface::Surface;
use crate::table::ToolId;

/// The first revision without sessions.
const STATELESS: &str = "2026-07-28";
/// How long a list may be kept by a client in the newer era: it never changes while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;

/// One session of the older era, or one request of the newer one.
#[derive(Debug, Clone)]
pub struct Handler {
    server: Arc<Server>,
    surface: Surface,
    session: Arc<Session>,
}

impl Handler {
    /// A handler at an endpoint.
    pub fn new(server: Arc<Server>, surface: Surface) -> Self {
        Self {
            server,
            surface,
            session: Session::new(surface),
        }
    }

    fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
        context
            .protocol_version()
            .is_some_and(|v| v.as_str() >= STATELESS)
    }

    fn view(&self, context: &RequestContext<RoleServer>) -> View {
        View {
            surface: self.surface,
            session: (!Self::is_stateless(context)).then(|| self.session.clone()),
        }
    }

    fn config(&self, list_changes: bool) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = Some(list_changes);
        }
        let view = View {
            surface: self.surface,
            session: Some(self.session.clone()),
        };
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("kilter", env!("CARGO_PKG_VERSION"))
                    .with_title("kilter: reading the web, with proof"),
            )
            .with_instructions(self.server.instructions(&view))
    }

    /// Calls a tool; says how far it is to a client that asked for it, stops when the client gives up.
    async fn run(
        &self,
        name: &str,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Value {
        let view = self.view(context);
        let (progress, mut steps) = match context.meta.get_progress_token() {
            Some(token) => {
                let (sender, receiver) = mpsc::unbounded_channel();
                (Progress::to(sender), Some((token, receiver)))
            }
            None => (Progress::default(), None),
        };
        let call = self.server.call(&view, name, arguments, progress);
        let mut call = std::pin::pin!(call);
        let answer = loop {
            let step = async {
                match &mut steps {
                    Some((_, receiver)) => receiver.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    // Nobody reads this answer; what matters is that the work is dropped here.
                    return crate::ToolFailure::new("cancelled", "the caller gave up", "call again").reply();
                }
                step = step => match step {
                    Some(step) => {
                        if let Some((token, _)) = &steps {
                            say(context, token.clone(), step).await;
                        }
                    }
                    None => steps = None,
                },
                answer = &mut call => break answer,
            }
        };
        if let Some((token, mut receiver)) = steps {
            while let Ok(step) = receiver.try_recv() {
                say(context, token.clone(), step).await;
            }
        }
        if answer.list_changed && view.session.is_some() {
            let _ = context.peer.notify_tool_list_changed().await;
        }
        answer.value
    }
}

async fn say(context: &RequestContext<RoleServer>, token: model::ProgressToken, step: Step) {
    let mut param = ProgressNotificationParam::new(token, step.done).with_message(step.message);
    if let Some(total) = step.total {
        param = param.with_total(total);
    }
    let _ = context.peer.notify_progress(param).await;
}

/// A tool in the protocol's own type.
fn tool(id: ToolId) -> Option<Tool> {
    serde_json::from_value(listing(id)).ok()
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.config(!self.server.config().locked)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut found = DiscoverResult::from_server_info(
            self.supported_protocol_versions().into_owned(),
            self.config(false),
        );
        found.ttl_ms = LIST_TTL_MS;
        found.cache_scope = CacheScope::Private;
        Ok(found)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|r| r.cursor.is_some()) {
            return Err(ErrorData::invalid_params(
                "the list has one page and no cursor",
                None,
            ));
        }
        let view = self.view(&context);
        let shown = self.server.tools(&view);
        if let Some(session) = &view.session {
            session.list(shown.iter().copied());
        }
        let mut list =
            ListToolsResult::with_all_items(shown.into_iter().filter_map(tool).collect());
        if view.session.is_none() {
            list.ttl_ms = Some(LIST_TTL_MS);
            list.cache_scope = Some(CacheScope::Private);
        }
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let value = self.run(&request.name, arguments, &context).await;
        Ok(result(value).into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        ToolId::of(name).and_then(tool)
    }

    /// A call whose parameters have another shape than the protocol's comes here: it is a wrong call, and is answered as
    /// one.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "tools/call" {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            ));
        }
        let params = request.params.unwrap_or_default();
        let name = match &params["name"] {
            Value::String(name) => name.clone(),
            other => other.to_string(),
        };
        let arguments = params["arguments"].clone();
        let value = self.run(&name, arguments, &context).await;
        let mut result = serde_json::to_value(result(value)).unwrap_or_default();
        if !Self::is_stateless(&context)
            && let Some(map) = result.as_object_mut()
        {
            map.remove("resultType");
        }
        Ok(CustomResult::new(result))
    }

    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        std::borrow::Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }
}

/// The answer of a tool as the protocol sends it: structured, and the same JSON as text.
fn result(value: Value) -> CallToolResult {
    match value["ok"] == json!(true) {
        true => CallToolResult::structured(value),
        false => CallToolResult::structured_error(value),
    }
}
