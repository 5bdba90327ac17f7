use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Document;
use pellucid_engine::facts::Fate;

use super::*;
use crate::changes::DocumentHashes;
use crate::fixture::Fixture;

fn find(fixture: &Fixture, cwd: &str, fallback_names: &[&str], bytes_max: usize) -> ProjectDocuments {
    let options = DocumentOptions {
        fallback_names: fallback_names.iter().map(ToString::to_string).collect(),
        bytes_max,
        ..DocumentOptions::default()
    };
    project_documents(&fixture.path(cwd), &options, &mut DocumentCache::default())
}

fn render(fixture: &Fixture, found: &ProjectDocuments) -> String {
    let mut lines = Vec::new();
    if let Some(root) = &found.root {
        lines.push(format!("root {}", root.display()));
    }
    lines.extend(found.documents.iter().map(render_document));
    lines.extend(found.candidates.iter().map(render_candidate));
    if let Some(error) = &found.error {
        lines.push(format!("error {error}"));
    }
    fixture.shown(lines.join("\n"))
}

fn render_document(document: &Document) -> String {
    let text = String::from_utf8_lossy(&document.bytes);
    format!("document {} {text:?} of {}", document.path, document.size)
}

fn render_candidate(candidate: &Candidate) -> String {
    let fate = match &candidate.fate {
        Fate::Read => "read".to_owned(),
        Fate::Absent => "absent".to_owned(),
        Fate::Shadowed { by } => format!("shadowed by {by}"),
        Fate::NotAFile => "not a file".to_owned(),
        Fate::Unreadable { error } => format!("unreadable: {error}"),
        Fate::Blank => "blank".to_owned(),
        Fate::Outside { target } => format!("outside: {target}"),
        Fate::Untrusted => "untrusted".to_owned(),
        Fate::NotAccepted { is_changed } => format!("not accepted, changed: {is_changed}"),
    };
    format!("{} {fate}", candidate.path)
}

fn check(entries: &str, cwd: &str, fallback_names: &[&str], expected: &Expect) {
    let fixture = Fixture::new(entries);
    expected.assert_eq(&render(&fixture, &find(&fixture, cwd, fallback_names, 100)));
}

fn check_home(entries: &str, expected: &Expect) {
    let fixture = Fixture::new(entries);
    let (document, candidates) = home_document(&fixture.path("home"));
    let mut lines: Vec<_> = document.iter().map(render_document).collect();
    lines.extend(candidates.iter().map(render_candidate));
    expected.assert_eq(&fixture.shown(lines.join("\n")));
}

