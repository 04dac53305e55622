//! The server's own assets: the four body parts that every account begins with, the textures of avatars without clients, of the ground and of boxes, the content
//! of new items ([`super::blank`]), and that of the library ([`crate::library`]).
//!
//! All are of our own making: body parts in the text form of wearables, with the fewest parameters, since an absent parameter has the viewer's default; textures as
//! plain colours, by `body/colours.py`, and as noise, by `body/ground.py` and `body/plywood.py`. Skin, hair and eyes name [`AVATAR_TEXTURE`] for each of their faces:
//! clients read it as "no texture, the colour of the parameters". A client of libopenmetaverse (Radegast) applies that colour to named faces only, and bakes a black
//! body without them.

use super::blank::blanks;
use super::body::BODY_PARTS;
use super::codestreams::codestreams;
use crate::library::library_assets;
use assets::{Asset, AssetHash, AssetKind};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use uuid::Uuid;
use wire::texture_entry::{AVATAR_TEXTURE, BLANK_TEXTURE};

/// Textures one behind the other, each behind its length as u16. Their numbers are the low halves of their ids
/// ([`ids::COLOUR_TEXTURES`]).
const COLOURS: &[u8] = include_bytes!("body/colours.j2cs");
/// The textures of the ground ([`ids::GROUND_TEXTURES`]).
const GROUND: &[u8] = include_bytes!("body/ground.j2cs");

/// The texture of boxes: the id that viewers know as plywood, and a picture of our own.
const PLYWOOD: &[u8] = include_bytes!("body/plywood.j2c");

/// Number of the plain colour behind [`AVATAR_TEXTURE`] and [`BLANK_TEXTURE`], an off-white.
const BARE: usize = 8;

/// All of them by id.
static OWN: LazyLock<BTreeMap<Uuid, Asset>> = LazyLock::new(|| {
    let parts = BODY_PARTS.iter().map(|part| (part.asset, AssetKind::BodyPart, part.text.as_bytes()));
    let numbered = |space, all: &'static [u8]| {
        codestreams(all).zip(0..).map(move |(texture, number)| (Uuid::from_u64_pair(space, number), texture))
    };
    let bare = codestreams(COLOURS).nth(BARE).into_iter();
    let bare = bare.flat_map(|texture| [AVATAR_TEXTURE, BLANK_TEXTURE].map(|id| (id, texture)));
    let textures = numbered(ids::COLOUR_TEXTURES, COLOURS)
        .chain(numbered(ids::GROUND_TEXTURES, GROUND))
        .chain([(ids::PLYWOOD_TEXTURE, PLYWOOD)])
        .chain(bare);
    let textures = textures.map(|(id, texture)| (id, AssetKind::Texture, texture));
    let asset = |(id, kind, bytes): (Uuid, AssetKind, &'static [u8])| {
        let hash = AssetHash::of(bytes);
        (id, Asset { kind, hash, bytes: Bytes::from_static(bytes), is_temporary: false })
    };
    let made = blanks().chain(library_assets()).map(|(id, kind, bytes)| {
        let hash = AssetHash::of(&bytes);
        (id, Asset { kind, hash, bytes, is_temporary: false })
    });
    parts.chain(textures).map(asset).chain(made).collect()
});

/// Makes all of them, which takes some milliseconds, unless they are there.
pub(super) fn prepare() {
    LazyLock::force(&OWN);
}

