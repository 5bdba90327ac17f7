//! What fills a request, in a few groups: the first screen of `context`.
//!
//! Every byte is in one group, so the groups add up to the request. Notation (braces, separators, tags around texts) is one
//! group: a user cannot shorten it, and its many short rows would hide the rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::tool_list::MCP_SERVERS;
use serde::Deserialize;
use serde::Serialize;

/// A row of a fact that is shorter than this is notation: a folder's name, a setting.
const SHORT_BYTES: usize = 16;

/// What fills a request, in a few groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextOverview {
    /// How many bytes the request has.
    pub bytes: usize,
    /// How many tokens the request has.
    pub tokens: usize,
    /// The groups that have bytes, in the order of [`OverviewKind`].
    pub groups: Vec<OverviewGroup>,
}

/// A group of what fills a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewGroup {
    /// What the group has.
    pub kind: OverviewKind,
    /// How many bytes its rows have.
    pub bytes: usize,
    /// How many tokens its rows have.
    pub tokens: usize,
    /// Its sources, the largest first.
    pub sources: Vec<OverviewSource>,
    /// How many tokens come from each origin, in the order of [`OverviewOrigin`].
    pub origins: Vec<(OverviewOrigin, usize)>,
}

/// A file, tool, message or other source in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewSource {
    /// The name of the source: a path, a tool, a fact.
    pub name: Arc<str>,
    /// How many bytes its rows have.
    pub bytes: usize,
    /// How many tokens its rows have.
    pub tokens: usize,
    /// Whether the name is the path of a file on the user's disk.
    pub is_file: bool,
    /// The origin of most of its bytes.
    pub origin: OverviewOrigin,
}

/// Whose words the bytes of a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverviewOrigin {
    /// Files, settings and messages of the user.
    Yours,
    /// Texts of the pack or of the model's catalogue entry.
    Pack,
    /// Answers of the model.
    Model,
    /// Outputs of tools, and what MCP servers say of their tools.
    Tool,
    /// Facts about the session, such as its folder, and notation.
    Session,
}

impl OverviewOrigin {
    /// Every origin, in order.
    pub const ALL: [Self; 5] = [Self::Yours, Self::Pack, Self::Model, Self::Tool, Self::Session];

    /// The origin in a word, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yours => "yours",
            Self::Pack => "pack",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Session => "session",
        }
    }

    pub(crate) fn of(kind: OverviewKind, origin: &Origin) -> Self {
        match origin.claim() {
            Origin::Provided { .. } if kind == OverviewKind::McpTools => Self::Tool,
            Origin::File { .. } | Origin::Skill { .. } | Origin::Provided { .. } | Origin::User => Self::Yours,
            Origin::Pack { .. } | Origin::Catalogue => Self::Pack,
            Origin::Model => Self::Model,
            Origin::Tool { .. } => Self::Tool,
            Origin::Fact { .. }
            | Origin::Recorded { .. }
            | Origin::Layout
            | Origin::Repair
            | Origin::Wire
            | Origin::Program { .. }
            | Origin::Likely(_)
            | Origin::Unknown => Self::Session,
        }
    }
}

/// What a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverviewKind {
    /// The instructions of the pack or of the model.
    Instructions,
    /// Instruction files and other texts of the user.
    Yours,
    /// Names and texts of skills.
    Skills,
    /// Facts about the session for the model: permissions, folder, mode.
    Session,
    /// What is remembered of earlier turns and sessions.
    Memory,
    /// Tools of the program.
    Tools,
    /// Tools of MCP servers.
    McpTools,
    /// Messages of the user, answers of the model, outputs of tools.
    Conversation,
    /// Braces, separators and tags.
    Notation,
}

