//! The decision about a command: it runs, somebody is asked, or it is refused.
//!
//! Every part of the command is judged: by the rules that match it, or, if none does, by a heuristic.
//! The strictest judgement wins. A decision carries all judgements, so that it can be explained.
//!
//! Not here: words for people (`explain`), what a sandbox does to a command that runs (`denial`).

use pellucid_protocol::approval::RuleDecision;
use pellucid_protocol::approval::SandboxPermissions;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;

use crate::approval::Platform;
use crate::approval::amendment;
use crate::approval::dangerous;
use crate::approval::grants::GrantKey;
use crate::approval::grants::Grants;
use crate::approval::part::Part;
use crate::approval::part::Parts;
use crate::approval::rules::Rule;
use crate::approval::rules::Rules;
use crate::approval::safe;
use crate::command_line::joined;

/// What is to be decided.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The command, as it would be run.
    pub argv: &'a [String],
    /// The same, taken apart.
    pub parts: &'a Parts,
    /// The rules that count.
    pub rules: &'a Rules,
    /// When a person is asked.
    pub policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox: &'a SandboxPolicy,
    /// Which rights the model asks for.
    pub permissions: SandboxPermissions,
    /// The prefix that the model would like to be allowed.
    pub prefix_rule: Option<&'a [String]>,
    /// What was allowed for the session.
    pub grants: &'a Grants,
    /// Under which keys this command would have been allowed.
    pub keys: &'a [GrantKey],
    /// The system it runs on.
    pub platform: Platform,
}

/// A decision and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What follows.
    pub requirement: Requirement,
    /// Where the first attempt runs, if there is one.
    pub attempt: Attempt,
    /// What was found about each part, in the order of the script.
    pub judgements: Vec<Judgement>,
}

/// What follows from a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// It runs.
    Run {
        /// Whether a person allowed it earlier in the session. Then nobody is asked after a denial either.
        is_granted: bool,
        /// The prefix to offer, should a sandbox deny the command and somebody be asked then.
        proposed_amendment: Option<Vec<String>>,
    },
    /// Somebody is asked.
    Ask {
        /// Why, if a rule says so. Otherwise the model's own words are shown.
        reason: Option<String>,
        /// The prefix to offer.
        proposed_amendment: Option<Vec<String>>,
    },
    /// It does not run.
    Reject {
        /// What the model is told.
        text: String,
    },
}

/// Where the first attempt at a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// In the sandbox.
    Inside,
    /// Outside of it.
    Outside(Outside),
}

/// Why a command runs outside of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// There is none by the settings.
    NoSandbox,
    /// A rule allows the command.
    Rule,
    /// The model asked for it.
    Escalation,
}

/// What was found about one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The words of the part.
    pub words: Vec<String>,
    /// What was found.
    pub grounds: Grounds,
}

/// What a judgement stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grounds {
    /// Rules that match.
    ///
    /// Invariant: not empty.
    Rules(Vec<Rule>),
    /// No rule matches.
    Heuristic(Heuristic),
}

/// What is said of a command that no rule matches, in the order in which it is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heuristic {
    /// It is known to be safe.
    KnownSafe,
    /// It is dangerous, and somebody can be asked.
    Dangerous,
    /// It is dangerous, and nobody can be asked.
    DangerousUnasked,
    /// This system has no sandbox that only reads, and somebody can be asked.
    NoReadOnlySandbox,
    /// The same, and nobody can be asked.
    NoReadOnlySandboxUnasked,
    /// The policy asks nobody beforehand.
    NotAsked,
    /// The policy asks about everything that is not known to be safe.
    Untrusted,
    /// The policy asks when the model does, and there is no sandbox to leave.
    Unconfined,
    /// The policy asks when the model does, and it does.
    Escalated,
    /// The policy asks when the model does, and it does not.
    Confined,
}

impl Heuristic {
    /// What it says.
    pub fn decision(self) -> RuleDecision {
        match self {
            Self::KnownSafe | Self::NotAsked | Self::Unconfined | Self::Confined => RuleDecision::Allow,
            Self::Dangerous | Self::NoReadOnlySandbox | Self::Untrusted | Self::Escalated => RuleDecision::Prompt,
            Self::DangerousUnasked | Self::NoReadOnlySandboxUnasked => RuleDecision::Forbidden,
        }
    }
}

