//! The tables of the index and what is asked of them.

use std::collections::BTreeMap;

use pellucid_protocol::usage::TokenUsage;
use rusqlite::Connection;
use rusqlite::Row;
use rusqlite::TransactionBehavior;
use rusqlite::params;
use rusqlite::types::Value as Sql;

use super::first_tools;
use crate::query::Page;
use crate::query::Query;
use crate::query::Sort;
use crate::query::folder_key;
use crate::record::RecordedGit;
use crate::summary::Begun;
use crate::summary::LastTurn;
use crate::summary::SessionSummary;

/// The version of the tables. A database of another one is emptied.
const VERSION: i64 = 2;

const TABLES: &str = include_str!("tables.sql");

/// Made after the first rows are in, which is quicker.
const INDEXES: &str = include_str!("indexes.sql");

const COLUMNS: &str = "s.path, s.id, s.archived, s.listed, s.modified, s.size, s.created_at, s.updated_at, s.cwd, \
    s.first_message, s.source, s.provider, s.model, s.sandbox_policy, s.approval_policy, s.originator, \
    s.cli_version, s.forked_from, s.git_commit, s.git_branch, s.git_url, s.input_tokens, s.cached_input_tokens, \
    s.output_tokens, s.reasoning_output_tokens, s.total_tokens, n.name";

/// Makes a database ready to be asked.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != VERSION {
        make_tables(connection)?;
    }
    // Everything can be made again, so nothing is worth a wait for the disk.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;")
}

fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let made = (|| {
        let names: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for name in names {
            connection.execute_batch(&format!("DROP TABLE \"{name}\""))?;
        }
        connection.execute_batch(TABLES)?;
        connection.pragma_update(None, "user_version", VERSION)
    })();
    connection.execute_batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    made
}

/// The state of the session file that a row was made from.
#[derive(Debug)]
pub(super) struct State {
    pub path: String,
    pub modified: i64,
    pub size: u64,
}

/// The states of all session files that have a row, in the order of paths.
pub(super) fn states(connection: &Connection) -> rusqlite::Result<Vec<State>> {
    let mut statement = connection.prepare("SELECT path, modified, size FROM sessions ORDER BY path")?;
    statement.query_map([], state_in)?.collect()
}

/// The state of the session file at a path, if it has a row.
#[cfg(target_os = "linux")]
pub(super) fn state(connection: &Connection, path: &str) -> rusqlite::Result<Option<State>> {
    let mut statement = connection.prepare("SELECT path, modified, size FROM sessions WHERE path = ?1")?;
    statement.query_map([path], state_in)?.next().transpose()
}

fn state_in(row: &Row<'_>) -> rusqlite::Result<State> {
    Ok(State { path: row.get(0)?, modified: row.get(1)?, size: unsigned(row.get(2)?) })
}

/// The kind of files that a stamp covers.
pub(super) type What = &'static str;

/// The stamp that covers all session files.
pub(super) const FILES: What = "files";

/// The file of names.
pub(super) const NAMES: What = "names";

/// The state of files that the rows have.
pub(super) fn stamp(connection: &Connection, what: What) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare("SELECT stamp FROM stamps WHERE what = ?1")?;
    let mut rows = statement.query([what])?;
    rows.next()?.map_or(Ok(0), |row| row.get(0))
}

/// Changes that are written in one transaction.
#[derive(Debug)]
pub(super) struct Update<'a> {
    /// New rows, and the current state of changed rows.
    pub fresh: &'a [SessionSummary],
    /// The paths of files that are gone.
    pub gone: &'a [String],
    /// All names, if they changed.
    pub names: Option<BTreeMap<String, String>>,
    /// The states of files that the rows have then.
    pub stamps: [(What, i64); 2],
    /// The stamp of all session files that the changes build on, if they do.
    pub before: Option<i64>,
}

