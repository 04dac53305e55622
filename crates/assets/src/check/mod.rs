//! Validation of assets on arrival: the bytes of an upload are an asset of their kind, within limits that viewers can bear.
//!
//! Each check is total: any bytes are taken or refused with a reason for the user, in time and memory bounded by their length. No check decodes pixels, samples,
//! triangles or scripts, and none changes bytes: what is stored is what arrived. Start with [`check_asset`].

mod animation;
mod cursor;
mod embedded;
mod gesture;
mod j2c;
mod landmark;
mod lines;
mod llsd;
mod mesh;
mod notecard;
mod object;
mod ogg;
mod text;
mod wearable;

pub use embedded::{EmbeddedItem, read_embedded_items};
pub use landmark::{Landmark, landmark_text, read_landmark};

use crate::kind::{AssetKind, SizeLimits};
use wire::Malformed;

/// Reason to refuse bytes as an asset of their kind. The message is for the user that uploads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// There are no bytes.
    #[error("the {kind} is empty")]
    Empty {
        /// Kind of the asset.
        kind: AssetKind,
    },
    /// There are more bytes than the configured limit.
    #[error("the {kind} has {bytes} bytes, at most {bytes_max} are taken")]
    TooLarge {
        /// Kind of the asset.
        kind: AssetKind,
        /// Its bytes.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The bytes have another form than those of the kind.
    #[error("the {kind} is not {expected}")]
    OtherForm {
        /// Kind of the asset.
        kind: AssetKind,
        /// Form of such assets, with its article.
        expected: &'static str,
    },
    /// The bytes end early.
    #[error("the {kind} ends within its {part}")]
    Truncated {
        /// Kind of the asset.
        kind: AssetKind,
        /// The part that is cut.
        part: &'static str,
    },
    /// A part is absent that each asset of the kind has.
    #[error("no {part} in the {kind}")]
    Missing {
        /// Kind of the asset.
        kind: AssetKind,
        /// The absent part.
        part: &'static str,
    },
    /// A field has a value that it cannot have.
    #[error("invalid {field} in the {kind}")]
    Invalid {
        /// Kind of the asset.
        kind: AssetKind,
        /// Name of the field.
        field: &'static str,
    },
    /// There are more items of a sort than are taken.
    #[error("the {kind} has {count} {items}, at most {count_max} are taken")]
    TooMany {
        /// Kind of the asset.
        kind: AssetKind,
        /// Name of the items, in the plural.
        items: &'static str,
        /// Their number.
        count: u32,
        /// The limit.
        count_max: u32,
    },
    /// It plays for longer than is taken.
    #[error("the {kind} lasts {seconds} s, at most {seconds_max} s are taken")]
    TooLong {
        /// Kind of the asset.
        kind: AssetKind,
        /// Its duration, rounded up.
        seconds: u64,
        /// The limit.
        seconds_max: u64,
    },
    /// A texture has more pixels than are taken.
    #[error("the texture has {width} x {height} pixels, at most {max} x {max} are taken", max = j2c::PIXELS_MAX)]
    Pixels {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// Its LLSD cannot be decoded.
    #[error("invalid LLSD in the {kind} ({reason})")]
    Llsd {
        /// Kind of the asset.
        kind: AssetKind,
        /// The decoder's reason.
        reason: Malformed,
    },
}

/// Checks that bytes are an asset of their kind.
///
/// # Errors
/// [`Unfit`] with the reason for the user.
pub fn check_asset(kind: AssetKind, bytes: &[u8], limits: &SizeLimits) -> Result<(), Unfit> {
    let bytes_max = limits.bytes_max(kind);
    if bytes.is_empty() {
        return Err(Unfit::Empty { kind });
    }
    if bytes.len() > bytes_max {
        return Err(Unfit::TooLarge { kind, bytes: bytes.len(), bytes_max });
    }
    match kind {
        AssetKind::Texture => j2c::check(bytes),
        AssetKind::Sound => ogg::check(bytes),
        AssetKind::CallingCard => text::check_calling_card(bytes),
        AssetKind::Landmark => text::check_landmark(bytes),
        AssetKind::Clothing | AssetKind::BodyPart => wearable::check(kind, bytes),
        AssetKind::Object => object::check(bytes),
        AssetKind::Notecard => notecard::check(bytes),
        AssetKind::Script => text::check_script(bytes),
        AssetKind::Animation => animation::check(bytes),
        AssetKind::Gesture => gesture::check(bytes),
        AssetKind::Mesh => mesh::check(bytes),
        AssetKind::Settings => llsd::check_settings(bytes),
        AssetKind::Material => llsd::check_material(bytes),
    }
}

/// Asserts that a check takes a sample as a whole, and refuses it cut at any place.
#[cfg(test)]
fn assert_whole_only(sample: &[u8], check: impl Fn(&[u8]) -> Result<(), Unfit>) {
    assert_eq!(check(sample), Ok(()));
    for length in 0..sample.len() {
        assert!(check(&sample[..length]).is_err(), "cut at {length}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_and_large_assets_are_refused_before_their_form_is_read() {
        for kind in AssetKind::all() {
            let limits = SizeLimits::default().with(kind, 3);
            assert_eq!(check_asset(kind, b"", &limits), Err(Unfit::Empty { kind }));
            let large = Err(Unfit::TooLarge { kind, bytes: 4, bytes_max: 3 });
            assert_eq!(check_asset(kind, b"abcd", &limits), large);
        }
    }

    #[test]
    fn bytes_of_another_kind_are_refused() {
        // A script may be any text.
        for kind in AssetKind::all().filter(|kind| *kind != AssetKind::Script) {
            let refused = check_asset(kind, b"default { state_entry() {} }", &SizeLimits::default());
            assert!(refused.is_err(), "{kind}");
        }
    }

    #[test]
    fn messages_name_the_kind_and_the_reason() {
        let kind = AssetKind::Animation;
        for (unfit, message) in [
            (Unfit::Empty { kind }, "the animation is empty"),
            (
                Unfit::Pixels { width: 70_000, height: 3 },
                "the texture has 70000 x 3 pixels, at most 4096 x 4096 are taken",
            ),
            (
                Unfit::TooMany { kind, items: "joints", count: 300, count_max: 216 },
                "the animation has 300 joints, at most 216 are taken",
            ),
            (
                Unfit::TooLong { kind, seconds: 61, seconds_max: 60 },
                "the animation lasts 61 s, at most 60 s are taken",
            ),
            (Unfit::Truncated { kind, part: "joints" }, "the animation ends within its joints"),
            (
                Unfit::Llsd { kind: AssetKind::Mesh, reason: Malformed::Depth },
                "invalid LLSD in the mesh (depth)",
            ),
        ] {
            assert_eq!(unfit.to_string(), message);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_checked_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for kind in AssetKind::all() {
                let _ = check_asset(kind, &bytes, &SizeLimits::default());
            }
        }
    }
}
