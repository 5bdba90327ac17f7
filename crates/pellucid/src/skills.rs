//! `skills list`: every skill that was found, and what is wrong with others.

use std::io::Write;
use std::process::ExitCode;

use pellucid_agent::skills;
use pellucid_engine::skills::Skill;
use pellucid_engine::skills::Skills;
use serde_json::Value;
use serde_json::json;

use crate::args::Shared;
use crate::args::SkillsArgs;
use crate::args::SkillsCommand;
use crate::args::TurnArgs;
use crate::start::Failure;
use crate::start::Start;

pub fn run(shared: &Shared, args: SkillsArgs) -> Result<ExitCode, Failure> {
    let SkillsCommand::List(args) = args.command;
    let start = Start::new(shared, &TurnArgs { cd: args.cd, ..TurnArgs::default() })?;
    let skills = skills::search(&start.config, &start.env).load();
    let text = if args.json { format!("{}\n", json(&skills)) } else { table(&skills) };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(format!("Error: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn json(skills: &Skills) -> Value {
    let skill = |skill: &Skill| {
        json!({
            "name": skill.name,
            "description": skill.description,
            "short_description": skill.short_description,
            "scope": skill.scope.as_str(),
            "path": skill.path,
            "enabled": skill.is_enabled(),
            "implicit": skill.is_implicit(),
        })
    };
    json!({
        "skills": skills.all().iter().map(skill).collect::<Vec<_>>(),
        "errors": skills.problems.iter().map(|it| json!({ "path": it.path, "message": it.fault.to_string() })).collect::<Vec<_>>(),
    })
}

fn table(skills: &Skills) -> String {
    let width = skills.all().iter().map(|skill| skill.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for skill in skills.all() {
        let (name, scope, path) = (&skill.name, skill.scope.as_str(), &skill.path);
        text += &format!("{name:width$}  {scope:6}  {:10}  {path}\n", status(skill));
    }
    for problem in &skills.problems {
        text += &format!("error: {}: {}\n", problem.path, problem.fault);
    }
    if text.is_empty() {
        text += "no skills\n";
    }
    text
}

/// Whether the model is told of a skill.
fn status(skill: &Skill) -> &'static str {
    match (skill.is_enabled(), skill.is_implicit()) {
        (true, true) => "listed",
        (true, false) => "on mention",
        (false, _) => "off",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_engine::skills::SkillError;
    use pellucid_engine::skills::SkillFault;
    use pellucid_engine::skills::SkillMetadata;
    use pellucid_engine::skills::SkillProblem;
    use pellucid_engine::skills::SkillScope;
    use pellucid_engine::skills::Switch;

    use super::*;

    fn skills() -> Skills {
        let skill = |name: &str, scope, switch, implicit| Skill {
            name: name.to_owned(),
            description: "d".to_owned(),
            short_description: None,
            path: format!("/h/{name}/SKILL.md"),
            scope,
            switch,
            metadata: Some(Box::new(SkillMetadata { allow_implicit_invocation: implicit, ..Default::default() })),
        };
        let found = vec![
            skill("lint", SkillScope::User, Switch::On, None),
            skill("off", SkillScope::User, Switch::Off, None),
            skill("asked", SkillScope::Repo, Switch::On, Some(false)),
        ];
        let fault = SkillFault::Skill(SkillError::NoFrontMatter);
        Skills::new(found, vec![SkillProblem { path: "/h/x/SKILL.md".to_owned(), fault }])
    }

    #[test]
    fn the_table_says_what_is_used_and_what_is_wrong() {
        expect![[r#"
            asked  repo    on mention  /h/asked/SKILL.md
            lint   user    listed      /h/lint/SKILL.md
            off    user    off         /h/off/SKILL.md
            error: /h/x/SKILL.md: missing YAML frontmatter delimited by ---
        "#]]
        .assert_eq(&table(&skills()));
        assert_eq!(table(&Skills::default()), "no skills\n");
    }

    #[test]
    fn json_has_the_same_in_fields() {
        let value = json(&skills());
        expect![[r#"{"name":"asked","description":"d","short_description":null,"scope":"repo","path":"/h/asked/SKILL.md","enabled":true,"implicit":false}"#]]
            .assert_eq(&value["skills"][0].to_string());
        expect![[r#"[{"path":"/h/x/SKILL.md","message":"missing YAML frontmatter delimited by ---"}]"#]]
            .assert_eq(&value["errors"].to_string());
    }
}
