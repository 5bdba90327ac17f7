//! The grounds on which a call ran or was refused, as records keep them: words, and rules with their places. The command
//! is not among them.
//!
//! Not here: the explanation for a person who asks beforehand, which has the command and what would change the decision
//! (`explain`).

use std::fmt;

use pellucid_protocol::approval::RuleDecision;
use pellucid_protocol::settings::ApprovalPolicy;
use serde::Deserialize;
use serde::Serialize;

use crate::approval::app::Risk;
use crate::approval::decide::ApprovalDecision;
use crate::approval::decide::Attempt;
use crate::approval::decide::Heuristic;
use crate::approval::decide::Judgement;
use crate::approval::decide::JudgementGrounds;
use crate::approval::decide::Obstacle;
use crate::approval::decide::Outside;
use crate::approval::decide::Requirement;
use crate::approval::explain;
use crate::approval::part::ShellFeature;
use crate::approval::part::Split;
use crate::approval::patch::PatchDecision;
use crate::approval::patch::PatchGrounds;
use crate::approval::patch::PatchRequirement;
use crate::approval::rules::Rule;

/// Why a call ran, or did not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum CallGrounds {
    /// The tool needs no decision.
    NotNeeded {
        /// Why the tool needs no decision.
        because: Unasked,
        /// The call whose decision covers this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// There was a decision about a command.
    Command(CommandGrounds),
    /// There was a decision about a patch.
    Patch(PatchCallGrounds),
    /// A person decides about the call of a connected app's tool.
    App {
        /// What the call may do, as the app's server says.
        risk: Risk,
        /// When a person is asked.
        policy: ApprovalPolicy,
    },
    /// The call was refused before there was anything to decide.
    Refused {
        /// Why the call was refused.
        because: RefusedBecause,
        /// When a person is asked.
        policy: ApprovalPolicy,
    },
    /// The call ended before a decision was needed, such as one whose arguments cannot be read.
    #[default]
    Undecided,
}

/// Why a tool needs no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unasked {
    /// The tool only reads files.
    ReadsOnly,
    /// The tool changes nothing outside of the session.
    SessionOnly,
    /// The tool asks a person and does nothing else.
    AsksPerson,
    /// An MCP server does the work.
    Server,
    /// The client does the work.
    Client,
    /// The tool runs under the sandbox settings of the turn.
    Sandbox,
    /// Another agent does the work, and decides about its calls.
    Agent,
    /// The tool writes to a command that another call started.
    OpenTerminal,
    /// A person typed the command.
    Person,
}

/// Why a call is refused before anything is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedBecause {
    /// The model asks to leave the sandbox, and the approval policy does not let it ask.
    EscalationNotAllowed,
    /// The model may only call tools through another tool.
    DirectCallsDisabled,
}

/// The decision about a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandGrounds {
    /// When a person is asked.
    pub policy: ApprovalPolicy,
    /// Whether the command runs, is asked about or is refused.
    pub outcome: ApprovalOutcome,
    /// Why the first attempt runs outside of a sandbox, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// Whether a person allowed it earlier in the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub granted: bool,
    /// How the command was taken apart.
    pub split: Split,
    /// What was found about each part, in the order of the script.
    pub parts: Vec<PartGrounds>,
}

/// What follows from a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalOutcome {
    /// The call runs without a question.
    Run,
    /// The client is asked first.
    Ask,
    /// The call is refused.
    Reject,
}

/// What was found about one part of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartGrounds {
    /// What the rules or the heuristic decide about the part.
    pub decision: RuleDecision,
    /// The rules that match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleGrounds>,
    /// Rules that would allow the part, but do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<RuleGrounds>,
    /// Why the rules in `ignored` do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored_because: Option<Hindrance>,
    /// What the heuristic found, if no rule matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heuristic: Option<Heuristic>,
}

/// A rule, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleGrounds {
    /// The file and the line that have the rule.
    pub place: String,
    /// The rule as the file has it.
    pub rule: String,
}

/// Why a rule that allows a part does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hindrance {
    /// The part has a feature of shells, so its words are not exactly what its program is given.
    Mark(ShellFeature),
    /// The shell is neither the user's nor the system's.
    Shell,
    /// A command could have written the program, or can write another program that is found first.
    Changeable,
}

