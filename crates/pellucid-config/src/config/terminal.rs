//! Settings of the terminal client.

use std::collections::BTreeMap;

use crate::keys::default::count_or_default;
use crate::keys::default::flag_or_default;
use crate::reader::Reader;
use crate::reader::texts;
use crate::value::Table;
use crate::value::Value;

/// What the configuration says about the terminal client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalSettings {
    /// What the terminal notifies of while another window has the focus.
    pub notifications: Notifications,
    /// How the terminal notifies; absent if the client decides by the terminal.
    pub notifies_by: Option<NotifyMethod>,
    /// Whether full-screen pages use the terminal's second screen; absent if the client decides by the terminal.
    pub second_screen: Option<bool>,
    /// What the last row shows, instead of hints and the context meter.
    pub status_line: Option<Vec<String>>,
    /// Whether the client writes plain lines for a screen reader.
    pub is_for_screen_reader: bool,
    /// Whether the terminal reports the mouse to the client.
    pub has_mouse: bool,
    /// How many frames a second events of the session may ask for.
    pub frame_rate: usize,
    /// Whether the mark of a running turn changes every half second.
    pub has_animations: bool,
    /// Whether the composer begins with the keys of vim.
    pub has_vim: bool,
    /// Two letters that end inserting with the keys of vim.
    pub vim_escape: Option<String>,
    /// The parts of the window's title; empty if none is set, absent for the usual ones.
    pub title: Option<Vec<String>>,
    /// The keys of actions that do not have their usual ones, by the place and name of the action with a dot between.
    pub keymap: BTreeMap<String, Vec<String>>,
    /// Whether many keys at once are taken for a paste.
    pub finds_bursts: bool,
    /// Whether full access is given without a second question.
    pub skips_full_access_warning: bool,
    /// Whether messages are kept for later sessions.
    pub keeps_messages: bool,
    /// The size limit of the file with messages, in bytes.
    pub messages_bytes_max: Option<u64>,
}

/// What the terminal notifies of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notifications {
    /// Everything, or nothing.
    All(bool),
    /// The kinds in this list.
    Kinds(Vec<String>),
}

/// How the terminal notifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyMethod {
    /// With a text (OSC 9).
    Text,
    /// With the bell.
    Bell,
}

impl Notifications {
    /// Whether the terminal notifies of a kind.
    pub fn has(&self, kind: &str) -> bool {
        match self {
            Self::All(is_on) => *is_on,
            Self::Kinds(kinds) => kinds.iter().any(|it| it == kind),
        }
    }
}

impl TerminalSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        let notifications = reader.value("tui.notifications");
        Self {
            notifications: match notifications.and_then(Value::as_bool) {
                Some(is_on) => Notifications::All(is_on),
                None => notifications.and_then(texts).map_or(Notifications::All(true), Notifications::Kinds),
            },
            notifies_by: reader.word("tui.notification_method", |word| match word {
                "osc9" => Some(NotifyMethod::Text),
                "bel" => Some(NotifyMethod::Bell),
                _ => None,
            }),
            second_screen: reader.word("tui.alternate_screen", |word| match word {
                "always" => Some(true),
                "never" => Some(false),
                _ => None,
            }),
            status_line: reader.texts("tui.status_line"),
            is_for_screen_reader: flag_or_default!(reader, "tui.screen_reader"),
            has_mouse: flag_or_default!(reader, "tui.mouse"),
            frame_rate: count_or_default!(reader, "tui.frame_rate").clamp(1, 120),
            has_animations: flag_or_default!(reader, "tui.animations"),
            has_vim: flag_or_default!(reader, "tui.vim_mode_default"),
            vim_escape: reader.text("tui.vim_escape"),
            title: title(reader.value("tui.terminal_title")),
            keymap: keymap(reader),
            finds_bursts: !flag_or_default!(reader, "disable_paste_burst"),
            skips_full_access_warning: flag_or_default!(reader, "notice.hide_full_access_warning"),
            keeps_messages: reader.text("history.persistence").as_deref() != Some("none"),
            messages_bytes_max: reader.count("history.max_bytes"),
        }
    }
}

/// The parts of the title: a list of words, or a switch.
fn title(value: Option<&Value>) -> Option<Vec<String>> {
    match value?.as_bool() {
        Some(is_on) => (!is_on).then(Vec::new),
        None => value.and_then(texts),
    }
}

fn keymap(reader: &Reader<'_>) -> BTreeMap<String, Vec<String>> {
    let mut keymap = BTreeMap::new();
    for place in reader.table("tui.keymap").into_iter().flat_map(Table::iter) {
        for action in place.value.as_table().into_iter().flat_map(Table::iter) {
            let keys = match action.value.as_str() {
                Some(key) => vec![key.to_owned()],
                None => texts(&action.value).unwrap_or_default(),
            };
            keymap.insert(format!("{}.{}", place.key, action.key), keys);
        }
    }
    keymap
}
