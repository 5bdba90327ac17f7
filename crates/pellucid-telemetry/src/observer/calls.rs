//! Tool calls: what was decided about them, in which sandbox they ran, how they ended.

use pellucid_protocol::call_record::Answerer;
use pellucid_protocol::call_record::ApprovalWord;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::item::Item;
use pellucid_protocol::telemetry::TelemetryContent;

use super::CALLS_MAX;
use super::Observer;
use super::attribute;
use super::chosen;
use super::internal;
use super::milliseconds;
use super::seconds;
use crate::content;
use crate::facts::ObservedCall;
use crate::names;
use crate::record::Attribute;
use crate::record::SpanRecord;
use crate::trace;

/// The tool whose calls are decided about although they run no process.
const PATCH: &str = "apply_patch";

/// The name of a command that a person typed.
const USER_SHELL: &str = "user_shell";

impl Observer {
    /// Notes the output of a call, before the call itself.
    pub fn output(&mut self, item: &Item) {
        if !self.wants_calls() || self.outputs.len() >= CALLS_MAX {
            return;
        }
        match item {
            Item::FunctionCallOutput { call_id, output } => {
                self.outputs.insert(call_id.clone(), content::output_text(output));
            }
            Item::CustomToolCallOutput { call_id, output } => {
                self.outputs.insert(call_id.clone(), output.clone());
            }
            _ => {}
        }
    }

    /// Notes a tool call that is over.
    pub fn call(&mut self, call: &ObservedCall) {
        let arguments = self.arguments.remove(&call.call_id);
        let output = self.outputs.remove(&call.call_id);
        let is_mcp = self.mcp_calls.remove(&call.call_id);
        self.log_call(call, arguments.as_deref(), output.as_deref());
        self.measure_call(call, is_mcp);
        let span = self.call_span(call, arguments.as_deref(), output.as_deref(), is_mcp);
        self.span(span);
    }

    fn log_call(&mut self, call: &ObservedCall, arguments: Option<&str>, output: Option<&str>) {
        let is_full = self.has_full_content();
        let about =
            |name: &str| vec![attribute(names::TOOL_NAME, name), attribute(names::CALL_ID, chosen(&call.call_id))];
        if is_decided(call) {
            let mut attributes = about(name(call));
            let (decision, source) = decision(call);
            attributes.push(attribute(names::DECISION, decision));
            attributes.push(attribute(names::SOURCE, source));
            self.log(call.began, names::TOOL_DECISION, attributes);
        }
        if call.tool.is_empty() {
            return;
        }
        let mut attributes = about(name(call));
        attributes.extend(self.text(names::ARGUMENTS, names::ARGUMENTS_SHA256, arguments, is_full));
        let duration = milliseconds(call.began, call.ended).to_string();
        attributes.push(attribute(names::DURATION_MS, duration));
        attributes.push(attribute(names::SUCCESS, success(call)));
        attributes.extend(self.text(names::OUTPUT, names::OUTPUT_SHA256, output, is_full));
        self.log(call.ended, names::TOOL_RESULT, attributes);
    }

    fn measure_call(&mut self, call: &ObservedCall, is_mcp: bool) {
        if call.tool.is_empty() {
            self.count(&names::TASK_USER_SHELL, Vec::new());
        } else {
            let mut about = vec![attribute(names::TOOL, name(call)), attribute(names::SUCCESS, success(call))];
            if let Some(run) = call.runs.last() {
                about.push(attribute(names::SANDBOX, run.backend.as_deref().unwrap_or("none")));
                about.push(attribute(names::SANDBOX_POLICY, self.facts.settings.sandbox_policy.as_str()));
            }
            self.count(&names::TOOL_CALL, about.clone());
            self.measure_ms(&names::TOOL_CALL_DURATION, milliseconds(call.began, call.ended), about);
        }
        if is_mcp {
            let status = if call.outcome == CallOutcome::Done { "ok" } else { "error" };
            self.count(&names::MCP_CALL, vec![attribute(names::STATUS, status)]);
        }
        let mut about = self.about_operation(names::EXECUTE_TOOL);
        about.push(attribute(names::GEN_AI_TOOL_NAME, name(call)));
        about.extend(error(call).map(|it| attribute(names::ERROR_TYPE, it)));
        self.measure(&names::EXECUTE_TOOL_DURATION, seconds(call.began, call.ended), about);
        for (to, by, answer) in &call.answers {
            let codex = vec![attribute(names::TOOL, name(call)), attribute(names::APPROVED, answer.as_str())];
            self.count(&names::APPROVAL_REQUESTED, codex);
            let ours = vec![
                attribute(names::APPROVAL_FOR, to.as_str()),
                attribute(names::APPROVAL_BY, by.as_str()),
                attribute(names::APPROVAL, answer.as_str()),
            ];
            self.count(&names::APPROVALS, ours);
        }
        for run in call.runs.iter().filter(|run| run.is_denied) {
            let backend = attribute(names::SANDBOX_BACKEND, run.backend.as_deref().unwrap_or("none"));
            self.count(&names::SANDBOX_DENIED, vec![backend]);
        }
    }

