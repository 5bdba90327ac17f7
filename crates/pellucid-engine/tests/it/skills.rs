//! Skills: the list that the model is given, and which ones an input brings in.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::assemble;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::SameName;
use pellucid_engine::report::why_text;
use pellucid_engine::skills::Skill;
use pellucid_engine::skills::SkillError;
use pellucid_engine::skills::SkillFault;
use pellucid_engine::skills::SkillManifest;
use pellucid_engine::skills::SkillOwner;
use pellucid_engine::skills::SkillProblem;
use pellucid_engine::skills::Skills;
use pellucid_engine::skills::Switch;
use pellucid_engine::skills::inject;
use pellucid_engine::skills::select::Selecting;
use pellucid_engine::skills::select::may_select;
use pellucid_engine::skills::select::select;
use pellucid_engine::transcript::DraftPart;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;

use crate::document;
use crate::facts;
use crate::pack;

/// Skills drawn as lines: `scope name folder`, then `off` or `asked` (only on mention). The folder is
/// below `/h`. Descriptions are made of the name.
fn skills(drawn: &str) -> Skills {
    let found = drawn.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let mut words = line.split(' ');
        let scope = match words.next().unwrap() {
            "repo" => SkillOwner::Repo,
            "user" => SkillOwner::User,
            "system" => SkillOwner::System,
            "admin" => SkillOwner::Admin,
            other => panic!("no such scope: {other}"),
        };
        let (name, folder) = (words.next().unwrap(), words.next().unwrap());
        let rest: Vec<_> = words.collect();
        let asked = SkillManifest { allow_implicit_invocation: Some(false), ..SkillManifest::default() };
        Skill {
            name: name.to_owned(),
            description: format!("About {name}."),
            short_description: None,
            allowed_tools: Vec::new(),
            path: format!("/h/{folder}/SKILL.md"),
            scope,
            switch: if rest.contains(&"off") { Switch::Off } else { Switch::On },
            metadata: rest.contains(&"asked").then(|| Box::new(asked)),
        }
    });
    Skills::new(found.collect(), Vec::new())
}

/// The codex pack with its part for skills written otherwise.
fn pack_with(part: &str, rules: &str) -> Pack {
    let mut files = Pack::builtin_files("codex").unwrap();
    let layout = files.get_mut("pack.toml").unwrap();
    let usual = "{ source = \"skills_list\", before = \"\\n\\n\" }";
    assert!(layout.contains(usual));
    *layout = layout.replace(usual, part);
    layout.push_str(rules);
    Pack::load(&files).unwrap()
}

/// Checks the lines of the list, and what is not in it.
#[track_caller]
fn check_list(pack: &Pack, skills: &Skills, expected: &Expect) {
    let mut facts = facts();
    facts.world.skills = skills.clone();
    let context = assemble(pack, &facts);
    let mut shown = String::new();
    for fragment in context.messages.iter().flat_map(|message| &message.fragments) {
        if let Origin::Skill { path } = &fragment.origin {
            assert!(fragment.text.contains(&**path));
            shown += &fragment.text;
        }
    }
    for omission in &context.omissions {
        shown += &format!("omitted {} ({}): {}\n", omission.what, omission.slot, why_text(&omission.why));
    }
    expected.assert_eq(&shown);
}

fn text(text: &str) -> UserInput {
    UserInput::text(text)
}

fn chosen(name: &str, path: &str) -> UserInput {
    UserInput::Skill { name: name.to_owned(), path: path.into() }
}

#[track_caller]
fn check_selected(skills: &Skills, inputs: &[UserInput], selecting: &Selecting<'_>, expected: &str) {
    let selected = select(skills, inputs, selecting);
    assert!(selected.is_empty() || may_select(inputs));
    let folder = |skill: &&Skill| skill.path.trim_start_matches("/h/").trim_end_matches("/SKILL.md").to_owned();
    assert_eq!(selected.iter().map(folder).collect::<Vec<_>>().join(" "), expected);
}

#[track_caller]
fn check_input(drawn: &str, inputs: &[UserInput], expected: &str) {
    check_selected(&skills(drawn), inputs, &Selecting::default(), expected);
}

