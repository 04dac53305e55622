//! Archives with everything that a region and an inventory have: linksets of several sizes with contents, parcels, terrain, settings, folders, links, and assets
//! that name each other.

use super::sample::NOTECARD;
use crate::uploads::TEXTURE;
use archive::ArchivedKind;
use archive::file::ArchiveWriter;
use archive::iar::{
    ArchivedItem, IarControl, IarWriter, LINK_TO_FOLDER, LINK_TO_ITEM, NodeLocation, NodeName,
};
use archive::oar::{ArchivedParcel, ArchivedSettings, OarControl, OarWriter, RegionSize, TerrainHeights};
use archive::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, XmlForm, write_group};
use assets::AssetKind;
use glam::{Quat, Vec3};
use ids::{AgentId, Uuid};
use prim::{Body, Carried, ContentItem, Contents, Names, Ownership, Permissions, Sale, Shape};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

/// Prims of the linksets.
const LINKSETS: [u128; 5] = [1, 2, 5, 20, 60];
/// Objects, prims and assets of the region.
pub(super) const REGION_COUNTS: [u64; 3] = [5, 88, 7];
/// Folders, items and links of the inventory; objects and prims of its items, and assets.
pub(super) const INVENTORY_COUNTS: [u64; 6] = [3, 3, 2, 1, 4, 7];

/// Beginnings of ids.
const PRIMS: u128 = 0x7E7_0000_0000_4000_8001_0000_0000_0000;
const ITEMS: u128 = 0x7E7_0000_0000_4000_8002_0000_0000_0000;
const NODES: u128 = 0x7E7_0000_0000_4000_8003_0000_0000_0000;
const TEXTURES: u128 = 0x7E7_0000_0000_4000_8004_0000_0000_0000;
/// Textures of prims; the last one behind these is named by an asset alone.
const N_TEXTURES: u128 = 3;
const SCRIPT: u128 = TEXTURES + 0x10;
const NOTE: u128 = TEXTURES + 0x11;
const CHAIR: u128 = TEXTURES + 0x12;

const SCRIPT_TEXT: &str = "default { state_entry() { llSay(0, \"Hello\"); } }";
const CREATED_S: i32 = 1_300_000_000;
const ALL_RIGHTS: u32 = 0x7FFF_FFFF;

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn item(n: u128, name: &str, asset: u128, kind: AssetKind, owner: Uuid) -> Arc<ContentItem> {
    let owner = AgentId(owner);
    let permissions = Permissions::NEW;
    Arc::new(ContentItem {
        id: id(ITEMS + n),
        asset: id(asset),
        asset_type: kind.number(),
        inventory_type: kind.number(),
        name: name.into(),
        description: "".into(),
        flags: 0,
        ownership: Ownership { creator: owner, owner, last_owner: owner, group: Uuid::nil(), permissions },
        sale: Sale::default(),
        created_s: CREATED_S.into(),
        carried: Carried::default(),
    })
}

/// The `n`th part. Each fourth one has a script in it, each tenth a notecard and a chair.
fn part(n: u128, owner: Uuid, position: Vec3, has_contents: bool) -> ScenePart {
    let texture = Arc::new(link::plain_texture(TEXTURES + n % N_TEXTURES));
    let mut body = Body::new(id(PRIMS + n), Shape::BOX, texture, AgentId(owner), 1 << 50);
    body.scale = Vec3::new(0.5, 1.5, 0.25 + (n % 64) as f32 / 64.0);
    body.names = Names { name: format!("Part {n}").into(), ..Names::default() };
    let mut items = Vec::new();
    if has_contents && n.is_multiple_of(4) {
        items.push(item(4 * n, "Greeting", SCRIPT, AssetKind::Script, owner));
    }
    if has_contents && n.is_multiple_of(10) {
        items.push(item(4 * n + 1, "Read me", NOTE, AssetKind::Notecard, owner));
        items.push(item(4 * n + 2, "Chair", CHAIR, AssetKind::Object, owner));
    }
    if !items.is_empty() {
        body.contents = Some(Arc::new(Contents { serial: 1, items }));
    }
    let rotation = Quat::from_rotation_z(n as f32 / 16.0);
    let place = PartPlace { position, rotation, ..PartPlace::default() };
    ScenePart { place, flags: 0, body: Arc::new(body) }
}

fn group(first: u128, n_parts: u128, owner: Uuid, at: Vec3, has_contents: bool) -> SceneGroup {
    let offset = |n: u128| Vec3::new((n % 8) as f32, (n / 8) as f32, 0.5);
    let others = (1..n_parts).map(|n| part(first + n, owner, offset(n), has_contents));
    SceneGroup { root: part(first, owner, at, has_contents), others: others.collect() }
}

/// The chair as an asset: four prims, and a texture that nothing else names.
fn chair(owner: Uuid) -> String {
    let mut chair = group(0x1000, 4, owner, Vec3::ZERO, false);
    let mut body = Body::clone(&chair.root.body);
    body.texture_entry = Arc::new(link::plain_texture(TEXTURES + N_TEXTURES));
    chair.root.body = Arc::new(body);
    write_group(&chair, &WriteOptions { form: XmlForm::Original, creators: None })
}

