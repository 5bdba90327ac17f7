//! Commands that begin with a slash: those of a session, and the user's custom prompts.

use agent_client_protocol::v1::schema::AvailableCommand;
use agent_client_protocol::v1::schema::AvailableCommandInput;
use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::UnstructuredCommandInput;
use pellucid_agent::session::server_input::ServerPrompt;
use pellucid_engine::custom_prompt;
use pellucid_engine::custom_prompt::CustomPrompt;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::review::ReviewRequest;
use pellucid_protocol::review::ReviewTarget;

use crate::wire::invalid;

/// What a prompt means.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// The session does something.
    Does(Operation),
    /// The client receives a text, without the model.
    Tells(TellTopic),
}

/// The texts that a client receives without the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TellTopic {
    /// The session and its settings.
    Status,
    /// The MCP servers and their tools.
    Servers,
    /// The skills that are switched on.
    Skills,
}

/// The commands of every session: name, what it does, and a hint about the words that may follow.
const COMMANDS: [(&str, &str, Option<&str>); 5] = [
    ("compact", "Replace the history by a summary", None),
    ("review", "Review changes and list findings", Some("what to review; uncommitted changes if empty")),
    ("status", "Show the session, its model and its mode", None),
    ("mcp", "List the MCP servers and their tools", None),
    ("skills", "List the skills", None),
];

/// All commands, as clients list them.
pub fn available(prompts: &[CustomPrompt], of_servers: &[ServerPrompt]) -> Vec<AvailableCommand> {
    let hint = |hint: &str| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint.to_owned()));
    let own = COMMANDS.iter().map(|(name, does, words)| {
        AvailableCommand::new((*name).to_owned(), (*does).to_owned()).input(words.map(hint))
    });
    let custom = prompts.iter().map(|prompt| {
        let does = prompt.description.clone().unwrap_or_else(|| format!("Send the custom prompt {}", prompt.name));
        let named = prompt.argument_names().iter().map(|name| format!("{name}=…")).collect::<Vec<_>>().join(" ");
        let words = prompt.argument_hint.clone().or_else(|| (!named.is_empty()).then_some(named));
        AvailableCommand::new(prompt.command().trim_start_matches('/').to_owned(), does)
            .input(words.as_deref().map(hint))
    });
    let of_servers = of_servers.iter().map(|prompt| {
        let does = match prompt.description.as_str() {
            "" => format!("Send the prompt {}", prompt.command),
            does => does.to_owned(),
        };
        AvailableCommand::new(prompt.command.clone(), does).input(prompt.hint.as_deref().map(hint))
    });
    own.chain(custom).chain(of_servers).collect()
}

/// What a prompt means. A text that begins with a slash and is no command is sent as it is.
///
/// # Errors
/// If a custom prompt lacks an argument.
pub fn meaning(mut items: Vec<UserInput>, prompts: &[CustomPrompt]) -> Result<Meaning, Error> {
    let n_items = items.len();
    if let Some(UserInput::Text { text, .. }) = items.first_mut()
        && text.starts_with('/')
    {
        let (name, words) = text[1..].split_once(char::is_whitespace).unwrap_or((&text[1..], ""));
        let words = words.trim();
        match name {
            "compact" if words.is_empty() && n_items == 1 => return Ok(Meaning::Does(Operation::Compact)),
            "review" if n_items == 1 => return Ok(Meaning::Does(review(words))),
            "status" if words.is_empty() && n_items == 1 => return Ok(Meaning::Tells(TellTopic::Status)),
            "mcp" if words.is_empty() && n_items == 1 => return Ok(Meaning::Tells(TellTopic::Servers)),
            "skills" if words.is_empty() && n_items == 1 => return Ok(Meaning::Tells(TellTopic::Skills)),
            _ => {
                let expanded = custom_prompt::expand(prompts, text, &[]).map_err(|error| invalid(error.to_string()))?;
                if let Some(expansion) = expanded {
                    *text = expansion.text;
                }
            }
        }
    }
    Ok(Meaning::Does(Operation::UserInput { items, final_output_json_schema: None }))
}

fn review(words: &str) -> Operation {
    let target = if words.is_empty() {
        ReviewTarget::UncommittedChanges
    } else {
        ReviewTarget::Custom { instructions: words.to_owned() }
    };
    Operation::Review { review_request: ReviewRequest { target, user_facing_hint: None } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(text: &str) -> Meaning {
        let prompt = CustomPrompt::parse("greet", "/p/greet.md", "Greet $NAME.");
        meaning(vec![UserInput::text(text)], &[prompt]).unwrap()
    }

    fn sent(text: &str) -> Meaning {
        let items = vec![UserInput::text(text)];
        Meaning::Does(Operation::UserInput { items, final_output_json_schema: None })
    }

    #[test]
    fn a_line_with_a_slash_is_a_command_or_text() {
        assert_eq!(meant("/compact"), Meaning::Does(Operation::Compact));
        assert_eq!(meant("/compact it"), sent("/compact it"));
        assert_eq!(meant("/status "), Meaning::Tells(TellTopic::Status));
        assert_eq!(meant("/review"), Meaning::Does(review("")));
        assert_eq!(meant("/review the last commit"), Meaning::Does(review("the last commit")));
        assert_eq!(meant("/etc/hosts is empty"), sent("/etc/hosts is empty"));
        assert_eq!(meant("/prompts:greet NAME=Ada"), sent("Greet Ada."));
        let missing = meaning(vec![UserInput::text("/prompts:greet")], &[CustomPrompt::parse("greet", "", "$NAME")]);
        assert_eq!(i32::from(missing.unwrap_err().code), -32602);
    }

    #[test]
    fn every_command_is_listed_and_known() {
        let of_server = ServerPrompt {
            command: "mcp:docs:fix".to_owned(),
            description: String::new(),
            hint: Some("a=…".to_owned()),
        };
        let listed = available(&[CustomPrompt::parse("greet", "/p/greet.md", "Greet $NAME.")], &[of_server]);
        let names: Vec<&str> = listed.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(names, ["compact", "review", "status", "mcp", "skills", "prompts:greet", "mcp:docs:fix"]);
        assert_eq!(meant("/mcp:docs:fix a=1"), sent("/mcp:docs:fix a=1"));
        for name in &names[..5] {
            assert_ne!(meant(&format!("/{name}")), sent(&format!("/{name}")), "{name}");
        }
    }
}
