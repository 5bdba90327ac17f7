//! The decision about a command: it runs, the client is asked, or it is refused.
//!
//! Every part of the command is judged: by the rules that match it, or, if none does, by a heuristic.
//! The strictest judgement wins. A decision carries all judgements, so that it can be explained.
//!
//! A rule that allows counts only for a part whose words are exactly what its program is given, read by a shell
//! and run by a program that no command can have put there. A command leaves the sandbox by rules only if each
//! of its parts is allowed like that, so text around an allowed command never frees more.
//!
//! Not here: words for people (`explain`), what a sandbox does to a command that runs (`denial`).

use pellucid_protocol::approval::RuleDecision;
use pellucid_protocol::approval::SandboxPermissions;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use serde::Deserialize;
use serde::Serialize;

use crate::approval::Platform;
use crate::approval::amendment;
use crate::approval::dangerous;
use crate::approval::grants::GrantKey;
use crate::approval::grants::Grants;
use crate::approval::part::CommandPart;
use crate::approval::part::CommandParts;
use crate::approval::part::ShellFeature;
use crate::approval::part::Split;
use crate::approval::program::Programs;
use crate::approval::rules::Rule;
use crate::approval::rules::Rules;
use crate::approval::safe;
use crate::approval::safe::Reads;
use crate::command_line::joined;

/// A command, with everything that the decision about it depends on.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalQuestion<'a> {
    /// The command, as it would be run.
    pub argv: &'a [String],
    /// The same, taken apart.
    pub parts: &'a CommandParts,
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
    /// The keys under which a grant would cover this command.
    pub keys: &'a [GrantKey],
    /// Where the programs of the command are installed.
    pub programs: &'a Programs,
    /// The operating system that the command runs on.
    pub platform: Platform,
}

/// A decision and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// Whether the command runs, the client is asked, or the command is refused.
    pub requirement: Requirement,
    /// Where the first attempt runs, if there is one.
    pub attempt: Attempt,
    /// What was found about each part of the command, in the order of the script.
    pub judgements: Vec<Judgement>,
}

/// What follows from a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// The command runs without a question.
    Run {
        /// Whether a person allowed the command earlier in the session. Then a denial leads to no question either.
        is_granted: bool,
        /// The prefix to offer if a sandbox denies the command and the client is asked then.
        proposed_amendment: Option<Vec<String>>,
    },
    /// The client is asked whether the command may run.
    Ask {
        /// Why, if a rule says so. Otherwise the client shows the model's words.
        reason: Option<String>,
        /// The prefix to offer, to be saved as a rule.
        proposed_amendment: Option<Vec<String>>,
    },
    /// The command does not run.
    Reject {
        /// The answer for the model.
        text: String,
    },
}

/// Where the first attempt at a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The first attempt is sandboxed.
    Inside,
    /// The first attempt is not sandboxed, for this reason.
    Outside(Outside),
}

/// Why a command runs outside of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// The settings switch the sandbox off.
    NoSandbox,
    /// Rules allow every part of the command.
    Rule,
    /// The model asked for it, and may.
    Escalation,
}

/// What was found about one part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The words of the part.
    pub words: Vec<String>,
    /// The rules or the heuristic that decide about the part.
    pub grounds: JudgementGrounds,
    /// Rules that would allow the part, but do not count.
    pub ignored: Vec<Rule>,
    /// Why rules that allow the part do not count, if so.
    pub obstacle: Option<Obstacle>,
}

/// Why a rule that allows a part does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The part has a feature of shells, so its words are not exactly what its program is given.
    Mark(ShellFeature),
    /// The shell is neither the user's nor the system's.
    Shell(String),
    /// A command could have written the program, or can write another program that is found first.
    Changeable(String),
}

/// A rule that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleMatch {
    /// The rule that matches.
    pub rule: Rule,
    /// The words that it matches.
    pub prefix: Vec<String>,
    /// Whether the rule matches the part's words, letter by letter; otherwise it matches a command seen in the part.
    pub is_by_letter: bool,
}

/// What a judgement is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgementGrounds {
    /// The rules that match the part.
    ///
    /// Invariant: not empty.
    Rules(Vec<RuleMatch>),
    /// No rule matches, so a heuristic decides.
    Heuristic(Heuristic),
}

/// What a heuristic finds about a command that no rule matches, in the order in which it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Heuristic {
    /// The command is known to be safe.
    KnownSafe,
    /// The command is `git` that only reads, and it runs in a sandbox with the repository's programs switched off.
    SafeRepository,
    /// The command is dangerous, and the client can be asked.
    Dangerous,
    /// The command is dangerous, and the policy never asks.
    DangerousUnasked,
    /// This system has no sandbox that only reads, and the client can be asked.
    NoReadOnlySandbox,
    /// This system has no sandbox that only reads, and the policy never asks.
    NoReadOnlySandboxUnasked,
    /// The policy does not ask before a command runs.
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
    /// What the heuristic decides about the part.
    pub fn decision(self) -> RuleDecision {
        match self {
            Self::KnownSafe | Self::SafeRepository | Self::NotAsked | Self::Unconfined | Self::Confined => {
                RuleDecision::Allow
            }
            Self::Dangerous | Self::NoReadOnlySandbox | Self::Untrusted | Self::Escalated => RuleDecision::Prompt,
            Self::DangerousUnasked | Self::NoReadOnlySandboxUnasked => RuleDecision::Forbidden,
        }
    }
}