impl OverviewKind {
    /// The name of the group for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Yours => "your files",
            Self::Skills => "skills",
            Self::Session => "session",
            Self::Memory => "memory",
            Self::Tools => "tools",
            Self::McpTools => "MCP tools",
            Self::Conversation => "conversation",
            Self::Notation => "notation",
        }
    }

    pub(crate) fn of(row: &Row) -> Self {
        let is_tool = &*row.part == "tools" || row.part.starts_with("tools/");
        match row.origin.claim() {
            Origin::Wire | Origin::Layout | Origin::Repair => Self::Notation,
            Origin::Provided { place } if is_tool && place.starts_with(MCP_SERVERS) => Self::McpTools,
            _ if is_tool => Self::Tools,
            Origin::Skill { .. } => Self::Skills,
            _ if row.part.starts_with("memory") => Self::Memory,
            Origin::User | Origin::Model | Origin::Tool { .. } | Origin::Recorded { .. } | Origin::Unknown => {
                Self::Conversation
            }
            Origin::File { .. } | Origin::Provided { .. } => Self::Yours,
            Origin::Fact { .. } if row.bytes < SHORT_BYTES => Self::Notation,
            Origin::Program { .. } if row.part.starts_with("settings") => Self::Notation,
            Origin::Pack { .. } | Origin::Catalogue | Origin::Program { .. } if row.item.is_none() => {
                Self::Instructions
            }
            Origin::Pack { .. }
            | Origin::Catalogue
            | Origin::Fact { .. }
            | Origin::Program { .. }
            | Origin::Likely(_) => Self::Session,
        }
    }
}

impl ContextOverview {
    /// Groups the rows of a report.
    pub fn of(report: &Report) -> Self {
        let mut groups: BTreeMap<OverviewKind, BTreeMap<Arc<str>, Gathered>> = BTreeMap::new();
        for row in &report.rows {
            let kind = OverviewKind::of(row);
            let sources = groups.entry(kind).or_default();
            let source = sources.entry(source_name(kind, row)).or_default();
            source.is_file |= matches!(row.origin, Origin::File { .. } | Origin::Skill { .. });
            let (bytes, tokens) = source.origins.entry(OverviewOrigin::of(kind, &row.origin)).or_default();
            *bytes += row.bytes;
            *tokens += row.tokens;
        }
        let groups = groups.into_iter().map(|(kind, sources)| group(kind, sources)).collect();
        Self { bytes: report.bytes(), tokens: report.tokens(), groups }
    }

    /// How many tokens come from each origin, without those of notation.
    pub fn origins(&self) -> Vec<(OverviewOrigin, usize)> {
        let mut origins: BTreeMap<OverviewOrigin, usize> = BTreeMap::new();
        for group in self.groups.iter().filter(|group| group.kind != OverviewKind::Notation) {
            for (origin, tokens) in &group.origins {
                *origins.entry(*origin).or_default() += tokens;
            }
        }
        origins.into_iter().collect()
    }
}

/// The rows of a source, counted by origin.
#[derive(Default)]
struct Gathered {
    is_file: bool,
    /// Bytes and tokens.
    origins: BTreeMap<OverviewOrigin, (usize, usize)>,
}

fn group(kind: OverviewKind, gathered: BTreeMap<Arc<str>, Gathered>) -> OverviewGroup {
    let mut origins: BTreeMap<OverviewOrigin, usize> = BTreeMap::new();
    let mut sources = Vec::with_capacity(gathered.len());
    for (name, Gathered { is_file, origins: of_source }) in gathered {
        for (origin, (_, tokens)) in &of_source {
            *origins.entry(*origin).or_default() += tokens;
        }
        let largest = of_source.iter().max_by_key(|(_, (bytes, _))| *bytes);
        sources.push(OverviewSource {
            name,
            bytes: of_source.values().map(|(bytes, _)| bytes).sum(),
            tokens: of_source.values().map(|(_, tokens)| tokens).sum(),
            is_file,
            origin: largest.map_or(OverviewOrigin::Session, |(origin, _)| *origin),
        });
    }
    sources.sort_by(|one, two| two.bytes.cmp(&one.bytes).then_with(|| one.name.cmp(&two.name)));
    let sum = |of: fn(&OverviewSource) -> usize| sources.iter().map(of).sum();
    let (bytes, tokens) = (sum(|it| it.bytes), sum(|it| it.tokens));
    OverviewGroup { kind, bytes, tokens, sources, origins: origins.into_iter().collect() }
}

