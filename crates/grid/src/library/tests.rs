//! The content of the library, as viewers and the server's own readers take it.

use super::*;
use crate::asset_sources::AssetSources;
use archive::object::{SceneObject, ScenePart, read_object};
use archive::xml::XmlLimits;
use assets::{AssetHash, Landmark, SizeLimits, check_asset, read_embedded_items, read_landmark};
use ids::WELCOME_REGION;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Bytes of the content that is made in memory.
const MADE_BYTES_MAX: usize = 256 * 1_024;
/// Lines of a script on one screen.
const SCREEN_LINES: usize = 50;

/// Things of a kind with their bytes.
fn things(kind: AssetKind) -> impl Iterator<Item = (&'static Item, Bytes)> {
    let sources = AssetSources::in_memory();
    let of_kind = library_items().iter().filter(move |item| item.asset_type == kind.number());
    of_kind.map(move |item| {
        let asset = sources.cached_of_kind(item.asset, kind);
        (item, asset.unwrap_or_else(|| panic!("{} has no content", item.name)).bytes)
    })
}

fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Ids and names are in inventories and in caches of viewers: a change here needs another [`LIBRARY_VERSION`], and no line ever leaves.
#[test]
fn the_library_has_these_folders_and_items() {
    let mut list = String::new();
    for folder in library_folders() {
        let Folder { id, name, type_default, version, .. } = folder;
        writeln!(list, "{id} type {type_default} version {version} {name}").expect("a text");
        for item in library_items().iter().filter(|item| item.folder == *id) {
            let Item { id, asset, asset_type, inventory_type, flags, name, .. } = item;
            let kinds = format!("{asset_type}/{inventory_type}/{flags}");
            writeln!(list, "    {id} {asset} {kinds} {name}").expect("a text");
        }
    }
    insta::assert_snapshot!(list);
}

/// Copies of users name these assets: the bytes of an id are always the same. Objects are left out, whose bytes follow the form that objects are written in.
#[test]
fn the_content_under_an_id_stays_the_same() {
    let mut list = String::new();
    for (id, kind, bytes) in library_assets().filter(|(_, kind, _)| *kind != AssetKind::Object) {
        writeln!(list, "{id} {kind} {}", AssetHash::of(&bytes)).expect("a text");
    }
    insta::assert_snapshot!(list);
}

#[test]
fn all_content_is_valid_of_its_kind_and_served() {
    let mut n = 0;
    for (kind, name) in SHELVES {
        for (item, bytes) in things(kind) {
            assert_eq!(check_asset(kind, &bytes, &SizeLimits::default()), Ok(()), "{}", item.name);
            assert_eq!(item.inventory_type, InventoryType::of(kind));
            n += 1;
        }
        assert!(things(kind).next().is_some(), "{name} is empty");
    }
    assert_eq!(n, library_items().len());
    let made = library_assets().filter(|(_, kind, _)| *kind != AssetKind::Texture);
    assert!(made.map(|(_, _, bytes)| bytes.len()).sum::<usize>() < MADE_BYTES_MAX);
}

#[test]
fn textures_are_images_that_another_decoder_reads() {
    let mut seen = BTreeSet::new();
    for (item, bytes) in things(AssetKind::Texture).filter(|(item, _)| item.name != "Plain") {
        let image = hayro_jpeg2000::Image::new(&bytes, &hayro_jpeg2000::DecodeSettings::default());
        let image = image.expect("a codestream");
        assert_eq!((image.width(), image.height()), (256, 256), "{}", item.name);
        let mut context = hayro_jpeg2000::DecoderContext::default();
        let pixels = image.decode(&mut context).expect("a whole image").data_u8();
        let mean =
            |channel| pixels.iter().skip(channel).step_by(3).map(|&at| u64::from(at)).sum::<u64>() >> 16;
        assert!(seen.insert([0, 1, 2].map(mean)), "{} looks like another one", item.name);
    }
    // Those of ground and boxes, and `textures.j2cs`, which `textures.py` makes.
    assert_eq!(seen.len(), 5 + 3);
}

#[test]
fn ids_and_names_are_unique_and_names_fit() {
    let ids = library_folders().iter().map(|folder| folder.id);
    let ids: Vec<Uuid> = ids.chain(library_items().iter().map(|item| item.id)).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    let own: Vec<Uuid> = library_assets().map(|(id, ..)| id).collect();
    assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), own.len());
    let names: BTreeSet<_> = library_items().iter().map(|item| (item.folder, &item.name)).collect();
    assert_eq!(names.len(), library_items().len());
    for item in library_items() {
        assert!(library_folder(item.folder).is_some() && library_item(item.id) == Some(item));
        assert!(!item.name.is_empty() && item.name.len() <= prim::body::NAME_MAX, "{}", item.name);
        assert!(item.description.len() <= prim::body::DESCRIPTION_MAX, "{}", item.description);
        assert_eq!((item.permissions.creator, item.sale), (LIBRARY_OWNER, Sale::default()));
    }
}

