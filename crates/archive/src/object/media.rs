//! Media of faces in archives: a document of its own as the text of an element, `<OSMedia type="sl" version="0.1"><OSData>`, with LLSD in it.

use super::error::Flaw;
use crate::xml::{XmlDocument, XmlElement, XmlLimits};
use ids::{AgentId, Uuid};
use prim::{FACES_MAX, MEDIA_PATTERNS_MAX, Media, MediaEntry, MediaUsers};
use wire::llsd::{self, Llsd};

/// Type of media that viewers know.
const TYPE: &str = "sl";

/// Begin of a media address with the number of changes.
const ADDRESS_START: &str = "x-mv:";

/// The document of media.
pub(super) fn encode(faces: &[Option<MediaEntry>]) -> String {
    let entries = faces.iter().map(|entry| entry.as_ref().map_or(Llsd::Undef, entry_llsd));
    let data = llsd::xml::encode(&Llsd::Array(entries.collect()));
    format!("<OSMedia type=\"{TYPE}\" version=\"0.1\"><OSData>{data}</OSData></OSMedia>")
}

/// Media from an element, whose document is its text or, in files of other servers, stands in it as markup.
pub(super) fn read(element: &XmlElement<'_>) -> Result<Vec<Option<MediaEntry>>, Flaw> {
    match element.text() {
        Some(text) => decode(&text),
        None => decode(element.inner()),
    }
}

fn decode(text: &str) -> Result<Vec<Option<MediaEntry>>, Flaw> {
    let document = XmlDocument::parse(text.as_bytes(), &XmlLimits::SMALL).map_err(|_| Flaw::NoMedia)?;
    let root = document.root();
    let data = match root.name() {
        "OSMedia" if root.attribute("type").as_deref() == Some(TYPE) => root.child("OSData"),
        _ => None,
    };
    let data = data.ok_or(Flaw::NoMedia)?.inner();
    let limits = llsd::Limits { bytes_max: data.len(), values_max: 16_384 };
    let entries = llsd::xml::decode(data.as_bytes(), limits).map_err(|_| Flaw::NoMedia)?;
    let Llsd::Array(entries) = entries else { return Err(Flaw::NoMedia) };
    if entries.len() > FACES_MAX as usize {
        return Err(Flaw::Length(entries.len()));
    }
    Ok(entries.iter().map(|entry| entry.as_map().map(|_| read_entry(entry))).collect())
}

/// Media from the number of changes and the user in an address, and the entries of faces.
pub(super) fn media_of(faces: Vec<Option<MediaEntry>>, address: &str) -> Result<Media, Flaw> {
    let (version, editor) = version_of(address).unwrap_or((1, Uuid::nil()));
    let faces = faces.into_iter().map(|face| face.map(MediaEntry::clamped)).collect();
    let media = Media { version, editor: AgentId(editor), faces };
    media.check()?;
    Ok(media)
}

fn version_of(address: &str) -> Option<(u32, Uuid)> {
    let (version, editor) = address.strip_prefix(ADDRESS_START)?.split_once('/')?;
    Some((version.parse().ok()?, Uuid::try_parse(editor).ok()?))
}

fn read_entry(entry: &Llsd) -> MediaEntry {
    let plain = MediaEntry::default();
    let flag = |key: &str, absent: bool| entry.get(key).as_bool().unwrap_or(absent);
    let text = |key: &str| entry.get(key).as_str().unwrap_or_default().to_owned();
    let number = |key: &str, absent: i32| entry.get(key).as_i32().unwrap_or(absent);
    let pixels = |key: &str| number(key, 0).clamp(0, u16::MAX.into()) as u16;
    let users =
        |key: &str, absent: MediaUsers| MediaUsers(number(key, absent.0.into()) as u8 & MediaUsers::ALL.0);
    let patterns = entry.get("whitelist").as_array().iter().take(MEDIA_PATTERNS_MAX + 1);
    MediaEntry {
        home: text("home_url"),
        current: text("current_url"),
        has_still: flag("alt_image_enable", plain.has_still),
        loops: flag("auto_loop", plain.loops),
        plays: flag("auto_play", plain.plays),
        scales: flag("auto_scale", plain.scales),
        zooms: flag("auto_zoom", plain.zooms),
        first_click_counts: flag("first_click_interact", plain.first_click_counts),
        controls: number("controls", 0).clamp(0, u8::MAX.into()) as u8,
        width_px: pixels("width_pixels"),
        height_px: pixels("height_pixels"),
        is_limited: flag("whitelist_enable", plain.is_limited),
        allowed: patterns.filter_map(|pattern| pattern.as_str().map(str::to_owned)).collect(),
        interact: users("perms_interact", plain.interact),
        control: users("perms_control", plain.control),
    }
}

fn entry_llsd(entry: &MediaEntry) -> Llsd {
    let MediaEntry {
        home,
        current,
        has_still,
        loops,
        plays,
        scales,
        zooms,
        first_click_counts,
        controls,
        width_px,
        height_px,
        is_limited,
        allowed,
        interact,
        control,
    } = entry;
    Llsd::map([
        ("alt_image_enable", Llsd::from(*has_still)),
        ("auto_loop", (*loops).into()),
        ("auto_play", (*plays).into()),
        ("auto_scale", (*scales).into()),
        ("auto_zoom", (*zooms).into()),
        ("controls", i32::from(*controls).into()),
        ("current_url", current.as_str().into()),
        ("first_click_interact", (*first_click_counts).into()),
        ("height_pixels", i32::from(*height_px).into()),
        ("home_url", home.as_str().into()),
        ("perms_control", i32::from(control.0).into()),
        ("perms_interact", i32::from(interact.0).into()),
        ("whitelist", Llsd::array(allowed.iter().map(String::as_str))),
        ("whitelist_enable", (*is_limited).into()),
        ("width_pixels", i32::from(*width_px).into()),
    ])
}
