//! The list that opens while typing: commands behind `/`, files behind `@`, skills behind `$`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use crate::commands;
use crate::commands::line;
use crate::composer::ComposerContext;
use crate::composer::draft::Draft;
use crate::composer::pasting::is_image_name;

/// The rows that are shown at a time.
pub const ROWS_MAX: usize = 8;

/// A file or folder that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// The path below the session's folder.
    pub path: String,
    /// Whether the model has the text of the file, in a few words; empty if the model was not shown the file.
    pub seen: String,
}

/// A skill that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillEntry {
    /// The name behind the `$`.
    pub name: String,
    /// What the skill does, in one line.
    pub description: String,
    /// The file that describes the skill.
    pub path: PathBuf,
}

/// What a list is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PopupKind {
    /// Commands of the client and custom prompts.
    Commands,
    /// Files below the session's folder.
    Files,
    /// Skills of the user and the project.
    Skills,
}

/// The word under the cursor that a list is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PopupWord {
    /// What the list is about.
    pub kind: PopupKind,
    /// The whole word with its first character.
    pub text: String,
    /// The bytes of the word in the draft.
    pub range: Range<usize>,
}

impl PopupWord {
    /// The word under the cursor, if it opens a list.
    pub fn under_cursor(draft: &Draft) -> Option<Self> {
        let text = draft.text();
        if text.starts_with('/') {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            let name = &text[..end];
            let is_open = draft.cursor() <= end && draft.cursor() > 0 && !name[1..].contains('/');
            return is_open.then(|| Self { kind: PopupKind::Commands, text: name.to_owned(), range: 0..end });
        }
        let range = draft.word_at_cursor();
        let word = &text[range.clone()];
        let kind = match word.chars().next()? {
            '@' => PopupKind::Files,
            '$' => PopupKind::Skills,
            _ => return None,
        };
        (draft.cursor() > range.start).then(|| Self { kind, text: word.to_owned(), range })
    }

    /// The word without its first character.
    fn query(&self) -> &str {
        self.text.get(1..).unwrap_or_default()
    }
}

/// A custom prompt, or a prompt of an MCP server, that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptEntry {
    /// The command behind the slash: `prompts:NAME` or `mcp:SERVER:NAME`.
    pub command: String,
    /// What the prompt is for.
    pub description: String,
    /// The text that is inserted and where the cursor goes; absent for a prompt without places, which is sent at once.
    pub inserted: Option<(String, usize)>,
}

impl PromptEntry {
    /// Whether an MCP server has the prompt.
    pub fn is_of_server(&self) -> bool {
        self.command.starts_with(line::SERVERS)
    }
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PopupEntry {
    /// What is listed.
    pub label: String,
    /// More about it, which is drawn dim.
    pub detail: String,
    taken: Taken,
}

/// What is taken from a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// A command or a custom prompt.
    Command {
        /// The name behind the slash.
        name: String,
    },
    /// The command of a custom prompt, with places for its arguments.
    Text {
        /// The text that is inserted.
        text: String,
        /// Where the cursor goes, in bytes.
        cursor: usize,
    },
    /// A file or folder.
    File {
        /// The path below the session's folder.
        path: String,
        /// Whether it is attached instead of named.
        is_image: bool,
    },
    /// A skill, bound to its file.
    Skill {
        /// The name behind the `$`.
        name: String,
        /// The file that describes the skill.
        path: PathBuf,
    },
}

/// An open list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Popup {
    word: PopupWord,
    entries: Vec<PopupEntry>,
    selected: usize,
    /// Whether files are being searched and none came yet.
    is_waiting: bool,
}

impl Popup {
    /// The word that the list is for.
    pub fn word(&self) -> &PopupWord {
        &self.word
    }

    /// Whether files are being searched for.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// The rows that are shown, each with whether it is marked.
    pub fn shown(&self) -> Vec<(&PopupEntry, bool)> {
        let first = (self.selected + 1).saturating_sub(ROWS_MAX);
        let rows = self.entries.iter().enumerate().skip(first).take(ROWS_MAX);
        rows.map(|(index, entry)| (entry, index == self.selected)).collect()
    }

    /// Moves the mark and wraps around. False if there is nothing to mark.
    pub(super) fn step(&mut self, by: isize) -> bool {
        let n = self.entries.len();
        if n == 0 {
            return false;
        }
        self.selected = (self.selected + n).saturating_add_signed(by) % n;
        true
    }

