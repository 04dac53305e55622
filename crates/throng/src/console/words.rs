//! Words of a line: quotes, escapes, comments. No input or output.
//!
//! | in a line | meaning |
//! |---|---|
//! | spaces and tabs | end a word |
//! | `"…"` | one word, or a part of it; within it `\"` and `\\` stand for `"` and `\` |
//! | `'…'` | the same, with every character as it stands |
//! | `\x` outside of quotes | the character `x`, whatever it is |
//! | `#` at the beginning of a word | the rest of the line is a comment |

/// Bytes of a line at most.
pub(super) const LINE_BYTES_MAX: usize = 4_096;
/// Words of a line at most.
const WORDS_MAX: usize = 256;

/// Reasons for which a line is no list of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WordsError {
    /// A quote without an end, by its place in characters, from 1.
    #[error("the quote at character {0} does not end")]
    OpenQuote(usize),
    /// A backslash at the end.
    #[error("nothing follows the backslash at the end of the line")]
    OpenEscape,
    /// Too many bytes.
    #[error("a line has {LINE_BYTES_MAX} bytes at most")]
    TooLong,
    /// Too many words.
    #[error("a line has {WORDS_MAX} words at most")]
    TooManyWords,
    /// A control character other than a tab, or bytes that are not UTF-8.
    #[error("a line has no control characters, and is UTF-8")]
    Malformed,
}

/// A word with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Word {
    /// Byte of the line at which it begins, quotes included.
    start: usize,
    text: String,
}

/// State behind the last character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Between,
    InWord,
    InQuote(usize),
    InEscape,
    InComment,
}

/// The words of a line; none of an empty one and of a comment.
///
/// # Errors
/// [`WordsError`].
pub(super) fn split(line: &str) -> Result<Vec<String>, WordsError> {
    let (words, end) = read(line)?;
    match end {
        LineEnd::InQuote(at) => Err(WordsError::OpenQuote(at)),
        LineEnd::InEscape => Err(WordsError::OpenEscape),
        LineEnd::Between | LineEnd::InWord | LineEnd::InComment => {
            Ok(words.into_iter().map(|word| word.text).collect())
        }
    }
}

/// The beginning of a line that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedWords {
    /// Complete words.
    pub(super) before: Vec<String>,
    /// Byte at which the word begins that is being typed.
    pub(super) start: usize,
    /// That word so far, without quotes.
    pub(super) word: String,
}

/// Reads the beginning of a line; none in a comment, and where it can be no command any more.
pub(super) fn typed(line: &str) -> Option<TypedWords> {
    let (mut words, end) = read(line).ok()?;
    let word = match end {
        LineEnd::InComment => return None,
        LineEnd::Between => None,
        LineEnd::InWord | LineEnd::InQuote(_) | LineEnd::InEscape => words.pop(),
    };
    let Word { start, text } = word.unwrap_or_else(|| Word { start: line.len(), text: String::new() });
    let before = words.into_iter().map(|word| word.text).collect();
    Some(TypedWords { before, start, word: text })
}

fn read(line: &str) -> Result<(Vec<Word>, LineEnd), WordsError> {
    if line.len() > LINE_BYTES_MAX {
        return Err(WordsError::TooLong);
    }
    if line.chars().any(|letter| letter.is_control() && letter != '\t') {
        return Err(WordsError::Malformed);
    }
    let mut words: Vec<Word> = Vec::new();
    let mut end = LineEnd::Between;
    // The quote that is open, and its place.
    let mut quote: Option<(char, usize)> = None;
    let mut letters = line.char_indices().enumerate().peekable();
    while let Some((n, (start, letter))) = letters.next() {
        if end == LineEnd::Between && quote.is_none() {
            if letter.is_whitespace() {
                continue;
            }
            if letter == '#' {
                return Ok((words, LineEnd::InComment));
            }
            if words.len() == WORDS_MAX {
                return Err(WordsError::TooManyWords);
            }
            words.push(Word { start, text: String::new() });
            end = LineEnd::InWord;
        }
        let text = &mut words.last_mut().expect("a word has begun").text;
        match (quote, letter) {
            (Some((open, _)), letter) if letter == open => quote = None,
            (Some(('"', _)), '\\') => {
                let escaped = letters.next_if(|(_, (_, next))| matches!(next, '"' | '\\'));
                text.push(escaped.map_or('\\', |(_, (_, next))| next));
            }
            (Some(_), letter) => text.push(letter),
            (None, '"' | '\'') => quote = Some((letter, n + 1)),
            (None, '\\') => match letters.next() {
                Some((_, (_, next))) => text.push(next),
                None => return Ok((words, LineEnd::InEscape)),
            },
            (None, letter) if letter.is_whitespace() => end = LineEnd::Between,
            (None, letter) => text.push(letter),
        }
    }
    Ok((words, quote.map_or(end, |(_, at)| LineEnd::InQuote(at))))
}

