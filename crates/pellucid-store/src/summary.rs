//! The entry of a session in lists, from the first and the last lines of its file.
//!
//! A file is listed when its first lines hold a `session_meta` line and a message of the
//! user. Long texts in between, instructions above all, are skipped and not parsed: the first
//! use of a home folder with ten thousand sessions reads all of them.

use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::time::SystemTime;

use memchr::memchr;
use memchr::memmem;
use memchr::memrchr;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::TokenUsageInfo;
use serde::Deserialize;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::read::RecordKind;
use crate::read::split;
use crate::record::RecordedGit;
use crate::walk::FoundSession;
use crate::walk::SessionPlace;

/// Up to which size a file is read whole.
const WHOLE_BYTES_MAX: u64 = 64 * 1024;

/// How much is read at first of a longer one, at each end.
const END_BYTES: usize = 32 * 1024;

/// How much at most, at each end.
const END_BYTES_MAX: usize = 1024 * 1024;

/// How many lines are looked at, and how many more when the session is known but no message.
const N_LINES: usize = 10;
const N_LINES_MORE: usize = 200;

/// Behind this mark an editor puts what the person typed.
const REQUEST_MARK: &str = "## My request for Codex:";

/// The title of a session whose first message is only an image.
const IMAGE: &str = "[Image]";

/// The entry of a session in lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SessionSummary {
    /// The id of the session.
    pub id: String,
    /// The name that the user gave.
    pub name: Option<String>,
    /// The path of the session file, relative to the home folder.
    pub path: String,
    /// Whether the session is archived.
    pub is_archived: bool,
    /// The time at which the session began, in seconds of Unix time.
    pub created_at: i64,
    /// The time of the last line, in seconds of Unix time.
    pub updated_at: i64,
    /// The same in nanoseconds.
    #[serde(skip)]
    pub modified: i64,
    /// The number of bytes of the session file.
    pub size: u64,
    /// The working directory of the last turn.
    pub cwd: String,
    /// The user's first message.
    pub first_message: String,
    /// The client: a word, or JSON for clients with more fields.
    pub source: String,
    /// The id of the model provider.
    pub model_provider: Option<String>,
    /// What it was set to last.
    #[serde(flatten)]
    pub last: LastTurn,
    /// How it began.
    #[serde(flatten)]
    pub begun: Begun,
    /// All tokens so far.
    pub usage: TokenUsage,
    /// Tools that the driving program runs itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dynamic_tools: Vec<Value>,
    /// Whether lists show it: it says which session it is, and a person said something.
    #[serde(skip)]
    pub is_listed: bool,
}

/// What a session was set to when its last turn began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LastTurn {
    /// With which model, last.
    pub model: Option<String>,
    /// What commands may read and write, as JSON.
    pub sandbox_policy: Option<String>,
    /// When a person is asked.
    pub approval_policy: Option<String>,
}

/// How a session began, by the first line of its file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Begun {
    /// The program that began the session.
    pub originator: String,
    /// The version of that program.
    pub cli_version: String,
    /// The session that it was forked from.
    pub forked_from: Option<String>,
    /// The state of the repository when the session began.
    pub git: Option<RecordedGit>,
}

/// The fields of the first line that lists need.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SessionHead {
    /// The id of the session.
    #[serde(default)]
    pub id: String,
    /// The session it was forked from.
    #[serde(default)]
    pub forked_from_id: Option<String>,
    /// The time at which the session began.
    #[serde(default)]
    pub timestamp: String,
    /// The working directory at the beginning.
    #[serde(default)]
    pub cwd: String,
    /// The program that began the session.
    #[serde(default)]
    pub originator: String,
    /// The version of that program.
    #[serde(default)]
    pub cli_version: String,
    /// The client that began the session.
    #[serde(default)]
    pub source: Value,
    /// The id of the model provider.
    #[serde(default)]
    pub model_provider: Option<String>,
    /// Tools that the driving program runs itself.
    #[serde(default)]
    pub dynamic_tools: Option<Vec<Value>>,
    /// The state of the repository when the session began.
    #[serde(default)]
    pub git: Option<RecordedGit>,
}

