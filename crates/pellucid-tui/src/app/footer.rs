//! The last row: a hint or the mode on the left, what is left of the context on the right.

use std::path::Path;

use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::usage::TokenUsageInfo;
use ratatui_core::text::Line;
use ratatui_core::text::Span;
use unicode_width::UnicodeWidthStr;

use super::App;
use super::status::short;
use crate::cells::session::short_path;
use crate::keymap::table::Action;
use crate::text::width::shortened;

/// The tokens of every request that a person cannot change, which do not count.
const BASELINE: i64 = 12_000;

impl App {
    pub(super) fn footer(&self) -> Line<'static> {
        let dim = self.palette.dim();
        let left = if self.is_armed {
            Span::styled(self.key_hint("  ", Action::Escape, "again to edit an earlier message"), dim)
        } else if self.composer.is_vim_normal() {
            Span::styled("  normal mode, i to insert", self.palette.mode())
        } else if self.composer.can_bring_back() {
            Span::styled(self.key_hint("  ", Action::Undo, "to bring your text back"), dim)
        } else if self.session.is_working() && !self.composer.draft().is_empty() {
            Span::styled(self.key_hint("  ", Action::Queue, "to keep the message for the next turn"), dim)
        } else if let Some(alarm) = self.cache_alarm() {
            let room = usize::from(self.size.columns).saturating_sub(2);
            Span::styled(format!("  {}", shortened(&alarm, room)), self.palette.removed())
        } else if let Some(items) = self.settings.status_line.as_ref().filter(|items| !items.is_empty()) {
            Span::styled(format!("  {}", self.status_items(items)), dim)
        } else if self.mode == CollaborationModeKind::Plan {
            let hint = self.key_hint(" (", Action::NextMode, "to change)");
            Span::styled(format!("  Plan mode{hint}"), self.palette.mode())
        } else {
            Span::styled("  ? for keys", dim)
        };
        let right = match &self.settings.status_line {
            Some(items) if !items.is_empty() => String::new(),
            _ => context_left(self.session.usage.as_ref()),
        };
        let width = usize::from(self.size.columns);
        let room = width.saturating_sub(left.content.width());
        let fits = |text: &String| !text.is_empty() && text.width() + 4 <= room;
        let both = self.request_meter().filter(|_| !right.is_empty()).map(|meter| format!("{meter} · {right}"));
        let Some(right) = both.into_iter().chain([right]).find(fits) else {
            return Line::from(left);
        };
        let gap = " ".repeat(room - right.width() - 2);
        Line::from(vec![left, Span::raw(gap), Span::styled(right, dim)])
    }

    /// What a key does, with the key that the person has for it; empty if there is none.
    pub(super) fn key_hint(&self, before: &str, action: Action, what: &str) -> String {
        self.settings.keymap.hint(action).map_or_else(String::new, |key| format!("{before}{key} {what}"))
    }

    /// The items that the person chose, without those that have no value.
    fn status_items(&self, items: &[String]) -> String {
        let shown: Vec<String> = items.iter().filter_map(|item| self.status_item(item)).collect();
        shown.join(" · ")
    }

    fn status_item(&self, item: &str) -> Option<String> {
        let session = self.session.configured.as_ref()?;
        let usage = self.session.usage.as_ref();
        let total = usage.map(|usage| &usage.total_token_usage);
        let window = usage.and_then(|usage| usage.model_context_window).or(self.session.window);
        let left = || Some(percent_left(usage?.last_token_usage.total_tokens, window?));
        match item {
            "model-name" => Some(session.model.clone()),
            "model-with-reasoning" => {
                let effort = session.reasoning_effort.map_or_else(String::new, |effort| format!(" {effort}"));
                Some(format!("{}{effort}", session.model))
            }
            "current-dir" => Some(self.shown_path(&session.cwd)),
            "project-root" => self.settings.around.project_root.as_deref().map(|root| self.shown_path(root)),
            "git-branch" => self.settings.around.branch.clone(),
            "context-remaining" => Some(format!("{}% context left", left().unwrap_or(100))),
            "context-used" => Some(format!("{}% context used", 100 - left().unwrap_or(100))),
            "codex-version" => Some(format!("v{}", self.settings.version)),
            "context-window-size" => Some(format!("{} window", short(window?))),
            "used-tokens" => Some(format!("{} used", short(total?.total_tokens))),
            "total-input-tokens" => Some(format!("{} in", short(total?.input_tokens))),
            "total-output-tokens" => Some(format!("{} out", short(total?.output_tokens))),
            "session-id" => Some(session.session_id.as_str().to_owned()),
            item => self.paid_item(item),
        }
    }

    fn shown_path(&self, path: &Path) -> String {
        short_path(path, None, self.settings.transcript.home.as_deref())
    }
}

/// What is left of the model's context.
pub(super) fn context_left(usage: Option<&TokenUsageInfo>) -> String {
    let Some(usage) = usage else {
        return "100% context left".to_owned();
    };
    let used = usage.last_token_usage.total_tokens;
    match usage.model_context_window {
        Some(window) => format!("{}% context left", percent_left(used, window)),
        None => format!("{used} used"),
    }
}

/// How much of a window is left, in per cent.
pub(super) fn percent_left(used: i64, window: i64) -> i64 {
    if window <= BASELINE {
        return 0;
    }
    let window = i128::from(window - BASELINE);
    let used = (i128::from(used) - i128::from(BASELINE)).max(0);
    let left = (window - used).max(0);
    i64::try_from((left * 200 + window) / (window * 2)).unwrap_or(0).clamp(0, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_leaves_out_what_every_request_has() {
        for (used, window, expected) in [
            (0, 272_000, 100),
            (12_000, 272_000, 100),
            (142_000, 272_000, 50),
            (300_000, 272_000, 0),
            (5, 9_000, 0),
            (i64::MIN, i64::MAX, 100),
        ] {
            assert_eq!(percent_left(used, window), expected, "{used} of {window}");
        }
    }
}
