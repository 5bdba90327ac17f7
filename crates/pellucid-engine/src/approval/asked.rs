//! What a person reads before a decision about a command: why the question is asked, what the command may touch, and how
//! far a rule would reach.

use std::path::PathBuf;

use pellucid_protocol::settings::NetworkAccess;
use pellucid_protocol::settings::SandboxPolicy;

use crate::approval::amendment;
use crate::approval::decide::ApprovalDecision;
use crate::approval::decide::Attempt;
use crate::approval::decide::Heuristic;
use crate::approval::decide::Judgement;
use crate::approval::decide::JudgementGrounds;
use crate::approval::explain::explain;
use crate::approval::part::Split;
use crate::approval::rules::Rule;
use crate::command_line::joined;
use crate::visible::visible_name;

/// How many commands are named that a rule would also allow.
const EXAMPLES: usize = 3;

/// Words that may follow those of a rule. They have no meaning for shells.
const ENDINGS: [&[&str]; 5] = [&[], &["--help"], &["--force"], &["another-argument"], &["--force", "another-argument"]];

/// A question about a command, with what an explanation needs.
#[derive(Debug, Clone, Copy)]
pub struct AskedCommand<'a> {
    /// The decision that led to the question.
    pub decision: &'a ApprovalDecision,
    /// How the command was taken apart.
    pub split: Split,
    /// What commands may touch.
    pub sandbox: &'a SandboxPolicy,
    /// The folders that commands in the sandbox may write in.
    pub writable: &'a [PathBuf],
    /// What the model says about the command.
    pub justification: Option<&'a str>,
    /// The prefix of the rule that the person could save.
    pub proposed: Option<&'a [String]>,
}

/// The explanation, a line each.
pub fn explanation(asked: &AskedCommand<'_>) -> Vec<String> {
    let AskedCommand { decision, split, sandbox, writable, justification, proposed } = *asked;
    let mut explained = explain(decision, split);
    // The rule has lines below, and "allowing it when asked" is no news to a person who is asked.
    explained.proposed_amendment = None;
    explained.changes.clear();
    let mut lines = vec!["Why you are asked".to_owned()];
    lines.extend(explained.to_string().lines().map(|line| format!("  {line}")));
    lines.extend([String::new(), "What it may touch".to_owned()]);
    for judgement in &decision.judgements {
        let reach = part_reach(judgement, decision.attempt, sandbox, writable);
        lines.push(format!("  {}: {reach}", visible_name(&joined(&judgement.words))));
    }
    lines.extend([String::new(), "The sandbox of this session".to_owned()]);
    lines.push(format!("  {}", sandbox_text(sandbox, writable)));
    lines.extend([String::new(), "What the model says".to_owned()]);
    lines.push(match justification.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => format!("  {}", visible_name(text)),
        None => "  nothing".to_owned(),
    });
    lines.extend(rule_lines(proposed, decision));
    lines
}

/// What a rule would allow from now on.
fn rule_lines(proposed: Option<&[String]>, decision: &ApprovalDecision) -> Vec<String> {
    let Some(prefix) = proposed else { return Vec::new() };
    let mut lines =
        vec![String::new(), "What \"do not ask again\" would allow from now on, in every session".to_owned()];
    lines.push(format!("  {}", visible_name(&amendment::allow_line(prefix))));
    lines.push("  Such commands run outside of the sandbox. For example also:".to_owned());
    let asked: Vec<&Vec<String>> = decision.judgements.iter().map(|judgement| &judgement.words).collect();
    for example in examples(prefix).into_iter().filter(|example| !asked.contains(&example)).take(EXAMPLES) {
        lines.push(format!("    {}", visible_name(&joined(&example))));
    }
    lines
}

/// Commands that a rule with this prefix allows.
pub fn examples(prefix: &[String]) -> Vec<Vec<String>> {
    let Some(rule) = Rule::allowed_in_session(prefix) else { return Vec::new() };
    let ended = |ending: &&[&str]| prefix.iter().cloned().chain(ending.iter().map(|it| (*it).to_owned())).collect();
    ENDINGS.iter().map(ended).filter(|words: &Vec<String>| rule.matched(words).is_some()).collect()
}

fn part_reach(judgement: &Judgement, attempt: Attempt, sandbox: &SandboxPolicy, writable: &[PathBuf]) -> String {
    match (&judgement.grounds, attempt) {
        (JudgementGrounds::Heuristic(Heuristic::KnownSafe | Heuristic::SafeRepository), _) => {
            "it is known to only read".to_owned()
        }
        (_, Attempt::Inside) => sandbox_text(sandbox, writable),
        (_, Attempt::Outside(_)) => "everything that you may read and change, and the network".to_owned(),
    }
}

