//! The commands that begin with `/`: one table, and how a typed line is read.
//!
//! Not here: what a command does. The client does it.

pub mod line;

/// A condition that a command needs to be offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommandGate {
    /// The feature `collaboration_modes`.
    Modes,
    /// The feature `personality`, and a model that knows personalities.
    Personality,
    /// A pack that has phases of work.
    Phases,
    /// The feature `apps`.
    Apps,
}

/// A command of the client.
#[expect(missing_docs, reason = "the table says what each command does")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlashCommand {
    Model,
    Approvals,
    Permissions,
    Experimental,
    Skills,
    Review,
    Rename,
    New,
    Resume,
    Fork,
    Init,
    Compact,
    CompactPreview,
    Uncompact,
    Lost,
    Redo,
    Plan,
    Collab,
    Agent,
    Diff,
    Mention,
    Status,
    DebugConfig,
    StatusLine,
    Mcp,
    Apps,
    Logout,
    Quit,
    Exit,
    Feedback,
    Ps,
    Clean,
    Personality,
    Keymap,
    Waiting,
    Export,
    Vim,
    Copy,
    Context,
    Preview,
    Cache,
    Pack,
    Phase,
    Time,
    Seen,
    Inspect,
}

/// One row of the table of commands.
#[derive(Debug, Clone, Copy)]
pub struct CommandRow {
    /// The command itself.
    pub command: SlashCommand,
    /// The name behind the slash.
    pub name: &'static str,
    /// What the command does, in a few words.
    pub help: &'static str,
    /// The condition under which it is offered.
    pub gate: Option<CommandGate>,
    /// Whether it can run while a turn runs.
    pub while_working: bool,
    /// Whether words may follow the name. Otherwise a line with words is a message.
    pub takes_words: bool,
    /// Whether it is listed only when its whole name is typed.
    pub is_hidden: bool,
}

const IDLE: CommandRow = CommandRow {
    command: SlashCommand::Model,
    name: "",
    help: "",
    gate: None,
    while_working: false,
    takes_words: false,
    is_hidden: false,
};

const ALWAYS: CommandRow = CommandRow { while_working: true, ..IDLE };

