//! Instruction files beyond what the Codex CLI does with them: how a budget is shared out, where a file is cut, what
//! it imports, which files join later, and the message to the model when one changes.
//!
//! All of it is switched on by a pack (`[project_docs]` in `pack.toml`) or by the configuration. Without that, files
//! are used as the Codex CLI uses them.
//!
//! - `imports`: the files that a file names as `@path`
//! - `place`: files as text, with notes of what is missing
//! - `touched`: the paths in a tool call
//! - `known`: the files that the model has received, by hash
//! - `change`: the message about files that joined or changed
//! - `listed`: files as the report lists them, with their hashes and hidden characters
//!
//! Not here: reading files (`pellucid-workspace`), and when that is done (`pellucid-agent`).

pub mod change;
pub mod imports;
pub mod known;
pub mod listed;
pub(crate) mod place;
pub mod touched;

use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

/// The line at the end of a file that was cut.
const CUT: &str = "documents/cut.md";
/// A file that another one imports.
const IMPORTED: &str = "documents/imported.md";
/// A file of a folder that a tool went to.
const NESTED: &str = "documents/nested.md";
/// The message about changed files.
const CHANGED: &str = "documents/changed.md";
/// A changed file in that message, with its text.
const CHANGED_FILE: &str = "documents/changed_file.md";
/// A changed file in that message, whose text is in the context above.
const CHANGED_ABOVE: &str = "documents/changed_above.md";
/// A deleted file in that message.
const REMOVED_FILE: &str = "documents/removed_file.md";

const fn shape(places: &'static [TemplatePlace]) -> Shape {
    Shape { trim: Trim::Newline, places }
}

const PATH: TemplatePlace = TemplatePlace::must("{{ path }}");
const TEXT: TemplatePlace = TemplatePlace::must("{{ text }}");
const OLD: TemplatePlace = TemplatePlace::must("{{ old }}");
const NEW: TemplatePlace = TemplatePlace::must("{{ new }}");

/// The templates used here. A pack that lacks one has that of the pack `codex`.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (CUT, shape(&[PATH, TemplatePlace::must("{{ missing }}"), TemplatePlace::may("{{ size }}")])),
    (IMPORTED, shape(&[PATH, TEXT, TemplatePlace::may("{{ by }}")])),
    (
        NESTED,
        shape(&[
            TEXT,
            TemplatePlace::may("{{ path }}"),
            TemplatePlace::may("{{ directory }}"),
            TemplatePlace::may("{{ new }}"),
        ]),
    ),
    (CHANGED, shape(&[TEXT, TemplatePlace::may("{{ directory }}")])),
    (CHANGED_FILE, shape(&[PATH, TEXT, OLD, NEW])),
    (CHANGED_ABOVE, shape(&[PATH, OLD, NEW])),
    (REMOVED_FILE, shape(&[PATH, OLD])),
];
