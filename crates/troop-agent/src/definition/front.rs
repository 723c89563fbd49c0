//! Front matter: the part of YAML that people write at the top of a markdown file.

/// The front matter of a file, and the text after it.
#[derive(Clone, Debug)]
pub(crate) struct FrontMatter<'a> {
    /// Each key with its value and the indented lines below it.
    fields: Vec<(&'a str, &'a str, Vec<&'a str>)>,
    pub(super) rest: &'a str,
    /// The mistake in it, if there is one.
    pub(super) wrong: Option<String>,
}

impl<'a> FrontMatter<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        // Some editors begin files with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let none = Self { fields: Vec::new(), rest: text, wrong: None };
        let Some(inner) = text.strip_prefix("---") else { return none };
        let Some((inner, rest)) = inner.split_once("\n---") else {
            return Self { wrong: Some("its front matter has no end".to_owned()), ..none };
        };
        let mut fields: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        for line in inner.lines().filter(|line| !line.trim().is_empty()) {
            let is_more = line.starts_with([' ', '\t', '-']) || line.trim_start().starts_with('#');
            match (line.split_once(':'), fields.last_mut()) {
                (Some((key, value)), _) if !is_more => {
                    let key = key.trim().trim_matches(['"', '\'']);
                    fields.push((key, without_comment(value), Vec::new()));
                }
                (_, Some((_, _, more))) => more.push(line),
                (_, None) => {}
            }
        }
        Self { fields, rest, wrong: None }
    }

    fn field(&self, name: &str) -> Option<(&str, &[&str])> {
        let found = self.fields.iter().find(|(key, ..)| *key == name)?;
        Some((found.1, found.2.as_slice()))
    }

    /// A value as one text, also if it is folded or continues on the next lines.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let (value, more) = self.field(name)?;
        let lines = more.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        let text = match value.trim_end_matches(['-', '+']) {
            "|" => lines.collect::<Vec<_>>().join("\n"),
            ">" => lines.collect::<Vec<_>>().join(" "),
            _ => {
                let first = Some(value).filter(|it| !it.is_empty());
                unquoted(&first.into_iter().chain(lines).collect::<Vec<_>>().join(" "))
            }
        };
        (!text.is_empty()).then_some(text)
    }

    /// A value as a list: `a, b`, `a b`, `[a, b]`, or one item per line. The error says that it is none.
    pub(super) fn list(&self, name: &str) -> Option<Result<Vec<String>, String>> {
        let (value, more) = self.field(name)?;
        let more = more.iter().map(|line| without_comment(line)).filter(|line| !line.is_empty());
        let more: Vec<_> = more.collect();
        if value.is_empty() && !more.is_empty() {
            let items = more.iter().map(|line| Some(unquoted(line.strip_prefix('-')?)));
            let items: Option<Vec<_>> = items.collect();
            return Some(items.ok_or_else(|| format!("`{name}` is not a list of names")));
        }
        let whole = std::iter::once(value).chain(more).collect::<Vec<_>>().join(" ");
        let inner = whole.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        if inner.is_none() && whole.starts_with(['[', '{', '|', '>', '&', '!']) {
            return Some(Err(format!("`{name}` is not a list of names")));
        }
        Some(Ok(match inner {
            Some(inner) => split(inner, |c| c == ','),
            None => names(&unquoted(&whole)),
        }))
    }
}

/// Names separated by commas, or else by spaces.
fn names(list: &str) -> Vec<String> {
    let names = split(list, |c| c == ',');
    if names.len() > 1 { names } else { split(list, char::is_whitespace) }
}

/// Splits a list. Separators in parentheses and in quotes do not count.
fn split(list: &str, is_between: fn(char) -> bool) -> Vec<String> {
    let mut depth = 0_usize;
    let mut names = vec![String::new()];
    for (c, is_quoted) in characters(list) {
        match c {
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        match names.last_mut() {
            Some(last) if depth > 0 || is_quoted || !is_between(c) => last.push(c),
            _ => names.push(String::new()),
        }
    }
    let names = names.iter().map(|name| unquoted(name));
    names.filter(|name| !name.is_empty()).collect()
}

/// A value without its YAML comment.
fn without_comment(value: &str) -> &str {
    let value = value.trim();
    let mut n_bytes = 0;
    let mut before = ' ';
    for (c, is_quoted) in characters(value) {
        if c == '#' && !is_quoted && before.is_whitespace() {
            return value.get(..n_bytes).unwrap_or_default().trim_end();
        }
        n_bytes += c.len_utf8();
        before = c;
    }
    value
}

/// Each character, and whether it is part of a quoted text. A quote begins where a word begins, and has an end.
fn characters(text: &str) -> Vec<(char, bool)> {
    let mut all = Vec::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let begins = before.is_whitespace() || matches!(before, '[' | ',' | '-' | '(');
        let quoted = if begins { quoted_length(rest) } else { None };
        let n_bytes = quoted.unwrap_or(c.len_utf8());
        let (piece, after) = rest.split_at(n_bytes);
        all.extend(piece.chars().map(|c| (c, quoted.is_some())));
        before = piece.chars().next_back().unwrap_or(c);
        rest = after;
    }
    all
}

/// How many bytes the quoted text has that this begins with, with its quotes.
fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        let has_twin = characters.peek().is_some_and(|(_, next)| *next == quote);
        match c {
            '\\' if quote == '"' => drop(characters.next()),
            // Two single quotes are one within single quotes.
            '\'' if quote == '\'' && has_twin => drop(characters.next()),
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// A text without its quotes, and with what its escapes stand for.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = || text.get(1..text.len().checked_sub(1)?);
    match quoted_length(text).filter(|n_bytes| *n_bytes == text.len()).and_then(|_| inner()) {
        None => text.to_owned(),
        Some(inner) if text.starts_with('\'') => inner.replace("''", "'"),
        Some(inner) => unescaped(inner),
    }
}

/// A text in double quotes. An unknown escape stays as it is.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        let escape = rest.next();
        let n_digits = match escape {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        let digits: String = rest.clone().take(n_digits).collect();
        let coded = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
        match (escape, coded) {
            (Some('x' | 'u' | 'U'), Some(coded)) if digits.len() == n_digits => {
                plain.push(coded);
                rest = rest.as_str().get(n_digits..).unwrap_or_default().chars();
            }
            (Some('n'), _) => plain.push('\n'),
            (Some('t'), _) => plain.push('\t'),
            (Some('r'), _) => plain.push('\r'),
            (Some('0'), _) => plain.push('\0'),
            (Some(same @ ('"' | '\\' | '/' | ' ')), _) => plain.push(same),
            (other, _) => {
                plain.push('\\');
                plain.extend(other);
            }
        }
    }
    plain
}
