//! Instruction files that were read before and need not be read again.
//!
//! An entry is kept by path together with what the file system said about the file when it was
//! read. As long as the file system says the same, the bytes of then are the bytes of now.
//!
//! Not here: which files are wanted (`documents`), and what a difference means (`changes`).

use std::collections::HashMap;
use std::fs;
use std::fs::Metadata;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use pellucid_engine::digest::Digest;
use pellucid_files::LocatedFile;

use crate::bounds::InstructionFolders;
use crate::bounds::Refused;
use crate::whole_hash::whole_hash;

/// How many files are remembered before all are forgotten.
const ENTRIES_MAX: usize = 1024;

/// A file that was written this shortly before it was read is read again next time, because a
/// second write within one tick of the file system's clock leaves no trace in its stamp.
const UNSETTLED: Duration = Duration::from_secs(2);

/// Files read before, by path.
#[derive(Debug, Clone, Default)]
pub struct DocumentCache {
    entries: HashMap<String, Entry>,
    n_reads: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    stamp: Stamp,
    settled: bool,
    bytes: Vec<u8>,
    size: u64,
    sha256: Option<Digest>,
    target: Option<PathBuf>,
}

/// The location of a file.
#[derive(Debug)]
pub(crate) struct Place {
    /// The path for reports.
    pub path: String,
    /// A name that leads there now, possibly a shorter one.
    pub reach: PathBuf,
    /// The metadata, links not followed.
    pub own: Metadata,
}

/// The beginning of a file.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub bytes: Vec<u8>,
    /// The size of the whole file.
    pub size: u64,
    /// The hash of the whole file, unless it is too long for that.
    pub sha256: Option<Digest>,
    /// The real path, if its name is a link.
    pub target: Option<PathBuf>,
}

impl DocumentCache {
    /// How many files have been opened so far.
    pub fn n_reads(&self) -> u64 {
        self.n_reads
    }

    /// The first `bytes_max` bytes of a file within bounds, from disk only if it may have changed.
    pub(crate) fn read(
        &mut self,
        place: &Place,
        bytes_max: usize,
        bounds: &InstructionFolders,
    ) -> Result<Beginning, Refused> {
        let found = if place.own.is_symlink() { &fs::metadata(&place.reach)? } else { &place.own };
        if found.is_dir() {
            return Err(Refused::Io(rustix::io::Errno::ISDIR.into()));
        }
        if !found.is_file() {
            // A link to `/dev/null` means that no file is wanted.
            let is_nothing = fs::canonicalize(&place.reach)? == Path::new("/dev/null");
            let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            let sha256 = Some(Digest::of([]));
            let nothing = Beginning { bytes: Vec::new(), size: 0, sha256, target: None };
            return is_nothing.then_some(nothing).ok_or_else(|| Refused::Io(not_regular()));
        }
        if let Some(entry) = self.entries.get(&place.path)
            && entry.holds(found, bytes_max)
        {
            let n = entry.bytes.len().min(bytes_max);
            let (bytes, target) = (entry.bytes[..n].to_vec(), entry.target.clone());
            return Ok(Beginning { bytes, size: entry.size, sha256: entry.sha256, target });
        }

        self.n_reads += 1;
        let expected = (!place.own.is_symlink()).then_some(Path::new(&place.path));
        // Should the file change while it is read, its stamp is that of before, and it is read again next time.
        let LocatedFile { mut file, real, metadata } = bounds.open(&place.reach, expected)?;
        let limit = match metadata.len() {
            // A file that is made while it is read has no size beforehand.
            0 => bytes_max as u64,
            size => size.min(bytes_max as u64),
        };
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(limit)).unwrap_or(0));
        file.by_ref().take(limit).read_to_end(&mut bytes)?;
        let size = metadata.len().max(bytes.len() as u64);
        let sha256 = whole_hash(&bytes, &mut file, metadata.len());
        let target = place.own.is_symlink().then_some(real);
        self.remember(&place.path, Entry::new(&metadata, bytes.clone(), size, sha256, target.clone()));
        Ok(Beginning { bytes, size, sha256, target })
    }

    fn remember(&mut self, path: &str, entry: Entry) {
        if self.entries.len() >= ENTRIES_MAX && !self.entries.contains_key(path) {
            self.entries.clear();
        }
        self.entries.insert(path.to_owned(), entry);
    }
}

