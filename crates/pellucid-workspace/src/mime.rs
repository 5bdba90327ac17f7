//! Media types by file extension, for files that people attach instead of an image.
//!
//! Some entries look odd (`ts` is a video). They are the first entries of the common registries.

use std::path::Path;

/// The media type of a path's extension, if it is a known one.
pub fn guess(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    TYPES.iter().find(|(_, extensions)| extensions.split(' ').any(|known| known == extension)).map(|(mime, _)| *mime)
}

const TYPES: &[(&str, &str)] = &[
    ("image/apng", "apng"),
    ("image/avif", "avif"),
    ("image/bmp", "bmp dib"),
    ("image/gif", "gif"),
    ("image/heic", "heic"),
    ("image/heic-sequence", "heics"),
    ("image/heif", "heif"),
    ("image/jp2", "jp2"),
    ("image/jpeg", "jpg jpeg jpe jfif"),
    ("image/jpx", "jpx"),
    ("image/jxl", "jxl"),
    ("image/png", "png"),
    ("image/svg+xml", "svg svgz"),
    ("image/tiff", "tif tiff"),
    ("image/vnd.radiance", "hdr"),
    ("image/vnd.wap.wbmp", "wbmp"),
    ("image/webp", "webp"),
    ("image/x-adobe-dng", "dng"),
    ("image/x-canon-cr2", "cr2"),
    ("image/x-icon", "ico"),
    ("image/x-nikon-nef", "nef"),
    ("image/x-panasonic-rw", "raw"),
    ("image/x-portable-anymap", "pnm"),
    ("image/x-portable-bitmap", "pbm"),
    ("image/x-portable-graymap", "pgm"),
    ("image/x-portable-pixmap", "ppm"),
    ("image/x-tga", "tga"),
    ("image/x-xbitmap", "xbm"),
    ("image/x-xpixmap", "xpm"),
    ("application/epub+zip", "epub"),
    ("application/font-sfnt", "otf"),
    ("application/font-woff", "woff"),
    ("application/gzip", "gz"),
    ("application/java-archive", "jar"),
    ("application/javascript", "mjs"),
    ("application/json", "json"),
    ("application/msword", "doc"),
    ("application/octet-stream", "bin cur deb dmg exe iso java pcx psd so"),
    ("application/pdf", "pdf"),
    ("application/postscript", "ai eps ps"),
    ("application/rtf", "rtf"),
    ("application/vnd.android.package-archive", "apk"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.ms-pki.stl", "stl"),
    ("application/vnd.ms-powerpoint", "ppt"),
    ("application/vnd.oasis.opendocument.presentation", "odp"),
    ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
    ("application/vnd.oasis.opendocument.text", "odt"),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/wasm", "wasm"),
    ("application/x-7z-compressed", "7z"),
    ("application/x-bzip2", "bz2"),
    ("application/x-compressed", "tgz"),
    ("application/x-httpd-php", "php"),
    ("application/x-java-applet", "class"),
    ("application/x-msdownload", "dll"),
    ("application/x-perl", "pl"),
    ("application/x-rar-compressed", "rar"),
    ("application/x-sh", "sh"),
    ("application/x-sql", "sql"),
    ("application/x-tar", "tar"),
    ("application/x-tex", "tex"),
    ("application/x-tgif", "obj"),
    ("application/x-xfig", "fig"),
    ("application/x-xz", "xz"),
    ("application/xhtml+xml", "xhtml"),
    ("application/zip", "zip"),
    ("audio/flac", "flac"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("audio/x-pn-realaudio-plugin", "rpm"),
    ("font/ttf", "ttf"),
    ("font/woff2", "woff2"),
    ("text/css", "css"),
    ("text/csv", "csv"),
    ("text/html", "html htm"),
    ("text/javascript", "js jsx"),
    ("text/less", "less"),
    ("text/markdown", "md markdown"),
    ("text/plain", "txt text log c cc cfg conf cpp h hpp ini map py"),
    ("text/tab-separated-values", "tsv"),
    ("text/x-lua", "lua"),
    ("text/x-rust", "rs"),
    ("text/x-sass", "sass"),
    ("text/x-scss", "scss"),
    ("text/x-toml", "toml"),
    ("text/x-yaml", "yaml yml"),
    ("text/xml", "xml"),
    ("video/mp4", "mp4"),
    ("video/mpeg", "mpeg mpg"),
    ("video/quicktime", "mov"),
    ("video/vnd.dlna.mpeg-tts", "ts"),
    ("video/webm", "webm"),
    ("video/x-matroska", "mkv"),
    ("video/x-msvideo", "avi"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<&str>) {
        assert_eq!(guess(Path::new(path)), expected, "{path}");
    }

    #[test]
    fn by_extension() {
        check("a/b.png", Some("image/png"));
        check("b.x.JPEG", Some("image/jpeg"));
        check("notes.txt", Some("text/plain"));
        check("noext", None);
        check(".png", None);
        check("b.unheard-of", None);
    }

    #[test]
    fn no_extension_is_listed_twice() {
        let mut all: Vec<_> = TYPES.iter().flat_map(|(_, extensions)| extensions.split(' ')).collect();
        let n_all = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n_all);
    }
}
