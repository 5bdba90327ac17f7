//! Decisions about rewritten commands: forbidden ones, removal by force, and additions to an allowed command. One
//! line of a fixture is one command with its decision under each approval policy.

use std::fmt::Write as _;

use expect_test::ExpectFile;
use expect_test::expect_file;
use pellucid_engine::approval::Platform;
use pellucid_engine::approval::decide::ApprovalDecision;
use pellucid_engine::approval::decide::ApprovalQuestion;
use pellucid_engine::approval::decide::Attempt;
use pellucid_engine::approval::decide::Requirement;
use pellucid_engine::approval::decide::decide;
use pellucid_engine::approval::grants::Grants;
use pellucid_engine::approval::part::CommandParts;
use pellucid_engine::approval::program::FoundProgram;
use pellucid_engine::approval::program::ProgramPlace;
use pellucid_engine::approval::program::Programs;
use pellucid_engine::approval::rules::Rule;
use pellucid_engine::approval::rules::RulePlace;
use pellucid_engine::approval::rules::Rules;
use pellucid_engine::facts::PrefixToken;
use pellucid_exec::script;
use pellucid_protocol::approval::RuleDecision;
use pellucid_protocol::approval::SandboxPermissions;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use proptest::prelude::*;

const HEADING: &str = "untrusted  on-failure on-request never      command\n";

/// One rule for each list of words.
fn rules(decision: RuleDecision, prefixes: &[&[&str]]) -> Rules {
    let place = RulePlace::File { path: "a.rules".to_owned(), line: 1 };
    let rule = |prefix: &&[&str]| Rule {
        first: prefix[0].to_owned(),
        rest: prefix[1..].iter().map(|word| PrefixToken::Word((*word).to_owned())).collect(),
        decision,
        justification: None,
        place: place.clone(),
    };
    prefixes.iter().map(rule).collect()
}

/// Bare names and those in system folders are the system's, but for `own`, which is in the project, and `late`, which
/// has a folder of the project before it on `PATH`. Other folders are the project's.
fn programs(parts: &CommandParts) -> Programs {
    let mut programs = Programs::new(Some("/opt/own/zsh".to_owned()));
    let inner = parts.iter().flat_map(|part| part.inner.iter());
    let names = parts.iter().chain(inner).map(|part| part.words[0].as_str());
    for name in names.chain(parts.shell()) {
        let elsewhere = || ProgramPlace::Elsewhere { path: name.to_owned() };
        let place = match (name, name.rsplit_once('/').map(|(folder, _)| folder)) {
            ("own", _) => ProgramPlace::Changeable { path: "/w/own".to_owned() },
            (_, None | Some("/bin" | "/usr/bin")) => ProgramPlace::System,
            (_, Some("/opt/own" | "/opt/other")) => elsewhere(),
            (_, Some(_)) => ProgramPlace::Changeable { path: name.to_owned() },
        };
        let behind = (name == "late").then(|| "/w/bin".to_owned());
        programs.add(name, FoundProgram { place, behind });
    }
    programs
}

fn decided(argv: &[String], rules: &Rules, policy: ApprovalPolicy, sandbox: &SandboxPolicy) -> ApprovalDecision {
    let parts = script::parts(argv);
    decide(&ApprovalQuestion {
        argv,
        parts: &parts,
        rules,
        policy,
        sandbox,
        permissions: SandboxPermissions::UseDefault,
        prefix_rule: None,
        grants: &Grants::default(),
        keys: &[],
        programs: &programs(&parts),
        platform: Platform::Linux,
    })
}

/// A line of a fixture as an argument list: a script for the person's shell, or words after `argv`.
fn argv(line: &str) -> Vec<String> {
    let line = line.replace('⏎', "\n");
    match line.strip_prefix("argv ") {
        Some(words) => shlex::split(words).unwrap(),
        None => vec!["/bin/bash".to_owned(), "-lc".to_owned(), line],
    }
}

fn outcome(decision: &ApprovalDecision) -> &'static str {
    match (&decision.requirement, decision.attempt) {
        (Requirement::Run { .. }, Attempt::Inside) => "inside",
        (Requirement::Run { .. }, Attempt::Outside(_)) => "OUTSIDE",
        (Requirement::Ask { .. }, Attempt::Inside) => "ask",
        (Requirement::Ask { .. }, Attempt::Outside(_)) => "ask OUT",
        (Requirement::Reject { .. }, _) => "reject",
    }
}

