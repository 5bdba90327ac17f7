//! Settings of the files that a layout begins with.

use std::collections::BTreeMap;

use crate::reader::Reader;
use crate::value::Value;

/// The files that a layout begins with. The pack decides about absent values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BootstrapSettings {
    /// How much of one file is used, in the unit of the pack.
    pub max_chars: Option<f64>,
    /// How much of all files is used.
    pub total_max_chars: Option<f64>,
    /// Paths and patterns of further files.
    pub extra: Vec<String>,
    /// For names of files, the files of the workspace whose texts they get.
    pub swap: BTreeMap<String, String>,
    /// The names of files that are left out.
    pub leave_out: Vec<String>,
    /// Files of the workspace that are added, with any name.
    pub add: Vec<String>,
}

impl BootstrapSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self {
            max_chars: reader.value("bootstrap.max_chars").and_then(Value::as_number),
            total_max_chars: reader.value("bootstrap.total_max_chars").and_then(Value::as_number),
            extra: reader.texts("bootstrap.extra").unwrap_or_default(),
            swap: reader.map("bootstrap.swap").unwrap_or_default(),
            leave_out: reader.texts("bootstrap.leave_out").unwrap_or_default(),
            add: reader.texts("bootstrap.add").unwrap_or_default(),
        }
    }
}
