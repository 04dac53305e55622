//! Tokens of a source.

use crate::Span;
use crate::types::Type;

/// One token and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// Kinds of tokens. Values of literals and names are read from the source at the token's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name that is no keyword.
    Name,
    /// Decimal or hexadecimal.
    Integer,
    Float,
    /// With its quotation marks.
    Text,
    Type(Type),
    Default,
    State,
    Event,
    Jump,
    Return,
    If,
    Else,
    For,
    Do,
    While,
    Print,
    Dot,
    Semicolon,
    Comma,
    At,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    /// `=`
    Assign,
    PlusAssign,
    MinusAssign,
    TimesAssign,
    DivideAssign,
    RemainderAssign,
    PlusPlus,
    MinusMinus,
    Plus,
    Minus,
    Times,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    Not,
    And,
    Or,
    ShiftLeft,
    ShiftRight,
    /// Behind the last token.
    End,
}

/// Words that are no names.
const KEYWORDS: [(&str, TokenKind); 19] = [
    ("integer", TokenKind::Type(Type::Integer)),
    ("float", TokenKind::Type(Type::Float)),
    ("string", TokenKind::Type(Type::String)),
    ("key", TokenKind::Type(Type::Key)),
    ("vector", TokenKind::Type(Type::Vector)),
    ("rotation", TokenKind::Type(Type::Rotation)),
    ("quaternion", TokenKind::Type(Type::Rotation)),
    ("list", TokenKind::Type(Type::List)),
    ("default", TokenKind::Default),
    ("state", TokenKind::State),
    ("event", TokenKind::Event),
    ("jump", TokenKind::Jump),
    ("return", TokenKind::Return),
    ("if", TokenKind::If),
    ("else", TokenKind::Else),
    ("for", TokenKind::For),
    ("do", TokenKind::Do),
    ("while", TokenKind::While),
    ("print", TokenKind::Print),
];

/// Operators and punctuation, longer ones before their beginnings.
const SYMBOLS: [(&str, TokenKind); 38] = [
    ("++", TokenKind::PlusPlus),
    ("--", TokenKind::MinusMinus),
    ("+=", TokenKind::PlusAssign),
    ("-=", TokenKind::MinusAssign),
    ("*=", TokenKind::TimesAssign),
    ("/=", TokenKind::DivideAssign),
    ("%=", TokenKind::RemainderAssign),
    ("==", TokenKind::Equal),
    ("!=", TokenKind::NotEqual),
    (">=", TokenKind::GreaterEqual),
    ("<=", TokenKind::LessEqual),
    ("&&", TokenKind::And),
    ("||", TokenKind::Or),
    ("<<", TokenKind::ShiftLeft),
    (">>", TokenKind::ShiftRight),
    (".", TokenKind::Dot),
    (";", TokenKind::Semicolon),
    (",", TokenKind::Comma),
    ("@", TokenKind::At),
    ("{", TokenKind::OpenBrace),
    ("}", TokenKind::CloseBrace),
    ("(", TokenKind::OpenParen),
    (")", TokenKind::CloseParen),
    ("[", TokenKind::OpenBracket),
    ("]", TokenKind::CloseBracket),
    ("=", TokenKind::Assign),
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Times),
    ("/", TokenKind::Divide),
    ("%", TokenKind::Remainder),
    ("<", TokenKind::Less),
    (">", TokenKind::Greater),
    ("&", TokenKind::BitAnd),
    ("|", TokenKind::BitOr),
    ("^", TokenKind::BitXor),
    ("~", TokenKind::BitNot),
    ("!", TokenKind::Not),
];

impl TokenKind {
    /// The keyword or name that a word is.
    pub(crate) fn of_word(word: &str) -> Self {
        let keyword = KEYWORDS.iter().find(|(keyword, _)| *keyword == word);
        keyword.map_or(Self::Name, |&(_, kind)| kind)
    }

    /// The operator or punctuation at the beginning of a text, and its length.
    pub(crate) fn of_symbol(text: &[u8]) -> Option<(Self, usize)> {
        let symbol = SYMBOLS.iter().find(|(symbol, _)| text.starts_with(symbol.as_bytes()));
        symbol.map(|&(symbol, kind)| (kind, symbol.len()))
    }

    /// Its name in a message.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Name => "a name".to_owned(),
            Self::Integer => "an integer".to_owned(),
            Self::Float => "a float".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::End => "the end of the script".to_owned(),
            _ => {
                let mut written = KEYWORDS.iter().chain(&SYMBOLS).filter(|&&(_, kind)| kind == self);
                written.next().map_or_else(String::new, |(text, _)| format!("`{text}`"))
            }
        }
    }
}