/// A word as it stands in a line: in quotes if it needs them, as a shell would take it, too.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,@%+=".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else if word.contains('\'') {
        format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("'{word}'")
    }
}

/// Words as a line.
pub(super) fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<String> {
        split(line).unwrap()
    }

    #[test]
    fn words_end_at_spaces_outside_of_quotes() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words(line), expected, "{line:?}");
        check("", &[]);
        check("  \t ", &[]);
        check("show users", &["show", "users"]);
        check("  alert \t Hello ", &["alert", "Hello"]);
        check("alert \"Back in five\"", &["alert", "Back in five"]);
        check("a 'b \" \\' c", &["a", "b \" \\", "c"]);
        check(r#"a "b \" \\ \n" c"#, &["a", r#"b " \ \n"#, "c"]);
        check(r"a\ b \'c", &["a b", "'c"]);
        check("a\"b c\"'d e'f", &["ab cd ef"]);
        check("'' \"\"", &["", ""]);
        check("# a comment", &[]);
        check("backup # daily", &["backup"]);
        check("parcel#3", &["parcel#3"]);
    }

    #[test]
    fn a_line_that_is_not_whole_is_refused_with_the_place() {
        assert_eq!(split("say \"é"), Err(WordsError::OpenQuote(5)));
        assert_eq!(split("é 'b"), Err(WordsError::OpenQuote(3)));
        assert_eq!(split("say \\"), Err(WordsError::OpenEscape));
        assert_eq!(split("a\0b"), Err(WordsError::Malformed));
        assert_eq!(split("a\u{1b}[2J"), Err(WordsError::Malformed));
        assert_eq!(split(&"x".repeat(LINE_BYTES_MAX + 1)), Err(WordsError::TooLong));
        assert_eq!(words(&"x ".repeat(WORDS_MAX)).len(), WORDS_MAX);
        assert_eq!(split(&"x ".repeat(WORDS_MAX + 1)), Err(WordsError::TooManyWords));
    }

    #[test]
    fn the_word_that_is_typed_begins_at_its_quote() {
        let at = |line: &str| {
            let typed = typed(line).unwrap();
            (typed.before.len(), typed.start, typed.word)
        };
        assert_eq!(at(""), (0, 0, String::new()));
        assert_eq!(at("show us"), (1, 5, "us".into()));
        assert_eq!(at("show "), (1, 5, String::new()));
        assert_eq!(at("change region \"Old T"), (2, 14, "Old T".into()));
        assert_eq!(at("a\\"), (0, 0, "a".into()));
        assert_eq!(typed("show # us"), None);
        assert_eq!(typed("\0"), None);
    }

    proptest! {
        #[test]
        fn quoted_words_are_read_as_they_were(words in prop::collection::vec("[^\\p{Cc}]{0,9}", 0..8)) {
            let line = joined(words.iter().map(String::as_str));
            prop_assert_eq!(split(&line), Ok(words));
        }

        #[test]
        fn no_line_makes_it_panic(line in "(.|[\"'\\\\# \t]){0,60}") {
            let _ = (split(&line), typed(&line));
        }
    }
}
