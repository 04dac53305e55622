//! The list of the library's things. A number that is given once is never given again, see [`super`].

use super::objects::{Part, chair, document, door, sign, table};
use super::texts::{Movement, gesture, notecard, welcome_landmark};
use super::{house, textures};
use crate::asset_sources::body::BODY_PARTS;
use assets::AssetKind;
use bytes::Bytes;
use ids::{PLYWOOD_TEXTURE, Uuid};
use uuid::uuid;
use wire::texture_entry::BLANK_TEXTURE;

/// A thing of the library.
pub(super) struct Entry {
    /// Low half of the ids of its item and of its own asset.
    pub(super) number: u64,
    pub(super) kind: AssetKind,
    /// Name as shown.
    pub(super) name: &'static str,
    /// Description as shown.
    pub(super) description: &'static str,
    /// Kind of a wearable, 0 for other things.
    pub(super) subtype: u8,
    pub(super) content: Content,
}

/// Content of a thing.
pub(super) enum Content {
    /// Bytes that only the library has.
    Own(Bytes),
    /// An asset that the server has besides.
    Served(Uuid),
}

/// Kinds of wearables.
const SHIRT: u8 = 4;
const TROUSERS: u8 = 5;

/// Movements that viewers know.
const HELLO: Movement = Movement { name: "Hello", animation: uuid!("9b29cd61-c45b-5689-ded2-91756b8d76a9") };
const CLAP: Movement = Movement { name: "Clap", animation: uuid!("9b0c1c4e-8ac7-7969-1494-28c874c4f668") };
const BOW: Movement = Movement { name: "Bow", animation: uuid!("82e99230-c906-1403-4d9c-3889dd98daba") };
const NOD: Movement = Movement { name: "Nod", animation: uuid!("15dd911d-be82-2856-26db-27659b142875") };
const SHAKE: Movement = Movement { name: "Shake", animation: uuid!("5a977ed9-7f72-44e9-4c4c-6e913df8ae74") };
const SHRUG: Movement = Movement { name: "Shrug", animation: uuid!("70ea714f-3a97-d742-1b01-590a8fcd1db5") };

/// All of them.
pub(super) fn entries() -> Vec<Entry> {
    let made = textures().chain(body_parts()).chain(clothing()).chain(objects());
    let written = notecards().chain(scripts()).chain(gestures()).chain([landmark()]);
    made.chain(written).collect()
}

fn textures() -> impl Iterator<Item = Entry> {
    let texture = |number, name, description, content| Entry {
        number,
        kind: AssetKind::Texture,
        name,
        description,
        subtype: 0,
        content,
    };
    let ground = |n| Uuid::from_u64_pair(ids::GROUND_TEXTURES, n);
    let served = [
        (0x01, "Plain", "Nearly white, for faces with a colour", BLANK_TEXTURE),
        (0x02, "Plywood", "Light wood, the texture of new boxes", PLYWOOD_TEXTURE),
        (0x03, "Sand", "Ground", ground(0)),
        (0x04, "Grass", "Ground", ground(1)),
        (0x05, "Earth", "Ground", ground(2)),
        (0x06, "Rock", "Ground", ground(3)),
    ];
    let served = served
        .into_iter()
        .map(move |(number, name, description, id)| texture(number, name, description, Content::Served(id)));
    served.chain(textures::drawn().map(move |((number, name, description), bytes)| {
        texture(number, name, description, Content::Own(Bytes::from_static(bytes)))
    }))
}

/// Those that every account begins with.
fn body_parts() -> impl Iterator<Item = Entry> {
    (0x20..).zip(&BODY_PARTS).map(|(number, part)| Entry {
        number,
        kind: AssetKind::BodyPart,
        name: part.name,
        description: "As every account begins",
        subtype: part.wearable,
        content: Content::Served(part.asset),
    })
}

fn clothing() -> impl Iterator<Item = Entry> {
    let garment = |number, name, subtype, content: &'static str| Entry {
        subtype,
        ..text(number, AssetKind::Clothing, name, "Its colour can be changed", content)
    };
    [
        garment(0x30, "Shirt", SHIRT, include_str!("clothing/shirt.txt")),
        garment(0x31, "Trousers", TROUSERS, include_str!("clothing/trousers.txt")),
    ]
    .into_iter()
}

fn objects() -> impl Iterator<Item = Entry> {
    let object = |number, name, description, parts: Vec<Part>| {
        text(number, AssetKind::Object, name, description, document(number, parts))
    };
    [
        object(0x40, "House", "8 by 6 metres, with an opening for a door", house::parts()),
        object(0x41, "Chair", "An avatar sits on it facing forward", chair()),
        object(0x42, "Table", "1.4 by 0.8 metres", table()),
        object(0x43, "Sign", "With a text above it", sign()),
        object(0x44, "Door", "Half of a prim that turns about its edge", door()),
    ]
    .into_iter()
}

fn notecards() -> impl Iterator<Item = Entry> {
    let card = |number, name, description, content| {
        text(number, AssetKind::Notecard, name, description, notecard(content))
    };
    [
        card(0x50, "Welcome", "About the Library", include_str!("notecards/welcome.txt")),
        card(0x51, "Building hints", "For beginners", include_str!("notecards/building_hints.txt")),
        card(0x52, "Licence", "Of all that is in the Library", include_str!("notecards/licence.txt")),
    ]
    .into_iter()
}

fn scripts() -> impl Iterator<Item = Entry> {
    let script = |number, name, description, source: &'static str| {
        text(number, AssetKind::Script, name, description, source)
    };
    [
        script(0x60, "Greeter", "Greets avatars that come near", include_str!("scripts/greeter.lsl")),
        script(0x61, "Door", "Opens on touch, and closes", include_str!("scripts/door.lsl")),
        script(0x62, "Rotating sign", "Turns and shows texts", include_str!("scripts/rotating_sign.lsl")),
        script(0x63, "Visitor counter", "Counts avatars nearby", include_str!("scripts/visitor_counter.lsl")),
    ]
    .into_iter()
}

fn gestures() -> impl Iterator<Item = Entry> {
    let gesture = |number, name, trigger, says, movement| {
        text(number, AssetKind::Gesture, name, trigger, gesture(trigger, says, movement))
    };
    [
        gesture(0x70, "Wave", "/wave", Some("Hello!"), HELLO),
        gesture(0x71, "Clap", "/clap", None, CLAP),
        gesture(0x72, "Bow", "/bow", None, BOW),
        gesture(0x73, "Nod", "/nod", None, NOD),
        gesture(0x74, "Shake the head", "/no", None, SHAKE),
        gesture(0x75, "Shrug", "/shrug", None, SHRUG),
    ]
    .into_iter()
}

fn landmark() -> Entry {
    text(0x80, AssetKind::Landmark, "Welcome", "The region in which newcomers arrive", welcome_landmark())
}

/// A thing whose content is a text.
fn text(
    number: u64,
    kind: AssetKind,
    name: &'static str,
    description: &'static str,
    content: impl Into<Bytes>,
) -> Entry {
    Entry { number, kind, name, description, subtype: 0, content: Content::Own(content.into()) }
}
