//! What the request of an agent shares with a request of the session that started it.
//!
//! The texts of both requests are compared, so the answer does not depend on what the settings say.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use crate::inspected::Inspected;
use crate::inspected::InspectedRow;

/// A part of an agent's request whose text a request of the parent has too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InheritedPart {
    /// The name of the part.
    pub part: String,
    /// How many bytes of the part the parent's request has too.
    pub bytes: usize,
    /// How many bytes the part has in all. Braces, commas and names of keys do not count.
    pub of: usize,
}

/// What an agent's request has in common with a request of its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inheritance {
    /// The name of the parent's request.
    pub from: String,
    /// Whether both ask the same model.
    pub same_model: bool,
    /// The parts with inherited text, in the order of the agent's request.
    pub parts: Vec<InheritedPart>,
    /// The parts of the agent's request of which the parent's request has nothing.
    pub own: Vec<String>,
}

impl Inheritance {
    /// Compares a request of an agent with one of its parent.
    pub fn of(parent: &Inspected, child: &Inspected) -> Self {
        let known: BTreeSet<(Arc<str>, &[u8])> = parent.rows.iter().filter_map(text).collect();
        let mut parts: Vec<InheritedPart> = Vec::new();
        for row in child.rows.iter().filter(|row| !row.is_notation()) {
            let at = parts.iter().position(|it| *it.part == *row.part).unwrap_or_else(|| {
                parts.push(InheritedPart { part: row.part.to_string(), bytes: 0, of: 0 });
                parts.len() - 1
            });
            let is_known = text(row).is_some_and(|text| known.contains(&text));
            parts[at].of += row.bytes;
            parts[at].bytes += if is_known { row.bytes } else { 0 };
        }
        let (inherited, own): (Vec<_>, Vec<_>) = parts.into_iter().partition(|it| it.bytes > 0);
        Self {
            from: parent.name.clone(),
            same_model: parent.model == child.model,
            parts: inherited,
            own: own.into_iter().map(|it| it.part).collect(),
        }
    }
}

/// The text of a row within its part.
fn text(row: &InspectedRow) -> Option<(Arc<str>, &[u8])> {
    let content = row.content.as_ref().filter(|_| !row.is_notation())?;
    Some((row.part.clone(), &content.wire))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_engine::fragment::Origin;

    use super::*;
    use crate::inspected::RowContent;

    fn request(name: &str, model: &str, rows: &[(&str, &str, &str)]) -> Inspected {
        let row = |(part, source, text): &(&str, &str, &str)| InspectedRow {
            part: (*part).into(),
            item: None,
            role: None,
            source: (*source).into(),
            origin: "".into(),
            file_range: None,
            bytes: text.len(),
            tokens: 0,
            content: Some(RowContent { wire: (*text).to_owned().into(), text: (*text).into(), whence: Origin::Wire }),
        };
        let rows = rows.iter().map(row).collect();
        Inspected { name: name.to_owned(), model: model.to_owned(), pack: None, wire: None, rows }
    }

    #[test]
    fn what_both_requests_have_is_inherited_and_the_rest_is_the_agents() {
        let parent = request(
            "p#2",
            "m",
            &[("base", "pack", "Base."), ("docs", "file", "Tabs."), ("user", "user", "go"), ("tools", "wire", "{")],
        );
        let child = request(
            "c#1",
            "n",
            &[
                ("base", "pack", "Base."),
                ("docs", "file", "Tabs."),
                ("docs", "file", "More."),
                ("user", "user", "Base."),
                ("tools", "wire", "{"),
            ],
        );
        expect![[r#"
            Inheritance {
                from: "p#2",
                same_model: false,
                parts: [
                    InheritedPart {
                        part: "base",
                        bytes: 5,
                        of: 5,
                    },
                    InheritedPart {
                        part: "docs",
                        bytes: 5,
                        of: 10,
                    },
                ],
                own: [
                    "user",
                ],
            }
        "#]]
        .assert_debug_eq(&Inheritance::of(&parent, &child));
    }
}
