//! Texts and conditions of the program around the engine, for slots with the source `host` and gates `host:NAME`.
//!
//! A layout says where a text of the host goes. The host computes its texts before assembly and gives them as facts, so
//! assembly stays a function of facts, and a text of a host has an origin as any other.
//!
//! Not here: the traits by which a program gives its texts and conditions (`pellucid-context`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::gate::Gate;
use crate::pack::Layout;
use crate::source::SourceOutput;

/// The name of the source in layouts.
pub const SOURCE: &str = "host";

/// What the program around the engine gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// The results for slots, by the id of the slot.
    pub texts: BTreeMap<String, SourceOutput>,
    /// The names of the gates that are open.
    pub open: BTreeSet<String>,
}

/// The names by which a layout asks the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostNames {
    /// The slots that the host fills, by id.
    pub slots: BTreeSet<String>,
    /// The gates that the host opens.
    pub gates: BTreeSet<String>,
}

impl HostNames {
    /// The names that a layout asks for.
    pub fn of(layout: &Layout) -> Self {
        let mut names = Self::default();
        for slot in &layout.slots {
            names.gates.extend(slot.gates.iter().filter_map(Gate::host_name).map(str::to_owned));
            for part in &slot.parts {
                names.gates.extend(part.gates.iter().filter_map(Gate::host_name).map(str::to_owned));
                if part.source.name == SOURCE {
                    names.slots.insert(slot.id.to_string());
                }
            }
        }
        let of_tools = layout.tools.iter().flat_map(|tool| &tool.gates);
        let of_only = layout.tools_only.iter().flat_map(|only| &only.gates);
        names.gates.extend(of_tools.chain(of_only).filter_map(Gate::host_name).map(str::to_owned));
        names
    }
}
