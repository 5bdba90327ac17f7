//! Tool calls: commands, patches, tools of MCP servers, searches, images, agents.
//!
//! A call is announced once, by its question or its beginning; everything later is an update of it. The output of a command
//! comes whole in each update, because that is how the protocol replaces it; so its last part is shown, and the more there
//! is, the rarer it is sent.

use std::path::Path;
use std::path::PathBuf;

use agent_client_protocol::v1::schema::ContentBlock;
use agent_client_protocol::v1::schema::ImageContent;
use agent_client_protocol::v1::schema::SessionUpdate;
use agent_client_protocol::v1::schema::ToolCall;
use agent_client_protocol::v1::schema::ToolCallContent;
use agent_client_protocol::v1::schema::ToolCallLocation;
use agent_client_protocol::v1::schema::ToolCallStatus;
use agent_client_protocol::v1::schema::ToolCallUpdate;
use agent_client_protocol::v1::schema::ToolCallUpdateFields;
use agent_client_protocol::v1::schema::ToolKind;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pellucid_engine::command_line::joined;
use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::approval::ApplyPatchApprovalRequest;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::change::Changes;
use pellucid_protocol::change::FileChange;
use pellucid_protocol::change::PatchApplyEnd;
use pellucid_protocol::change::PatchStatus;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::exec::ExecStatus;
use pellucid_protocol::item::WebSearchAction;
use pellucid_protocol::mcp::McpToolCallBegin;
use pellucid_protocol::mcp::McpToolCallEnd;
use pellucid_protocol::parsed_command::ParsedCommand;
use serde_json::json;

use super::Outgoing;
use super::Texts;
use super::View;
use super::diffs;
use crate::ask::SessionQuestion;

/// How many bytes of a running command's output are shown: the last ones.
const TAIL_BYTES: usize = 32 << 10;

/// How many bytes of the output of a command that has ended are shown: the first and the last ones.
const OUTPUT_BYTES: usize = 128 << 10;

/// How many bytes a title has.
const TITLE_BYTES: usize = 200;

/// A call that has not ended.
#[derive(Debug, Default)]
pub struct Call {
    /// Whether the call may outlive its turn.
    is_lasting: bool,
    /// Whether the call is a command, whose output is shown as it comes.
    is_command: bool,
    /// Whether a person refused the call. The client received that then.
    is_refused: bool,
    output: Vec<u8>,
    /// How many bytes of output there were, and how many when the client received some last.
    n_bytes: usize,
    n_sent: usize,
}

impl Call {
    fn add(&mut self, chunk: &[u8]) -> bool {
        self.n_bytes += chunk.len();
        self.output.extend_from_slice(chunk);
        if self.output.len() > 2 * TAIL_BYTES {
            self.output.drain(..self.output.len() - TAIL_BYTES);
        }
        // What is sent again is at most four times what is new.
        let is_due = self.n_bytes - self.n_sent > self.n_sent.min(TAIL_BYTES) / 4;
        if is_due {
            self.n_sent = self.n_bytes;
        }
        is_due
    }

    fn shown(&self) -> String {
        let start = self.output.len().saturating_sub(TAIL_BYTES);
        let text = String::from_utf8_lossy(&self.output[start..]).into_owned();
        match self.n_bytes - (self.output.len() - start) {
            0 => text,
            n => format!("[{n} bytes before this]\n{text}"),
        }
    }
}

/// A file that the updates of an event need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The text of a file.
    Text(PathBuf),
    /// An image as a data URL.
    Image(PathBuf),
}

/// The files that the updates of an event need.
pub fn wants(event: &EventMessage) -> Vec<Wanted> {
    let changes = match event {
        EventMessage::PatchApplyBegin(begin) => &begin.changes,
        EventMessage::ApplyPatchApprovalRequest(request) => &request.changes,
        EventMessage::ViewImageToolCall { path, .. } => return vec![Wanted::Image(path.clone())],
        _ => return Vec::new(),
    };
    let updated = |(path, change): (&PathBuf, &FileChange)| {
        matches!(change, FileChange::Update { .. }).then(|| Wanted::Text(path.clone()))
    };
    changes.iter().filter_map(updated).collect()
}

