//! `prompts list`: the custom prompts of the home folder.

use std::process::ExitCode;

use pellucid_engine::custom_prompt::CustomPrompt;
use pellucid_workspace::custom_prompts;
use serde_json::json;

use crate::args::prompts::PromptsArgs;
use crate::args::prompts::PromptsCommand;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::start::Start;

pub fn run(shared: &Shared, args: PromptsArgs) -> Result<ExitCode, ProgramFailure> {
    let PromptsCommand::List(args) = args.command;
    let start = Start::new(shared, &StartArgs { cd: args.cd, ..StartArgs::default() })?;
    let prompts = custom_prompts::load(&start.config.folders.home);
    let text = if args.json { json(&prompts) } else { table(&prompts) };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(ExitCode::SUCCESS)
}

fn json(prompts: &[CustomPrompt]) -> String {
    let prompt = |prompt: &CustomPrompt| {
        json!({
            "name": prompt.name,
            "path": prompt.path,
            "description": prompt.description,
            "argument_hint": prompt.argument_hint,
            "arguments": prompt.argument_names(),
        })
    };
    format!("{}\n", json!({ "prompts": prompts.iter().map(prompt).collect::<Vec<_>>() }))
}

fn table(prompts: &[CustomPrompt]) -> String {
    let mut text = String::new();
    for prompt in prompts {
        let hint = prompt.argument_hint.as_deref().unwrap_or_default();
        let about = prompt.description.as_deref().unwrap_or_default();
        text += format!("{} {hint}", prompt.command()).trim_end();
        text += format!("  {about}").trim_end();
        text.push('\n');
    }
    if text.is_empty() {
        text += "no custom prompts\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_line_has_the_command_and_what_it_is_for() {
        let parse = |name: &str, text: &str| CustomPrompt::parse(name, &format!("/h/prompts/{name}.md"), text);
        let prompts = [
            parse("bare", "Do it."),
            parse("review", "---\ndescription: Look at a file.\nargument-hint: FILE=path\n---\nRead $FILE."),
        ];
        expect![[r#"
            /prompts:bare
            /prompts:review FILE=path  Look at a file.
        "#]]
        .assert_eq(&table(&prompts));
        expect![[r#"
            {"prompts":[{"name":"bare","path":"/h/prompts/bare.md","description":null,"argument_hint":null,"arguments":[]},{"name":"review","path":"/h/prompts/review.md","description":"Look at a file.","argument_hint":"FILE=path","arguments":["FILE"]}]}
        "#]]
        .assert_eq(&json(&prompts));
        assert_eq!(table(&[]), "no custom prompts\n");
    }
}
