//! Questions that the program answers as its commands do, with the same bytes that they print with `--json`.

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// `context diff --json A B`
    Diff {
        /// The name of the first request.
        a: String,
        /// The name of the second request.
        b: String,
    },
    /// `context why --json …`
    Why {
        /// What is asked about.
        about: WhyAbout,
        /// The name of the request.
        request: String,
    },
    /// `context packs --json [MESSAGE]`
    Packs {
        /// The message of a person, if there is one.
        message: Option<String>,
        /// Whether cells have their texts: `--texts`.
        has_texts: bool,
    },
    /// `cost --json SESSION… [--by GROUP] [--as SETTING]…`
    Cost {
        /// The sessions that costs are added up of.
        sessions: Vec<String>,
        /// The word of `--by`.
        by: Option<String>,
        /// The words of `--as`.
        settings: Vec<String>,
    },
    /// `sessions grep --json PATTERN …`
    Search(SearchQuestion),
    /// `cache --json SESSION`
    Cache {
        /// The id of the session.
        session: String,
    },
    /// `fork SESSION#N`: the answer is the id of the new session.
    Fork {
        /// The id of the session.
        session: String,
        /// The number of a request: the copy ends with the turn that sent it.
        request: usize,
    },
    /// `sessions capsule SESSION[#N] --redact WORD`
    Export {
        /// The id of the session.
        session: String,
        /// The number of the last request that the capsule has.
        request: Option<usize>,
        /// The word of `--redact`.
        redact: Option<String>,
    },
}

/// What `why` is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyAbout {
    /// A file, or lines of it: `PATH:LINE-LINE`.
    File(String),
    /// A text, before it is escaped.
    Text(String),
    /// A byte of the request.
    Byte(usize),
    /// A part of the request.
    Part(String),
    /// A tool that is offered.
    Tool(String),
    /// A skill by its name.
    Skill(String),
    /// A call by its id.
    Call(String),
}

/// What is searched for, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuestion {
    /// The pattern or text.
    pub pattern: String,
    /// The sessions; all if there are none.
    pub sessions: Vec<String>,
    /// Whether the pattern is a text.
    pub is_fixed: bool,
    /// Whether upper and lower case are the same.
    pub ignores_case: bool,
    /// Only items of this role.
    pub role: Option<String>,
    /// Only parts with such names.
    pub part: Option<String>,
    /// Only sources with such names.
    pub source: Option<String>,
    /// Only calls of this tool and their outputs.
    pub tool: Option<String>,
    /// Only requests sent since then.
    pub since: Option<String>,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The question names something that there is not, or in a wrong way.
    Wrong(String),
    /// What is stored does not tell.
    Unknown(String),
    /// The program could not find out.
    Failed(String),
}

/// The program that answers.
pub trait Questions: Send + Sync + 'static {
    /// The bytes that the command prints.
    ///
    /// # Errors
    /// When the command would print nothing.
    fn ask(&self, question: &Question) -> Result<Vec<u8>, NoAnswer>;
}