/// Two parcels beside each other, with the landing point on the second one.
fn parcel(n: u8, owner: Uuid) -> ArchivedParcel {
    // Eight bytes are a row of squares.
    let bitmap = (0..512).map(|byte| if (byte % 8 < 4) == (n == 1) { 0xFF } else { 0 }).collect();
    ArchivedParcel {
        id: id(NODES + 0x100 + u128::from(n)),
        local_id: n.into(),
        name: format!("Parcel {n}"),
        description: "Half of the region".into(),
        owner,
        bitmap,
        area_m2: 32_768,
        landing_type: if n == 2 { 1 } else { 2 },
        landing_at: if n == 2 { [192.0, 128.0, 30.0] } else { [0.0; 3] },
        claimed_s: CREATED_S,
        ..ArchivedParcel::default()
    }
}

fn kind(of: AssetKind) -> ArchivedKind {
    ArchivedKind::from(of)
}

/// An archive of a region, all of which belongs to an account.
pub(super) fn write_region(path: &Path, owner: Uuid) {
    let size_m = RegionSize { width_m: 256, depth_m: 256 };
    let control = OarControl::single(id(NODES), size_m, CREATED_S.into());
    let archive = ArchiveWriter::gzip(BufWriter::new(File::create(path).unwrap()), 6);
    let mut writer = OarWriter::begin(archive, &control).unwrap();
    let settings = ArchivedSettings { water_m: 18.5, ..ArchivedSettings::default() };
    writer.settings(None, "Harbour", &settings).unwrap();
    for n in [1, 2] {
        writer.parcel(None, &parcel(n, owner)).unwrap();
    }
    let height = |n: u32| 20.0 + ((n % 256) * (n / 256) % 193) as f32 / 64.0;
    let terrain = TerrainHeights { width: 256, depth: 256, heights: (0..256 * 256).map(height).collect() };
    writer.terrain(None, "Harbour", &terrain).unwrap();
    let mut first = 0;
    for n_parts in LINKSETS {
        let group = group(first, n_parts, owner, Vec3::new(20.0 + first as f32, 40.0, 25.0), true);
        let (name, at) = (&*group.root.body.names.name, group.root.place.position.to_array());
        let document = write_group(&group, &WriteOptions::default());
        writer.object(None, (name, at, group.root.body.id), &document).unwrap();
        first += n_parts;
    }
    for n in 0..=N_TEXTURES {
        writer.asset(id(TEXTURES + n), kind(AssetKind::Texture), TEXTURE).unwrap();
    }
    writer.asset(id(SCRIPT), kind(AssetKind::Script), SCRIPT_TEXT.as_bytes()).unwrap();
    writer.asset(id(NOTE), kind(AssetKind::Notecard), NOTECARD.as_bytes()).unwrap();
    writer.asset(id(CHAIR), kind(AssetKind::Object), chair(owner).as_bytes()).unwrap();
    writer.finish().unwrap();
}

/// An archive of an inventory: a chest with a drawer, in which the items are, and with an empty folder.
pub(super) fn write_inventory(path: &Path, owner: Uuid) {
    let archive = ArchiveWriter::gzip(BufWriter::new(File::create(path).unwrap()), 6);
    let mut writer = IarWriter::begin(archive, &IarControl::new(false, true)).unwrap();
    let node = |name: &str, n: u128| NodeName { name: name.into(), id: id(NODES + n) };
    let drawer = vec![node("Chest", 1), node("A/B & C", 2)];
    let empty = vec![node("Chest", 1), node("Empty", 3)];
    for folders in [&drawer, &empty] {
        writer.folder(&NodeLocation { folders: folders.clone(), item: None }).unwrap();
    }
    let number = |of: AssetKind| i32::from(of.number());
    for (n, name, asset, asset_type) in [
        (10, "Chair/table", CHAIR, number(AssetKind::Object)),
        (11, "Read me", NOTE, number(AssetKind::Notecard)),
        (12, "Greeting", SCRIPT, number(AssetKind::Script)),
        (13, "The chair", NODES + 10, LINK_TO_ITEM),
        (14, "The folder", NODES + 3, LINK_TO_FOLDER),
    ] {
        let item = ArchivedItem {
            id: id(NODES + n),
            name: name.to_owned(),
            inventory_type: asset_type,
            asset_type,
            asset: id(asset),
            creator: owner.to_string(),
            owner,
            base_mask: ALL_RIGHTS,
            owner_mask: ALL_RIGHTS,
            ..ArchivedItem::default()
        };
        let location = NodeLocation { folders: drawer.clone(), item: Some(node(name, n)) };
        writer.item(&location, &item).unwrap();
    }
    // All of them are those of the chair.
    for n in 0..=N_TEXTURES {
        writer.asset(id(TEXTURES + n), kind(AssetKind::Texture), TEXTURE).unwrap();
    }
    writer.asset(id(CHAIR), kind(AssetKind::Object), chair(owner).as_bytes()).unwrap();
    writer.asset(id(NOTE), kind(AssetKind::Notecard), NOTECARD.as_bytes()).unwrap();
    writer.asset(id(SCRIPT), kind(AssetKind::Script), SCRIPT_TEXT.as_bytes()).unwrap();
    writer.finish().unwrap();
}
