//! Media on the faces of a prim: pages and films in place of textures.
//!
//! A client does not get media with the object. Its media address ([`Media::address`]) has the version of the media, and the client asks for the media
//! when the version has changed. All values are those of the protocol, within bounds.

use ids::AgentId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Faces of a prim or mesh.
pub const FACES_MAX: u32 = 45;
/// Bytes of the address of a page or film, as in viewers.
pub const MEDIA_ADDRESS_MAX: usize = 1_024;
/// Patterns of allowed addresses on a face.
pub const MEDIA_PATTERNS_MAX: usize = 64;
/// Bytes of all texts of a prim's media. A region of 45,000 prims has at most 350 MiB of them.
pub const MEDIA_TEXT_MAX: usize = 8_192;
/// Pixels of media along a side.
pub const MEDIA_SIDE_MAX_PX: u16 = 2_048;
/// Largest code of the controls that viewers draw: 0 all, 1 few.
const CONTROLS_MAX: u8 = 1;

/// Users with a right on the media of a face, by the bits of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MediaUsers(pub u8);

impl MediaUsers {
    /// The owner of the object.
    pub const OWNER: Self = Self(1);
    /// Members of its group.
    pub const GROUP: Self = Self(1 << 1);
    /// All users.
    pub const ANYONE: Self = Self(1 << 2);
    /// Owner, group and all others.
    pub const ALL: Self = Self(Self::OWNER.0 | Self::GROUP.0 | Self::ANYONE.0);

    /// True if any bit of `other` is set.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Media of one face.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MediaEntry {
    /// Address at which it begins; at most [`MEDIA_ADDRESS_MAX`] bytes.
    pub home: String,
    /// Address where it is; alike.
    pub current: String,
    /// A picture stands for it until it is used.
    pub has_still: bool,
    /// Films begin again at their end.
    pub loops: bool,
    /// It begins by itself.
    pub plays: bool,
    /// It fills the face.
    pub scales: bool,
    /// A click brings the camera before it.
    pub zooms: bool,
    /// The first click counts already.
    pub first_click_counts: bool,
    /// Code of the controls that viewers draw.
    pub controls: u8,
    /// Pixels, at most [`MEDIA_SIDE_MAX_PX`]; 0 for the viewer's choice.
    pub width_px: u16,
    /// Pixels, alike.
    pub height_px: u16,
    /// Only addresses that [`Self::allowed`] has are visited.
    pub is_limited: bool,
    /// Patterns of addresses, in which `*` stands for any text; at most [`MEDIA_PATTERNS_MAX`].
    pub allowed: Vec<String>,
    /// Users who may visit other addresses.
    pub interact: MediaUsers,
    /// Users who may stop and start it.
    pub control: MediaUsers,
}

impl Default for MediaEntry {
    fn default() -> Self {
        Self {
            home: String::new(),
            current: String::new(),
            has_still: false,
            loops: false,
            plays: false,
            scales: true,
            zooms: false,
            first_click_counts: false,
            controls: 0,
            width_px: 0,
            height_px: 0,
            is_limited: false,
            allowed: Vec::new(),
            interact: MediaUsers::ALL,
            control: MediaUsers::ALL,
        }
    }
}

/// Reasons to refuse media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MediaError {
    /// More faces than a prim has.
    #[error("media of {0} faces")]
    Faces(usize),
    /// An address that is too long, and its bytes.
    #[error("a media address of {0} bytes")]
    Address(usize),
    /// A control character in an address or a pattern.
    #[error("a media address with a control character")]
    Control,
    /// More patterns than [`MEDIA_PATTERNS_MAX`].
    #[error("{0} patterns of media addresses")]
    Patterns(usize),
    /// More bytes of texts than [`MEDIA_TEXT_MAX`].
    #[error("media with {0} bytes of addresses")]
    Text(usize),
    /// A code or a size that is out of range.
    #[error("media with a number out of range")]
    Range,
    /// The face has no media.
    #[error("no media on face {0}")]
    NoMedia(u8),
    /// The face is limited to other addresses.
    #[error("an address that the face does not allow")]
    Forbidden,
}

impl MediaEntry {
    /// With numbers in their ranges.
    #[must_use]
    pub fn clamped(mut self) -> Self {
        self.controls = self.controls.min(CONTROLS_MAX);
        self.width_px = self.width_px.min(MEDIA_SIDE_MAX_PX);
        self.height_px = self.height_px.min(MEDIA_SIDE_MAX_PX);
        self.interact = MediaUsers(self.interact.0 & MediaUsers::ALL.0);
        self.control = MediaUsers(self.control.0 & MediaUsers::ALL.0);
        self
    }

    /// True if an address may be visited.
    #[must_use]
    pub fn allows(&self, address: &str) -> bool {
        !self.is_limited || self.allowed.iter().any(|pattern| fits(pattern, address))
    }

    fn text_len(&self) -> usize {
        self.home.len() + self.current.len() + self.allowed.iter().map(String::len).sum::<usize>()
    }