/// The name of the source of a row, if that name separates rows of its group.
fn source_name(kind: OverviewKind, row: &Row) -> Arc<str> {
    match (kind, &row.origin) {
        (OverviewKind::Tools | OverviewKind::McpTools, _) => {
            row.part.strip_prefix("tools/").map_or_else(|| row.part.clone(), Arc::from)
        }
        (OverviewKind::Session | OverviewKind::Notation, _) => row.part.clone(),
        (_, Origin::Tool { name }) => format!("output of {name}").into(),
        (_, Origin::User) => "you".into(),
        (_, Origin::Model) => "the model".into(),
        (_, origin) if origin.detail().is_empty() => origin.kind().into(),
        (_, origin) => origin.detail().into(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_engine::file_version::FileVersion;

    use super::*;

    fn report(rows: &[(&str, Option<usize>, Origin, usize)]) -> Report {
        let mut report = Report::default();
        let mut start = 0;
        for (part, item, origin, bytes) in rows {
            let (part, origin) = (Arc::from(*part), origin.clone());
            let tokens = bytes.div_ceil(4);
            report.rows.push(Row {
                part,
                item: *item,
                role: None,
                origin,
                start,
                bytes: *bytes,
                raw_bytes: *bytes,
                tokens,
            });
            start += bytes;
        }
        report
    }

    #[test]
    fn every_byte_is_in_one_group() {
        let pack = |file: &str| Origin::Pack { file: FileVersion::new(file, None) };
        let file = |path: &str| Origin::File { path: FileVersion::new(path, None), range: 0..9, size: 9 };
        let provided = |place: &str| Origin::Provided { place: place.into() };
        let report = report(&[
            ("base", None, Origin::Wire, 20),
            ("base", None, pack("base.md"), 4000),
            ("permissions", Some(0), pack("permissions/read_only.md"), 300),
            ("environment", Some(1), Origin::fact("cwd"), 15),
            ("environment", Some(1), Origin::fact("roots"), 40),
            ("user_instructions", Some(2), file("/p/AGENTS.md"), 200),
            ("user_instructions", Some(2), file("/p/sub/AGENTS.md"), 900),
            ("user_instructions", Some(2), Origin::Layout, 8),
            ("user_instructions", Some(2), Origin::Skill { path: "/p/skills/a/SKILL.md".into() }, 70),
            ("developer", Some(3), provided("developer_instructions"), 50),
            ("memory", Some(4), provided("memories"), 60),
            ("user", Some(5), Origin::User, 100),
            ("assistant", Some(6), Origin::Model, 120),
            ("tool", Some(7), Origin::Tool { name: "exec_command".into() }, 5000),
            ("tools/exec_command", None, pack("tools/exec_command.toml"), 2000),
            ("tools/wiki__find", None, provided("mcp_servers.wiki"), 700),
        ]);
        let overview = ContextOverview::of(&report);
        assert_eq!(overview.groups.iter().map(|group| group.bytes).sum::<usize>(), report.bytes());
        assert_eq!(overview.groups.iter().map(|group| group.tokens).sum::<usize>(), report.tokens());
        let lines = overview.groups.iter().map(|group| {
            let source = |it: &OverviewSource| format!("{} {} {}", it.origin.name(), it.name, it.bytes);
            let sources: Vec<String> = group.sources.iter().map(source).collect();
            format!("{}: {} ({})", group.kind.name(), group.bytes, sources.join(", "))
        });
        expect![[r#"
            instructions: 4000 (pack base.md 4000)
            your files: 1150 (yours /p/sub/AGENTS.md 900, yours /p/AGENTS.md 200, yours developer_instructions 50)
            skills: 70 (yours /p/skills/a/SKILL.md 70)
            session: 340 (pack permissions 300, session environment 40)
            memory: 60 (yours memories 60)
            tools: 2000 (pack exec_command 2000)
            MCP tools: 700 (tool wiki__find 700)
            conversation: 5220 (tool output of exec_command 5000, model the model 120, yours you 100)
            notation: 43 (session base 20, session environment 15, session user_instructions 8)"#]]
        .assert_eq(&lines.collect::<Vec<_>>().join("\n"));
        let origins = overview.origins();
        let named: Vec<String> = origins.iter().map(|(it, tokens)| format!("{} {tokens}", it.name())).collect();
        expect!["yours 346, pack 1575, model 30, tool 1425, session 10"].assert_eq(&named.join(", "));
    }
}