impl Judgement {
    /// What the judgement decides: the strictest rule, or the heuristic.
    pub fn decision(&self) -> RuleDecision {
        match &self.grounds {
            JudgementGrounds::Rules(matches) => strictest(matches.iter().map(|found| found.rule.decision)),
            JudgementGrounds::Heuristic(heuristic) => heuristic.decision(),
        }
    }

    fn matches(&self) -> &[RuleMatch] {
        match &self.grounds {
            JudgementGrounds::Rules(matches) => matches,
            JudgementGrounds::Heuristic(_) => &[],
        }
    }

    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.matches().iter().map(|found| &found.rule)
    }

    /// Whether rules allow the part, and none asks or forbids.
    pub fn is_allowed_by_rules(&self) -> bool {
        !self.matches().is_empty() && self.decision() == RuleDecision::Allow
    }

    fn is_heuristic(&self, decision: RuleDecision) -> bool {
        matches!(&self.grounds, JudgementGrounds::Heuristic(heuristic) if heuristic.decision() == decision)
    }
}

impl ApprovalDecision {
    /// The strictest of all judgements.
    pub fn overall(&self) -> RuleDecision {
        overall(&self.judgements)
    }

    /// Every rule that matches, part by part.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.judgements.iter().flat_map(Judgement::rules)
    }

    /// Whether the command does not run because no person can be asked, though no rule forbids it.
    pub fn lacks_approval(&self) -> bool {
        let is_forbidden = |it: &Judgement| {
            matches!(it.grounds, JudgementGrounds::Rules(_)) && it.decision() == RuleDecision::Forbidden
        };
        matches!(self.requirement, Requirement::Reject { .. }) && !self.judgements.iter().any(is_forbidden)
    }

    /// Whether the command runs because it is `git` that only reads, so that programs which the repository names
    /// have to be switched off.
    pub fn guards_git(&self) -> bool {
        let is = |judgement: &Judgement, heuristic| judgement.grounds == JudgementGrounds::Heuristic(heuristic);
        let is_safe = |it: &Judgement| is(it, Heuristic::KnownSafe) || is(it, Heuristic::SafeRepository);
        self.judgements.iter().all(is_safe) && self.judgements.iter().any(|it| is(it, Heuristic::SafeRepository))
    }
}

