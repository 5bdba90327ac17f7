//! Tables of text: columns as wide as their widest cell, the last one open.

use crate::fit;

/// How many cells of the first column stay, however narrow the terminal is.
const FIRST_CELLS_MIN: usize = 12;

/// Puts rows under headings.
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    aligned(headings, rows, &[])
}

/// The same in blocks that fit so many columns, each with the first column, where one block is too wide.
pub fn blocks(headings: &[&str], rows: &[Vec<String>], columns: usize) -> String {
    let whole = table(headings, rows);
    if headings.len() < 3 || whole.lines().all(|line| fit::width(line) <= columns) {
        return whole;
    }
    let mut text = String::new();
    let mut from = 1;
    while from < headings.len() {
        let block = |to: usize| {
            let of = |cells: &[&str]| -> Vec<String> {
                let cells = cells.first().into_iter().chain(cells.get(from..to).into_iter().flatten());
                cells.map(|cell| (*cell).to_owned()).collect()
            };
            let headings = of(headings);
            let rows = rows.iter().map(|row| of(&row.iter().map(String::as_str).collect::<Vec<_>>()));
            table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &rows.collect::<Vec<_>>())
        };
        let fits = |to: &usize| block(*to).lines().all(|line| fit::width(line) <= columns);
        let to = (from + 1..=headings.len()).take_while(fits).last().unwrap_or(from + 1);
        text += if text.is_empty() { "" } else { "\n" };
        text += &block(to);
        from = to;
    }
    text
}

/// The same with columns of numbers, whose cells end below each other.
pub fn aligned(headings: &[&str], rows: &[Vec<String>], numbers: &[usize]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| fit::width(cell));
        cells.chain([fit::width(headings[column])]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).enumerate().map(|(column, (cell, width))| match numbers.contains(&column) {
            true => format!("{}{cell}", " ".repeat(width.saturating_sub(fit::width(cell)))),
            false => fit::padded(cell, *width),
        });
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(&mut headings.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

/// The same in so many columns: if the table is wider, the middle of the first cells is cut out.
pub fn fitted(headings: &[&str], rows: &[Vec<String>], numbers: &[usize], columns: usize) -> String {
    let whole = aligned(headings, rows, numbers);
    let Some(over @ 1..) = whole.lines().map(fit::width).max().and_then(|width| width.checked_sub(columns)) else {
        return whole;
    };
    let first = rows.iter().filter_map(|row| row.first()).map(|cell| fit::width(cell)).max().unwrap_or(0);
    let cells = first.saturating_sub(over).max(fit::width(headings[0])).max(FIRST_CELLS_MIN);
    let cut = |row: &Vec<String>| {
        let first = row.iter().take(1).map(|cell| fit::middle(cell, cells));
        first.chain(row.iter().skip(1).cloned()).collect()
    };
    aligned(headings, &rows.iter().map(cut).collect::<Vec<_>>(), numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_needed() {
        let rows = [vec!["é".to_owned(), "x".to_owned()], vec!["long name".to_owned(), String::new()]];
        assert_eq!(table(&["a", "b"], &rows), "a          b\né          x\nlong name\n");
        assert_eq!(
            aligned(&["a", "b"], &[vec!["1".into(), "2".into()], vec!["10".into()]], &[0]),
            " a  b\n 1  2\n10\n"
        );
    }

    #[test]
    fn wide_characters_take_two_cells() {
        let rows = [vec!["日本".to_owned(), "1".to_owned()], vec!["ab".to_owned(), "22".to_owned()]];
        assert_eq!(aligned(&["a", "b"], &rows, &[1]), "a      b\n日本   1\nab    22\n");
    }

    #[test]
    fn a_table_that_is_too_wide_cuts_its_first_cells() {
        let row = |name: &str| vec![name.to_owned(), "1,234".to_owned()];
        let rows = [row("file crates/app/src/main.rs"), row("total")];
        assert_eq!(fitted(&["SOURCE", "READ"], &rows, &[1], 80), aligned(&["SOURCE", "READ"], &rows, &[1]));
        let narrow = fitted(&["SOURCE", "READ"], &rows, &[1], 28);
        assert_eq!(
            narrow,
            "SOURCE                  READ\nfile crates/…/main.rs  1,234\ntotal                  1,234\n"
        );
        assert!(fitted(&["SOURCE", "READ"], &rows, &[1], 3).lines().all(|line| fit::width(line) <= 19));
    }

    #[test]
    fn a_table_that_is_too_wide_is_shown_in_blocks() {
        let rows = [["f", "one", "two", "three"].map(str::to_owned).to_vec()];
        let headings = ["FACT", "A", "B", "C"];
        assert_eq!(blocks(&headings, &rows, 80), table(&headings, &rows));
        assert_eq!(blocks(&headings, &rows, 16), "FACT  A    B\nf     one  two\n\nFACT  C\nf     three\n");
        assert_eq!(blocks(&headings, &rows, 1).matches("FACT").count(), 3, "a column that fits nowhere is shown");
    }
}
