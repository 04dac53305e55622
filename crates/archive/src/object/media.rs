//! Media of faces in archives: a document of its own as the text of an element, `<OSMedia type="sl" version="0.1"><OSData>`, with LLSD in it.

use super::error::Flaw;
use crate::face_llsd::{media_llsd, read_media_entry};
use crate::xml::{XmlDocument, XmlElement, XmlLimits};
use ids::{AgentId, Uuid};
use prim::{FACES_MAX, Media, MediaEntry};
use wire::llsd::{self, Llsd};

/// Type of media that viewers know.
const TYPE: &str = "sl";

/// Begin of a media address with the number of changes.
const ADDRESS_START: &str = "x-mv:";

/// The document of media.
pub(super) fn encode(faces: &[Option<MediaEntry>]) -> String {
    let data = llsd::xml::encode(&media_llsd(faces));
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
    // A field with a value of another kind has its default, so that the rest of the entry is not lost.
    Ok(entries.iter().map(|entry| entry.as_map().map(|_| read_media_entry(entry).0)).collect())
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
