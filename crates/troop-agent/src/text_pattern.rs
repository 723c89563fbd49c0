//! Text patterns, in which `*` matches any text. Paths use `globset`, which knows folders.

/// A pattern for a whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextPattern(Vec<PatternPiece>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternPiece {
    AnyText,
    AnyCharacter,
    Character(char),
}

impl TextPattern {
    /// `*` matches any text, `?` any character.
    pub(crate) fn new(pattern: &str) -> Self {
        let is_any = |piece| {
            if piece == PatternPiece::Character('?') { PatternPiece::AnyCharacter } else { piece }
        };
        Self(Self::of_stars(pattern).0.into_iter().map(is_any).collect())
    }

    /// Only `*` is special: a rule about commands must not mean more than its author saw.
    pub(crate) fn of_stars(pattern: &str) -> Self {
        let piece = |c| if c == '*' { PatternPiece::AnyText } else { PatternPiece::Character(c) };
        Self(pattern.chars().map(piece).collect())
    }

    /// Whether it matches every text.
    pub(crate) fn is_any(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|piece| *piece == PatternPiece::AnyText)
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let mut at = 0;
        let mut place = 0;
        // The position of the last `*`, and how much of the text it takes.
        let mut star: Option<(usize, usize)> = None;
        while let Some(c) = text.get(place) {
            match self.0.get(at) {
                Some(PatternPiece::AnyText) => {
                    star = Some((at, place));
                    at += 1;
                }
                Some(piece) if piece.is(*c) => {
                    at += 1;
                    place += 1;
                }
                _ => {
                    let Some((star_at, taken)) = star else { return false };
                    at = star_at + 1;
                    place = taken + 1;
                    star = Some((star_at, taken + 1));
                }
            }
        }
        self.0.iter().skip(at).all(|piece| *piece == PatternPiece::AnyText)
    }
}

impl PatternPiece {
    fn is(self, c: char) -> bool {
        match self {
            Self::AnyText => false,
            Self::AnyCharacter => true,
            Self::Character(own) => own == c,
        }
    }
}

#[cfg(test)]
mod tests;
