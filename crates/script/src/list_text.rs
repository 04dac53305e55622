//! Lists as text and text as lists.

use crate::convert::{decimals_of_c, element_to_string};
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::list::List;
use crate::string::Text;
use crate::value::{Element, Vector};
use std::borrow::Cow;

/// Separators, and spacers, of which `sl` uses no more than the first of each.
const SL_DELIMITERS_MAX: usize = 8;

/// The same for `opensim`. OpenSimulator has no limit; here one bounds the time of a call, since a text is searched once for each delimiter.
const OPENSIM_DELIMITERS_MAX: usize = 32;

/// `llDumpList2String`: the strings of the elements with a separator between them. In `sl` no zero has a sign.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the string is larger than `room`; checked while it grows, since a long separator multiplies.
pub fn dump(list: &List, separator: &str, room: usize, dialect: Dialect) -> Result<Text, RunError> {
    let n_separator = separator.chars().count();
    let mut string = String::new();
    let mut n_chars = 0;
    for (n, element) in list.iter().enumerate() {
        let element = match dialect {
            Dialect::Sl => element_to_string(&with_positive_zeros(element), dialect),
            Dialect::OpenSim => element_to_string(element, dialect),
        };
        n_chars += element.n_chars() + if n > 0 { n_separator } else { 0 };
        if Text::bytes_of(n_chars) > room {
            return Err(RunError::StackHeapCollision);
        }
        if n > 0 {
            string.push_str(separator);
        }
        string.push_str(element.as_str());
    }
    Ok(string.into())
}

/// A float without the sign of its zero, also if it is printed as zero.
fn with_positive_zeros(element: &Element) -> Cow<'_, Element> {
    // −0 + 0 is 0.
    match element {
        Element::Float(value) => Cow::Owned(Element::Float(value + 0.0)),
        Element::Vector(value) => {
            Cow::Owned(Element::Vector(Vector::new(value.x + 0.0, value.y + 0.0, value.z + 0.0)))
        }
        Element::Rotation(value) => {
            let mut value = value.clone();
            for component in [&mut value.x, &mut value.y, &mut value.z, &mut value.s] {
                *component += 0.0;
            }
            Cow::Owned(Element::Rotation(value))
        }
        Element::Integer(_) | Element::Text(_) | Element::Key(_) => Cow::Borrowed(element),
    }
}

/// `llList2CSV`: the strings of the elements with `, ` between them. `sl` prints floats as C does: all digits, `inf`, `nan`.
#[must_use]
pub fn to_csv(list: &List, dialect: Dialect) -> Text {
    let strings = list.iter().map(|element| match (dialect, element) {
        (Dialect::Sl, Element::Float(value)) => decimals_of_c(*value),
        (Dialect::Sl, Element::Vector(value)) => components(&[value.x, value.y, value.z]),
        (Dialect::Sl, Element::Rotation(value)) => components(&[value.x, value.y, value.z, value.s]),
        (_, element) => element_to_string(element, dialect).as_str().to_owned(),
    });
    strings.collect::<Vec<_>>().join(", ").into()
}

fn components(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|&value| decimals_of_c(value)).collect();
    format!("<{}>", values.join(", "))
}

/// `llCSV2List`: pieces between commas that are not within `<` and `>`. `sl` removes one space in front of each piece, `opensim` all white space around
/// it.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the list is larger than `room`; checked while it grows, since commas take less memory than elements.
pub fn from_csv(text: &str, room: usize, dialect: Dialect) -> Result<List, RunError> {
    let mut list = List::default();
    let mut depth = 0_usize;
    let mut start = 0;
    let mut add = |piece: &str| {
        let piece = match dialect {
            Dialect::Sl => piece.strip_prefix(' ').unwrap_or(piece),
            Dialect::OpenSim => piece.trim(),
        };
        list.push_within(room, piece.into())
    };
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                add(&text[start..at])?;
                start = at + 1;
            }
            _ => {}
        }
    }
    add(&text[start..])?;
    Ok(list)
}

