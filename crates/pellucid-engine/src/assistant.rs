//! The surroundings of an assistant that answers in chats.
//!
//! These facts fill the sections of a system prompt whose sources begin with `assistant_` (`source/assistant`). All
//! of them are optional; a section without facts is left out.
//!
//! - `prompt_sizes`: the sizes of such a prompt's parts, in the form of the reference's report
//! - `reply`: those sizes as text

pub mod prompt_sizes;
pub mod reply;

use crate::bootstrap::BootstrapFile;
use crate::bootstrap::ContextFile;
use crate::utf16;

/// The surroundings of an assistant: its folder, tools, channel and machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Assistant {
    /// The folder that it works in.
    pub workspace_dir: String,
    /// The bootstrap files of that folder.
    pub loaded: LoadedBootstrap,
    /// The key of the session, which says whether it is a sub-agent's.
    pub session_key: Option<String>,
    /// The tools; absent when the layout decides which are offered.
    pub tools: Option<Vec<AssistantTool>>,
    /// Descriptions of tools by name, for tools that the layout does not describe.
    pub tool_summaries: Vec<(String, String)>,
    /// The list of skills; absent when it is made of the skills that were found.
    pub skills_prompt: Option<String>,
    /// Whether answers cite the file and line of a memory.
    pub memory_citations: Citations,
    /// Short names of models, a line each.
    pub model_aliases: Vec<String>,
    /// The user's time zone.
    pub time_zone: Option<String>,
    /// Further lines about the folder.
    pub workspace_notes: Vec<String>,
    /// The folder of the documentation.
    pub docs_path: Option<String>,
    /// The container that commands run in, if there is one.
    pub sandbox: Option<AssistantSandbox>,
    /// How it speaks with people.
    pub messaging: Messaging,
    /// A further text: of a group chat, or of the agent that this one works for.
    pub extra_prompt: Option<String>,
    /// How much the assistant thinks, and whether its thoughts are shown.
    pub thinking: Thinking,
    /// The machine, model and channel of the session.
    pub runtime: Runtime,
}

/// The bootstrap files of an assistant's folder, and the budgets that they were brought within.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedBootstrap {
    /// The bootstrap files of that folder, uncut.
    pub bootstrap: Vec<BootstrapFile>,
    /// The bootstrap files within their budgets.
    pub files: Vec<ContextFile>,
    /// The budgets in UTF-16 units, for one file and for all files.
    pub limits: Option<(usize, usize)>,
}

/// How an assistant speaks with people: who they are, on which channels, in which tone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Messaging {
    /// The numbers of the people who may command the assistant.
    pub owner_numbers: Vec<String>,
    /// Hints for the tool that sends messages.
    pub message_tool_hints: Vec<String>,
    /// Further channels for that tool, after the standard ones.
    pub channels: Vec<String>,
    /// How to speak when the answer is read out.
    pub voice_hint: Option<String>,
    /// How messages are reacted to.
    pub reactions: Option<Reactions>,
    /// The text of a heartbeat message.
    pub heartbeat_prompt: Option<String>,
}

/// How an assistant thinks, and what of that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thinking {
    /// Whether the model puts its reasoning between tags.
    pub reasoning_tags: bool,
    /// The reasoning effort, as a word.
    pub think_level: Option<String>,
    /// Whether the model's reasoning is shown, as a word.
    pub reasoning_level: Option<String>,
}

/// A tool of an assistant.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantTool {
    /// The name that the model calls.
    pub name: String,
}

/// Whether answers cite the file and line of a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Citations {
    /// Answers cite file and line.
    #[default]
    On,
    /// Answers have no citations.
    Off,
}

/// A sandbox that commands run in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssistantSandbox {
    /// Whether the container is used.
    pub enabled: bool,
    /// The agent's folder on the host.
    pub workspace_dir: Option<String>,
    /// The agent's folder in the container.
    pub container_dir: Option<String>,
    /// Access to the agent's folder: `none`, `ro` or `rw`.
    pub workspace_access: Option<String>,
    /// The path of that folder in the container.
    pub agent_mount: Option<String>,
    /// The address of the browser in the container.
    pub browser_url: Option<String>,
    /// The address at which a person can watch that browser.
    pub observer_url: Option<String>,
    /// Whether the browser outside may be used.
    pub host_browser_allowed: Option<bool>,
    /// The level at which commands may leave it, if they may.
    pub elevated_level: Option<String>,
}

