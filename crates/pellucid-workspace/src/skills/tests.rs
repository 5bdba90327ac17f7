use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::skills::SkillProblem;

use super::*;
use crate::fixture::Fixture;

/// The head of a skill, as a line of a fixture.
fn skill(path: &str, name: &str) -> String {
    format!("{path}/SKILL.md: ---\\nname: {name}\\ndescription: About {name}.\\n---\\nBody\n")
}

fn drawn(skills: &[(&str, &str)]) -> String {
    skills.iter().map(|(path, name)| skill(path, name)).collect()
}

fn search(fixture: &Fixture, roots: &[(&str, SkillOwner)], switches: &[(&str, Switch)]) -> SkillSearch {
    SkillSearch {
        roots: roots.iter().map(|(path, scope)| SkillRoot { path: fixture.path(path), scope: *scope }).collect(),
        switches: switches.iter().map(|(path, switch)| (fixture.path(path), *switch)).collect(),
        names: Vec::new(),
    }
}

/// Checks what is found: skills with scope and path, then problems.
#[track_caller]
fn check_search(fixture: &Fixture, search: &SkillSearch, expected: &Expect) {
    let skills = search.load();
    let mut text = String::new();
    for skill in skills.all() {
        let off = if skill.is_enabled() { "" } else { " off" };
        let asked = if skill.is_implicit() { "" } else { " asked" };
        text += &format!("{} {} {}{off}{asked}\n", skill.scope.as_str(), skill.name, skill.path);
    }
    for SkillProblem { path, fault } in &skills.problems {
        text += &format!("{path}: {fault}\n");
    }
    expected.assert_eq(&fixture.shown(text));
}

/// Checks a folder `s` of the user.
#[track_caller]
fn check_found(entries: &str, expected: &Expect) {
    let fixture = Fixture::new(entries);
    check_search(&fixture, &search(&fixture, &[("s", SkillOwner::User)], &[]), expected);
}

