//! A decision in words: what happens, on which grounds, and what would change it.

use pellucid_protocol::approval::RuleDecision;
use serde::Serialize;

use crate::approval::amendment;
use crate::approval::decide::ApprovalDecision;
use crate::approval::decide::Attempt;
use crate::approval::decide::Heuristic;
use crate::approval::decide::Judgement;
use crate::approval::decide::JudgementGrounds;
use crate::approval::decide::Obstacle;
use crate::approval::decide::Outside;
use crate::approval::decide::Requirement;
use crate::approval::decide::RuleMatch;
use crate::approval::part::Split;
use crate::approval::rules::Rule;
use crate::command_line::joined;
use crate::visible::visible_name;

/// A decision in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// `run`, `ask` or `reject`.
    pub outcome: &'static str,
    /// Where the command runs, or the answer that the model gets.
    pub what: String,
    /// Why the client is asked, if a rule says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The prefix of the rule that a person could save.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_amendment: Option<Vec<String>>,
    /// How the command was taken apart.
    pub split: &'static str,
    /// Each command in the script.
    pub parts: Vec<PartExplanation>,
    /// What would change the decision.
    pub changes: Vec<String>,
}

/// What was found about one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartExplanation {
    /// The words of the command.
    pub command: Vec<String>,
    /// What the rules or the heuristic decide about the command.
    pub decision: RuleDecision,
    /// The rules that match.
    pub rules: Vec<RuleExplanation>,
    /// Rules that would allow the command, but do not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<RuleExplanation>,
    /// Why the rules in `ignored` do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored_because: Option<String>,
    /// What the heuristic found, if no rule matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heuristic: Option<&'static str>,
}

/// A rule that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleExplanation {
    /// Where the rule is written: file and line.
    pub place: String,
    /// The rule, as its file has it.
    pub rule: String,
    /// The command that the rule matches, if it is somewhere inside the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Vec<String>>,
}

/// Puts a decision in words.
pub fn explain(decision: &ApprovalDecision, split: Split) -> Explanation {
    let place = match (decision.attempt, inside_because(decision)) {
        (Attempt::Inside, Some(why)) => format!("it runs in the sandbox: {why}"),
        (attempt, _) => attempt_text(attempt).to_owned(),
    };
    let (outcome, what, reason, proposed_amendment) = match &decision.requirement {
        Requirement::Run { is_granted, .. } => {
            let granted = if *is_granted { ", because a person allowed it for this session" } else { "" };
            ("run", format!("{place}{granted}"), None, None)
        }
        Requirement::Ask { reason, proposed_amendment } => {
            ("ask", format!("if allowed, {place}"), reason.clone(), proposed_amendment.clone())
        }
        Requirement::Reject { text } => ("reject", text.clone(), None, None),
    };
    Explanation {
        outcome,
        what,
        reason,
        proposed_amendment,
        split: split_text(split),
        parts: decision.judgements.iter().map(part).collect(),
        changes: changes(decision),
    }
}

/// For people: several lines, each with its end.
impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}: {}", self.outcome, self.what)?;
        if let Some(reason) = &self.reason {
            writeln!(f, "reason: {reason}")?;
        }
        writeln!(f, "taken apart: {}", self.split)?;
        for part in &self.parts {
            // A line break in a word must not look like a line of the explanation.
            writeln!(f, "  {}: {}", visible_name(&joined(&part.command)), part.decision)?;
            for rule in &part.rules {
                writeln!(f, "    {}: {}", rule.place, rule.rule)?;
                if let Some(seen) = &rule.seen {
                    writeln!(f, "      matches `{}` in it", visible_name(&joined(seen)))?;
                }
            }
            for rule in &part.ignored {
                let why = part.ignored_because.as_deref().unwrap_or_default();
                writeln!(f, "    {}: does not count, as {why}: {}", rule.place, rule.rule)?;
            }
            if let Some(heuristic) = part.heuristic {
                let none = if part.ignored.is_empty() { "no rule matches" } else { "no other rule matches" };
                writeln!(f, "    {none}; {heuristic}")?;
            }
        }
        if let Some(prefix) = &self.proposed_amendment {
            writeln!(f, "rule you could save: {}", amendment::allow_line(prefix))?;
        }
        if !self.changes.is_empty() {
            writeln!(f, "what would change it:")?;
        }
        self.changes.iter().try_for_each(|change| writeln!(f, "  - {change}"))
    }
}

