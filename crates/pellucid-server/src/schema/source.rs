//! The schemas that the program holds, in one compressed file.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::ZlibDecoder;
use serde::Deserialize;
use serde_json::Value;

use super::references;

/// `types.json`, compressed by the build script.
const BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/types.zz"));

/// The parameters and the result of a method: references, or schemas.
pub(super) type Messages = (Value, Value);

/// The schemas of all types, as they are read and as they are written.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(PartialEq, serde::Serialize))]
pub(super) struct Source {
    /// What clients may send.
    pub asked: Direction,
    /// What the server sends.
    pub sent: Direction,
}

/// The schemas of all types in one direction.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(PartialEq, serde::Serialize))]
pub(super) struct Direction {
    pub definitions: BTreeMap<String, Value>,
    /// What clients call.
    pub client: BTreeMap<String, Messages>,
    /// What the server calls, in the order of the documentation.
    pub server: Vec<(String, Messages)>,
    /// A reference to the union of all notifications.
    pub notification: Value,
}

impl Source {
    /// The schemas of this program.
    pub fn built_in() -> Self {
        let mut text = Vec::new();
        let read = ZlibDecoder::new(BUILT_IN).read_to_end(&mut text);
        let source = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
        source.expect("the build script compresses a file that a test has read")
    }
}

impl Direction {
    /// The schemas that these refer to, and those that they refer to in turn.
    pub fn needed(&self, roots: &[&Value]) -> BTreeMap<String, Value> {
        let mut open: Vec<&Value> = roots.to_vec();
        let mut needed = BTreeSet::new();
        while let Some(schema) = open.pop() {
            let mut found = Vec::new();
            references(schema, &mut found);
            let new = found.into_iter().filter(|name| needed.insert(*name));
            open.extend(new.filter_map(|name| self.definitions.get(name)));
        }
        let needed = needed.into_iter().filter_map(|name| self.definitions.get_key_value(name));
        needed.map(|(name, schema)| (name.clone(), schema.clone())).collect()
    }
}