/// The decision about a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchCallGrounds {
    /// When a person is asked.
    pub policy: ApprovalPolicy,
    /// Whether the patch is applied, asked about or refused.
    pub outcome: ApprovalOutcome,
    /// Why that was decided.
    pub because: PatchGrounds,
}

impl CallGrounds {
    /// The grounds of a tool that needs no decision.
    pub fn not_needed(because: Unasked) -> Self {
        Self::NotNeeded { because, call: None }
    }

    /// The grounds of a decision about a command.
    pub fn of_command(decision: &ApprovalDecision, split: Split, policy: ApprovalPolicy) -> Self {
        let (outcome, granted) = match &decision.requirement {
            Requirement::Run { is_granted, .. } => (ApprovalOutcome::Run, *is_granted),
            Requirement::Ask { .. } => (ApprovalOutcome::Ask, false),
            Requirement::Reject { .. } => (ApprovalOutcome::Reject, false),
        };
        let outside = match decision.attempt {
            Attempt::Inside => None,
            Attempt::Outside(outside) => Some(outside),
        };
        let parts = decision.judgements.iter().map(PartGrounds::new).collect();
        Self::Command(CommandGrounds { policy, outcome, outside, granted, split, parts })
    }

    /// The grounds of a decision about a patch.
    pub fn of_patch(decision: &PatchDecision, policy: ApprovalPolicy) -> Self {
        let outcome = match decision.requirement {
            PatchRequirement::Apply | PatchRequirement::ApplyInSandbox => ApprovalOutcome::Run,
            PatchRequirement::Ask => ApprovalOutcome::Ask,
            PatchRequirement::Reject(_) => ApprovalOutcome::Reject,
        };
        Self::Patch(PatchCallGrounds { policy, outcome, because: decision.grounds })
    }
}

impl PartGrounds {
    fn new(judgement: &Judgement) -> Self {
        let rule = |rule: &Rule| RuleGrounds { place: rule.place.to_string(), rule: rule.to_string() };
        let (rules, heuristic) = match &judgement.grounds {
            JudgementGrounds::Rules(matches) => (matches.iter().map(|found| rule(&found.rule)).collect(), None),
            JudgementGrounds::Heuristic(heuristic) => (Vec::new(), Some(*heuristic)),
        };
        let is_ignored = !judgement.ignored.is_empty();
        Self {
            decision: judgement.decision(),
            rules,
            ignored: judgement.ignored.iter().map(rule).collect(),
            ignored_because: judgement.obstacle.as_ref().filter(|_| is_ignored).map(|obstacle| match obstacle {
                Obstacle::Mark(mark) => Hindrance::Mark(*mark),
                Obstacle::Shell(_) => Hindrance::Shell,
                Obstacle::Changeable(_) => Hindrance::Changeable,
            }),
            heuristic,
        }
    }
}

impl fmt::Display for ApprovalOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "run",
            Self::Ask => "ask",
            Self::Reject => "reject",
        })
    }
}

impl Unasked {
    fn text(self) -> &'static str {
        match self {
            Self::ReadsOnly => "the tool only reads",
            Self::SessionOnly => "the tool changes nothing outside of the session",
            Self::AsksPerson => "the tool asks a person and does nothing else",
            Self::Server => "an MCP server does the work",
            Self::Client => "the client does the work",
            Self::Sandbox => "it runs under the sandbox settings of the turn",
            Self::Agent => "an agent does the work and decides about its calls",
            Self::OpenTerminal => "it writes to a command that another call started",
            Self::Person => "a person typed it",
        }
    }
}

impl RefusedBecause {
    fn text(self) -> &'static str {
        match self {
            Self::EscalationNotAllowed => {
                "the model asks to leave the sandbox, and the approval policy does not let it ask"
            }
            Self::DirectCallsDisabled => "the model may call this tool only through another one",
        }
    }
}

impl Hindrance {
    fn text(self) -> String {
        match self {
            Self::Mark(mark) => format!("there is {} in the script", mark.as_str()),
            Self::Shell => "its shell is neither your shell nor one in a system folder".to_owned(),
            Self::Changeable => "commands can write to its program".to_owned(),
        }
    }
}

