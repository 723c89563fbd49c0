//! The MCP service of one member.
#![expect(deprecated, reason = "clients of today still subscribe and set log levels by session")]

use std::sync::{Arc, OnceLock};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
        ContentBlock, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
        ReadResourceRequestParams, ReadResourceResponse, RequestId, ServerCapabilities,
        ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;
use tokio_util::task::TaskTracker;
use troop_app::team::{Mailbag, MemberCaller};
use troop_protocol::{Failure, Gate, Seat, Toolbox};

use super::{
    news::{self, NewsFilter},
    prompts, resources,
};

/// The server's instructions, which clients show to their model.
const INSTRUCTIONS: &str = "You are a member of a team of agents. These tools are its task board, its mailbox and its files. \
                   Look at the board first. Messages for you arrive with the results of your calls, so call again now and then \
                   while you wait for others. The resource troop://TEAM.md says who is in the team and how it works.";

/// The parameters of each request that can be malformed.
const NEEDS: [(&str, &str); 6] = [
    ("tools/call", "`name`, a text, and `arguments`, an object"),
    ("resources/read", "`uri`, a text"),
    ("resources/subscribe", "`uri`, a text"),
    ("resources/unsubscribe", "`uri`, a text"),
    ("prompts/get", "`name`, a text, and `arguments`, an object of texts"),
    ("logging/setLevel", "`level`, such as `info`"),
];

/// Methods that the protocol of 2026-07-28 no longer has.
const GONE: [&str; 3] = ["resources/subscribe", "resources/unsubscribe", "logging/setLevel"];

/// A team's tools, resources and news for one member. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct TeamService {
    caller: Arc<MemberCaller>,
    /// The client that has sent `initialize` here.
    greeted: Arc<OnceLock<ClientTools>>,
    /// All clients that never send `initialize`. They cannot be told apart, so they count as one.
    others: Arc<ClientTools>,
    /// The tasks that run beside the calls.
    tracker: TaskTracker,
}

/// One client: its tools, which remember what it has looked at, the mail it was handed, and the news it wants.
#[derive(Debug)]
struct ClientTools {
    tools: Toolbox<Arc<MemberCaller>>,
    mail: Mailbag<RequestId>,
    wanted: Arc<NewsFilter>,
}

impl ClientTools {
    fn new(caller: &Arc<MemberCaller>) -> Self {
        let tools = Toolbox::new(Arc::clone(caller));
        Self { tools, mail: Mailbag::default(), wanted: Arc::default() }
    }
}

impl TeamService {
    pub(crate) fn new(caller: Arc<MemberCaller>, tracker: TaskTracker) -> Self {
        let others = Arc::new(ClientTools::new(&caller));
        Self { caller, greeted: Arc::default(), others, tracker }
    }

    /// This service for another client, which has read nothing yet.
    pub(crate) fn for_another(&self) -> Self {
        Self { greeted: Arc::default(), ..self.clone() }
    }

    fn client(&self) -> &ClientTools {
        self.greeted.get().unwrap_or(&self.others)
    }

    /// The member's place in the team. Catches up with the log, so that what is read next is up to date.
    async fn seat(&self) -> Result<Seat, ErrorData> {
        self.caller.seat().await.map_err(|failure| resources::refused(&failure))
    }

    async fn call(&self, name: &str, input: Value) -> Result<String, Failure> {
        let seat = self.caller.seat().await?;
        self.client().tools.run(&seat, name, input).await
    }

    /// Runs a tool. Mail of earlier results counts as read now, and unread mail goes with this result.
    async fn call_with_mail(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        if *self.caller.gate() != Gate::Open {
            let input = request.arguments.map_or(Value::Null, Value::Object);
            return shown(self.call(&request.name, input).await, None);
        }
        // If mail cannot be marked now, it comes again; the call is made anyway.
        let mail = &self.client().mail;
        let running = mail.begin();
        drop(mail.acknowledge(&running, &self.caller).await);
        let input = request.arguments.map_or(Value::Null, Value::Object);
        let outcome = self.call(&request.name, input).await;
        let mail = mail.take(&self.caller, &context.id, &context.ct).await.unwrap_or_default();
        shown(outcome, mail)
    }
}

fn shown(outcome: Result<String, Failure>, mail: Option<String>) -> CallToolResult {
    let is_error = outcome.is_err();
    let text = outcome.unwrap_or_else(|failure| failure.for_model());
    let content = [Some(text), mail].into_iter().flatten().map(ContentBlock::text).collect();
    if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

/// Reports the progress of a call, if the client asked for that.
async fn tell_progress(context: &RequestContext<RoleServer>, progress: f64, message: &str) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let progress =
        ProgressNotificationParam::new(token, progress).with_total(1.0).with_message(message);
    // The client may have gone.
    drop(context.peer.notify_progress(progress).await);
}

impl ServerHandler for TeamService {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("troop", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.greeted.get_or_init(|| ClientTools::new(&self.caller));
        let result = self.negotiate_initialize(&request);
        context.peer.set_peer_info(request);
        result
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let seat = self.seat().await?;
        let tools = seat.tools().into_iter().map(|tool| {
            let input: JsonObject = tool.input;
            Tool::new(tool.name, tool.description, Arc::new(input))
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tell_progress(&context, 0.0, "asked").await;
        let result = self.call_with_mail(request, &context).await;
        tell_progress(&context, 1.0, "answered").await;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.seat().await?;
        Ok(resources::read(&self.caller, &request.uri).await?.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.seat().await?;
        let found = prompts::get(&self.caller, &request.name, request.arguments.as_ref()).await?;
        Ok(found.into())
    }

    /// A request whose method we know comes here if its parameters could not be parsed.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let version = context.protocol_version();
        let is_gone = version.is_some_and(|it| it >= ProtocolVersion::V_2026_07_28)
            && GONE.contains(&method.as_str());
        Err(match NEEDS.iter().find(|(name, _)| *name == method && !is_gone) {
            Some((_, needs)) => {
                ErrorData::invalid_params(format!("`{method}` needs {needs}"), None)
            }
            None => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.client().wanted.set_level(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.client().wanted.subscribe(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.client().wanted.unsubscribe(&request.uri);
        Ok(())
    }

    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        _: NotificationContext<RoleServer>,
    ) {
        cancelled.request_id.iter().for_each(|call| self.client().mail.lose(call));
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let caller = Arc::clone(&self.caller);
        let wanted = Arc::clone(&self.client().wanted);
        self.tracker.spawn(news::tell(caller, wanted, context.peer));
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        tokio::select! {
            () = news::tell_sink(&self.caller, context.accepted(), context.sink()) => {}
            () = context.cancelled() => {}
        }
        Ok(())
    }
}
