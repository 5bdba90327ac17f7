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

    fn of(row: &Row) -> Self {
        let is_tool = &*row.part == "tools" || row.part.starts_with("tools/");
        match &row.origin {
            Origin::Wire | Origin::Layout | Origin::Repair => Self::Notation,
            Origin::Provided { place } if is_tool && place.starts_with(MCP_SERVERS) => Self::McpTools,
            _ if is_tool => Self::Tools,
            Origin::Skill { .. } => Self::Skills,
            _ if row.part.starts_with("memory") => Self::Memory,
            Origin::User | Origin::Model | Origin::Tool { .. } | Origin::Recorded { .. } => Self::Conversation,
            Origin::File { .. } | Origin::Provided { .. } => Self::Yours,
            Origin::Fact { .. } if row.bytes < SHORT_BYTES => Self::Notation,
            Origin::Pack { .. } | Origin::Catalogue if row.item.is_none() => Self::Instructions,
            Origin::Pack { .. } | Origin::Catalogue | Origin::Fact { .. } => Self::Session,
        }
    }
}

impl ContextOverview {
    /// Groups the rows of a report.
    pub fn of(report: &Report) -> Self {
        let mut groups: BTreeMap<OverviewKind, BTreeMap<Arc<str>, OverviewSource>> = BTreeMap::new();
        for row in &report.rows {
            let kind = OverviewKind::of(row);
            let name = source_name(kind, row);
            let sources = groups.entry(kind).or_default();
            let source = sources.entry(name.clone()).or_insert_with(|| OverviewSource {
                name,
                bytes: 0,
                tokens: 0,
                is_file: matches!(row.origin, Origin::File { .. } | Origin::Skill { .. }),
            });
            source.bytes += row.bytes;
            source.tokens += row.tokens;
        }
        let groups = groups.into_iter().map(|(kind, sources)| {
            let mut sources: Vec<OverviewSource> = sources.into_values().collect();
            sources.sort_by(|one, two| two.bytes.cmp(&one.bytes).then_with(|| one.name.cmp(&two.name)));
            let sum = |of: fn(&OverviewSource) -> usize| sources.iter().map(of).sum();
            OverviewGroup { kind, bytes: sum(|it| it.bytes), tokens: sum(|it| it.tokens), sources }
        });
        Self { bytes: report.bytes(), tokens: report.tokens(), groups: groups.collect() }
    }
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
            let sources: Vec<String> = group.sources.iter().map(|it| format!("{} {}", it.name, it.bytes)).collect();
            format!("{}: {} ({})", group.kind.name(), group.bytes, sources.join(", "))
        });
        expect![[r#"
            instructions: 4000 (base.md 4000)
            your files: 1150 (/p/sub/AGENTS.md 900, /p/AGENTS.md 200, developer_instructions 50)
            skills: 70 (/p/skills/a/SKILL.md 70)
            session: 340 (permissions 300, environment 40)
            memory: 60 (memories 60)
            tools: 2000 (exec_command 2000)
            MCP tools: 700 (wiki__find 700)
            conversation: 5220 (output of exec_command 5000, the model 120, you 100)
            notation: 43 (base 20, environment 15, user_instructions 8)"#]]
        .assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    }
}
