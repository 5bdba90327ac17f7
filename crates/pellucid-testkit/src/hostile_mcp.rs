//! MCP servers that misbehave: shell scripts, one kind of misbehaviour each.

use std::path::PathBuf;

use crate::Workspace;

/// What each kind of server does.
const SCRIPT: &str = include_str!("hostile_mcp.sh");

/// What a server does wrong. Unless its name says otherwise, it does so in the first call, and answers the second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostileMcp {
    /// Prints lines before it is greeted.
    Banner,
    /// Answers a line of text.
    Garbage,
    /// Answers bytes that are no text.
    GarbageBytes,
    /// Answers the beginning of a message.
    GarbageWithId,
    /// Answers a list of messages.
    Array,
    /// Answers 200,000 bytes.
    TooLarge,
    /// Answers 200,000 bytes, and says last to what.
    TooLargeIdLast,
    /// Answers 200,000 bytes in a line that does not end.
    Endless,
    /// Answers another kind of result.
    WrongAnswer,
    /// Answers a request that was not sent.
    WrongId,
    /// Answers an error without saying to what.
    ErrorWithoutId,
    /// Answers twice.
    AnswersTwice,
    /// Asks something that cannot be read, and answers then.
    AsksNonsense,
    /// Sends 2,000 notifications before it answers.
    Notifications,
    /// Answers an error that looks like one of the client.
    FaultCode,
    /// Ends in every call.
    DiesInCall,
    /// Ends in every call, and has other tools when it is started again.
    OtherToolsAgain,
    /// Closes its output in every call, and runs on.
    ClosesOutput,
    /// Does not answer.
    NeverAnswers,
    /// Lists a tool with an impossible schema and one without a name.
    BadSchema,
    /// Lists something else.
    NoList,
    /// Speaks a revision of the protocol that does not exist.
    FutureRevision,
    /// Writes 2,000,000 bytes to standard error.
    StderrFlood,
    /// Ends as soon as it is started.
    DiesAtStart,
    /// Does not answer the greeting.
    NeverGreets,
    /// Answers the greeting with the beginning of a message.
    GreetsWithGarbage,
    /// Does not end when it is asked to.
    IgnoresTheEnd,
    /// Says in its first call that its tools have changed, and has `pong` instead of `ping` from then on.
    ListChanges,
    /// Lists 300 tools, and another page of them, without end.
    EndlessPages,
    /// Asks for the folders of the client in its first call.
    AsksRoots,
    /// Answers nothing of interest to methods that it does not know.
    EmptyAnswers,
    /// Ends when it is asked for the revisions that it speaks.
    DiesOfDiscovery,
}

impl HostileMcp {
    /// All kinds.
    pub const ALL: [Self; 32] = [
        Self::Banner,
        Self::Garbage,
        Self::GarbageBytes,
        Self::GarbageWithId,
        Self::Array,
        Self::TooLarge,
        Self::TooLargeIdLast,
        Self::Endless,
        Self::WrongAnswer,
        Self::WrongId,
        Self::ErrorWithoutId,
        Self::AnswersTwice,
        Self::AsksNonsense,
        Self::Notifications,
        Self::FaultCode,
        Self::DiesInCall,
        Self::OtherToolsAgain,
        Self::ClosesOutput,
        Self::NeverAnswers,
        Self::BadSchema,
        Self::NoList,
        Self::FutureRevision,
        Self::StderrFlood,
        Self::DiesAtStart,
        Self::NeverGreets,
        Self::GreetsWithGarbage,
        Self::IgnoresTheEnd,
        Self::ListChanges,
        Self::EndlessPages,
        Self::AsksRoots,
        Self::EmptyAnswers,
        Self::DiesOfDiscovery,
    ];

    /// The kind's name in the script: its words with `_` between them.
    fn word(self) -> String {
        let mut word = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.extend(letter.to_lowercase());
        }
        word
    }
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
        vec!["/bin/sh".to_owned(), script, self.kind.word(), folder]
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
