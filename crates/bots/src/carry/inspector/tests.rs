//! A reading against answers by hand.

use super::super::calls::{CallBody, CallTarget};
use super::super::content::{Content, hash_of};
use super::super::item_row::{NOTECARD, OBJECT};
use super::*;
use crate::rng::Rng;
use wire::llsd::xml;
use wire::messages::{MessageNumber, ObjectPropertiesObjectData, ObjectUpdate};
use wire::text::{VARIABLE1_MAX, to_wire};

const ROOT: Uuid = Uuid::from_u128(1);
const AGENT: Uuid = Uuid::from_u128(2);
const CHEST: Uuid = Uuid::from_u128(3);
const CHEST_LOCAL: LocalId = LocalId(77);

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn answer(value: &Llsd) -> Result<CallAnswer, String> {
    Ok(CallAnswer { status: 200, body: xml::encode(value).into_bytes() })
}

fn category(id: u128, name: &str) -> Llsd {
    Llsd::map([("category_id", Llsd::from(Uuid::from_u128(id))), ("name", name.into())])
}

fn item(id: u128, asset: u128, name: &str) -> Llsd {
    Llsd::map([
        ("item_id", Llsd::from(Uuid::from_u128(id))),
        ("asset_id", Uuid::from_u128(asset).into()),
        ("type", Llsd::from(7)),
        ("name", name.into()),
    ])
}

fn prim(id: Uuid, parent: u32) -> SeenPrim {
    SeenPrim {
        id,
        crc: 1,
        parent: LocalId(parent),
        position: Vec3::ONE,
        scale: Vec3::ONE,
        update_flags: YOU_OWNER,
        textures: 0,
        updated_at: Instant::ZERO,
        form: ObjectUpdate::NUMBER,
    }
}

fn properties(id: Uuid, name: &str) -> Vec<u8> {
    let row = ObjectPropertiesObjectData {
        object_id: id,
        owner_mask: u32::MAX,
        name: to_wire(name, VARIABLE1_MAX),
        description: to_wire("", VARIABLE1_MAX),
        ..ObjectPropertiesObjectData::default()
    };
    let mut message = Vec::new();
    ObjectProperties { object_data: vec![row] }.encode(&mut message);
    let (_, body) = MessageNumber::split(&message).expect("its own number");
    body.to_vec()
}

/// Names of the capabilities of the calls that are made now, with their ids.
fn calls(inspector: &mut Inspector) -> Vec<(u64, &'static str, HttpCall)> {
    std::iter::from_fn(|| inspector.poll_call())
        .map(|call| match call.target {
            CallTarget::Capability { name, .. } => (call.id, name, call),
            CallTarget::Address(_) => panic!("{call:?}"),
        })
        .collect()
}

#[test]
fn everything_that_a_bot_has_is_read() {
    let mut inspector = Inspector::new(at(0), AGENT, ROOT, [(Uuid::from_u128(60), 7)]);
    let first = calls(&mut inspector);
    assert_eq!(
        first.iter().map(|(_, name, _)| *name).collect::<Vec<_>>(),
        ["FetchInventoryDescendents2", "ViewerAsset"]
    );
    assert!(first.iter().all(|(id, ..)| id & INSPECTION_CALL != 0));
    let folder = Llsd::map([
        ("categories", Llsd::array([category(10, "carry-0-1"), category(11, "Textures")])),
        ("items", Llsd::array([item(20, 61, "carry-0-2"), item(21, 62, "Shirt")])),
    ]);
    inspector.on_answer(first[0].0, &answer(&Llsd::map([("folders", Llsd::array([folder]))])));
    inspector.on_answer(first[1].0, &Ok(CallAnswer { status: 404, body: Vec::new() }));

    // The scene has a chest, and an object that is worn.
    let scene = [(CHEST_LOCAL, prim(CHEST, 0)), (LocalId(78), prim(Uuid::from_u128(4), 9))];
    inspector.on_scene(at(100), scene.iter().map(|(local, prim)| (*local, prim)));
    assert_eq!(inspector.poll_select(at(100)), [CHEST_LOCAL]);
    assert!(inspector.poll_select(at(200)).is_empty(), "it was asked for just now");
    inspector.on_properties(&properties(CHEST, "carry-0-0")).expect("whole");
    let second = calls(&mut inspector);
    assert_eq!(second.len(), 3, "two folders in one call, an asset and the chest: {second:?}");
    let mut rng = Rng::new(1, 0);
    let content = Content::notecard(&mut rng);
    for (id, name, call) in second {
        let reply = match name {
            "FetchInventoryDescendents2" => answer(&Llsd::map([("folders", Llsd::Array(Vec::new()))])),
            "RequestTaskInventory" => {
                assert_eq!(call.body, CallBody::None);
                answer(&Llsd::map([("contents", Llsd::array([item(22, 61, "carry-0-3")]))]))
            }
            _ => Ok(CallAnswer { status: 200, body: content.bytes.clone() }),
        };
        inspector.on_answer(id, &reply);
    }
    assert!(inspector.poll_call().is_none(), "asset 61 was read before");
    assert!(!inspector.is_done(at(2_000)) && inspector.is_done(at(2_100)));
    let found = inspector.into_belongings();
    let names = |rows: &[ItemRow]| rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found.items), ["carry-0-2"]);
    assert_eq!(found.folders.len(), 2);
    assert_eq!((found.objects.len(), found.objects[0].local), (1, CHEST_LOCAL));
    assert_eq!((found.contents.len(), found.contents[0].prim), (1, CHEST));
    let assets = [(Uuid::from_u128(60), None), (Uuid::from_u128(61), Some(hash_of(&content.bytes)))];
    assert_eq!(found.assets, assets.into());
    assert!(found.troubles.is_empty());
}

