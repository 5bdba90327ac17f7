//! The tools that a session was begun with, kept in the index under the id of the session.
//!
//! Codex CLI 0.104.0 does so with its feature `sqlite`: what it wrote first counts when the session is resumed, whatever
//! the session file says by then. These rows are the only ones that the files do not replace, so callers ask for them
//! only where that feature is on, and take the session file's tools where there are no rows.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::Row;
use rusqlite::TransactionBehavior;
use rusqlite::params;
use serde_json::Value;

use super::FILE;
use super::open_database;

/// Why the tools of a session cannot be kept or found.
#[derive(Debug, thiserror::Error)]
#[error("the session index cannot be used: {0}")]
pub struct IndexError(#[from] rusqlite::Error);

/// Keeps the tools that a session was begun with, unless tools of that session are kept already.
///
/// # Errors
/// When the index cannot be written.
pub fn keep(home: &Path, id: &str, tools: &[Value]) -> Result<(), IndexError> {
    let mut connection = open_database(home)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if read(&transaction, id)?.is_none() {
        for (position, tool) in (0_i64..).zip(tools) {
            insert(&transaction, "first_tools", id, position, tool)?;
        }
    }
    Ok(transaction.commit()?)
}

/// The tools that a session was begun with; absent when none are kept.
///
/// # Errors
/// When the index cannot be read.
pub fn find(home: &Path, id: &str) -> Result<Option<Vec<Value>>, IndexError> {
    if !home.join(FILE).exists() {
        return Ok(None);
    }
    Ok(read(&open_database(home)?, id)?)
}

fn read(connection: &Connection, id: &str) -> rusqlite::Result<Option<Vec<Value>>> {
    let sql = "SELECT name, description, input_schema FROM first_tools WHERE id = ?1 ORDER BY position";
    let tools: Vec<Value> = connection.prepare(sql)?.query_map([id], tool)?.collect::<Result<_, _>>()?;
    Ok((!tools.is_empty()).then_some(tools))
}

/// Removes the rows of sessions that have no file any more.
pub(super) fn forget(connection: &Connection, gone: &[String]) -> rusqlite::Result<()> {
    let sql = "DELETE FROM first_tools WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";
    let mut delete = connection.prepare(sql)?;
    for id in gone {
        delete.execute([id])?;
    }
    Ok(())
}

/// Writes one tool of a session into a table of tools.
pub(super) fn insert(
    connection: &Connection,
    table: &str,
    key: &str,
    position: i64,
    tool: &Value,
) -> rusqlite::Result<()> {
    let text = |name: &str| tool[name].as_str().unwrap_or_default();
    let values = params![key, position, text("name"), text("description"), tool["inputSchema"].to_string()];
    connection.execute(&format!("INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, ?5)"), values)?;
    Ok(())
}

/// A tool of a row with its name, its description and its schema.
pub(super) fn tool(row: &Row<'_>) -> rusqlite::Result<Value> {
    let (name, description, schema): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let schema: Value = serde_json::from_str(&schema).unwrap_or_default();
    Ok(serde_json::json!({ "name": name, "description": description, "inputSchema": schema }))
}
