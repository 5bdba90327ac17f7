//! `.rpm` packages, in version 4 of the format: a lead, a header with digests, a header about the package, the files.
//!
//! The format is written here, because the crate that writes it brings 25 others and changes features of crates of the program.
//! Nothing is signed: who distributes packages signs them (`rpm --addsign`).

use std::fmt::Write as _;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::about::About;
use super::archive::{self, Effort};
use super::entry::Entry;
use super::platform::Platform;

/// Tags of a header, by their names in the format.
mod tag {
    pub const HEADER_SIGNATURES: u32 = 62;
    pub const HEADER_IMMUTABLE: u32 = 63;
    pub const I18N_TABLE: u32 = 100;
    pub const SHA256_HEADER: u32 = 273;
    pub const NAME: u32 = 1000;
    pub const VERSION: u32 = 1001;
    pub const RELEASE: u32 = 1002;
    pub const SUMMARY: u32 = 1004;
    pub const DESCRIPTION: u32 = 1005;
    pub const BUILD_TIME: u32 = 1006;
    pub const BUILD_HOST: u32 = 1007;
    pub const SIZE: u32 = 1009;
    pub const LICENSE: u32 = 1014;
    pub const GROUP: u32 = 1016;
    pub const URL: u32 = 1020;
    pub const OS: u32 = 1021;
    pub const ARCH: u32 = 1022;
    pub const FILE_SIZES: u32 = 1028;
    pub const FILE_MODES: u32 = 1030;
    pub const FILE_DEVICES: u32 = 1033;
    pub const FILE_TIMES: u32 = 1034;
    pub const FILE_DIGESTS: u32 = 1035;
    pub const FILE_LINKS: u32 = 1036;
    pub const FILE_FLAGS: u32 = 1037;
    pub const FILE_OWNERS: u32 = 1039;
    pub const FILE_GROUPS: u32 = 1040;
    pub const SOURCE_RPM: u32 = 1044;
    pub const FILE_VERIFY: u32 = 1045;
    pub const PROVIDE_NAME: u32 = 1047;
    pub const REQUIRE_FLAGS: u32 = 1048;
    pub const REQUIRE_NAME: u32 = 1049;
    pub const REQUIRE_VERSION: u32 = 1050;
    pub const FILE_DEVICE: u32 = 1095;
    pub const FILE_INODES: u32 = 1096;
    pub const FILE_LANGUAGES: u32 = 1097;
    pub const PROVIDE_FLAGS: u32 = 1112;
    pub const PROVIDE_VERSION: u32 = 1113;
    pub const FOLDER_INDEXES: u32 = 1116;
    pub const BASE_NAMES: u32 = 1117;
    pub const FOLDER_NAMES: u32 = 1118;
    pub const PAYLOAD_FORMAT: u32 = 1124;
    pub const PAYLOAD_COMPRESSOR: u32 = 1125;
    pub const PAYLOAD_FLAGS: u32 = 1126;
    pub const FILE_DIGEST_ALGORITHM: u32 = 5011;
    pub const PAYLOAD_DIGEST: u32 = 5092;
    pub const PAYLOAD_DIGEST_ALGORITHM: u32 = 5093;
    /// In the header with digests: how long the other header and the files are.
    pub const SIGNATURE_SIZE: u32 = 1000;
    /// In the header with digests: how long the files are before they are compressed.
    pub const SIGNATURE_PAYLOAD_SIZE: u32 = 1007;
}

/// SHA-256 among the digests of the format.
const SHA256: u32 = 8;

/// A requirement with an exact version.
const EQUAL: u32 = 8;

/// A requirement of the program that installs: at most this version of a feature of the format.
const OF_RPM: u32 = (1 << 24) | 2 | EQUAL;

/// The features of the format that a package uses, with the version since which they exist.
const FEATURES: [(&str, &str); 3] = [
    ("rpmlib(CompressedFileNames)", "3.0.4-1"),
    ("rpmlib(FileDigests)", "4.6.0-1"),
    ("rpmlib(PayloadFilesHavePrefix)", "4.0-1"),
];

/// A regular file, in the mode of a file.
const REGULAR: u32 = 0o100_000;

/// A value of a header.
enum Value {
    Text(String),
    /// A text that may have translations; here it has none.
    Translated(String),
    Texts(Vec<String>),
    Shorts(Vec<u16>),
    Numbers(Vec<u32>),
    Bytes(Vec<u8>),
}

impl Value {
    fn kind(&self) -> u32 {
        match self {
            Self::Shorts(_) => 3,
            Self::Numbers(_) => 4,
            Self::Text(_) => 6,
            Self::Bytes(_) => 7,
            Self::Texts(_) => 8,
            Self::Translated(_) => 9,
        }
    }