/// Reads the first lines of a session file.
pub fn head(path: &Path) -> Option<SessionHead> {
    let mut ends = Ends::open(path).ok()?;
    loop {
        let (bytes, is_all) = ends.head();
        let found = Front::of(bytes, is_all);
        match found {
            Some(front) => return front.head,
            None => ends.more_head().ok()?,
        }
    }
}

/// The same for a file anywhere.
///
/// # Errors
/// When there is no such file.
pub fn of_file(home: &Path, path: &Path, place: SessionPlace) -> io::Result<SessionSummary> {
    let relative = path.strip_prefix(home).unwrap_or(path).to_string_lossy().into_owned();
    let metadata = fs::metadata(path)?;
    let modified = metadata.modified().ok().and_then(|it| it.duration_since(SystemTime::UNIX_EPOCH).ok());
    let modified = modified.and_then(|it| i64::try_from(it.as_nanos()).ok()).unwrap_or(0);
    Ok(summarise(home, &FoundSession { relative, place, modified, size: metadata.len() }))
}

/// Reads the list entry of a session file. A file that cannot be read gives an entry that is not listed.
pub fn summarise(home: &Path, found: &FoundSession) -> SessionSummary {
    let path = home.join(&found.relative);
    let (front, back) = Ends::open(&path).and_then(|ends| read_ends(ends, found.size)).unwrap_or_default();
    // A session whose first line cannot be read is known by the name of its file.
    let is_ours = front.head.is_some() || crate::name::session_id(found.name()).is_some();
    let is_listed = is_ours && front.has_message;
    let head = front.head.unwrap_or_default();
    let turn = back.turn.or(front.turn).unwrap_or_default();
    let id = if head.id.is_empty() { found.id().to_owned() } else { head.id };
    let began = || crate::name::stamp(found.name()).and_then(|stamp| stamp.to_zoned(jiff::tz::TimeZone::UTC).ok());
    let created_at = seconds(&head.timestamp).or_else(|| Some(began()?.timestamp().as_second())).unwrap_or(0);
    SessionSummary {
        id,
        name: None,
        path: found.relative.clone(),
        is_archived: found.place == SessionPlace::Archived,
        created_at,
        updated_at: found.modified.div_euclid(1_000_000_000),
        modified: found.modified,
        size: found.size,
        cwd: turn.cwd.unwrap_or(head.cwd),
        first_message: front.message.unwrap_or_default(),
        source: match head.source {
            Value::String(word) => word,
            Value::Null => "vscode".to_owned(),
            other => other.to_string(),
        },
        model_provider: head.model_provider,
        last: LastTurn {
            model: turn.model,
            sandbox_policy: turn.sandbox_policy.map(|policy| policy.to_string()),
            approval_policy: turn.approval_policy,
        },
        begun: Begun {
            originator: head.originator,
            cli_version: head.cli_version,
            forked_from: head.forked_from_id,
            git: head.git,
        },
        usage: back.usage.unwrap_or_default(),
        dynamic_tools: head.dynamic_tools.unwrap_or_default(),
        is_listed,
    }
}

fn read_ends(mut ends: Ends, size: u64) -> io::Result<(Front, Back)> {
    let front = loop {
        let (bytes, is_all) = ends.head();
        match Front::of(bytes, is_all) {
            Some(front) => break front,
            None => ends.more_head()?,
        }
    };
    let back = if ends.is_whole(size) {
        Back::of(ends.head().0, true).unwrap_or_default()
    } else {
        let mut len = END_BYTES;
        loop {
            let (bytes, is_all) = ends.tail(len, size)?;
            match Back::of(&bytes, is_all || len >= END_BYTES_MAX) {
                Some(back) => break back,
                None => len *= 4,
            }
        }
    };
    Ok((front, back))
}

/// Reads the ends of a file.
struct Ends {
    file: File,
    head: Vec<u8>,
    is_at_end: bool,
}

impl Ends {
    fn open(path: &Path) -> io::Result<Self> {
        let mut ends = Self { file: pellucid_files::open(path)?, head: Vec::new(), is_at_end: false };
        ends.read(usize::try_from(WHOLE_BYTES_MAX).unwrap_or(END_BYTES))?;
        Ok(ends)
    }

