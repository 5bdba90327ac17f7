//! Blanks keys in texts that are written or shown: recordings, and a server's words when it refuses.
//!
//! A key may be split over the pieces in which a text arrives, so pieces that belong together are examined together.

use pellucid_protocol::failure::Failure;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::secret::Secret;
use serde_json::Value;

/// The text in place of a key.
const BLANK: &str = "[secret]";

/// The minimal length of a key: servers of this machine are given words such as `none` or `ollama`, which are not
/// secret and would be blanked in ordinary text.
const KEY_CHARS_MIN: usize = 8;

/// The secrets that must not be written or shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    keys: Vec<Secret>,
}

impl Redactor {
    pub(crate) fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut keys: Vec<Secret> =
            secrets.into_iter().filter(|secret| secret.reveal().chars().count() >= KEY_CHARS_MIN).collect();
        // The longest first, because one key may begin with another.
        keys.sort_by_key(|key| std::cmp::Reverse(key.reveal().len()));
        Self { keys }
    }

    /// Blanks keys in every text of a value.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(list) => list.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(table) => table.into_iter().map(|(key, value)| (self.text(key), self.value(value))).collect(),
            other => other,
        }
    }

    /// Blanks keys that are split over pieces of a text. The number of pieces stays: the first then has the whole text.
    pub(crate) fn deltas(&self, events: &mut [ReplyEvent]) {
        if self.keys.is_empty() {
            return;
        }
        let mut start = 0;
        for end in 0..=events.len() {
            let is_border =
                events.get(end).is_none_or(|event| matches!(event, ReplyEvent::ItemAdded(_) | ReplyEvent::ItemDone(_)));
            if is_border {
                self.pieces(&mut events[start..end]);
                start = end;
            }
        }
    }

    fn pieces(&self, events: &mut [ReplyEvent]) {
        let mut texts: Vec<((u8, i64), Vec<&mut String>)> = Vec::new();
        for event in events {
            let (of, piece) = match event {
                ReplyEvent::TextDelta(piece) => ((0, 0), piece),
                ReplyEvent::SummaryDelta { delta, summary_index } => ((1, *summary_index), delta),
                ReplyEvent::RawReasoningDelta { delta, content_index } => ((2, *content_index), delta),
                _ => continue,
            };
            match texts.iter_mut().find(|(known, _)| *known == of) {
                Some((_, pieces)) => pieces.push(piece),
                None => texts.push((of, vec![piece])),
            }
        }
        for (_, mut pieces) in texts {
            let whole: String = pieces.iter().map(|piece| piece.as_str()).collect();
            if self.has_key(&whole) {
                pieces.iter_mut().for_each(|piece| piece.clear());
                if let Some(first) = pieces.first_mut() {
                    **first = self.text(whole);
                }
            }
        }
    }

    /// Blanks keys in the text of an error, and the logins in every address there.
    pub(crate) fn error(&self, error: ReplyError) -> ReplyError {
        let blanked = |text: String| without_logins(&self.text(text));
        let failure = Failure { plain: error.failure.plain.map(blanked), ..error.failure };
        ReplyError { message: blanked(error.message), failure, ..error }
    }

    fn has_key(&self, text: &str) -> bool {
        self.keys.iter().any(|key| text.contains(key.reveal()))
    }

    fn text(&self, text: String) -> String {
        let mut text = text;
        for key in &self.keys {
            if text.contains(key.reveal()) {
                text = text.replace(key.reveal(), BLANK);
            }
        }
        text
    }
}

/// A text whose addresses have no login: `scheme://user:password@host` becomes `scheme://[secret]@host`.
pub(crate) fn without_logins(text: &str) -> String {
    const MARK: &str = "://";
    let mut pieces = text.split(MARK);
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let authority =
            piece.split(|c: char| c.is_whitespace() || "/?#\"'<>()`".contains(c)).next().unwrap_or_default();
        shown.push_str(MARK);
        match authority.rfind('@') {
            Some(at) => {
                shown.push_str(BLANK);
                shown.push_str(&piece[at..]);
            }
            None => shown.push_str(piece),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_do_not_say_who_logs_in() {
        for (text, expected) in [
            ("no https://host/a@b here", "no https://host/a@b here"),
            ("(http://ada:pw@proxy:3128/)", "(http://[secret]@proxy:3128/)"),
            ("a://u@b, c://x:y@z@w d@e", "a://[secret]@b, c://[secret]@w d@e"),
            ("://", "://"),
            ("é://ü:ß@ö", "é://[secret]@ö"),
        ] {
            assert_eq!(without_logins(text), expected);
        }
    }
}