    fn n(&self) -> usize {
        match self {
            Self::Text(_) | Self::Translated(_) => 1,
            Self::Texts(texts) => texts.len(),
            Self::Shorts(numbers) => numbers.len(),
            Self::Numbers(numbers) => numbers.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// A value begins at a multiple of this.
    fn alignment(&self) -> usize {
        match self {
            Self::Shorts(_) => 2,
            Self::Numbers(_) => 4,
            _ => 1,
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        let mut text = |text: &str| {
            to.extend(text.as_bytes());
            to.push(0);
        };
        match self {
            Self::Text(it) | Self::Translated(it) => text(it),
            Self::Texts(texts) => texts.iter().for_each(|it| text(it)),
            Self::Shorts(numbers) => numbers.iter().for_each(|it| to.extend(it.to_be_bytes())),
            Self::Numbers(numbers) => numbers.iter().for_each(|it| to.extend(it.to_be_bytes())),
            Self::Bytes(bytes) => to.extend(bytes),
        }
    }
}

/// The `.rpm` of a platform with these files.
pub fn package(platform: &Platform, about: &About, entries: &[Entry], effort: Effort) -> Result<Vec<u8>> {
    let mut entries = entries.to_vec();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let files = cpio(&entries, about.time)?;
    let payload = archive::gzip(&files, effort)?;
    let header = header(tag::HEADER_IMMUTABLE, about_package(platform, about, &entries, &payload)?)?;
    let behind = u32::try_from(header.len() + payload.len()).context("the package is too long")?;
    let digests = vec![
        (tag::SHA256_HEADER, Value::Text(hex(&Sha256::digest(&header)))),
        (tag::SIGNATURE_SIZE, Value::Numbers(vec![behind])),
        (tag::SIGNATURE_PAYLOAD_SIZE, Value::Numbers(vec![u32::try_from(files.len())?])),
    ];
    let mut signature = self::header(tag::HEADER_SIGNATURES, digests)?;
    signature.resize(signature.len().next_multiple_of(8), 0);
    Ok([lead(platform, about), signature, header, payload].concat())
}

/// The first 96 bytes, by which other programs recognise the format.
fn lead(platform: &Platform, about: &About) -> Vec<u8> {
    let mut lead = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0];
    let machine: u16 = if platform.rpm == "x86_64" { 1 } else { 19 };
    lead.extend(machine.to_be_bytes());
    let mut name = format!("pellucid-{}-1", about.version).into_bytes();
    name.resize(66, 0);
    lead.extend(name);
    // Linux, and the version of the header with digests.
    lead.extend([0, 1, 0, 5]);
    lead.resize(96, 0);
    lead
}

fn about_package(platform: &Platform, about: &About, entries: &[Entry], payload: &[u8]) -> Result<Vec<(u32, Value)>> {
    let n = entries.len();
    let text = |it: &str| Value::Text(it.to_string());
    let same = |it: &str| Value::Texts(vec![it.to_string(); n]);
    let split = |path: &str| match path.rsplit_once('/') {
        Some((folder, name)) => (format!("/{folder}/"), name.to_string()),
        None => ("/".to_string(), path.to_string()),
    };
    let mut folders: Vec<String> = entries.iter().map(|it| split(&it.path).0).collect();
    folders.dedup();
    folders.sort();
    folders.dedup();
    let folder_of = |it: &Entry| folders.iter().position(|folder| *folder == split(&it.path).0).unwrap_or_default();
    let sizes: Vec<u32> = entries.iter().map(|it| u32::try_from(it.bytes.len())).collect::<Result<_, _>>()?;
    let time = u32::try_from(about.time)?;
    let release = format!("{}-1", about.rpm_version());
    let mut values = vec![
        (tag::I18N_TABLE, Value::Texts(vec!["C".to_string()])),
        (tag::NAME, text("pellucid")),
        (tag::VERSION, text(&about.rpm_version())),
        (tag::RELEASE, text("1")),
        (tag::SUMMARY, Value::Translated(about.summary.clone())),
        (tag::DESCRIPTION, Value::Translated(about.description.clone())),
        (tag::BUILD_TIME, Value::Numbers(vec![time])),
        (tag::BUILD_HOST, text("localhost")),
        (tag::SIZE, Value::Numbers(vec![sizes.iter().sum()])),
        (tag::LICENSE, text(&about.license)),
        (tag::GROUP, Value::Translated("Unspecified".to_string())),
        (tag::OS, text("linux")),
        (tag::ARCH, text(platform.rpm)),
        (tag::FILE_SIZES, Value::Numbers(sizes)),
        (
            tag::FILE_MODES,
            Value::Shorts(entries.iter().map(|it| u16::try_from(REGULAR | it.mode())).collect::<Result<_, _>>()?),
        ),
        (tag::FILE_DEVICES, Value::Shorts(vec![0; n])),
        (tag::FILE_TIMES, Value::Numbers(vec![time; n])),
        (tag::FILE_DIGESTS, Value::Texts(entries.iter().map(|it| hex(&Sha256::digest(&it.bytes))).collect())),
        (tag::FILE_LINKS, same("")),
        (tag::FILE_FLAGS, Value::Numbers(vec![0; n])),
        (tag::FILE_OWNERS, same("root")),
        (tag::FILE_GROUPS, same("root")),
        (tag::SOURCE_RPM, text(&format!("pellucid-{release}.src.rpm"))),
        (tag::FILE_VERIFY, Value::Numbers(vec![u32::MAX; n])),
        (tag::PROVIDE_NAME, Value::Texts(vec!["pellucid".to_string()])),
        (tag::REQUIRE_FLAGS, Value::Numbers(vec![OF_RPM; FEATURES.len()])),
        (tag::REQUIRE_NAME, Value::Texts(FEATURES.iter().map(|(name, _)| (*name).to_string()).collect())),
        (tag::REQUIRE_VERSION, Value::Texts(FEATURES.iter().map(|(_, version)| (*version).to_string()).collect())),
        (tag::FILE_DEVICE, Value::Numbers(vec![1; n])),
        (tag::FILE_INODES, Value::Numbers((1..=u32::try_from(n)?).collect())),
        (tag::FILE_LANGUAGES, same("")),
        (tag::PROVIDE_FLAGS, Value::Numbers(vec![EQUAL])),
        (tag::PROVIDE_VERSION, Value::Texts(vec![release])),
        (
            tag::FOLDER_INDEXES,
            Value::Numbers(entries.iter().map(|it| u32::try_from(folder_of(it))).collect::<Result<_, _>>()?),
        ),
        (tag::BASE_NAMES, Value::Texts(entries.iter().map(|it| split(&it.path).1).collect())),
        (tag::PAYLOAD_FORMAT, text("cpio")),
        (tag::PAYLOAD_COMPRESSOR, text("gzip")),
        (tag::PAYLOAD_FLAGS, text("9")),
        (tag::FILE_DIGEST_ALGORITHM, Value::Numbers(vec![SHA256])),
        (tag::PAYLOAD_DIGEST, Value::Texts(vec![hex(&Sha256::digest(payload))])),
        (tag::PAYLOAD_DIGEST_ALGORITHM, Value::Numbers(vec![SHA256])),
    ];
    values.push((tag::FOLDER_NAMES, Value::Texts(folders)));
    if !about.address.is_empty() {
        values.push((tag::URL, text(about.address)));
    }
    Ok(values)
}

/// A header: an index of its values by tag, then the values. The index begins with an entry about itself.
fn header(region: u32, mut values: Vec<(u32, Value)>) -> Result<Vec<u8>> {
    values.sort_by_key(|(tag, _)| *tag);
    let (mut index, mut store) = (Vec::new(), Vec::new());
    let n = u32::try_from(values.len())? + 1;
    let mut entry = |tag: u32, kind: u32, at: usize, n: usize| -> Result<()> {
        for number in [tag, kind, u32::try_from(at)?, u32::try_from(n)?] {
            index.extend(number.to_be_bytes());
        }
        Ok(())
    };
    let mut places = Vec::new();
    for (_, value) in &values {
        store.resize(store.len().next_multiple_of(value.alignment()), 0);
        places.push(store.len());
        value.write(&mut store);
    }
    let region_value = Value::Bytes(vec![0; 16]);
    entry(region, region_value.kind(), store.len(), region_value.n())?;
    for ((tag, value), at) in values.iter().zip(places) {
        entry(*tag, value.kind(), at, value.n())?;
    }
    // The end of the region says how far back its index begins.
    for number in [region, region_value.kind(), (n * 16).wrapping_neg(), 16] {
        store.extend(number.to_be_bytes());
    }
    let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
    header.extend(n.to_be_bytes());
    header.extend(u32::try_from(store.len())?.to_be_bytes());
    header.extend(index);
    header.extend(store);
    Ok(header)
}

/// The files in the `newc` format of `cpio`.
fn cpio(entries: &[Entry], time: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut append = |inode: usize, mode: u32, name: &str, content: &[u8], links: u32| -> Result<()> {
        let mut header = String::from("070701");
        let numbers = [
            u64::try_from(inode)?,
            u64::from(mode),
            0,
            0,
            u64::from(links),
            if links == 1 && mode != 0 { time } else { 0 },
            u64::try_from(content.len())?,
            0,
            0,
            0,
            0,
            u64::try_from(name.len() + 1)?,
            0,
        ];
        for number in numbers {
            write!(header, "{number:08x}")?;
        }
        bytes.extend(header.as_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        Ok(())
    };
    for (at, entry) in entries.iter().enumerate() {
        append(at + 1, REGULAR | entry.mode(), &format!("./{}", entry.path), &entry.bytes, 1)?;
    }
    append(0, 0, "TRAILER!!!", &[], 1)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
