//! Custom prompts and skills of the user as prompts.

use pellucid_agent::ground::Ground;
use pellucid_agent::skills;
use pellucid_config::HarnessOverrides;
use pellucid_engine::command_line::joined;
use pellucid_engine::custom_prompt;
use pellucid_engine::custom_prompt::CustomPrompt;
use pellucid_engine::skills::Skills;
use pellucid_workspace::custom_prompts;
use rmcp::ErrorData;
use rmcp::model::GetPromptRequestParams;
use rmcp::model::GetPromptResult;
use rmcp::model::Prompt;
use rmcp::model::PromptArgument;
use rmcp::model::PromptMessage;
use rmcp::model::Role;
use serde_json::Value;

/// What the name of a custom prompt begins with.
const CUSTOM: &str = "prompts:";

/// What the name of a skill begins with.
const SKILL: &str = "skills:";

/// The argument of a custom prompt whose places have no names.
const WORDS: &str = "arguments";

fn found(ground: &Ground) -> Result<Skills, ErrorData> {
    let config = ground.config(None, Vec::new(), HarnessOverrides::default());
    let (config, _) = config.map_err(|error| ErrorData::internal_error(error.report(), None))?;
    Ok(skills::search(&config, &ground.env).load())
}

/// All custom prompts, then the skills that are switched on.
pub fn list(ground: &Ground) -> Result<Vec<Prompt>, ErrorData> {
    let mut prompts: Vec<Prompt> = custom_prompts::load(&ground.home).iter().map(custom).collect();
    let skills = found(ground)?;
    prompts.extend(skills.first_by_name().values().filter(|skill| skill.is_enabled()).map(|skill| {
        let about = skill.short_description.as_ref().unwrap_or(&skill.description);
        Prompt::new(format!("{SKILL}{}", skill.name), Some(about.as_str()), None)
    }));
    Ok(prompts)
}

fn custom(prompt: &CustomPrompt) -> Prompt {
    let mut arguments: Vec<PromptArgument> =
        prompt.argument_names().iter().map(|name| PromptArgument::new(*name).with_required(true)).collect();
    if arguments.is_empty() {
        let hint = prompt.argument_hint.as_deref().unwrap_or("words for the places $1 to $9 and $ARGUMENTS");
        arguments.push(PromptArgument::new(WORDS).with_description(hint).with_required(false));
    }
    Prompt::new(format!("{CUSTOM}{}", prompt.name), prompt.description.as_deref(), Some(arguments))
}

/// The text of a prompt, with its places filled.
pub fn get(ground: &Ground, asked: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let wrong = |why: String| ErrorData::invalid_params(why, None);
    let missing = || wrong(format!("there is no prompt {}", asked.name));
    let text = if let Some(name) = asked.name.strip_prefix(SKILL) {
        let skills = found(ground)?;
        let named = skills.first_by_name();
        let skill = named.get(name).filter(|skill| skill.is_enabled()).ok_or_else(missing)?;
        pellucid_workspace::skills::read(skill)
            .map_err(|error| ErrorData::internal_error(format!("the skill {name} cannot be read: {error}"), None))?
    } else {
        let name = asked.name.strip_prefix(CUSTOM).ok_or_else(missing)?;
        let prompts = custom_prompts::load(&ground.home);
        let prompt = prompts.iter().find(|prompt| prompt.name == name).ok_or_else(missing)?;
        let given = |name: &str| match asked.arguments.as_ref()?.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let names = prompt.argument_names();
        let words = if names.is_empty() {
            given(WORDS).unwrap_or_default()
        } else {
            let words: Vec<String> = names.iter().filter_map(|name| Some(format!("{name}={}", given(name)?))).collect();
            joined(&words)
        };
        let command = format!("{} {words}", prompt.command());
        let expanded = custom_prompt::expand(&prompts, &command, &[]).map_err(|error| wrong(error.to_string()))?;
        expanded.ok_or_else(missing)?.text
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
