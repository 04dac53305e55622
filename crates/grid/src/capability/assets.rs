//! ViewerAsset and GetTexture: bytes by id.
//!
//! The server holds the four body parts that every account begins with, the textures of avatars without clients, those of the ground and
//! of boxes, and for a while the textures that clients bake ([`super::HeldTextures`]). All but the last are of our own making: body parts in the text form of
//! wearables, with the fewest parameters, since an absent parameter has the viewer's default; textures as plain colours, by
//! `body/colours.py`, and as noise, by `body/ground.py` and `body/plywood.py`. Skin, hair and eyes name [`AVATAR_TEXTURE`] for each of their faces: clients read
//! it as "no texture, the colour of the parameters". A client of libopenmetaverse (Radegast) applies that colour to named faces only, and bakes a black body without them.

use super::HeldTextures;
use crate::inventory::{AssetType, WearableType};
use std::borrow::Cow;
use uuid::{Uuid, uuid};
use wire::texture_entry::AVATAR_TEXTURE;

/// A body part that every account begins with.
#[derive(Debug)]
pub struct BodyPart {
    /// Id of the asset.
    pub asset: Uuid,
    /// Name of the item.
    pub name: &'static str,
    /// Kind: [`WearableType`].
    pub wearable: u8,
    /// The asset itself.
    pub text: &'static str,
}

/// Shape, skin, hair and eyes: without all four a viewer shows a cloud.
pub const BODY_PARTS: [BodyPart; 4] = [
    BodyPart {
        asset: uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0010"),
        name: "Throng Shape",
        wearable: WearableType::SHAPE,
        text: include_str!("body/shape.txt"),
    },
    BodyPart {
        asset: uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0011"),
        name: "Throng Skin",
        wearable: WearableType::SKIN,
        text: include_str!("body/skin.txt"),
    },
    BodyPart {
        asset: uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0012"),
        name: "Throng Hair",
        wearable: WearableType::HAIR,
        text: include_str!("body/hair.txt"),
    },
    BodyPart {
        asset: uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0013"),
        name: "Throng Eyes",
        wearable: WearableType::EYES,
        text: include_str!("body/eyes.txt"),
    },
];

/// Textures one behind the other, each behind its length as u16. Their numbers are the low halves of their ids
/// ([`ids::COLOUR_TEXTURES`]).
const COLOURS: &[u8] = include_bytes!("body/colours.j2cs");
/// The textures of the ground ([`ids::GROUND_TEXTURES`]).
const GROUND: &[u8] = include_bytes!("body/ground.j2cs");

/// The texture of boxes: the id that viewers know as plywood, and a picture of our own.
const PLYWOOD: &[u8] = include_bytes!("body/plywood.j2c");

/// Number of the plain colour behind [`AVATAR_TEXTURE`], an off-white.
const BARE: u64 = 8;

/// Answer over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetReply {
    /// 200, 206 for a part, 404 for an unknown asset, 416 for a part that is not there.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// `Content-Range`, for 206 and 416.
    pub content_range: Option<String>,
    /// The body; empty unless the status is 200 or 206.
    pub body: Cow<'static, [u8]>,
}

/// Answers a GET. `query` is the part of the URL behind `?`, one of `bodypart_id=…`, `texture_id=…` and so on;
/// `range` is the `Range` header.
#[must_use]
pub fn viewer_asset(held: &HeldTextures, query: &str, range: Option<&str>) -> AssetReply {
    let Some((bytes, content_type)) = asked(held, query) else {
        return AssetReply {
            status: 404,
            content_type: "text/plain",
            content_range: None,
            body: Cow::default(),
        };
    };
    match range.and_then(|range| parse_range(range, bytes.len())) {
        None => AssetReply { status: 200, content_type, content_range: None, body: bytes },
        Some(Err(Unsatisfiable)) => AssetReply {
            status: 416,
            content_type,
            content_range: Some(format!("bytes */{}", bytes.len())),
            body: Cow::default(),
        },
        Some(Ok((first, last))) => AssetReply {
            status: 206,
            content_type,
            content_range: Some(format!("bytes {first}-{last}/{}", bytes.len())),
            body: match bytes {
                Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[first..=last]),
                Cow::Owned(bytes) => Cow::Owned(bytes[first..=last].to_vec()),
            },
        },
    }
}