#[test]
fn the_section_stands_between_documents_and_the_note_on_nested_ones() {
    let mut facts = facts();
    facts.settings.features.set(Feature::ChildAgentsMd, true);
    facts.world.home_document = Some(document("/h/AGENTS.md", "Be terse."));
    facts.world.skills = skills("user lint lint\nrepo tidy tidy");
    let context = assemble(pack(), &facts);
    let message = context.messages.iter().find(|message| &*message.slot == "user_instructions").unwrap();
    let show = |fragment: &pellucid_engine::fragment::Fragment| match &fragment.origin {
        Origin::Pack { file } => format!("<{file}>"),
        _ => fragment.text.replace('\n', "⏎"),
    };
    expect![[r#"
        <user_instructions.md>
        /home/ada/proj
        <user_instructions.md>
        Be terse.
        ⏎⏎
        ## Skills⏎
        <skills/intro.md>
        ⏎### Available skills⏎
        - tidy: About tidy. (file: /h/tidy/SKILL.md)⏎
        - lint: About lint. (file: /h/lint/SKILL.md)⏎
        ### How to use skills⏎
        <skills/usage.md>
        ⏎⏎
        <agents/hierarchical.md>
        <user_instructions.md>"#]]
    .assert_eq(&message.fragments.iter().map(show).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_list_is_in_load_order_and_says_what_is_not_in_it() {
    let mut skills = skills(
        "
        admin a a
        system b b
        user d d2
        user d d1
        user Z z
        repo e e
        user off off off
        user asked asked asked
        ",
    );
    skills.problems = vec![
        SkillProblem { path: "/h/x/SKILL.md".to_owned(), fault: SkillFault::Skill(SkillError::NoFrontMatter) },
        SkillProblem { path: "/h".to_owned(), fault: SkillFault::TooManyFolders { max: 2000 } },
    ];
    check_list(
        pack(),
        &skills,
        &expect![[r#"
        - e: About e. (file: /h/e/SKILL.md)
        - Z: About Z. (file: /h/z/SKILL.md)
        - d: About d. (file: /h/d1/SKILL.md)
        - d: About d. (file: /h/d2/SKILL.md)
        - b: About b. (file: /h/b/SKILL.md)
        - a: About a. (file: /h/a/SKILL.md)
        omitted /h/x/SKILL.md (user_instructions): missing YAML frontmatter delimited by ---
        omitted /h (user_instructions): only the first 2000 folders in it are searched
        omitted /h/asked/SKILL.md (user_instructions): used only when it is mentioned
        omitted /h/off/SKILL.md (user_instructions): switched off in the configuration
    "#]],
    );
}

#[test]
fn without_a_skill_that_may_be_listed_there_is_no_section() {
    check_list(
        pack(),
        &skills("user a a off\nuser b b asked"),
        &expect![[r#"
        omitted /h/a/SKILL.md (user_instructions): switched off in the configuration
        omitted /h/b/SKILL.md (user_instructions): used only when it is mentioned
    "#]],
    );
    assert!(!assemble(pack(), &facts()).messages.iter().any(|message| &*message.slot == "user_instructions"));
}

#[test]
fn a_path_found_twice_keeps_its_first_scope() {
    check_list(
        pack(),
        &skills("user a a\nrepo a a\nrepo b b"),
        &expect![[r#"
        - b: About b. (file: /h/b/SKILL.md)
        - a: About a. (file: /h/a/SKILL.md)
    "#]],
    );
}

#[test]
fn paths_are_shown_with_slashes() {
    let mut facts = facts();
    let mut skill = skills("user a a").all()[0].clone();
    skill.path = "C:\\h\\a\\SKILL.md".to_owned();
    facts.world.skills = Skills::new(vec![skill], Vec::new());
    let text = concat(&assemble(pack(), &facts).messages[1].fragments);
    let line = text.lines().find(|line| line.contains("/SKILL.md"));
    assert_eq!(line, Some("- a: About a. (file: C:/h/a/SKILL.md)"));
}

#[test]
fn a_budget_cuts_one_description_and_leaves_out_the_rest() {
    let part = "{ source = \"skills_list\", budget = { bytes = 105, keep = \"head\" } }";
    check_list(
        &pack_with(part, ""),
        &skills("user a a\nuser b b\nuser c c\nuser d d"),
        &expect![[r#"
            - a: About a. (file: /h/a/SKILL.md)
            - b: About b. (file: /h/b/SKILL.md)
            - c: Ab… (file: /h/c/SKILL.md)
            omitted /h/c/SKILL.md (user_instructions): cut after 2 of 8 bytes, the budget is spent
            omitted /h/d/SKILL.md (user_instructions): all 36 bytes left out, the budget is spent
        "#]],
    );
}

#[test]
fn a_layout_may_let_one_skill_of_a_name_win() {
    let part = "{ source = \"skills_list\" }";
    let pack = pack_with(part, "\n[skills]\nsame_name = \"first\"\n");
    let skills = skills("user a one\nrepo a two off\nrepo a three\nsystem b four");
    check_list(
        &pack,
        &skills,
        &expect![[r#"
        - a: About a. (file: /h/three/SKILL.md)
        - b: About b. (file: /h/four/SKILL.md)
        omitted /h/two/SKILL.md (user_instructions): switched off in the configuration
        omitted /h/one/SKILL.md (user_instructions): /h/three/SKILL.md has the same name and comes first
    "#]],
    );
    let selecting = Selecting { same_name: pack.layout.skills.same_name, connectors: &[] };
    check_selected(&skills, &[text("$a and [$a](/h/one/SKILL.md)")], &selecting, "one");
    check_selected(&skills, &[text("$b $a")], &selecting, "three four");
    assert_eq!(selecting.same_name, SameName::First);
}

#[test]
fn plain_names_select_in_load_order_once_each() {
    check_input("user beta b\nuser alpha a", &[text("Use $beta and $alpha, then $beta; $gamma, $Alpha")], "a b");
    check_input("user beta b\nuser alpha a", &[text("$beta"), text("$alpha $beta")], "b a");
    check_input("user ops:deploy o\nuser group g", &[text("$ops:deploy $group:nested")], "g");
}

#[test]
fn a_skill_that_is_only_for_mentions_can_be_mentioned_and_one_that_is_off_cannot() {
    check_input("user a a asked\nuser b b off", &[text("$a $b [$b](/h/b/SKILL.md)")], "a");
    check_input("user twin one\nuser twin two off", &[text("$twin")], "one");
}

#[test]
fn a_link_selects_by_path_whatever_its_name() {
    let twins = "user twin one\nrepo twin two";
    check_input(twins, &[text("[$x](/h/one/SKILL.md)")], "one");
    check_input(twins, &[text("[$twin] (skill:///h/one/SKILL.md)")], "one");
    check_input(twins, &[text("[$twin](/nowhere/SKILL.md) [$twin](app:///h/one/SKILL.md)")], "");
    check_input(twins, &[text("$twin")], "");
}

/// Vector 31: two of a name, one of them by its path.
#[test]
fn an_ambiguous_name_is_passed_over_beside_a_link() {
    let drawn = "user dup dup1\nuser dup dup2\nuser us us";
    check_input(drawn, &[text("use $us, $dup and [$x](/h/dup1/SKILL.md)")], "dup1 us");
}

/// Vector 32: a wrong path, and the name in the text.
#[test]
fn a_choice_by_hand_takes_its_name_even_if_its_path_is_wrong() {
    check_input("user lint lint", &[text("Run $lint"), chosen("lint", "/h/gone/SKILL.md")], "");
    check_input("user lint lint", &[text("Run $lint"), chosen("other", "/h/lint/SKILL.md")], "lint");
    check_input("user a a\nuser b b", &[text("$a $b"), chosen("b", "/h/b/SKILL.md")], "b a");
    check_input("user a a\nuser b b off", &[chosen("b", "/h/b/SKILL.md"), chosen("a", "/h/a/SKILL.md")], "a");
}

#[test]
fn a_connector_of_that_name_comes_first() {
    let connectors = ["git-hub".to_owned(), "app".to_owned()];
    let skills = skills("user Git-Hub g\nuser app a\nuser other o");
    let selecting = Selecting { same_name: SameName::All, connectors: &connectors };
    check_selected(&skills, &[text("$Git-Hub $app $other")], &selecting, "o");
    check_selected(&skills, &[text("[$x](/h/g/SKILL.md)")], &selecting, "g");
}

#[test]
fn a_selected_skill_is_a_message_with_its_whole_file() {
    let skills = skills("user lint lint");
    let body = "---\nname: lint\n---\n<tag> & \"quotes\"\n";
    let draft = inject::message(&skills.all()[0], body.to_owned());
    let DraftPart::Text(fragments) = &draft.parts[0] else { panic!("a skill is text") };
    expect![[r#"
        <skill>
        <name>lint</name>
        <path>/h/lint/SKILL.md</path>
        ---
        name: lint
        ---
        <tag> & "quotes"

        </skill>"#]]
    .assert_eq(&concat(fragments));
    let file = fragments.iter().find(|fragment| fragment.origin.kind() == "file").unwrap();
    assert_eq!((file.text.as_str(), file.origin.detail()), (body, "/h/lint/SKILL.md"));
    assert!(matches!(draft.item(), Item::Message { role, content, .. } if role == "user" && content.len() == 1));
}