/// Writes rows, takes those of files that are gone away, and writes names. False, with nothing written, if the changes build
/// on another state of the rows.
pub(super) fn write(connection: &mut Connection, update: &Update<'_>) -> rusqlite::Result<bool> {
    let Update { fresh, gone, names, stamps, before } = update;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if let Some(before) = before
        && stamp(&transaction, FILES)? != *before
    {
        return Ok(false);
    }
    {
        let mut delete = transaction.prepare("DELETE FROM sessions WHERE path = ?1")?;
        let mut delete_tools = transaction.prepare("DELETE FROM dynamic_tools WHERE path = ?1")?;
        let mut insert = transaction.prepare(
            "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
             ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27)",
        )?;
        let is_empty: bool =
            transaction.query_row("SELECT NOT EXISTS (SELECT 1 FROM sessions)", [], |row| row.get(0))?;
        let mut id_of = transaction.prepare("SELECT id FROM sessions WHERE path = ?1")?;
        let mut gone_ids: Vec<String> = Vec::new();
        for path in *gone {
            gone_ids.extend(id_of.query_map([path], |row| row.get(0))?.collect::<Result<Vec<_>, _>>()?);
            delete.execute([path])?;
            delete_tools.execute([path])?;
        }
        let mut folders = BTreeMap::new();
        for summary in *fresh {
            if !is_empty {
                delete.execute([&summary.path])?;
                delete_tools.execute([&summary.path])?;
            }
            let folder = folders.entry(summary.cwd.as_str()).or_insert_with(|| folder_key(&summary.cwd));
            insert_row(&mut insert, summary, folder)?;
            insert_tools(&transaction, summary)?;
        }
        first_tools::forget(&transaction, &gone_ids)?;
        if let Some(names) = names {
            transaction.execute("DELETE FROM names", [])?;
            let mut insert = transaction.prepare("INSERT INTO names VALUES (?1, ?2)")?;
            for (id, name) in names {
                insert.execute([id, name])?;
            }
        }
        for (what, stamp) in stamps {
            transaction.execute("INSERT OR REPLACE INTO stamps VALUES (?1, ?2)", params![what, stamp])?;
        }
    }
    transaction.execute_batch(INDEXES)?;
    transaction.commit()?;
    Ok(true)
}

fn insert_row(insert: &mut rusqlite::Statement<'_>, it: &SessionSummary, folder: &str) -> rusqlite::Result<()> {
    let git = it.begun.git.clone().unwrap_or_default();
    let usage = &it.usage;
    insert.execute(params![
        it.path,
        it.id,
        it.is_archived,
        it.is_listed && !it.first_message.is_empty(),
        it.modified,
        i64::try_from(it.size).unwrap_or(i64::MAX),
        it.created_at,
        it.updated_at,
        it.cwd,
        folder,
        it.first_message,
        it.source,
        it.model_provider,
        it.last.model,
        it.last.sandbox_policy,
        it.last.approval_policy,
        it.begun.originator,
        it.begun.cli_version,
        it.begun.forked_from,
        git.commit_hash,
        git.branch,
        git.repository_url,
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.output_tokens,
        usage.reasoning_output_tokens,
        usage.total_tokens,
    ])?;
    Ok(())
}

fn insert_tools(connection: &Connection, summary: &SessionSummary) -> rusqlite::Result<()> {
    for (position, tool) in (0_i64..).zip(&summary.dynamic_tools) {
        first_tools::insert(connection, "dynamic_tools", &summary.path, position, tool)?;
    }
    Ok(())
}

/// All rows of the index.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<SessionSummary>> {
    let sql = format!("SELECT {COLUMNS} FROM sessions s LEFT JOIN names n ON n.id = s.id");
    let mut statement = connection.prepare(&sql)?;
    let mut summaries: Vec<SessionSummary> = statement.query_map([], summary)?.collect::<Result<_, _>>()?;
    add_tools(connection, &mut summaries)?;
    Ok(summaries)
}