#[test]
fn objects_are_read_without_the_elements_that_wearing_rewrites() {
    let assets = [(60, OBJECT), (61, OBJECT), (62, NOTECARD)].map(|(id, kind)| (Uuid::from_u128(id), kind));
    let mut inspector = Inspector::new(at(0), AGENT, ROOT, assets);
    let bodies = [&b"<P><State>0</State></P>"[..], b"<P><State>6</State></P>", b"<P><State>6</State></P>"];
    for ((id, ..), body) in calls(&mut inspector).into_iter().skip(1).zip(bodies) {
        inspector.on_answer(id, &Ok(CallAnswer { status: 200, body: body.to_vec() }));
    }
    let found: Vec<_> = inspector.into_belongings().assets.into_values().collect();
    assert_eq!(found[0], found[1], "worn since");
    assert_eq!(found[2], Some(hash_of(bodies[2])));
    assert!(found.iter().all(Option::is_some) && found[1] != found[2]);
}

#[test]
fn calls_that_fail_are_repeated_and_then_named() {
    let mut inspector = Inspector::new(at(0), AGENT, ROOT, []);
    for n_attempts in 1..=ATTEMPTS_MAX {
        let made = calls(&mut inspector);
        assert_eq!(made.len(), 1, "attempt {n_attempts}");
        let reply = match n_attempts {
            1 => Err("no connection".to_owned()),
            2 => Ok(CallAnswer { status: 503, body: Vec::new() }),
            _ => {
                let bad = Llsd::map([("folder_id", Llsd::from(ROOT)), ("error", "Too much".into())]);
                answer(&Llsd::map([("bad_folders", Llsd::array([bad]))]))
            }
        };
        inspector.on_answer(made[0].0, &reply);
    }
    assert!(calls(&mut inspector).is_empty() && inspector.is_done(at(5_000)));
    let troubles = inspector.into_belongings().troubles;
    assert_eq!(troubles, [format!("folder {ROOT}: Too much")]);
}

#[test]
fn an_object_that_leaves_is_no_longer_part_of_the_reading() {
    let mut inspector = Inspector::new(at(0), AGENT, ROOT, []);
    let scene = [(CHEST_LOCAL, prim(CHEST, 0))];
    inspector.on_scene(at(0), scene.iter().map(|(local, prim)| (*local, prim)));
    assert_eq!(inspector.poll_select(at(0)), [CHEST_LOCAL]);
    assert_eq!(inspector.poll_select(at(1_000)), [CHEST_LOCAL], "no answer came");
    inspector.on_properties(&properties(CHEST, "carry-0-9")).expect("whole");
    assert!(inspector.poll_select(at(3_000)).is_empty());
    inspector.on_scene(at(4_000), std::iter::empty());
    assert!(!inspector.is_done(at(5_000)), "the scene has changed");
    assert!(inspector.into_belongings().objects.is_empty());
}