fn parts_of(bytes: &[u8]) -> Vec<ScenePart> {
    let read = read_object(bytes, &XmlLimits::OBJECT).expect("an object");
    assert!(read.report.is_empty(), "{:?}", read.report);
    let SceneObject::Group(group) = read.object else { panic!("several linksets") };
    for reference in group.references() {
        assert!(AssetSources::is_own(reference.asset), "{reference:?}");
    }
    group.parts().cloned().collect()
}

#[test]
fn objects_are_linksets_of_valid_prims_with_textures_that_are_served() {
    for (item, bytes) in things(AssetKind::Object) {
        let parts = parts_of(&bytes);
        assert_eq!(*parts[0].body.names.name, *item.name);
        let mut ids = BTreeSet::new();
        for ScenePart { place, body, .. } in &parts {
            assert_eq!((**body).clone().checked().as_ref(), Ok(&**body), "{}", body.names.name);
            assert_eq!(body.shape.clamped(), Ok(body.shape));
            let masks = body.ownership.permissions;
            assert_eq!((masks.owner, masks.everyone, masks.next_owner), (Mask::ALL, Mask::NONE, Mask::ALL));
            assert_eq!(body.ownership.owner.0, LIBRARY_OWNER);
            assert!(place.rotation.is_normalized() && ids.insert(body.id));
        }
    }
    let named = |name| {
        let (_, bytes) = things(AssetKind::Object).find(|(item, _)| item.name == name).expect(name);
        parts_of(&bytes)
    };
    assert!(named("Chair")[0].body.sit_target.is_some());
    assert!(!named("Sign")[0].body.hover_text.text.is_empty());
    assert_eq!(["House", "Table", "Door"].map(|name| named(name).len()), [11, 5, 1]);
}

/// The roof lies on the walls, and covers them.
#[test]
fn the_roof_of_the_house_rests_on_its_walls() {
    let house = house::parts();
    let wall = house.iter().find(|part| part.name == "Back wall").expect("a wall");
    let outer_edge = wall.position + wall.size * glam::vec3(0.0, 0.5, 0.5);
    let roof = house.iter().find(|part| part.name == "Roof").expect("a roof");
    let on_roof = roof.rotation.inverse() * (outer_edge - roof.position);
    assert!((on_roof.z + roof.size.z / 2.0).abs() < 1e-4, "{on_roof}");
    assert!(on_roof.y.abs() < roof.size.y / 2.0 && roof.size.x > wall.size.x);
}

#[test]
fn wearables_state_the_kind_of_their_item() {
    for kind in [AssetKind::BodyPart, AssetKind::Clothing] {
        for (item, bytes) in things(kind) {
            let line = format!("type {}", item.flags);
            assert!(text(&bytes).lines().any(|found| found == line), "{}", item.name);
            assert_eq!(text(&bytes).lines().nth(1), Some(&*item.name));
        }
    }
}

#[test]
fn scripts_fit_on_a_screen_and_close_what_they_open() {
    for (item, bytes) in things(AssetKind::Script) {
        let source = text(&bytes);
        assert!(source.lines().count() <= SCREEN_LINES, "{}", item.name);
        assert!(source.is_ascii() && source.lines().any(|line| line == "default"), "{}", item.name);
        for (open, close) in [("{", "}"), ("(", ")"), ("[", "]")] {
            assert_eq!(source.matches(open).count(), source.matches(close).count(), "{}: {open}", item.name);
        }
    }
}

#[test]
fn notecards_gestures_and_the_landmark_are_as_viewers_read_them() {
    for (item, bytes) in things(AssetKind::Notecard) {
        assert_eq!(read_embedded_items(&bytes), Ok(Vec::new()), "{}", item.name);
        let (head, body) = text(&bytes).split_once("Text length ").expect("a length");
        let (length, body) = body.split_once('\n').expect("a text");
        assert!(head.starts_with("Linden text version 2\n"));
        assert_eq!(body.len(), length.parse::<usize>().expect("a number") + "}\n".len(), "{}", item.name);
    }
    let wave = things(AssetKind::Gesture).find(|(item, _)| item.name == "Wave").expect("it waves").1;
    let lines = ["2", "255", "0", "/wave", "", "2", "2", "Hello!", "0", "0", "Hello"];
    assert_eq!(text(&wave).lines().take(11).collect::<Vec<_>>(), lines);
    let (_, landmark) = things(AssetKind::Landmark).next().expect("a landmark");
    let expected = Landmark::InRegion { region: WELCOME_REGION, position: [128.0, 128.0, 25.0] };
    assert_eq!(read_landmark(&landmark), Ok(expected));
}