impl View {
    /// What follows from an event about a call.
    pub(super) fn call(&mut self, event: &EventMessage, texts: &Texts) -> Option<Vec<Outgoing>> {
        if self.is_refused(event) {
            return Some(Vec::new());
        }
        Some(match event {
            EventMessage::ExecCommandBegin(begin) => {
                let begun = self.begin(&begin.call_id, command(begin));
                if let Some(call) = self.calls.get_mut(&begin.call_id) {
                    call.is_command = true;
                    call.is_lasting = begin.source == ExecSource::UnifiedExecStartup;
                }
                vec![begun]
            }
            EventMessage::ExecCommandOutputDelta { call_id, chunk, .. } => self.output(call_id, chunk),
            EventMessage::ExecCommandEnd(end) => self.command_over(end),
            EventMessage::ExecApprovalRequest(request) => self.command_question(request),
            EventMessage::PatchApplyBegin(begin) => {
                vec![self.begin(&begin.call_id, patch(&begin.call_id, &begin.changes, texts))]
            }
            EventMessage::PatchApplyEnd(end) => vec![self.patch_over(end)],
            EventMessage::ApplyPatchApprovalRequest(request) => self.patch_question(request, texts),
            EventMessage::McpToolCallBegin(begin) => vec![self.begin(&begin.call_id, server_call(begin))],
            EventMessage::McpToolCallEnd(end) => vec![self.server_call_over(end)],
            EventMessage::ViewImageToolCall { call_id, path } => {
                let call = ToolCall::new(call_id.clone(), cut(&format!("View {}", path.display()), TITLE_BYTES))
                    .name("view_image".to_owned())
                    .kind(ToolKind::Read)
                    .status(ToolCallStatus::Completed)
                    .locations(vec![ToolCallLocation::new(path.clone())])
                    .content(image(path, texts).into_iter().collect());
                vec![SessionUpdate::ToolCall(call.meta(self.asked_by())).into()]
            }
            EventMessage::ItemStarted { item: TurnItem::WebSearch { id, query, action }, .. } => {
                vec![self.begin(id, search(id, query, action))]
            }
            EventMessage::ItemCompleted { item: TurnItem::WebSearch { id, query, action }, .. } => {
                let found = search(id, query, action);
                let fields = ToolCallUpdateFields::new().title(found.title).kind(found.kind).raw_input(found.raw_input);
                vec![self.end(id, fields.status(ToolCallStatus::Completed))]
            }
            EventMessage::RequestUserInput(request) => {
                vec![Outgoing::Question(SessionQuestion::Input(request.clone()))]
            }
            EventMessage::ElicitationRequest(request) => {
                vec![Outgoing::Question(SessionQuestion::Server(request.clone()))]
            }
            EventMessage::DynamicToolCallRequest(call) => vec![Outgoing::Question(SessionQuestion::Tool(call.clone()))],
            EventMessage::ContextRefusal { call_id, why, .. } if self.calls.contains_key(call_id) => {
                vec![self.end(call_id, failed_with(why))]
            }
            EventMessage::ToolCallFailed { call_id, name, why } if self.announced.insert(call_id.clone()) => {
                let call = ToolCall::new(call_id.clone(), name.clone())
                    .name(name.clone())
                    .status(ToolCallStatus::Failed)
                    .content(vec![why.clone().into()]);
                vec![SessionUpdate::ToolCall(call.meta(self.asked_by())).into()]
            }
            other => return self.agents(other),
        })
    }

