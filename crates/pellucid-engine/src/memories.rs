//! Memories of past sessions for later sessions.
//!
//! In the first phase a model reads old sessions, one request each, and extracts what may help again. In the second
//! phase an agent merges all extracts into the files of a folder, whose summary new sessions begin with.
//!
//! - [`choice`]: chooses the sessions that are read
//! - [`job`]: claims of jobs, and retries after a failure
//! - [`extraction`]: the prompt of the first phase, and parsing its answer
//! - [`files`]: the files that the second phase begins with, and what its agent is asked
//!
//! Not here: what a session remembers of itself (`memory`), the summary in a new session's context
//! (`source::memory_summary`), and all reading and writing (`pellucid-agent`, `pellucid-store`).

pub mod choice;
pub mod extraction;
pub mod files;
pub mod job;

use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

/// How many sessions are read at the same time.
pub const AT_ONCE_MAX: usize = 8;

/// The folder of memories in the home folder.
pub const FOLDER: &str = "memories";

/// The folder in the home folder that has a folder with memories for each project. It does not lie in the other one: the
/// agent that merges the memories of all projects could write there.
pub const PROJECTS: &str = "project_memories";

/// The templates used here. A pack that lacks one has that of the pack `codex`.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (extraction::INSTRUCTIONS, Shape::VERBATIM),
    (
        extraction::INPUT,
        Shape {
            trim: Trim::Newline,
            places: &[
                TemplatePlace::may("{{ rollout_path }}"),
                TemplatePlace::may("{{ rollout_cwd }}"),
                TemplatePlace::must("{{ rollout_contents }}"),
            ],
        },
    ),
    (files::PROMPT, Shape { trim: Trim::Newline, places: &[TemplatePlace::must("{{ memory_root }}")] }),
];
