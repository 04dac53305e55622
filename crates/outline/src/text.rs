//! A file's lines and their tokens: words, numbers, times of day, quotations, colons.

use crate::{
    FileLimits,
    fault::TextFault,
    problem::{FileReport, shown},
};
use std::fmt;

/// One piece of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Token<'a> {
    /// Characters from the line's beginning, from 1.
    pub column: u32,
    /// Its meaning.
    pub lexeme: Lexeme<'a>,
}

/// Kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum Lexeme<'a> {
    /// A name, a word of the language, or a unit.
    Word(&'a str),
    /// Digits, perhaps with a point and a sign.
    Number(&'a str),
    /// `6:30`.
    Clock(&'a str),
    /// The text between quotation marks, without escapes.
    Quoted(String),
    /// `:` by itself.
    Colon,
}

impl fmt::Display for Lexeme<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) | Self::Clock(text) => write!(f, "`{}`", shown(text)),
            Self::Quoted(text) => write!(f, "\"{}\"", shown(text)),
            Self::Colon => write!(f, "`:`"),
        }
    }
}

/// A line that is not empty.
#[derive(Debug)]
pub struct TextLine<'a> {
    /// From 1.
    pub number: u32,
    /// Tabs or spaces before its first word.
    pub indent: u32,
    /// At least one.
    pub tokens: Vec<Token<'a>>,
}

/// Splits a file into its lines, without empty ones and comments. `None` when it is too long or no text, which is reported.
pub fn lines<'a, F: From<TextFault>>(
    bytes: &'a [u8],
    limits: &FileLimits,
    report: &mut FileReport<'_, F>,
) -> Option<Vec<TextLine<'a>>> {
    if bytes.len() > limits.file_bytes {
        report.add(0, 0, TextFault::TooLong { bytes: bytes.len(), max: limits.file_bytes });
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
            report.add(line as u32 + 1, 1, TextFault::NotText);
            return None;
        }
    };
    let mut lines = Vec::new();
    let mut first_indent = None;
    for (number, text) in (1..).zip(text.lines()) {
        let tokens = LineReader { text, at: 0, column: 1, line: number, limits }.tokens(report);
        if !tokens.is_empty() {
            let indent = indent(text, number, &mut first_indent, report);
            lines.push(TextLine { number, indent, tokens });
        }
    }
    Some(lines)
}

/// True if a file can contain it as one word: a letter or `_` first, then letters, digits, `-`, `_` and `/`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(begins_word) && letters.all(continues_word)
}

fn begins_word(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_'
}

fn continues_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '-' | '_' | '/')
}

/// Counts the blanks before a line. A file has tabs or spaces, as its first indented line has.
fn indent<F: From<TextFault>>(
    text: &str,
    line: u32,
    first: &mut Option<&'static str>,
    report: &mut FileReport<'_, F>,
) -> u32 {
    let blank = &text[..text.len() - text.trim_start_matches([' ', '\t']).len()];
    let found = match (blank.contains('\t'), blank.contains(' ')) {
        (false, false) => return 0,
        (true, true) => "both tabs and spaces",
        (true, false) => "tabs",
        (false, true) => "spaces",
    };
    let expected = *first.get_or_insert(if blank.starts_with('\t') { "tabs" } else { "spaces" });
    if found != expected {
        report.add(line, 1, TextFault::MixedIndent { found, first: expected });
    }
    blank.len() as u32
}

/// Reads one line.
struct LineReader<'a, 'l> {
    text: &'a str,
    /// Bytes read.
    at: usize,
    /// Characters read, and one.
    column: u32,
    line: u32,
    limits: &'l FileLimits,
}

