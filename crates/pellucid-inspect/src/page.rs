//! The files of the page, as they are in the repository: what is served is what "view source" shows.

use include_dir::Dir;
use include_dir::include_dir;

use crate::reply::Reply;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/page");

/// The file that the address itself shows.
const INDEX: &str = "index.html";

/// The endings of files that are served, with their types.
const KINDS: [(&str, &str); 4] = [
    (".html", "text/html; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".svg", "image/svg+xml; charset=utf-8"),
];

/// The first page.
pub fn index() -> Option<Reply> {
    file(INDEX)
}

/// A file of the page, by its name. The page has no folders.
pub fn file(name: &str) -> Option<Reply> {
    let kind = KINDS.iter().find(|(ending, _)| name.ends_with(ending))?.1;
    let file = FILES.files().find(|file| file.path().to_str() == Some(name))?;
    Some(Reply::bytes(kind, file.contents()))
}

/// The text of a file of the page.
pub fn text(name: &str) -> Option<&'static str> {
    FILES.files().find(|file| file.path().to_str() == Some(name))?.contents_utf8()
}

/// The names of all files of the page.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.files().filter_map(|file| file.path().to_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_are_served() {
        assert!(index().is_some());
        for name in ["", "..", "../Cargo.toml", "/index.html", "./index.html", "index", "README.md", "index.html/"] {
            assert!(file(name).is_none(), "{name}");
        }
    }
}
