//! Menus that commands open, and what choosing in them does.

use std::time::Duration;

use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::review::ReviewRequest;
use pellucid_protocol::review::ReviewTarget;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::SandboxPolicy;
use ratatui_core::text::Line;
use serde_json::Value;
use serde_json::json;

use super::App;
use super::Effect;
use super::fields::FieldPurpose;
use crate::composer::draft::Clip;
use crate::host::HostCall;
use crate::host::Menu;
use crate::host::MenuEntry;
use crate::host::SkillCall;
use crate::key::Key;
use crate::lists::options::Appeared;
use crate::lists::options::ListOption;
use crate::lists::options::ListOutcome;
use crate::lists::options::OptionList;

/// What a menu is for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MenuPurpose {
    Models,
    Efforts { model: String },
    Presets,
    FullAccess,
    Features,
    Skills,
    SkillSwitches,
    ReviewTargets,
    ReviewBranches,
    ReviewCommits,
    Modes,
    Personalities,
    StatusItems,
    Agents,
    Plan,
    Feedback,
    Copy,
}

/// A menu that is open.
#[derive(Debug)]
pub(super) struct OpenMenu {
    pub(super) purpose: MenuPurpose,
    pub(super) list: OptionList,
    entries: Vec<MenuEntry>,
}

/// An entry that the client knows by itself.
pub(super) fn known(id: &str, label: &str, about: &str) -> MenuEntry {
    MenuEntry { id: id.to_owned(), label: label.to_owned(), about: about.to_owned(), is_on: false, detail: Value::Null }
}

/// The items that the last row can show.
pub(super) const STATUS_ITEMS: [(&str, &str); 19] = [
    ("model-name", "the model"),
    ("model-with-reasoning", "the model and its effort"),
    ("current-dir", "the folder of the session"),
    ("project-root", "the top folder of the project"),
    ("git-branch", "the branch that is checked out"),
    ("context-remaining", "what is left of the context, in per cent"),
    ("context-used", "what is used of the context, in per cent"),
    ("five-hour-limit", "what is left of the limit for five hours"),
    ("weekly-limit", "what is left of the limit for a week"),
    ("codex-version", "the version of the program"),
    ("context-window-size", "the size of the context in tokens"),
    ("used-tokens", "tokens of the session"),
    ("total-input-tokens", "tokens that were sent"),
    ("total-output-tokens", "tokens that were received"),
    ("session-id", "the id of the session"),
    ("cost", "what the session has cost"),
    ("cost-turn", "what the last turn has cost"),
    ("cached", "how much of the last request the provider had in its cache"),
    ("context", "tokens of the context, and of the model's window"),
];

/// The label of an entry, which says in a list without switches that the entry is the one in use.
fn entry_label(entry: &MenuEntry, is_switch: bool) -> String {
    if entry.is_on && !is_switch { format!("{} (current)", entry.label) } else { entry.label.clone() }
}

impl App {
    pub(super) fn open_menu(&mut self, purpose: MenuPurpose, title: &str, entries: Vec<MenuEntry>) {
        let is_switch =
            matches!(purpose, MenuPurpose::Features | MenuPurpose::SkillSwitches | MenuPurpose::StatusItems);
        let has_number = !matches!(purpose, MenuPurpose::ReviewCommits | MenuPurpose::ReviewBranches);
        let option = |entry: &MenuEntry| ListOption {
            is_on: is_switch.then_some(entry.is_on),
            is_without_number: !has_number,
            ..ListOption::new(entry_label(entry, is_switch)).detail(entry.about.clone())
        };
        let options = entries.iter().map(option).collect();
        let selected = if is_switch { 0 } else { entries.iter().position(|entry| entry.is_on).unwrap_or(0) };
        let title = title.lines().map(|line| Line::from(line.to_owned())).collect();
        let appeared = match purpose {
            MenuPurpose::Plan => Appeared::ByItself(self.now),
            _ => Appeared::Opened,
        };
        let list = OptionList::new(title, options, appeared).selecting(selected);
        self.menu = Some(OpenMenu { purpose, list, entries });
    }

    /// Opens a menu whose entries the program made.
    pub(super) fn entries_arrived(&mut self, menu: Menu, entries: Vec<MenuEntry>) {
        let (purpose, title) = match menu {
            Menu::Models => (MenuPurpose::Models, "Which model?"),
            Menu::Features => {
                (MenuPurpose::Features, "Experimental features\nspace switches, enter keeps them for the next session")
            }
            Menu::Skills => (MenuPurpose::SkillSwitches, "Skills\nspace switches, esc closes"),
            Menu::Branches => (MenuPurpose::ReviewBranches, "Which branch are the changes compared with?"),
            Menu::Commits => (MenuPurpose::ReviewCommits, "Which commit?"),
            Menu::Sessions { everywhere } => return self.show_sessions(&entries, everywhere),
        };
        if entries.is_empty() {
            self.say_note("there is nothing to choose from");
            return;
        }
        self.open_menu(purpose, title, entries);
    }