impl<'a> LineReader<'a, '_> {
    fn tokens<F: From<TextFault>>(mut self, report: &mut FileReport<'_, F>) -> Vec<Token<'a>> {
        let mut tokens = Vec::new();
        while let Some(letter) = self.peek() {
            let column = self.column;
            let lexeme = match letter {
                '#' => break,
                ' ' | '\t' => {
                    self.skip();
                    continue;
                }
                ':' => {
                    self.skip();
                    Lexeme::Colon
                }
                '%' => {
                    self.skip();
                    Lexeme::Word("%")
                }
                '"' => Lexeme::Quoted(self.quotation(report)),
                '0'..='9' | '-' | '.' => self.number(),
                letter if begins_word(letter) => Lexeme::Word(self.run(continues_word)),
                other => {
                    self.skip();
                    report.add(self.line, column, TextFault::Character(other));
                    continue;
                }
            };
            tokens.push(Token { column, lexeme });
        }
        tokens
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip(&mut self) {
        if let Some(letter) = self.peek() {
            self.at += letter.len_utf8();
            self.column += 1;
        }
    }

    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&belongs) {
            self.skip();
        }
        &self.text[start..self.at]
    }

    /// A sign and digits with a point, or a time of day: `6:30` is one, while in `weight 6: 30` the colon stands for itself.
    fn number(&mut self) -> Lexeme<'a> {
        let start = self.at;
        self.skip();
        self.run(|letter| letter.is_ascii_digit() || letter == '.');
        if let [b':', b'0'..=b'9', ..] = self.text.as_bytes()[self.at..] {
            self.skip();
            self.run(|letter| letter.is_ascii_digit());
            return Lexeme::Clock(&self.text[start..self.at]);
        }
        Lexeme::Number(&self.text[start..self.at])
    }

    fn quotation<F: From<TextFault>>(&mut self, report: &mut FileReport<'_, F>) -> String {
        let column = self.column;
        self.skip();
        let mut text = String::new();
        loop {
            let at = self.column;
            let Some(letter) = self.peek() else {
                report.add(self.line, column, TextFault::OpenQuotation);
                break;
            };
            self.skip();
            match letter {
                '"' => break,
                '\\' => match self.peek() {
                    Some(escaped @ ('"' | '\\')) => {
                        self.skip();
                        text.push(escaped);
                    }
                    Some(escaped) => {
                        self.skip();
                        report.add(self.line, at, TextFault::Escape(escaped));
                    }
                    None => {}
                },
                control if control.is_control() => report.add(self.line, at, TextFault::Character(control)),
                plain => text.push(plain),
            }
        }
        let max = self.limits.quotation_bytes;
        if text.len() > max {
            report.add(self.line, column, TextFault::TooLong { bytes: text.len(), max });
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemReport;
    use proptest::prelude::*;

    const LIMITS: FileLimits = FileLimits { file_bytes: 1_000, quotation_bytes: 20, items: 100, depth: 8 };

    /// The tokens of a text as `column:token`, and its problems.
    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let mut report: ProblemReport<TextFault> = ProblemReport::default();
        let mut file = FileReport { file: "f", index: 1, report: &mut report };
        let lines = lines(text.as_bytes(), &LIMITS, &mut file);
        let tokens = lines.into_iter().flatten().flat_map(|line| line.tokens);
        let tokens = tokens.map(|token| format!("{}{}", token.column, token.lexeme)).collect();
        (tokens, report.into_problems().list.iter().map(ToString::to_string).collect())
    }

    fn check(text: &str, expected: &[&str]) {
        let (tokens, problems) = read(text);
        assert_eq!(problems, [""; 0]);
        assert_eq!(tokens, expected);
    }

    #[test]
    fn a_line_is_words_numbers_times_quotations_and_colons() {
        check("wander within 12.5m # far", &["1`wander`", "8`within`", "15`12.5`", "19`m`"]);
        check("chance 30%: x", &["1`chance`", "8`30`", "10`%`", "11`:`", "13`x`"]);
        check("from 6:00: 7: 8", &["1`from`", "6`6:00`", "10`:`", "12`7`", "13`:`", "15`8`"]);
        check("speed -2 m/s", &["1`speed`", "7`-2`", "10`m/s`"]);
        check(r#"say "a # \"b\" \\" x"#, &["1`say`", "5\"a # \"b\" \\\"", "20`x`"]);
        check("go tür-öffner zu", &["1`go`", "4`tür-öffner`", "15`zu`"]);
        check("\u{feff}a\r\n\n  # only\n\tb", &["1`a`", "2`b`"]);
    }

    #[test]
    fn unreadable_lines_are_reported_at_their_place() {
        let (tokens, problems) = read("wander ; \"a\\n\" x\nsay \"open");
        assert_eq!(tokens, ["1`wander`", "10\"a\"", "16`x`", "1`say`", "5\"open\""]);
        assert_eq!(
            problems,
            [
                "f:1:8: ';' has no meaning here",
                "f:1:12: `\\n` is unknown in a quotation; there are `\\\"` and `\\\\`",
                "f:2:5: this quotation has no closing `\"`",
            ]
        );
    }

    #[test]
    fn nothing_but_text_is_said() {
        let (tokens, problems) = read("say \"a\u{7}b\tc\"");
        assert_eq!(tokens, ["1`say`", "5\"abc\""]);
        assert_eq!(problems, ["f:1:7: '\\u{7}' has no meaning here", "f:1:9: '\\t' has no meaning here"]);
    }

    #[test]
    fn a_file_is_indented_with_tabs_or_with_spaces() {
        let (_, problems) = read("a\n  b\n\tc\n \td\n  e");
        assert_eq!(
            problems,
            [
                "f:3:1: indented with tabs, where this file began with spaces",
                "f:4:1: indented with both tabs and spaces, where this file began with spaces",
            ]
        );
    }

    #[test]
    fn files_that_are_no_text_or_too_long_are_not_read() {
        let mut report: ProblemReport<TextFault> = ProblemReport::default();
        let mut file = FileReport { file: "f", index: 1, report: &mut report };
        assert!(lines(b"a\nb\xff", &LIMITS, &mut file).is_none());
        assert!(lines(&[b' '; 1_001], &LIMITS, &mut file).is_none());
        let problems = report.into_problems().to_string();
        assert_eq!(problems, "f: 1001 bytes, where 1000 are allowed\nf:2:1: this is not UTF-8 text");
    }

    #[test]
    fn a_quotation_over_its_limit_is_reported() {
        let (_, problems) = read("say \"a quotation of 24 bytes\"");
        assert_eq!(problems, ["f:1:5: 23 bytes, where 20 are allowed"]);
    }

    #[test]
    fn a_name_is_one_word() {
        assert!(is_name("tür-öffner/2") && is_name("_"));
        assert!(!is_name("") && !is_name("2nd") && !is_name("two words") && !is_name("a:"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "\\PC{0,80}") {
            let (tokens, _) = read(&text);
            prop_assert!(tokens.len() <= text.len());
        }
    }
}
