//! What calls say before the reply that made them has ended.
//!
//! Calls run while the model is still talking, and a quick one ends before its reply does or after it, as it happens.
//! A call has its cause in its reply, so what a person is asked because of it, and how it ended, is passed on after the
//! reply, in every run in the same order. That a call began and what it prints is passed on at once.

use std::collections::BTreeSet;
use std::collections::VecDeque;

use pellucid_protocol::event::EventMessage;
use pellucid_tools::desk::AskKey;
use pellucid_tools::desk::FromTool;

/// What waits for the end of the reply.
#[derive(Debug, Default)]
pub(crate) struct HeldBack {
    /// The calls of the reply.
    calls: BTreeSet<String>,
    messages: VecDeque<FromTool>,
}

impl HeldBack {
    /// The reply has made a call.
    pub(crate) fn expect(&mut self, call_id: &str) {
        self.calls.insert(call_id.to_owned());
    }

    /// Holds a message back if it has to wait, else gives it back.
    pub(crate) fn hold(&mut self, message: FromTool) -> Option<FromTool> {
        if self.waits(&message) {
            self.messages.push_back(message);
            None
        } else {
            Some(message)
        }
    }

    /// The next message, once the reply has ended.
    pub(crate) fn next(&mut self) -> Option<FromTool> {
        self.calls.clear();
        self.messages.pop_front()
    }

    /// All messages, where the reply does not come to its end.
    pub(crate) fn take(&mut self) -> Vec<FromTool> {
        self.calls.clear();
        self.messages.drain(..).collect()
    }

    fn waits(&self, message: &FromTool) -> bool {
        match message {
            FromTool::Event(event) => ended_call(event).is_some_and(|call_id| self.calls.contains(call_id)),
            FromTool::Ask(question) => {
                matches!(&question.key, AskKey::Approval(call_id) if self.calls.contains(call_id))
            }
            FromTool::Finished { .. } => true,
            // It belongs to the patch before it.
            FromTool::Diff => !self.messages.is_empty(),
            FromTool::SessionEvent(_)
            | FromTool::Notice(_)
            | FromTool::Picture(_)
            | FromTool::Snapshot(_)
            | FromTool::UserCommandEnded { .. }
            | FromTool::Abort => false,
        }
    }
}

/// The call whose end an event reports.
fn ended_call(event: &EventMessage) -> Option<&str> {
    match event {
        EventMessage::ExecCommandEnd(end) => Some(&end.begin.call_id),
        EventMessage::PatchApplyEnd(end) => Some(&end.call_id),
        EventMessage::McpToolCallEnd(end) => Some(&end.call_id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pellucid_protocol::change::PatchApplyBegin;
    use pellucid_protocol::change::PatchApplyEnd;
    use pellucid_protocol::change::PatchStatus;
    use pellucid_protocol::id::TurnId;

    use super::*;

    fn begin(call_id: &str) -> FromTool {
        let (call_id, turn_id) = (call_id.to_owned(), TurnId::new("t"));
        let begin = PatchApplyBegin { call_id, turn_id, auto_approved: true, changes: Default::default() };
        FromTool::Event(EventMessage::PatchApplyBegin(begin))
    }

    fn end(call_id: &str) -> FromTool {
        FromTool::Event(EventMessage::PatchApplyEnd(PatchApplyEnd {
            call_id: call_id.to_owned(),
            turn_id: TurnId::new("t"),
            stdout: String::new(),
            stderr: String::new(),
            success: true,
            changes: Default::default(),
            status: PatchStatus::Completed,
        }))
    }

    fn finished() -> FromTool {
        FromTool::Finished { index: 0, answer: None }
    }

    fn name(message: &FromTool) -> String {
        match message {
            FromTool::Event(EventMessage::PatchApplyBegin(begin)) => format!("begin {}", begin.call_id),
            FromTool::Event(EventMessage::PatchApplyEnd(end)) => format!("end {}", end.call_id),
            FromTool::Diff => "diff".to_owned(),
            FromTool::Finished { .. } => "finished".to_owned(),
            FromTool::Picture(_) => "picture".to_owned(),
            other => format!("{other:?}"),
        }
    }

    /// Checks what is passed on while the reply is read, and what after it.
    #[track_caller]
    fn check_order(messages: Vec<FromTool>, at_once: &[&str], later: &[&str]) {
        let mut held_back = HeldBack::default();
        held_back.expect("own");
        let passed: Vec<String> =
            messages.into_iter().filter_map(|it| held_back.hold(it)).map(|it| name(&it)).collect();
        assert_eq!(passed, at_once);
        let rest: Vec<String> = std::iter::from_fn(|| held_back.next()).map(|it| name(&it)).collect();
        assert_eq!(rest, later);
    }

    #[test]
    fn the_end_of_a_call_comes_after_the_end_of_its_reply() {
        check_order(
            vec![begin("own"), end("own"), FromTool::Diff, finished(), FromTool::Picture(PathBuf::new())],
            &["begin own", "picture"],
            &["end own", "diff", "finished"],
        );
    }

    #[test]
    fn what_continues_from_an_earlier_reply_waits_for_nothing() {
        check_order(vec![end("earlier"), FromTool::Diff], &["end earlier", "diff"], &[]);
    }
}
