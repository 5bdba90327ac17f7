//! Mutations of packs: every key of every TOML file changed one at a time, and every text altered.
//!
//! A change must be refused or must change what is sent, left out or decided. What the tests of a crate can play is theirs:
//! [`Home`] says which crate answers for a key.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use toml::Table;
use toml::Value;

/// The files of a pack.
pub type Files = BTreeMap<String, String>;

/// What becomes of a changed pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It does not load.
    Refused,
    /// Something else is sent, left out or decided.
    Changed,
    /// It loads as the very same pack: the change wrote a default out, or left it away.
    Equal,
    /// It is another pack, and nothing shows it.
    Unnoticed,
}

/// The crate whose tests answer for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// What is assembled from facts.
    Engine,
    /// What only a running session reads.
    Agent,
}

/// Tables that only a running session reads.
const OF_SESSIONS: [&str; 6] = ["reinject", "memory", "bootstrap", "injection", "compaction", "project_docs"];

/// Texts that only a running session reads, by how their names begin.
const TEXTS_OF_SESSIONS: [&str; 8] = [
    "reinject/",
    "phases/",
    "templates/",
    "memory/card",
    "memory/summary",
    "memory/details",
    "memory/fragments",
    "memory/previous",
];

/// Whose tests answer for a text.
pub fn home_of_text(file: &str) -> Home {
    let is_theirs =
        TEXTS_OF_SESSIONS.iter().any(|start| file.starts_with(start)) || file.starts_with("compact/window_");
    if is_theirs { Home::Agent } else { Home::Engine }
}

/// Lists whose order means nothing.
const UNORDERED: [&str; 7] = ["gate", "slugs", "tools", "model", "parameter", "property", "thresholds"];

/// What is asked of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// It must not load.
    Refused,
    /// It must be refused or noticed.
    Noticed,
    /// It must be refused or noticed, unless what it takes away is the default of a key whose changes are noticed.
    NoticedUnlessDefault,
    /// One of the changes of this key that load must be noticed.
    OneNoticed,
}

/// A change of one file.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The file, the key and what was done with it.
    pub key: String,
    pub how: String,
    pub file: String,
    pub text: String,
    pub demand: Demand,
}

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
}

/// Every change of the TOML files of a pack that one crate answers for.
pub fn of_tables(files: &Files, home: Home) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (file, text) in files.iter().filter(|(file, _)| file.ends_with(".toml")) {
        let table: Table = toml::from_str(text).unwrap();
        let mut maker =
            Maker { file, whole: Value::Table(table.clone()), mutants: Vec::new(), same_key: BTreeMap::new() };
        maker.note_strings(&Value::Table(table.clone()), "");
        maker.visit(&Value::Table(table), &mut Vec::new());
        mutants.extend(maker.mutants.into_iter().filter(|mutant| home_of_key(&mutant.file, &mutant.key) == home));
    }
    mutants
}

fn home_of_key(file: &str, key: &str) -> Home {
    let is_theirs = file == "pack.toml" && OF_SESSIONS.iter().any(|table| is_in(key, table));
    if is_theirs { Home::Agent } else { Home::Engine }
}

fn is_in(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Every text of a pack that one crate answers for, altered at its beginning and at its end.
pub fn of_texts(files: &Files, home: Home) -> Vec<Mutant> {
    let texts = files.iter().filter(|(file, _)| !file.ends_with(".toml") && home_of_text(file) == home);
    let altered = texts.flat_map(|(file, text)| {
        let end = text.trim_end().len();
        let altered =
            [("zz in front", format!("zz{text}")), ("zz at the end", format!("{}zz{}", &text[..end], &text[end..]))];
        altered.map(|(how, text)| Mutant {
            key: "text".to_owned(),
            how: how.to_owned(),
            file: file.clone(),
            text,
            demand: Demand::Noticed,
        })
    });
    altered.collect()
}

/// Keys for which other words mean the same, and why.
const EQUAL_WORDS: [(&str, &str); 3] = [
    ("facts.session_key", "only keys of sub-agents and jobs differ; sessions with such keys are played"),
    ("facts.memory_citations", "only `off` differs, which is played"),
    ("instructions.report.skills.section", "any section that the layout has will do"),
];

struct Maker<'a> {
    file: &'a str,
    whole: Value,
    mutants: Vec<Mutant>,
    /// The texts that keys of one name have.
    same_key: BTreeMap<String, BTreeSet<String>>,
}