/// How messages are reacted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reactions {
    /// Whether the assistant should react seldom.
    pub is_minimal: bool,
    /// The channel on which it reacts.
    pub channel: String,
}

/// The machine, model and channel of a session, for the line about the runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runtime {
    /// The id of the agent.
    pub agent: Option<String>,
    /// The name of the machine.
    pub host: Option<String>,
    /// The top folder of the repository.
    pub repo: Option<String>,
    /// The operating system and its version.
    pub os: Option<String>,
    /// The architecture of the processor.
    pub arch: Option<String>,
    /// The version of its runtime.
    pub node: Option<String>,
    /// The model, with its provider.
    pub model: Option<String>,
    /// The model when nothing is said.
    pub default_model: Option<String>,
    /// The name of the shell.
    pub shell: Option<String>,
    /// The channel that it answers on.
    pub channel: Option<String>,
    /// The features of that channel, such as `inlineButtons`.
    pub capabilities: Option<Vec<String>>,
}

impl Runtime {
    /// The channel, in lower case.
    pub fn channel(&self) -> Option<String> {
        self.channel.as_deref().map(|it| utf16::trim(it).to_lowercase()).filter(|it| !it.is_empty())
    }

    /// The features of the channel, trimmed and without blanks.
    pub fn capabilities(&self) -> Vec<&str> {
        let all = self.capabilities.iter().flatten().map(|it| utf16::trim(it));
        all.filter(|it| !it.is_empty()).collect()
    }

    /// The line that says all of it.
    pub fn line(&self, think_level: Option<&str>) -> String {
        let named =
            |name: &str, value: &Option<String>| value.as_deref().map(|value| (name.to_owned(), value.to_owned()));
        let os = match (given(self.os.as_ref()), given(self.arch.as_ref())) {
            (Some(os), Some(arch)) => Some(("os".to_owned(), format!("{os} ({arch})"))),
            (Some(os), None) => Some(("os".to_owned(), os.to_owned())),
            (None, Some(arch)) => Some(("arch".to_owned(), arch.to_owned())),
            (None, None) => None,
        };
        let channel = self.channel();
        let capabilities = channel.as_ref().map(|_| match self.capabilities().join(",") {
            none if none.is_empty() => "none".to_owned(),
            some => some,
        });
        let parts = [
            named("agent", &self.agent),
            named("host", &self.host),
            named("repo", &self.repo),
            os,
            named("node", &self.node),
            named("model", &self.model),
            named("default_model", &self.default_model),
            named("shell", &self.shell),
            named("channel", &channel),
            named("capabilities", &capabilities),
            Some(("thinking".to_owned(), think_level.unwrap_or("off").to_owned())),
        ];
        let parts = parts.into_iter().flatten().filter(|(_, value)| !value.is_empty());
        let parts: Vec<String> = parts.map(|(name, value)| format!("{name}={value}")).collect();
        format!("Runtime: {}", parts.join(" | "))
    }
}

fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

/// A text for a line of a prompt: without control characters, format characters and line ends.
pub fn sanitised(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !is_format(*c) && !matches!(c, '\u{2028}' | '\u{2029}')).collect()
}

/// Whether a character only changes how others are shown (general category Cf).
fn is_format(c: char) -> bool {
    matches!(
        u32::from(c),
        0xAD
            | 0x600..=0x605
            | 0x61C
            | 0x6DD
            | 0x70F
            | 0x890..=0x891
            | 0x8E2
            | 0x180E
            | 0x200B..=0x200F
            | 0x202A..=0x202E
            | 0x2060..=0x2064
            | 0x2066..=0x206F
            | 0xFEFF
            | 0xFFF9..=0xFFFB
            | 0x110BD
            | 0x110CD
            | 0x13430..=0x1343F
            | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A
            | 0xE0001
            | 0xE0020..=0xE007F
    )
}

#[cfg(test)]
mod tests;