impl Judgement {
    /// What it amounts to.
    pub fn decision(&self) -> RuleDecision {
        match &self.grounds {
            Grounds::Rules(rules) => strictest(rules.iter().map(|rule| rule.decision)),
            Grounds::Heuristic(heuristic) => heuristic.decision(),
        }
    }

    fn rules(&self) -> &[Rule] {
        match &self.grounds {
            Grounds::Rules(rules) => rules,
            Grounds::Heuristic(_) => &[],
        }
    }

    fn is_heuristic(&self, decision: RuleDecision) -> bool {
        matches!(&self.grounds, Grounds::Heuristic(heuristic) if heuristic.decision() == decision)
    }
}

impl Decision {
    /// The strictest of all judgements.
    pub fn overall(&self) -> RuleDecision {
        overall(&self.judgements)
    }

    /// Every rule that matches, part by part.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.judgements.iter().flat_map(Judgement::rules)
    }
}

/// Decides.
pub fn decide(question: &Question<'_>) -> Decision {
    let judgements: Vec<_> = question.parts.iter().map(|part| judge(part, question)).collect();
    let (requirement, attempt) = (requirement(&judgements, question), attempt(&judgements, question));
    Decision { requirement, attempt, judgements }
}

/// Why a model that asks for more rights is refused before anything else; absent if it may ask.
pub fn escalation_refusal(policy: ApprovalPolicy, permissions: SandboxPermissions) -> Option<String> {
    if permissions == SandboxPermissions::UseDefault {
        return None;
    }
    let name = match policy {
        ApprovalPolicy::OnRequest => return None,
        ApprovalPolicy::Untrusted => "UnlessTrusted",
        ApprovalPolicy::OnFailure => "OnFailure",
        ApprovalPolicy::Never => "Never",
    };
    Some(format!(
        "approval policy is {name}; reject command — you should not ask for escalated permissions if the approval policy is {name}"
    ))
}

fn judge(part: &Part, question: &Question<'_>) -> Judgement {
    let rules: Vec<Rule> = question.rules.matching(&part.words).cloned().collect();
    let grounds = if rules.is_empty() { Grounds::Heuristic(heuristic(part, question)) } else { Grounds::Rules(rules) };
    Judgement { words: part.words.clone(), grounds }
}

fn heuristic(part: &Part, question: &Question<'_>) -> Heuristic {
    let is_asked = question.policy != ApprovalPolicy::Never;
    if !question.parts.is_complex() && safe::is_known_safe(part, question.platform) {
        return Heuristic::KnownSafe;
    }
    if dangerous::is_dangerous(part) {
        return if is_asked { Heuristic::Dangerous } else { Heuristic::DangerousUnasked };
    }
    if question.platform == Platform::Windows && *question.sandbox == SandboxPolicy::ReadOnly {
        return if is_asked { Heuristic::NoReadOnlySandbox } else { Heuristic::NoReadOnlySandboxUnasked };
    }
    match question.policy {
        ApprovalPolicy::Never | ApprovalPolicy::OnFailure => Heuristic::NotAsked,
        ApprovalPolicy::Untrusted => Heuristic::Untrusted,
        ApprovalPolicy::OnRequest if !is_confined(question.sandbox) => Heuristic::Unconfined,
        ApprovalPolicy::OnRequest if is_escalated(question) => Heuristic::Escalated,
        ApprovalPolicy::OnRequest => Heuristic::Confined,
    }
}

fn is_confined(sandbox: &SandboxPolicy) -> bool {
    matches!(sandbox, SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite { .. })
}

fn is_escalated(question: &Question<'_>) -> bool {
    question.permissions == SandboxPermissions::RequireEscalated
}

fn strictest(decisions: impl Iterator<Item = RuleDecision>) -> RuleDecision {
    decisions.max().unwrap_or(RuleDecision::Allow)
}