#[test]
fn skills_lie_at_any_depth_down_to_six_and_within_one_another() {
    let deep =
        [("s", "root"), ("s/b", "b"), ("s/b/inner", "inner"), ("s/1/2/3/4/5/6", "six"), ("s/1/2/3/4/5/6/7", "seven")];
    check_found(
        &drawn(&deep),
        &expect![[r#"
        user b $/s/b/SKILL.md
        user inner $/s/b/inner/SKILL.md
        user root $/s/SKILL.md
        user six $/s/1/2/3/4/5/6/SKILL.md
    "#]],
    );
}

#[test]
fn hidden_entries_and_other_names_are_no_skills() {
    let entries = drawn(&[("s/.hidden", "hidden"), ("s/good", "good")])
        + "s/other/skill.md: ---\\nname: x\\ndescription: y\\n---\n"
        + "s/folder/SKILL.md/\ns/empty/\n";
    check_found(
        &entries,
        &expect![[r#"
        user good $/s/good/SKILL.md
    "#]],
    );
}

#[test]
fn linked_folders_are_entered_once_by_their_real_path_and_linked_files_are_not_read() {
    let entries = drawn(&[("store/far", "far"), ("s/loop", "loop")])
        + "s/far-link -> ../store/far\ns/far-again -> ../store/far\ns/loop/self -> ..\n"
        + "s/filed/SKILL.md -> ../../store/far/SKILL.md\ns/gone -> nowhere\n";
    check_found(
        &entries,
        &expect![[r#"
        user far $/store/far/SKILL.md
        user loop $/s/loop/SKILL.md
        $/s/gone: failed to list folder: No such file or directory (os error 2)
    "#]],
    );
}

#[test]
fn the_programs_own_skills_follow_no_links_and_keep_their_faults() {
    let entries =
        drawn(&[("store/far", "far"), ("s/near", "near")]) + "s/far-link -> ../store/far\ns/broken/SKILL.md: nothing\n";
    let fixture = Fixture::new(&entries);
    check_search(
        &fixture,
        &search(&fixture, &[("s", SkillOwner::System)], &[]),
        &expect![[r#"
        system near $/s/near/SKILL.md
    "#]],
    );
}

#[test]
fn a_root_may_be_a_link_missing_or_a_file() {
    let fixture = Fixture::new(&(drawn(&[("store/a", "a")]) + "link -> store\nfile: text\n"));
    let roots = [("link", SkillOwner::User), ("missing", SkillOwner::User), ("file", SkillOwner::User)];
    check_search(
        &fixture,
        &search(&fixture, &roots, &[]),
        &expect![[r#"
        user a $/store/a/SKILL.md
    "#]],
    );
}

#[test]
fn every_fault_is_told_with_its_path() {
    let long = "n".repeat(65);
    let entries = format!(
        "s/no-head/SKILL.md: # Just text\n\
         s/bad-yaml/SKILL.md: ---\\nname: [oops\\n---\\n\n\
         s/no-name/SKILL.md: ---\\ndescription: Lost.\\n---\\n\n\
         s/blank/SKILL.md: ---\\nname: ''\\ndescription: Lost.\\n---\\n\n\
         s/long/SKILL.md: ---\\nname: {long}\\ndescription: Too long.\\n---\\n\n"
    );
    let fixture = Fixture::new(&entries);
    fixture.write("s/bytes/SKILL.md", b"---\nname: a\ndescription: b\n---\n\xff\n");
    check_search(
        &fixture,
        &search(&fixture, &[("s", SkillOwner::User)], &[]),
        &expect![[r#"
        $/s/bad-yaml/SKILL.md: invalid YAML: name: invalid type: sequence, expected a string at line 1 column 7
        $/s/blank/SKILL.md: missing field `name`
        $/s/bytes/SKILL.md: failed to read file: stream did not contain valid UTF-8
        $/s/long/SKILL.md: invalid name: exceeds maximum length of 64 characters
        $/s/no-head/SKILL.md: missing YAML frontmatter delimited by ---
        $/s/no-name/SKILL.md: invalid YAML: missing field `name`
    "#]],
    );
}

#[test]
fn a_long_file_is_read_whole() {
    let fixture = Fixture::new("");
    let body = "x".repeat(100_000);
    fixture.write("s/a/SKILL.md", format!("---\nname: a\ndescription: b\n---\n{body}").as_bytes());
    let mut bad = format!("---\nname: b\ndescription: b\n---\n{body}").into_bytes();
    bad.push(0xff);
    fixture.write("s/b/SKILL.md", &bad);
    check_search(
        &fixture,
        &search(&fixture, &[("s", SkillOwner::User)], &[]),
        &expect![[r#"
        user a $/s/a/SKILL.md
        $/s/b/SKILL.md: failed to read file: stream did not contain valid UTF-8
    "#]],
    );
}

#[test]
fn more_folders_than_are_searched_are_told() {
    let fixture = Fixture::new(&drawn(&[("s/a", "a"), ("s/z", "z")]));
    for n in 0..2000 {
        fs::create_dir(fixture.path(&format!("s/f{n:04}"))).unwrap();
    }
    check_search(
        &fixture,
        &search(&fixture, &[("s", SkillOwner::User)], &[]),
        &expect![[r#"
        user a $/s/a/SKILL.md
        $/s: only the first 2000 folders in it are searched
    "#]],
    );
}

#[test]
fn the_file_beside_a_skill_bars_it_or_is_passed_over() {
    let entries = drawn(&[("s/asked", "asked"), ("s/broken", "broken"), ("s/none", "none")])
        + "s/asked/agents/openai.yaml: policy:\\n  allow_implicit_invocation: false\n"
        + "s/broken/agents/openai.yaml: policy: 5\ns/none/agents/other.yaml: x\n";
    check_found(
        &entries,
        &expect![[r#"
        user asked $/s/asked/SKILL.md asked
        user broken $/s/broken/SKILL.md
        user none $/s/none/SKILL.md
        $/s/broken/agents/openai.yaml: not used: invalid YAML: policy: invalid type: integer `5`, expected a mapping at line 1 column 9
    "#]],
    );
}

#[test]
fn a_switch_counts_by_the_real_path_and_the_last_word_wins() {
    let fixture = Fixture::new(&(drawn(&[("s/a", "a"), ("s/b", "b"), ("s/c", "c")]) + "link -> s\n"));
    let switches = [
        ("link/a/SKILL.md", Switch::Off),
        ("s/b/SKILL.md", Switch::Off),
        ("s/b/SKILL.md", Switch::On),
        ("s/gone/SKILL.md", Switch::Off),
    ];
    check_search(
        &fixture,
        &search(&fixture, &[("s", SkillOwner::User)], &switches),
        &expect![[r#"
        user a $/s/a/SKILL.md off
        user b $/s/b/SKILL.md
        user c $/s/c/SKILL.md
    "#]],
    );
}

#[test]
fn a_switch_by_name_counts_more_than_one_by_path() {
    let fixture = Fixture::new(&drawn(&[("s/a", "a"), ("s/b", "b"), ("s/c", "c")]));
    let by_path = [("s/a/SKILL.md", Switch::Off), ("s/b/SKILL.md", Switch::Off)];
    let mut search = search(&fixture, &[("s", SkillOwner::User)], &by_path);
    let named = [("a", Switch::Off), ("a", Switch::On), ("c", Switch::Off), ("gone", Switch::Off)];
    search.names = named.map(|(name, switch)| (name.to_owned(), switch)).to_vec();
    check_search(
        &fixture,
        &search,
        &expect![[r#"
        user a $/s/a/SKILL.md
        user b $/s/b/SKILL.md off
        user c $/s/c/SKILL.md off
    "#]],
    );
}

#[test]
fn a_skill_found_from_two_roots_belongs_to_the_first() {
    let fixture = Fixture::new(&drawn(&[("s/a", "a"), ("s/sub/b", "b")]));
    let roots = [("s/sub", SkillOwner::User), ("s", SkillOwner::Repo)];
    check_search(
        &fixture,
        &search(&fixture, &roots, &[]),
        &expect![[r#"
        repo a $/s/a/SKILL.md
        user b $/s/sub/b/SKILL.md
    "#]],
    );
}

#[test]
fn roots_come_in_order_each_once() {
    let places = SkillPlaces {
        project_configs: vec!["/p/a/.codex".into(), "/p/.codex".into()],
        home: "/home/ada/.pellucid".into(),
        user_home: Some("/home/ada".into()),
        system_config: Some("/etc/codex".into()),
        project_root: "/p".into(),
        cwd: "/p/a/b".into(),
        extra: vec!["/x".into(), "/p/.agents/skills".into()],
    };
    let roots = SkillSearch::new(&places, Vec::new()).roots;
    let show = |root: &SkillRoot| format!("{} {}\n", root.scope.as_str(), root.path.display());
    expect![[r#"
        repo /p/a/.codex/skills
        repo /p/.codex/skills
        user /home/ada/.pellucid/skills
        user /home/ada/.agents/skills
        system /home/ada/.pellucid/skills/.system
        admin /etc/codex/skills
        repo /p/.agents/skills
        repo /p/a/.agents/skills
        repo /p/a/b/.agents/skills
        user /x
    "#]]
    .assert_eq(&roots.iter().map(show).collect::<String>());
}

#[test]
fn a_skills_text_is_read_as_it_is_now() {
    let fixture = Fixture::new(&drawn(&[("s/a", "a")]));
    let skills = search(&fixture, &[("s", SkillOwner::User)], &[]).load();
    let skill = &skills.all()[0];
    fixture.write("s/a/SKILL.md", b"changed");
    assert_eq!(read(skill).unwrap(), "changed");
    fs::remove_file(&skill.path).unwrap();
    assert_eq!(read(skill).unwrap_err().kind(), io::ErrorKind::NotFound);
}