/// Holds every line of a fixture against what is decided now, and counts the lines that have an outcome.
#[track_caller]
fn check_lines(fixture: &ExpectFile, rules: &Rules, sandbox: &SandboxPolicy, is_counted: fn(&[&str]) -> bool) -> usize {
    let mut table = HEADING.to_owned();
    let mut n = 0;
    let text = fixture.data();
    for line in text.lines().filter(|line| !HEADING.starts_with(line)) {
        // A line without decisions is a command that was just added.
        let command =
            line.get(44..).filter(|_| ["inside", "OUTSIDE", "ask", "reject"].iter().any(|it| line.starts_with(it)));
        let command = command.unwrap_or(line);
        let outcomes =
            ApprovalPolicy::ALL.iter().map(|policy| outcome(&decided(&argv(command), rules, *policy, sandbox)));
        let outcomes: Vec<&str> = outcomes.collect();
        n += usize::from(is_counted(&outcomes));
        for outcome in outcomes {
            let _ = write!(table, "{outcome:<11}");
        }
        table.push_str(command);
        table.push('\n');
    }
    fixture.assert_eq(&table);
    n
}

/// The sandbox keeps nothing back from a rule that forbids: it is the same in all.
#[test]
fn a_forbidden_command_in_other_words() {
    let rules = rules(RuleDecision::Forbidden, &[&["curl"]]);
    let fixture = expect_file!["approvals/forbidden.txt"];
    let n_held = check_lines(&fixture, &rules, &SandboxPolicy::ReadOnly, |all| all.iter().all(|it| *it == "reject"));
    assert!(n_held >= 75, "{n_held} spellings are held");
}

#[test]
fn removal_by_force_in_other_words() {
    let fixture = expect_file!["approvals/removal.txt"];
    let n_held = check_lines(&fixture, &Rules::default(), &SandboxPolicy::ReadOnly, |all| all[3] == "reject");
    assert!(n_held >= 21, "{n_held} spellings are held");
}

#[test]
fn what_is_written_around_an_allowed_command() {
    let rules = rules(RuleDecision::Allow, ALLOWED);
    let fixture = expect_file!["approvals/allowed.txt"];
    let n_kept = check_lines(&fixture, &rules, &SandboxPolicy::ReadOnly, |all| !all.contains(&"OUTSIDE"));
    assert!(n_kept >= 40, "{n_kept} ways are kept inside");
}

/// Without a sandbox there is nowhere to be kept, so the policy `untrusted` has to ask.
#[test]
fn without_a_sandbox_the_same_is_asked_about() {
    let rules = rules(RuleDecision::Allow, ALLOWED);
    let fixture = expect_file!["approvals/allowed.txt"];
    let text = fixture.data();
    for line in text.lines().skip(1).filter(|line| !line.starts_with("OUTSIDE")) {
        let argv = argv(&line[44..]);
        let decision = decided(&argv, &rules, ApprovalPolicy::Untrusted, &SandboxPolicy::DangerFullAccess);
        let is_reading = line.starts_with("inside");
        assert!(is_reading || outcome(&decision) == "ask OUT", "{line}: {decision:?}");
    }
    let git = argv("git status");
    let asked = |sandbox| outcome(&decided(&git, &Rules::default(), ApprovalPolicy::Untrusted, &sandbox));
    assert_eq!((asked(SandboxPolicy::ReadOnly), asked(SandboxPolicy::DangerFullAccess)), ("inside", "ask OUT"));
}

const ALLOWED: &[&[&str]] =
    &[&["npm", "test"], &["echo", "ok"], &["own"], &["late"], &["/bin/bash", "-lc", "echo $A done"]];

/// Pieces of scripts, some harmless.
const PIECES: &[&str] = &[
    "npm test",
    "echo ok",
    "npm",
    "test",
    "ok",
    "touch out",
    "evil",
    " ",
    "  ",
    "\n",
    "&&",
    "||",
    ";",
    "|",
    "&",
    "|&",
    "(",
    ")",
    "{",
    "}",
    "{ ",
    "; }",
    "$(",
    "`",
    "\"",
    "'",
    "\\",
    "\\\n",
    "> out",
    ">out",
    "2>&1",
    "< in",
    "<<E\n",
    "\nE\n",
    "<<< x",
    "A=1 ",
    "PATH=. ",
    "*",
    "?",
    "{a,b}",
    "~",
    "$HOME",
    "${A}",
    "# x",
    "!",
    "if ",
    "; then ",
    "; fi",
    "while ",
    "do ",
    "done",
    "() ",
    "env ",
    "exec ",
    "eval ",
    "command ",
    "xargs ",
    "sh -c ",
    "bash -c 'touch out'",
    "\r",
    "\u{a0}",
    "\u{3000}",
    "\t",
    "=",
    "[[ ",
    "]]",
    ";;",
    "case x in x) ",
    "esac",
    "coproc ",
    "time ",
    "alias npm=evil\n",
];

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..7).prop_map(|pieces| pieces.concat())
}