impl Maker<'_> {
    fn note_strings(&mut self, value: &Value, key: &str) {
        match value {
            Value::Table(table) => table.iter().for_each(|(key, value)| self.note_strings(value, key)),
            Value::Array(entries) => entries.iter().for_each(|entry| self.note_strings(entry, key)),
            Value::String(text) => {
                self.same_key.entry(key.to_owned()).or_default().insert(text.clone());
            }
            _ => {}
        }
    }

    fn visit(&mut self, value: &Value, path: &mut Vec<Step>) {
        match value {
            Value::Table(table) => self.table(table, path),
            Value::Array(entries) => self.array(entries, path),
            Value::Boolean(is) => self.replace(path, "flipped", &Value::Boolean(!is), Demand::Noticed),
            Value::Integer(n) => {
                let others = BTreeSet::from([0, 1, 3, n - 1, n + 1, n * 2, n / 2, n / 100, n + 1_000]);
                for other in others.into_iter().filter(|other| other != n) {
                    self.replace(path, &format!("{other}"), &Value::Integer(other), Demand::OneNoticed);
                }
            }
            Value::Float(n) => {
                for other in [0.0, 0.01, 0.5, 1.0, n / 2.0, n + 0.1, n * 3.0] {
                    self.replace(path, &format!("{other}"), &Value::Float(other), Demand::OneNoticed);
                }
            }
            Value::String(text) => self.string(text, path),
            Value::Datetime(_) => {}
        }
    }

    fn table(&mut self, table: &Table, path: &mut Vec<Step>) {
        // A value of a layout may have any name.
        if !matches!(path.first(), Some(Step::Key(key)) if key == "facts") {
            path.push(Step::Key("zz_unknown".to_owned()));
            self.replace(path, "added", &Value::Boolean(true), Demand::Refused);
            path.pop();
        }
        for (key, value) in table {
            path.push(Step::Key(key.clone()));
            self.change(path, "removed", Demand::NoticedUnlessDefault, |whole, path| {
                let (last, outer) = path.split_last().unwrap();
                match (at(whole, outer), last) {
                    (Value::Table(table), Step::Key(key)) => drop(table.remove(key)),
                    _ => panic!("a key is in a table"),
                }
            });
            self.visit(value, path);
            path.pop();
        }
    }

    fn array(&mut self, entries: &[Value], path: &mut Vec<Step>) {
        let is_ordered = !matches!(path.last(), Some(Step::Key(key)) if UNORDERED.contains(&key.as_str()));
        // Slots of the instructions are in one order, those of messages in another.
        let is_text = |slot: &Value| slot.get("target").map(|target| target.as_str() == Some("instructions"));
        let is_alone = |entry: &Value| {
            is_text(entry).is_some() && entries.iter().filter(|other| is_text(other) == is_text(entry)).count() == 1
        };
        // Of parts for different modes there is one at a time.
        let for_mode = |gate: &Value| gate.as_str().is_some_and(|gate| gate.contains("mode"));
        let is_for_mode =
            |part: &Value| part.get("gate").and_then(Value::as_array).is_some_and(|it| it.iter().any(for_mode));
        let is_ordered = is_ordered && !entries.iter().all(is_for_mode);
        // A slot that says where it goes goes there wherever the file has it.
        let is_placed = |entry: &Value| ["depth", "before", "after"].iter().any(|key| entry.get(key).is_some());
        for (n, entry) in entries.iter().enumerate() {
            path.push(Step::Index(n));
            self.change(path, "removed", Demand::Noticed, |whole, path| {
                list(whole, &path[..path.len() - 1]).remove(n);
            });
            if is_ordered && entries.len() > 1 && !is_alone(entry) && !is_placed(entry) {
                for (how, to) in [("moved to the front", 0), ("moved to the end", entries.len() - 1)] {
                    if to != n {
                        self.change(path, how, Demand::OneNoticed, |whole, path| {
                            let list = list(whole, &path[..path.len() - 1]);
                            let entry = list.remove(n);
                            list.insert(to, entry);
                        });
                    }
                }
            }
            self.visit(entry, path);
            path.pop();
        }
    }

    fn string(&mut self, text: &str, path: &[Step]) {
        // Names of the pack and of its slots are for reports.
        let key = shown(path);
        let is_equal = EQUAL_WORDS.iter().any(|(equal, _)| *equal == key);
        let is_name =
            is_equal || self.file == "pack.toml" && (key == "name" || (is_in(&key, "slot") && key.ends_with(".id")));
        if is_name {
            return;
        }
        self.replace(path, "altered", &Value::String(format!("{text}x")), Demand::Noticed);
        let name = path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.clone()),
            Step::Index(_) => None,
        });
        let name = name.unwrap_or_default();
        let mut others: BTreeSet<String> = known(&name, text);
        others.extend(self.same_key.get(&name).into_iter().flatten().take(4).cloned());
        for other in others.into_iter().filter(|other| other != text) {
            self.replace(path, &format!("now {other}"), &Value::String(other), Demand::OneNoticed);
        }
    }

    fn replace(&mut self, path: &[Step], how: &str, value: &Value, demand: Demand) {
        self.change(path, how, demand, |whole, path| match path.last() {
            Some(Step::Key(key)) => {
                let Value::Table(table) = at(whole, &path[..path.len() - 1]) else { panic!("a key is in a table") };
                table.insert(key.clone(), value.clone());
            }
            _ => *at(whole, path) = value.clone(),
        });
    }

    fn change(&mut self, path: &[Step], how: &str, demand: Demand, change: impl Fn(&mut Value, &[Step])) {
        let mut whole = self.whole.clone();
        change(&mut whole, path);
        let text = toml::to_string(&whole).unwrap();
        let (key, file) = (shown(path), self.file.to_owned());
        self.mutants.push(Mutant { key, how: how.to_owned(), file, text, demand });
    }
}