impl Entry {
    fn new(metadata: &Metadata, bytes: Vec<u8>, size: u64, sha256: Option<Digest>, target: Option<PathBuf>) -> Self {
        let age = metadata.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
        Self {
            stamp: Stamp::of(metadata),
            settled: age.is_some_and(|age| age >= UNSETTLED),
            bytes,
            size,
            sha256,
            target,
        }
    }

    fn holds(&self, metadata: &Metadata, bytes_max: usize) -> bool {
        self.settled && self.stamp == Stamp::of(metadata) && self.bytes.len() as u64 >= self.size.min(bytes_max as u64)
    }
}

/// The metadata of one version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Device, inode, and when the inode changed: a copy that keeps its time is still noticed.
    #[cfg(unix)]
    inode: (u64, u64, i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::fixture::Fixture;

    /// Makes a file look as if it had been written long ago.
    fn age(path: &Path, seconds: u64) {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }

    fn read(cache: &mut DocumentCache, path: &Path, bytes_max: usize) -> (String, u64) {
        let place = Place {
            path: path.to_str().unwrap().to_owned(),
            reach: path.to_path_buf(),
            own: fs::symlink_metadata(path).unwrap(),
        };
        let bounds = InstructionFolders::default().with(path.parent().unwrap());
        let beginning = cache.read(&place, bytes_max, &bounds).unwrap();
        (String::from_utf8(beginning.bytes).unwrap(), beginning.size)
    }

    fn text(text: &str) -> (String, u64) {
        (text.to_owned(), text.len() as u64)
    }

    #[test]
    fn an_unchanged_file_is_not_read_again() {
        let fixture = Fixture::new("a.md: one");
        let path = fixture.path("a.md");
        age(&path, 60);
        let mut cache = DocumentCache::default();
        assert_eq!(read(&mut cache, &path, 100), text("one"));
        assert_eq!(read(&mut cache, &path, 100), text("one"));
        assert_eq!(cache.n_reads(), 1);
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let fixture = Fixture::new("a.md: one");
        let path = fixture.path("a.md");
        age(&path, 60);
        let mut cache = DocumentCache::default();
        read(&mut cache, &path, 100);
        fs::write(&path, "two").unwrap();
        age(&path, 30);
        assert_eq!(read(&mut cache, &path, 100), text("two"));
        assert_eq!(cache.n_reads(), 2);
    }

    #[test]
    fn a_replaced_file_with_the_same_size_and_time_is_read_again() {
        let fixture = Fixture::new("a.md: one\nb.md: two");
        let (path, other) = (fixture.path("a.md"), fixture.path("b.md"));
        age(&path, 60);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let mut cache = DocumentCache::default();
        read(&mut cache, &path, 100);
        File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(read(&mut cache, &path, 100), text("two"));
    }

    #[test]
    fn a_file_written_just_now_is_not_trusted_to_stay() {
        let fixture = Fixture::new("a.md: one");
        let path = fixture.path("a.md");
        let future = SystemTime::now() + Duration::from_secs(3600);
        File::options().write(true).open(&path).unwrap().set_modified(future).unwrap();
        let mut cache = DocumentCache::default();
        read(&mut cache, &path, 100);
        read(&mut cache, &path, 100);
        assert_eq!(cache.n_reads(), 2);
    }

    #[test]
    fn a_larger_budget_needs_more_bytes_and_a_smaller_one_does_not() {
        let fixture = Fixture::new("a.md: 0123456789");
        let path = fixture.path("a.md");
        age(&path, 60);
        let mut cache = DocumentCache::default();
        assert_eq!(read(&mut cache, &path, 4), ("0123".to_owned(), 10));
        assert_eq!(read(&mut cache, &path, 2), ("01".to_owned(), 10));
        assert_eq!(cache.n_reads(), 1);
        assert_eq!(read(&mut cache, &path, 8), ("01234567".to_owned(), 10));
        assert_eq!(cache.n_reads(), 2);
    }

    #[test]
    fn a_link_is_as_fresh_as_its_target() {
        let fixture = Fixture::new("a.md: one\nlink -> a.md");
        let path = fixture.path("a.md");
        age(&path, 60);
        let mut cache = DocumentCache::default();
        let link = fixture.path("link");
        assert_eq!(read(&mut cache, &link, 100), text("one"));
        fs::write(&path, "three").unwrap();
        assert_eq!(read(&mut cache, &link, 100), text("three"));
    }
}