/// Runs a script in a folder where the allowed programs do nothing and all others leave a file behind.
fn leaves_files(script: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (bin, work) = (folder.path().join("bin"), folder.path().join("work"));
    std::fs::create_dir(&bin).unwrap();
    std::fs::create_dir(&work).unwrap();
    let stub = |name: &str, text: &str| {
        let path = bin.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    stub("npm", "#!/bin/sh\n[ \"$1\" = test ] || : > bad\n");
    for name in ["touch", "evil", "env", "xargs", "sh", "bash", "test", "ok", "x", "out"] {
        stub(name, "#!/bin/sh\n: > bad\n");
    }
    let mut command = std::process::Command::new("/bin/bash");
    command.args(["--norc", "--noprofile", "-c", script]).current_dir(&work).env_clear().env("PATH", &bin);
    command.stdin(std::process::Stdio::null()).output().unwrap();
    std::fs::read_dir(&work).unwrap().next().is_some()
}

#[test]
fn the_oracle_sees_what_is_not_allowed() {
    for script in ["evil", "npm", "echo ok > out", "echo ok; touch out", "npm test $(evil)", "PATH=. evil; echo a > b"]
    {
        assert!(leaves_files(script), "{script}");
    }
    assert!(!leaves_files("npm test && echo ok"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Whatever is written around an allowed command, only allowed commands run outside: a script that may run
    /// there is run, and nothing but the allowed programs may have done anything.
    #[test]
    fn nothing_more_runs_outside_than_is_allowed(
        before in any_text(),
        inside in prop::sample::select(vec!["npm test", "echo ok", "npm test && echo ok"]),
        after in any_text(),
        wrapper in prop::sample::select(vec!["", "env ", "( ", "sh -c '", "A=1 ", "! ", "$("]),
    ) {
        let script = format!("{before}{wrapper}{inside}{after}");
        let argv = vec!["/bin/bash".to_owned(), "-lc".to_owned(), script.clone()];
        let decision = decided(&argv, &rules_allowed(), ApprovalPolicy::OnRequest, &SandboxPolicy::ReadOnly);
        if decision.attempt != Attempt::Inside {
            prop_assert!(!leaves_files(&script), "{script:?}");
        }
        // Wrapped as a whole, nothing runs outside at all.
        for whole in [format!("env {script}"), format!("({script})"), format!("A=1 {script}"), format!("{script} > out")] {
            let argv = vec!["/bin/bash".to_owned(), "-lc".to_owned(), whole.clone()];
            let decision = decided(&argv, &rules_allowed(), ApprovalPolicy::OnRequest, &SandboxPolicy::ReadOnly);
            if decision.attempt != Attempt::Inside {
                prop_assert!(!leaves_files(&whole), "{whole:?}");
            }
        }
    }
}

/// How far a decision lets a command go; more is looser.
fn looseness(decision: &ApprovalDecision) -> u8 {
    match outcome(decision) {
        "reject" => 0,
        "ask" => 1,
        "ask OUT" => 2,
        "inside" => 3,
        _ => 4,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// One more rule that does not allow never allows a script more, whatever its content.
    #[test]
    fn rules_tighten_whatever_the_script(
        before in any_text(),
        after in any_text(),
        word in prop::sample::select(vec!["npm", "echo", "touch", "evil", "env", "sh", "/bin/bash"]),
        decision in prop::sample::select(vec![RuleDecision::Prompt, RuleDecision::Forbidden]),
        policy in prop::sample::select(ApprovalPolicy::ALL.to_vec()),
        is_confined in any::<bool>(),
    ) {
        let script = format!("{before}npm test{after}");
        let argv = vec!["/bin/bash".to_owned(), "-lc".to_owned(), script];
        let sandbox = if is_confined { SandboxPolicy::ReadOnly } else { SandboxPolicy::DangerFullAccess };
        let mut rule = Rule::allowed_in_session(&[word.to_owned()]).unwrap();
        rule.decision = decision;
        let (before, mut after) = (rules_allowed(), rules_allowed());
        after.add(rule);
        let [before, after] = [before, after].map(|rules| decided(&argv, &rules, policy, &sandbox));
        prop_assert!(looseness(&after) <= looseness(&before), "{before:?} {after:?}");
    }
}

fn rules_allowed() -> Rules {
    thread_local! {
        static RULES: Rules = rules(RuleDecision::Allow, ALLOWED);
    }
    RULES.with(Clone::clone)
}
