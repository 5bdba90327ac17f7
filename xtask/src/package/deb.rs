//! `.deb` packages: an `ar` archive with a version, what the package is, and its files.

use std::fmt::Write as _;

use anyhow::Result;

use super::about::About;
use super::archive::{Effort, Folders, ar, gzip, tar};
use super::entry::Entry;
use super::platform::Platform;

/// The `.deb` of a platform with these files, whose paths are those on the system.
pub fn package(platform: &Platform, about: &About, entries: &[Entry], effort: Effort) -> Result<Vec<u8>> {
    let control = [Entry::text("control", control(platform, about, entries))];
    let control = tar(&control, "./", Folders::Listed, about.time)?;
    let data = tar(entries, "./", Folders::Listed, about.time)?;
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&control, effort)?),
        ("data.tar.gz", gzip(&data, effort)?),
    ];
    Ok(ar(&members, about.time))
}

fn control(platform: &Platform, about: &About, entries: &[Entry]) -> String {
    let kilobytes = entries.iter().map(|it| it.bytes.len().div_ceil(1024)).sum::<usize>();
    let mut text = format!(
        "Package: pellucid\nVersion: {}\nArchitecture: {}\nMaintainer: The Pellucid maintainers <pellucid@localhost>\n\
         Installed-Size: {kilobytes}\nRecommends: git, ca-certificates\nSection: devel\nPriority: optional\n",
        about.deb_version(),
        platform.deb,
    );
    if !about.address.is_empty() {
        let _ = writeln!(text, "Homepage: {}", about.address);
    }
    let _ = write!(text, "Description: {}\n {}\n", about.summary, about.description);
    text
}