/// A page of rows.
pub(super) fn page(connection: &Connection, query: &Query) -> rusqlite::Result<Page> {
    let key = match query.sort {
        Sort::Created => "s.created_at",
        Sort::Updated => "s.updated_at",
    };
    let mut sql =
        format!("SELECT {COLUMNS} FROM sessions s LEFT JOIN names n ON n.id = s.id WHERE s.listed AND s.archived = ?");
    let mut values = vec![Sql::from(query.archived)];
    let mut list = |column: &str, words: &[String], sql: &mut String| {
        if !words.is_empty() {
            sql.push_str(&format!(" AND {column} IN ({})", vec!["?"; words.len()].join(", ")));
            values.extend(words.iter().cloned().map(Sql::from));
        }
    };
    list("s.source", &query.sources, &mut sql);
    let provider = match &query.default_provider {
        Some(default) if query.providers.contains(default) => {
            format!("coalesce(s.provider, '{}')", default.replace('\'', "''"))
        }
        _ => "s.provider".to_owned(),
    };
    list(&provider, &query.providers, &mut sql);
    if let Some(cwd) = &query.cwd {
        sql.push_str(" AND s.folder = ?");
        values.push(Sql::from(folder_key(&cwd.to_string_lossy())));
    }
    if let Some(cursor) = &query.cursor {
        sql.push_str(&format!(" AND ({key}, s.id) < (?, ?)"));
        values.extend([Sql::from(cursor.seconds), Sql::from(cursor.id.clone())]);
    }
    sql.push_str(&format!(" ORDER BY {key} DESC, s.id DESC"));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let mut summaries = Vec::new();
    while let Some(row) = rows.next()? {
        let summary = summary(row)?;
        // The rules of search are those of the query; SQL knows case only of ASCII.
        if query.search.is_none() || query.takes_text(&summary) {
            summaries.push(summary);
        }
        if summaries.len() > query.limit {
            break;
        }
    }
    drop(rows);
    let mut page = query.cut(summaries);
    add_tools(connection, &mut page.sessions)?;
    Ok(page)
}

fn add_tools(connection: &Connection, summaries: &mut [SessionSummary]) -> rusqlite::Result<()> {
    let sql = "SELECT name, description, input_schema FROM dynamic_tools WHERE path = ?1 ORDER BY position";
    let mut statement = connection.prepare(sql)?;
    for summary in summaries {
        summary.dynamic_tools = statement.query_map([&summary.path], first_tools::tool)?.collect::<Result<_, _>>()?;
    }
    Ok(())
}

fn summary(row: &Row<'_>) -> rusqlite::Result<SessionSummary> {
    let (commit_hash, branch, repository_url) = (row.get(18)?, row.get(19)?, row.get(20)?);
    let git = RecordedGit { commit_hash, branch, repository_url };
    Ok(SessionSummary {
        path: row.get(0)?,
        id: row.get(1)?,
        is_archived: row.get(2)?,
        is_listed: row.get(3)?,
        modified: row.get(4)?,
        size: unsigned(row.get(5)?),
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
        cwd: row.get(8)?,
        first_message: row.get(9)?,
        source: row.get(10)?,
        model_provider: row.get(11)?,
        last: LastTurn { model: row.get(12)?, sandbox_policy: row.get(13)?, approval_policy: row.get(14)? },
        begun: Begun {
            originator: row.get(15)?,
            cli_version: row.get(16)?,
            forked_from: row.get(17)?,
            git: (git != RecordedGit::default()).then_some(git),
        },
        usage: TokenUsage {
            input_tokens: row.get(21)?,
            cached_input_tokens: row.get(22)?,
            output_tokens: row.get(23)?,
            reasoning_output_tokens: row.get(24)?,
            total_tokens: row.get(25)?,
        },
        name: row.get(26)?,
        dynamic_tools: Vec::new(),
    })
}

/// Whether the database holds together.
pub(super) fn check(connection: &Connection) -> Result<(), String> {
    let said: rusqlite::Result<String> = connection.query_row("PRAGMA quick_check", [], |row| row.get(0));
    match said {
        Ok(said) if said == "ok" => Ok(()),
        Ok(said) => Err(said),
        Err(error) => Err(error.to_string()),
    }
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