    fn read(&mut self, n: usize) -> io::Result<()> {
        let before = self.head.len();
        self.head.reserve(n);
        (&mut self.file).take(n as u64).read_to_end(&mut self.head)?;
        self.is_at_end = self.head.len() - before < n;
        Ok(())
    }

    fn head(&self) -> (&[u8], bool) {
        (&self.head, self.is_at_end || self.head.len() >= END_BYTES_MAX)
    }

    fn more_head(&mut self) -> io::Result<()> {
        self.read(self.head.len())
    }

    fn is_whole(&self, size: u64) -> bool {
        self.is_at_end || self.head.len() as u64 >= size
    }

    fn tail(&mut self, len: usize, size: u64) -> io::Result<(Vec<u8>, bool)> {
        let len = (len as u64).min(size);
        self.file.seek(SeekFrom::Start(size - len))?;
        let mut bytes = Vec::new();
        (&mut self.file).take(len).read_to_end(&mut bytes)?;
        Ok((bytes, len == size))
    }
}

/// The settings of a request, as far as lists show them.
#[derive(Debug, Default, Deserialize)]
struct Turn {
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    approval_policy: Option<String>,
    #[serde(default)]
    sandbox_policy: Option<Value>,
}

/// The values found in the first lines.
#[derive(Debug, Default)]
struct Front {
    head: Option<SessionHead>,
    /// The first message that has something in it.
    message: Option<String>,
    has_message: bool,
    turn: Option<Turn>,
}

impl Front {
    /// Reads the first lines; absent when more bytes are needed.
    fn of(bytes: &[u8], is_all: bool) -> Option<Self> {
        let mut front = Self::default();
        let mut rest = bytes;
        let mut n_lines = 0;
        while let Some(end) = memchr(b'\n', rest).or(Some(rest.len()).filter(|len| is_all && *len > 0)) {
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            n_lines += 1;
            front.read(line);
            let n_max = if front.head.is_some() && !front.has_message { N_LINES + N_LINES_MORE } else { N_LINES };
            if (front.head.is_some() && front.message.is_some()) || n_lines >= n_max {
                return Some(front);
            }
        }
        is_all.then_some(front)
    }

    fn read(&mut self, line: &[u8]) {
        let Some((kind, payload)) = split(line) else {
            return self.read_odd(line);
        };
        match kind {
            RecordKind::SessionMeta if self.head.is_none() => self.head = read_head(payload),
            RecordKind::TurnContext if self.turn.is_none() => self.turn = serde_json::from_slice(payload).ok(),
            RecordKind::EventMsg if payload.starts_with(b"{\"type\":\"user_message\"") => self.read_message(payload),
            _ => {}
        }
    }

    /// A line in another order of keys.
    fn read_odd(&mut self, line: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        let payload = value["payload"].to_string();
        match value["type"].as_str() {
            Some("session_meta") if self.head.is_none() => self.head = serde_json::from_str(&payload).ok(),
            Some("event_msg") if value["payload"]["type"] == "user_message" => self.read_message(payload.as_bytes()),
            _ => {}
        }
    }

    fn read_message(&mut self, payload: &[u8]) {
        #[derive(Deserialize)]
        struct Message {
            message: String,
            #[serde(default)]
            images: Option<Vec<IgnoredAny>>,
            #[serde(default)]
            local_images: Vec<IgnoredAny>,
        }
        let Ok(message) = serde_json::from_slice::<Message>(payload) else {
            return;
        };
        self.has_message = true;
        if self.message.is_some() {
            return;
        }
        let text = message.message.split_once(REQUEST_MARK).map_or(message.message.as_str(), |(_, said)| said).trim();
        let has_images = message.images.is_some_and(|images| !images.is_empty()) || !message.local_images.is_empty();
        self.message = match text {
            "" if has_images => Some(IMAGE.to_owned()),
            "" => None,
            text => Some(text.to_owned()),
        };
    }
}

/// Reads what a session is without its instructions, which are long.
fn read_head(payload: &[u8]) -> Option<SessionHead> {
    quick_head(payload).or_else(|| serde_json::from_slice(payload).ok())
}

