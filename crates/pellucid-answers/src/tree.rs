//! The parts of a request by size, nested: part, then source, then the file, tool or fact that the bytes came from.
//!
//! Every byte is in one leaf, so the leaves add up to the request.

use std::sync::Arc;

use pellucid_engine::report::Report;
use serde::Serialize;

/// A part of a request with its sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreePart {
    /// The slot or part.
    pub part: Arc<str>,
    /// How many bytes the part has.
    pub bytes: usize,
    /// How many tokens the part has.
    pub tokens: usize,
    /// The sources of the part, in the order in which they appear first.
    pub sources: Vec<TreeSource>,
}

/// A kind of origin within a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeSource {
    /// The kind of the origin: `pack`, `file`, `fact` and so on.
    pub source: &'static str,
    /// How many bytes come from it.
    pub bytes: usize,
    /// How many tokens come from it.
    pub tokens: usize,
    /// The files, tools or facts, in the order in which they appear first.
    pub origins: Vec<TreeOrigin>,
}

/// A file, tool or fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeOrigin {
    /// The path or name; empty where the kind of the origin says it.
    pub origin: Arc<str>,
    /// How many bytes come from it.
    pub bytes: usize,
    /// How many tokens come from it.
    pub tokens: usize,
    /// The first of its rows, from 0.
    pub row: usize,
}

/// The parts of a request, in the order in which they appear first.
pub fn tree(report: &Report) -> Vec<TreePart> {
    let mut parts: Vec<TreePart> = Vec::new();
    for (n, row) in report.rows.iter().enumerate() {
        let (source, origin) = (row.origin.kind(), row.origin.detail());
        let at = parts.iter().position(|it| it.part == row.part).unwrap_or_else(|| {
            parts.push(TreePart { part: row.part.clone(), bytes: 0, tokens: 0, sources: Vec::new() });
            parts.len() - 1
        });
        let part = &mut parts[at];
        part.bytes += row.bytes;
        part.tokens += row.tokens;
        let at = part.sources.iter().position(|it| it.source == source).unwrap_or_else(|| {
            part.sources.push(TreeSource { source, bytes: 0, tokens: 0, origins: Vec::new() });
            part.sources.len() - 1
        });
        let of_source = &mut part.sources[at];
        of_source.bytes += row.bytes;
        of_source.tokens += row.tokens;
        match of_source.origins.iter_mut().find(|it| &*it.origin == origin) {
            Some(known) => {
                known.bytes += row.bytes;
                known.tokens += row.tokens;
            }
            None => {
                let (bytes, tokens) = (row.bytes, row.tokens);
                of_source.origins.push(TreeOrigin { origin: origin.into(), bytes, tokens, row: n });
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use pellucid_engine::fragment::Origin;
    use pellucid_engine::report::Row;
    use serde_json::json;

    use super::*;

    #[test]
    fn leaves_add_up_to_the_request_and_name_their_first_row() {
        let tool = |name: &str| Origin::Tool { name: name.into() };
        let rows = [
            ("base", Origin::Wire, 2),
            ("base", Origin::Catalogue, 40),
            ("tool", tool("shell"), 8),
            ("tool", tool("patch"), 4),
            ("tool", tool("shell"), 16),
            ("base", Origin::Wire, 1),
        ];
        let mut report = Report::default();
        for (part, origin, bytes) in rows {
            let (part, start) = (Arc::from(part), report.bytes());
            report.rows.push(Row { part, item: None, role: None, origin, start, bytes, raw_bytes: bytes, tokens: 1 });
        }
        let tree = tree(&report);
        assert_eq!(tree.iter().map(|part| part.bytes).sum::<usize>(), report.bytes());
        let leaf = |origin: &str, bytes, tokens, row| json!({ "origin": origin, "bytes": bytes, "tokens": tokens, "row": row });
        assert_eq!(
            serde_json::to_value(&tree).unwrap(),
            json!([
                { "part": "base", "bytes": 43, "tokens": 3, "sources": [
                    { "source": "wire", "bytes": 3, "tokens": 2, "origins": [leaf("", 3, 2, 0)] },
                    { "source": "catalogue", "bytes": 40, "tokens": 1, "origins": [leaf("", 40, 1, 1)] },
                ] },
                { "part": "tool", "bytes": 28, "tokens": 3, "sources": [
                    { "source": "tool", "bytes": 28, "tokens": 3, "origins": [leaf("shell", 24, 2, 2), leaf("patch", 4, 1, 3)] },
                ] },
            ])
        );
    }
}