    /// The beginning of a call: the call itself, or an update if its question announced it.
    fn begin(&mut self, id: &str, call: ToolCall) -> Outgoing {
        let call = call.status(ToolCallStatus::InProgress);
        self.calls.entry(id.to_owned()).or_default();
        if !self.announced.insert(id.to_owned()) {
            let ToolCall { content, locations, .. } = call;
            let mut fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            if !content.is_empty() {
                fields = fields.content(content).locations(locations);
            }
            return SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)).into();
        }
        SessionUpdate::ToolCall(call.meta(self.asked_by())).into()
    }

    fn end(&mut self, id: &str, fields: ToolCallUpdateFields) -> Outgoing {
        self.calls.remove(id);
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)).into()
    }

    fn output(&mut self, id: &str, chunk: &str) -> Vec<Outgoing> {
        let call = self.calls.get_mut(id).filter(|call| call.is_command);
        let (Some(call), Ok(chunk)) = (call, STANDARD.decode(chunk)) else {
            return Vec::new();
        };
        if !call.add(&chunk) {
            return Vec::new();
        }
        let fields = ToolCallUpdateFields::new().content(vec![call.shown().into()]);
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)).into()]
    }

    fn command_over(&mut self, end: &ExecCommandEnd) -> Vec<Outgoing> {
        let id = &end.begin.call_id;
        let mut outgoing = Vec::new();
        if !self.calls.contains_key(id) {
            outgoing.push(self.begin(id, command(&end.begin)));
        }
        let status = match end.status {
            ExecStatus::Completed => ToolCallStatus::Completed,
            ExecStatus::Failed | ExecStatus::Declined => ToolCallStatus::Failed,
        };
        let raw =
            json!({ "exit_code": end.exit_code, "duration_ms": end.duration.as_millis() as u64, "status": end.status });
        let mut fields = ToolCallUpdateFields::new().status(status).raw_output(raw);
        if !end.aggregated_output.is_empty() {
            fields = fields.content(vec![both_ends(&end.aggregated_output, OUTPUT_BYTES).into()]);
        }
        outgoing.push(self.end(id, fields));
        outgoing
    }

    fn command_question(&mut self, request: &ExecApprovalRequest) -> Vec<Outgoing> {
        let call = ToolCall::new(request.call_id.clone(), title(&request.command))
            .kind(kind(&request.parsed_cmd))
            .locations(locations(&request.parsed_cmd, &request.cwd))
            .raw_input(json!({ "command": request.command, "cwd": request.cwd }));
        let announced = self.announce(&request.call_id, &call);
        announced.into_iter().chain([Outgoing::Question(SessionQuestion::Command(call, request.clone()))]).collect()
    }

    fn patch_question(&mut self, request: &ApplyPatchApprovalRequest, texts: &Texts) -> Vec<Outgoing> {
        let call = patch(&request.call_id, &request.changes, texts);
        let announced = self.announce(&request.call_id, &call);
        announced.into_iter().chain([Outgoing::Question(SessionQuestion::Patch(call, request.clone()))]).collect()
    }

    /// Announces a call that waits for an answer.
    fn announce(&mut self, id: &str, call: &ToolCall) -> Option<Outgoing> {
        self.calls.entry(id.to_owned()).or_default();
        if !self.announced.insert(id.to_owned()) {
            return None;
        }
        Some(SessionUpdate::ToolCall(call.clone().meta(self.asked_by())).into())
    }

    /// What follows from a person's decision about a call.
    pub fn decided(&mut self, id: &str, decision: &ReviewDecision) -> Vec<Outgoing> {
        let is_refused = matches!(decision, ReviewDecision::Denied | ReviewDecision::Abort);
        match self.calls.get_mut(id).filter(|_| is_refused) {
            Some(call) => {
                call.is_refused = true;
                let fields = failed_with("the user did not allow this");
                vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)).into()]
            }
            None => Vec::new(),
        }
    }

    fn patch_over(&mut self, end: &PatchApplyEnd) -> Outgoing {
        let fields = match end.status {
            PatchStatus::Completed => ToolCallUpdateFields::new().status(ToolCallStatus::Completed),
            PatchStatus::Failed | PatchStatus::Declined => {
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
                if end.stderr.trim().is_empty() { fields } else { fields.content(vec![end.stderr.trim().into()]) }
            }
        };
        self.end(&end.call_id, fields.raw_output(json!({ "stdout": end.stdout, "stderr": end.stderr })))
    }

    fn server_call_over(&mut self, end: &McpToolCallEnd) -> Outgoing {
        let fields = match &end.result {
            Ok(result) => {
                let status = match result.is_error {
                    Some(true) => ToolCallStatus::Failed,
                    _ => ToolCallStatus::Completed,
                };
                let content = result.content.iter().map(|block| {
                    let known = serde_json::from_value::<ContentBlock>(block.clone());
                    ToolCallContent::from(known.unwrap_or_else(|_| block.to_string().into()))
                });
                ToolCallUpdateFields::new().status(status).content(content.collect::<Vec<_>>())
            }
            Err(error) => failed_with(error),
        };
        self.end(&end.call_id, fields)
    }

    /// Calls whose turn is over are over, unless they may outlive it.
    pub(super) fn calls_over(&mut self) -> Vec<Outgoing> {
        self.calls.retain(|_, call| !call.is_refused);
        let left: Vec<String> =
            self.calls.iter().filter(|(_, call)| !call.is_lasting).map(|(id, _)| id.clone()).collect();
        left.iter().map(|id| self.end(id, ToolCallUpdateFields::new().status(ToolCallStatus::Failed))).collect()
    }

    /// What agents of the session do.
    fn agents(&mut self, event: &EventMessage) -> Option<Vec<Outgoing>> {
        let begun =
            |id: &str, title: String| ToolCall::new(id.to_owned(), cut(&title, TITLE_BYTES)).kind(ToolKind::Think);
        let over = |status: &AgentStatus| {
            let state = serde_json::to_value(status).unwrap_or_default();
            let status = if matches!(status, AgentStatus::Errored(_) | AgentStatus::NotFound) {
                ToolCallStatus::Failed
            } else {
                ToolCallStatus::Completed
            };
            ToolCallUpdateFields::new().status(status).raw_output(json!({ "status": state }))
        };
        Some(vec![match event {
            EventMessage::CollabAgentSpawnBegin { call_id, prompt, .. } => {
                self.begin(call_id, begun(call_id, format!("Start an agent: {prompt}")).name("spawn_agent".to_owned()))
            }
            EventMessage::CollabAgentInteractionBegin { call_id, receiver_thread_id, prompt, .. } => self.begin(
                call_id,
                begun(call_id, format!("Tell agent {receiver_thread_id}: {prompt}")).name("send_input".to_owned()),
            ),
            EventMessage::CollabWaitingBegin { call_id, receiver_thread_ids, .. } => self.begin(
                call_id,
                begun(call_id, format!("Wait for {} agents", receiver_thread_ids.len())).name("wait".to_owned()),
            ),
            EventMessage::CollabCloseBegin { call_id, receiver_thread_id, .. } => self.begin(
                call_id,
                begun(call_id, format!("Close agent {receiver_thread_id}")).name("close_agent".to_owned()),
            ),
            EventMessage::CollabResumeBegin { call_id, receiver_thread_id, .. } => self.begin(
                call_id,
                begun(call_id, format!("Resume agent {receiver_thread_id}")).name("resume_agent".to_owned()),
            ),
            EventMessage::CollabAgentSpawnEnd { call_id, status, .. }
            | EventMessage::CollabAgentInteractionEnd { call_id, status, .. }
            | EventMessage::CollabCloseEnd { call_id, status, .. }
            | EventMessage::CollabResumeEnd { call_id, status, .. } => self.end(call_id, over(status)),
            EventMessage::CollabWaitingEnd { call_id, statuses, .. } => {
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
                self.end(call_id, fields.raw_output(json!({ "statuses": statuses })))
            }
            _ => return None,
        }])
    }

    /// Whether an event is about a call that a person refused. What still comes of it says nothing new.
    fn is_refused(&mut self, event: &EventMessage) -> bool {
        let (id, is_over) = match event {
            EventMessage::ExecCommandBegin(begin) => (&begin.call_id, false),
            EventMessage::ExecCommandEnd(end) => (&end.begin.call_id, true),
            EventMessage::PatchApplyBegin(begin) => (&begin.call_id, false),
            EventMessage::PatchApplyEnd(end) => (&end.call_id, true),
            EventMessage::ContextRefusal { call_id, .. } | EventMessage::ToolCallFailed { call_id, .. } => {
                (call_id, false)
            }
            _ => return false,
        };
        let is_refused = self.calls.get(id).is_some_and(|call| call.is_refused);
        if is_refused && is_over {
            self.calls.remove(id);
        }
        is_refused
    }
}

