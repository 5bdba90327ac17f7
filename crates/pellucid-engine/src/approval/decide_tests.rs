//! The tables of the decision, row by row, and what holds for all of them.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::settings::NetworkAccess;
use proptest::prelude::*;

use super::*;
use crate::approval::part::Seen;
use crate::approval::program::testing::programs;
use crate::approval::rules::testing::rule;
use crate::approval::rules::testing::rules;
use crate::approval::rules::testing::words;
use crate::facts::PrefixToken;

const WORKSPACE: SandboxPolicy = SandboxPolicy::WorkspaceWrite {
    writable_roots: Vec::new(),
    network_access: false,
    exclude_tmpdir_env_var: false,
    exclude_slash_tmp: false,
};
const EXTERNAL: SandboxPolicy = SandboxPolicy::ExternalSandbox { network_access: NetworkAccess::Restricted };

/// A case with everything at its default.
struct Case {
    commands: &'static [&'static str],
    split: Split,
    rules: &'static str,
    policy: ApprovalPolicy,
    sandbox: SandboxPolicy,
    permissions: SandboxPermissions,
    prefix_rule: Option<&'static str>,
    platform: Platform,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            commands: &["make x"],
            split: Split::Plain,
            rules: "",
            policy: ApprovalPolicy::OnRequest,
            sandbox: SandboxPolicy::ReadOnly,
            permissions: SandboxPermissions::UseDefault,
            prefix_rule: None,
            platform: Platform::Linux,
        }
    }
}

impl Case {
    fn argv(&self) -> Vec<String> {
        match self.split {
            Split::NoScript => words(self.commands[0]),
            _ => vec!["/bin/bash".to_owned(), "-c".to_owned(), self.commands.join(" && ")],
        }
    }

    fn parts(&self) -> CommandParts {
        let parts = self.commands.iter().map(|line| CommandPart::new(words(line))).collect();
        match self.split {
            Split::Plain | Split::Complex => CommandParts::of_script("/bin/bash", parts, self.split).unwrap(),
            Split::NoScript => CommandParts::whole(&self.argv(), self.split, vec![Seen::command(self.argv())], None),
            Split::Opaque => CommandParts::whole(&self.argv(), self.split, Vec::new(), None),
        }
    }

    fn decide_with(&self, grants: &Grants, keys: &[GrantKey]) -> ApprovalDecision {
        let (argv, parts, rules) = (self.argv(), self.parts(), rules(self.rules));
        let prefix_rule = self.prefix_rule.map(words);
        let programs = programs(parts.iter().map(|part| part.words[0].as_str()).chain(["/bin/bash"]));
        decide(&ApprovalQuestion {
            argv: &argv,
            parts: &parts,
            rules: &rules,
            policy: self.policy,
            sandbox: &self.sandbox,
            permissions: self.permissions,
            prefix_rule: prefix_rule.as_deref(),
            grants,
            keys,
            programs: &programs,
            platform: self.platform,
        })
    }

    fn decide(&self) -> ApprovalDecision {
        self.decide_with(&Grants::default(), &[])
    }
}

#[track_caller]
fn check_decision(case: &Case, expected: &Expect) {
    expected.assert_eq(&render(&case.decide()));
}

fn render(decision: &ApprovalDecision) -> String {
    let amendment = |amendment: &Option<Vec<String>>| match amendment {
        Some(words) => format!(", offers {words:?}"),
        None => String::new(),
    };
    let what = match &decision.requirement {
        Requirement::Run { is_granted, proposed_amendment } => {
            let granted = if *is_granted { " granted" } else { "" };
            format!("run{granted} {:?}{}", decision.attempt, amendment(proposed_amendment))
        }
        Requirement::Ask { reason, proposed_amendment } => {
            let reason = reason.as_ref().map(|reason| format!(" {reason:?}")).unwrap_or_default();
            format!("ask{reason} {:?}{}", decision.attempt, amendment(proposed_amendment))
        }
        Requirement::Reject { text } => format!("reject {text:?}"),
    };
    let grounds = decision.judgements.iter().map(|judgement| match &judgement.grounds {
        JudgementGrounds::Rules(matches) => {
            let rules: Vec<_> =
                matches.iter().map(|found| format!("{} at {}", found.rule.decision, found.rule.place)).collect();
            format!("\n  {:?}: {}", judgement.words, rules.join(", "))
        }
        JudgementGrounds::Heuristic(heuristic) => format!("\n  {:?}: {heuristic:?}", judgement.words),
    });
    format!("{what}{}", grounds.collect::<String>())
}