    pub(super) fn open_presets(&mut self) {
        let is_full = matches!(
            self.session.configured.as_ref().map(|it| &it.sandbox_policy),
            Some(SandboxPolicy::DangerFullAccess)
        );
        let mut entries = vec![
            known("default", "Default", "commands may write in the workspace; they ask before they reach beyond it"),
            known("full", "Full access", "commands may do everything, without a question"),
        ];
        entries[usize::from(is_full)].is_on = true;
        self.open_menu(MenuPurpose::Presets, "What may run without a question?", entries);
    }

    pub(super) fn open_skills(&mut self) {
        let entries = vec![
            known("use", "Use a skill", "inserts $ and lists the skills"),
            known("switch", "Switch skills on or off", "for this and later sessions"),
        ];
        self.open_menu(MenuPurpose::Skills, "Skills", entries);
    }

    pub(super) fn open_review(&mut self) {
        let entries = vec![
            known("branch", "Against a branch", "what this branch has changed"),
            known("uncommitted", "Uncommitted changes", "staged, not staged and new files"),
            known("commit", "One commit", "choose from the newest"),
            known("custom", "In your words", "say what to look at"),
        ];
        self.open_menu(MenuPurpose::ReviewTargets, "What is to be reviewed?", entries);
    }

    pub(super) fn open_modes(&mut self) {
        let mut entries = vec![
            known("plan", "Plan", "the model plans first and changes nothing"),
            known("default", "Default", "the model works"),
        ];
        entries[usize::from(self.mode == CollaborationModeKind::Default)].is_on = true;
        self.open_menu(MenuPurpose::Modes, "How is the work done together?", entries);
    }

    pub(super) fn open_personalities(&mut self) {
        let mut entries = vec![
            known("friendly", "Friendly", "warm and patient answers"),
            known("pragmatic", "Pragmatic", "short answers that are to the point"),
        ];
        let is_friendly = self.settings.around.personality == Some(Personality::Friendly);
        entries[usize::from(!is_friendly)].is_on = true;
        self.open_menu(MenuPurpose::Personalities, "In which manner does the model answer?", entries);
    }

    pub(super) fn open_status_items(&mut self) {
        let on = self.settings.status_line.clone().unwrap_or_default();
        let with =
            |(id, about): &(&str, &str)| MenuEntry { is_on: on.iter().any(|it| it == id), ..known(id, id, about) };
        let entries = STATUS_ITEMS.iter().map(with).collect();
        let title = "What does the last row show?\nspace switches, enter keeps it";
        self.open_menu(MenuPurpose::StatusItems, title, entries);
    }

    pub(super) fn open_agents(&mut self) {
        let Some(session) = &self.session.configured else { return };
        let id = session.session_id.as_str();
        let entries = vec![MenuEntry { is_on: true, ..known(id, &format!("Main session {id}"), "") }];
        self.open_menu(MenuPurpose::Agents, "Sessions of this conversation", entries);
    }

    pub(super) fn open_plan(&mut self) {
        let entries = vec![
            known("yes", "Yes, carry out this plan", "changes to the default mode"),
            known("no", "No, keep planning", ""),
        ];
        self.open_menu(MenuPurpose::Plan, "Carry out this plan?", entries);
    }

    pub(super) fn open_feedback(&mut self) {
        let entries = vec![known("close", "Close", "")];
        let title = "Pellucid sends feedback nowhere.\nReport what is wrong where you got it from.";
        self.open_menu(MenuPurpose::Feedback, title, entries);
    }

