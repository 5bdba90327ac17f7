//! The lines after the end: what was used, and how to continue.

use pellucid_protocol::usage::TokenUsage;

use super::App;

impl App {
    /// The lines for standard output, if any tokens were used. `program` is the name by which it is called.
    pub fn farewell(&self, program: &str) -> Vec<String> {
        let Some(usage) = self.session.usage.as_ref().map(|usage| &usage.total_token_usage) else {
            return Vec::new();
        };
        if usage.total_tokens == 0 {
            return Vec::new();
        }
        let mut lines = vec![format!("Token usage: {}", totals(usage))];
        if let Some(session) = &self.session.configured {
            let name = self.session.name.clone().unwrap_or_else(|| session.session_id.as_str().to_owned());
            lines.push(format!("To continue this session, run {program} resume {}", shell_word(&name)));
        }
        lines
    }
}

/// The totals of a session, without cached tokens in the input.
fn totals(usage: &TokenUsage) -> String {
    let input = usage.input_tokens.saturating_sub(usage.cached_input_tokens).max(0);
    let total = input + usage.output_tokens;
    let mut text = format!("total={} input={}", grouped(total), grouped(input));
    if usage.cached_input_tokens > 0 {
        text += &format!(" (+ {} cached)", grouped(usage.cached_input_tokens));
    }
    text += &format!(" output={}", grouped(usage.output_tokens));
    if usage.reasoning_output_tokens > 0 {
        text += &format!(" (reasoning {})", grouped(usage.reasoning_output_tokens));
    }
    text
}

/// A number with commas between groups of three digits.
pub(crate) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// A word as a shell takes it, with `--` before a dash that would be an option.
fn shell_word(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:@%+=,".contains(char);
    let quoted = if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    };
    if word.starts_with('-') { format!("-- {quoted}") } else { quoted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_name_only_what_was_used() {
        let usage =
            TokenUsage { input_tokens: 12_345, output_tokens: 7, total_tokens: 12_352, ..TokenUsage::default() };
        assert_eq!(totals(&usage), "total=12,352 input=12,345 output=7");
        let usage = TokenUsage { cached_input_tokens: 2_000, reasoning_output_tokens: 5, ..usage };
        assert_eq!(totals(&usage), "total=10,352 input=10,345 (+ 2,000 cached) output=7 (reasoning 5)");
    }

    #[test]
    fn names_are_quoted_for_a_shell() {
        for (name, expected) in
            [("abc-1", "abc-1"), ("two words", "'two words'"), ("-x", "-- -x"), ("it's", "'it'\\''s'")]
        {
            assert_eq!(shell_word(name), expected);
        }
    }
}
