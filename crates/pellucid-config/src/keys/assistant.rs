//! The rows about an assistant that answers in chats, and the files that it begins with.

use super::KeySection;
use super::ValueKind;
use super::table::ACCEPTED;
use super::table::FREE;
use super::table::top;

/// Keys about an assistant that answers in chats.
pub(super) const ASSISTANT: KeySection = KeySection {
    title: "Assistant",
    keys: &[
        top(
            FREE,
            "assistant.session_key",
            ValueKind::String,
            "",
            "The key of the chat session; keys of sub-agents and jobs have another form.",
        ),
        top(
            FREE,
            "assistant.bootstrap_max_chars",
            ValueKind::Float,
            "the pack's",
            "How much of one bootstrap file is used, in UTF-16 units.",
        ),
        top(
            FREE,
            "assistant.bootstrap_total_max_chars",
            ValueKind::Float,
            "the pack's",
            "How much of all bootstrap files is used.",
        ),
        top(
            FREE,
            "assistant.extra_files",
            ValueKind::STRINGS,
            "`[]`",
            "Further bootstrap files of the workspace: paths and patterns.",
        ),
        top(
            ACCEPTED,
            "assistant.swap_files",
            ValueKind::Map(&ValueKind::String),
            "the pack's",
            "For names of bootstrap files, the files of the workspace whose texts they get.",
        ),
        top(
            ACCEPTED,
            "assistant.leave_out_files",
            ValueKind::STRINGS,
            "the pack's",
            "The names of bootstrap files that are left out.",
        ),
        top(
            ACCEPTED,
            "assistant.add_files",
            ValueKind::STRINGS,
            "the pack's",
            "Files of the workspace that are added to the bootstrap files, with any name, for sub-agents and jobs too.",
        ),
        top(
            FREE,
            "assistant.extra_system_prompt",
            ValueKind::String,
            "",
            "A text that is added to the system prompt: from a group chat, or from the agent that this one works for.",
        ),
        top(
            FREE,
            "assistant.time_zone",
            ValueKind::String,
            "the system's",
            "The user's time zone, such as `Europe/Paris`.",
        ),
        top(
            ACCEPTED,
            "assistant.owner_numbers",
            ValueKind::STRINGS,
            "`[]`",
            "The phone numbers whose owners may command the assistant.",
        ),
        top(FREE, "assistant.heartbeat_prompt", ValueKind::String, "", "The prompt of a heartbeat."),
        top(FREE, "assistant.docs_path", ValueKind::Path, "", "The folder with the documentation."),
        top(
            FREE,
            "assistant.channel",
            ValueKind::String,
            "",
            "The chat channel that answers go to, such as `telegram`.",
        ),
        top(
            FREE,
            "assistant.capabilities",
            ValueKind::STRINGS,
            "`[]`",
            "The capabilities of that channel, such as `inlineButtons`.",
        ),
        top(FREE, "assistant.voice_hint", ValueKind::String, "", "How to write an answer that is read aloud."),
    ],
};