fn overall(judgements: &[Judgement]) -> RuleDecision {
    strictest(judgements.iter().map(Judgement::decision))
}

fn requirement(judgements: &[Judgement], question: &Question<'_>) -> Requirement {
    match overall(judgements) {
        RuleDecision::Forbidden => Requirement::Reject { text: rejection(judgements, question.argv) },
        RuleDecision::Prompt if question.policy == ApprovalPolicy::Never => {
            Requirement::Reject { text: "approval required by policy, but AskForApproval is set to Never".to_owned() }
        }
        RuleDecision::Prompt if question.grants.cover(question.keys) => {
            Requirement::Run { is_granted: true, proposed_amendment: None }
        }
        RuleDecision::Prompt => Requirement::Ask {
            reason: prompt_reason(judgements, question.argv),
            proposed_amendment: requested_amendment(judgements, question)
                .or_else(|| automatic_amendment(judgements, question, RuleDecision::Prompt)),
        },
        RuleDecision::Allow => Requirement::Run {
            is_granted: false,
            proposed_amendment: automatic_amendment(judgements, question, RuleDecision::Allow),
        },
    }
}

fn attempt(judgements: &[Judgement], question: &Question<'_>) -> Attempt {
    let mut rules = judgements.iter().flat_map(Judgement::rules);
    if !is_confined(question.sandbox) {
        Attempt::Outside(Outside::NoSandbox)
    } else if overall(judgements) == RuleDecision::Allow && rules.any(|rule| rule.decision == RuleDecision::Allow) {
        Attempt::Outside(Outside::Rule)
    } else if is_escalated(question) {
        Attempt::Outside(Outside::Escalation)
    } else {
        Attempt::Inside
    }
}

/// The rule with the most words among those that say this; of equal ones the last.
fn most_specific(judgements: &[Judgement], decision: RuleDecision) -> Option<(&Judgement, &Rule)> {
    let rules = judgements.iter().flat_map(|judgement| judgement.rules().iter().map(move |rule| (judgement, rule)));
    rules.filter(|(_, rule)| rule.decision == decision).max_by_key(|(_, rule)| rule.n_words())
}

fn rejection(judgements: &[Judgement], argv: &[String]) -> String {
    let command = joined(argv);
    match most_specific(judgements, RuleDecision::Forbidden) {
        Some((_, Rule { justification: Some(justification), .. })) => format!("`{command}` rejected: {justification}"),
        Some((judgement, rule)) => {
            let prefix = joined(rule.matched(&judgement.words).unwrap_or_default());
            format!("`{command}` rejected: policy forbids commands starting with `{prefix}`")
        }
        None => format!("`{command}` rejected: blocked by policy"),
    }
}

fn prompt_reason(judgements: &[Judgement], argv: &[String]) -> Option<String> {
    let (_, rule) = most_specific(judgements, RuleDecision::Prompt)?;
    let command = joined(argv);
    Some(match &rule.justification {
        Some(justification) => format!("`{command}` requires approval: {justification}"),
        None => format!("`{command}` requires approval by policy"),
    })
}

fn requested_amendment(judgements: &[Judgement], question: &Question<'_>) -> Option<Vec<String>> {
    let prefix = question.prefix_rule.filter(|prefix| !prefix.is_empty() && !amendment::is_banned(prefix))?;
    let has_rule = judgements.iter().any(|judgement| !judgement.rules().is_empty());
    (!has_rule).then(|| prefix.to_vec())
}

/// The first part that a heuristic judged like the whole, in full.
fn automatic_amendment(
    judgements: &[Judgement],
    question: &Question<'_>,
    decision: RuleDecision,
) -> Option<Vec<String>> {
    let mut rules = judgements.iter().flat_map(Judgement::rules);
    // Where rules speak, one more would not change what they say. For a question only those count that ask.
    let is_settled = rules.any(|rule| decision == RuleDecision::Allow || rule.decision == RuleDecision::Prompt);
    if question.parts.is_complex() || is_settled {
        return None;
    }
    let first = judgements.iter().find(|judgement| judgement.is_heuristic(decision))?;
    Some(first.words.clone())
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
