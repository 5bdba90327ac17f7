//! What the commands that begin with `/` do.

use pellucid_protocol::operation::Operation;
use pellucid_protocol::review::ReviewTarget;
use pellucid_protocol::settings::CollaborationModeKind;

use super::App;
use super::Effect;
use super::fields::FieldPurpose;
use crate::commands::COMMANDS;
use crate::commands::SlashCommand;
use crate::composer::draft::Clip;
use crate::composer::vim::Vim;
use crate::host::HostCall;
use crate::host::Menu;
use crate::host::OpenWish;
use crate::host::Topic;
use crate::key::Key;
use crate::look::report::LookCall;
use crate::past::PastCall;

/// The request that `/init` sends.
const INIT: &str = include_str!("init.md");

/// The file that `/init` has written.
const GUIDE: &str = "AGENTS.md";

impl App {
    /// Runs a command.
    pub(super) fn command(&mut self, name: &str, words: &str, effects: &mut Vec<Effect>) {
        let Some(row) = COMMANDS.iter().find(|row| row.name == name) else { return };
        match row.command {
            SlashCommand::Model => effects.push(Effect::Ask(HostCall::List(Menu::Models))),
            SlashCommand::Approvals | SlashCommand::Permissions => self.open_presets(),
            SlashCommand::Experimental => effects.push(Effect::Ask(HostCall::List(Menu::Features))),
            SlashCommand::Skills => self.open_skills(),
            SlashCommand::Review if words.is_empty() => self.open_review(),
            SlashCommand::Review => self.review(ReviewTarget::Custom { instructions: words.to_owned() }, effects),
            SlashCommand::Rename if words.is_empty() => self.open_field(FieldPurpose::Rename, "Name of this session"),
            SlashCommand::Rename => self.field_done(FieldPurpose::Rename, words, effects),
            SlashCommand::New => effects.push(Effect::Ask(HostCall::Open(OpenWish::New))),
            SlashCommand::Resume => effects.push(Effect::Ask(HostCall::List(Menu::Sessions { everywhere: false }))),
            SlashCommand::Fork => effects.push(Effect::Ask(HostCall::Open(OpenWish::Fork(String::new())))),
            SlashCommand::Init if self.settings.around.has_guide => {
                self.say_note(&format!("{GUIDE} exists already; /init writes it only where there is none"));
            }
            SlashCommand::Init => self.send_text(INIT.trim(), effects),
            SlashCommand::Compact => effects.push(Effect::Submit(Operation::Compact)),
            SlashCommand::CompactPreview => self.try_summary(effects),
            SlashCommand::Uncompact => effects.push(Effect::Ask(HostCall::Past(PastCall::UndoCompaction))),
            SlashCommand::Lost => effects.push(Effect::Ask(HostCall::Past(PastCall::LastCompaction))),
            SlashCommand::Redo => effects.push(Effect::Ask(HostCall::Past(PastCall::Redo))),
            SlashCommand::Plan => {
                self.set_mode(CollaborationModeKind::Plan);
                if !words.is_empty() {
                    self.send_text(words, effects);
                }
            }
            SlashCommand::Collab => self.open_modes(),
            SlashCommand::Agent => self.open_agents(),
            SlashCommand::Diff => effects.push(Effect::Ask(HostCall::Diff)),
            SlashCommand::Mention => {
                let context = self.settings.context(self.session.is_working());
                let wishes = self.composer.press(Key::char('@'), self.now, &context);
                effects.extend(self.composed(wishes, false));
            }
            SlashCommand::Status => self.say_status(),
            SlashCommand::DebugConfig => effects.push(Effect::Ask(HostCall::Describe(Topic::Configuration))),
            SlashCommand::StatusLine => self.open_status_items(),
            SlashCommand::Apps => effects.push(Effect::Ask(HostCall::Describe(Topic::Apps))),
            SlashCommand::Mcp => effects.push(Effect::Ask(HostCall::Describe(Topic::McpServers))),
            SlashCommand::Logout => effects.push(Effect::Ask(HostCall::LogOut)),
            SlashCommand::Quit | SlashCommand::Exit => effects.push(Effect::Quit),
            SlashCommand::Feedback => self.open_feedback(),
            SlashCommand::Ps => self.say_processes(),
            SlashCommand::Clean => {
                effects.push(Effect::Submit(Operation::CleanBackgroundTerminals));
                self.processes.clear();
                self.say_note("commands in the background are stopped");
            }
            SlashCommand::Personality => self.open_personalities(),
            SlashCommand::Keymap => self.show_keys(),
            SlashCommand::Export => effects.push(Effect::Ask(HostCall::Export(words.to_owned()))),
            SlashCommand::Vim => self.switch_vim(),
            SlashCommand::Waiting => self.open_waiting(),
            SlashCommand::Copy => self.copy(words, effects),
            SlashCommand::Context => self.open_rows(),
            SlashCommand::Preview => self.ask_preview(effects),
            SlashCommand::Seen => effects.push(Effect::Ask(HostCall::Look(LookCall::Seen))),
            SlashCommand::Time => Self::ask_time(effects),
            SlashCommand::Cache => Self::ask_cache(effects),
            SlashCommand::Pack => Self::ask_packs(words, effects),
            SlashCommand::Phase if words.is_empty() => effects.push(Effect::Ask(HostCall::Describe(Topic::Phases))),
            SlashCommand::Phase => effects.push(Effect::Ask(HostCall::Phase(words.to_owned()))),
            SlashCommand::Inspect => effects.push(Effect::Ask(HostCall::Describe(Topic::Page))),
        }
    }

    /// Lists the commands that run in the background.
    fn say_processes(&mut self) {
        let mut lines = vec!["/ps".to_owned()];
        if self.processes.is_empty() {
            lines.push("no command runs in the background".to_owned());
        }
        lines.extend(self.processes.values().map(|command| format!("  {command}")));
        self.say_lines(&lines);
    }

    /// Switches the keys of vim on or off.
    fn switch_vim(&mut self) {
        let is_on = !self.composer.has_vim();
        self.composer.set_vim(is_on.then(|| Vim::new(self.settings.manner.vim_escape.as_deref())));
        self.say_note(if is_on {
            "the composer has the keys of vim; esc for normal mode"
        } else {
            "the keys of vim are off"
        });
    }

    /// Puts a text into the composer.
    pub(super) fn put_back(&mut self, text: &str) {
        self.composer.set_draft(Clip::plain(text));
    }
}
