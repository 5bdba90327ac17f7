//! Values in compressed blocks. A block has some values, so that the page unpacks what it needs and no more.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::GzBuilder;

/// From how many bytes on a block is complete.
const BLOCK_BYTES: usize = 512 << 10;

/// Between the speed of writing and the size: the capsule of 10 MB of session is written within a second.
const LEVEL: u32 = 4;

/// Values of one kind, numbered from 0.
#[derive(Debug)]
pub struct Chunks {
    kind: char,
    n: usize,
    /// The number of the first value of each block.
    pub starts: Vec<usize>,
    open: String,
    blocks: String,
}

impl Chunks {
    /// No values. The kind is a letter, with which the names of the blocks begin.
    pub fn new(kind: char) -> Self {
        Self { kind, n: 0, starts: Vec::new(), open: String::new(), blocks: String::new() }
    }

    /// Adds a value, which is JSON. Gives its number.
    pub fn push(&mut self, json: &str) -> usize {
        if self.open.is_empty() {
            self.starts.push(self.n);
        }
        self.open.push(if self.open.is_empty() { '[' } else { ',' });
        self.open += json;
        self.n += 1;
        if self.open.len() >= BLOCK_BYTES {
            self.close();
        }
        self.n - 1
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Ends a block, so that the next value begins another one.
    pub fn close(&mut self) {
        if !self.open.is_empty() {
            self.open.push(']');
            let name = format!("{}{}", self.kind, self.starts.len() - 1);
            self.blocks += &block(&name, &self.open);
            self.open.clear();
        }
    }

    /// The blocks as markup.
    pub fn markup(mut self) -> String {
        self.close();
        self.blocks
    }
}

/// A block that no browser runs, with a text that is packed.
pub fn block(name: &str, text: &str) -> String {
    // Without a time, so that the same session gives the same bytes.
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(LEVEL));
    // Writing into memory does not fail.
    let packed = packed.write_all(text.as_bytes()).and_then(|()| packed.finish()).unwrap_or_default();
    format!("<script type=\"application/octet-stream\" id=\"{name}\">{}</script>\n", STANDARD.encode(packed))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn values_keep_their_numbers_over_blocks() {
        let mut chunks = Chunks::new('x');
        assert_eq!((chunks.push("1"), chunks.push("\"two\"")), (0, 1));
        chunks.close();
        assert_eq!(chunks.push("{}"), 2);
        assert_eq!(chunks.starts, [0, 2]);
        let markup = chunks.markup();
        let text = |name: &str| {
            let (_, rest) = markup.split_once(&format!("id=\"{name}\">")).unwrap();
            let packed = STANDARD.decode(rest.split('<').next().unwrap()).unwrap();
            let mut text = String::new();
            GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
            text
        };
        assert_eq!((text("x0"), text("x1")), ("[1,\"two\"]".to_owned(), "[{}]".to_owned()));
    }
}
