//! Texts of `packaging` with the values of a release: the script that installs, and the Homebrew formula.

use anyhow::{Context, Result};

use super::about::About;
use super::{Packed, sum};
use crate::program;

/// `install.sh` of this release.
pub fn install_script(about: &About) -> Result<String> {
    Ok(template("install.sh")?.replace("@VERSION@", &about.version).replace("@ADDRESS@", about.address))
}

/// The formula, once there is an address that it can name and both archives are made.
pub fn formula(about: &About, packed: &[Packed]) -> Result<Option<String>> {
    let sum_of = |machine: &str| {
        let name = format!("pellucid-{}-{machine}-unknown-linux-musl.tar.gz", about.version);
        packed.iter().find(|(it, _)| *it == name).map(|(_, bytes)| sum(bytes))
    };
    let (Some(x86_64), Some(aarch64), false) = (sum_of("x86_64"), sum_of("aarch64"), about.address.is_empty()) else {
        return Ok(None);
    };
    let text = template("pellucid.rb")?
        .replace("@VERSION@", &about.version)
        .replace("@ADDRESS@", about.address)
        .replace("@SHA256_X86_64@", &x86_64)
        .replace("@SHA256_AARCH64@", &aarch64);
    Ok(Some(text))
}

fn template(name: &str) -> Result<String> {
    let path = program::root().join("packaging").join(name);
    std::fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled_in() {
        let about = About { address: "https://localhost/dl", ..About::read().unwrap() };
        let archives = ["x86_64", "aarch64"]
            .map(|it| (format!("pellucid-{}-{it}-unknown-linux-musl.tar.gz", about.version), it.as_bytes().to_vec()));
        let formula = formula(&about, &archives).unwrap().unwrap();
        assert!(formula.contains(&sum(b"aarch64")) && formula.contains("https://localhost/dl/pellucid-"));
        for text in [formula, install_script(&about).unwrap()] {
            assert!(!text.lines().any(|line| line.split('@').count() > 2), "{text}");
        }
    }

    #[test]
    fn without_an_address_there_is_no_formula() {
        let about = About { address: "", ..About::read().unwrap() };
        assert_eq!(formula(&about, &[]).unwrap(), None);
    }
}
