//! The templates and expressions of a pack, parsed and checked when the pack is loaded.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use pellucid_script::Program;
use pellucid_script::ScriptError;

use super::LAYOUT;
use super::Layout;
use super::Pack;
use super::PackError;
use super::shelf::Shelf;
use crate::computed;
use crate::computed::EXTENSION;
use crate::computed::ROOTS;
use crate::file_version::FileVersion;
use crate::fragment::Origin;
use crate::gate::Gate;

/// The templates of a pack by their file, and texts that templates include.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Programs {
    files: BTreeMap<String, (FileVersion, Program)>,
}

impl Programs {
    /// Parses the templates that a layout names and whatever these include. A layout without templates parses nothing.
    pub(super) fn load(shelf: &Shelf, layout: &Layout) -> Result<Self, PackError> {
        let names: Vec<&str> =
            ROOTS.iter().map(|(name, _)| *name).chain(layout.values.keys().map(String::as_str)).collect();
        let mut programs = Self::default();
        let mut wanted: Vec<String> = layout
            .slots
            .iter()
            .flat_map(|slot| &slot.parts)
            .filter_map(|part| part.file.clone())
            .chain(layout.sections.iter().map(|section| section.file.clone()))
            .filter(|file| file.ends_with(EXTENSION))
            .collect();
        while let Some(name) = wanted.pop() {
            if programs.files.contains_key(&name) {
                continue;
            }
            let missing = || PackError::MissingFile { file: name.clone() };
            let file = shelf.get(&name).ok_or_else(missing)?;
            let program = if name.ends_with(EXTENSION) {
                Program::template(&file.shown, &file.text).map_err(refused)?
            } else {
                Program::verbatim(&file.shown, &file.text)
            };
            program.check(&names, |included| shelf.get(included).is_some()).map_err(refused)?;
            wanted.extend(program.included().map(str::to_owned));
            programs.files.insert(name, (file.shown.clone(), program));
        }
        programs.check_layout(shelf, layout, &names)?;
        Ok(programs)
    }

    /// Refuses expressions of the layout that look at what does not exist, at themselves, or at nothing that counts.
    fn check_layout(&self, shelf: &Shelf, layout: &Layout, names: &[&str]) -> Result<(), PackError> {
        let shown = shelf.get(LAYOUT).map_or_else(|| LAYOUT.to_owned(), |file| file.shown.to_string());
        let text = shelf.get(LAYOUT).map(|file| file.text.clone()).unwrap_or_default();
        let refused = |word: &str, message: String| {
            let line = text.lines().position(|line| line.contains(word)).map_or(1, |line| line + 1);
            Err(PackError::Syntax { file: shown.clone(), line, column: 1, message })
        };
        for (name, program) in &layout.values {
            if let Err(error) = program.check(names, |_| false) {
                return refused(program.source(), format!("`{name}`, column {}: {}", error.column, error.message));
            }
            if looked_at(program, layout).contains(name.as_str()) {
                return refused(program.source(), format!("the value `{name}` looks at itself"));
            }
        }
        for (gates, is_of_tool) in gates(layout) {
            for condition in gates.iter().filter_map(Gate::condition) {
                if let Err(error) = condition.check(names, |_| false) {
                    let source = condition.source();
                    return refused(source, format!("`{source}`, column {}: {}", error.column, error.message));
                }
                if is_of_tool && looked_at(condition, layout).contains(computed::TOOLS) {
                    let message =
                        "a tool that is offered depending on the tools that are offered; look at something else";
                    return refused(condition.source(), message.to_owned());
                }
            }
        }
        if let Some(condition) = &layout.instructions.minimal_if {
            let source = condition.source();
            if let Err(error) = condition.check(names, |_| false) {
                return refused(source, format!("`{source}`, column {}: {}", error.column, error.message));
            }
            let looked_at = looked_at(condition, layout);
            if let Some(name) = LATER.into_iter().find(|name| looked_at.contains(name)) {
                return refused(source, format!("`minimal_if` cannot look at `{name}`, which is made later"));
            }
        }
        let all = self.all_looked_at(layout);
        // Values of the pack beneath may be of no use to this one.
        let is_own =
            |name: &str| text.lines().filter_map(|line| line.split_once('=')).any(|(key, _)| key.trim() == name);
        let mut unused = layout.values.keys().filter(|name| !all.contains(name.as_str()));
        if let Some(name) = unused.find(|name| is_own(name)) {
            let program = layout.values.get(name).map_or(name.as_str(), Program::source);
            return refused(program, format!("no template or condition looks at the value `{name}`"));
        }
        let has_table = |name: &str| text.lines().any(|line| line.trim() == name);
        if layout.bootstrap.is_some() && !all.contains(computed::FILES) && has_table("[bootstrap]") {
            let message = "[bootstrap] has no effect without a template that looks at `files`";
            return refused("[bootstrap]", message.to_owned());
        }
        if !layout.facts.is_empty() && !all.contains(computed::GIVEN) && has_table("[facts]") {
            let message = "[facts] has no effect without a template or condition that looks at `given`";
            return refused("[facts]", message.to_owned());
        }
        Ok(())
    }