fn part(judgement: &Judgement) -> PartExplanation {
    let (matches, heuristic) = match &judgement.grounds {
        JudgementGrounds::Rules(matches) => (matches.as_slice(), None),
        JudgementGrounds::Heuristic(heuristic) => (&[] as &[RuleMatch], Some(heuristic_text(*heuristic))),
    };
    let rule = |rule: &Rule, seen| RuleExplanation { place: rule.place.to_string(), rule: rule.to_string(), seen };
    let matched = |found: &RuleMatch| rule(&found.rule, (!found.is_by_letter).then(|| found.prefix.clone()));
    let is_ignored = !judgement.ignored.is_empty();
    PartExplanation {
        command: judgement.words.clone(),
        decision: judgement.decision(),
        rules: matches.iter().map(matched).collect(),
        ignored: judgement.ignored.iter().map(|it| rule(it, None)).collect(),
        ignored_because: judgement.obstacle.as_ref().filter(|_| is_ignored).map(obstacle_text),
        heuristic,
    }
}

/// Why a command stays in the sandbox though some rule would let it out.
fn inside_because(decision: &ApprovalDecision) -> Option<String> {
    let is_allowing = |it: &Judgement| it.is_allowed_by_rules() || !it.ignored.is_empty();
    if !decision.judgements.iter().any(is_allowing) {
        return None;
    }
    let kept = decision.judgements.iter().find(|it| !it.is_allowed_by_rules())?;
    Some(match &kept.obstacle {
        Some(obstacle) if !kept.ignored.is_empty() => {
            format!("no rule that allows counts for `{}`, as {}", joined(&kept.words), obstacle_text(obstacle))
        }
        _ => format!("`{}` is not allowed by a rule", joined(&kept.words)),
    })
}

fn obstacle_text(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Mark(mark) => format!("there is {} in the script", mark.as_str()),
        Obstacle::Shell(shell) => format!("`{shell}` is neither your shell nor one in a system folder"),
        Obstacle::Changeable(path) => format!("commands can write to `{path}`"),
    }
}

pub(super) fn attempt_text(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Inside => "it runs in the sandbox",
        Attempt::Outside(Outside::NoSandbox) => "it runs without a sandbox, as the settings have none",
        Attempt::Outside(Outside::Rule) => "it runs outside of the sandbox, as rules allow all of it",
        Attempt::Outside(Outside::Escalation) => "it runs outside of the sandbox, as the model asks for it",
    }
}

pub(super) fn split_text(split: Split) -> &'static str {
    match split {
        Split::NoScript => "no, it is not a shell script",
        Split::Plain => "yes, its script consists of plain commands",
        Split::Complex => "a single command; what redirects or assigns is passed over, so it is never known to be safe",
        Split::Opaque => "no, there is more in its script than plain commands, so it is judged as a whole",
    }
}

pub(super) fn heuristic_text(heuristic: Heuristic) -> &'static str {
    match heuristic {
        Heuristic::KnownSafe => "it is known to only read",
        Heuristic::SafeRepository => {
            "it is known to only read, in the sandbox and with programs that the repository names switched off"
        }
        Heuristic::Dangerous => "it is dangerous",
        Heuristic::DangerousUnasked => "it is dangerous and the approval policy never asks",
        Heuristic::NoReadOnlySandbox => "this system has no sandbox that only reads",
        Heuristic::NoReadOnlySandboxUnasked => {
            "this system has no sandbox that only reads and the approval policy never asks"
        }
        Heuristic::NotAsked => "the approval policy does not ask before a command runs",
        Heuristic::Untrusted => "the approval policy asks about all that is not known to only read",
        Heuristic::Unconfined => "the approval policy asks when the model does, and there is no sandbox to leave",
        Heuristic::Escalated => "the model asks to leave the sandbox",
        Heuristic::Confined => "the approval policy asks when the model does, and it does not",
    }
}

