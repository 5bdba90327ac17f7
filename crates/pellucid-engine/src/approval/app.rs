//! Whether a person is asked before a tool of a connected app is called: what the question is, and what the answers mean.
//!
//! The server's hints about the tool decide. Tools that only read are not asked about, and neither are those that the server
//! says nothing of.

use std::fmt;

use pellucid_protocol::id::TurnId;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserAnswers;
use pellucid_protocol::question::UserChoice;
use pellucid_protocol::question::UserQuestion;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// The beginning of the id of a question; the id of the call follows.
const QUESTION: &str = "mcp_tool_call_approval_";

/// What a call may do, as the server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It may delete or overwrite something.
    Destroys,
    /// It may do something outside of the app.
    Reaches,
    /// It may do both.
    DestroysAndReaches,
}

impl Risk {
    /// What a tool's annotations say: something only if they say that the tool does not only read.
    pub(crate) fn of(annotations: &Value) -> Option<Self> {
        let hint = |key: &str| annotations.get(key).and_then(Value::as_bool);
        if hint("readOnlyHint") != Some(false) {
            return None;
        }
        match (hint("destructiveHint") == Some(true), hint("openWorldHint") == Some(true)) {
            (true, true) => Some(Self::DestroysAndReaches),
            (true, false) => Some(Self::Destroys),
            (false, true) => Some(Self::Reaches),
            (false, false) => None,
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Destroys => "may delete or overwrite data",
            Self::Reaches => "may have an effect outside of the app",
            Self::DestroysAndReaches => "may delete or overwrite data and have an effect outside of the app",
        })
    }
}

/// Whether calls are asked about at all. Not in a session that asks nothing and confines nothing.
pub fn may_ask(policy: ApprovalPolicy, sandbox: &SandboxPolicy) -> bool {
    let is_free = matches!(sandbox, SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. });
    policy != ApprovalPolicy::Never || !is_free
}

/// A call that a person is asked about.
#[derive(Debug, Clone, Copy)]
pub struct AppCall<'a> {
    /// The id of the call.
    pub call_id: &'a str,
    /// The turn that the call belongs to.
    pub turn_id: &'a TurnId,
    /// The app's name, or its id.
    pub app: &'a str,
    /// The tool's name for people, or the one at the server.
    pub tool: &'a str,
    /// What the call may do.
    pub risk: Risk,
}

/// The answers that a person can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The call is made.
    ApproveOnce,
    /// The call is made, and later calls of the tool are not asked about.
    ApproveForSession,
    /// The call is refused.
    Deny,
    /// The call is cancelled.
    Cancel,
}

impl Choice {
    const ALL: [Self; 4] = [Self::ApproveOnce, Self::ApproveForSession, Self::Deny, Self::Cancel];

    fn label(self) -> &'static str {
        match self {
            Self::ApproveOnce => "Approve Once",
            Self::ApproveForSession => "Approve this Session",
            Self::Deny => "Deny",
            Self::Cancel => "Cancel",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::ApproveOnce => "Make this call.",
            Self::ApproveForSession => {
                "Make this call, and later ones of this tool in this session without a question."
            }
            Self::Deny => "Do not make this call; the turn continues.",
            Self::Cancel => "Cancel this call.",
        }
    }

    /// What a person chose. Any other answer denies, and none at all cancels; absent if no such question was answered.
    pub fn of(answers: &UserAnswers) -> Option<Self> {
        let (_, answer) = answers.answers.iter().find(|(id, _)| id.starts_with(QUESTION))?;
        let chosen = Self::ALL.into_iter().find(|choice| answer.answers.iter().any(|it| it == choice.label()));
        Some(chosen.unwrap_or(if answer.answers.is_empty() { Self::Cancel } else { Self::Deny }))
    }

    /// The answers to choose from, in their order, if this is a question about a call.
    pub fn all_of(request: &RequestUserInput) -> Option<[Self; 4]> {
        let is_about_call = matches!(request.questions.as_slice(), [question] if question.id.starts_with(QUESTION));
        is_about_call.then_some(Self::ALL)
    }

    /// Why a call is not made; absent if it is.
    pub fn refusal(self) -> Option<&'static str> {
        match self {
            Self::ApproveOnce | Self::ApproveForSession => None,
            Self::Deny => Some("user rejected MCP tool call"),
            Self::Cancel => Some("user cancelled MCP tool call"),
        }
    }
}

/// The question about a call.
pub fn question(call: &AppCall<'_>) -> RequestUserInput {
    let AppCall { call_id, turn_id, app, tool, risk } = call;
    let option = |it: Choice| UserChoice { label: it.label().to_owned(), description: it.description().to_owned() };
    let question = UserQuestion {
        id: format!("{QUESTION}{call_id}"),
        header: "Call of an app".to_owned(),
        question: format!("The tool \"{tool}\" of {app} {risk}. Is it allowed to run?"),
        is_other: false,
        is_secret: false,
        options: Some(Choice::ALL.map(option).into()),
    };
    RequestUserInput { call_id: (*call_id).to_owned(), turn_id: (*turn_id).clone(), questions: vec![question] }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pellucid_protocol::question::UserAnswer;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hints_decide_whether_a_person_is_asked() {
        let risk = |read_only: Value, destructive: Value, open: Value| {
            Risk::of(&json!({ "readOnlyHint": read_only, "destructiveHint": destructive, "openWorldHint": open }))
        };
        let (yes, no, unsaid) = (json!(true), json!(false), Value::Null);
        let mut asked = Vec::new();
        for read_only in [&yes, &no, &unsaid] {
            for destructive in [&yes, &no, &unsaid] {
                for open in [&yes, &no, &unsaid] {
                    let risk = risk(read_only.clone(), destructive.clone(), open.clone());
                    let is_due = *read_only == no && (*destructive == yes || *open == yes);
                    assert_eq!(risk.is_some(), is_due, "{read_only} {destructive} {open}");
                    asked.extend(risk);
                }
            }
        }
        use Risk::*;
        assert_eq!(asked, [DestroysAndReaches, Destroys, Destroys, Reaches, Reaches]);
        assert_eq!(Risk::of(&json!({ "destructiveHint": true })), None);
    }

    #[test]
    fn a_session_without_limits_is_not_asked() {
        use ApprovalPolicy::*;
        for policy in [Untrusted, OnFailure, OnRequest, Never] {
            assert!(may_ask(policy, &SandboxPolicy::ReadOnly));
            assert_eq!(may_ask(policy, &SandboxPolicy::DangerFullAccess), policy != Never);
        }
    }

    #[track_caller]
    fn check_choice(id: &str, answers: &[&str], expected: Option<Choice>) {
        let answer = UserAnswer { answers: answers.iter().map(|it| (*it).to_owned()).collect() };
        let answers = UserAnswers { answers: BTreeMap::from([(id.to_owned(), answer)]) };
        assert_eq!(Choice::of(&answers), expected);
    }

    #[test]
    fn each_answer_has_its_meaning() {
        for choice in Choice::ALL {
            check_choice("mcp_tool_call_approval_c", &[choice.label()], Some(choice));
        }
        check_choice("mcp_tool_call_approval_c", &["yes"], Some(Choice::Deny));
        check_choice("mcp_tool_call_approval_c", &[], Some(Choice::Cancel));
        check_choice("other", &["Approve Once"], None);
        assert_eq!(Choice::of(&UserAnswers::default()), None);
    }
}
