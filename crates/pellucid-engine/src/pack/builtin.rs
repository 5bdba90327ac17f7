//! The packs that come with the program.

use include_dir::Dir;
use include_dir::DirEntry;
use include_dir::include_dir;

use super::DEFAULT_BASE;
use super::PackFiles;

static PACKS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/packs");

pub(super) fn names() -> Vec<&'static str> {
    PACKS.dirs().filter_map(|dir| dir.path().to_str()).collect()
}

pub(super) fn files(name: &str) -> Option<PackFiles> {
    let mut files = PackFiles::new();
    collect(PACKS.get_dir(name)?, &format!("{name}/"), &mut files);
    Some(files)
}

/// A file of the default pack, or else of the first other pack that has it.
pub(super) fn any_file(name: &str) -> Option<String> {
    let packs = [DEFAULT_BASE].into_iter().chain(names());
    packs.filter_map(|pack| files(pack)?.remove(name)).next()
}

fn collect(dir: &Dir<'_>, prefix: &str, files: &mut PackFiles) {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(dir) => collect(dir, prefix, files),
            DirEntry::File(file) => {
                let path = file.path().to_str().and_then(|path| path.strip_prefix(prefix));
                if let (Some(path), Some(text)) = (path, file.contents_utf8()) {
                    files.insert(path.to_owned(), text.to_owned());
                }
            }
        }
    }
}