/// An asset of the server's own.
pub(super) fn own_asset(id: Uuid) -> Option<Asset> {
    OWN.get(&id).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::WearableType;
    use std::collections::BTreeSet;

    fn texture(id: Uuid) -> Option<Bytes> {
        own_asset(id).filter(|asset| asset.kind == AssetKind::Texture).map(|asset| asset.bytes)
    }

    #[test]
    fn an_own_asset_is_found_with_its_kind_and_hash() {
        let part = &BODY_PARTS[0];
        let found = own_asset(part.asset).expect("a body part");
        assert_eq!((found.kind, &*found.bytes), (AssetKind::BodyPart, part.text.as_bytes()));
        assert_eq!(found.hash, AssetHash::of(part.text.as_bytes()));
        assert_eq!(texture(part.asset), None);
        assert_eq!(own_asset(Uuid::nil()), None);
    }

    #[test]
    fn textures_of_avatars_without_clients_differ() {
        let coloured = |number| texture(Uuid::from_u64_pair(ids::COLOUR_TEXTURES, number));
        let mut seen = BTreeSet::new();
        for number in 0..40 {
            let bytes = coloured(number).expect("a texture");
            // A codestream's first marker with the one for its size, and the last one.
            assert!(bytes.starts_with(&[0xff, 0x4f, 0xff, 0x51]) && bytes.ends_with(&[0xff, 0xd9]));
            assert!(seen.insert(bytes), "{number} is another's colour");
        }
        assert_eq!(coloured(40), None);
        assert_eq!(texture(AVATAR_TEXTURE), coloured(BARE as u64), "the texture of bare skin");
    }

    #[test]
    fn textures_of_ground_and_boxes_are_images_that_another_decoder_reads() {
        let mut seen = BTreeSet::new();
        let ground = (0..4).map(|number| Uuid::from_u64_pair(ids::GROUND_TEXTURES, number));
        for id in ground.chain([ids::PLYWOOD_TEXTURE]) {
            let bytes = texture(id).expect("a texture");
            let image = hayro_jpeg2000::Image::new(&bytes, &hayro_jpeg2000::DecodeSettings::default());
            let image = image.expect("a codestream");
            assert_eq!((image.width(), image.height()), (256, 256));
            let mut context = hayro_jpeg2000::DecoderContext::default();
            let pixels = image.decode(&mut context).expect("a whole image").data_u8();
            assert_eq!(pixels.len(), 256 * 256 * 3);
            let mean =
                |channel| pixels.iter().skip(channel).step_by(3).map(|&at| u64::from(at)).sum::<u64>() >> 16;
            assert!(seen.insert([0, 1, 2].map(mean)), "{id} looks like another one");
        }
        assert_eq!(texture(Uuid::from_u64_pair(ids::GROUND_TEXTURES, 4)), None);
    }

    #[test]
    fn own_assets_are_valid_of_their_kinds() {
        for (id, asset) in OWN.iter() {
            let checked = assets::check_asset(asset.kind, &asset.bytes, &assets::SizeLimits::default());
            assert_eq!(checked, Ok(()), "{id}");
        }
    }

    /// The grammar of the text form, as clients read it: header, name, blocks, type, then counted lists.
    #[test]
    fn every_body_part_is_a_well_formed_wearable() {
        let ids: BTreeSet<_> = BODY_PARTS.iter().map(|part| part.asset).collect();
        assert_eq!(ids.len(), BODY_PARTS.len());
        for part in &BODY_PARTS {
            let mut lines = part.text.lines();
            assert_eq!(lines.next(), Some("LLWearable version 22"));
            assert_eq!(lines.next(), Some(part.name));
            let mut lines = lines.skip_while(|line| !line.starts_with("type "));
            assert_eq!(lines.next(), Some(format!("type {}", part.wearable).as_str()));
            let count: usize = lines.next().unwrap().strip_prefix("parameters ").unwrap().parse().unwrap();
            for _ in 0..count {
                let (id, weight) = lines.next().unwrap().split_once(' ').unwrap();
                assert!(id.parse::<u16>().is_ok() && weight.parse::<f32>().is_ok(), "{id} {weight}");
            }
            // Faces of an avatar: the iris, hair, and the paint of head, upper and lower body.
            let faces: &[u8] = match part.wearable {
                WearableType::SKIN => &[0, 5, 6],
                WearableType::HAIR => &[4],
                WearableType::EYES => &[3],
                _ => &[],
            };
            assert_eq!(lines.next(), Some(format!("textures {}", faces.len()).as_str()));
            for face in faces {
                assert_eq!(lines.next(), Some(format!("{face} {AVATAR_TEXTURE}").as_str()), "{}", part.name);
            }
            assert_eq!(lines.next(), None);
        }
    }
}
