//! Everything that the protocol has, by the SDK's server: all revisions that the SDK knows, both lifecycles.
//!
//! - `tools`: the four tools, what they take and answer; `call`: how a call is worked on; `asking`: questions as forms
//! - `progress`: what a client that wants progress receives; `look`: the report of the next request, and proofs
//! - `resources`: stored sessions and their requests; `prompts`: custom prompts and skills

mod asking;
mod call;
mod look;
mod progress;
mod prompts;
mod resources;
mod tools;

use std::io;
use std::sync::Arc;

use pellucid_agent::identity::VERSION;
use pellucid_tasks::Task;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::CallToolRequestParams;
use rmcp::model::CallToolResponse;
use rmcp::model::CallToolResult;
use rmcp::model::CompleteRequestParams;
use rmcp::model::CompleteResult;
use rmcp::model::ContentBlock;
use rmcp::model::GetPromptRequestParams;
use rmcp::model::GetPromptResponse;
use rmcp::model::Implementation;
use rmcp::model::ListPromptsResult;
use rmcp::model::ListResourceTemplatesResult;
use rmcp::model::ListResourcesResult;
use rmcp::model::ListToolsResult;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ReadResourceRequestParams;
use rmcp::model::ReadResourceResponse;
use rmcp::model::ServerCapabilities;
use rmcp::model::ServerConfig;
use rmcp::service::RequestContext;
use rmcp::service::ServerInitializeError;
use rmcp::service::serve_server_with_ct;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio_util::sync::CancellationToken;

use crate::server::ToolServer;

/// The size limit of a line in bytes.
const LINE_BYTES_MAX: usize = 64 << 20;

/// A server for one client.
#[derive(Debug, Clone)]
pub struct Standard {
    server: Arc<ToolServer>,
}

impl Standard {
    /// A server for one client.
    pub fn new(server: Arc<ToolServer>) -> Self {
        Self { server }
    }

    /// Does work that reads files.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ToolServer) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let server = self.server.clone();
        let read = Task::blocking("reading for a client", move || work(&server));
        read.await.unwrap_or_else(|error| Err(ErrorData::internal_error(error.to_string(), None)))
    }
}

/// Serves one client over pipes until it closes its end, then ends all sessions.
///
/// # Errors
/// When the client does not begin as the protocol says.
pub async fn serve(
    server: Arc<ToolServer>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LINE_BYTES_MAX);
    let stop = CancellationToken::new();
    let served = async {
        match serve_server_with_ct(Standard::new(server.clone()), transport, stop.clone()).await {
            Ok(running) => {
                // The reason is the end of the input, or ours.
                let _ended = running.waiting().await;
                Ok(())
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            // What the client sent may be private, so it is not said.
            Err(_) => {
                Err(io::Error::other("the client did not begin with `initialize` or a request that says its revision"))
            }
        }
    };
    let ended = tokio::select! {
        ended = served => ended,
        () = end => Ok(()),
    };
    stop.cancel();
    server.shut_down().await;
    ended
}

impl ServerHandler for Standard {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .build();
        let about = Implementation::new("pellucid", VERSION).with_title("Pellucid");
        ServerConfig::new(capabilities).with_server_info(about)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = serde_json::Value::Object(request.arguments.unwrap_or_default());
        let answered = match &*request.name {
            tools::PELLUCID => call::begin(&self.server, arguments, &context).await,
            tools::REPLY => call::reply(&self.server, arguments, &context).await,
            tools::CONTEXT => look::context(&self.server, arguments).await,
            tools::REPLAY => look::replay(&self.server, arguments).await,
            other => return Err(ErrorData::invalid_params(format!("there is no tool {other}"), None)),
        };
        Ok(answered.unwrap_or_else(|why| CallToolResult::error(vec![ContentBlock::text(why)])).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.read(move |server| resources::list(&server.ground.home, cursor.as_deref())).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.read(move |server| resources::read(&server.ground.home, &request.uri)).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.read(move |server| resources::complete(&server.ground.home, &request)).await
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.read(|server| Ok(ListPromptsResult::with_all_items(prompts::list(&server.ground)?))).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.read(move |server| prompts::get(&server.ground, &request)).await.map(Into::into)
    }
}