    /// The thing that is taken with the marked entry.
    pub(super) fn taken(&self) -> Option<Taken> {
        self.entries.get(self.selected).map(|entry| entry.taken.clone())
    }

    /// Opens or narrows a list for a word. Returns the text to search files for, if they have to be searched again.
    pub(super) fn change(popup: &mut Option<Self>, word: PopupWord, context: &ComposerContext<'_>) -> Option<String> {
        let is_same = popup.as_ref().is_some_and(|popup| popup.word == word);
        if is_same {
            return None;
        }
        let entries = match word.kind {
            PopupKind::Commands => command_entries(word.query(), context),
            PopupKind::Skills => skill_entries(word.query(), context),
            PopupKind::Files => {
                let query = word.query().to_owned();
                // What was found for the word before is shown until the search answers.
                let before = popup.take().filter(|popup| popup.word.kind == PopupKind::Files);
                let entries = before.map(|popup| popup.entries).unwrap_or_default();
                *popup = Some(Self { word, entries, selected: 0, is_waiting: true });
                return Some(query);
            }
        };
        *popup = (!entries.is_empty()).then_some(Self { word, entries, selected: 0, is_waiting: false });
        None
    }

    /// Takes what the model was shown of files, by path.
    pub(super) fn files_seen(&mut self, seen: &BTreeMap<String, String>) {
        if self.word.kind == PopupKind::Files {
            for entry in &mut self.entries {
                entry.detail = seen.get(&entry.label).cloned().unwrap_or_default();
            }
        }
    }

    /// Takes the files that a search found, if they are for the word that is written now.
    pub(super) fn files_found(&mut self, query: &str, files: Vec<FoundFile>) {
        if self.word.kind != PopupKind::Files || self.word.query() != query {
            return;
        }
        self.is_waiting = false;
        self.selected = 0;
        self.entries = files
            .into_iter()
            .map(|FoundFile { path, seen }| PopupEntry {
                label: path.clone(),
                detail: seen,
                taken: Taken::File { is_image: is_image_name(&path), path },
            })
            .collect();
    }
}

fn command_entries(query: &str, context: &ComposerContext<'_>) -> Vec<PopupEntry> {
    let commands = commands::matching(query, context.commands).into_iter().map(|row| PopupEntry {
        label: format!("/{}", row.name),
        detail: row.help.to_owned(),
        taken: Taken::Command { name: row.name.to_owned() },
    });
    let typed = query.to_lowercase();
    let is_meant = |prompt: &&PromptEntry| {
        let command = prompt.command.to_lowercase();
        command.starts_with(&typed) || command.match_indices(':').any(|(at, _)| command[at + 1..].starts_with(&typed))
    };
    let prompts = context.prompts.iter().filter(is_meant).map(|prompt| PopupEntry {
        label: format!("/{}", prompt.command),
        detail: prompt.description.clone(),
        taken: match &prompt.inserted {
            Some((text, cursor)) => Taken::Text { text: text.clone(), cursor: *cursor },
            None => Taken::Command { name: prompt.command.clone() },
        },
    });
    commands.chain(prompts).collect()
}

/// Skills whose name begins with the typed text come before those that only contain it.
fn skill_entries(query: &str, context: &ComposerContext<'_>) -> Vec<PopupEntry> {
    let typed = query.to_lowercase();
    let rank = |skill: &SkillEntry| {
        let name = skill.name.to_lowercase();
        if name.starts_with(&typed) {
            Some(0)
        } else if is_subsequence(&typed, &name) {
            Some(1)
        } else {
            None
        }
    };
    let mut found: Vec<_> = context.skills.iter().filter_map(|skill| Some((rank(skill)?, skill))).collect();
    found.sort_by_key(|(rank, _)| *rank);
    let entry = |skill: &SkillEntry| PopupEntry {
        label: skill.name.clone(),
        detail: skill.description.clone(),
        taken: Taken::Skill { name: skill.name.clone(), path: skill.path.clone() },
    };
    found.into_iter().map(|(_, skill)| entry(skill)).collect()
}

/// Whether all characters of the first text are in the second one, in this order.
fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut chars = whole.chars();
    part.chars().all(|wanted| chars.any(|char| char == wanted))
}
