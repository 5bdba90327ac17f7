//! The promises of `conformance/claimed.txt`: scenarios and the parts of them that are equal.
//!
//! A line is `scenario part,part`; `#` opens a comment. The file is written and read here.
//!
//! Not here: running anything.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

/// The parts a comparison knows, in its own order.
pub const PARTS: [&str; 7] = ["requests", "headers", "rollouts", "events", "stdout", "exit", "files"];

/// Scenarios and their claimed parts, each an index in [`PARTS`].
///
/// Invariant: every scenario has a part.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Claims {
    parts: BTreeMap<String, BTreeSet<usize>>,
}

impl Claims {
    /// Reads the file's text; a name that `is_scenario` does not know is an error.
    pub fn parse(text: &str, is_scenario: impl Fn(&str) -> bool) -> Result<Self> {
        let mut claims = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<_> = line.split_whitespace().collect();
            let (name, list) = match words[..] {
                [] => continue,
                [name, list] => (name, list),
                _ => bail!("line {}: not of the form `scenario part,part`", at + 1),
            };
            if !is_scenario(name) {
                bail!("line {}: there is no scenario {name}", at + 1);
            }
            if claims.parts.contains_key(name) {
                bail!("line {}: {name} is claimed twice", at + 1);
            }
            for part in list.split(',') {
                if !claims.add(name, part) {
                    let known = PARTS.join(", ");
                    bail!("line {}: there is no part {part}; known: {known}", at + 1);
                }
            }
        }
        Ok(claims)
    }

    /// Adds a part of a scenario; returns whether there is such a part.
    pub fn add(&mut self, name: &str, part: &str) -> bool {
        let Some(at) = PARTS.iter().position(|it| *it == part) else {
            return false;
        };
        self.parts.entry(name.to_string()).or_default().insert(at);
        true
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub fn len(&self) -> usize {
        self.parts.len()
    }

    pub fn scenarios(&self) -> impl Iterator<Item = &str> {
        self.parts.keys().map(String::as_str)
    }

    /// The claims about these scenarios only.
    pub fn matching(mut self, names: &[String]) -> Self {
        self.parts.retain(|name, _| names.contains(name));
        self
    }

    /// Scenarios by the list of parts that is claimed of them.
    pub fn by_parts(&self) -> BTreeMap<String, Vec<&str>> {
        let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, parts) in &self.parts {
            groups.entry(list(parts)).or_default().push(name);
        }
        groups
    }

    /// Drops what a program that does nothing gets right too: parts of a scenario whose requests or exit codes differ,
    /// or, if `asks_model` says that there are no requests, whose other parts differ.
    pub fn keep_meaningful(&mut self, asks_model: impl Fn(&str) -> bool) {
        let place = |part: &str| PARTS.iter().position(|it| *it == part);
        let needed = [place("requests"), place("exit")];
        self.parts.retain(|name, parts| {
            let has_needed = needed.iter().flatten().all(|it| parts.contains(it));
            has_needed && (asks_model(name) || parts.len() == PARTS.len())
        });
    }

    /// The parts that are claimed of the scenarios `names` but are not in `equal`.
    pub fn lost_in(&self, equal: &Self, names: &[String]) -> Vec<(String, String)> {
        let none = BTreeSet::new();
        self.parts
            .iter()
            .filter(|(name, _)| names.contains(name))
            .filter_map(|(name, parts)| {
                let found = equal.parts.get(name).unwrap_or(&none);
                let lost: BTreeSet<_> = parts.difference(found).copied().collect();
                (!lost.is_empty()).then(|| (name.clone(), list(&lost)))
            })
            .collect()
    }

    /// Adds the claims of `other`; returns how many parts are new.
    pub fn merge(&mut self, other: &Self) -> usize {
        let mut n_new = 0;
        for (name, parts) in &other.parts {
            let own = self.parts.entry(name.clone()).or_default();
            n_new += parts.difference(own).count();
            own.extend(parts);
        }
        n_new
    }

    /// The file's new text: the comments at the head of the old one, then a line for each claim.
    pub fn written_over(&self, old: &str) -> String {
        let mut text = String::new();
        for line in old.lines().take_while(|it| it.starts_with('#')) {
            text.push_str(line);
            text.push('\n');
        }
        for (name, parts) in &self.parts {
            text.push_str(&format!("{name} {}\n", list(parts)));
        }
        text
    }
}

