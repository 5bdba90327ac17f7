//! `skills list`: every skill that was found, and what is wrong with others.
//!
//! - `check`: `skills check`

mod check;

use std::process::ExitCode;

use pellucid_agent::skills;
use pellucid_engine::skills::Skill;
use pellucid_engine::skills::Skills;
use pellucid_engine::skills::metadata::ToolDependency;
use serde_json::Value;
use serde_json::json;

use crate::args::shared::Shared;
use crate::args::skills::SkillsArgs;
use crate::args::skills::SkillsCommand;
use crate::args::turn::StartArgs;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

pub fn run(shared: &Shared, args: SkillsArgs) -> Result<ExitCode, ProgramFailure> {
    let args = match args.command {
        SkillsCommand::List(args) => args,
        SkillsCommand::Check(args) => return check::run(shared, &args),
    };
    let start = Start::new(shared, &StartArgs { cd: args.cd, ..StartArgs::default() })?;
    if start.config.layers().is_untrusted() {
        style::note("skills of this project are left out, as it is marked as untrusted");
    }
    let skills = skills::search(&start.config, &start.env).load();
    let has = |need: &ToolDependency| match need.kind.as_str() {
        "env_var" => Some(start.env.text(&need.value).is_some()),
        "mcp" => Some(start.config.tools.mcp_servers.get(&need.value).is_some_and(|server| server.enabled)),
        _ => None,
    };
    let text = if args.json { format!("{}\n", json(&skills, &has)) } else { table(&skills, &has) };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a skill's dependency is available; absent if that cannot be known.
type Has<'a> = &'a dyn Fn(&ToolDependency) -> Option<bool>;

fn needs(skill: &Skill) -> &[ToolDependency] {
    skill.metadata.as_ref().map_or(&[], |metadata| metadata.tools.as_slice())
}

fn json(skills: &Skills, has: Has<'_>) -> Value {
    let need = |need: &ToolDependency| json!({ "type": need.kind, "value": need.value, "description": need.description, "there": has(need) });
    let skill = |skill: &Skill| {
        json!({
            "name": skill.name,
            "description": skill.description,
            "short_description": skill.short_description,
            "scope": skill.scope.as_str(),
            "path": skill.path,
            "enabled": skill.is_enabled(),
            "implicit": skill.is_implicit(),
            "needs": needs(skill).iter().map(need).collect::<Vec<_>>(),
        })
    };
    json!({
        "skills": skills.all().iter().map(skill).collect::<Vec<_>>(),
        "errors": skills.problems.iter().map(|it| json!({ "path": it.path, "message": it.fault.to_string() })).collect::<Vec<_>>(),
    })
}

fn table(skills: &Skills, has: Has<'_>) -> String {
    let width = skills.all().iter().map(|skill| skill.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for skill in skills.all() {
        let (name, scope, path) = (&skill.name, skill.scope.as_str(), &skill.path);
        text += &format!("{name:width$}  {scope:6}  {:10}  {path}\n", status(skill));
        for need in needs(skill) {
            let there = match has(need) {
                Some(true) => "there",
                Some(false) => "missing",
                None => "not looked for",
            };
            text += &format!("{:width$}  needs {} {}: {there}\n", "", need.kind, need.value);
        }
    }
    for problem in &skills.problems {
        text += &format!("error: {}: {}\n", problem.path, problem.fault);
    }
    if text.is_empty() {
        text += "no skills\n";
    }
    text
}

/// Whether a skill is listed for the model, as one word.
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
    use pellucid_engine::skills::SkillManifest;
    use pellucid_engine::skills::SkillOwner;
    use pellucid_engine::skills::SkillProblem;
    use pellucid_engine::skills::Switch;

    use super::*;

    fn skills() -> Skills {
        let skill = |name: &str, scope, switch, implicit| Skill {
            name: name.to_owned(),
            description: "d".to_owned(),
            short_description: None,
            allowed_tools: Vec::new(),
            path: format!("/h/{name}/SKILL.md"),
            scope,
            switch,
            metadata: Some(Box::new(SkillManifest { allow_implicit_invocation: implicit, ..Default::default() })),
        };
        let need = |kind: &str, value: &str| ToolDependency {
            kind: kind.to_owned(),
            value: value.to_owned(),
            description: None,
            transport: None,
            command: None,
            url: None,
        };
        let mut lint = skill("lint", SkillOwner::User, Switch::On, None);
        if let Some(metadata) = &mut lint.metadata {
            metadata.tools = vec![need("env_var", "LINT_KEY"), need("mcp", "linter"), need("else", "x")];
        }
        let found = vec![
            lint,
            skill("off", SkillOwner::User, Switch::Off, None),
            skill("asked", SkillOwner::Repo, Switch::On, Some(false)),
        ];
        let fault = SkillFault::Skill(SkillError::NoFrontMatter);
        Skills::new(found, vec![SkillProblem { path: "/h/x/SKILL.md".to_owned(), fault }])
    }

    fn has(need: &ToolDependency) -> Option<bool> {
        match need.kind.as_str() {
            "env_var" => Some(true),
            "mcp" => Some(false),
            _ => None,
        }
    }

    #[test]
    fn the_table_says_what_is_used_and_what_is_wrong() {
        expect![[r#"
            asked  repo    on mention  /h/asked/SKILL.md
            lint   user    listed      /h/lint/SKILL.md
                   needs env_var LINT_KEY: there
                   needs mcp linter: missing
                   needs else x: not looked for
            off    user    off         /h/off/SKILL.md
            error: /h/x/SKILL.md: missing YAML frontmatter delimited by ---
        "#]]
        .assert_eq(&table(&skills(), &has));
        assert_eq!(table(&Skills::default(), &has), "no skills\n");
    }

    #[test]
    fn json_has_the_same_in_fields() {
        let value = json(&skills(), &has);
        expect![[r#"{"name":"asked","description":"d","short_description":null,"scope":"repo","path":"/h/asked/SKILL.md","enabled":true,"implicit":false,"needs":[]}"#]]
            .assert_eq(&value["skills"][0].to_string());
        expect![[r#"[{"path":"/h/x/SKILL.md","message":"missing YAML frontmatter delimited by ---"}]"#]]
            .assert_eq(&value["errors"].to_string());
    }
}
