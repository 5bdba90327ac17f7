//! The operating system, as the user agent names it, and the user agent itself.
//!
//! Every system has one spelling, which servers can count on. It is read from a file; no program is
//! started to ask.

use std::fmt;
use std::fs;

/// The operating system and machine of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The system: `Debian`, `Mac OS`.
    pub name: String,
    /// The version, with three numbers if it consists of numbers; `Unknown` if it is not known.
    pub version: String,
    /// The architecture of the machine, such as `x86_64`.
    pub architecture: String,
}

impl Host {
    /// Reads what the system says about itself.
    pub fn read() -> Self {
        let (name, version) = if cfg!(target_os = "macos") {
            let text = fs::read_to_string("/System/Library/CoreServices/SystemVersion.plist");
            ("Mac OS", macos_version(&text.unwrap_or_default()))
        } else if cfg!(windows) {
            ("Windows", None)
        } else {
            linux(&fs::read_to_string("/etc/os-release").unwrap_or_default())
        };
        Self {
            name: name.to_owned(),
            version: version.unwrap_or_else(|| "Unknown".to_owned()),
            architecture: architecture().to_owned(),
        }
    }
}

/// As in a user agent: `Debian 12.0.0; x86_64`.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}; {}", self.name, self.version, self.architecture)
    }
}

/// The `User-Agent` header: `{originator}/{version} ({host}) {terminal}`, and the client in
/// brackets if one has introduced itself.
pub fn user_agent(originator: &str, version: &str, host: &Host, terminal: &str, client: Option<&str>) -> String {
    let mut text = format!("{originator}/{version} ({host}) {terminal}");
    if let Some(client) = client.map(str::trim).filter(|client| !client.is_empty()) {
        text.push_str(&format!(" ({client})"));
    }
    text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '_' }).collect()
}

/// Linux distributions by the `ID` of their release file.
const DISTRIBUTIONS: &[(&str, &str)] = &[
    ("almalinux", "AlmaLinux"),
    ("alpaquita", "Alpaquita Linux"),
    ("alpine", "Alpine Linux"),
    ("altlinux", "ALT Linux"),
    ("amzn", "Amazon Linux AMI"),
    ("aosc", "AOSC OS"),
    ("arch", "Arch Linux"),
    ("archarm", "Arch Linux"),
    ("artix", "Artix Linux"),
    ("bluefin", "Bluefin"),
    ("cachyos", "CachyOS Linux"),
    ("centos", "CentOS"),
    ("debian", "Debian"),
    ("elementary", "Elementary OS"),
    ("fedora", "Fedora"),
    ("instantos", "instantOS"),
    ("kali", "Kali Linux"),
    ("linuxmint", "Linux Mint"),
    ("manjaro", "Manjaro"),
    ("manjaro-arm", "Manjaro"),
    ("mariner", "Mariner"),
    ("nixos", "NixOS"),
    ("nobara", "Nobara Linux"),
    ("ol", "Oracle Linux"),
    ("openEuler", "EulerOS"),
    ("opencloudos", "OpenCloudOS"),
    ("opensuse", "openSUSE"),
    ("opensuse-leap", "openSUSE"),
    ("opensuse-microos", "openSUSE"),
    ("opensuse-tumbleweed", "openSUSE"),
    ("pika", "PikaOS"),
    ("pop", "Pop!_OS"),
    ("rhel", "Red Hat Enterprise Linux"),
    ("rocky", "Rocky Linux"),
    ("sled", "SUSE Linux Enterprise Server"),
    ("sles", "SUSE Linux Enterprise Server"),
    ("sles_sap", "SUSE Linux Enterprise Server"),
    ("ubuntu", "Ubuntu"),
    ("ultramarine", "Ultramarine Linux"),
    ("Uos", "UOS"),
    ("void", "Void Linux"),
    ("zorin", "Zorin OS"),
];

