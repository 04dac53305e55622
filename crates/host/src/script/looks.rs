//! Appearance files: the looks of a user's avatar, saved from a running server.

use super::forms::AppearanceEntry;
use super::{ScriptFiles, ScriptProblems};
use link::Looks;
use outline::Problem;
use serde::Deserialize;
use std::path::Path;

/// Contents of such a file, in hexadecimal digits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Worn {
    visual_params: String,
    texture_entry: String,
}

/// Looks of kinds, in their order. Problems are reported at the line of the kind.
pub(super) fn all<'a>(
    files: &dyn ScriptFiles,
    kinds: impl Iterator<Item = (u32, &'a AppearanceEntry)>,
    directory: &Path,
    name: &str,
    problems: &mut ScriptProblems,
) -> Vec<Looks> {
    let look = |(line, entry): (u32, &AppearanceEntry)| match entry {
        AppearanceEntry::Person => Looks::Person,
        AppearanceEntry::Cloud => Looks::Cloud,
        AppearanceEntry::File(beside) => worn(files, &directory.join(beside)).unwrap_or_else(|what| {
            problems.add(Problem::new(name, line, 0, format!("{}: {what}", beside.display())));
            Looks::default()
        }),
    };
    kinds.map(look).collect()
}

fn worn(files: &dyn ScriptFiles, path: &Path) -> Result<Looks, String> {
    parse_worn_looks(&String::from_utf8_lossy(&files.read(path)?))
}

/// Looks from the text of an appearance file.
///
/// # Errors
/// The reason, as the operator is shown it.
pub fn parse_worn_looks(text: &str) -> Result<Looks, String> {
    let worn: Worn = toml::from_str(text).map_err(|error| error.message().trim_end().to_owned())?;
    let bytes = |what: &str, digits: &str| {
        bytes(digits).ok_or_else(|| format!("{what} has to be pairs of hexadecimal digits"))
    };
    let visual_params = bytes("visual_params", &worn.visual_params)?;
    let texture_entry = bytes("texture_entry", &worn.texture_entry)?;
    Looks::worn(visual_params, texture_entry).map_err(|error| error.to_string())
}

/// The bytes that pairs of hexadecimal digits stand for.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if rest.is_empty() { pairs.iter().map(pair).collect() } else { None }
}