    /// Takes a key while a menu is open.
    pub(super) fn menu_key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        let Some(menu) = &mut self.menu else { return Vec::new() };
        let is_switch = menu.list.options().iter().any(|option| option.is_on.is_some());
        let mut effects = Vec::new();
        if is_switch && key == Key::char(' ') {
            self.switch(&mut effects);
            return effects;
        }
        match menu.list.press(key, now, &self.settings.keymap) {
            ListOutcome::Chosen(_) if is_switch => {
                if key.typed().is_none() {
                    self.close_switches(&mut effects);
                }
            }
            ListOutcome::Chosen(at) => {
                if let Some(menu) = self.menu.take() {
                    self.chosen(&menu, at, &mut effects);
                }
            }
            ListOutcome::Cancelled | ListOutcome::Aborted => match self.menu.take().map(|menu| menu.purpose) {
                Some(MenuPurpose::SkillSwitches) => effects.push(Effect::Ask(HostCall::Skill(SkillCall::Reload))),
                Some(MenuPurpose::Efforts { .. }) => effects.push(Effect::Ask(HostCall::List(Menu::Models))),
                _ => {}
            },
            ListOutcome::Draft(key) => return self.composer_key(key, now),
            ListOutcome::Open
            | ListOutcome::Whole
            | ListOutcome::Explain
            | ListOutcome::Blanks
            | ListOutcome::Amend
            | ListOutcome::Note => {}
        }
        effects
    }

    /// Changes the marked switch.
    fn switch(&mut self, effects: &mut Vec<Effect>) {
        let Some(menu) = &mut self.menu else { return };
        let at = menu.list.selected();
        let Some(entry) = menu.entries.get_mut(at) else { return };
        entry.is_on = !entry.is_on;
        menu.list.set_on(at, entry.is_on);
        if menu.purpose == MenuPurpose::SkillSwitches {
            effects
                .push(Effect::Ask(HostCall::Skill(SkillCall::Switch { path: entry.id.clone(), is_on: entry.is_on })));
        }
    }

    /// Keeps the switches as they are.
    fn close_switches(&mut self, effects: &mut Vec<Effect>) {
        let Some(menu) = self.menu.take() else { return };
        match menu.purpose {
            MenuPurpose::Features => {
                let changed = menu.entries.iter().filter(|entry| entry.detail.as_bool() != Some(entry.is_on));
                let values = changed.map(|entry| (format!("features.{}", entry.id), json!(entry.is_on))).collect();
                effects.push(Effect::Ask(HostCall::Store(values)));
            }
            MenuPurpose::StatusItems => {
                let on: Vec<String> =
                    menu.entries.iter().filter(|entry| entry.is_on).map(|entry| entry.id.clone()).collect();
                effects.push(Effect::Ask(HostCall::Store(vec![("tui.status_line".to_owned(), json!(on))])));
                self.settings.status_line = Some(on);
            }
            _ => effects.push(Effect::Ask(HostCall::Skill(SkillCall::Reload))),
        }
    }

    /// Does what a chosen entry is for.
    fn chosen(&mut self, menu: &OpenMenu, at: usize, effects: &mut Vec<Effect>) {
        let Some(entry) = menu.entries.get(at) else { return };
        match &menu.purpose {
            MenuPurpose::Models => self.model_chosen(entry, effects),
            MenuPurpose::Efforts { model } => {
                self.take_model(model, ReasoningEffort::from_word(&entry.id), effects);
            }
            MenuPurpose::Presets if entry.id == "full" && !self.settings.skips_full_access_warning => {
                let entries = vec![
                    known("once", "Yes, for this session", ""),
                    known("always", "Yes, and do not warn again", ""),
                    known("back", "No, go back", ""),
                ];
                let title = "Full access: the model can read, change and send everything that you can.\nContinue?";
                self.open_menu(MenuPurpose::FullAccess, title, entries);
            }
            MenuPurpose::Presets => self.take_permissions(entry.id == "full", effects),
            MenuPurpose::FullAccess if entry.id == "back" => self.open_presets(),
            MenuPurpose::FullAccess => {
                if entry.id == "always" {
                    self.settings.skips_full_access_warning = true;
                    let key = "notice.hide_full_access_warning".to_owned();
                    effects.push(Effect::Ask(HostCall::Store(vec![(key, json!(true))])));
                }
                self.take_permissions(true, effects);
            }
            MenuPurpose::Skills if entry.id == "use" => {
                let context = self.settings.context(self.session.is_working());
                let wishes = self.composer.press(Key::char('$'), self.now, &context);
                effects.extend(self.composed(wishes, false));
            }
            MenuPurpose::Skills => effects.push(Effect::Ask(HostCall::List(Menu::Skills))),
            MenuPurpose::ReviewTargets => match entry.id.as_str() {
                "branch" => effects.push(Effect::Ask(HostCall::List(Menu::Branches))),
                "commit" => effects.push(Effect::Ask(HostCall::List(Menu::Commits))),
                "custom" => self.open_field(FieldPurpose::Review, "What is to be looked at?"),
                _ => self.review(ReviewTarget::UncommittedChanges, effects),
            },
            MenuPurpose::ReviewBranches => self.review(ReviewTarget::BaseBranch { branch: entry.id.clone() }, effects),
            MenuPurpose::ReviewCommits => {
                let title = entry.detail.as_str().map(str::to_owned);
                self.review(ReviewTarget::Commit { sha: entry.id.clone(), title }, effects);
            }
            MenuPurpose::Modes => {
                let is_plan = entry.id == "plan";
                self.set_mode(if is_plan { CollaborationModeKind::Plan } else { CollaborationModeKind::Default });
            }
            MenuPurpose::Personalities => {
                let personality = Personality::from_word(&entry.id);
                self.settings.around.personality = personality;
                let change = SettingsChange { personality, ..SettingsChange::default() };
                effects.push(Effect::Submit(Operation::OverrideTurnContext(change)));
                effects.push(Effect::Ask(HostCall::Store(vec![("personality".to_owned(), json!(entry.id))])));
                self.say_note(&format!("the model answers in the manner {}", entry.label));
            }
            MenuPurpose::Copy => self.copy(&entry.id, effects),
            MenuPurpose::Plan if entry.id == "yes" => {
                self.set_mode(CollaborationModeKind::Default);
                self.send_text("Carry out the plan.", effects);
            }
            MenuPurpose::Plan
            | MenuPurpose::Agents
            | MenuPurpose::Feedback
            | MenuPurpose::Features
            | MenuPurpose::SkillSwitches
            | MenuPurpose::StatusItems => {}
        }
    }

    /// Asks for the effort of a model, if it has several.
    fn model_chosen(&mut self, chosen: &MenuEntry, effects: &mut Vec<Effect>) {
        let efforts = chosen.detail.get("efforts").and_then(Value::as_array).cloned().unwrap_or_default();
        let usual = chosen.detail.get("usual").and_then(Value::as_str).unwrap_or_default().to_owned();
        let now = self.session.configured.as_ref().and_then(|it| it.reasoning_effort);
        let is_same = self.session.configured.as_ref().is_some_and(|it| it.model == chosen.id);
        let marked = now.filter(|_| is_same).map_or(usual.clone(), |it| it.as_str().to_owned());
        if efforts.len() < 2 {
            self.take_model(&chosen.id, ReasoningEffort::from_word(&usual), effects);
            return;
        }
        let of = |effort: &Value| {
            let text = |key: &str| effort.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (id, about) = (text("effort"), text("about"));
            let label = if id == usual { format!("{id} (usual)") } else { id.clone() };
            MenuEntry { is_on: id == marked, ..known(&id, &label, &about) }
        };
        let entries = efforts.iter().map(of).collect();
        let title = format!("How much does {} reason?", chosen.label);
        self.open_menu(MenuPurpose::Efforts { model: chosen.id.clone() }, &title, entries);
    }

    fn take_model(&mut self, model: &str, effort: Option<ReasoningEffort>, effects: &mut Vec<Effect>) {
        if let Some(session) = &mut self.session.configured {
            model.clone_into(&mut session.model);
            session.reasoning_effort = effort;
        }
        let change =
            SettingsChange { model: Some(model.to_owned()), effort: Some(effort), ..SettingsChange::default() };
        effects.push(Effect::Submit(Operation::OverrideTurnContext(change)));
        self.session.is_mode_due = self.settings.has_modes;
        let effort_value = effort.map_or(Value::Null, |it| json!(it.as_str()));
        let values = vec![("model".to_owned(), json!(model)), ("model_reasoning_effort".to_owned(), effort_value)];
        effects.push(Effect::Ask(HostCall::Store(values)));
        let effort = effort.map_or_else(String::new, |it| format!(" {it}"));
        self.say_note(&format!("the model is now {model}{effort}"));
    }

    fn take_permissions(&mut self, is_full: bool, effects: &mut Vec<Effect>) {
        let (approval, sandbox, word) = if is_full {
            (ApprovalPolicy::Never, SandboxPolicy::DangerFullAccess, "full access")
        } else {
            (ApprovalPolicy::OnRequest, self.settings.around.workspace_write.clone(), "default")
        };
        if let Some(session) = &mut self.session.configured {
            session.approval_policy = approval;
            session.sandbox_policy = sandbox.clone();
        }
        let change = SettingsChange {
            approval_policy: Some(approval),
            sandbox_policy: Some(sandbox),
            ..SettingsChange::default()
        };
        effects.push(Effect::Submit(Operation::OverrideTurnContext(change)));
        self.say_note(&format!("the permissions are now: {word}"));
    }

    pub(super) fn review(&mut self, target: ReviewTarget, effects: &mut Vec<Effect>) {
        let review_request = ReviewRequest { target, user_facing_hint: None };
        effects.push(Effect::Submit(Operation::Review { review_request }));
    }

    /// Changes the mode; the next message carries its instructions.
    pub(super) fn set_mode(&mut self, mode: CollaborationModeKind) {
        self.mode = mode;
        self.session.is_mode_due = true;
    }

    /// Sends words that the client chose.
    pub(super) fn send_text(&mut self, text: &str, effects: &mut Vec<Effect>) {
        let message = crate::composer::Message {
            text: text.to_owned(),
            written: Clip::plain(text),
            ..crate::composer::Message::default()
        };
        self.send(message, effects);
    }
}
