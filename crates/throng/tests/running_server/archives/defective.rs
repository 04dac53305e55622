//! An archive of a region with a fault of each kind that leaves the rest of it as it is.

use super::sample::{TEXTURE_ID, id_text};
use crate::uploads::TEXTURE;
use archive::ArchivedKind;
use archive::file::ArchiveWriter;
use archive::oar::{ArchivedParcel, ArchivedSettings, OarControl, OarWriter, RegionSize, TerrainHeights};
use archive::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, write_group};
use assets::AssetKind;
use glam::Vec3;
use ids::{AgentId, Uuid};
use prim::{Body, Carried, ContentItem, Contents, Names, Ownership, Permissions, Sale, Shape};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

/// Ids of objects: one is outside of the region, one has a texture that is missing, one cannot be read.
const OUTSIDE: u128 = 0x7E7_0000_0000_4000_8005_0000_0000_0001;
const BARE: u128 = OUTSIDE + 1;
const BROKEN: u128 = OUTSIDE + 2;
const ITEM: u128 = OUTSIDE + 3;
/// Ids of assets: damaged, missing, of a kind that no server stores, and a script that is there with another content.
const DAMAGED: u128 = 0x7E7_0000_0000_4000_8006_0000_0000_0001;
const MISSING: u128 = DAMAGED + 1;
const PICTURE: u128 = DAMAGED + 2;
const SCRIPT: u128 = DAMAGED + 3;

/// For each fault the list of a load's answer that names it, the key in that, and a part of the text there.
pub(super) fn named() -> [(&'static str, &'static str, String); 6] {
    [
        ("changed_parts", "path", id_text(OUTSIDE)),
        ("unreadable_parts", "path", id_text(BROKEN)),
        ("damaged_assets", "id", id_text(DAMAGED)),
        ("missing_assets", "id", id_text(MISSING)),
        ("remarked_parts", "path", id_text(PICTURE)),
        ("kept_assets", "", id_text(SCRIPT)),
    ]
}

fn object(id: u128, owner: AgentId, position: Vec3, texture: u128) -> SceneGroup {
    let texture = Arc::new(link::plain_texture(texture));
    let mut body = Body::new(Uuid::from_u128(id), Shape::BOX, texture, owner, 1 << 50);
    body.names = Names { name: format!("Box {id}").into(), ..Names::default() };
    let place = PartPlace { position, ..PartPlace::default() };
    SceneGroup { root: ScenePart { place, flags: 0, body: Arc::new(body) }, others: Vec::new() }
}

fn script(owner: AgentId) -> Arc<ContentItem> {
    let permissions = Permissions::NEW;
    Arc::new(ContentItem {
        id: Uuid::from_u128(ITEM),
        asset: Uuid::from_u128(SCRIPT),
        asset_type: AssetKind::Script.number(),
        inventory_type: AssetKind::Script.number(),
        name: "Script".into(),
        description: "".into(),
        flags: 0,
        ownership: Ownership { creator: owner, owner, last_owner: owner, group: Uuid::nil(), permissions },
        sale: Sale::default(),
        created_s: 1_300_000_000,
        carried: Carried::default(),
    })
}

/// Writes it, with this text as the script.
pub(super) fn write(path: &Path, owner: Uuid, text: &str) {
    let owner_id = AgentId(owner);
    let size_m = RegionSize { width_m: 256, depth_m: 256 };
    let archive = ArchiveWriter::gzip(BufWriter::new(File::create(path).unwrap()), 1);
    let mut writer = OarWriter::begin(archive, &OarControl::single(Uuid::from_u128(1), size_m, 7)).unwrap();
    writer.settings(None, "Harbour", &ArchivedSettings::default()).unwrap();
    let parcel = ArchivedParcel {
        id: Uuid::from_u128(0xBB),
        local_id: 1,
        name: "Quay".into(),
        owner,
        bitmap: vec![0xFF; 512],
        area_m2: 65_536,
        claimed_s: 1_300_000_000,
        ..ArchivedParcel::default()
    };
    writer.parcel(None, &parcel).unwrap();
    let terrain = TerrainHeights { width: 256, depth: 256, heights: vec![21.0; 65_536] };
    writer.terrain(None, "Harbour", &terrain).unwrap();
    let mut bare = object(BARE, owner_id, Vec3::new(20.0, 20.0, 30.0), MISSING);
    let mut body = Body::clone(&bare.root.body);
    body.contents = Some(Arc::new(Contents { serial: 1, items: vec![script(owner_id)] }));
    bare.root.body = Arc::new(body);
    let outside = object(OUTSIDE, owner_id, Vec3::new(300.0, 20.0, 30.0), DAMAGED);
    for group in [outside, bare] {
        let document = write_group(&group, &WriteOptions::default());
        let (name, at) = (&*group.root.body.names.name, group.root.place.position.to_array());
        writer.object(None, (name, at, group.root.body.id), &document).unwrap();
    }
    let id = Uuid::from_u128(BROKEN);
    writer.object(None, ("Broken", [30.0; 3], id), "<SceneObjectGroup>").unwrap();
    let picture = ArchivedKind::from_suffix("_image.tga").expect("archives have such pictures");
    for (id, kind, bytes) in [
        (DAMAGED, ArchivedKind::from(AssetKind::Texture), &b"a photograph"[..]),
        (PICTURE, picture, b"a picture"),
        (SCRIPT, ArchivedKind::from(AssetKind::Script), text.as_bytes()),
        (TEXTURE_ID, ArchivedKind::from(AssetKind::Texture), TEXTURE),
    ] {
        writer.asset(Uuid::from_u128(id), kind, bytes).unwrap();
    }
    writer.finish().unwrap();
}
