//! Columns that line up.

use unicode_width::UnicodeWidthStr;

use super::{BOLD, fit, pad, paint};

/// A table: a header, then rows. The last column takes what is left of the line.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let n_columns = header.len();
    let widths: Vec<usize> = (0..n_columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width());
            cells.chain(header.get(column).map(|it| it.width())).max().unwrap_or(0)
        })
        .collect();
    let taken: usize = widths.iter().take(n_columns.saturating_sub(1)).map(|width| width + 2).sum();
    let rest = width.saturating_sub(taken).max(10);
    let line = |cells: &[String]| -> String {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            if column + 1 == n_columns {
                line.push_str(&fit(cell, rest));
            } else {
                line.push_str(&pad(cell, widths.get(column).copied().unwrap_or(0)));
                line.push_str("  ");
            }
        }
        line.trim_end().to_owned()
    };
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let mut text = paint(BOLD, &line(&header)) + "\n";
    for row in rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text
}
