//! Which skills are listed, in which order, and which of them an input asks for.

use pellucid_protocol::input::UserInput;

use super::select::Selecting;
use super::select::may_select;
use super::select::select;
use super::*;
use crate::pack::SameName;

fn skill(name: &str, path: &str, scope: SkillOwner) -> Skill {
    Skill {
        name: name.to_owned(),
        description: String::new(),
        short_description: None,
        allowed_tools: Vec::new(),
        path: path.to_owned(),
        scope,
        switch: Switch::On,
        metadata: None,
    }
}

fn skills() -> Skills {
    let off = Skill { switch: Switch::Off, ..skill("off", "/u/off/SKILL.md", SkillOwner::User) };
    let found = vec![
        skill("twin", "/u/twin/SKILL.md", SkillOwner::User),
        skill("fly", "/u/fly/SKILL.md", SkillOwner::User),
        off,
        skill("twin", "/r/twin/SKILL.md", SkillOwner::Repo),
        skill("dig", "/s/dig/SKILL.md", SkillOwner::System),
    ];
    Skills::new(found, Vec::new())
}

fn text(text: &str) -> UserInput {
    UserInput::Text { text: text.to_owned(), text_elements: Vec::new() }
}

fn chosen(name: &str, path: &str) -> UserInput {
    UserInput::Skill { name: name.to_owned(), path: path.into() }
}

/// The folders of the skills that inputs ask for.
fn asked(inputs: &[UserInput], same_name: SameName, connectors: &[&str]) -> Vec<String> {
    let connectors: Vec<String> = connectors.iter().map(|it| (*it).to_owned()).collect();
    let all = skills();
    let selected = select(&all, inputs, &Selecting { same_name, connectors: &connectors });
    selected.into_iter().map(|it| it.path.trim_end_matches("/SKILL.md").to_owned()).collect()
}

#[test]
fn skills_are_listed_by_scope_name_and_path_each_path_once() {
    let twice = Skills::new(
        vec![
            skill("b", "/2", SkillOwner::Admin),
            skill("b", "/1", SkillOwner::Repo),
            skill("first", "/3", SkillOwner::User),
            skill("second", "/3", SkillOwner::Repo),
            skill("a", "/9", SkillOwner::Repo),
            skill("b", "/0", SkillOwner::Repo),
            skill("c", "/4", SkillOwner::System),
        ],
        Vec::new(),
    );
    let listed: Vec<(&str, &str, &str)> =
        twice.all().iter().map(|it| (it.scope.as_str(), it.name.as_str(), it.path.as_str())).collect();
    assert_eq!(
        listed,
        [
            ("repo", "a", "/9"),
            ("repo", "b", "/0"),
            ("repo", "b", "/1"),
            ("user", "first", "/3"),
            ("system", "c", "/4"),
            ("admin", "b", "/2"),
        ]
    );
    assert_eq!(skills().enabled().count(), 4, "what is switched off is listed and cannot be used");
    assert_eq!(Skills::default().all(), []);
}

#[test]
fn a_skill_may_be_used_unasked_unless_it_says_no() {
    let with = |allowed: Option<bool>| {
        let metadata = SkillManifest { allow_implicit_invocation: allowed, ..SkillManifest::default() };
        Skill { metadata: Some(Box::new(metadata)), ..skill("a", "/a", SkillOwner::User) }.is_implicit()
    };
    assert_eq!([None, Some(true), Some(false)].map(with), [true, true, false]);
    assert!(skill("a", "/a", SkillOwner::User).is_implicit());
}

#[test]
fn inputs_ask_for_skills_by_hand_by_link_and_by_name() {
    let all = |inputs: &[UserInput]| asked(inputs, SameName::All, &[]);
    assert_eq!(all(&[]), Vec::<String>::new());
    assert_eq!(all(&[text("$dig and $fly, then $fly")]), ["/u/fly", "/s/dig"], "in the order of the list, each once");
    assert_eq!(all(&[text("$off $unknown $PATH fly")]), Vec::<String>::new());
    assert_eq!(all(&[text("[$twin](/r/twin/SKILL.md)")]), ["/r/twin"]);
    assert_eq!(all(&[text("$dig"), chosen("fly", "/u/fly/SKILL.md")]), ["/u/fly", "/s/dig"]);
    assert_eq!(all(&[chosen("off", "/u/off/SKILL.md")]), Vec::<String>::new());
    assert_eq!(all(&[chosen("fly", "/nowhere"), text("$fly")]), Vec::<String>::new(), "the name is taken");
}

#[test]
fn a_name_of_several_skills_asks_for_none_or_for_the_first() {
    assert_eq!(asked(&[text("$twin")], SameName::All, &[]), Vec::<String>::new());
    assert_eq!(asked(&[text("$twin")], SameName::First, &[]), ["/r/twin"]);
    assert_eq!(asked(&[text("[$twin](/u/twin/SKILL.md) $twin")], SameName::First, &[]), ["/u/twin"]);
}

#[test]
fn a_plain_name_of_a_connector_means_the_connector() {
    assert_eq!(asked(&[text("$fly $dig")], SameName::All, &["fly"]), ["/s/dig"]);
    assert_eq!(asked(&[text("[$fly](/u/fly/SKILL.md)")], SameName::All, &["fly"]), ["/u/fly"]);
}

#[test]
fn only_inputs_that_may_name_skills_are_looked_at() {
    let image = UserInput::Image { image_url: "data:,".to_owned() };
    let mention = UserInput::Mention { name: "m".to_owned(), path: "app://m".to_owned() };
    assert!(!may_select(&[text("plain"), image, mention]));
    assert!(may_select(&[text("costs 5 $")]) && may_select(&[chosen("a", "/a")]));
    assert!(!may_select(&[]));
}

#[test]
fn every_fault_has_its_words() {
    let faults = [
        SkillFault::Metadata { error: "invalid YAML".to_owned() },
        SkillFault::Folder { error: "Permission denied".to_owned() },
        SkillFault::TooManyFolders { max: 9 },
    ];
    assert_eq!(
        faults.map(|it| it.to_string()),
        [
            "not used: invalid YAML",
            "failed to list folder: Permission denied",
            "only the first 9 folders in it are searched"
        ]
    );
}
