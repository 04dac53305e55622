//! A cursor over the words of one node.

use crate::text::{Lexeme, Token};

/// The words of one node that are not read yet.
#[derive(Clone, Debug)]
pub struct Words<'t, 'a> {
    /// Tokens not read yet.
    pub tokens: &'t [Token<'a>],
    /// Line of the node, from 1.
    pub line: u32,
    /// Column of the token read last: the place of a message when no token is left.
    pub last_column: u32,
}

impl<'t, 'a> Words<'t, 'a> {
    /// The next token.
    #[must_use]
    pub fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.first()
    }

    /// The next token, if it is a word.
    #[must_use]
    pub fn peek_word(&self) -> Option<&'a str> {
        match self.peek()?.lexeme {
            Lexeme::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Goes past the next token.
    pub fn skip(&mut self) {
        if let Some(token) = self.peek() {
            self.last_column = token.column;
            self.tokens = &self.tokens[1..];
        }
    }

    /// Goes past a given word. False, and nothing read, when another token is next.
    pub fn skip_word(&mut self, word: &str) -> bool {
        let is_next = self.peek_word() == Some(word);
        if is_next {
            self.skip();
        }
        is_next
    }

    /// Column of the next token, or of the last one at the end.
    #[must_use]
    pub fn column(&self) -> u32 {
        self.peek().map_or(self.last_column, |token| token.column)
    }
}