#[test]
fn from_the_root_down_without_siblings_and_without_what_is_above() {
    check(
        "
        AGENTS.md: Above.
        w/.git/
        w/AGENTS.md: Root.\\n
        w/a/AGENTS.md: A.
        w/a/b/notes.txt: x
        w/other/AGENTS.md: Sibling.
        ",
        "w/a/b",
        &[],
        &expect![[r#"
            root $/w
            document $/w/AGENTS.md "Root.\n" of 6
            document $/w/a/AGENTS.md "A." of 2
            $/w/AGENTS.override.md absent
            $/w/AGENTS.md read
            $/w/a/AGENTS.override.md absent
            $/w/a/AGENTS.md read
            $/w/a/b/AGENTS.override.md absent
            $/w/a/b/AGENTS.md absent"#]],
    );
}

#[test]
fn an_override_shadows_the_plain_file_of_its_own_folder() {
    check(
        "
        w/.git/
        w/AGENTS.md: Plain.
        w/AGENTS.override.md: Override.
        w/a/AGENTS.md: Sub.
        ",
        "w/a",
        &[],
        &expect![[r#"
            root $/w
            document $/w/AGENTS.override.md "Override." of 9
            document $/w/a/AGENTS.md "Sub." of 4
            $/w/AGENTS.override.md read
            $/w/AGENTS.md shadowed by $/w/AGENTS.override.md
            $/w/a/AGENTS.override.md absent
            $/w/a/AGENTS.md read"#]],
    );
}

#[test]
fn a_git_file_marks_the_root_too() {
    check(
        "w/.git: gitdir: /nowhere\nw/AGENTS.md: Root.\nw/a/",
        "w/a",
        &[],
        &expect![[r#"
            root $/w
            document $/w/AGENTS.md "Root." of 5
            $/w/AGENTS.override.md absent
            $/w/AGENTS.md read
            $/w/a/AGENTS.override.md absent
            $/w/a/AGENTS.md absent"#]],
    );
}

#[test]
fn a_link_named_git_counts_only_if_it_leads_somewhere() {
    check(
        "w/.git/\nw/a/.git -> nowhere\nw/a/AGENTS.md: A.\nw/AGENTS.md: Root.",
        "w/a",
        &[],
        &expect![[r#"
            root $/w
            document $/w/AGENTS.md "Root." of 5
            document $/w/a/AGENTS.md "A." of 2
            $/w/AGENTS.override.md absent
            $/w/AGENTS.md read
            $/w/a/AGENTS.override.md absent
            $/w/a/AGENTS.md read"#]],
    );
}

#[test]
fn without_a_repository_only_the_folder_as_given() {
    check(
        "w/AGENTS.md: Parent.\nw/real/AGENTS.md: Own.\nw/link -> real",
        "w/link",
        &[],
        &expect![[r#"
            document $/w/link/AGENTS.md "Own." of 4
            $/w/link/AGENTS.override.md absent
            $/w/link/AGENTS.md read"#]],
    );
}

#[test]
fn a_link_out_of_the_repository_leaves_it() {
    check(
        "w/.git/\nw/AGENTS.md: Root.\nw/link -> ../else\nelse/AGENTS.md: Else.",
        "w/link",
        &[],
        &expect![[r#"
            document $/w/link/AGENTS.md "Else." of 5
            $/w/link/AGENTS.override.md absent
            $/w/link/AGENTS.md read"#]],
    );
}

#[test]
fn a_link_into_a_repository_enters_it() {
    check(
        "w/.git/\nw/AGENTS.md: Root.\nw/a/AGENTS.md: A.\nlink -> w/a",
        "link",
        &[],
        &expect![[r#"
            root $/w
            document $/w/AGENTS.md "Root." of 5
            document $/w/a/AGENTS.md "A." of 2
            $/w/AGENTS.override.md absent
            $/w/AGENTS.md read
            $/w/a/AGENTS.override.md absent
            $/w/a/AGENTS.md read"#]],
    );
}

#[test]
fn fallback_names_are_trimmed_and_blanks_and_repeats_ignored() {
    check(
        "
        w/.git/
        w/CLAUDE.md: Second.
        w/a/CLAUDE.md: No.
        w/a/TEAM.md: First.
        w/a/b/TEAM.md: No.
        w/a/b/AGENTS.md: Own.
        ",
        "w/a/b",
        &["  ", " TEAM.md ", "CLAUDE.md", "AGENTS.md", "TEAM.md"],
        &expect![[r#"
            root $/w
            document $/w/CLAUDE.md "Second." of 7
            document $/w/a/TEAM.md "First." of 6
            document $/w/a/b/AGENTS.md "Own." of 4
            $/w/AGENTS.override.md absent
            $/w/AGENTS.md absent
            $/w/TEAM.md absent
            $/w/CLAUDE.md read
            $/w/a/AGENTS.override.md absent
            $/w/a/AGENTS.md absent
            $/w/a/TEAM.md read
            $/w/a/CLAUDE.md shadowed by $/w/a/TEAM.md
            $/w/a/b/AGENTS.override.md absent
            $/w/a/b/AGENTS.md read
            $/w/a/b/TEAM.md shadowed by $/w/a/b/AGENTS.md
            $/w/a/b/CLAUDE.md absent"#]],
    );
}

#[test]
fn links_are_followed_dangling_ones_claim_their_folder_and_folders_do_not() {
    check(
        "
        w/.git/
        w/docs/shared.md: Shared.
        w/AGENTS.md -> docs/shared.md
        w/a/AGENTS.override.md -> missing.md
        w/a/AGENTS.md: Not reached.
        w/a/b/AGENTS.md/
        w/a/b/NOTES.md: Reached.
        ",
        "w/a/b",
        &["NOTES.md"],
        &expect![[r#"
            root $/w
            document $/w/AGENTS.md "Shared." of 7
            document $/w/a/b/NOTES.md "Reached." of 8
            $/w/AGENTS.override.md absent
            $/w/AGENTS.md read
            $/w/NOTES.md absent
            $/w/a/AGENTS.override.md unreadable: No such file or directory (os error 2)
            $/w/a/AGENTS.md shadowed by $/w/a/AGENTS.override.md
            $/w/a/NOTES.md absent
            $/w/a/b/AGENTS.override.md absent
            $/w/a/b/AGENTS.md not a file
            $/w/a/b/NOTES.md read"#]],
    );
}

#[test]
fn a_link_that_leads_out_of_the_project_is_left_out_with_its_target() {
    let entries = "
        key: K.
        w/.git/
        w/AGENTS.md -> one
        w/one -> two
        w/two -> ../key
        w/a/AGENTS.md: A.
        w/a/b/AGENTS.md -> ../../docs/b.md
        w/docs/b.md: B.
        ";
    check(
        entries,
        "w/a/b",
        &[],
        &expect![[r#"
        root $/w
        document $/w/a/AGENTS.md "A." of 2
        document $/w/a/b/AGENTS.md "B." of 2
        $/w/AGENTS.override.md absent
        $/w/AGENTS.md outside: $/key
        $/w/a/AGENTS.override.md absent
        $/w/a/AGENTS.md read
        $/w/a/b/AGENTS.override.md absent
        $/w/a/b/AGENTS.md read"#]],
    );
    let found = find(&Fixture::new("w/.git/\nw/AGENTS.md -> a.md\nw/a.md: A."), "w", &[], 100);
    assert_eq!(found.links.len(), 1);
    // A name that a configuration gives leads no further than a link.
    check(
        "key: K.\nw/.git/",
        "w",
        &["../key"],
        &expect![[r#"
        root $/w
        $/w/AGENTS.override.md absent
        $/w/AGENTS.md absent
        $/w/../key outside: $/key"#]],
    );
}

#[test]
fn a_link_that_is_exchanged_all_the_time_never_brings_in_what_lies_outside() {
    let fixture = Fixture::new("key: KEY\nw/.git/\nw/good.md: Good.\nw/AGENTS.md -> good.md");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (link, next) = (fixture.path("w/AGENTS.md"), fixture.path("w/next"));
            for target in ["../key", "good.md"].iter().cycle() {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                std::os::unix::fs::symlink(target, &next).unwrap();
                fs::rename(&next, &link).unwrap();
            }
        });
        let is_good = |found: &ProjectDocuments| found.documents.iter().all(|document| document.bytes == b"Good.");
        let bad = (0..300).map(|_| find(&fixture, "w", &[], 100)).find(|found| !is_good(found));
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(bad, None);
    });
}

#[test]
fn files_of_an_untrusted_project_are_looked_for_and_not_read() {
    let fixture = Fixture::new("w/.git/\nw/AGENTS.md: A.\nw/a/AGENTS.md: B.");
    let options = DocumentOptions { bytes_max: 100, is_untrusted: true, ..DocumentOptions::default() };
    let mut cache = DocumentCache::default();
    let found = project_documents(&fixture.path("w/a"), &options, &mut cache);
    assert_eq!(cache.n_reads(), 0);
    expect![[r#"
        root $/w
        $/w/AGENTS.override.md absent
        $/w/AGENTS.md untrusted
        $/w/a/AGENTS.override.md absent
        $/w/a/AGENTS.md untrusted"#]]
    .assert_eq(&render(&fixture, &found));
}

#[test]
fn a_link_to_a_folder_costs_every_document() {
    check(
        "w/.git/\nw/AGENTS.md: Root.\nw/a/AGENTS.md -> ../.git",
        "w/a",
        &[],
        &expect![[r#"
            root $/w
            $/w/AGENTS.override.md absent
            $/w/AGENTS.md read
            $/w/a/AGENTS.override.md absent
            $/w/a/AGENTS.md unreadable: Is a directory (os error 21)
            error $/w/a/AGENTS.md: Is a directory (os error 21)"#]],
    );
}

#[test]
fn a_link_to_the_null_device_is_blank() {
    check(
        "w/.git/\nw/AGENTS.override.md -> /dev/null\nw/AGENTS.md: Hidden.",
        "w",
        &[],
        &expect![[r#"
            root $/w
            document $/w/AGENTS.override.md "" of 0
            $/w/AGENTS.override.md blank
            $/w/AGENTS.md shadowed by $/w/AGENTS.override.md"#]],
    );
}

#[test]
fn blank_files_are_kept_for_the_engine_to_judge() {
    check(
        "w/.git/\nw/AGENTS.md:  \\n\\t\\n\nw/a/AGENTS.md:\nw/a/b/AGENTS.md: x",
        "w/a/b",
        &[],
        &expect![[r#"
            root $/w
            document $/w/AGENTS.md " \n\t\n" of 4
            document $/w/a/AGENTS.md "" of 0
            document $/w/a/b/AGENTS.md "x" of 1
            $/w/AGENTS.override.md absent
            $/w/AGENTS.md blank
            $/w/a/AGENTS.override.md absent
            $/w/a/AGENTS.md blank
            $/w/a/b/AGENTS.override.md absent
            $/w/a/b/AGENTS.md read"#]],
    );
}

#[test]
fn each_file_is_read_up_to_the_whole_budget() {
    let fixture = Fixture::new("w/.git/\nw/AGENTS.md: 0123456789\nw/a/AGENTS.md: abcdefghij\nw/a/b/AGENTS.md: x");
    expect![[r#"
        root $/w
        document $/w/AGENTS.md "0123" of 10
        document $/w/a/AGENTS.md "abcd" of 10
        document $/w/a/b/AGENTS.md "x" of 1
        $/w/AGENTS.override.md absent
        $/w/AGENTS.md read
        $/w/a/AGENTS.override.md absent
        $/w/a/AGENTS.md read
        $/w/a/b/AGENTS.override.md absent
        $/w/a/b/AGENTS.md read"#]]
    .assert_eq(&render(&fixture, &find(&fixture, "w/a/b", &[], 4)));
}

#[test]
fn a_budget_of_nothing_looks_for_nothing() {
    let fixture = Fixture::new("w/.git/\nw/AGENTS.md: Root.");
    assert_eq!(find(&fixture, "w", &[], 0), ProjectDocuments::default());
}

#[test]
fn an_error_past_the_budget_costs_nothing() {
    let entries = "w/.git/\nw/AGENTS.md: 0123456789\nw/a/AGENTS.md -> ../.git";
    let fixture = Fixture::new(entries);
    expect![[r#"
        root $/w
        document $/w/AGENTS.md "0123456789" of 10
        $/w/AGENTS.override.md absent
        $/w/AGENTS.md read
        $/w/a/AGENTS.override.md absent
        $/w/a/AGENTS.md unreadable: Is a directory (os error 21)"#]]
    .assert_eq(&render(&fixture, &find(&fixture, "w/a", &[], 10)));
    assert!(find(&fixture, "w/a", &[], 11).error.is_some());
}

#[test]
fn a_blank_file_does_not_use_up_the_budget() {
    let fixture = Fixture::new("w/.git/\nw/AGENTS.md: \\n\\n\\n\\n\nw/a/AGENTS.md -> ../.git");
    assert!(find(&fixture, "w/a", &[], 2).error.is_some());
}

#[test]
fn a_working_directory_that_is_a_file_cannot_be_searched() {
    check(
        "w/.git/\nw/AGENTS.md: Root.\nw/file: x",
        "w/file",
        &[],
        &expect!["error $/w/file/.git: Not a directory (os error 20)"],
    );
}

#[test]
fn a_working_directory_that_is_gone_has_no_documents() {
    check(
        "w/.git/",
        "w/gone",
        &[],
        &expect![[r#"
        root $/w
        $/w/AGENTS.override.md absent
        $/w/AGENTS.md absent
        $/w/gone/AGENTS.override.md absent
        $/w/gone/AGENTS.md absent"#]],
    );
}

#[test]
fn a_folder_that_may_not_be_searched_costs_every_document() {
    let fixture = Fixture::new("w/.git/\nw/AGENTS.md: Root.\nw/a/AGENTS.md: A.");
    let closed = fixture.path("w/a");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    // Permissions do not bind every user, so there is only something to see if they bind this one.
    let is_bound = fs::symlink_metadata(closed.join("AGENTS.md")).is_err();
    let found = find(&fixture, "w/a", &[], 100);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(found.error.is_some(), is_bound);
    assert_eq!(found.documents.is_empty(), is_bound);
}

#[test]
fn the_root_of_the_file_system_is_no_project() {
    assert!(project_folders(Path::new("/"), &WorkingFolder::find()).unwrap().is_empty());
}

#[test]
fn the_folder_of_the_process_is_searched_with_the_same_result() {
    let here = env::current_dir().unwrap();
    let detour = here.join("..").join(here.file_name().unwrap());
    let options = DocumentOptions {
        fallback_names: vec!["Cargo.toml".to_owned()],
        bytes_max: 1000,
        ..DocumentOptions::default()
    };
    let mut cache = DocumentCache::default();
    let found = project_documents(&here, &options, &mut cache);
    if found.root.is_some() {
        let other = project_documents(&detour, &options, &mut DocumentCache::default());
        assert_eq!(found, other);
        let told = DocumentOptions { work_tree: found.root.clone(), ..options };
        assert_eq!(project_documents(&here, &told, &mut cache), found);
    }
    assert!(found.documents.iter().any(|d| Path::new(&d.path) == here.join("Cargo.toml")));
}

#[test]
fn sixty_folders_are_read_once() {
    let mut fixture = String::from("w/.git/\n");
    let mut folder = String::from("w");
    for i in 0..60 {
        folder.push_str(&format!("/folder{i}"));
        fixture.push_str(&format!("{folder}/AGENTS.md: Rule {i}.\n"));
    }
    let fixture = Fixture::new(&fixture);
    let options = DocumentOptions { bytes_max: 32_768, ..DocumentOptions::default() };
    let mut cache = DocumentCache::default();
    let found = project_documents(&fixture.path(&folder), &options, &mut cache);
    assert_eq!(found.documents.len(), 60);
    assert_eq!(found.candidates.len(), 2 * 61);
    assert_eq!(cache.n_reads(), 60);
}

#[test]
fn changes_are_told_by_hash() {
    let fixture = Fixture::new("w/.git/\nw/AGENTS.md: one\nw/a/AGENTS.md: same");
    let options = DocumentOptions { bytes_max: 100, ..DocumentOptions::default() };
    let mut cache = DocumentCache::default();
    let before = project_documents(&fixture.path("w/a"), &options, &mut cache);
    fixture.write("w/AGENTS.md", b"two");
    let after = project_documents(&fixture.path("w/a"), &options, &mut cache);
    let state = |found: &ProjectDocuments| {
        DocumentHashes::new(found.documents.iter().map(|it| (it.path.clone(), it.sha256.unwrap().to_string())))
    };
    let lines: Vec<_> = state(&before)
        .changed(&state(&after))
        .into_iter()
        .map(|c| format!("{} {} {}", c.path, &c.old.unwrap()[..8], &c.new.unwrap()[..8]))
        .collect();
    expect!["$/w/AGENTS.md 7692c3ad 3fc4ccfe"].assert_eq(&fixture.shown(lines.join("\n")));
}

#[test]
fn home_override_first() {
    check_home(
        "home/AGENTS.md: Plain.\nhome/AGENTS.override.md:   Override.\\n\\n",
        &expect![[r#"
            document $/home/AGENTS.override.md "  Override.\n\n" of 13
            $/home/AGENTS.override.md read
            $/home/AGENTS.md shadowed by $/home/AGENTS.override.md"#]],
    );
}

#[test]
fn home_blank_override_falls_back() {
    check_home(
        "home/AGENTS.md: Plain.\nhome/AGENTS.override.md: \\n",
        &expect![[r#"
            document $/home/AGENTS.md "Plain." of 6
            $/home/AGENTS.override.md blank
            $/home/AGENTS.md read"#]],
    );
}

#[test]
fn home_dangling_link_and_folder_fall_back() {
    check_home(
        "home/AGENTS.md/\nhome/AGENTS.override.md -> nowhere",
        &expect![[r#"
            $/home/AGENTS.override.md absent
            $/home/AGENTS.md not a file"#]],
    );
}

#[test]
fn home_without_a_file() {
    check_home(
        "",
        &expect![[r#"
        $/home/AGENTS.override.md absent
        $/home/AGENTS.md absent"#]],
    );
}

#[test]
fn home_file_that_is_no_text_falls_back() {
    let fixture = Fixture::new("home/AGENTS.md: Plain.");
    fixture.write("home/AGENTS.override.md", b"\xff\xfe");
    let (document, candidates) = home_document(&fixture.path("home"));
    assert_eq!(document.unwrap().bytes, b"Plain.");
    assert!(matches!(candidates[0].fate, Fate::Unreadable { .. }));
}
