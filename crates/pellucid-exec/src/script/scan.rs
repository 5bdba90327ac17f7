//! Words of a text that cannot be parsed reliably: too long, broken, or put together from pieces.
//!
//! Quotes and backslashes are dropped and every word may begin a command, so neither length nor a broken
//! bracket hides one. One pass.

use pellucid_engine::approval::part::Begins;
use pellucid_engine::approval::part::Seen;

/// The runs of words between marks that end a command.
pub(super) fn scan(text: &str) -> Vec<Seen> {
    let mut runs = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for char in text.chars() {
        let is_end = matches!(char, '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' | '`');
        if is_end || char.is_whitespace() || matches!(char, '{' | '}' | ',') {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if is_end && !words.is_empty() {
                runs.push(Seen { words: std::mem::take(&mut words), begins: Begins::Anywhere });
            }
        } else if !matches!(char, '\'' | '"' | '\\') {
            word.push(char);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    if !words.is_empty() {
        runs.push(Seen { words, begins: Begins::Anywhere });
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_told_once() {
        let text = "(( 'curl  x' && c\"u\"\\rl;\n{curl,y} `z`";
        let runs: Vec<String> = scan(text).iter().map(|seen| seen.words.join(" ")).collect();
        assert_eq!(runs, ["curl x", "curl", "curl y", "z"]);
        assert_eq!(scan(" ; \n"), []);
    }
}