fn patch_text(grounds: PatchGrounds) -> &'static str {
    match grounds {
        PatchGrounds::Empty => "it changes nothing",
        PatchGrounds::Untrusted => "the approval policy asks about every patch",
        PatchGrounds::Unconfined => "the settings have no sandbox",
        PatchGrounds::Confined => "it writes where commands may write",
        PatchGrounds::NoPlatformSandbox => "this system has no sandbox",
        PatchGrounds::OutsideUnasked => "it writes where commands may not, and the approval policy never asks",
        PatchGrounds::Outside => "it writes where commands may not",
    }
}

/// For people: the decision on the first line, then its grounds, each line with a line break.
impl fmt::Display for CallGrounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNeeded { because, call: None } => writeln!(f, "no approval needed: {}", because.text()),
            Self::NotNeeded { because, call: Some(call) } => {
                writeln!(f, "no approval needed: {} ({call})", because.text())
            }
            Self::Command(grounds) => grounds.fmt(f),
            Self::Patch(PatchCallGrounds { policy, outcome, because }) => {
                writeln!(f, "{outcome}: {}\napproval policy: {policy}", patch_text(*because))
            }
            Self::App { risk, policy } => {
                writeln!(f, "ask: the app's server says that the tool {risk}\napproval policy: {policy}")
            }
            Self::Refused { because, policy } => {
                writeln!(f, "reject: {}\napproval policy: {policy}", because.text())
            }
            Self::Undecided => writeln!(f, "nothing was decided: the call ended before"),
        }
    }
}

