//! Skills that an input asks for by name, or seems to need.

use std::collections::BTreeSet;

use super::files::StandingSkill;

/// A skill whose name is in the input.
const NAMED: u32 = 1000;

/// A lower score counts as no match.
const SCORE_MIN: u32 = 2;

/// How much of a run of characters without blanks is looked at.
const RUN_MAX: usize = 32;

/// Every `$name` of a text, in order, each once.
pub fn named(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices('$') {
        let rest = &text[at + 1..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len()).min(64);
        let name = &rest[..end];
        if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The skills that a text seems to need: the best few, by words that they share with it.
pub fn guessed(text: &str, skills: &[StandingSkill], n_skills: usize) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = tokens(&lower);
    let mut scored: Vec<(u32, &str)> = skills
        .iter()
        .map(|skill| (score(&lower, &words, skill), skill.name.as_str()))
        .filter(|(score, _)| *score >= SCORE_MIN)
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(n_skills).map(|(_, name)| name.to_owned()).collect()
}

fn score(lower: &str, words: &BTreeSet<String>, skill: &StandingSkill) -> u32 {
    let name = skill.name.to_lowercase();
    if !name.is_empty() && lower.contains(&name) {
        return NAMED;
    }
    let named = tokens(&name).intersection(words).count() as u32 * 3;
    let described = tokens(&skill.description.to_lowercase());
    let described: u32 = described.intersection(words).map(|word| if word.is_ascii() { 1 } else { 2 }).sum();
    named + described
}

/// Words of three letters or more; of scripts without blanks the run itself and its pieces.
fn tokens(text: &str) -> BTreeSet<String> {
    let mut tokens = BTreeSet::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() >= 3) {
        tokens.insert(word.to_owned());
    }
    for run in text.split(|c: char| !is_cjk(c)) {
        let run: Vec<char> = run.chars().take(RUN_MAX).collect();
        if (2..=6).contains(&run.len()) {
            tokens.insert(run.iter().collect());
        }
        for n in [2, 3] {
            tokens.extend(run.windows(n).map(|piece| piece.iter().collect::<String>()));
        }
    }
    tokens
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, description: &str) -> StandingSkill {
        StandingSkill {
            name: name.to_owned(),
            description: description.to_owned(),
            source: String::new(),
            text: "".into(),
        }
    }

    #[test]
    fn names_after_a_dollar_are_asked_for() {
        assert_eq!(named("use $alpha and $Beta-2, $alpha; not $-x or $ y"), ["alpha", "Beta-2"]);
    }

    #[test]
    fn the_best_few_are_guessed() {
        let skills = [
            skill("deploy", "roll out a release to servers"),
            skill("release-notes", "write notes for a release"),
            skill("paint", "colours"),
            skill("翻译", "翻译文档"),
        ];
        assert_eq!(guessed("please deploy the release", &skills, 2), ["deploy", "release-notes"]);
        assert_eq!(guessed("请翻译这个文档", &skills, 2), ["翻译"]);
        assert!(guessed("hello", &skills, 2).is_empty());
    }
}
