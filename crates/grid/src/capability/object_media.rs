//! ObjectMedia and ObjectMediaNavigate: media on the faces of a prim, as clients read and write them.
//!
//! ```text
//! ObjectMedia          {verb: "GET", object_id} ─► {object_id, object_media_version, object_media_data: [entry or undef per face]}
//!                      {verb: "UPDATE", object_id, object_media_data: [entry or undef per face]} ─► {}
//! ObjectMediaNavigate  {object_id, texture_index, current_url} ─► {}, or {object_id, error: {code, message}}
//! ```
//!
//! A field that is absent has its default; one of another kind is refused.

use archive::face_llsd::{media_llsd, read_media_entry};
use prim::{Media, MediaEntry};
use thiserror::Error;
use uuid::Uuid;
use wire::llsd::Llsd;

/// Code by which a client learns that it may not visit an address, and goes back.
const PERMISSION_DENIED: i32 = 8_002;

/// A call of ObjectMedia.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaCall {
    /// The media of an object.
    Get(Uuid),
    /// Other media for an object's faces.
    Update(Uuid, Vec<Option<MediaEntry>>),
}

/// A call of ObjectMediaNavigate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaVisit {
    /// The object.
    pub object: Uuid,
    /// Number of the face.
    pub face: u8,
    /// The address.
    pub address: String,
}

/// Reasons to refuse a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadMediaCall {
    /// Another verb than GET and UPDATE.
    #[error("the verb is neither GET nor UPDATE")]
    Verb,
    /// A field that is absent, or of another kind.
    #[error("the field {0} is absent or has no such value")]
    Field(&'static str),
    /// An entry that is neither a map nor undefined.
    #[error("the media of face {0} is neither a map nor undefined")]
    Entry(usize),
}

impl MediaCall {
    /// Reads a call.
    ///
    /// # Errors
    /// [`BadMediaCall`].
    pub fn read(request: &Llsd) -> Result<Self, BadMediaCall> {
        let object = object_of(request)?;
        match request.get("verb").as_str() {
            Some("GET") => Ok(Self::Get(object)),
            Some("UPDATE") => {
                let data = request.get("object_media_data");
                if !matches!(data, Llsd::Array(_)) {
                    return Err(BadMediaCall::Field("object_media_data"));
                }
                let entries = data.as_array().iter().enumerate().map(|(face, entry)| match entry {
                    Llsd::Undef => Ok(None),
                    Llsd::Map(_) => read_entry(entry).map(Some),
                    _ => Err(BadMediaCall::Entry(face)),
                });
                Ok(Self::Update(object, entries.collect::<Result<_, _>>()?))
            }
            _ => Err(BadMediaCall::Verb),
        }
    }
}

impl MediaVisit {
    /// Reads a call.
    ///
    /// # Errors
    /// [`BadMediaCall::Field`].
    pub fn read(request: &Llsd) -> Result<Self, BadMediaCall> {
        let face = request.get("texture_index").as_i32().and_then(|face| u8::try_from(face).ok());
        let address = request.get("current_url").as_str();
        Ok(Self {
            object: object_of(request)?,
            face: face.ok_or(BadMediaCall::Field("texture_index"))?,
            address: address.ok_or(BadMediaCall::Field("current_url"))?.to_owned(),
        })
    }
}

fn object_of(request: &Llsd) -> Result<Uuid, BadMediaCall> {
    request.get("object_id").as_uuid().ok_or(BadMediaCall::Field("object_id"))
}

fn read_entry(entry: &Llsd) -> Result<MediaEntry, BadMediaCall> {
    match read_media_entry(entry) {
        (entry, None) => Ok(entry),
        (_, Some(key)) => Err(BadMediaCall::Field(key)),
    }
}

/// Answers a GET. An object without media has no version.
#[must_use]
pub fn object_media(object: Uuid, media: Option<&Media>) -> Llsd {
    let faces = media.map_or(&[][..], |media| media.faces.as_slice());
    Llsd::map([
        ("object_id", Llsd::from(object)),
        ("object_media_version", media.map(Media::address).unwrap_or_default().into()),
        ("object_media_data", media_llsd(faces)),
    ])
}