fn failed_with(why: &str) -> ToolCallUpdateFields {
    ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(vec![why.into()])
}

fn command(begin: &ExecCommandBegin) -> ToolCall {
    let name = match begin.source {
        ExecSource::Agent => "shell",
        ExecSource::UserShell => "user_shell",
        ExecSource::UnifiedExecStartup => "exec_command",
        ExecSource::UnifiedExecInteraction => "write_stdin",
    };
    ToolCall::new(begin.call_id.clone(), title(&begin.command))
        .name(name.to_owned())
        .kind(kind(&begin.parsed_cmd))
        .locations(locations(&begin.parsed_cmd, &begin.cwd))
        .raw_input(json!({ "command": begin.command, "cwd": begin.cwd }))
}

/// A command as one line: the script, if a shell runs one.
pub fn title(command: &[String]) -> String {
    let line = match command {
        [shell, flag, script] if matches!(flag.as_str(), "-c" | "-lc") && shell.ends_with("sh") => script.clone(),
        command => joined(command),
    };
    cut(&line, TITLE_BYTES)
}

fn kind(parsed: &[ParsedCommand]) -> ToolKind {
    let all = |is_such: fn(&ParsedCommand) -> bool| !parsed.is_empty() && parsed.iter().all(is_such);
    if all(|it| matches!(it, ParsedCommand::Read { .. })) {
        ToolKind::Read
    } else if all(|it| matches!(it, ParsedCommand::Search { .. } | ParsedCommand::ListFiles { .. })) {
        ToolKind::Search
    } else {
        ToolKind::Execute
    }
}

