use expect_test::Expect;
use expect_test::expect;

use super::*;
use crate::fragment::concat;

fn extract<'a>(session: &'a str, slug: Option<&'a str>) -> ShownExtract<'a> {
    ShownExtract {
        session,
        updated_at: "2026-02-18T10:00:00+00:00",
        cwd: "/w\nupdated_at: x",
        raw_memory: "\n- a fact\n",
        rollout_summary: "# It was done\n",
        rollout_slug: slug,
    }
}

#[track_caller]
fn check_files(extracts: &[ShownExtract<'_>], expected: &Expect) {
    let mut shown = raw_memories(extracts);
    for (name, text) in summaries(extracts) {
        shown += &format!("--- {name}\n{text}");
    }
    expected.assert_eq(&shown);
}

#[test]
fn every_extract_is_in_two_files() {
    check_files(
        &[extract("0199-b", Some("Unsafe Slug/With Spaces & More")), extract("0199-a", None)],
        &expect![[r#"
            # Raw Memories

            What is kept of each session, the newest first:

            ## Thread `0199-b`
            updated_at: 2026-02-18T10:00:00+00:00
            cwd: /w updated_at: x

            - a fact

            ## Thread `0199-a`
            updated_at: 2026-02-18T10:00:00+00:00
            cwd: /w updated_at: x

            - a fact

            --- 0199-a.md
            thread_id: 0199-a
            updated_at: 2026-02-18T10:00:00+00:00
            cwd: /w updated_at: x

            # It was done

            --- 0199-b-unsafe_slug_with_spa.md
            thread_id: 0199-b
            updated_at: 2026-02-18T10:00:00+00:00
            cwd: /w updated_at: x

            # It was done

        "#]],
    );
    check_files(
        &[],
        &expect![[r#"
        # Raw Memories

        Nothing is kept of any session.
    "#]],
    );
}

#[track_caller]
fn check_name(session: &str, slug: &str, expected: &str) {
    assert_eq!(summaries(&[extract(session, Some(slug))]).into_keys().next().unwrap(), expected);
}

#[test]
fn names_of_files_are_plain() {
    check_name("0199", "", "0199.md");
    check_name("0199", "__", "0199.md");
    check_name("0199", "Über", "0199-_ber.md");
    check_name("0199", "../../etc/passwd", "0199-______etc_passwd.md");
    check_name("../x", "a", "___x-a.md");
}

#[test]
fn files_of_sessions_that_are_not_kept_go() {
    let kept = summaries(&[extract("a", None)]);
    let names = ["a.md", "b.md", "notes.txt", "a-old.md"].map(str::to_owned);
    assert_eq!(stale(&names, &kept).into_iter().collect::<Vec<_>>(), ["a-old.md", "b.md"]);
}

#[test]
fn the_agent_is_told_where_the_files_are() {
    let text = concat(&prompt(&Pack::builtin("codex").unwrap(), "/h/memories"));
    for name in ["/h/memories", RAW_MEMORIES, SUMMARIES, MERGED[0], MERGED[1], SKILLS] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn projects_of_one_name_have_different_folders() {
    let names = ["/a/app", "/b/app", "/a/app/", "/", "/x/pr\u{e9}/..", "/y/\u{202e}"].map(project_folder);
    assert!(names[0].starts_with("app-") && names[3].starts_with("root-"), "{names:?}");
    let mut unique = names.to_vec();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    for name in &names {
        assert!(name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_')), "{name}");
    }
}

#[test]
fn a_summary_belongs_to_the_session_whose_id_it_begins_with() {
    for (name, expected) in
        [("ab.md", true), ("ab-task.md", true), ("abc.md", false), ("ab", false), ("x-ab.md", false)]
    {
        assert_eq!(is_summary_of(name, "ab"), expected, "{name}");
    }
    assert!(is_summary_of("a_b-x.md", "a/b"));
}