/// `llParseString2List`, with `keep_nulls` `llParseStringKeepNulls`: pieces between separators and spacers. Spacers become elements. At one place the
/// first delimiter wins that fits, separators before spacers. An empty string has no pieces; in `sl` it is itself the one piece of
/// `llParseStringKeepNulls`.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the list is larger than `room`; checked while it grows, since delimiters take less memory than elements.
pub fn parse(
    text: &Text,
    separators: &List,
    spacers: &List,
    keep_nulls: bool,
    room: usize,
    dialect: Dialect,
) -> Result<List, RunError> {
    if text.is_empty() {
        let is_kept = keep_nulls && dialect == Dialect::Sl;
        return Ok(if is_kept { List::from(vec![text.clone().into()]) } else { List::default() });
    }
    let separators = delimiters(separators, dialect);
    let spacers = delimiters(spacers, dialect);
    let all: Vec<&Text> = separators.iter().chain(&spacers).collect();
    let mut next = Next::new(text.as_str(), &all);
    let mut list = List::default();
    let mut add = |piece: &str, is_kept: bool| {
        if is_kept || !piece.is_empty() { list.push_within(room, piece.into()) } else { Ok(()) }
    };
    let mut start = 0;
    while let Some((at, n)) = next.find(start) {
        add(&text.as_str()[start..at], keep_nulls)?;
        let delimiter = all[n].as_str();
        if n >= separators.len() {
            add(delimiter, true)?;
        }
        start = at + delimiter.len();
    }
    add(&text.as_str()[start..], keep_nulls)?;
    Ok(list)
}

/// Strings that divide. `sl` knows strings and keys alone, and eight of them.
fn delimiters(list: &List, dialect: Dialect) -> Vec<Text> {
    let n_max = match dialect {
        Dialect::Sl => SL_DELIMITERS_MAX,
        Dialect::OpenSim => OPENSIM_DELIMITERS_MAX,
    };
    let strings = list.iter().take(n_max).filter_map(|element| match (dialect, element) {
        (Dialect::OpenSim, _) | (_, Element::Text(_) | Element::Key(_)) => {
            Some(element_to_string(element, dialect))
        }
        _ => None,
    });
    strings.filter(|string| !string.is_empty()).collect()
}

/// Search for several delimiters.
struct Next<'a> {
    text: &'a [u8],
    searches: Vec<Search<'a>>,
}

/// Search for one delimiter, by the method of Knuth, Morris and Pratt: it reads the text once, also if others overlap with its places. To look for it
/// anew behind each of them would cost the product of both lengths.
struct Search<'a> {
    delimiter: &'a [u8],
    /// For each beginning of the delimiter: the longest shorter one that is its end.
    shorter: Vec<u32>,
    /// Bytes of the text read so far.
    n_read: usize,
    /// Bytes of the delimiter that end there.
    n_matched: usize,
    /// The last place found.
    place: Option<usize>,
}

impl<'a> Next<'a> {
    fn new(text: &'a str, delimiters: &[&'a Text]) -> Self {
        let text = text.as_bytes();
        let searches = delimiters.iter().map(|delimiter| Search::new(text, delimiter.as_str().as_bytes()));
        Self { text, searches: searches.collect() }
    }

    /// The first place from `start` on, and the delimiter there.
    fn find(&mut self, start: usize) -> Option<(usize, usize)> {
        let text = self.text;
        let searches = self.searches.iter_mut().enumerate();
        searches.filter_map(|(n, search)| search.find(text, start).map(|place| (place, n))).min()
    }
}

impl<'a> Search<'a> {
    /// The search for a delimiter that is not empty.
    fn new(text: &[u8], delimiter: &'a [u8]) -> Self {
        let mut search = Self { delimiter, shorter: vec![0, 0], n_read: 0, n_matched: 0, place: None };
        if delimiter.len() > text.len() {
            // It is nowhere, and longer than what is read.
            search.n_read = text.len();
            return search;
        }
        for &byte in &delimiter[1..] {
            search.advance(byte);
            search.shorter.push(search.n_matched as u32);
        }
        search.n_matched = 0;
        search
    }

    /// The first place from `start` on, which is not before that of the last call.
    fn find(&mut self, text: &[u8], start: usize) -> Option<usize> {
        if self.place.is_some_and(|place| place >= start) {
            return self.place;
        }
        self.place = None;
        while let Some(&byte) = text.get(self.n_read) {
            self.n_read += 1;
            self.advance(byte);
            let place = self.n_read - self.n_matched;
            if self.n_matched == self.delimiter.len() && place >= start {
                self.place = Some(place);
                break;
            }
        }
        self.place
    }

    fn advance(&mut self, byte: u8) {
        while self.n_matched > 0 && self.delimiter.get(self.n_matched) != Some(&byte) {
            self.n_matched = self.shorter[self.n_matched] as usize;
        }
        self.n_matched += usize::from(self.delimiter[self.n_matched] == byte);
    }
}

#[cfg(test)]
#[path = "list_text/tests.rs"]
mod tests;