/// The asset named by the query, and its type. The kind in the key must be the asset's: otherwise one kind could be read as another.
fn asked(held: &HeldTextures, query: &str) -> Option<(Cow<'static, [u8]>, &'static str)> {
    let is_kind = |key: &str| matches!(key, "bodypart_id" | "texture_id");
    let (key, id) = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| is_kind(key))?;
    let id = Uuid::try_parse(&id).ok()?;
    if key == "texture_id" {
        return Some((texture(held, id)?, "image/x-j2c"));
    }
    let part = BODY_PARTS.iter().find(|part| part.asset == id)?;
    Some((part.text.as_bytes().into(), "application/vnd.ll.bodypart"))
}

/// The content of an asset, if it is held and of this type ([`AssetType`]).
#[must_use]
pub fn stored_asset(held: &HeldTextures, id: Uuid, asset_type: i8) -> Option<Cow<'static, [u8]>> {
    match asset_type {
        AssetType::BODY_PART => {
            BODY_PARTS.iter().find(|part| part.asset == id).map(|part| part.text.as_bytes().into())
        }
        AssetType::TEXTURE => texture(held, id),
        _ => None,
    }
}

/// A texture that the server holds, as a JPEG 2000 codestream.
fn texture(held: &HeldTextures, id: Uuid) -> Option<Cow<'static, [u8]>> {
    let own = own_texture(id).map(Cow::Borrowed);
    own.or_else(|| held.get(id).map(|texture| Cow::Owned(texture.to_vec())))
}

/// A texture of the server's own.
fn own_texture(id: Uuid) -> Option<&'static [u8]> {
    if id == ids::PLYWOOD_TEXTURE {
        return Some(PLYWOOD);
    }
    if id == AVATAR_TEXTURE {
        return codestream(COLOURS, BARE);
    }
    let (space, number) = id.as_u64_pair();
    match space {
        ids::COLOUR_TEXTURES => codestream(COLOURS, number),
        ids::GROUND_TEXTURES => codestream(GROUND, number),
        _ => None,
    }
}