/// Other values that a key can have, where they are words of a list.
fn known(key: &str, text: &str) -> BTreeSet<String> {
    let words: &[&str] = match key {
        "gate" => return BTreeSet::from([format!("not:{text}")]),
        "target" => &["instructions", "developer", "user"],
        "source" => &["environment", "developer_instructions", "js_repl"],
        "kind" => &["function", "custom"],
        "type" | "items" => &["string", "number", "boolean", "object"],
        "variant" => &["design", "current", "initial"],
        "trigger" => &["auto", "occupancy", "turns", "both"],
        "strategy" => &["summarise", "window", "hanurai"],
        "summaries" => &["model", "lexical"],
        "vectors" => &["lexical", "provider"],
        "same_name" => &["all", "first"],
        "form" => &["as_given", "canonical"],
        "mcp" => &["direct", "deferred"],
        "allocation" => &["root-first", "nearest-first", "proportional"],
        "cut" => &["bytes", "lines"],
        "on_change" => &["ignore", "tell"],
        "fallback" => &["none", "local"],
        "input" => &["all", "conversation"],
        "requests" => &["free", "marked"],
        "rules" => &["other.md"],
        "look" => &["always", "due"],
        "workspace" => &["repository", "folder"],
        _ => &[],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn at<'a>(whole: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(whole, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Index(n) => &mut value[*n],
    })
}

fn list<'a>(whole: &'a mut Value, path: &[Step]) -> &'a mut Vec<Value> {
    at(whole, path).as_array_mut().unwrap()
}

fn shown(path: &[Step]) -> String {
    let mut key = String::new();
    for step in path {
        match step {
            Step::Key(name) if key.is_empty() => key += name,
            Step::Key(name) => write!(key, ".{name}").unwrap(),
            Step::Index(n) => write!(key, "[{n}]").unwrap(),
        }
    }
    key
}

