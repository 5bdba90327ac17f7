//! Calls that run a turn.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use pellucid_agent::identity;
use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::identity::new_turn_id;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::settings::ApprovalPolicy;
use rmcp::RoleServer;
use rmcp::model::CallToolResult;
use rmcp::model::ContentBlock;
use rmcp::model::ProgressNotificationParam;
use rmcp::model::ProgressToken;
use rmcp::model::ProtocolVersion;
use rmcp::service::Peer;
use rmcp::service::RequestContext;
use serde_json::Value;
use serde_json::json;

use super::asking;
use super::progress;
use super::tools;
use super::tools::BeginCall;
use super::tools::ReplyCall;
use crate::open::OpenFailure;
use crate::question::CallQuestion;
use crate::question::CallReply;
use crate::server::ToolServer;
use crate::session::Boxed;
use crate::session::CallEnd;
use crate::session::CalledSession;
use crate::session::ToolCaller;

/// How providers know sessions of this server.
const ORIGINATOR: &str = "pellucid_mcp";

/// Works on a call of `pellucid`.
pub async fn begin(
    server: &Arc<ToolServer>,
    arguments: Value,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, String> {
    let BeginCall { prompt, mut settings } = tools::read(tools::PELLUCID, arguments)?;
    let caller = StandardCaller::of(context);
    if !caller.takes_questions {
        settings.approval_policy = Some(ApprovalPolicy::Never);
    }
    let identity = context
        .client_info()
        .map(|client| ClientIdentity::for_client(ORIGINATOR, &client.name, &client.version, &server.ground.env));
    let opened = server.open(settings, identity, RawItems::Hidden).await;
    let (session, feed) = opened.map_err(|failure| match failure {
        OpenFailure::Config(why) => format!("the configuration cannot be used: {why}"),
        OpenFailure::Session(why) => format!("the session cannot be opened: {why}"),
    })?;
    let approvals = caller.approvals();
    let turn = (new_turn_id(), prompt);
    let end = session.turn(server, Some(feed), turn, Arc::new(caller), &context.ct).await;
    answer(&session.id, approvals, end)
}

/// Works on a call of `reply`.
pub async fn reply(
    server: &Arc<ToolServer>,
    arguments: Value,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, String> {
    let ReplyCall { thread_id, prompt } = tools::read(tools::REPLY, arguments)?;
    let id = identity::parse_session_id(&thread_id).ok_or_else(|| format!("threadId: `{thread_id}` is not a UUID"))?;
    let session = server.find(&id);
    let session = session.ok_or_else(|| format!("there is no open session {id}; `pellucid` begins one"))?;
    let caller = StandardCaller::of(context);
    let approvals = caller.approvals();
    let end = session.turn(server, None, (new_turn_id(), prompt), Arc::new(caller), &context.ct).await;
    answer(&session.id, approvals, end)
}

fn answer(session: &str, approvals: &str, end: CallEnd) -> Result<CallToolResult, String> {
    let (text, is_error) = match end {
        CallEnd::Answer(text) => (text, false),
        CallEnd::Failed(why) => (why, true),
        CallEnd::Interrupted => ("the turn was interrupted".to_owned(), true),
        CallEnd::Gone => ("the session ended before the prompt was answered".to_owned(), true),
    };
    let content = vec![ContentBlock::text(text.as_str())];
    let mut result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(json!({ "threadId": session, "content": text, "approvals": approvals }));
    Ok(result)
}

/// The client of one call.
struct StandardCaller {
    peer: Peer<RoleServer>,
    progress: Option<ProgressToken>,
    /// How many notes about progress were sent.
    n_told: AtomicU64,
    takes_questions: bool,
}

impl StandardCaller {
    fn of(context: &RequestContext<RoleServer>) -> Self {
        // From that revision on, servers send no requests.
        let takes_requests = context
            .protocol_version()
            .is_some_and(|revision| revision.as_str() < ProtocolVersion::V_2026_07_28.as_str());
        // A client of the first revision with forms says nothing of modes.
        let shows_forms = context
            .client_capabilities()
            .and_then(|client| client.elicitation)
            .is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        Self {
            peer: context.peer.clone(),
            progress: context.meta.get_progress_token(),
            n_told: AtomicU64::new(0),
            takes_questions: takes_requests && shows_forms,
        }
    }

    /// What becomes of questions, in a word.
    fn approvals(&self) -> &'static str {
        if self.takes_questions { "asked" } else { "never" }
    }
}

impl ToolCaller for StandardCaller {
    fn event<'a>(&'a self, _session: &'a CalledSession, event: &'a Event) -> Boxed<'a, ()> {
        Box::pin(async move {
            let Some(token) = &self.progress else { return };
            let Some(text) = progress::text(&event.msg) else { return };
            let n = self.n_told.fetch_add(1, Ordering::Relaxed) + 1;
            #[expect(clippy::cast_precision_loss, reason = "a turn has fewer steps than that")]
            let told = ProgressNotificationParam::new(token.clone(), n as f64).with_message(text);
            // A client that is gone needs no progress; its turn is interrupted.
            let _gone = self.peer.notify_progress(told).await;
        })
    }

    fn ask<'a>(
        &'a self,
        _session: &'a str,
        _event: &'a str,
        question: &'a CallQuestion,
    ) -> Boxed<'a, Boxed<'static, CallReply>> {
        let form = if self.takes_questions { asking::form(question) } else { None };
        let (peer, question) = (self.peer.clone(), question.clone());
        let reply: Boxed<'static, CallReply> = Box::pin(async move {
            let Some(form) = form else { return CallReply::Nothing };
            match peer.create_elicitation(form).await {
                Ok(result) => asking::reply(&question, result),
                Err(_) => CallReply::Nothing,
            }
        });
        Box::pin(ready(reply))
    }
}
