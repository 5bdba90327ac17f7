//! The page of `/keymap`: every key with what it does, and what is wrong with the keys of the configuration.

use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::App;
use crate::cells::notice::NoticeKind;
use crate::keymap::table::ACTIONS;
use crate::keymap::table::ActionRow;
use crate::keymap::table::Place;
use crate::text::width::columns;

/// The widest that keys are set side by side with the name of their action.
const KEYS_WIDTH_MAX: usize = 30;

impl App {
    /// Lists every key with what it does.
    pub(super) fn show_keys(&mut self) {
        let keymap = &self.settings.keymap;
        let mut lines = Vec::new();
        for problem in keymap.problems() {
            lines.push(Line::from(Span::styled(problem.to_string(), self.palette.removed())));
        }
        let change = "`[tui.keymap]` in config.toml changes keys, as in: composer.undo = [\"ctrl-_\", \"f2\"]";
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::from(Span::styled(change, self.palette.dim())));
        let keys = |row: &ActionRow| {
            let keys: Vec<String> = keymap.keys(row.action).iter().map(ToString::to_string).collect();
            if keys.is_empty() { "no key".to_owned() } else { keys.join(", ") }
        };
        let width = ACTIONS.iter().map(|row| columns(&keys(row)) + 2).max().unwrap_or(0).min(KEYS_WIDTH_MAX);
        for place in Place::ALL {
            lines.push(Line::default());
            lines.push(Line::from(Span::styled(place.title(), self.palette.bold())));
            for row in ACTIONS.iter().filter(|row| row.place == place) {
                let changed = if keymap.is_changed(row.action) { " (changed)" } else { "" };
                lines.push(Line::from(vec![
                    Span::styled(format!("{:<width$}", keys(row)), self.palette.accent()),
                    Span::raw(format!("{:<27}", row.name)),
                    Span::styled(format!("{}{changed}", row.help), self.palette.dim()),
                ]));
            }
        }
        self.open_text("Keys", lines);
    }

    /// Says what is wrong with the keys of the configuration.
    pub(super) fn say_key_problems(&mut self) {
        let problems: Vec<String> = self.settings.keymap.problems().iter().map(ToString::to_string).collect();
        for problem in problems {
            self.say(NoticeKind::Warning, &problem, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;
    use crate::commands::COMMANDS;

    /// Compares a part of a page between two marks, or writes it when `UPDATE_EXPECT=1`.
    fn check_part(name: &str, part: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        let page = std::fs::read_to_string(&path).unwrap();
        let (begin, end) = (format!("<!-- {part}: begin -->\n"), format!("<!-- {part}: end -->\n"));
        let (before, rest) = page.split_once(&begin).expect("the part has a beginning");
        let (_, after) = rest.split_once(&end).expect("the part has an end");
        let expected = format!("{before}{begin}{text}{end}{after}");
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert!(page == expected, "docs/{name}: {part}: `cargo xtask docs --bless` writes what the table says");
        }
    }

    #[test]
    fn the_tables_of_keys_and_commands_in_the_page_about_the_terminal_is_up_to_date() {
        let mut text = String::new();
        for place in Place::ALL {
            let _ = write!(text, "\n### {}\n\n| keys | action | name |\n| --- | --- | --- |\n", place.title());
            for row in ACTIONS.iter().filter(|row| row.place == place) {
                let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
                let _ = writeln!(text, "| {} | {} | `{}` |", keys.join(", "), row.help, row.name);
            }
        }
        check_part("terminal.md", "keys", &(text + "\n"));
        let mut text = "\n| command | what it does | while a turn runs |\n| --- | --- | --- |\n".to_owned();
        for row in COMMANDS.iter().filter(|row| !row.is_hidden) {
            let when = if row.while_working { "yes" } else { "no" };
            let _ = writeln!(text, "| `/{}` | {} | {when} |", row.name, row.help);
        }
        check_part("terminal.md", "commands", &(text + "\n"));
    }
}