/// Keys have their quotes as they are and texts have them escaped, so a key is found by search.
fn quick_head(payload: &[u8]) -> Option<SessionHead> {
    let at = memmem::find(payload, b",\"base_instructions\":{\"text\":\"")?;
    let rest = &payload[at..];
    if memmem::find(rest, b",\"dynamic_tools\":").is_some() {
        return None;
    }
    let mut head: SessionHead = serde_json::from_slice(&[&payload[..at], b"}"].concat()).ok()?;
    if let Some(git) = memmem::rfind(rest, b",\"git\":{") {
        #[derive(Deserialize)]
        struct Only {
            git: RecordedGit,
        }
        head.git = Some(serde_json::from_slice::<Only>(&[b"{", &rest[git + 1..]].concat()).ok()?.git);
    }
    Some(head)
}

/// The values found in the last lines.
#[derive(Debug, Default)]
struct Back {
    usage: Option<TokenUsage>,
    turn: Option<Turn>,
}

impl Back {
    /// Reads the last lines; absent when more bytes are needed.
    fn of(bytes: &[u8], is_all: bool) -> Option<Self> {
        let mut back = Self::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let start = memrchr(b'\n', rest).map_or(0, |at| at + 1);
            let line = &rest[start..];
            if start == 0 && !is_all {
                // The line may begin before these bytes.
                break;
            }
            rest = &rest[..start.saturating_sub(1)];
            back.read(line);
            if back.usage.is_some() && back.turn.is_some() {
                return Some(back);
            }
        }
        is_all.then_some(back)
    }

    fn read(&mut self, line: &[u8]) {
        match split(line) {
            Some((RecordKind::TurnContext, payload)) if self.turn.is_none() => {
                self.turn = serde_json::from_slice(payload).ok();
            }
            Some((RecordKind::EventMsg, payload)) if self.usage.is_none() => {
                #[derive(Deserialize)]
                struct Figures {
                    info: Option<TokenUsageInfo>,
                }
                if payload.starts_with(b"{\"type\":\"token_count\"") {
                    let figures = serde_json::from_slice::<Figures>(payload).ok();
                    self.usage = figures.and_then(|figures| figures.info).map(|info| info.total_token_usage);
                }
            }
            _ => {}
        }
    }
}

