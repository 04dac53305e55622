//! Clothing and body parts: sliders of an avatar's appearance, and textures of its faces.
//!
//! ```text
//! LLWearable version 22
//! <name>
//! <description>              both may be empty
//! permissions 0              and its block in braces
//! sale_info 0                and its block in braces
//! type <wearable>
//! parameters <number>        for each: <parameter> <weight>
//! textures <number>          for each: <face> <uuid>
//! ```
//!
//! Blank lines between these are skipped, and so are lines behind the textures.

use super::Unfit;
use super::lines::{Lines, are_finite, is_uuid, value_of};
use crate::kind::AssetKind;

/// The newest version that viewers write.
const VERSION_MAX: u32 = 22;

/// A version that early viewers 2.0 have written, with the same form.
const VERSION_OF_BETA: u32 = 24;

/// Shape, skin, hair and eyes are body parts.
const BODY_PART_MAX: u32 = 3;

/// The highest number of a wearable: universal.
const TYPE_MAX: u32 = 16;

/// Limits of viewers.
const PARAMETERS_MAX: u32 = 1_000;
const TEXTURES_MAX: u32 = 100;

const VERSION: &str = "LLWearable version";

/// Checks a wearable, which is of the kind that its type belongs to.
pub(super) fn check(kind: AssetKind, bytes: &[u8]) -> Result<(), Unfit> {
    let mut lines = Lines::new(kind, bytes);
    let version = lines.number(VERSION)?;
    if version > VERSION_MAX && version != VERSION_OF_BETA {
        return Err(lines.invalid(VERSION));
    }
    lines.line("name")?;
    lines.line("description")?;
    let wearable = find_type(&mut lines)?;
    let is_of_kind = match kind {
        AssetKind::BodyPart => wearable <= BODY_PART_MAX,
        _ => wearable > BODY_PART_MAX && wearable <= TYPE_MAX,
    };
    if !is_of_kind {
        return Err(lines.invalid("type"));
    }
    for _ in 0..lines.count("parameters", PARAMETERS_MAX)? {
        let line = lines.populated("parameters")?;
        if !are_finite(line, 2) {
            return Err(lines.invalid("parameters"));
        }
    }
    for _ in 0..lines.count("textures", TEXTURES_MAX)? {
        let line = lines.populated("textures")?;
        let is_texture = line
            .split_once([' ', '\t'])
            .is_some_and(|(face, id)| face.parse::<u32>().is_ok() && is_uuid(id.trim()));
        if !is_texture {
            return Err(lines.invalid("textures"));
        }
    }
    Ok(())
}

/// Reads up to the type, over the blocks of permissions and sale.
fn find_type(lines: &mut Lines<'_>) -> Result<u32, Unfit> {
    let part = "type";
    loop {
        let line = lines.populated(part)?;
        if line == "{" {
            lines.skip_block("permissions")?;
        } else if let Some(value) = value_of(line, part) {
            return lines.parse(value, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_whole_only;
    use proptest::prelude::*;

    const SHIRT: &str = "LLWearable version 22
Shirt

\tpermissions 0
\t{
\t\tbase_mask\t7fffffff
\t}
\tsale_info\t0
\t{
\t\tsale_type\tnot
\t}
type 4
parameters 2
800 .89
803 -.5
textures 1
1 c228d1cf-4b5d-4ba8-84f4-899a0796aa97";

    fn check_shirt(bytes: &[u8]) -> Result<(), Unfit> {
        check(AssetKind::Clothing, bytes)
    }

    #[test]
    fn wearables_are_taken() {
        assert_whole_only(SHIRT.as_bytes(), check_shirt);
        assert_eq!(check_shirt(format!("{}\r\n\0", SHIRT.replace('\n', "\r\n")).as_bytes()), Ok(()));
        assert_eq!(check_shirt(SHIRT.replace("version 22", "version 24").as_bytes()), Ok(()));
        for part in [
            include_str!("../../../grid/src/asset_sources/body/shape.txt"),
            include_str!("../../../grid/src/asset_sources/body/skin.txt"),
            include_str!("../../../grid/src/asset_sources/body/hair.txt"),
            include_str!("../../../grid/src/asset_sources/body/eyes.txt"),
        ] {
            assert_eq!(check(AssetKind::BodyPart, part.as_bytes()), Ok(()));
            assert!(check_shirt(part.as_bytes()).is_err(), "a body part is no clothing");
        }
    }

    #[test]
    fn values_that_viewers_do_not_read_are_refused() {
        let kind = AssetKind::Clothing;
        for (found, replaced, field) in [
            ("version 22", "version 23", "LLWearable version"),
            ("type 4", "type 3", "type"),
            ("type 4", "type 17", "type"),
            ("type 4", "type -1", "type"),
            (".89", "nan", "parameters"),
            (".89", "", "parameters"),
            ("1 c228", "x c228", "textures"),
            ("1 c228", "1 228", "textures"),
        ] {
            let text = SHIRT.replace(found, replaced);
            assert_eq!(check_shirt(text.as_bytes()), Err(Unfit::Invalid { kind, field }), "{replaced}");
        }
        let body_part = check(AssetKind::BodyPart, SHIRT.as_bytes());
        assert_eq!(body_part, Err(Unfit::Invalid { kind: AssetKind::BodyPart, field: "type" }));
        let missing = Err(Unfit::Missing { kind, part: "textures" });
        assert_eq!(check_shirt(SHIRT.replace("textures", "faces").as_bytes()), missing);
    }

    #[test]
    fn lists_are_limited() {
        let kind = AssetKind::Clothing;
        for (found, items, count_max) in
            [("parameters 2", "parameters", 1_000), ("textures 1", "textures", 100)]
        {
            let text = SHIRT.replace(found, &format!("{items} 4294967295"));
            let refused = Unfit::TooMany { kind, items, count: u32::MAX, count_max };
            assert_eq!(check_shirt(text.as_bytes()), Err(refused));
        }
        let open = SHIRT.replace("\t}\n", "");
        assert_eq!(check_shirt(open.as_bytes()), Err(Unfit::Truncated { kind, part: "permissions" }));
    }

    proptest! {
        #[test]
        fn a_damaged_wearable_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = SHIRT.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = check_shirt(&bytes);
        }
    }
}