/// What commands in the sandbox may do.
fn sandbox_text(sandbox: &SandboxPolicy, writable: &[PathBuf]) -> String {
    let network = |is_open| if is_open { "with the network" } else { "without the network" };
    match sandbox {
        SandboxPolicy::DangerFullAccess => "none: commands may do all that you may".to_owned(),
        SandboxPolicy::ReadOnly => format!("reads all files, writes nowhere, {}", network(false)),
        SandboxPolicy::ExternalSandbox { network_access } => {
            let is_open = *network_access == NetworkAccess::Enabled;
            format!("another program's, which Pellucid runs in, {}", network(is_open))
        }
        SandboxPolicy::WorkspaceWrite { network_access, .. } => {
            let folders: Vec<_> =
                writable.iter().map(|root| visible_name(&root.to_string_lossy()).into_owned()).collect();
            format!("reads all files, writes in {}, {}", folders.join(" and "), network(*network_access))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::approval::RuleDecision;
    use pellucid_protocol::approval::SandboxPermissions;
    use pellucid_protocol::settings::ApprovalPolicy;

    use super::*;
    use crate::approval::Platform;
    use crate::approval::decide::ApprovalQuestion;
    use crate::approval::decide::Outside;
    use crate::approval::decide::Requirement;
    use crate::approval::decide::decide;
    use crate::approval::grants::Grants;
    use crate::approval::part::CommandPart;
    use crate::approval::part::CommandParts;
    use crate::approval::program::testing::programs;
    use crate::approval::rules::Rules;
    use crate::approval::rules::testing::rules;
    use crate::approval::rules::testing::words;

    const WORKSPACE: SandboxPolicy = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    };

    fn decided(commands: &[&str], rules: &Rules, permissions: SandboxPermissions) -> ApprovalDecision {
        let argv = ["bash", "-lc", &commands.join(" && ")].map(str::to_owned);
        let parts = commands.iter().map(|line| CommandPart::new(words(line))).collect();
        let parts = CommandParts::of_script("bash", parts, Split::Plain).unwrap();
        let programs = programs(commands.iter().map(|line| line.split(' ').next().unwrap()).chain(["bash"]));
        decide(&ApprovalQuestion {
            argv: &argv,
            parts: &parts,
            rules,
            policy: ApprovalPolicy::Untrusted,
            sandbox: &WORKSPACE,
            permissions,
            prefix_rule: None,
            grants: &Grants::default(),
            keys: &[],
            programs: &programs,
            platform: Platform::Linux,
        })
    }

    fn explained(decision: &ApprovalDecision) -> Vec<String> {
        let proposed = match &decision.requirement {
            Requirement::Ask { proposed_amendment, .. } => proposed_amendment.as_deref(),
            _ => None,
        };
        explanation(&AskedCommand {
            decision,
            split: Split::Plain,
            sandbox: &WORKSPACE,
            writable: &[PathBuf::from("/w"), PathBuf::from("/tmp")],
            justification: Some("It builds."),
            proposed,
        })
    }

    #[test]
    fn a_question_is_explained_with_its_parts_the_sandbox_and_the_reach_of_a_rule() {
        let decision = decided(&["ls a", "make x"], &Rules::default(), SandboxPermissions::UseDefault);
        expect![[r#"
            Why you are asked
              ask: if allowed, it runs in the sandbox
              taken apart: yes, its script consists of plain commands
                ls a: allow
                  no rule matches; it is known to only read
                make x: prompt
                  no rule matches; the approval policy asks about all that is not known to only read

            What it may touch
              ls a: it is known to only read
              make x: reads all files, writes in /w and /tmp, without the network

            The sandbox of this session
              reads all files, writes in /w and /tmp, without the network

            What the model says
              It builds.

            What "do not ask again" would allow from now on, in every session
              prefix_rule(pattern=["make", "x"], decision="allow")
              Such commands run outside of the sandbox. For example also:
                make x --help
                make x --force
                make x another-argument
        "#]]
        .assert_eq(&(explained(&decision).join("\n") + "\n"));
    }

    #[test]
    fn a_command_that_leaves_the_sandbox_may_touch_everything() {
        let decision = decided(&["make x"], &Rules::default(), SandboxPermissions::RequireEscalated);
        let lines = explained(&decision);
        assert!(
            lines.contains(&"  make x: everything that you may read and change, and the network".to_owned()),
            "{lines:?}"
        );
    }

    /// The rule that decides is named for each command, or that there is none; and what is named as an example is
    /// allowed by the rule that would be saved.
    #[test]
    fn a_hundred_explanations_name_the_deciding_rule_and_true_examples() {
        let text: String = (0..10).filter(|n| n % 2 == 0).map(|n| format!("prompt tool{n} sub\n")).collect();
        let rules = rules(&text);
        for n in 0..100 {
            let (tool, form) = (n % 10, n / 10);
            let command = match form {
                0 => format!("tool{tool} sub"),
                1..=5 => format!("tool{tool} sub arg{form}"),
                _ => format!("tool{tool} other arg{form}"),
            };
            let decision = decided(&[&command], &rules, SandboxPermissions::UseDefault);
            assert_eq!(decision.overall(), RuleDecision::Prompt, "{command}");
            let lines = explained(&decision).join("\n");
            let place = format!("a.rules:{}: ", tool / 2 + 1);
            let has_rule = tool % 2 == 0 && form <= 5;
            assert_eq!(lines.contains(&place), has_rule, "{lines}");
            assert_eq!(lines.contains("no rule matches"), !has_rule, "{lines}");
            let shown: Vec<&str> = lines.lines().filter_map(|line| line.strip_prefix("    tool")).collect();
            let shown: Vec<String> =
                shown.into_iter().filter(|it| !it.contains(": ")).map(|it| format!("tool{it}")).collect();
            assert_eq!(shown.len(), if has_rule { 0 } else { EXAMPLES }, "{lines}");
            let mut with_rule = rules.clone();
            let Requirement::Ask { proposed_amendment, .. } = &decision.requirement else { panic!("{command}") };
            for rule in proposed_amendment.iter().filter_map(|prefix| Rule::allowed_in_session(prefix)) {
                with_rule.add(rule);
            }
            for example in shown {
                assert_ne!(example, command);
                let decision = decided(&[&example], &with_rule, SandboxPermissions::UseDefault);
                assert!(matches!(decision.requirement, Requirement::Run { .. }), "{example}");
                assert_eq!(decision.attempt, Attempt::Outside(Outside::Rule), "{example}");
            }
        }
    }
}