    fn check(&self) -> Result<(), MediaError> {
        for address in [&self.home, &self.current] {
            check_address(address)?;
        }
        if self.allowed.len() > MEDIA_PATTERNS_MAX {
            return Err(MediaError::Patterns(self.allowed.len()));
        }
        if self.allowed.iter().any(|pattern| pattern.contains(char::is_control)) {
            return Err(MediaError::Control);
        }
        let sides = [self.width_px, self.height_px];
        let users = [self.interact, self.control];
        let is_in_range = self.controls <= CONTROLS_MAX
            && sides.iter().all(|&side| side <= MEDIA_SIDE_MAX_PX)
            && users.iter().all(|users| users.0 & !MediaUsers::ALL.0 == 0);
        if is_in_range { Ok(()) } else { Err(MediaError::Range) }
    }
}

fn check_address(address: &str) -> Result<(), MediaError> {
    if address.len() > MEDIA_ADDRESS_MAX {
        return Err(MediaError::Address(address.len()));
    }
    if address.contains(char::is_control) { Err(MediaError::Control) } else { Ok(()) }
}

/// Media of a prim's faces. Once a prim has had media it keeps this, without entries, so that clients learn of the end by its version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Media {
    /// Number of its changes, from 1.
    pub version: u32,
    /// The user who changed it last.
    pub editor: AgentId,
    /// By face; `None` on a face without media.
    pub faces: Vec<Option<MediaEntry>>,
}

impl Media {
    /// The media after a change of all faces. Faces beyond `faces` lose theirs. Numbers out of range become the nearest ones in range.
    ///
    /// # Errors
    /// [`MediaError`] for texts that cannot be cut without changing their meaning.
    pub fn changed(
        former: Option<&Self>,
        mut faces: Vec<Option<MediaEntry>>,
        editor: AgentId,
    ) -> Result<Self, MediaError> {
        faces.iter_mut().for_each(|face| *face = face.take().map(MediaEntry::clamped));
        // A client drops the media of faces that the answer has without entries, and keeps those of faces beyond.
        let n_before = former.map_or(0, |former| former.faces.len());
        faces.resize_with(faces.len().max(n_before), || None);
        let version = former.map_or(0, |former| former.version).wrapping_add(1).max(1);
        let media = Self { version, editor, faces };
        media.check()?;
        Ok(media)
    }

    /// The media after a visit to another address on one face.
    ///
    /// # Errors
    /// [`MediaError`]; nothing changes then.
    pub fn navigated(&self, face: u8, address: String, editor: AgentId) -> Result<Self, MediaError> {
        let entry = self.face(face).ok_or(MediaError::NoMedia(face))?;
        check_address(&address)?;
        if !entry.allows(&address) {
            return Err(MediaError::Forbidden);
        }
        let entry = MediaEntry { current: address, ..entry.clone() };
        let mut faces = self.faces.clone();
        faces[usize::from(face)] = Some(entry);
        Self::changed(Some(self), faces, editor)
    }

    /// Media of a face.
    #[must_use]
    pub fn face(&self, face: u8) -> Option<&MediaEntry> {
        self.faces.get(usize::from(face))?.as_ref()
    }

    /// Faces with media, a bit for each.
    #[must_use]
    pub fn marks(&self) -> u64 {
        let faces = self.faces.iter().zip(0..u64::BITS).filter(|(entry, _)| entry.is_some());
        faces.fold(0, |marks, (_, face)| marks | 1 << face)
    }

    /// `MediaURL` in messages: version and editor. Clients compare the version.
    #[must_use]
    pub fn address(&self) -> String {
        format!("x-mv:{:010}/{}", self.version, self.editor.0)
    }

    /// Checks lengths and numbers.
    ///
    /// # Errors
    /// [`MediaError`].
    pub fn check(&self) -> Result<(), MediaError> {
        if self.faces.len() > FACES_MAX as usize {
            return Err(MediaError::Faces(self.faces.len()));
        }
        let entries = || self.faces.iter().flatten();
        entries().try_for_each(MediaEntry::check)?;
        let text_len: usize = entries().map(MediaEntry::text_len).sum();
        if text_len > MEDIA_TEXT_MAX { Err(MediaError::Text(text_len)) } else { Ok(()) }
    }
}

/// True if an address is one of a pattern's. A pattern without a scheme stands for all schemes, one without a path for all paths; capitals do not
/// count.
fn fits(pattern: &str, address: &str) -> bool {
    let (pattern, address) = (pattern.trim().to_lowercase(), address.to_lowercase());
    let address = match (pattern.contains("://"), address.split_once("://")) {
        (false, Some((_, behind))) => behind,
        _ => address.as_str(),
    };
    let host_at = address.find("://").map_or(0, |at| at + 3);
    let host_end = address[host_at..].find(['/', '?', '#']).map_or(address.len(), |at| host_at + at);
    let pattern_host_at = pattern.find("://").map_or(0, |at| at + 3);
    let has_path = pattern[pattern_host_at..].contains('/');
    let tail = if has_path { address } else { &address[..host_end] };
    matches_wildcards(pattern.as_bytes(), tail.as_bytes())
}

