//! Likeness and summaries without a model, for those who have none at hand.
//!
//! A text's vector counts its words, each in a place that its letters decide; rare places of two
//! texts agree when they share words. A summary is the first sentence of every line. Both are the
//! same everywhere and need no network, and neither understands anything.

use super::ask::SummaryMessage;
use super::entry::ChatRole;

/// How many places a vector has.
const N_PLACES: usize = 512;

/// How many characters of each line a summary keeps.
const SENTENCE_CHARS_MAX: usize = 200;

/// How many characters a summary has at most.
const SUMMARY_CHARS_MAX: usize = 2000;

/// The vector of a text, of length one.
pub fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; N_PLACES];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word
            .chars()
            .flat_map(char::to_lowercase)
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, c| (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3));
        let place = usize::try_from(hash % N_PLACES as u64).unwrap_or(0);
        vector[place] += 1.0;
    }
    // The weight of a word grows slower than its count.
    for count in &mut vector {
        *count = count.ln_1p();
    }
    let length = vector.iter().map(|count| count * count).sum::<f32>().sqrt();
    if length > 0.0 {
        for count in &mut vector {
            *count /= length;
        }
    }
    vector
}

/// A summary of what a request for one shows.
///
/// # Errors
/// When it shows nothing.
pub fn summary(messages: &[SummaryMessage]) -> Result<String, String> {
    let text = messages.iter().filter(|message| message.role == ChatRole::User).map(|message| message.content.as_str());
    let mut summary = String::new();
    for line in text.flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty()) {
        if summary.chars().count() > SUMMARY_CHARS_MAX {
            break;
        }
        if !summary.is_empty() {
            summary.push('\n');
        }
        let sentence = line.find(". ").map_or(line, |end| &line[..=end]);
        summary.extend(sentence.chars().take(SENTENCE_CHARS_MAX));
    }
    if summary.is_empty() { Err("there is nothing to summarise".to_owned()) } else { Ok(summary) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(a: &str, b: &str) -> f32 {
        vector(a).iter().zip(vector(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn texts_that_share_words_are_alike() {
        assert!(likeness("the dragon sleeps", "A Dragon!") > likeness("the ship sails", "A Dragon!"));
        assert!((likeness("same words", "Words, same") - 1.0).abs() < 1e-6);
        assert_eq!(likeness("", "x"), 0.0);
    }

    #[test]
    fn a_summary_is_the_first_sentence_of_every_line() {
        let message =
            SummaryMessage { role: ChatRole::User, content: "user: Do it. Now.\n\nassistant: done".to_owned() };
        assert_eq!(summary(&[message]).unwrap(), "user: Do it.\nassistant: done");
    }
}