fn locations(parsed: &[ParsedCommand], cwd: &Path) -> Vec<ToolCallLocation> {
    let read = parsed.iter().filter_map(|it| match it {
        ParsedCommand::Read { path, .. } => Some(ToolCallLocation::new(cwd.join(path))),
        _ => None,
    });
    read.collect()
}

/// A patch, with both texts of each file.
pub fn patch(id: &str, changes: &Changes, texts: &Texts) -> ToolCall {
    let kind = match changes.values().next() {
        Some(FileChange::Delete { .. }) if changes.len() == 1 => ToolKind::Delete,
        Some(FileChange::Update { move_path: Some(_), unified_diff })
            if changes.len() == 1 && unified_diff.is_empty() =>
        {
            ToolKind::Move
        }
        _ => ToolKind::Edit,
    };
    let verb = match kind {
        ToolKind::Delete => "Delete",
        ToolKind::Move => "Move",
        _ => "Edit",
    };
    let names: Vec<String> = changes.keys().map(|path| name(path)).collect();
    ToolCall::new(id.to_owned(), cut(&format!("{verb} {}", names.join(", ")), TITLE_BYTES))
        .name("apply_patch".to_owned())
        .kind(kind)
        .content(changes.iter().map(|(path, change)| diffs::diff(path, change, texts).into()).collect())
        .locations(changes.iter().map(|(path, change)| diffs::location(path, change)).collect())
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn server_call(begin: &McpToolCallBegin) -> ToolCall {
    let called = &begin.invocation;
    let call = ToolCall::new(begin.call_id.clone(), format!("{}: {}", called.server, called.tool))
        .name(format!("mcp__{}__{}", called.server, called.tool))
        .kind(ToolKind::Other);
    call.raw_input(called.arguments.clone())
}

fn search(id: &str, query: &str, action: &WebSearchAction) -> ToolCall {
    let opened = serde_json::to_value(action).unwrap_or_default();
    let url = opened.get("url").and_then(|url| url.as_str());
    let (kind, title) = match url {
        Some(url) => (ToolKind::Fetch, format!("Open {url}")),
        None if query.is_empty() => (ToolKind::Search, "Search the web".to_owned()),
        None => (ToolKind::Search, format!("Search the web: {query}")),
    };
    let call = ToolCall::new(id.to_owned(), cut(&title, TITLE_BYTES)).name("web_search".to_owned()).kind(kind);
    call.raw_input(json!({ "query": query, "action": opened }))
}

/// The image of a file: its text is a data URL.
fn image(path: &Path, texts: &Texts) -> Option<ToolCallContent> {
    let (mime, data) = texts.get(path)?.strip_prefix("data:")?.split_once(";base64,")?;
    let image = ImageContent::new(data.to_owned(), mime.to_owned());
    Some(ToolCallContent::from(ContentBlock::Image(image)))
}

/// The first line of a text, of at most so many bytes.
pub fn cut(text: &str, bytes_max: usize) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let is_whole = line.len() == text.trim().len();
    if line.len() <= bytes_max && is_whole {
        return line.to_owned();
    }
    let mut end = line.len().min(bytes_max);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &line[..end])
}

/// The first and the last part of a text that is longer than so many bytes.
fn both_ends(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let (mut head, mut tail) = (bytes_max / 2, text.len() - bytes_max / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}