/// True if a text is a pattern's, in which `*` stands for any bytes. Steps back to the last `*` only, which suffices.
fn matches_wildcards(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut text_at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while text_at < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, text_at));
            at += 1;
        } else if pattern.get(at) == text.get(text_at) {
            at += 1;
            text_at += 1;
        } else if let Some((star_at, begun_at)) = star {
            star = Some((star_at, begun_at + 1));
            (at, text_at) = (star_at + 1, begun_at + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use proptest::prelude::*;

    const ANN: AgentId = AgentId(Uuid::from_u128(0xA));
    const BOB: AgentId = AgentId(Uuid::from_u128(0xB));

    fn page(address: &str) -> MediaEntry {
        MediaEntry { home: address.into(), current: address.into(), ..MediaEntry::default() }
    }

    #[test]
    fn each_change_has_a_version_of_its_own_in_the_address() {
        let one = Media::changed(None, vec![None, Some(page("http://a.org/"))], ANN).unwrap();
        assert_eq!(one.address(), "x-mv:0000000001/00000000-0000-0000-0000-00000000000a");
        let two = one.navigated(1, "http://a.org/next".into(), BOB).unwrap();
        assert_eq!(two.address(), "x-mv:0000000002/00000000-0000-0000-0000-00000000000b");
        assert_eq!(two.face(1).unwrap().current, "http://a.org/next");
        assert_eq!(two.face(1).unwrap().home, "http://a.org/");
        assert_eq!((one.marks(), two.marks()), (2, 2));
    }

    #[test]
    fn a_face_that_loses_its_media_stays_in_the_list_without_entry() {
        let one = Media::changed(None, vec![None, Some(page("http://a.org/"))], ANN).unwrap();
        let none = Media::changed(Some(&one), Vec::new(), ANN).unwrap();
        assert_eq!((none.faces, none.version), (vec![None, None], 2));
    }

    #[test]
    fn addresses_that_a_face_does_not_allow_are_refused() {
        let limited = |pattern: &str| MediaEntry {
            is_limited: true,
            allowed: vec![pattern.into()],
            ..page("http://a.org/")
        };
        for (pattern, address, is_allowed) in [
            ("a.org", "https://a.org/any/page?x", true),
            ("a.org", "https://b.a.org/", false),
            ("*.org", "http://b.A.org/x", true),
            ("http://a.org/x/*", "http://a.org/x/y", true),
            ("http://a.org/x/*", "https://a.org/x/y", false),
            ("a.org/x*", "http://a.org/xyz", true),
            ("a.org/x*", "http://a.org/y", false),
            ("*", "ftp://any.where", true),
            ("", "http://a.org/", false),
        ] {
            assert_eq!(limited(pattern).allows(address), is_allowed, "{pattern} {address}");
        }
        let media = Media::changed(None, vec![Some(limited("a.org"))], ANN).unwrap();
        assert_eq!(media.navigated(0, "http://b.org/".into(), BOB), Err(MediaError::Forbidden));
        assert_eq!(media.navigated(1, "http://a.org/".into(), BOB), Err(MediaError::NoMedia(1)));
        let free = Media::changed(None, vec![Some(page(""))], ANN).unwrap();
        assert!(free.navigated(0, "http://b.org/".into(), BOB).is_ok());
    }

    #[test]
    fn bounds_are_kept() {
        let changed = |entry: MediaEntry| Media::changed(None, vec![Some(entry)], ANN);
        assert_eq!(changed(page(&"a".repeat(1_025))), Err(MediaError::Address(1_025)));
        assert_eq!(changed(page("a\nb")), Err(MediaError::Control));
        let patterns = MediaEntry { allowed: vec![String::new(); 65], ..MediaEntry::default() };
        assert_eq!(changed(patterns), Err(MediaError::Patterns(65)));
        assert_eq!(Media::changed(None, vec![None; 46], ANN), Err(MediaError::Faces(46)));
        let long = vec![Some(page(&"a".repeat(1_000))); 5];
        assert_eq!(Media::changed(None, long, ANN), Err(MediaError::Text(10_000)));
        let wide = MediaEntry { width_px: 9_000, controls: 7, interact: MediaUsers(0xFF), ..page("") };
        let cut = changed(wide).unwrap();
        let cut = cut.face(0).unwrap();
        assert_eq!((cut.width_px, cut.controls, cut.interact), (2_048, 1, MediaUsers::ALL));
    }

    proptest! {
        #[test]
        fn a_text_is_always_one_of_itself_with_stars(text in "[a-c]{0,12}", from in 0_usize..12, to in 0_usize..12) {
            let (from, to) = (from.min(text.len()), to.min(text.len()));
            let (from, to) = (from.min(to), from.max(to));
            let pattern = format!("{}*{}", &text[..from], &text[to..]);
            prop_assert!(matches_wildcards(pattern.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn any_patterns_are_matched_without_panic(pattern in ".{0,30}", address in ".{0,30}") {
            let _ = fits(&pattern, &address);
        }
    }
}
