//! Rules: what a person wrote about commands that begin in a certain way.
//!
//! A rule matches when the first words of a command are the words of the rule, letter by letter. All
//! rules that match count, and the strictest of them wins; no rule overrides another.
//!
//! Rules that ask or forbid are also compared with every command that can be seen in a script. There the folder before
//! a program's name is ignored.
//!
//! Not here: the files that rules are written in (`pellucid-exec`).

use std::collections::BTreeMap;
use std::fmt;

use pellucid_protocol::approval::RuleDecision;

use crate::approval::part::Begins;
use crate::approval::part::Seen;
use crate::approval::wrapper::base_name;
use crate::facts::PrefixToken;

/// A rule about commands that begin in a certain way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The first word that a command must have.
    pub first: String,
    /// The words that must follow the first.
    pub rest: Vec<PrefixToken>,
    /// What the rule decides about commands that match.
    pub decision: RuleDecision,
    /// The author's reason for the rule.
    pub justification: Option<String>,
    /// Where the rule is written.
    pub place: RulePlace,
}

/// Where a rule is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RulePlace {
    /// A rules file has the rule.
    File {
        /// The path of the file.
        path: String,
        /// The number of the line, from 1.
        line: usize,
    },
    /// The administrator's requirements have the rule.
    Requirements {
        /// The number of the rule among the requirements, from 1.
        number: usize,
    },
    /// A person allowed the prefix in this session; the rule may not have been saved.
    Session,
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Requirements { number } => write!(f, "requirements.toml, rule {number}"),
            Self::Session => f.write_str("this session"),
        }
    }
}

impl Rule {
    /// A rule for a prefix that a person allowed in this session; absent if the prefix has no words.
    pub fn allowed_in_session(prefix: &[String]) -> Option<Self> {
        let (first, rest) = prefix.split_first()?;
        Some(Self {
            first: first.clone(),
            rest: rest.iter().map(|word| PrefixToken::Word(word.clone())).collect(),
            decision: RuleDecision::Allow,
            justification: None,
            place: RulePlace::Session,
        })
    }

    /// How many words a command must begin with.
    pub fn n_words(&self) -> usize {
        self.rest.len() + 1
    }

    /// The first words of a command, if the rule matches them.
    pub fn matched<'w>(&self, words: &'w [String]) -> Option<&'w [String]> {
        let prefix = words.get(..self.n_words())?;
        let (first, rest) = prefix.split_first()?;
        let is_match = *first == self.first && self.rest.iter().zip(rest).all(|(token, word)| is_word(token, word));
        is_match.then_some(prefix)
    }

    /// The first words of a command, if the rule matches them without the folder before the program's name.
    fn matched_behind<'w>(&self, words: &'w [String]) -> Option<&'w [String]> {
        let prefix = words.get(..self.n_words())?;
        let is_match = self.rest.iter().zip(&prefix[1..]).all(|(token, word)| is_word(token, word));
        is_match.then_some(prefix)
    }

    /// All words of the rule, the first included.
    pub fn tokens(&self) -> Vec<PrefixToken> {
        let first = PrefixToken::Word(self.first.clone());
        std::iter::once(first).chain(self.rest.iter().cloned()).collect()
    }
}

/// The rule as a line of a rules file.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.tokens().iter().map(token_text).collect();
        write!(f, "prefix_rule(pattern=[{}], decision={}", words.join(", "), quoted(self.decision.as_str()))?;
        if let Some(justification) = &self.justification {
            write!(f, ", justification={}", quoted(justification))?;
        }
        f.write_str(")")
    }
}

fn is_word(token: &PrefixToken, word: &str) -> bool {
    match token {
        PrefixToken::Word(one) => one == word,
        PrefixToken::OneOf(many) => many.iter().any(|one| one == word),
    }
}

/// Whether a pattern of file names (`*`, `?`, `[…]`) matches a name. A list of characters matches any character.
///
/// The search goes back to one place only, so it takes at most the product of both lengths.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let pattern = pattern_pieces(pattern);
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n, mut back) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(Piece::Many) => {
                back = Some((p, n));
                p += 1;
            }
            Some(Piece::One) => (p, n) = (p + 1, n + 1),
            Some(Piece::Exactly(it)) if *it == name[n] => (p, n) = (p + 1, n + 1),
            _ => match back {
                Some((star, from)) => {
                    back = Some((star, from + 1));
                    (p, n) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|piece| matches!(piece, Piece::Many))
}

