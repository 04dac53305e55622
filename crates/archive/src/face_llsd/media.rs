//! Media of a face: the map of an entry.

use prim::{MEDIA_PATTERNS_MAX, MediaEntry, MediaUsers};
use wire::llsd::Llsd;

/// The table of an entry: keys of the map, and the fields that they stand for.
fn fields(entry: &mut MediaEntry) -> [(&'static str, &mut dyn MediaField); 15] {
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
    [
        ("home_url", home),
        ("current_url", current),
        ("alt_image_enable", has_still),
        ("auto_loop", loops),
        ("auto_play", plays),
        ("auto_scale", scales),
        ("auto_zoom", zooms),
        ("first_click_interact", first_click_counts),
        ("controls", controls),
        ("width_pixels", width_px),
        ("height_pixels", height_px),
        ("whitelist_enable", is_limited),
        ("whitelist", allowed),
        ("perms_interact", interact),
        ("perms_control", control),
    ]
}

/// The media of all faces: a map for each face that has some, undefined for the others.
#[must_use]
pub fn media_llsd(faces: &[Option<MediaEntry>]) -> Llsd {
    Llsd::Array(faces.iter().cloned().map(|entry| entry.map_or(Llsd::Undef, entry_llsd)).collect())
}

fn entry_llsd(mut entry: MediaEntry) -> Llsd {
    Llsd::map(fields(&mut entry).map(|(key, field)| (key, field.take())))
}

/// An entry from its map, and the first key with a value of another kind. That field, like an absent one, has its default; a list keeps its texts.
#[must_use]
pub fn read_media_entry(map: &Llsd) -> (MediaEntry, Option<&'static str>) {
    let mut entry = MediaEntry::default();
    let mut wrong = None;
    for (key, field) in fields(&mut entry) {
        let value = map.get(key);
        if !value.is_undef() && !field.read(value) {
            wrong = wrong.or(Some(key));
        }
    }
    (entry, wrong)
}

/// A field by the kind of its value.
trait MediaField {
    /// Takes the value; false if it is of another kind.
    fn read(&mut self, value: &Llsd) -> bool;

    /// The value, which may leave the field empty.
    fn take(&mut self) -> Llsd;
}

impl MediaField for bool {
    fn read(&mut self, value: &Llsd) -> bool {
        value.as_bool().map(|flag| *self = flag).is_some()
    }

    fn take(&mut self) -> Llsd {
        Llsd::Boolean(*self)
    }
}

impl MediaField for String {
    fn read(&mut self, value: &Llsd) -> bool {
        value.as_str().map(|text| text.clone_into(self)).is_some()
    }

    fn take(&mut self) -> Llsd {
        Llsd::String(std::mem::take(self))
    }
}

impl MediaField for u8 {
    fn read(&mut self, value: &Llsd) -> bool {
        value.as_i32().map(|code| *self = code.clamp(0, Self::MAX.into()) as Self).is_some()
    }

    fn take(&mut self) -> Llsd {
        Llsd::Integer((*self).into())
    }
}

impl MediaField for u16 {
    fn read(&mut self, value: &Llsd) -> bool {
        value.as_i32().map(|pixels| *self = pixels.clamp(0, Self::MAX.into()) as Self).is_some()
    }

    fn take(&mut self) -> Llsd {
        Llsd::Integer((*self).into())
    }
}

impl MediaField for MediaUsers {
    fn read(&mut self, value: &Llsd) -> bool {
        value.as_i32().map(|bits| *self = Self(bits as u8 & Self::ALL.0)).is_some()
    }

    fn take(&mut self) -> Llsd {
        Llsd::Integer(self.0.into())
    }
}

impl MediaField for Vec<String> {
    fn read(&mut self, value: &Llsd) -> bool {
        // One more than a face may have: the media are refused where they are judged.
        let patterns = value.as_array().iter().take(MEDIA_PATTERNS_MAX + 1);
        let n_patterns = patterns.len();
        *self = patterns.filter_map(|pattern| pattern.as_str().map(str::to_owned)).collect();
        matches!(value, Llsd::Array(_)) && self.len() == n_patterns
    }

    fn take(&mut self) -> Llsd {
        Llsd::array(std::mem::take(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry that differs from the default in each field.
    fn unlike_default() -> MediaEntry {
        MediaEntry {
            home: "http://a.org/".into(),
            current: "http://a.org/é".into(),
            has_still: true,
            loops: true,
            plays: true,
            scales: false,
            zooms: true,
            first_click_counts: true,
            controls: 1,
            width_px: 640,
            height_px: 480,
            is_limited: true,
            allowed: vec!["a.org".into(), "*.b.org".into()],
            interact: MediaUsers::OWNER,
            control: MediaUsers::GROUP,
        }
    }

    #[test]
    fn each_field_has_a_key_of_its_own() {
        let faces = [Some(unlike_default()), None, Some(MediaEntry::default())];
        let written = media_llsd(&faces);
        let [full, Llsd::Undef, plain] = written.as_array() else { panic!("{written:?}") };
        assert_eq!(read_media_entry(full), (unlike_default(), None));
        assert_eq!(read_media_entry(plain), (MediaEntry::default(), None));
        let (full, plain) = (full.as_map().unwrap(), plain.as_map().unwrap());
        assert_eq!((full.len(), plain.len()), (15, 15));
        full.iter().for_each(|(key, value)| assert_ne!(plain.get(key), Some(value), "{key}"));
    }

    #[test]
    fn a_wrong_value_is_named_and_leaves_the_other_fields_as_they_are() {
        let map = Llsd::map([
            ("auto_loop", Llsd::array([true])),
            ("auto_play", true.into()),
            ("whitelist", Llsd::Array(vec!["a.org".into(), 1.into()])),
            ("width_pixels", (-1).into()),
            ("height_pixels", 70_000.into()),
            ("perms_control", 0x101.into()),
            ("of_another_server", 7.into()),
        ]);
        let expected = MediaEntry {
            plays: true,
            allowed: vec!["a.org".into()],
            height_px: u16::MAX,
            control: MediaUsers::OWNER,
            ..MediaEntry::default()
        };
        assert_eq!(read_media_entry(&map), (expected, Some("auto_loop")));
        let list = Llsd::map([("whitelist", Llsd::from("a.org"))]);
        assert_eq!(read_media_entry(&list), (MediaEntry::default(), Some("whitelist")));
    }

    #[test]
    fn patterns_beyond_the_bound_are_not_copied() {
        let many = Llsd::array(vec!["a.org"; MEDIA_PATTERNS_MAX + 9]);
        let (entry, wrong) = read_media_entry(&Llsd::map([("whitelist", many)]));
        assert_eq!((entry.allowed.len(), wrong), (MEDIA_PATTERNS_MAX + 1, None));
    }
}