/// Answers a visit that the face does not let the user make.
#[must_use]
pub fn visit_denied(object: Uuid) -> Llsd {
    let error = Llsd::map([
        ("code", Llsd::from(PERMISSION_DENIED)),
        ("message", "You are not allowed to go to that address here.".into()),
    ]);
    Llsd::map([("object_id", Llsd::from(object)), ("error", error)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use prim::{MEDIA_SIDE_MAX_PX, MediaUsers};

    const OBJECT: Uuid = Uuid::from_u128(7);

    fn call(fields: impl IntoIterator<Item = (&'static str, Llsd)>) -> Llsd {
        let object = ("object_id", Llsd::from(OBJECT));
        Llsd::map(std::iter::once(object).chain(fields))
    }

    fn update(entries: Vec<Llsd>) -> Result<MediaCall, BadMediaCall> {
        MediaCall::read(&call([("verb", "UPDATE".into()), ("object_media_data", Llsd::Array(entries))]))
    }

    #[test]
    fn media_are_read_as_they_are_written() {
        let entry = MediaEntry {
            home: "http://a.org/".into(),
            current: "http://a.org/é".into(),
            has_still: true,
            loops: true,
            plays: true,
            scales: false,
            zooms: true,
            first_click_counts: true,
            controls: 1,
            width_px: MEDIA_SIDE_MAX_PX,
            height_px: 3,
            is_limited: true,
            allowed: vec!["a.org".into(), "*.b.org".into()],
            interact: MediaUsers::OWNER,
            control: MediaUsers::GROUP,
        };
        let faces = vec![None, Some(entry), Some(MediaEntry::default())];
        let media = Media { version: 3, editor: ids::AgentId(OBJECT), faces: faces.clone() };
        let answer = object_media(OBJECT, Some(&media));
        assert_eq!(answer.get("object_media_version").as_str(), Some(&*media.address()));
        let entries = answer.get("object_media_data").as_array().to_vec();
        assert_eq!(update(entries), Ok(MediaCall::Update(OBJECT, faces)));
    }

    #[test]
    fn an_object_without_media_has_no_version() {
        let answer = object_media(OBJECT, None);
        assert_eq!(answer.get("object_media_version").as_str(), Some(""));
        assert_eq!(answer.get("object_media_data"), &Llsd::Array(Vec::new()));
    }

    #[test]
    fn absent_fields_have_their_defaults_and_damaged_ones_are_refused() {
        let none = update(vec![Llsd::map::<&str>([]), Llsd::Undef]);
        assert_eq!(none, Ok(MediaCall::Update(OBJECT, vec![Some(MediaEntry::default()), None])));
        let damaged = |key: &'static str, value: Llsd| update(vec![Llsd::map([(key, value)])]);
        for key in ["home_url", "auto_play", "width_pixels", "whitelist", "perms_interact"] {
            let wrong = Llsd::map([("a", Llsd::from(1))]);
            assert_eq!(damaged(key, wrong), Err(BadMediaCall::Field(key)));
        }
        let mixed = Llsd::Array(vec!["a".into(), 1.into()]);
        assert_eq!(damaged("whitelist", mixed), Err(BadMediaCall::Field("whitelist")));
        assert_eq!(update(vec![Llsd::Undef, 7.into()]), Err(BadMediaCall::Entry(1)));
        let no_data = MediaCall::read(&call([("verb", "UPDATE".into())]));
        assert_eq!(no_data, Err(BadMediaCall::Field("object_media_data")));
        assert_eq!(MediaCall::read(&call([("verb", "DELETE".into())])), Err(BadMediaCall::Verb));
        assert_eq!(MediaCall::read(&Llsd::Undef), Err(BadMediaCall::Field("object_id")));
    }

    #[test]
    fn a_visit_names_object_face_and_address() {
        let visit =
            |face: i32| call([("texture_index", face.into()), ("current_url", "http://a.org/".into())]);
        let read = MediaVisit::read(&visit(2));
        assert_eq!(read, Ok(MediaVisit { object: OBJECT, face: 2, address: "http://a.org/".into() }));
        assert_eq!(MediaVisit::read(&visit(-1)), Err(BadMediaCall::Field("texture_index")));
        let bare = call([("texture_index", 1.into())]);
        assert_eq!(MediaVisit::read(&bare), Err(BadMediaCall::Field("current_url")));
    }
}