/// Judges changes of one pack, and lists every key that has no effect.
pub fn without_effect(name: &str, files: &Files, mutants: &[Mutant], judge: impl Fn(&Files) -> Verdict) -> Vec<String> {
    let mut dead = Vec::new();
    let mut alternatives: BTreeMap<(&str, &str), Vec<(&str, Verdict)>> = BTreeMap::new();
    let mut verdicts: Vec<(&Mutant, Verdict)> = Vec::new();
    for mutant in mutants {
        let mut files = files.clone();
        files.insert(mutant.file.clone(), mutant.text.clone());
        let verdict = judge(&files);
        verdicts.push((mutant, verdict));
        let is_good = match mutant.demand {
            Demand::Refused => verdict == Verdict::Refused,
            Demand::Noticed => matches!(verdict, Verdict::Refused | Verdict::Changed),
            // Judged with the other changes of the key.
            Demand::NoticedUnlessDefault => true,
            Demand::OneNoticed => {
                let tried = alternatives.entry((&mutant.file, &mutant.key)).or_default();
                tried.push((&mutant.how, verdict));
                true
            }
        };
        if !is_good {
            dead.push(format!("{name}/{}: {} {}: {verdict:?}", mutant.file, mutant.key, mutant.how));
        }
    }
    for (mutant, _) in verdicts
        .iter()
        .filter(|(mutant, verdict)| mutant.demand == Demand::NoticedUnlessDefault && *verdict == Verdict::Unnoticed)
    {
        let of_key = |other: &&(&Mutant, Verdict)| {
            other.0.file == mutant.file && is_in(&other.0.key, &mutant.key) && other.0.demand != mutant.demand
        };
        let others: Vec<Verdict> = verdicts.iter().filter(of_key).map(|(_, verdict)| *verdict).collect();
        // A key that can only say its default is one that refuses everything else.
        let is_alive = others.contains(&Verdict::Changed);
        let is_default = !others.is_empty() && others.iter().all(|verdict| *verdict == Verdict::Refused);
        if !is_alive && !is_default {
            dead.push(format!("{name}/{}: {} {}: nothing shows it", mutant.file, mutant.key, mutant.how));
        }
    }
    for ((file, key), tried) in alternatives {
        let is_noticed = tried.iter().any(|(_, verdict)| *verdict == Verdict::Changed);
        let unnoticed: Vec<&str> =
            tried.iter().filter(|(_, verdict)| *verdict != Verdict::Refused).map(|(how, _)| *how).collect();
        if !is_noticed && !unnoticed.is_empty() {
            dead.push(format!("{name}/{file}: {key}: nothing shows any of {}", unnoticed.join(", ")));
        }
    }
    dead
}

/// The changes that are tried: all with `PELLUCID_PACK_MUTATIONS=all`, else whole keys, every `n`th of them.
pub fn sample(mutants: Vec<Mutant>, n: usize) -> Vec<Mutant> {
    #[allow(clippy::disallowed_methods, reason = "a variable says how much the test tries")]
    if std::env::var_os("PELLUCID_PACK_MUTATIONS").is_some_and(|which| which == "all") {
        return mutants;
    }
    let keys: BTreeSet<(String, String)> = mutants.iter().map(|it| (it.file.clone(), it.key.clone())).collect();
    let taken: BTreeSet<(String, String)> = keys.iter().step_by(n).cloned().collect();
    // Whether a whole table may be left away is judged with all that is in it.
    let has_inner =
        |it: &Mutant| keys.iter().any(|(file, key)| *file == it.file && *key != it.key && is_in(key, &it.key));
    let is_taken = |it: &Mutant| taken.contains(&(it.file.clone(), it.key.clone()));
    let mut sample = mutants;
    sample.retain(|it| is_taken(it) && (it.demand != Demand::NoticedUnlessDefault || !has_inner(it)));
    sample
}
