//! The lock file, its policy and the forms of findings.

use expect_test::Expect;
use expect_test::expect;

use super::*;

fn lock() -> ContextLock {
    ContextLock {
        made_with: "pellucid 0.2.0".to_owned(),
        pack: LockedPack { name: "codex".to_owned(), sha256: "aa".to_owned() },
        wire: "responses".to_owned(),
        model: "gpt-5.2-codex".to_owned(),
        digest: "bb".to_owned(),
        choices: LockChoices { folder: "api/v \"2\"".to_owned(), ..LockChoices::default() },
        parts: vec![LockedPart { name: "base".to_owned(), bytes: 40, tokens: 10, sha256: "cc".to_owned() }],
        sources: vec![
            LockedSource {
                path: "AGENTS.md".to_owned(),
                status: "full".to_owned(),
                bytes: 4212,
                sha256: Some("dd".to_owned()),
            },
            LockedSource { path: "b\\c\u{1}.md".to_owned(), status: "missing".to_owned(), bytes: 0, sha256: None },
        ],
        tools: vec![LockedTool { name: "exec_command".to_owned(), bytes: 2200, sha256: "ee".to_owned() }],
    }
}

#[test]
fn a_lock_reads_what_it_prints() {
    let printed = lock().print(&LockPolicy::default());
    let (read, policy) = ContextLock::parse(&printed).unwrap();
    assert_eq!((read, policy), (lock(), LockPolicy::default()));
    let other_lines = printed.replace('\n', "\r\n");
    let (read, policy) = ContextLock::parse(&other_lines).unwrap();
    assert_eq!(read.print(&policy), printed);
    expect![[r#"
        format = 1
        made_with = "pellucid 0.2.0"
        pack = { name = "codex", sha256 = "aa" }
        wire = "responses"
        model = "gpt-5.2-codex"
        digest = "bb"
        folder = "api/v \"2\""

        [[part]]
        name = "base"
        bytes = 40
        tokens = 10
        sha256 = "cc"

        [[source]]
        path = "AGENTS.md"
        status = "full"
        bytes = 4212
        sha256 = "dd"

        [[source]]
        path = "b\\c\u0001.md"
        status = "missing"
        bytes = 0

        [[tool]]
        name = "exec_command"
        bytes = 2200
        sha256 = "ee"

        [policy] # kept as you change it
        drift = "deny" # deny, warn or allow: what the request is made of changed
        truncated = "deny" # a file does not fit
        shadowed = "warn" # a file or skill is there twice, or another takes its place
        hidden = "deny" # a file has characters that a person does not see
        program = "warn" # built-in texts changed, because the program is another version
        tokens_max = 20000
        part.user_instructions.tokens_max = 8000
    "#]]
    .assert_eq(&printed);
}

#[test]
fn the_policy_is_kept_as_it_was_written() {
    let own = "[policy]\n# ours\ndrift = \"warn\"\n\n[policy.part.base]\ntokens_max = 7\n";
    let printed = lock().print(&LockPolicy::default());
    let head = printed.split("\n[[part]]").next().unwrap();
    // The section may be anywhere in the file.
    let text = format!("{head}\n{own}\n[[tool]]\nname = \"a\"\nbytes = 1\nsha256 = \"\"\n");
    let (read, policy) = ContextLock::parse(&text).unwrap();
    assert_eq!(read.tools.len(), 1);
    assert!(read.print(&policy).ends_with(&format!("\n{own}")), "{}", read.print(&policy));
    assert_eq!((policy.tokens_max, policy.part_tokens_max.get("base")), (None, Some(&7)));
}

#[track_caller]
fn check_refused(old: &str, new: &str, expected: &Expect) {
    let text = lock().print(&LockPolicy::default());
    assert!(text.contains(old), "{old}");
    let error = ContextLock::parse(&text.replacen(old, new, 1)).unwrap_err();
    expected.assert_eq(&format!("{error:?}"));
}

#[test]
fn a_text_that_is_no_lock_is_refused_with_its_line() {
    check_refused("format = 1", "format = 2\nother = 3", &expect!["Later(2)"]);
    check_refused(
        "hidden =",
        "hiden =",
        &expect![[
            r#"Malformed { line: Some(35), why: "unknown field `hiden`, expected one of `drift`, `truncated`, `shadowed`, `hidden`, `program`, `tokens_max`, `part`" }"#
        ]],
    );
    check_refused(
        "folder = \"api",
        "folder = \"../api",
        &expect![[r#"Malformed { line: Some(7), why: "`folder` leaves the project: `../api/v \"2\"`" }"#]],
    );
    check_refused(
        "bytes = 40",
        "bytes = -1",
        &expect![[r#"
        Malformed { line: Some(11), why: "invalid value: integer `-1`, expected usize" }"#]],
    );
}

#[test]
fn a_change_weighs_at_least_what_drift_says() {
    let policy = |text: &str| {
        let printed = lock().print(&LockPolicy::default());
        let head = printed.split("[policy]").next().unwrap();
        ContextLock::parse(&format!("{head}[policy]\n{text}")).unwrap().1
    };
    let (usual, lax) = (policy(""), policy("drift = \"allow\"\nhidden = \"warn\"\ntruncated = \"allow\""));
    for (kind, is_change, by_usual, by_lax) in [
        (FindingKind::Drift, true, Some(FindingLevel::Error), None),
        (FindingKind::Shadowed, false, Some(FindingLevel::Warning), Some(FindingLevel::Warning)),
        (FindingKind::Shadowed, true, Some(FindingLevel::Error), Some(FindingLevel::Warning)),
        (FindingKind::Hidden, false, Some(FindingLevel::Error), Some(FindingLevel::Warning)),
        (FindingKind::Truncated, true, Some(FindingLevel::Error), None),
        (FindingKind::Program, true, Some(FindingLevel::Warning), Some(FindingLevel::Warning)),
        (FindingKind::OverBudget, false, Some(FindingLevel::Error), Some(FindingLevel::Error)),
        (FindingKind::LockFormat, false, Some(FindingLevel::Error), Some(FindingLevel::Error)),
    ] {
        assert_eq!((usual.level(kind, is_change), lax.level(kind, is_change)), (by_usual, by_lax), "{kind:?}");
    }
}

#[test]
fn annotations_cannot_be_left_by_names_of_files() {
    let finding = LockFinding {
        kind: FindingKind::Hidden,
        level: FindingLevel::Error,
        source: "a,b:c\n::error::x.md".to_owned(),
        line: Some(3),
        bytes: 9,
        tokens: 3,
        message: "100 %\r".to_owned(),
        shown_at: ("a,b:c\n::error::x.md".to_owned(), Some(3)),
    };
    let verdict = LockVerdict { findings: vec![finding] };
    expect![[r"
        ::error file=a%2Cb%3Ac%0A%3A%3Aerror%3A%3Ax.md,line=3,title=context%3A hidden::a,b:c%0A::error::x.md: 100 %25%0D
    "]]
    .assert_eq(&verdict.to_github());
}

#[test]
fn folders_of_the_machine_are_replaced_where_their_names_end() {
    let places =
        LockPlaces { roots: vec!["/tmp/p".to_owned()], homes: vec!["/tmp/p/home".to_owned()], has_user_files: false };
    let replaced = places.without_folders("/tmp/p, /tmp/p2, /tmp/p/a and /tmp/p/home/b");
    assert_eq!(replaced, "<project>, /tmp/p2, <project>/a and <home>/b");
    assert_eq!(places.name("/tmp/p/a/b.md").as_deref(), Some("a/b.md"));
    assert_eq!(places.name("web_search").as_deref(), Some("web_search"));
}

/// A file of a repository may have any name, and a log is read by programs.
#[test]
fn a_name_forges_neither_a_finding_nor_a_command() {
    let finding = LockFinding {
        kind: FindingKind::Hidden,
        level: FindingLevel::Warning,
        source: "a\n::error::forged\nerror   drift  b".to_owned(),
        line: None,
        bytes: 1,
        tokens: 1,
        message: "m\r\n##[error]forged".to_owned(),
        shown_at: ("a\n::error::forged".to_owned(), None),
    };
    let verdict = LockVerdict { findings: vec![finding] };
    let text = verdict.to_text();
    assert_eq!(text.lines().count(), 2, "{text}");
    let github = verdict.to_github() + &without_commands(&(text + "\n  ::error::forged\n##[error]forged\n"));
    let is_command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    let commands: Vec<&str> = github.lines().filter(is_command).collect();
    assert_eq!(commands.len(), 1, "{github}");
    assert!(commands[0].starts_with("::warning file="), "{github}");
}