/// Name and version of a Linux distribution. One we do not know is just Linux, without a version.
fn linux(release: &str) -> (&'static str, Option<String>) {
    let id = release_value(release, "ID=");
    match DISTRIBUTIONS.iter().find(|(known, _)| Some(*known) == id) {
        Some((_, name)) => (name, release_value(release, "VERSION_ID=").map(dotted)),
        None => ("Linux", None),
    }
}

fn release_value<'a>(release: &'a str, key: &str) -> Option<&'a str> {
    let value = release.lines().find_map(|line| line.strip_prefix(key))?;
    let value = value.trim_matches(|c: char| c == '"' || c.is_whitespace());
    (!value.is_empty()).then_some(value)
}

fn macos_version(plist: &str) -> Option<String> {
    let (_, rest) = plist.split_once("<key>ProductVersion</key>")?;
    let (_, rest) = rest.split_once("<string>")?;
    let (version, _) = rest.split_once("</string>")?;
    Some(dotted(version.trim()))
}

/// A version of one to three numbers, filled to three; any other text unchanged.
fn dotted(version: &str) -> String {
    let numbers: Option<Vec<u64>> =
        version.strip_suffix('.').unwrap_or(version).split('.').map(|part| part.parse().ok()).collect();
    match numbers.as_deref() {
        Some([major]) => format!("{major}.0.0"),
        Some([major, minor]) => format!("{major}.{minor}.0"),
        Some([major, minor, patch]) => format!("{major}.{minor}.{patch}"),
        _ => version.to_owned(),
    }
}

/// The machine as its kernel calls it, which is not always what compilers call it.
const fn architecture() -> &'static str {
    if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
        "arm64"
    } else if cfg!(target_arch = "x86") {
        "i686"
    } else {
        std::env::consts::ARCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_linux(release: &str, expected: &str) {
        let (name, version) = linux(release);
        assert_eq!(format!("{name} {}", version.as_deref().unwrap_or("Unknown")), expected, "{release:?}");
    }

    #[test]
    fn distributions() {
        check_linux("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n", "Debian 12.0.0");
        check_linux("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\n", "Ubuntu 22.4.0");
        check_linux("ID=\"rhel\"\nVERSION_ID=\"9.4\"\n", "Red Hat Enterprise Linux 9.4.0");
        check_linux("ID=arch\nBUILD_ID=rolling\n", "Arch Linux Unknown");
        check_linux("ID=foo\nVERSION_ID=3\n", "Linux Unknown");
        check_linux(" ID=debian\nVERSION_ID=1\n", "Linux Unknown");
        check_linux("", "Linux Unknown");
    }

    #[test]
    fn versions() {
        for (value, expected) in [
            ("1.2.3", "1.2.3"),
            ("1.2.3.4", "1.2.3.4"),
            ("12.", "12.0.0"),
            ("01.02", "1.2.0"),
            ("20240101", "20240101.0.0"),
            ("rolling", "rolling"),
            ("v3.1", "v3.1"),
            ("\"\"", "Unknown"),
            ("'12.5'", "'12.5'"),
        ] {
            check_linux(&format!("ID=debian\nVERSION_ID={value}\n"), &format!("Debian {expected}"));
        }
    }

    #[test]
    fn macos() {
        let plist = "<dict>\n<key>ProductVersion</key>\n\t<string>14.5</string>\n</dict>";
        assert_eq!(macos_version(plist).as_deref(), Some("14.5.0"));
        assert_eq!(macos_version("<dict>"), None);
    }

    #[test]
    fn user_agents() {
        let host = Host { name: "Debian".into(), version: "12.0.0".into(), architecture: "x86_64".into() };
        assert_eq!(
            user_agent("codex_exec", "0.104.0", &host, "dumb", None),
            "codex_exec/0.104.0 (Debian 12.0.0; x86_64) dumb"
        );
        assert_eq!(
            user_agent("spéc", "1", &host, "xterm", Some("spec; 1")),
            "sp_c/1 (Debian 12.0.0; x86_64) xterm (spec; 1)"
        );
    }
}
