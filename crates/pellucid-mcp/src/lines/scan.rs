//! The id of a message that is not kept: found while its bytes pass by, at the top level of its JSON.

/// The longest text that is looked at. Names and ids that matter are shorter.
const TEXT_MAX: usize = 32;

/// Looks for the member `id` of a JSON object, which need not be complete or correct.
#[derive(Debug, Default)]
pub(super) struct IdScan {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// Whether the next text at the top level is the name of a member.
    is_name: bool,
    /// Whether the current member is the id.
    in_id: bool,
    text: Vec<u8>,
    id: Option<i64>,
}

impl IdScan {
    /// The id in a line.
    pub(super) fn id_of(line: &[u8]) -> Option<i64> {
        let mut scan = Self::default();
        scan.pass(line);
        scan.id()
    }

    /// Looks at more bytes.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// The id, if there is one so far.
    pub(super) fn id(&self) -> Option<i64> {
        self.id
    }

    fn byte(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_text = false;
                    self.text_ended();
                    return;
                }
                _ => {}
            }
            self.keep(byte);
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.text.clear();
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.is_name = self.depth == 1 && byte == b'{';
            }
            b'}' | b']' => {
                self.number_ended();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.is_name = false;
                self.text.clear();
            }
            b',' if self.depth == 1 => {
                self.number_ended();
                (self.is_name, self.in_id) = (true, false);
            }
            b'0'..=b'9' | b'-' if self.depth == 1 && self.in_id && !self.is_name => self.keep(byte),
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        // A text that is too long is no id, and one byte more than that says so.
        if self.text.len() <= TEXT_MAX {
            self.text.push(byte);
        }
    }

    fn text_ended(&mut self) {
        match (self.depth, self.is_name) {
            (1, true) => self.in_id = self.text == b"id",
            // Some servers send a number back as a text.
            (1, false) => self.number_ended(),
            _ => {}
        }
        if self.depth == 1 {
            self.text.clear();
        }
    }

    fn number_ended(&mut self) {
        if self.depth == 1 && self.in_id && !self.is_name && self.id.is_none() && self.text.len() <= TEXT_MAX {
            self.id = std::str::from_utf8(&self.text).ok().and_then(|text| text.parse().ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_at_the_top_level_alone() {
        let lines = [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"id":8}}"#, Some(7)),
            (r#"{"result":{"id":8,"a":["id",{"id":9}]}, "id" : 7 }"#, Some(7)),
            (r#"{"id":"12"}"#, Some(12)),
            (r#"{"id":7,"id":8}"#, Some(7)),
            (r#"{"a":"\",\"id\":3,","id":4,"tru"#, Some(4)),
            (r#"{"text":"id","n":3}"#, None),
            (r#"{"id":{"id":3}}"#, None),
            (r#"{"id":null}"#, None),
            (r#"["id",3]"#, None),
            (r#"{"id":"00000000000000000000000000000000000007"}"#, None),
            ("not json, id: 3", None),
            ("}}}{\"id\":3,", Some(3)),
            ("", None),
        ];
        for (line, id) in lines {
            assert_eq!(IdScan::id_of(line.as_bytes()), id, "{line}");
        }
    }

    #[test]
    fn the_pieces_of_a_line_do_not_matter() {
        let line = br#"{"result":{"text":"a \"id\": 5"},"id":41}"#;
        for at in 0..line.len() {
            let mut scan = IdScan::default();
            scan.pass(&line[..at]);
            scan.pass(&line[at..]);
            assert_eq!(scan.id(), Some(41), "{at}");
        }
    }
}