#[test]
fn every_row_of_the_heuristic() {
    use ApprovalPolicy as Policy;
    use Heuristic as Row;
    use SandboxPolicy::DangerFullAccess;
    use SandboxPolicy::ReadOnly;
    let escalated = SandboxPermissions::RequireEscalated;
    let default = SandboxPermissions::UseDefault;
    let rows = [
        ("ls", Policy::Untrusted, ReadOnly, default, Row::KnownSafe, RuleDecision::Allow),
        ("rm -rf q", Policy::Never, ReadOnly, default, Row::DangerousUnasked, RuleDecision::Forbidden),
        ("rm -rf q", Policy::OnRequest, DangerFullAccess, default, Row::Dangerous, RuleDecision::Prompt),
        ("make", Policy::Never, ReadOnly, default, Row::NotAsked, RuleDecision::Allow),
        ("make", Policy::OnFailure, WORKSPACE, default, Row::NotAsked, RuleDecision::Allow),
        ("make", Policy::Untrusted, DangerFullAccess, default, Row::Untrusted, RuleDecision::Prompt),
        ("make", Policy::OnRequest, DangerFullAccess, escalated, Row::Unconfined, RuleDecision::Allow),
        ("make", Policy::OnRequest, EXTERNAL, default, Row::Unconfined, RuleDecision::Allow),
        ("make", Policy::OnRequest, ReadOnly, escalated, Row::Escalated, RuleDecision::Prompt),
        ("make", Policy::OnRequest, WORKSPACE, escalated, Row::Escalated, RuleDecision::Prompt),
        ("make", Policy::OnRequest, ReadOnly, default, Row::Confined, RuleDecision::Allow),
        ("make", Policy::OnRequest, WORKSPACE, default, Row::Confined, RuleDecision::Allow),
    ];
    for (command, policy, sandbox, permissions, row, says) in rows {
        let commands: &'static [&'static str] = match command {
            "ls" => &["ls"],
            "make" => &["make"],
            _ => &["rm -rf q"],
        };
        let case = Case { commands, policy, sandbox, permissions, ..Case::default() };
        let decision = case.decide();
        assert_eq!(decision.judgements[0].grounds, JudgementGrounds::Heuristic(row), "{command} {policy}");
        assert_eq!((row.decision(), decision.overall()), (says, says));
    }
    for (policy, row) in [(Policy::Never, Row::NoReadOnlySandboxUnasked), (Policy::OnRequest, Row::NoReadOnlySandbox)] {
        let case = Case { policy, platform: Platform::Windows, ..Case::default() };
        assert_eq!(case.decide().judgements[0].grounds, JudgementGrounds::Heuristic(row));
    }
}