fn list(parts: &BTreeSet<usize>) -> String {
    let names: Vec<_> = parts.iter().map(|at| PARTS[*at]).collect();
    names.join(",")
}

/// How many scenarios a comparison found equal, from the totals that end its report.
pub fn n_equal(report: &str) -> Option<usize> {
    let (n, rest) = report.lines().next_back()?.split_once('/')?;
    rest.contains(" scenarios equal").then(|| n.parse().ok()).flatten()
}

/// The scenarios that a comparison's report lists as equal, each with its number of requests.
pub fn equal_scenarios(report: &str) -> impl Iterator<Item = (&str, usize)> {
    report.lines().filter_map(|line| {
        let (name, rest) = line.split_once(": equal (")?;
        let n_requests = rest.strip_suffix(" requests)")?.parse().ok()?;
        (!name.contains(char::is_whitespace)).then_some((name, n_requests))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;

    fn parse(text: &str) -> Result<Claims> {
        Claims::parse(text, |name| name.len() == 1)
    }

    #[test]
    fn the_parts_are_those_of_the_harness() {
        let path = program::root().join("conformance/compare.py");
        let source = std::fs::read_to_string(path).unwrap();
        let tuple = format!("PARTS = (\"{}\")", PARTS.join("\", \""));
        assert!(source.contains(&tuple), "no {tuple}");
    }

    #[test]
    fn comments_and_empty_lines_claim_nothing() {
        assert!(parse("# a\n\n  # b requests\n").unwrap().is_empty());
    }

    #[test]
    fn claims_of_the_same_parts_go_together() {
        let claims = parse("a exit,requests\nb requests # only\nc requests,exit\n").unwrap();
        let groups: Vec<_> = claims.by_parts().into_iter().collect();
        assert_eq!(groups, [("requests".to_string(), vec!["b"]), ("requests,exit".to_string(), vec!["a", "c"]),]);
    }

    #[test]
    fn what_cannot_be_held_is_refused() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(error("a exit\nab exit"), "line 2: there is no scenario ab");
        assert_eq!(error("a exit\na files"), "line 2: a is claimed twice");
        assert_eq!(error("a"), "line 1: not of the form `scenario part,part`");
        assert_eq!(
            error("a exits"),
            "line 1: there is no part exits; known: requests, headers, rollouts, events, stdout, exit, files"
        );
    }

    #[test]
    fn new_claims_are_added_and_old_ones_stay() {
        let mut claims = parse("# head\na exit\n").unwrap();
        let equal = parse("a requests\nb files\n").unwrap();
        let names = ["a".to_string(), "b".to_string()];
        assert_eq!(claims.lost_in(&equal, &names), [("a".to_string(), "exit".to_string())]);
        assert_eq!(claims.lost_in(&equal, &names[1..]), []);
        assert_eq!(claims.merge(&equal), 2);
        assert_eq!(claims.written_over("# head\nz exit\n# tail\n"), "# head\na requests,exit\nb files\n");
    }

    #[test]
    fn what_a_program_that_does_nothing_gets_right_is_no_claim() {
        let all = PARTS.join(",");
        let mut claims =
            parse(&format!("a headers,exit,files\nb requests,exit\nc requests\ny {all}\nz requests,exit\n")).unwrap();
        claims.keep_meaningful(|name| name < "x");
        let kept: Vec<_> = claims.scenarios().collect();
        assert_eq!(kept, ["b", "y"]);
    }

    #[test]
    fn reports_are_read() {
        let report = "a: equal (2 requests)\nb: 1 difference, 0/1 requests equal\n    c d: equal (x\n1/2 scenarios equal, 2/3 requests equal\n";
        assert_eq!(n_equal(report), Some(1));
        assert_eq!(n_equal("Traceback\n"), None);
        assert_eq!(equal_scenarios(report).collect::<Vec<_>>(), [("a", 2)]);
    }
}
