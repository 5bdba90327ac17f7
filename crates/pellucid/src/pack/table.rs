//! Tables of text: columns as wide as their widest cell, the last one open.

use crate::fit;

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
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).enumerate().map(|(column, (cell, width))| match numbers.contains(&column) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:width$}"),
        });
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(&mut headings.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
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
    fn a_table_that_is_too_wide_is_shown_in_blocks() {
        let rows = [["f", "one", "two", "three"].map(str::to_owned).to_vec()];
        let headings = ["FACT", "A", "B", "C"];
        assert_eq!(blocks(&headings, &rows, 80), table(&headings, &rows));
        assert_eq!(blocks(&headings, &rows, 16), "FACT  A    B\nf     one  two\n\nFACT  C\nf     three\n");
        assert_eq!(blocks(&headings, &rows, 1).matches("FACT").count(), 3, "a column that fits nowhere is shown");
    }
}