/// Decides whether a command runs, where, and on which grounds.
pub fn decide(question: &ApprovalQuestion<'_>) -> ApprovalDecision {
    let judgements: Vec<_> = question.parts.iter().map(|part| judge(part, question)).collect();
    let (requirement, attempt) = (requirement(&judgements, question), attempt(&judgements, question));
    ApprovalDecision { requirement, attempt, judgements }
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

fn judge(part: &CommandPart, question: &ApprovalQuestion<'_>) -> Judgement {
    let (mut matches, mut ignored) = (Vec::new(), Vec::new());
    for rule in question.rules.matching(&part.words) {
        if rule.decision == RuleDecision::Allow && obstacle(part, rule.n_words(), question).is_some() {
            ignored.push(rule.clone());
        } else {
            let prefix = rule.matched(&part.words).unwrap_or_default().to_vec();
            matches.push(RuleMatch { rule: rule.clone(), prefix, is_by_letter: true });
        }
    }
    for (rule, prefix) in part.seen.iter().flat_map(|seen| question.rules.tightening(seen)) {
        if !matches.iter().any(|found: &RuleMatch| found.rule == *rule) {
            matches.push(RuleMatch { rule: rule.clone(), prefix: prefix.to_vec(), is_by_letter: false });
        }
    }
    let grounds = if matches.is_empty() {
        JudgementGrounds::Heuristic(heuristic(part, question))
    } else {
        JudgementGrounds::Rules(matches)
    };
    Judgement { words: part.words.clone(), grounds, ignored, obstacle: obstacle(part, part.words.len(), question) }
}

/// Why a rule with `n_words` words that allows a part does not count for it.
fn obstacle(part: &CommandPart, n_words: usize, question: &ApprovalQuestion<'_>) -> Option<Obstacle> {
    let (parts, programs) = (question.parts, question.programs);
    if let Some(shell) = parts.shell().filter(|shell| !programs.is_known_shell(shell)) {
        return Some(Obstacle::Shell(shell.to_owned()));
    }
    let mark = match parts.split() {
        // The author of a rule with the whole script has seen all of it.
        Split::Opaque if n_words == part.words.len() => return None,
        Split::Opaque | Split::Complex => Some(part.mark.unwrap_or(ShellFeature::Unclear)),
        Split::Plain | Split::NoScript => part.mark,
    };
    if let Some(mark) = mark {
        return Some(Obstacle::Mark(mark));
    }
    let name = part.words.first()?;
    programs.changeable(name, parts.shell().is_some()).map(Obstacle::Changeable)
}

fn heuristic(part: &CommandPart, question: &ApprovalQuestion<'_>) -> Heuristic {
    let is_asked = question.policy != ApprovalPolicy::Never;
    match known_reads(part, question) {
        Some(Reads::Files) => return Heuristic::KnownSafe,
        Some(Reads::Repository) if is_confined(question.sandbox) && !is_escalated(question) => {
            return Heuristic::SafeRepository;
        }
        // Outside of a sandbox, the programs that a repository names could do anything.
        Some(Reads::Repository) | None => {}
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

fn known_reads(part: &CommandPart, question: &ApprovalQuestion<'_>) -> Option<Reads> {
    let shell = question.parts.shell();
    let is_readable = !question.parts.is_complex() && shell.is_none_or(|shell| question.programs.is_known_shell(shell));
    is_readable.then(|| safe::reads(part, shell.is_some(), question.programs, question.platform)).flatten()
}

fn is_confined(sandbox: &SandboxPolicy) -> bool {
    matches!(sandbox, SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite { .. })
}

fn is_escalated(question: &ApprovalQuestion<'_>) -> bool {
    question.permissions == SandboxPermissions::RequireEscalated
}

fn strictest(decisions: impl Iterator<Item = RuleDecision>) -> RuleDecision {
    decisions.max().unwrap_or(RuleDecision::Allow)
}

fn overall(judgements: &[Judgement]) -> RuleDecision {
    strictest(judgements.iter().map(Judgement::decision))
}

fn requirement(judgements: &[Judgement], question: &ApprovalQuestion<'_>) -> Requirement {
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

fn attempt(judgements: &[Judgement], question: &ApprovalQuestion<'_>) -> Attempt {
    if !is_confined(question.sandbox) {
        Attempt::Outside(Outside::NoSandbox)
    } else if judgements.iter().all(Judgement::is_allowed_by_rules) {
        Attempt::Outside(Outside::Rule)
    } else if is_escalated(question) {
        Attempt::Outside(Outside::Escalation)
    } else {
        Attempt::Inside
    }
}

/// The rule with the most words among those that decide like this; of rules with equally many words, the last.
fn most_specific(judgements: &[Judgement], decision: RuleDecision) -> Option<&RuleMatch> {
    let matches = judgements.iter().flat_map(Judgement::matches);
    matches.filter(|found| found.rule.decision == decision).max_by_key(|found| found.rule.n_words())
}

fn rejection(judgements: &[Judgement], argv: &[String]) -> String {
    let command = joined(argv);
    match most_specific(judgements, RuleDecision::Forbidden) {
        Some(RuleMatch { rule: Rule { justification: Some(justification), .. }, .. }) => {
            format!("`{command}` rejected: {justification}")
        }
        Some(RuleMatch { prefix, .. }) => {
            let prefix = joined(prefix);
            format!("`{command}` rejected: policy forbids commands starting with `{prefix}`")
        }
        None => format!("`{command}` rejected: blocked by policy"),
    }
}

fn prompt_reason(judgements: &[Judgement], argv: &[String]) -> Option<String> {
    let RuleMatch { rule, .. } = most_specific(judgements, RuleDecision::Prompt)?;
    let command = joined(argv);
    Some(match &rule.justification {
        Some(justification) => format!("`{command}` requires approval: {justification}"),
        None => format!("`{command}` requires approval by policy"),
    })
}

fn requested_amendment(judgements: &[Judgement], question: &ApprovalQuestion<'_>) -> Option<Vec<String>> {
    let prefix = question.prefix_rule.filter(|prefix| !prefix.is_empty() && !amendment::is_banned(prefix))?;
    let has_rule = judgements.iter().any(|judgement| !judgement.matches().is_empty());
    (!has_rule).then(|| prefix.to_vec())
}

/// The words of the first part that a heuristic judged like the whole command.
fn automatic_amendment(
    judgements: &[Judgement],
    question: &ApprovalQuestion<'_>,
    decision: RuleDecision,
) -> Option<Vec<String>> {
    let mut rules = judgements.iter().flat_map(Judgement::rules);
    // Where rules decide, one more rule would not change the outcome. For a question, only rules that ask count.
    let is_settled = rules.any(|rule| decision == RuleDecision::Allow || rule.decision == RuleDecision::Prompt);
    if question.parts.is_complex() || is_settled {
        return None;
    }
    let first = judgements.iter().find(|judgement| judgement.is_heuristic(decision))?;
    // If a rule exists and does not count, another one would not count either.
    first.ignored.is_empty().then(|| first.words.clone())
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
