//! Patterns: `*` is any text, `?` any character, all else itself.

/// A pattern for a whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob(Vec<char>);

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Self(pattern.chars().collect())
    }

    /// Whether any text is meant, without a word about what is in it.
    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|p| *p == '*')
    }

    /// Whether a text is meant.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut place) = (0, 0);
        // Where the last `*` is, and how much of the text it takes.
        let mut star: Option<(usize, usize)> = None;
        while let Some(c) = text.get(place) {
            match self.0.get(at) {
                Some('*') => {
                    star = Some((at, place));
                    at += 1;
                }
                Some(p) if p == c || *p == '?' => (at, place) = (at + 1, place + 1),
                _ => {
                    let Some((star_at, taken)) = star else { return false };
                    (at, place) = (star_at + 1, taken + 1);
                    star = Some((star_at, taken + 1));
                }
            }
        }
        self.0.iter().skip(at).all(|p| *p == '*')
    }
}
