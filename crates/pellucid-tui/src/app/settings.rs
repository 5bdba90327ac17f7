//! What the client is started with.

use std::path::PathBuf;

use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::SandboxPolicy;

use super::manner::Manner;
use crate::cells::transcript::TranscriptOptions;
use crate::commands::CommandRow;
use crate::composer::ComposerContext;
use crate::composer::kept::KeptDraft;
use crate::composer::popup::PromptEntry;
use crate::composer::popup::SkillEntry;
use crate::keymap::Keymap;
use crate::screen::Insertion;
use crate::text::palette::ColourDepth;

/// What the client is started with: settings, and what the program found.
#[derive(Debug)]
pub struct AppSettings {
    /// The version of the program.
    pub version: String,
    /// What of the transcript is shown.
    pub transcript: TranscriptOptions,
    /// What is around the session.
    pub around: Surroundings,
    /// The time of the start, in seconds since 1970.
    pub began: i64,
    /// Which key does what.
    pub keymap: Keymap,
    /// How many colours the terminal can show.
    pub depth: ColourDepth,
    /// The commands that are offered.
    pub commands: Vec<CommandRow>,
    /// The custom prompts, and the prompts of the session's MCP servers.
    pub prompts: Vec<PromptEntry>,
    /// The skills that can be used.
    pub skills: Vec<SkillEntry>,
    /// How many messages the history file has.
    pub n_stored: usize,
    /// Whether many keys in one read are taken for a paste.
    pub finds_bursts: bool,
    /// Whether pages may use the alternate screen.
    pub has_alternate_screen: bool,
    /// Whether the collaboration mode is part of a session.
    pub has_modes: bool,
    /// What the last row shows, if that is configured.
    pub status_line: Option<Vec<String>>,
    /// Whether full access needs no second question.
    pub skips_full_access_warning: bool,
    /// How lines get into the scrollback of this terminal.
    pub insertion: Insertion,
    /// When the client notifies, and how.
    pub notifying: Notifying,
    /// How the client behaves at this terminal.
    pub manner: Manner,
    /// The draft that an earlier client left in this folder.
    pub kept: Option<KeptDraft>,
    /// The first message, which is sent when the session is ready.
    pub first: Option<FirstMessage>,
}

/// What is around a session: its provider, its folder, its usual permissions.
#[derive(Debug)]
pub struct Surroundings {
    /// The provider, as `/status` names it.
    pub provider: String,
    /// The instruction files, as `/status` names them.
    pub instructions: String,
    /// The top folder of the project.
    pub project_root: Option<PathBuf>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// Whether the folder has an `AGENTS.md`.
    pub has_guide: bool,
    /// The sandbox of the usual permissions.
    pub workspace_write: SandboxPolicy,
    /// The manner of the answers, if one is configured.
    pub personality: Option<Personality>,
}

impl AppSettings {
    /// Lists these prompts of MCP servers beside the custom prompts, and no others.
    pub(super) fn list_server_prompts(&mut self, prompts: Vec<PromptEntry>) {
        self.prompts.retain(|known| !known.is_of_server());
        self.prompts.extend(prompts);
    }

    /// What the composer has to know.
    pub(super) fn context(&self, is_working: bool) -> ComposerContext<'_> {
        ComposerContext {
            keymap: &self.keymap,
            commands: &self.commands,
            prompts: &self.prompts,
            skills: &self.skills,
            is_working,
            finds_bursts: self.finds_bursts,
        }
    }
}

/// When the client notifies, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notifying {
    /// Whether it notifies when a turn ends.
    pub of_turns: bool,
    /// Whether it notifies when a question is asked.
    pub of_questions: bool,
    /// Whether the notification has a text (`OSC 9`); otherwise the bell rings.
    pub has_text: bool,
}

/// The first message of a session, from the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirstMessage {
    /// The text of the message.
    pub text: String,
    /// The images of the message.
    pub images: Vec<PathBuf>,
}