enum Piece {
    Many,
    One,
    Exactly(char),
}

fn pattern_pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        let end = || rest.as_str().char_indices().skip(1).find(|(_, it)| *it == ']').map(|(at, _)| at + 1);
        pieces.push(match next {
            '*' => Piece::Many,
            '?' => Piece::One,
            '[' => match end() {
                Some(at) => {
                    rest = rest.as_str()[at..].chars();
                    Piece::One
                }
                None => Piece::Exactly('['),
            },
            other => Piece::Exactly(other),
        });
    }
    pieces
}

fn token_text(token: &PrefixToken) -> String {
    match token {
        PrefixToken::Word(word) => quoted(word),
        PrefixToken::OneOf(words) => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("[{}]", words.join(", "))
        }
    }
}

/// A text as rules files quote it, which is the JSON form.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The rules that count, by their first words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    by_first: BTreeMap<String, Vec<Rule>>,
}

impl Rules {
    /// Adds a rule. The rules of one first word keep their order.
    pub fn add(&mut self, rule: Rule) {
        self.by_first.entry(rule.first.clone()).or_default().push(rule);
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.by_first.is_empty()
    }

    /// All rules, by their first words.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.by_first.values().flatten()
    }

    /// The rules that a command matches.
    pub fn matching<'r>(&'r self, words: &'r [String]) -> impl Iterator<Item = &'r Rule> {
        let same_first = words.first().and_then(|first| self.by_first.get(first));
        same_first.into_iter().flatten().filter(|rule| rule.matched(words).is_some())
    }

    /// The rules that ask or forbid and that match a command seen in a script, each with the words it matches.
    pub fn tightening<'r>(&'r self, seen: &'r Seen) -> Vec<(&'r Rule, &'r [String])> {
        match seen.begins {
            Begins::First => self.tightening_named(&seen.words).collect(),
            Begins::Anywhere => (0..seen.words.len()).flat_map(|at| self.tightening_named(&seen.words[at..])).collect(),
            Begins::Pattern => {
                let pattern = seen.words.first().map(|word| base_name(word)).unwrap_or_default();
                let rules = self.iter().filter(|rule| matches_pattern(pattern, &rule.first));
                let found = rules.filter_map(|rule| Some((rule, rule.matched_behind(&seen.words)?)));
                found.filter(|(rule, _)| rule.decision != RuleDecision::Allow).collect()
            }
        }
    }

    fn tightening_named<'r>(&'r self, words: &'r [String]) -> impl Iterator<Item = (&'r Rule, &'r [String])> {
        let full = words.first().map(String::as_str).unwrap_or_default();
        let base = base_name(full);
        let names = std::iter::once(full).chain((base != full).then_some(base));
        let rules = names.filter_map(|name| self.by_first.get(name)).flatten();
        let found = rules.filter_map(|rule| Some((rule, rule.matched_behind(words)?)));
        found.filter(|(rule, _)| rule.decision != RuleDecision::Allow)
    }

    /// The prefixes that rules allow, for the text to the model.
    pub fn allowed_prefixes(&self) -> Vec<Vec<PrefixToken>> {
        let mut prefixes: Vec<_> =
            self.iter().filter(|rule| rule.decision == RuleDecision::Allow).map(Rule::tokens).collect();
        prefixes.sort();
        prefixes.dedup();
        prefixes
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<T: IntoIterator<Item = Rule>>(rules: T) -> Self {
        let mut all = Self::default();
        for rule in rules {
            all.add(rule);
        }
        all
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Words between blanks; alternatives between bars.
    pub(crate) fn rule(line: usize, decision: RuleDecision, pattern: &str, justification: Option<&str>) -> Rule {
        let mut tokens = pattern.split(' ').map(|word| match word.split_once('|') {
            Some(_) => PrefixToken::OneOf(word.split('|').map(str::to_owned).collect()),
            None => PrefixToken::Word(word.to_owned()),
        });
        let Some(PrefixToken::Word(first)) = tokens.next() else {
            panic!("a rule begins with a word");
        };
        Rule {
            first,
            rest: tokens.collect(),
            decision,
            justification: justification.map(str::to_owned),
            place: RulePlace::File { path: "a.rules".to_owned(), line },
        }
    }

    /// Lines `decision pattern [# justification]`.
    pub(crate) fn rules(text: &str) -> Rules {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(at, line)| {
                let (line, justification) = match line.split_once(" # ") {
                    Some((line, justification)) => (line, Some(justification)),
                    None => (line, None),
                };
                let (decision, pattern) = line.trim().split_once(' ').expect("a decision and a pattern");
                rule(at + 1, RuleDecision::from_word(decision).expect("a decision"), pattern, justification)
            })
            .collect()
    }

    /// The words of a text, which single blanks separate.
    pub(crate) fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::testing::rules;
    use super::testing::words;
    use super::*;

    #[track_caller]
    fn check_matches(text: &str, command: &str, expected: &Expect) {
        let (rules, command) = (rules(text), words(command));
        let found: Vec<String> = rules
            .matching(&command)
            .map(|rule| format!("{} {rule} {:?}\n", rule.place, rule.matched(&command).unwrap()))
            .collect();
        expected.assert_eq(&found.concat());
    }

    #[test]
    fn words_are_compared_letter_by_letter() {
        let text = "allow git\nprompt git push|pull -f # Mind the others.\nforbidden Git push";
        check_matches(
            text,
            "git push -f origin",
            &expect![[r#"
                a.rules:1 prefix_rule(pattern=["git"], decision="allow") ["git"]
                a.rules:2 prefix_rule(pattern=["git", ["push", "pull"], "-f"], decision="prompt", justification="Mind the others.") ["git", "push", "-f"]
            "#]],
        );
        check_matches(text, "/usr/bin/git push -f", &expect![[""]]);
        check_matches(
            text,
            "git push",
            &expect![[r#"
            a.rules:1 prefix_rule(pattern=["git"], decision="allow") ["git"]
        "#]],
        );
        check_matches("prompt touch /outside", "touch /outside/x", &expect![[""]]);
    }

    #[track_caller]
    fn check_tightening(text: &str, begins: Begins, command: &str, expected: &str) {
        let (rules, seen) = (rules(text), Seen { words: words(command), begins });
        let found: Vec<String> = rules
            .tightening(&seen)
            .iter()
            .map(|(rule, words)| format!("{}: {}", rule.place, words.join(" ")))
            .collect();
        assert_eq!(found.join(", "), expected, "{command}");
    }

    #[test]
    fn rules_that_ask_or_forbid_see_through_folders_and_patterns() {
        let text = "allow curl\nforbidden curl\nprompt git push|pull\nforbidden /opt/x";
        check_tightening(text, Begins::First, "/usr/bin/curl x", "a.rules:2: /usr/bin/curl");
        check_tightening(text, Begins::First, "curl", "a.rules:2: curl");
        check_tightening(text, Begins::First, "./git pull", "a.rules:3: ./git pull");
        check_tightening(text, Begins::First, "echo curl", "");
        check_tightening(text, Begins::First, "/opt/x", "a.rules:4: /opt/x");
        check_tightening(text, Begins::First, "x", "");
        check_tightening(text, Begins::Anywhere, "a -b /bin/curl c", "a.rules:2: /bin/curl");
        check_tightening(text, Begins::Anywhere, "a git push curl", "a.rules:3: git push, a.rules:2: curl");
        for pattern in ["cur?", "/usr/bin/c*", "c[u]rl", "*", "[!x]ur[a-z]", "c**l"] {
            check_tightening("forbidden curl", Begins::Pattern, pattern, &format!("a.rules:1: {pattern}"));
        }
        for pattern in ["cur", "?", "c[u]r", "cu[rl", "b*"] {
            check_tightening("forbidden curl", Begins::Pattern, pattern, "");
        }
    }

    #[test]
    fn a_rule_of_the_session_is_made_of_words() {
        let rule = Rule::allowed_in_session(&words("touch a")).unwrap();
        expect![[r#"prefix_rule(pattern=["touch", "a"], decision="allow")"#]].assert_eq(&rule.to_string());
        assert_eq!(rule.place.to_string(), "this session");
        assert_eq!(Rule::allowed_in_session(&[]), None);
    }

    #[test]
    fn what_is_allowed_is_listed_once() {
        let rules = rules("allow b\nallow a x|y\nforbidden c\nallow b");
        let word = |word: &str| PrefixToken::Word(word.to_owned());
        let either = PrefixToken::OneOf(words("x y"));
        assert_eq!(rules.allowed_prefixes(), [vec![word("a"), either], vec![word("b")]]);
    }
}