/// The texture with a number among several, each behind its length.
fn codestream(all: &'static [u8], number: u64) -> Option<&'static [u8]> {
    let mut rest = all;
    for n in 0.. {
        let (length, behind) = rest.split_first_chunk()?;
        let (texture, behind) = behind.split_at_checked(u16::from_le_bytes(*length).into())?;
        if n == number {
            return Some(texture);
        }
        rest = behind;
    }
    None
}

/// The part asked for lies behind the end.
#[derive(Debug, PartialEq, Eq)]
struct Unsatisfiable;

/// First and last byte of a `Range` header. `None` for headers to be ignored: several parts, other units, nonsense (RFC 9110 §14.2).
fn parse_range(header: &str, length: usize) -> Option<Result<(usize, usize), Unsatisfiable>> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let end = length - 1;
    if first.is_empty() {
        let suffix: usize = last.parse().ok()?;
        return Some(if suffix == 0 { Err(Unsatisfiable) } else { Ok((length.saturating_sub(suffix), end)) });
    }
    let first: usize = first.parse().ok()?;
    let last = if last.is_empty() { end } else { last.parse::<usize>().ok()?.min(end) };
    if first > end {
        return Some(Err(Unsatisfiable));
    }
    // A range that ends before it begins is nonsense.
    (first <= last).then_some(Ok((first, last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn viewer_asset(query: &str, range: Option<&str>) -> AssetReply {
        super::viewer_asset(&HeldTextures::default(), query, range)
    }

    fn shape(range: Option<&str>) -> AssetReply {
        viewer_asset(&format!("bodypart_id={}", BODY_PARTS[0].asset), range)
    }

    #[test]
    fn assets_of_the_server_are_served() {
        let reply = shape(None);
        assert_eq!((reply.status, &*reply.body), (200, BODY_PARTS[0].text.as_bytes()));
    }

    #[test]
    fn unknown_assets_are_not_found() {
        for query in [
            "",
            "texture_id=3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0010",
            "bodypart_id=nonsense",
            "bodypart_id=00000000-0000-0000-0000-000000000000",
        ] {
            assert_eq!(viewer_asset(query, None).status, 404, "{query}");
        }
    }

    #[test]
    fn an_asset_is_found_by_its_id_and_only_as_its_own_type() {
        let (part, texture) = (BODY_PARTS[0].asset, Uuid::from_u64_pair(ids::COLOUR_TEXTURES, 0));
        let bakes = HeldTextures::default();
        let stored = |id, kind| stored_asset(&bakes, id, kind);
        assert_eq!(stored(part, AssetType::BODY_PART).as_deref(), Some(BODY_PARTS[0].text.as_bytes()));
        assert!(stored(texture, AssetType::TEXTURE).is_some());
        assert_eq!(stored(part, AssetType::TEXTURE), None);
        assert_eq!(stored(texture, AssetType::BODY_PART), None);
    }

    #[test]
    fn textures_of_people_without_clients_are_served() {
        let texture = |number| {
            let id = Uuid::from_u64_pair(ids::COLOUR_TEXTURES, number);
            viewer_asset(&format!("texture_id={id}"), None)
        };
        let mut seen = BTreeSet::new();
        for number in 0..40 {
            let reply = texture(number);
            assert_eq!((reply.status, reply.content_type), (200, "image/x-j2c"), "{number}");
            // A codestream's first marker with the one for its size, and the last one.
            assert!(reply.body.starts_with(&[0xff, 0x4f, 0xff, 0x51]) && reply.body.ends_with(&[0xff, 0xd9]));
            assert!(seen.insert(reply.body), "{number} is another's colour");
        }
        assert_eq!(texture(40).status, 404);
        let bare = viewer_asset(&format!("texture_id={AVATAR_TEXTURE}"), None);
        assert_eq!((bare.status, bare.body), (200, texture(BARE).body), "the texture of bare skin");
        let id = Uuid::from_u64_pair(ids::COLOUR_TEXTURES, 0);
        assert_eq!(viewer_asset(&format!("bodypart_id={id}"), None).status, 404, "it is a texture");
        assert_eq!(viewer_asset(&format!("texture_id={}", BODY_PARTS[0].asset), None).status, 404);
    }

    #[test]
    fn textures_of_ground_and_boxes_are_images_that_another_decoder_reads() {
        let mut seen = BTreeSet::new();
        let ground = (0..4).map(|number| Uuid::from_u64_pair(ids::GROUND_TEXTURES, number));
        for id in ground.chain([ids::PLYWOOD_TEXTURE]) {
            let reply = viewer_asset(&format!("texture_id={id}"), None);
            assert_eq!((reply.status, reply.content_type), (200, "image/x-j2c"), "{id}");
            let image = hayro_jpeg2000::Image::new(&reply.body, &hayro_jpeg2000::DecodeSettings::default());
            let image = image.expect("a codestream");
            assert_eq!((image.width(), image.height()), (256, 256));
            let mut context = hayro_jpeg2000::DecoderContext::default();
            let pixels = image.decode(&mut context).expect("a whole image").data_u8();
            assert_eq!(pixels.len(), 256 * 256 * 3);
            let mean =
                |channel| pixels.iter().skip(channel).step_by(3).map(|&at| u64::from(at)).sum::<u64>() >> 16;
            assert!(seen.insert([0, 1, 2].map(mean)), "{id} looks like another one");
        }
        let next = Uuid::from_u64_pair(ids::GROUND_TEXTURES, 4);
        assert_eq!(viewer_asset(&format!("texture_id={next}"), None).status, 404);
    }

    #[test]
    fn a_baked_texture_is_served_whole_and_in_parts() {
        let bakes = HeldTextures::default();
        let bytes = [&[0xff, 0x4f, 0xff, 0x51][..], &[7; 96]].concat();
        let id = bakes.keep_texture(ids::AgentId(Uuid::from_u128(1)), &bytes).expect("a codestream");
        let query = format!("texture_id={id}");
        assert_eq!(*super::viewer_asset(&bakes, &query, None).body, bytes[..]);
        assert_eq!(*super::viewer_asset(&bakes, &query, Some("bytes=2-3")).body, bytes[2..4]);
    }

    #[test]
    fn parts_are_served_as_asked() {
        let all = BODY_PARTS[0].text.as_bytes();
        let length = all.len();
        let reply = shape(Some("bytes=0-9"));
        assert_eq!((reply.status, &*reply.body), (206, &all[..10]));
        assert_eq!(reply.content_range, Some(format!("bytes 0-9/{length}")));
        assert_eq!(*shape(Some("bytes=5-")).body, all[5..]);
        assert_eq!(*shape(Some("bytes=-4")).body, all[length - 4..]);
        assert_eq!(*shape(Some("bytes=0-999999")).body, *all, "viewers ask for more than there is");
        let behind = shape(Some("bytes=100000-"));
        assert_eq!((behind.status, behind.content_range), (416, Some(format!("bytes */{length}"))));
        for ignored in ["bytes=0-1,3-4", "lines=0-9", "bytes=9-3", "bytes=x-"] {
            assert_eq!(shape(Some(ignored)).status, 200, "{ignored}");
        }
    }

    proptest! {
        #[test]
        fn no_range_reaches_outside(header in "bytes=[0-9]{0,22}-[0-9]{0,22}", length in 1_usize..1_000) {
            if let Some(Ok((first, last))) = parse_range(&header, length) {
                prop_assert!(first <= last && last < length);
            }
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
