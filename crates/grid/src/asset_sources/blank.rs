//! Content of items that clients make without one: a notecard without text, a script that greets, settings as the regions have them. A gesture has none, since viewers
//! begin one of their own then, and so have calling cards and materials.

use crate::capability::blank_settings;
use assets::AssetKind;
use bytes::Bytes;
use uuid::{Uuid, uuid};
use wire::llsd::xml;

/// A notecard without text.
pub const BLANK_NOTECARD: Uuid = uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0030");
/// The script with which scripts begin.
pub const FIRST_SCRIPT: Uuid = uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0031");
/// Settings by their subtype: sky, water, day.
const BLANK_SETTINGS: [Uuid; 3] = [
    uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0032"),
    uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0033"),
    uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0034"),
];

const NOTECARD: &str =
    "Linden text version 2\n{\nLLEmbeddedItems version 1\n{\ncount 0\n}\nText length 0\n}\n";

const SCRIPT: &str = "// A new script: it greets once it starts, and each avatar that touches the object.\n\
default\n\
{\n    state_entry()\n    {\n        llSay(0, \"Hello, Avatar!\");\n    }\n\n    \
touch_start(integer touches)\n    {\n        llSay(0, \"Hello, \" + llDetectedName(0) + \"!\");\n    }\n}\n";

/// The content of a new item of a kind; nil for none. Settings have a subtype.
#[must_use]
pub fn blank_content(kind: AssetKind, subtype: u8) -> Uuid {
    match kind {
        AssetKind::Notecard => BLANK_NOTECARD,
        AssetKind::Script => FIRST_SCRIPT,
        AssetKind::Settings => BLANK_SETTINGS.get(usize::from(subtype)).copied().unwrap_or(Uuid::nil()),
        _ => Uuid::nil(),
    }
}

/// All of them.
pub(super) fn blanks() -> impl Iterator<Item = (Uuid, AssetKind, Bytes)> {
    let texts = [
        (BLANK_NOTECARD, AssetKind::Notecard, Bytes::from_static(NOTECARD.as_bytes())),
        (FIRST_SCRIPT, AssetKind::Script, Bytes::from_static(SCRIPT.as_bytes())),
    ];
    let settings = BLANK_SETTINGS.into_iter().zip(0..).map(|(id, subtype)| {
        let settings = blank_settings(subtype).expect("settings have three kinds");
        (id, AssetKind::Settings, Bytes::from(xml::encode(&settings)))
    });
    texts.into_iter().chain(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_items_of_these_kinds_begin_with_content_of_their_kind() {
        for (kind, subtype) in [
            (AssetKind::Notecard, 0),
            (AssetKind::Script, 0),
            (AssetKind::Settings, 0),
            (AssetKind::Settings, 1),
            (AssetKind::Settings, 2),
        ] {
            let id = blank_content(kind, subtype);
            let (_, found, bytes) = blanks().find(|(blank, ..)| *blank == id).expect("it has content");
            assert_eq!(found, kind);
            assert_eq!(assets::check_asset(kind, &bytes, &assets::SizeLimits::default()), Ok(()), "{kind}");
        }
        for (kind, subtype) in [(AssetKind::Settings, 3), (AssetKind::Gesture, 0), (AssetKind::Texture, 0)] {
            assert!(blank_content(kind, subtype).is_nil(), "{kind}");
        }
    }

    #[test]
    fn each_of_the_settings_is_of_its_own_type() {
        let types = [0, 1, 2].map(|subtype| blank_settings(subtype).unwrap().get("type").clone());
        assert_eq!(types, ["sky", "water", "daycycle"].map(wire::llsd::Llsd::from));
        assert_eq!(blank_settings(3), None);
    }
}