/// The commands, in the order of the list.
pub const COMMANDS: &[CommandRow] = {
    use SlashCommand as C;
    &[
        CommandRow { command: C::Model, name: "model", help: "choose the model and how much it reasons", ..IDLE },
        CommandRow {
            command: C::Approvals,
            name: "approvals",
            help: "the same as /permissions",
            is_hidden: true,
            ..IDLE
        },
        CommandRow {
            command: C::Permissions,
            name: "permissions",
            help: "choose what may run without a question",
            ..IDLE
        },
        CommandRow { command: C::Experimental, name: "experimental", help: "switch experimental features", ..IDLE },
        CommandRow { command: C::Skills, name: "skills", help: "use a skill, or switch skills on and off", ..ALWAYS },
        CommandRow {
            command: C::Review,
            name: "review",
            help: "review changes and list findings",
            takes_words: true,
            ..IDLE
        },
        CommandRow {
            command: C::Rename,
            name: "rename",
            help: "give this session a name",
            takes_words: true,
            ..ALWAYS
        },
        CommandRow { command: C::New, name: "new", help: "begin a new session", ..IDLE },
        CommandRow { command: C::Resume, name: "resume", help: "continue an earlier session", ..IDLE },
        CommandRow { command: C::Fork, name: "fork", help: "continue on a copy of this session", ..IDLE },
        CommandRow { command: C::Init, name: "init", help: "have an AGENTS.md written for this folder", ..IDLE },
        CommandRow { command: C::Compact, name: "compact", help: "replace the history by a summary", ..IDLE },
        CommandRow {
            command: C::CompactPreview,
            name: "compact-preview",
            help: "show a summary and what it would lose, before it counts",
            ..IDLE
        },
        CommandRow { command: C::Uncompact, name: "uncompact", help: "undo the last compaction", ..IDLE },
        CommandRow { command: C::Lost, name: "lost", help: "show what the last compaction lost", ..ALWAYS },
        CommandRow { command: C::Redo, name: "redo", help: "take back that you went back", ..IDLE },
        CommandRow {
            command: C::Plan,
            name: "plan",
            help: "change to plan mode",
            gate: Some(CommandGate::Modes),
            takes_words: true,
            ..IDLE
        },
        CommandRow {
            command: C::Collab,
            name: "collab",
            help: "choose the mode of working together",
            gate: Some(CommandGate::Modes),
            ..ALWAYS
        },
        CommandRow { command: C::Agent, name: "agent", help: "change to another agent of this session", ..ALWAYS },
        CommandRow {
            command: C::Diff,
            name: "diff",
            help: "show the changes of the work tree, new files too",
            ..ALWAYS
        },
        CommandRow { command: C::Mention, name: "mention", help: "name a file in the message", ..ALWAYS },
        CommandRow { command: C::Status, name: "status", help: "show settings, tokens and limits", ..ALWAYS },
        CommandRow {
            command: C::DebugConfig,
            name: "debug-config",
            help: "show where each setting comes from",
            ..ALWAYS
        },
        CommandRow { command: C::StatusLine, name: "statusline", help: "choose what the last row shows", ..IDLE },
        CommandRow { command: C::Mcp, name: "mcp", help: "list MCP servers and their tools", ..ALWAYS },
        CommandRow {
            command: C::Apps,
            name: "apps",
            help: "list connected apps and how to name them",
            gate: Some(CommandGate::Apps),
            ..ALWAYS
        },
        CommandRow { command: C::Logout, name: "logout", help: "remove the stored login and end", ..IDLE },
        CommandRow { command: C::Quit, name: "quit", help: "end", is_hidden: true, ..ALWAYS },
        CommandRow { command: C::Exit, name: "exit", help: "end", ..ALWAYS },
        CommandRow {
            command: C::Feedback,
            name: "feedback",
            help: "say where feedback goes; nothing is sent",
            ..ALWAYS
        },
        CommandRow { command: C::Ps, name: "ps", help: "list commands that run in the background", ..ALWAYS },
        CommandRow { command: C::Clean, name: "clean", help: "stop commands that run in the background", ..ALWAYS },
        CommandRow {
            command: C::Personality,
            name: "personality",
            help: "choose the manner of the answers",
            gate: Some(CommandGate::Personality),
            ..IDLE
        },
        CommandRow {
            command: C::Copy,
            name: "copy",
            help: "copy the last answer, a block of its code, a command",
            takes_words: true,
            ..ALWAYS
        },
        CommandRow { command: C::Context, name: "context", help: "show what the model will see", ..ALWAYS },
        CommandRow { command: C::Preview, name: "preview", help: "show the bytes of the next request", ..ALWAYS },
        CommandRow { command: C::Cache, name: "cache", help: "show what was paid for again, and why", ..ALWAYS },
        CommandRow {
            command: C::Pack,
            name: "pack",
            help: "show the same facts under other packs",
            takes_words: true,
            ..ALWAYS
        },
        CommandRow {
            command: C::Phase,
            name: "phase",
            help: "show or set the phase of work: NAME, next or clear",
            gate: Some(CommandGate::Phases),
            takes_words: true,
            ..ALWAYS
        },
        CommandRow {
            command: C::Waiting,
            name: "waiting",
            help: "move, edit, delete or send waiting messages",
            ..ALWAYS
        },
        CommandRow {
            command: C::Seen,
            name: "seen",
            help: "show which files and outputs the model has seen",
            ..ALWAYS
        },
        CommandRow { command: C::Time, name: "time", help: "step through the requests that were sent", ..ALWAYS },
        CommandRow { command: C::Inspect, name: "inspect", help: "serve a page about the session", ..ALWAYS },
        CommandRow {
            command: C::Export,
            name: "export",
            help: "write the session into a file, as Markdown or JSON",
            takes_words: true,
            ..ALWAYS
        },
        CommandRow { command: C::Vim, name: "vim", help: "switch the keys of vim on or off", ..ALWAYS },
        CommandRow { command: C::Keymap, name: "keymap", help: "list every key", ..ALWAYS },
    ]
};

/// The row of a command.
pub fn row_of(command: SlashCommand) -> &'static CommandRow {
    COMMANDS.iter().find(|row| row.command == command).unwrap_or(&COMMANDS[0])
}

/// The commands that match what was typed behind the slash: the exact name first, then names that begin with it.
pub fn matching<'a>(typed: &str, offered: &'a [CommandRow]) -> Vec<&'a CommandRow> {
    let typed = typed.to_lowercase();
    let exact = offered.iter().filter(|row| row.name == typed);
    let longer = offered.iter().filter(|row| !row.is_hidden && row.name != typed && row.name.starts_with(&typed));
    exact.chain(longer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_matching(typed: &str, expected: &[&str]) {
        let names: Vec<_> = matching(typed, COMMANDS).iter().map(|row| row.name).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn names_that_begin_with_the_typed_ones_are_listed_in_the_order_of_the_table() {
        check_matching("re", &["review", "rename", "resume", "redo"]);
        check_matching("DIF", &["diff"]);
        check_matching("q", &[]);
        check_matching("quit", &["quit"]);
        check_matching("nothing", &[]);
    }

    #[test]
    fn every_command_has_one_row() {
        for row in COMMANDS {
            assert_eq!(row_of(row.command).name, row.name);
            assert!(!row.help.is_empty() && !row.help.ends_with('.'), "{}", row.name);
        }
    }
}
