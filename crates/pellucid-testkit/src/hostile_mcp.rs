//! MCP servers that misbehave: shell scripts, one kind of misbehaviour each.

use std::path::PathBuf;

use crate::Workspace;

/// What each kind of server does.
const SCRIPT: &str = include_str!("hostile_mcp.sh");

/// What a server does wrong. Unless its name says otherwise, it does so in the first call, and answers the second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostileMcp(&'static str);

impl HostileMcp {
    /// Prints lines before it is greeted.
    pub const BANNER: Self = Self("banner");
    /// Answers a line of text.
    pub const GARBAGE: Self = Self("garbage");
    /// Answers bytes that are no text.
    pub const GARBAGE_BYTES: Self = Self("garbage_bytes");
    /// Answers the beginning of a message.
    pub const GARBAGE_WITH_ID: Self = Self("garbage_with_id");
    /// Answers a list of messages.
    pub const ARRAY: Self = Self("array");
    /// Answers 200,000 bytes.
    pub const TOO_LARGE: Self = Self("too_large");
    /// Answers 200,000 bytes, and says last to what.
    pub const TOO_LARGE_ID_LAST: Self = Self("too_large_id_last");
    /// Answers 200,000 bytes in a line that does not end.
    pub const ENDLESS: Self = Self("endless");
    /// Answers another kind of result.
    pub const WRONG_ANSWER: Self = Self("wrong_answer");
    /// Answers a request that was not sent.
    pub const WRONG_ID: Self = Self("wrong_id");
    /// Answers an error without saying to what.
    pub const ERROR_WITHOUT_ID: Self = Self("error_without_id");
    /// Answers every call twice.
    pub const ANSWERS_TWICE: Self = Self("answers_twice");
    /// Asks something that cannot be read, and answers then.
    pub const ASKS_NONSENSE: Self = Self("asks_nonsense");
    /// Sends 2,000 notifications before it answers.
    pub const NOTIFICATIONS: Self = Self("notifications");
    /// Answers an error that looks like one of the client.
    pub const FAULT_CODE: Self = Self("fault_code");
    /// Ends in every call.
    pub const DIES_IN_CALL: Self = Self("dies_in_call");
    /// Ends in every call, and has other tools when it is started again.
    pub const OTHER_TOOLS_AGAIN: Self = Self("other_tools_again");
    /// Closes its output in every call, and runs on.
    pub const CLOSES_OUTPUT: Self = Self("closes_output");
    /// Does not answer a call.
    pub const NEVER_ANSWERS: Self = Self("never_answers");
    /// Lists a tool with an impossible schema and one without a name.
    pub const BAD_SCHEMA: Self = Self("bad_schema");
    /// Lists something that is no tool.
    pub const NO_LIST: Self = Self("no_list");
    /// Speaks a revision of the protocol that does not exist.
    pub const FUTURE_REVISION: Self = Self("future_revision");
    /// Writes 2,000,000 bytes to standard error.
    pub const STDERR_FLOOD: Self = Self("stderr_flood");
    /// Ends as soon as it is started.
    pub const DIES_AT_START: Self = Self("dies_at_start");
    /// Does not answer the greeting.
    pub const NEVER_GREETS: Self = Self("never_greets");
    /// Answers the greeting with the beginning of a message.
    pub const GREETS_WITH_GARBAGE: Self = Self("greets_with_garbage");
    /// Does not end when it is asked to.
    pub const IGNORES_THE_END: Self = Self("ignores_the_end");
    /// Says in its first call that its tools have changed, and has `pong` instead of `ping` from then on.
    pub const LIST_CHANGES: Self = Self("list_changes");
    /// Lists 300 tools, and another page of them, without end.
    pub const ENDLESS_PAGES: Self = Self("endless_pages");
    /// Asks for the folders of the client in its first call.
    pub const ASKS_ROOTS: Self = Self("asks_roots");
    /// Answers nothing of interest to methods that it does not know.
    pub const EMPTY_ANSWERS: Self = Self("empty_answers");
    /// Ends when it is asked for the revisions that it speaks.
    pub const DIES_OF_DISCOVERY: Self = Self("dies_of_discovery");

    /// Says of two resources that they have changed, as soon as it is asked to report changes of one.
    pub const RESOURCE_CHANGES: Self = Self("resource_changes");

    /// The kinds of misbehaviour, each once.
    pub const ALL: [Self; 33] = [
        Self::BANNER,
        Self::GARBAGE,
        Self::GARBAGE_BYTES,
        Self::GARBAGE_WITH_ID,
        Self::ARRAY,
        Self::TOO_LARGE,
        Self::TOO_LARGE_ID_LAST,
        Self::ENDLESS,
        Self::WRONG_ANSWER,
        Self::WRONG_ID,
        Self::ERROR_WITHOUT_ID,
        Self::ANSWERS_TWICE,
        Self::ASKS_NONSENSE,
        Self::NOTIFICATIONS,
        Self::FAULT_CODE,
        Self::DIES_IN_CALL,
        Self::OTHER_TOOLS_AGAIN,
        Self::CLOSES_OUTPUT,
        Self::NEVER_ANSWERS,
        Self::BAD_SCHEMA,
        Self::NO_LIST,
        Self::FUTURE_REVISION,
        Self::STDERR_FLOOD,
        Self::DIES_AT_START,
        Self::NEVER_GREETS,
        Self::GREETS_WITH_GARBAGE,
        Self::IGNORES_THE_END,
        Self::LIST_CHANGES,
        Self::ENDLESS_PAGES,
        Self::ASKS_ROOTS,
        Self::EMPTY_ANSWERS,
        Self::DIES_OF_DISCOVERY,
        Self::RESOURCE_CHANGES,
    ];
}

/// A server that misbehaves; its files are removed when it is dropped.
#[derive(Debug)]
pub struct HostileMcpServer {
    kind: HostileMcp,
    files: Workspace,
}

impl HostileMcpServer {
    /// A server of this kind, which has the tool `ping`.
    pub fn new(kind: HostileMcp) -> Self {
        let files = Workspace::empty();
        files.write("server.sh", SCRIPT);
        Self { kind, files }
    }

    /// The command line that starts the server.
    pub fn argv(&self) -> Vec<String> {
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        let (script, folder) = (shown(self.files.path("server.sh")), shown(self.files.path(".")));
        vec!["/bin/sh".to_owned(), script, self.kind.0.to_owned(), folder]
    }

    /// How often the server was started.
    pub fn n_starts(&self) -> usize {
        self.read("starts").lines().count()
    }

    /// The methods that the server was asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.read("asked").lines().map(str::to_owned).collect()
    }

    /// What the server got for its question.
    pub fn refused(&self) -> String {
        self.read("refused")
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.files.path(name)).unwrap_or_default()
    }
}
