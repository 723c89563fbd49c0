//! Tables.

use unicode_width::UnicodeWidthStr;

use super::{BOLD, fit, pad, paint};

/// The least width of the last column, and of a column that is cut.
const LEAST: usize = 10;
const KEPT: usize = 8;

/// A header and rows. The last column takes the rest of the line. If nothing is left, the widest of the others are cut,
/// except the first, which people copy into commands.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let n_columns = header.len();
    let mut widths: Vec<usize> = (0..n_columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width());
            cells.chain(header.get(column).map(|it| it.width())).max().unwrap_or(0)
        })
        .collect();
    cut(&mut widths, width);
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

/// Narrows the widest columns until the last one has room.
fn cut(widths: &mut [usize], width: usize) {
    let n_others = widths.len().saturating_sub(1);
    loop {
        let taken: usize = widths.iter().take(n_others).map(|width| width + 2).sum();
        let widest = widths.iter_mut().take(n_others).skip(1).max();
        match widest.filter(|widest| taken + LEAST > width && **widest > KEPT) {
            Some(widest) => *widest -= 1,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tables on small screens.

    use unicode_width::UnicodeWidthStr;

    use super::table;

    #[test]
    fn a_long_word_does_not_push_the_rest_off_the_screen() {
        let agent = "script:.troop/scripts/a-very-long-name-of-a-script.script";
        let row = ["● ann", "teammate", agent, "working", "12m", "4194304", "accept-edits", "it"];
        let header = ["  NAME", "ROLE", "AGENT", "STATE", "SINCE", "PROCESS", "MODE", "ABOUT"];
        let text = table(&header, &[row.map(str::to_owned).to_vec()], 80);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert!(
            text.contains("script:") && text.contains("4194304") && text.contains("it\n"),
            "{text}"
        );
        let wide = table(&header, &[row.map(str::to_owned).to_vec()], 200);
        assert!(wide.contains(agent), "{wide}");
    }
}
