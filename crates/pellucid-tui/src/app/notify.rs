//! Notifications of the terminal, while its window does not have the focus.

use unicode_segmentation::UnicodeSegmentation;

use super::App;
use super::Effect;

/// How much of an answer a notification has.
const ANSWER_MAX: usize = 200;

/// How much of a question a notification has.
const QUESTION_MAX: usize = 100;

impl App {
    /// Notifies that a turn has ended.
    pub(super) fn notify_turn(&self, answer: Option<&str>, effects: &mut Vec<Effect>) {
        if self.settings.notifying.of_turns {
            let text = answer.map(str::trim).filter(|text| !text.is_empty()).unwrap_or("The turn is complete");
            self.notify(text, ANSWER_MAX, effects);
        }
    }

    /// The folder of the session, as a notification names it.
    pub(super) fn in_folder(&self) -> String {
        let folder = self.session.configured.as_ref().and_then(|session| session.cwd.file_name());
        folder.map_or_else(String::new, |name| format!(" in {}", name.to_string_lossy()))
    }

    /// Notifies that something is asked.
    pub(super) fn notify_question(&self, text: &str, effects: &mut Vec<Effect>) {
        if self.settings.notifying.of_questions {
            self.notify(text, QUESTION_MAX, effects);
        }
    }

    fn notify(&self, text: &str, graphemes_max: usize, effects: &mut Vec<Effect>) {
        if self.terminal.has_focus {
            return;
        }
        let bytes = if self.settings.notifying.has_text {
            let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let shown: String = one_line.graphemes(true).take(graphemes_max).collect();
            let shown: String = shown.chars().filter(|char| !char.is_control()).collect();
            format!("\x1b]9;{shown}\x07")
        } else {
            "\x07".to_owned()
        };
        effects.push(Effect::Write(bytes.into_bytes()));
    }
}
