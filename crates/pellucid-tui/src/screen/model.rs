//! A small terminal for tests: rows, scrollback, cursor, and the modes that are on.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthChar;

/// What a terminal shows after some bytes.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) columns: usize,
    pub(crate) grid: Vec<Vec<String>>,
    pub(crate) scrollback: Vec<String>,
    pub(crate) x: usize,
    pub(crate) y: usize,
    is_wrap_pending: bool,
    region: (usize, usize),
    pub(crate) modes: BTreeSet<u32>,
    main: Option<Vec<Vec<String>>>,
    pub(crate) keyboard_levels: usize,
    /// Whether lines that leave a region at the top of the screen, but not the whole screen, are kept.
    pub(crate) saves_from_regions: bool,
}

impl Terminal {
    pub(crate) fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            grid: vec![vec![" ".to_owned(); columns]; rows],
            scrollback: Vec::new(),
            x: 0,
            y: 0,
            is_wrap_pending: false,
            region: (0, rows - 1),
            modes: BTreeSet::from([25]),
            main: None,
            keyboard_levels: 0,
            saves_from_regions: true,
        }
    }

    /// Everything that a person can scroll to, without blank rows at the end.
    pub(crate) fn everything(&self) -> Vec<String> {
        let mut rows = self.scrollback.clone();
        rows.extend(self.rows());
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    pub(crate) fn rows(&self) -> Vec<String> {
        self.grid.iter().map(|row| text(row)).collect()
    }

    pub(crate) fn has_whole_region(&self) -> bool {
        self.region == (0, self.grid.len() - 1)
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).unwrap();
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            rest = &rest[char.len_utf8()..];
            match char {
                '\r' => (self.x, self.is_wrap_pending) = (0, false),
                '\n' => self.line_feed(),
                '\x1b' if rest.starts_with('[') => {
                    let end = 1 + rest[1..].find(|it: char| ('@'..='~').contains(&it)).unwrap();
                    self.csi(&rest[1..end], rest.as_bytes()[end] as char);
                    rest = &rest[end + 1..];
                }
                '\x1b' => panic!("unknown: {rest:?}"),
                _ => self.put(char),
            }
        }
    }

    fn put(&mut self, char: char) {
        let width = char.width().unwrap_or(0);
        if width == 0 {
            let mut x = if self.is_wrap_pending { self.x } else { self.x.saturating_sub(1) };
            while x > 0 && self.grid[self.y][x].is_empty() {
                x -= 1;
            }
            self.grid[self.y][x].push(char);
            return;
        }
        if self.is_wrap_pending || self.x + width > self.columns {
            self.x = 0;
            self.line_feed();
        }
        let row = &mut self.grid[self.y];
        if row[self.x].is_empty() && self.x > 0 {
            row[self.x - 1] = " ".to_owned();
        }
        row[self.x] = char.to_string();
        if width == 2 {
            row[self.x + 1] = String::new();
        }
        if let Some(after) = row.get_mut(self.x + width).filter(|after| after.is_empty()) {
            *after = " ".to_owned();
        }
        self.x += width;
        self.is_wrap_pending = self.x >= self.columns;
        self.x = self.x.min(self.columns - 1);
    }

    fn line_feed(&mut self) {
        self.is_wrap_pending = false;
        if self.y != self.region.1 {
            self.y = (self.y + 1).min(self.grid.len() - 1);
            return;
        }
        let gone = self.grid.remove(self.region.0);
        self.grid.insert(self.region.1, vec![" ".to_owned(); self.columns]);
        let is_saved = self.region.0 == 0 && (self.saves_from_regions || self.has_whole_region());
        if is_saved && self.main.is_none() {
            self.scrollback.push(text(&gone));
        }
    }

    fn csi(&mut self, body: &str, end: char) {
        let numbers: Vec<usize> =
            body.trim_start_matches(['?', '>', '<']).split(';').map(|it| it.parse().unwrap_or(0)).collect();
        let n = numbers[0].max(1);
        let (rows, columns) = (self.grid.len(), self.columns);
        match (body.chars().next(), end) {
            (Some('?'), 'h' | 'l') => self.mode(u32::try_from(numbers[0]).unwrap(), end == 'h'),
            (Some('>'), 'u') => self.keyboard_levels += 1,
            (Some('<'), 'u') => self.keyboard_levels -= 1,
            (_, 'm') => {}
            (_, 'A') => self.y = self.y.saturating_sub(n),
            (_, 'B') => self.y = (self.y + n).min(rows - 1),
            (_, 'C') => self.x = (self.x + n).min(columns - 1),
            (_, 'D') => self.x = self.x.saturating_sub(n),
            (_, 'H') => {
                self.y = (n - 1).min(rows - 1);
                self.x = (numbers.get(1).copied().unwrap_or(1).max(1) - 1).min(columns - 1);
            }
            (_, 'r') => {
                let bottom = numbers.get(1).copied().unwrap_or(rows) - 1;
                assert!(n - 1 < bottom && bottom < rows, "an impossible region: {body}");
                self.region = (n - 1, bottom);
                (self.x, self.y) = (0, 0);
            }
            (_, 'L' | 'M') => {
                assert!(self.has_whole_region(), "rows are inserted outside of a region only");
                for _ in 0..n {
                    let (from, to) = if end == 'L' { (rows - 1, self.y) } else { (self.y, rows - 1) };
                    self.grid.remove(from);
                    self.grid.insert(to, vec![" ".to_owned(); columns]);
                }
                self.x = 0;
            }
            (_, 'K') => {
                let x = self.x;
                self.grid[self.y][x..].fill(" ".to_owned());
            }
            (_, 'J') => {
                let from = if body == "2" { 0 } else { self.y };
                self.grid[from..].iter_mut().for_each(|row| row.fill(" ".to_owned()));
            }
            _ => panic!("unknown: CSI {body}{end}"),
        }
        if end != 'm' {
            self.is_wrap_pending = false;
        }
    }

    fn mode(&mut self, mode: u32, is_on: bool) {
        match (mode, is_on) {
            (1049, true) => {
                let blank = vec![vec![" ".to_owned(); self.columns]; self.grid.len()];
                self.main = Some(std::mem::replace(&mut self.grid, blank));
            }
            (1049, false) => self.grid = self.main.take().unwrap(),
            _ => {}
        }
        if is_on {
            self.modes.insert(mode);
        } else {
            self.modes.remove(&mode);
        }
    }
}

fn text(row: &[String]) -> String {
    row.concat().trim_end().to_owned()
}