    /// The names of all values that templates and conditions look at.
    fn all_looked_at<'a>(&'a self, layout: &'a Layout) -> BTreeSet<&'a str> {
        let programs = self.files.values().map(|(_, program)| program).chain(conditions(layout));
        programs.flat_map(|program| looked_at(program, layout)).collect()
    }
}

impl Pack {
    /// A template by its file, or a text that templates include, with its origin.
    pub(crate) fn program(&self, name: &str) -> Option<(&Program, Origin)> {
        let (file, program) = self.programs.files.get(name)?;
        Some((program, Origin::Pack { file: file.clone() }))
    }

    /// A value that the layout computes.
    pub(crate) fn value(&self, name: &str) -> Option<&Program> {
        self.layout.values.get(name)
    }

    /// The names of the files that are templates, or that templates include.
    pub(super) fn program_files(&self) -> impl Iterator<Item = &String> {
        self.programs.files.keys()
    }

    /// The file of the layout.
    pub(crate) fn layout_file(&self) -> FileVersion {
        self.shelf.get(LAYOUT).map_or_else(|| LAYOUT.into(), |file| file.shown.clone())
    }

    /// Whether a template, or one that it includes, looks at a value.
    pub(crate) fn looks_at(&self, file: &str, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut wanted = vec![file];
        while let Some(file) = wanted.pop() {
            let Some((_, program)) = self.programs.files.get(file).filter(|_| seen.insert(file)) else {
                continue;
            };
            if looked_at(program, &self.layout).contains(name) {
                return true;
            }
            wanted.extend(program.included());
        }
        false
    }

    /// Whether anything of the pack looks at a value.
    pub fn looks(&self, name: &str) -> bool {
        self.programs.all_looked_at(&self.layout).contains(name)
    }
}

/// What is not known yet when a session decides how much of the layout it uses.
const LATER: [&str; 3] = [computed::MODE, computed::FILES, computed::RECALLED];

/// Every condition of a layout.
pub(super) fn conditions(layout: &Layout) -> impl Iterator<Item = &Program> {
    gates(layout).flat_map(|(gates, _)| gates).filter_map(Gate::condition).chain(&layout.instructions.minimal_if)
}

/// The names that a program looks at, by itself or through values of the layout.
fn looked_at<'a>(program: &'a Program, layout: &'a Layout) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut wanted: Vec<&str> = program.names().collect();
    while let Some(name) = wanted.pop() {
        if seen.insert(name) {
            wanted.extend(layout.values.get(name).into_iter().flat_map(Program::names));
        }
    }
    seen
}

/// Every list of gates, and whether it is a tool's.
fn gates(layout: &Layout) -> impl Iterator<Item = (&[Gate], bool)> {
    let of_slots = layout.slots.iter().flat_map(|slot| {
        std::iter::once(slot.gates.as_slice()).chain(slot.parts.iter().map(|part| part.gates.as_slice()))
    });
    let of_tools = layout.tools.iter().map(|tool| tool.gates.as_slice());
    let of_tools = of_tools.chain(layout.tools_only.iter().map(|only| only.gates.as_slice()));
    let of_slots = of_slots.chain(layout.sections.iter().map(|section| section.gates.as_slice()));
    of_slots.map(|gates| (gates, false)).chain(of_tools.map(|gates| (gates, true)))
}

fn refused(error: ScriptError) -> PackError {
    let ScriptError { file, line, column, message } = error;
    PackError::Syntax { file, line, column, message }
}
