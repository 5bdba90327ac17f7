//! Values for the templates and conditions of a pack that are not facts of every session: the machine, the repository,
//! the provider, and `[facts]` of the configuration. Each is read only for packs that look at it.

use std::fs;

use pellucid_config::Config;
use pellucid_engine::computed::GIVEN;
use pellucid_engine::computed::MACHINE;
use pellucid_engine::computed::REPOSITORY;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::MachineFacts;
use pellucid_engine::pack::Pack;
use pellucid_workspace::os::Host;

use super::shown;

pub(super) fn add(facts: &mut Facts, config: &Config, pack: &Pack) {
    let system = &mut facts.system;
    system.surroundings.provider = Some(config.model.provider_id.clone());
    if pack.looks(GIVEN) {
        system.given = config.prompt.facts.clone();
    }
    if pack.looks(MACHINE) {
        system.surroundings.machine = machine();
    }
    if pack.looks(REPOSITORY) {
        system.surroundings.repository = pellucid_git::work_tree_root(&config.folders.cwd).as_deref().map(shown);
    }
}

fn machine() -> MachineFacts {
    let host = Host::read();
    MachineFacts {
        name: host_name().unwrap_or_default(),
        os: format!("{} {}", host.name, host.version),
        arch: host.architecture,
        time_zone: jiff::tz::TimeZone::system().iana_name().unwrap_or("UTC").to_owned(),
    }
}

fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| fs::read_to_string("/etc/hostname")).ok()?;
    Some(name.trim().to_owned())
}
