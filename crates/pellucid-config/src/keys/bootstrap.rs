//! The rows about the files that a layout begins with.

use super::KeySection;
use super::ValueKind;
use super::table::ACCEPTED;
use super::table::FREE;
use super::table::top;

/// Keys over those of `[bootstrap]` in a pack.
pub(super) const BOOTSTRAP: KeySection = KeySection {
    title: "Bootstrap files",
    keys: &[
        top(
            FREE,
            "bootstrap.max_chars",
            ValueKind::Float,
            "the pack's",
            "How much of one bootstrap file is used, in the unit of the pack.",
        ),
        top(
            FREE,
            "bootstrap.total_max_chars",
            ValueKind::Float,
            "the pack's",
            "How much of all bootstrap files is used.",
        ),
        top(
            FREE,
            "bootstrap.extra",
            ValueKind::STRINGS,
            "`[]`",
            "Further bootstrap files of the workspace, after those of the pack: paths and patterns.",
        ),
        top(
            ACCEPTED,
            "bootstrap.swap",
            ValueKind::Map(&ValueKind::String),
            "the pack's",
            "For names of bootstrap files, the files of the workspace whose texts they get.",
        ),
        top(
            ACCEPTED,
            "bootstrap.leave_out",
            ValueKind::STRINGS,
            "the pack's",
            "The names of bootstrap files that are left out.",
        ),
        top(
            ACCEPTED,
            "bootstrap.add",
            ValueKind::STRINGS,
            "the pack's",
            "Files of the workspace that are added to the bootstrap files, with any name, for small prompts too.",
        ),
    ],
};
