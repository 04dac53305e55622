//! The dialect of a source.

use crate::lexer;
use crate::library::Library;
use crate::token::TokenKind;
use crate::{Faults, Span};

/// Beginning of a first line that names the dialect.
const FIRST_LINE: &str = "//#dialect ";

/// Rules of a script. They are a part of a program's identity, since objects travel between worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Second Life's: strict.
    Sl,
    /// OpenSimulator's: `os` functions, casts without parentheses, values of globals that are computed.
    Opensim,
}

impl Dialect {
    /// The dialect of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sl" => Some(Self::Sl),
            "opensim" => Some(Self::Opensim),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sl => "sl",
            Self::Opensim => "opensim",
        }
    }

    /// The dialect that the first line of a source names, `//#dialect NAME`.
    #[must_use]
    pub fn of_first_line(source: &str) -> Option<Self> {
        first_line(source).and_then(|(name, _)| Self::named(name))
    }

    /// The dialect of a source: that of its first line; otherwise `opensim` if it calls a function that only this one has, and `sl`
    /// if not.
    #[must_use]
    pub fn of_source(source: &str) -> Self {
        if let Some(named) = Self::of_first_line(source) {
            return named;
        }
        let tokens = lexer::tokens(source, &mut Faults::default());
        let calls_opensim = tokens.windows(2).any(|pair| {
            let name = &source[pair[0].span.start as usize..pair[0].span.end as usize];
            pair[0].kind == TokenKind::Name
                && pair[1].kind == TokenKind::OpenParen
                && Library::get().function(name, Self::Sl).is_none()
                && Library::get().function(name, Self::Opensim).is_some()
        });
        if calls_opensim { Self::Opensim } else { Self::Sl }
    }
}

/// The name of the dialect in the first line, and its place.
pub(crate) fn first_line(source: &str) -> Option<(&str, Span)> {
    let line = source.lines().next()?;
    let name = line.strip_prefix(FIRST_LINE)?.trim();
    let start = FIRST_LINE.len() as u32;
    Some((name, Span { start, end: line.trim_end().len().max(FIRST_LINE.len()) as u32 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_decides_and_then_the_calls() {
        for (source, dialect) in [
            ("default { }", Dialect::Sl),
            ("x() { osMax(1, 2); }", Dialect::Opensim),
            ("x() { osmax(1, 2); } // osMax(1, 2)", Dialect::Sl),
            ("//#dialect sl\nx() { osMax(1, 2); }", Dialect::Sl),
            ("//#dialect opensim \r\ndefault { }", Dialect::Opensim),
            ("\n//#dialect opensim\n", Dialect::Sl),
            ("//#dialect lua\nx() { osMax(1, 2); }", Dialect::Opensim),
        ] {
            assert_eq!(Dialect::of_source(source), dialect, "{source}");
        }
        for dialect in [Dialect::Sl, Dialect::Opensim] {
            assert_eq!(Dialect::named(dialect.as_str()), Some(dialect));
        }
    }
}
