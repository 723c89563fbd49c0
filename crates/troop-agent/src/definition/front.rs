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
                    fields.push((unquoted(key), without_comment(value), Vec::new()));
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
        let (first, between) = match value.trim_end_matches(['-', '+']) {
            "|" => ("", "\n"),
            ">" => ("", " "),
            _ => (unquoted(value), " "),
        };
        let lines = std::iter::once(first).chain(more.iter().map(|line| line.trim()));
        let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(between);
        let text = unquoted(&text);
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A value as a list: `a, b`, `a b`, `[a, b]`, or one item per line. The error says that it is none.
    pub(super) fn list(&self, name: &str) -> Option<Result<Vec<String>, String>> {
        let (value, more) = self.field(name)?;
        let more = more.iter().map(|line| without_comment(line)).filter(|line| !line.is_empty());
        let more: Vec<_> = more.collect();
        if value.is_empty() && !more.is_empty() {
            let items = more.iter().map(|line| Some(unquoted(line.strip_prefix('-')?).to_owned()));
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
            None => names(unquoted(&whole)),
        }))
    }
}

/// Names separated by commas, or else by spaces.
fn names(list: &str) -> Vec<String> {
    let names = split(list, |c| c == ',');
    if names.len() > 1 { names } else { split(list, char::is_whitespace) }
}

/// Splits a list; separators in parentheses do not count.
fn split(list: &str, is_between: fn(char) -> bool) -> Vec<String> {
    let mut depth = 0_usize;
    let mut names = vec![String::new()];
    for c in list.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match names.last_mut() {
            Some(last) if depth > 0 || !is_between(c) => last.push(c),
            _ => names.push(String::new()),
        }
    }
    let names = names.iter().map(|name| unquoted(name).to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// A value without its YAML comment.
fn without_comment(value: &str) -> &str {
    let value = value.trim();
    if value.starts_with(['"', '\'', '#']) {
        return if value.starts_with('#') { "" } else { value };
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

pub(super) fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}
