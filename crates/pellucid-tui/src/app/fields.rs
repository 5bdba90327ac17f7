//! A field for one text that a command asks for.

use std::time::Duration;

use pellucid_protocol::review::ReviewTarget;

use super::App;
use super::Effect;
use crate::composer::Composer;
use crate::composer::ComposerContext;
use crate::composer::ComposerEffect;
use crate::host::HostCall;
use crate::key::Key;

/// What a text is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldPurpose {
    /// The name of the session.
    Rename,
    /// What a review looks at.
    Review,
}

/// A field that is open.
#[derive(Debug)]
pub(super) struct OpenField {
    purpose: FieldPurpose,
    pub(super) title: String,
    pub(super) text: Composer,
}

impl App {
    pub(super) fn open_field(&mut self, purpose: FieldPurpose, title: &str) {
        self.field = Some(OpenField { purpose, title: title.to_owned(), text: Composer::new(0) });
    }

    /// Takes a key while a field is open.
    pub(super) fn field_key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        let Some(field) = &mut self.field else { return Vec::new() };
        let context = ComposerContext {
            keymap: &self.settings.keymap,
            commands: &[],
            prompts: &[],
            skills: &[],
            is_working: false,
            finds_bursts: false,
        };
        let wishes = field.text.press(key, now, &context);
        let mut effects = Vec::new();
        for wish in wishes {
            let text = match wish {
                ComposerEffect::Send(message) => message.text,
                ComposerEffect::Shell(text) => format!("!{text}"),
                ComposerEffect::UnknownCommand(_) => field_text(self.field.as_ref()),
                ComposerEffect::Escape | ComposerEffect::Cancel | ComposerEffect::End => {
                    self.field = None;
                    return effects;
                }
                _ => continue,
            };
            if let Some(field) = self.field.take() {
                self.field_done(field.purpose, text.trim(), &mut effects);
            }
        }
        effects
    }

    pub(super) fn field_done(&mut self, purpose: FieldPurpose, text: &str, effects: &mut Vec<Effect>) {
        match purpose {
            FieldPurpose::Rename if text.is_empty() => self.say_error("a name cannot be blank"),
            FieldPurpose::Rename => effects.push(Effect::Ask(HostCall::Rename(text.to_owned()))),
            FieldPurpose::Review if text.is_empty() => self.say_error("say what is to be looked at"),
            FieldPurpose::Review => {
                self.review(ReviewTarget::Custom { instructions: text.to_owned() }, effects);
            }
        }
    }
}

fn field_text(field: Option<&OpenField>) -> String {
    field.map_or_else(String::new, |field| field.text.draft().clip().expanded())
}