/// What would change a decision, the easiest change first.
fn changes(decision: &ApprovalDecision) -> Vec<String> {
    let overall = decision.overall();
    let mut changes = Vec::new();
    let mut add = |change: String| {
        if !changes.contains(&change) {
            changes.push(change);
        }
    };
    for judgement in decision.judgements.iter().filter(|judgement| judgement.decision() == overall) {
        match &judgement.grounds {
            // A rule that allows without effect changes nothing, so removing it is no advice.
            JudgementGrounds::Rules(_) if overall == RuleDecision::Allow && decision.attempt == Attempt::Inside => {}
            JudgementGrounds::Rules(matches) => {
                for rule in matches.iter().map(|found| &found.rule).filter(|rule| rule.decision == overall) {
                    add(format!("changing or removing the rule at {}", rule.place));
                }
            }
            JudgementGrounds::Heuristic(heuristic) => {
                for change in heuristic_changes(*heuristic, || allowing(judgement)) {
                    add(change);
                }
            }
        }
    }
    match (&decision.requirement, overall) {
        (Requirement::Reject { .. }, RuleDecision::Prompt) => {
            add("an approval policy other than never, so that a person can be asked".to_owned());
        }
        (Requirement::Run { is_granted: true, .. }, _) => {
            add("the end of the session, and with it of the grant".to_owned());
        }
        (Requirement::Ask { .. }, _) => add("allowing it for the session when asked".to_owned()),
        _ => {}
    }
    changes
}

/// What would allow a part of a command.
fn allowing(judgement: &Judgement) -> String {
    let rule = format!("the rule {}", amendment::allow_line(&judgement.words));
    let change = match &judgement.obstacle {
        None => return rule,
        Some(Obstacle::Mark(mark)) => format!("a script without {}", mark.as_str()),
        Some(Obstacle::Shell(_)) => "your own shell or the system's".to_owned(),
        Some(Obstacle::Changeable(path)) => format!("a `PATH` on which `{path}` does not come first"),
    };
    if judgement.ignored.is_empty() { format!("{rule} and {change}") } else { change }
}