/// The seconds of a time as files have it.
fn seconds(text: &str) -> Option<i64> {
    let parsed = text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second);
    parsed.or_else(|| {
        let stamp = jiff::civil::DateTime::strptime("%Y-%m-%dT%H-%M-%S", text).ok()?;
        Some(stamp.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
    })
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_testkit::Workspace;

    use super::*;

    const NAME: &str = "rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";

    fn line(kind: &str, payload: &str) -> String {
        format!("{{\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    }

    fn meta(rest: &str) -> String {
        let head = r#""id":"019a0000-0000-7000-8000-000000000001","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/p","originator":"o","cli_version":"1""#;
        line("session_meta", &format!("{{{head}{rest}}}"))
    }

    fn message(text: &str) -> String {
        line("event_msg", &format!(r#"{{"type":"user_message","message":{},"images":[]}}"#, Value::from(text)))
    }

    fn summary(text: &str) -> SessionSummary {
        let home = Workspace::empty();
        home.write(format!("sessions/2026/01/02/{NAME}"), text);
        let found = crate::walk::walk(home.root(), SessionPlace::Live).remove(0);
        summarise(home.root(), &found)
    }

    #[track_caller]
    fn check_summary(text: &str, expected: &Expect) {
        let summary = summary(text);
        expected.assert_eq(&format!(
            "listed={} created={} source={} provider={:?} cwd={} first={:?} model={:?} tokens={} branch={:?} tools={}",
            summary.is_listed,
            summary.created_at,
            summary.source,
            summary.model_provider,
            summary.cwd,
            summary.first_message,
            summary.last.model,
            summary.usage.total_tokens,
            summary.begun.git.and_then(|git| git.branch),
            summary.dynamic_tools.len(),
        ));
    }

    #[test]
    fn the_ends_of_a_file_say_what_lists_show() {
        let front = meta(
            r#","source":"exec","model_provider":"openai","base_instructions":{"text":"see \",\"git\":{\" x"},"git":{"branch":"main"}"#,
        );
        let turn = |cwd: &str| {
            line(
                "turn_context",
                &format!(
                    r#"{{"cwd":"{cwd}","model":"m","approval_policy":"never","sandbox_policy":{{"type":"read-only"}}}}"#
                ),
            )
        };
        let usage = r#"{"input_tokens":1,"cached_input_tokens":0,"output_tokens":2,"reasoning_output_tokens":0,"total_tokens":3}"#;
        let count = line(
            "event_msg",
            &format!(
                r#"{{"type":"token_count","info":{{"total_token_usage":{usage},"last_token_usage":{usage},"model_context_window":null}},"rate_limits":null}}"#
            ),
        );
        let filler = line(
            "response_item",
            &format!(r#"{{"type":"function_call_output","call_id":"c","output":"{}"}}"#, "x".repeat(50_000)),
        );
        let short = format!("{front}{}{}{}{count}{}", message("  hi "), turn("/p"), message("second"), turn("/q"));
        let expected = expect![[
            r#"listed=true created=1767323045 source=exec provider=Some("openai") cwd=/q first="hi" model=Some("m") tokens=3 branch=Some("main") tools=0"#
        ]];
        check_summary(&short, &expected);
        let long = format!("{front}{}{}{count}{}{filler}{filler}", message("hi"), turn("/p"), turn("/q"));
        check_summary(&long, &expected);
        check_summary(&format!("{long}{{\"timestamp\":\"torn"), &expected);
    }

    #[test]
    fn the_json_of_a_session_is_flat_and_keeps_its_order() {
        let front = meta(r#","source":"exec","model_provider":"openai","forked_from_id":"f","git":{"branch":"main"}"#);
        let settings = r#"{"cwd":"/q","model":"m","approval_policy":"never","sandbox_policy":{"type":"read-only"}}"#;
        let text = format!("{front}{}{}", message("hi"), line("turn_context", settings));
        let summary = SessionSummary { updated_at: 7, size: 8, ..summary(&text) };
        expect![[
            r#"{"id":"019a0000-0000-7000-8000-000000000001","name":null,"path":"sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl","is_archived":false,"created_at":1767323045,"updated_at":7,"size":8,"cwd":"/q","first_message":"hi","source":"exec","model_provider":"openai","model":"m","sandbox_policy":"{\"type\":\"read-only\"}","approval_policy":"never","originator":"o","cli_version":"1","forked_from":"f","git":{"branch":"main"},"usage":{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}"#
        ]]
        .assert_eq(&serde_json::to_string(&summary).unwrap());
    }

    #[test]
    fn odd_files_are_read_too() {
        check_summary(
            &format!(
                "\n{}{}",
                meta(r#","dynamic_tools":[{"name":"t","description":"","inputSchema":{}}]"#),
                message("")
            ),
            &expect![[
                r#"listed=true created=1767323045 source=vscode provider=None cwd=/p first="" model=None tokens=0 branch=None tools=1"#
            ]],
        );
        check_summary(
            "garbage\n",
            &expect![[
                r#"listed=false created=1767323045 source=vscode provider=None cwd= first="" model=None tokens=0 branch=None tools=0"#
            ]],
        );
        let mut late = meta(r#","source":{"subagent":"review"}"#);
        late.extend(std::iter::repeat_n(line("event_msg", r#"{"type":"context_compacted"}"#), 150));
        late += &message("x ## My request for Codex: do it");
        check_summary(
            &late,
            &expect![[
                r#"listed=true created=1767323045 source={"subagent":"review"} provider=None cwd=/p first="do it" model=None tokens=0 branch=None tools=0"#
            ]],
        );
        let reordered = r#"{"payload":{"id":"019a0000-0000-7000-8000-000000000001","cwd":"/r"},"type":"session_meta","timestamp":"t"}"#;
        check_summary(
            &format!("{reordered}\n{}", message("hi")),
            &expect![[
                r#"listed=true created=1767323045 source=vscode provider=None cwd=/r first="hi" model=None tokens=0 branch=None tools=0"#
            ]],
        );
    }
}