    fn call_span(
        &mut self,
        call: &ObservedCall,
        arguments: Option<&str>,
        output: Option<&str>,
        is_mcp: bool,
    ) -> SpanRecord {
        let above = self.turn.as_ref().map(|turn| turn.context).or(self.last_turn).or(self.facts.parent).or(self.above);
        // A call that another made is found by the name of that one, whichever of the two is exported first.
        let context_of = |id: &str| match above {
            Some(above) => above.beside(&[&self.seed, "call", id]),
            None => trace::SpanContext::root(&[&self.seed, "call", id]),
        };
        let parent = call.within.as_deref().map(context_of).or(above).map(|above| above.span);
        let title = format!("{} {}", names::EXECUTE_TOOL, name(call));
        let mut span = internal(context_of(&call.call_id), parent, title, call.began, call.ended);
        let mut all = vec![
            attribute(names::OPERATION_NAME, names::EXECUTE_TOOL),
            attribute(names::GEN_AI_TOOL_NAME, name(call)),
            attribute(names::GEN_AI_CALL_ID, chosen(&call.call_id)),
            attribute(names::GEN_AI_TOOL_TYPE, if is_mcp { "extension" } else { "function" }),
            attribute(names::GEN_AI_CONVERSATION, self.facts.session.as_str()),
            attribute(names::OUTCOME, call.outcome.as_str()),
        ];
        if is_mcp {
            all.push(attribute(names::MCP_METHOD, "tools/call"));
        }
        if let Some(run) = call.runs.last() {
            all.extend(run.exit_code.map(|it| attribute(names::EXIT_CODE, i64::from(it))));
            all.push(attribute(names::SANDBOX_MODE, run.mode.as_str()));
            all.push(attribute(names::SANDBOX_BACKEND, run.backend.as_deref().unwrap_or("none")));
            all.push(attribute(names::SANDBOX_STOPPED, call.runs.iter().any(|run| run.is_denied)));
        }
        if let Some((_, by, answer)) = call.answers.last() {
            all.push(attribute(names::APPROVAL, answer.as_str()));
            all.push(attribute(names::APPROVAL_BY, by.as_str()));
        }
        all.extend(error(call).map(|it| attribute(names::ERROR_TYPE, it)));
        all.extend(self.call_content(names::CALL_ARGUMENTS, names::ARGUMENTS_DIGEST, arguments));
        all.extend(self.call_content(names::CALL_RESULT, names::RESULT_DIGEST, output));
        span.attributes = all;
        span.has_failed = error(call).is_some();
        span
    }

    fn call_content(&self, name: &'static str, digest: &'static str, text: Option<&str>) -> Option<Attribute> {
        match self.exported.content {
            TelemetryContent::None => None,
            TelemetryContent::Digests => Some(attribute(digest, trace::sha256(text?))),
            TelemetryContent::Full => Some(attribute(name, self.blanked(text?))),
        }
    }
}

fn name(call: &ObservedCall) -> &str {
    if call.tool.is_empty() { USER_SHELL } else { chosen(&call.tool) }
}

fn success(call: &ObservedCall) -> &'static str {
    if call.outcome == CallOutcome::Done { "true" } else { "false" }
}

/// Why a call failed, if it did.
fn error(call: &ObservedCall) -> Option<&'static str> {
    (call.outcome != CallOutcome::Done).then(|| call.outcome.as_str())
}

/// Whether rules or a person decided about the call.
fn is_decided(call: &ObservedCall) -> bool {
    let is_of_model = !call.tool.is_empty();
    let has_run = !call.runs.is_empty() || !call.answers.is_empty();
    is_of_model && (has_run || call.outcome == CallOutcome::Refused || call.tool == PATCH)
}

/// The decision in the words of the Codex CLI, and what made it.
fn decision(call: &ObservedCall) -> (&'static str, &'static str) {
    let Some((_, by, answer)) = call.answers.last() else {
        let decision = if call.outcome == CallOutcome::Refused { "denied" } else { "approved" };
        return (decision, "Config");
    };
    let source = if *by == Answerer::Client { "User" } else { "Config" };
    let decision = match answer {
        ApprovalWord::Approved => "approved",
        ApprovalWord::ApprovedForSession => "approved_for_session",
        ApprovalWord::ApprovedWithRule => "approved_with_amendment",
        ApprovalWord::Denied => "denied",
        ApprovalWord::Abort => "abort",
    };
    (decision, source)
}