fn heuristic_changes(heuristic: Heuristic, allow: impl Fn() -> String) -> Vec<String> {
    match heuristic {
        Heuristic::KnownSafe | Heuristic::SafeRepository | Heuristic::Unconfined => Vec::new(),
        Heuristic::NotAsked => vec![format!("{}, to run it outside of the sandbox", allow())],
        Heuristic::Confined => {
            vec![format!("{}, or the model's asking for escalated permissions, to leave the sandbox", allow())]
        }
        Heuristic::Dangerous | Heuristic::NoReadOnlySandbox => vec![allow()],
        Heuristic::DangerousUnasked | Heuristic::NoReadOnlySandboxUnasked => {
            vec![allow(), "an approval policy other than never, so that a person can be asked".to_owned()]
        }
        Heuristic::Untrusted => vec![allow(), "another approval policy than untrusted".to_owned()],
        Heuristic::Escalated => vec![allow(), "staying in the sandbox".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::approval::SandboxPermissions;
    use pellucid_protocol::settings::ApprovalPolicy;
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

    fn explanation(policy: ApprovalPolicy, text: &str, commands: &[&str], split: Split) -> Explanation {
        let argv = ["bash", "-lc", &commands.join(" && ")].map(str::to_owned);
        let parts = commands.iter().map(|line| CommandPart::new(words(line))).collect();
        let parts = CommandParts::of_script("bash", parts, split).unwrap();
        let programs = programs(commands.iter().map(|line| line.split(' ').next().unwrap()).chain(["bash"]));
        let (rules, grants) = (rules(text), Grants::default());
        let question = ApprovalQuestion {
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
        };
        explain(&decide(&question), split)
    }

    #[track_caller]
    fn check_explanation(policy: ApprovalPolicy, rules: &str, commands: &[&str], expected: &Expect) {
        expected.assert_eq(&explanation(policy, rules, commands, Split::Plain).to_string());
    }

    #[test]
    fn rules_are_named_with_file_and_line() {
        let rules = "allow touch\nprompt mv # Look first.\nforbidden rm -r";
        check_explanation(
            ApprovalPolicy::OnRequest,
            rules,
            &["touch a", "rm -r b"],
            &expect![[r#"
                reject: `bash -lc 'touch a && rm -r b'` rejected: policy forbids commands starting with `rm -r`
                taken apart: yes, its script consists of plain commands
                  touch a: allow
                    a.rules:1: prefix_rule(pattern=["touch"], decision="allow")
                  rm -r b: forbidden
                    a.rules:3: prefix_rule(pattern=["rm", "-r"], decision="forbidden")
                what would change it:
                  - changing or removing the rule at a.rules:3
            "#]],
        );
        check_explanation(
            ApprovalPolicy::OnRequest,
            rules,
            &["ls", "mv a b"],
            &expect![[r#"
                ask: if allowed, it runs in the sandbox
                reason: `bash -lc 'ls && mv a b'` requires approval: Look first.
                taken apart: yes, its script consists of plain commands
                  ls: allow
                    no rule matches; it is known to only read
                  mv a b: prompt
                    a.rules:2: prefix_rule(pattern=["mv"], decision="prompt", justification="Look first.")
                what would change it:
                  - changing or removing the rule at a.rules:2
                  - allowing it for the session when asked
            "#]],
        );
        check_explanation(
            ApprovalPolicy::Never,
            rules,
            &["mv a b"],
            &expect![[r#"
            reject: approval required by policy, but AskForApproval is set to Never
            taken apart: yes, its script consists of plain commands
              mv a b: prompt
                a.rules:2: prefix_rule(pattern=["mv"], decision="prompt", justification="Look first.")
            what would change it:
              - changing or removing the rule at a.rules:2
              - an approval policy other than never, so that a person can be asked
        "#]],
        );
        check_explanation(
            ApprovalPolicy::Never,
            rules,
            &["touch a"],
            &expect![[r#"
                run: it runs outside of the sandbox, as rules allow all of it
                taken apart: yes, its script consists of plain commands
                  touch a: allow
                    a.rules:1: prefix_rule(pattern=["touch"], decision="allow")
                what would change it:
                  - changing or removing the rule at a.rules:1
            "#]],
        );
    }

    #[test]
    fn what_kept_a_command_inside_is_named() {
        check_explanation(
            ApprovalPolicy::OnRequest,
            "allow touch",
            &["touch a", "make"],
            &expect![[r#"
            run: it runs in the sandbox: `make` is not allowed by a rule
            taken apart: yes, its script consists of plain commands
              touch a: allow
                a.rules:1: prefix_rule(pattern=["touch"], decision="allow")
              make: allow
                no rule matches; the approval policy asks when the model does, and it does not
            what would change it:
              - the rule prefix_rule(pattern=["make"], decision="allow"), or the model's asking for escalated permissions, to leave the sandbox
        "#]],
        );
        let complex = explanation(ApprovalPolicy::Untrusted, "allow touch", &["touch a"], Split::Complex);
        expect![[r#"
            ask: if allowed, it runs in the sandbox: no rule that allows counts for `touch a`, as there is something that cannot be read for sure in the script
            taken apart: a single command; what redirects or assigns is passed over, so it is never known to be safe
              touch a: prompt
                a.rules:1: does not count, as there is something that cannot be read for sure in the script: prefix_rule(pattern=["touch"], decision="allow")
                no other rule matches; the approval policy asks about all that is not known to only read
            what would change it:
              - a script without something that cannot be read for sure
              - another approval policy than untrusted
              - allowing it for the session when asked
        "#]].assert_eq(&complex.to_string());
        let seen = explanation(ApprovalPolicy::Never, "forbidden curl", &["/usr/bin/curl x"], Split::Plain);
        expect![[r#"
            reject: `bash -lc '/usr/bin/curl x'` rejected: policy forbids commands starting with `/usr/bin/curl`
            taken apart: yes, its script consists of plain commands
              /usr/bin/curl x: forbidden
                a.rules:1: prefix_rule(pattern=["curl"], decision="forbidden")
                  matches `/usr/bin/curl` in it
            what would change it:
              - changing or removing the rule at a.rules:1
        "#]]
        .assert_eq(&seen.to_string());
    }

    #[test]
    fn without_rules_the_heuristic_is_named() {
        check_explanation(
            ApprovalPolicy::Untrusted,
            "",
            &["ls", "make"],
            &expect![[r#"
                ask: if allowed, it runs in the sandbox
                taken apart: yes, its script consists of plain commands
                  ls: allow
                    no rule matches; it is known to only read
                  make: prompt
                    no rule matches; the approval policy asks about all that is not known to only read
                rule you could save: prefix_rule(pattern=["make"], decision="allow")
                what would change it:
                  - the rule prefix_rule(pattern=["make"], decision="allow")
                  - another approval policy than untrusted
                  - allowing it for the session when asked
            "#]],
        );
        check_explanation(
            ApprovalPolicy::Never,
            "",
            &["rm -rf a"],
            &expect![[r#"
            reject: `bash -lc 'rm -rf a'` rejected: blocked by policy
            taken apart: yes, its script consists of plain commands
              rm -rf a: forbidden
                no rule matches; it is dangerous and the approval policy never asks
            what would change it:
              - the rule prefix_rule(pattern=["rm", "-rf", "a"], decision="allow")
              - an approval policy other than never, so that a person can be asked
        "#]],
        );
        check_explanation(
            ApprovalPolicy::OnRequest,
            "",
            &["make"],
            &expect![[r#"
                run: it runs in the sandbox
                taken apart: yes, its script consists of plain commands
                  make: allow
                    no rule matches; the approval policy asks when the model does, and it does not
                what would change it:
                  - the rule prefix_rule(pattern=["make"], decision="allow"), or the model's asking for escalated permissions, to leave the sandbox
            "#]],
        );
        check_explanation(
            ApprovalPolicy::OnRequest,
            "",
            &["ls"],
            &expect![[r#"
                run: it runs in the sandbox
                taken apart: yes, its script consists of plain commands
                  ls: allow
                    no rule matches; it is known to only read
            "#]],
        );
    }

    #[test]
    fn json_has_the_same() {
        let explanation = explanation(ApprovalPolicy::Untrusted, "allow a", &["a", "b c"], Split::Plain);
        expect![[r#"
            {
              "outcome": "ask",
              "what": "if allowed, it runs in the sandbox: `b c` is not allowed by a rule",
              "proposed_amendment": [
                "b",
                "c"
              ],
              "split": "yes, its script consists of plain commands",
              "parts": [
                {
                  "command": [
                    "a"
                  ],
                  "decision": "allow",
                  "rules": [
                    {
                      "place": "a.rules:1",
                      "rule": "prefix_rule(pattern=[\"a\"], decision=\"allow\")"
                    }
                  ]
                },
                {
                  "command": [
                    "b",
                    "c"
                  ],
                  "decision": "prompt",
                  "rules": [],
                  "heuristic": "the approval policy asks about all that is not known to only read"
                }
              ],
              "changes": [
                "the rule prefix_rule(pattern=[\"b\", \"c\"], decision=\"allow\")",
                "another approval policy than untrusted",
                "allowing it for the session when asked"
              ]
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&explanation).unwrap());
    }
}