#[test]
fn every_cell_of_the_matrix() {
    let mut table = String::new();
    for policy in ApprovalPolicy::ALL {
        for (name, sandbox) in [("confined", WORKSPACE), ("open", SandboxPolicy::DangerFullAccess)] {
            table += &format!("{policy} {name}:");
            for (letter, commands) in [("S", &["ls"] as &'static [&str]), ("D", &["rm -f a"]), ("O", &["make"])] {
                for (mark, permissions) in
                    [("", SandboxPermissions::UseDefault), ("+E", SandboxPermissions::RequireEscalated)]
                {
                    let case =
                        Case { commands, policy: *policy, sandbox: sandbox.clone(), permissions, ..Case::default() };
                    let decision = case.decide();
                    let what = match decision.requirement {
                        _ if escalation_refusal(*policy, permissions).is_some() => continue,
                        Requirement::Run { .. } => "run",
                        Requirement::Ask { .. } => "ask",
                        Requirement::Reject { .. } => "reject",
                    };
                    let star = if decision.attempt == Attempt::Inside && what != "reject" { "*" } else { "" };
                    table += &format!(" {letter}{mark} {what}{star}");
                }
            }
            table.push('\n');
        }
    }
    expect![[r#"
        untrusted confined: S run* D ask* O ask*
        untrusted open: S run D ask O ask
        on-failure confined: S run* D ask* O run*
        on-failure open: S run D ask O run
        on-request confined: S run* S+E run D ask* D+E ask O run* O+E ask
        on-request open: S run S+E run D ask D+E ask O run O+E run
        never confined: S run* D reject O run*
        never open: S run D reject O run
    "#]]
    .assert_eq(&table);
}

#[test]
fn rights_are_not_asked_for_where_nobody_would_answer() {
    let refusal = |policy| escalation_refusal(policy, SandboxPermissions::RequireEscalated);
    expect!["approval policy is UnlessTrusted; reject command — you should not ask for escalated permissions if the approval policy is UnlessTrusted"]
        .assert_eq(&refusal(ApprovalPolicy::Untrusted).unwrap());
    assert!(refusal(ApprovalPolicy::Never).unwrap().starts_with("approval policy is Never;"));
    assert!(refusal(ApprovalPolicy::OnFailure).unwrap().starts_with("approval policy is OnFailure;"));
    assert_eq!(refusal(ApprovalPolicy::OnRequest), None);
    assert_eq!(escalation_refusal(ApprovalPolicy::Never, SandboxPermissions::UseDefault), None);
}

#[test]
fn what_is_forbidden_is_rejected_in_the_words_of_the_rule() {
    let rules = "forbidden rm # Use git rm instead.\nforbidden git push -f\nforbidden git push";
    check_decision(
        &Case { rules, commands: &["ls", "rm x"], ..Case::default() },
        &expect![[r#"
        reject "`/bin/bash -c 'ls && rm x'` rejected: Use git rm instead."
          ["ls"]: KnownSafe
          ["rm", "x"]: forbidden at a.rules:1"#]],
    );
    check_decision(
        &Case { rules, commands: &["git push -f now"], split: Split::NoScript, ..Case::default() },
        &expect![[r#"
        reject "`git push -f now` rejected: policy forbids commands starting with `git push -f`"
          ["git", "push", "-f", "now"]: forbidden at a.rules:2, forbidden at a.rules:3"#]],
    );
    check_decision(
        &Case { commands: &["rm -rf q"], policy: ApprovalPolicy::Never, ..Case::default() },
        &expect![[r#"
            reject "`/bin/bash -c 'rm -rf q'` rejected: blocked by policy"
              ["rm", "-rf", "q"]: DangerousUnasked"#]],
    );
    let words_with_blanks = Case { rules: "forbidden a", commands: &["a b"], ..Case::default() };
    check_decision(
        &words_with_blanks,
        &expect![[r#"
        reject "`/bin/bash -c 'a b'` rejected: policy forbids commands starting with `a`"
          ["a", "b"]: forbidden at a.rules:1"#]],
    );
}

#[test]
fn what_needs_consent_is_asked_or_rejected() {
    let rules = "prompt mv # Look first.\nprompt cp";
    check_decision(
        &Case { rules, commands: &["mv a b"], ..Case::default() },
        &expect![[r#"
        ask "`/bin/bash -c 'mv a b'` requires approval: Look first." Inside
          ["mv", "a", "b"]: prompt at a.rules:1"#]],
    );
    check_decision(
        &Case { rules, commands: &["cp a b", "mv a b"], ..Case::default() },
        &expect![[r#"
        ask "`/bin/bash -c 'cp a b && mv a b'` requires approval: Look first." Inside
          ["cp", "a", "b"]: prompt at a.rules:2
          ["mv", "a", "b"]: prompt at a.rules:1"#]],
    );
    check_decision(
        &Case { rules, commands: &["cp a b"], ..Case::default() },
        &expect![[r#"
        ask "`/bin/bash -c 'cp a b'` requires approval by policy" Inside
          ["cp", "a", "b"]: prompt at a.rules:2"#]],
    );
    let never = ApprovalPolicy::Never;
    check_decision(
        &Case { rules, commands: &["cp a b"], policy: never, ..Case::default() },
        &expect![[r#"
        reject "approval required by policy, but AskForApproval is set to Never"
          ["cp", "a", "b"]: prompt at a.rules:2"#]],
    );
}

#[test]
fn a_rule_that_allows_leaves_the_sandbox() {
    let rules = "allow touch a\nprompt mv";
    check_decision(
        &Case { rules, commands: &["touch a b"], ..Case::default() },
        &expect![[r#"
        run Outside(Rule)
          ["touch", "a", "b"]: allow at a.rules:1"#]],
    );
    check_decision(
        &Case { rules, commands: &["touch b"], ..Case::default() },
        &expect![[r#"
        run Inside, offers ["touch", "b"]
          ["touch", "b"]: Confined"#]],
    );
    check_decision(
        &Case { rules, commands: &["ls", "touch a"], ..Case::default() },
        &expect![[r#"
            run Inside
              ["ls"]: KnownSafe
              ["touch", "a"]: allow at a.rules:1"#]],
    );
    check_decision(
        &Case { rules, commands: &["touch a", "mv a b"], ..Case::default() },
        &expect![[r#"
        ask "`/bin/bash -c 'touch a && mv a b'` requires approval by policy" Inside
          ["touch", "a"]: allow at a.rules:1
          ["mv", "a", "b"]: prompt at a.rules:2"#]],
    );
    let dangerous = Case { rules: "allow rm -rf", commands: &["rm -rf a"], ..Case::default() };
    check_decision(
        &dangerous,
        &expect![[r#"
        run Outside(Rule)
          ["rm", "-rf", "a"]: allow at a.rules:1"#]],
    );
}

#[test]
fn what_is_offered_to_be_saved() {
    let (untrusted, escalated) = (ApprovalPolicy::Untrusted, SandboxPermissions::RequireEscalated);
    let asked = |commands, prefix_rule| Case { commands, prefix_rule, permissions: escalated, ..Case::default() };
    check_decision(
        &asked(&["touch a"], Some("touch")),
        &expect![[r#"
        ask Outside(Escalation), offers ["touch"]
          ["touch", "a"]: Escalated"#]],
    );
    check_decision(
        &asked(&["touch a"], Some("git")),
        &expect![[r#"
        ask Outside(Escalation), offers ["touch", "a"]
          ["touch", "a"]: Escalated"#]],
    );
    check_decision(
        &asked(&["ls", "touch a"], None),
        &expect![[r#"
        ask Outside(Escalation), offers ["touch", "a"]
          ["ls"]: KnownSafe
          ["touch", "a"]: Escalated"#]],
    );
    check_decision(
        &Case { rules: "allow ls", ..asked(&["ls", "touch a"], Some("touch")) },
        &expect![[r#"
        ask Outside(Escalation), offers ["touch", "a"]
          ["ls"]: allow at a.rules:1
          ["touch", "a"]: Escalated"#]],
    );
    check_decision(
        &Case { rules: "prompt ls", ..asked(&["ls", "touch a"], Some("touch")) },
        &expect![[r#"
        ask "`/bin/bash -c 'ls && touch a'` requires approval by policy" Outside(Escalation)
          ["ls"]: prompt at a.rules:1
          ["touch", "a"]: Escalated"#]],
    );
    check_decision(
        &Case { commands: &["touch a"], split: Split::Complex, policy: untrusted, ..Case::default() },
        &expect![[r#"
            ask Inside
              ["touch", "a"]: Untrusted"#]],
    );
    check_decision(
        &Case { commands: &["touch $A"], split: Split::Opaque, policy: untrusted, ..Case::default() },
        &expect![[r#"
            ask Inside, offers ["/bin/bash", "-c", "touch $A"]
              ["/bin/bash", "-c", "touch $A"]: Untrusted"#]],
    );
    let on_failure = ApprovalPolicy::OnFailure;
    check_decision(
        &Case { commands: &["ls", "touch a"], policy: on_failure, ..Case::default() },
        &expect![[r#"
        run Inside, offers ["ls"]
          ["ls"]: KnownSafe
          ["touch", "a"]: NotAsked"#]],
    );
    check_decision(
        &Case { commands: &["ls", "touch a"], rules: "allow touch", policy: on_failure, ..Case::default() },
        &expect![[r#"
            run Inside
              ["ls"]: KnownSafe
              ["touch", "a"]: allow at a.rules:1"#]],
    );
}

#[test]
fn a_single_command_with_a_redirection_is_never_known_to_be_safe() {
    let case = Case { commands: &["ls"], split: Split::Complex, policy: ApprovalPolicy::Untrusted, ..Case::default() };
    check_decision(
        &case,
        &expect![[r#"
        ask Inside
          ["ls"]: Untrusted"#]],
    );
}

#[test]
fn a_grant_answers_the_question_but_not_a_rule_that_forbids() {
    let key = GrantKey::File { path: "stands for a command".to_owned() };
    let mut grants = Grants::default();
    grants.remember([key.clone()]);
    let keys = [key];
    let decided = |case: &Case| render(&case.decide_with(&grants, &keys));
    let untrusted = ApprovalPolicy::Untrusted;
    expect![[r#"
        run granted Inside
          ["make", "x"]: Untrusted"#]]
    .assert_eq(&decided(&Case { policy: untrusted, ..Case::default() }));
    expect![[r#"
        reject "`/bin/bash -c 'make x'` rejected: policy forbids commands starting with `make`"
          ["make", "x"]: forbidden at a.rules:1"#]]
    .assert_eq(&decided(&Case { policy: untrusted, rules: "forbidden make", ..Case::default() }));
    expect![[r#"
        reject "approval required by policy, but AskForApproval is set to Never"
          ["make", "x"]: prompt at a.rules:1"#]]
    .assert_eq(&decided(&Case { policy: ApprovalPolicy::Never, rules: "prompt make", ..Case::default() }));
}

/// Under `never` no client is asked, whatever the command, the rules, the sandbox and the rights that the model asks for.
#[test]
fn the_policy_never_does_not_ask() {
    const COMMANDS: &[&[&str]] = &[&["make x"], &["rm -rf q"], &["ls", "make"], &["sudo rm -rf q"]];
    let policy = ApprovalPolicy::Never;
    for commands in COMMANDS {
        for rules in ["", "allow make", "prompt make", "forbidden make", "prompt rm"] {
            for split in [Split::Plain, Split::Complex, Split::NoScript, Split::Opaque] {
                for sandbox in [SandboxPolicy::ReadOnly, WORKSPACE, SandboxPolicy::DangerFullAccess, EXTERNAL] {
                    for &permissions in SandboxPermissions::ALL {
                        let sandbox = sandbox.clone();
                        let case = Case { commands, split, rules, policy, sandbox, permissions, ..Case::default() };
                        let decision = case.decide();
                        assert!(!matches!(decision.requirement, Requirement::Ask { .. }), "{}", render(&decision));
                    }
                }
            }
        }
    }
}

/// How far a decision lets a command go; more is looser.
fn looseness(decision: &ApprovalDecision) -> u8 {
    match (&decision.requirement, decision.attempt) {
        (Requirement::Reject { .. }, _) => 0,
        (Requirement::Ask { .. }, Attempt::Inside) => 1,
        (Requirement::Ask { .. }, Attempt::Outside(_)) => 2,
        (Requirement::Run { .. }, Attempt::Inside) => 3,
        (Requirement::Run { .. }, Attempt::Outside(_)) => 4,
    }
}

fn any_words() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(vec!["ls", "rm", "-rf", "-f", "git", "status", "push", "make", "sudo", "a", "b"]);
    prop::collection::vec(word.prop_map(str::to_owned), 1..4)
}

fn any_rule() -> impl Strategy<Value = Rule> {
    (any_words(), prop::sample::select(RuleDecision::ALL.to_vec()), any::<bool>()).prop_map(
        |(words, decision, is_alternative)| {
            let mut made = rule(1, decision, &words[0], None);
            made.rest = words[1..]
                .iter()
                .map(|word| match is_alternative {
                    true => PrefixToken::OneOf(vec![word.clone(), "a".to_owned()]),
                    false => PrefixToken::Word(word.clone()),
                })
                .collect();
            made
        },
    )
}

fn any_sandbox() -> impl Strategy<Value = SandboxPolicy> {
    prop::sample::select(vec![SandboxPolicy::ReadOnly, WORKSPACE, SandboxPolicy::DangerFullAccess, EXTERNAL])
}

fn any_permissions() -> impl Strategy<Value = SandboxPermissions> {
    prop::sample::select(SandboxPermissions::ALL.to_vec())
}

proptest! {
    /// Rules add up: one more that does not allow never lets a command go further, not by taking the
    /// place of a heuristic either.
    #[test]
    fn a_rule_that_does_not_allow_never_loosens(
        commands in prop::collection::vec(any_words(), 1..4),
        split in prop::sample::select(vec![Split::Plain, Split::Complex]),
        present in prop::collection::vec(any_rule(), 0..6),
        added in any_rule(),
        policy in prop::sample::select(ApprovalPolicy::ALL.to_vec()),
        sandbox in any_sandbox(),
        permissions in any_permissions(),
    ) {
        let parts = CommandParts::of_script("bash", commands.into_iter().map(CommandPart::new).collect(), split).unwrap();
        let argv = words("bash -c x");
        let programs = programs(parts.iter().map(|part| part.words[0].as_str()).chain(["bash"]));
        let grants = Grants::default();
        let decided = |rules: &Rules| {
            decide(&ApprovalQuestion {
                argv: &argv,
                parts: &parts,
                rules,
                policy,
                sandbox: &sandbox,
                permissions,
                prefix_rule: None,
                grants: &grants,
                keys: &[],
                programs: &programs,
                platform: Platform::Linux,
            })
        };
        let before: Rules = present.iter().cloned().collect();
        let after: Rules = present.iter().cloned().chain([added.clone()]).collect();
        let (before, after) = (decided(&before), decided(&after));
        if added.decision != RuleDecision::Allow {
            prop_assert!(looseness(&after) <= looseness(&before), "{before:?} {after:?}");
        }
    }
}
