//! Finds unknown keys, and the known key that was probably meant.
//!
//! Unknown keys do no harm, so they are warnings and never errors.

use pellucid_protocol::feature::ALIASES;
use pellucid_protocol::feature::Feature;

use crate::config::Warning;
use crate::keys;
use crate::keys::InProject;
use crate::keys::Node;
use crate::layers::Layer;
use crate::layers::LayerSource;
use crate::value::Data;
use crate::value::Table;
use crate::value::TableEntry;
use crate::value::Value;
use crate::value::dotted;
use crate::value::segments;

/// The warnings about unknown keys of a layer.
pub(crate) fn warnings(layer: &Layer) -> Vec<Warning> {
    let mut search = Search { layer, found: Vec::new() };
    search.entries(keys::root(), &layer.table, &mut Vec::new());
    search.found
}

struct Search<'l> {
    layer: &'l Layer,
    found: Vec<Warning>,
}

impl<'l> Search<'l> {
    fn entries(&mut self, node: &'static Node, table: &'l Table, path: &mut Vec<&'l str>) {
        for entry in table.iter() {
            path.push(&entry.key);
            match node.child(&entry.key) {
                Some(child) => self.known(child, entry, path),
                None => {
                    let suggestion = nearest_key(node, &path[..path.len() - 1], &entry.key);
                    self.found.push(Warning::UnknownKey {
                        key: dotted(path),
                        place: self.layer.location(entry.place),
                        suggestion,
                    });
                }
            }
            path.pop();
        }
    }

    fn known(&mut self, node: &'static Node, entry: &'l TableEntry, path: &mut Vec<&'l str>) {
        if let Some(key) = node.key {
            if key.path == "features.<key>" && !is_feature(&entry.key) {
                self.found.push(Warning::UnknownFeature {
                    key: entry.key.clone(),
                    place: self.layer.location(entry.place),
                    suggestion: nearest(&entry.key, Feature::ALL.iter().map(|feature| feature.key()))
                        .map(str::to_owned),
                });
            }
            if key.in_project == InProject::Never && self.layer.source == LayerSource::Project {
                self.found.push(Warning::NotForProjects { key: dotted(path), place: self.layer.location(entry.place) });
            }
        }
        self.value(node, &entry.value, path);
    }

    fn value(&mut self, node: &'static Node, value: &'l Value, path: &mut Vec<&'l str>) {
        match &value.data {
            Data::Table(table) if node.is_table() => self.entries(node, table, path),
            Data::List(items) if let Some(item) = &node.item => {
                items.iter().for_each(|value| self.value(item, value, path));
            }
            _ => {}
        }
    }
}

fn is_feature(key: &str) -> bool {
    Feature::from_key(key).is_some() || ALIASES.iter().any(|(alias, _)| *alias == key)
}

/// A known key at this level with a similar name, or the path of a key with this name that belongs elsewhere.
fn nearest_key(node: &'static Node, parents: &[&str], name: &str) -> Option<String> {
    if let Some(sibling) = nearest(name, node.children.iter().map(|(known, _)| *known)) {
        let mut path = parents.to_vec();
        path.push(sibling);
        return Some(dotted(&path));
    }
    let mut elsewhere = keys::all().filter(|key| segments(key.path).last() == Some(name));
    match (elsewhere.next(), elsewhere.next()) {
        (Some(key), None) => Some(key.path.to_owned()),
        _ => None,
    }
}

fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    known
        .map(|known| (strsim::osa_distance(name, known), known))
        .filter(|(distance, known)| *distance * 3 <= known.len().max(name.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