impl fmt::Display for CommandGrounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempt = self.outside.map_or(Attempt::Inside, Attempt::Outside);
        let place = explain::attempt_text(attempt);
        match (self.outcome, self.granted) {
            (ApprovalOutcome::Run, true) => writeln!(f, "run: {place}, as it was allowed for this session")?,
            (ApprovalOutcome::Run, false) => writeln!(f, "run: {place}")?,
            (ApprovalOutcome::Ask, _) => writeln!(f, "ask: if allowed, {place}")?,
            (ApprovalOutcome::Reject, _) => writeln!(f, "reject")?,
        }
        writeln!(f, "approval policy: {}", self.policy)?;
        writeln!(f, "taken apart: {}", explain::split_text(self.split))?;
        for (n, part) in self.parts.iter().enumerate() {
            writeln!(f, "part {}: {}", n + 1, part.decision)?;
            for rule in &part.rules {
                writeln!(f, "  {}: {}", rule.place, rule.rule)?;
            }
            for rule in &part.ignored {
                let why = part.ignored_because.map(Hindrance::text).unwrap_or_default();
                writeln!(f, "  {}: does not count, as {why}: {}", rule.place, rule.rule)?;
            }
            if let Some(heuristic) = part.heuristic {
                let none = if part.ignored.is_empty() { "no rule matches" } else { "no other rule matches" };
                writeln!(f, "  {none}; {}", explain::heuristic_text(heuristic))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::approval::SandboxPermissions;
    use pellucid_protocol::settings::SandboxPolicy;

    use super::*;
    use crate::approval::Platform;
    use crate::approval::decide::ApprovalQuestion;
    use crate::approval::decide::decide;
    use crate::approval::grants::Grants;
    use crate::approval::part::CommandPart;
    use crate::approval::part::CommandParts;
    use crate::approval::program::testing::programs;
    use crate::approval::rules::testing::rules;
    use crate::approval::rules::testing::words;

    /// The grounds of a decision about a script, as JSON and in words. Neither has a word of the script.
    #[track_caller]
    fn check_grounds(policy: ApprovalPolicy, text: &str, commands: &[&str], expected: &Expect) {
        let argv = ["bash", "-lc", &commands.join(" && ")].map(str::to_owned);
        let parts = commands.iter().map(|line| CommandPart::new(words(line))).collect();
        let parts = CommandParts::of_script("bash", parts, Split::Plain).unwrap();
        let programs = programs(commands.iter().map(|line| line.split(' ').next().unwrap()).chain(["bash"]));
        let (rules, grants) = (rules(text), Grants::default());
        let decision = decide(&ApprovalQuestion {
            argv: &argv,
            parts: &parts,
            rules: &rules,
            policy,
            sandbox: &SandboxPolicy::ReadOnly,
            permissions: SandboxPermissions::UseDefault,
            prefix_rule: None,
            grants: &grants,
            keys: &[],
            programs: &programs,
            platform: Platform::Linux,
        });
        let grounds = CallGrounds::of_command(&decision, Split::Plain, policy);
        let json = serde_json::to_string(&grounds).unwrap();
        assert_eq!(serde_json::from_str::<CallGrounds>(&json).unwrap(), grounds);
        let shown = format!("{json}\n{grounds}");
        assert!(!shown.contains("secret"), "{shown}");
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_command_is_kept_by_rules_and_words() {
        check_grounds(
            ApprovalPolicy::OnRequest,
            "allow touch\nprompt mv # Look first.",
            &["touch secret", "mv secret b", "ls secret"],
            &expect![[r#"
                {"decision":"command","policy":"on-request","outcome":"ask","split":"plain","parts":[{"decision":"allow","rules":[{"place":"a.rules:1","rule":"prefix_rule(pattern=[\"touch\"], decision=\"allow\")"}]},{"decision":"prompt","rules":[{"place":"a.rules:2","rule":"prefix_rule(pattern=[\"mv\"], decision=\"prompt\", justification=\"Look first.\")"}]},{"decision":"allow","heuristic":"known_safe"}]}
                ask: if allowed, it runs in the sandbox
                approval policy: on-request
                taken apart: yes, its script consists of plain commands
                part 1: allow
                  a.rules:1: prefix_rule(pattern=["touch"], decision="allow")
                part 2: prompt
                  a.rules:2: prefix_rule(pattern=["mv"], decision="prompt", justification="Look first.")
                part 3: allow
                  no rule matches; it is known to only read
            "#]],
        );
        check_grounds(
            ApprovalPolicy::Never,
            "",
            &["rm -rf secret"],
            &expect![[r#"
            {"decision":"command","policy":"never","outcome":"reject","split":"plain","parts":[{"decision":"forbidden","heuristic":"dangerous_unasked"}]}
            reject
            approval policy: never
            taken apart: yes, its script consists of plain commands
            part 1: forbidden
              no rule matches; it is dangerous and the approval policy never asks
        "#]],
        );
    }

    #[test]
    fn what_needs_no_decision_says_why() {
        let shown = |grounds: &CallGrounds| format!("{}\n{grounds}", serde_json::to_string(grounds).unwrap());
        let terminal = CallGrounds::NotNeeded { because: Unasked::OpenTerminal, call: Some("call_1".to_owned()) };
        let patch = PatchDecision { requirement: PatchRequirement::ApplyInSandbox, grounds: PatchGrounds::Confined };
        let refused =
            CallGrounds::Refused { because: RefusedBecause::EscalationNotAllowed, policy: ApprovalPolicy::Never };
        let all = [
            CallGrounds::not_needed(Unasked::ReadsOnly),
            terminal,
            CallGrounds::of_patch(&patch, ApprovalPolicy::OnRequest),
            refused,
            CallGrounds::App { risk: Risk::Destroys, policy: ApprovalPolicy::OnRequest },
            CallGrounds::Undecided,
        ];
        expect![[r#"
            {"decision":"not_needed","because":"reads_only"}
            no approval needed: the tool only reads
            {"decision":"not_needed","because":"open_terminal","call":"call_1"}
            no approval needed: it writes to a command that another call started (call_1)
            {"decision":"patch","policy":"on-request","outcome":"run","because":"confined"}
            run: it writes where commands may write
            approval policy: on-request
            {"decision":"refused","because":"escalation_not_allowed","policy":"never"}
            reject: the model asks to leave the sandbox, and the approval policy does not let it ask
            approval policy: never
            {"decision":"app","risk":"destroys","policy":"on-request"}
            ask: the app's server says that the tool may delete or overwrite data
            approval policy: on-request
            {"decision":"undecided"}
            nothing was decided: the call ended before
        "#]]
        .assert_eq(&all.iter().map(shown).collect::<String>());
    }
}
