//! Values of single elements, as OpenSimulator reads them.
//!
//! Numbers may have blanks around them; a fraction of a whole number is cut. Vectors have three elements of any names, rotations four by their names.

use super::error::Flaw;
use crate::xml::{XmlElement, is_blank};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use glam::{Quat, Vec3};
use ids::Uuid;
use std::borrow::Cow;

/// Characters of a number. The longest number that .NET writes has 24.
const NUMBER_MAX: usize = 64;

/// Whole numbers above it have no exact float.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The text, exactly.
pub(super) fn text<'d>(element: &XmlElement<'d>) -> Result<Cow<'d, str>, Flaw> {
    element.text().ok_or(Flaw::Markup)
}

/// The text without blanks around it.
fn word<'d>(element: &XmlElement<'d>) -> Result<Cow<'d, str>, Flaw> {
    let text = match text(element)? {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_matches(is_blank)),
        Cow::Owned(text) => Cow::Owned(text.trim_matches(is_blank).to_owned()),
    };
    if text.is_empty() { Err(Flaw::Empty) } else { Ok(text) }
}

fn number<'d>(element: &XmlElement<'d>) -> Result<Cow<'d, str>, Flaw> {
    let word = word(element)?;
    if word.len() > NUMBER_MAX { Err(Flaw::Long(word.len())) } else { Ok(word) }
}

/// A whole number.
pub(super) fn int(element: &XmlElement<'_>) -> Result<i64, Flaw> {
    let text = number(element)?;
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let float: f64 = text.parse().map_err(|_| Flaw::Number)?;
    match float {
        _ if !float.is_finite() => Err(Flaw::NotFinite),
        _ if float.abs() > WHOLE_MAX => Err(Flaw::Number),
        _ => Ok(float as i64),
    }
}

/// A whole number without sign, up to the largest one of 64 bits.
pub(super) fn unsigned(element: &XmlElement<'_>) -> Result<u64, Flaw> {
    number(element)?.parse().map_err(|_| Flaw::Number)
}

/// A whole number of any width.
pub(super) fn whole<T: TryFrom<i64>>(element: &XmlElement<'_>) -> Result<T, Flaw> {
    let number = int(element)?;
    T::try_from(number).map_err(|_| Flaw::Range(number))
}

/// A byte, also of a negative number with its bits.
pub(super) fn byte(element: &XmlElement<'_>) -> Result<u8, Flaw> {
    match int(element)? {
        number @ -128..=255 => Ok(number as u8),
        number => Err(Flaw::Range(number)),
    }
}

/// A signed byte, also of a larger number with its bits.
pub(super) fn signed_byte(element: &XmlElement<'_>) -> Result<i8, Flaw> {
    byte(element).map(u8::cast_signed)
}

/// 32 bits, also of a negative number.
pub(super) fn bits(element: &XmlElement<'_>) -> Result<u32, Flaw> {
    match int(element)? {
        number @ -0x8000_0000..=0xFFFF_FFFF => Ok(number as u32),
        number => Err(Flaw::Range(number)),
    }
}

/// A finite number.
pub(super) fn float(element: &XmlElement<'_>) -> Result<f32, Flaw> {
    let text = number(element)?;
    let float: f32 = text.parse().map_err(|_| Flaw::Number)?;
    if float.is_finite() { Ok(float) } else { Err(Flaw::NotFinite) }
}

/// `true` or `1` in any case; everything else is false.
pub(super) fn boolean(element: &XmlElement<'_>) -> Result<bool, Flaw> {
    let text = text(element)?;
    Ok(text.eq_ignore_ascii_case("true") || text == "1")
}

/// An id, in an element `UUID` or, in older files, `Guid`, or as the text itself.
pub(super) fn id(element: &XmlElement<'_>) -> Result<Uuid, Flaw> {
    let text = match element.children().next() {
        Some(child) if matches!(child.name(), "UUID" | "Guid") => word(&child)?,
        Some(_) => return Err(Flaw::Markup),
        None => word(element)?,
    };
    Uuid::try_parse(&text).map_err(|_| Flaw::Id)
}

/// A vector.
pub(super) fn vector(element: &XmlElement<'_>) -> Result<Vec3, Flaw> {
    let mut numbers = element.children().map(|child| float(&child));
    let mut next = || -> Result<f32, Flaw> { numbers.next().ok_or(Flaw::Vector)? };
    Ok(Vec3::new(next()?, next()?, next()?))
}

/// A rotation; numbers that are absent are 0.
pub(super) fn rotation(element: &XmlElement<'_>) -> Result<Quat, Flaw> {
    let mut numbers = [0.0; 4];
    for child in element.children() {
        let axis = ["x", "y", "z", "w"].iter().position(|axis| child.name().eq_ignore_ascii_case(axis));
        numbers[axis.ok_or(Flaw::Vector)?] = float(&child)?;
    }
    Ok(Quat::from_array(numbers))
}

/// Bytes of base64, with blanks anywhere.
pub(super) fn bytes(element: &XmlElement<'_>) -> Result<Vec<u8>, Flaw> {
    let text = text(element)?;
    let dense: Cow<'_, str> = if text.contains(is_blank) {
        Cow::Owned(text.chars().filter(|&character| !is_blank(character)).collect())
    } else {
        text
    };
    BASE64.decode(dense.as_bytes()).map_err(|_| Flaw::Base64)
}

/// Red, green, blue and alpha, each 0–255, in this order.
pub(super) fn color(element: &XmlElement<'_>) -> Result<[u8; 4], Flaw> {
    let mut numbers = element.children().map(|child| float(&child));
    let mut next = || -> Result<u8, Flaw> {
        numbers.next().ok_or(Flaw::Vector)?.map(|number| number.clamp(0.0, 255.0) as u8)
    };
    Ok([next()?, next()?, next()?, next()?])
}
