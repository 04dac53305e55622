//! Archives for these tests.

use crate::uploads::TEXTURE;
use archive::ArchivedKind;
use archive::file::ArchiveWriter;
use archive::iar::{ArchivedItem, IarControl, IarWriter, NodeLocation, NodeName};
use archive::oar::{
    ArchivedParcel, ArchivedSettings, OarControl, OarRegion, OarWriter, RegionSize, TerrainHeights,
};
use archive::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, write_group};
use assets::AssetKind;
use glam::Vec3;
use ids::{AgentId, Uuid};
use prim::{Body, Names, Shape};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

/// The one texture of all prims.
pub(super) const TEXTURE_ID: u128 = 0x7E7_0000_0000_4000_8000_0000_0000_0001;

pub(super) const NOTECARD: &str =
    "Linden text version 2\n{\nLLEmbeddedItems version 1\n{\ncount 0\n}\nText length 5\nHello}\n";

/// An archive of one region.
pub(super) struct Sample<'a> {
    pub(super) version: (u32, u32),
    /// Id of an account.
    pub(super) owner: &'a str,
    /// Each of two prims.
    pub(super) n_objects: u128,
    /// Id of the first root; the others follow.
    pub(super) first: u128,
}

pub(super) fn id_text(id: u128) -> String {
    Uuid::from_u128(id).to_string()
}

fn part(id: u128, owner: Uuid, position: Vec3) -> ScenePart {
    let texture = Arc::new(link::plain_texture(TEXTURE_ID));
    let mut body = Body::new(Uuid::from_u128(id), Shape::BOX, texture, AgentId(owner), 1 << 50);
    body.names = Names { name: format!("Box {id}").into(), ..Names::default() };
    ScenePart { place: PartPlace { position, ..PartPlace::default() }, flags: 0, body: Arc::new(body) }
}

/// Objects stand in a grid of ten metres, the first one at (10, 10, 30).
pub(super) fn write_oar(path: &Path, sample: &Sample<'_>) {
    let owner: Uuid = sample.owner.parse().unwrap();
    let size_m = RegionSize { width_m: 256, depth_m: 256 };
    let is_multiple = sample.version.0 == 1;
    let mut control = if is_multiple {
        let region = OarRegion {
            id: Uuid::from_u128(1),
            directory: "1_1_Harbour".into(),
            size_m: Some(size_m),
            ..OarRegion::default()
        };
        OarControl::multiple(vec![vec![Some(region)]], 7)
    } else {
        OarControl::single(Uuid::from_u128(1), size_m, 7)
    };
    control.version = sample.version;
    let region = is_multiple.then_some("1_1_Harbour");
    let archive = ArchiveWriter::gzip(BufWriter::new(File::create(path).unwrap()), 1);
    let mut writer = OarWriter::begin(archive, &control).unwrap();
    if sample.version >= (0, 2) {
        let settings = ArchivedSettings { water_m: 19.0, ..ArchivedSettings::default() };
        writer.settings(region, "Harbour", &settings).unwrap();
    }
    if sample.version >= (0, 3) {
        let parcel = ArchivedParcel {
            id: Uuid::from_u128(0xBA),
            local_id: 1,
            name: "Quay".into(),
            owner,
            bitmap: vec![0xFF; 512],
            area_m2: 65_536,
            landing_type: 2,
            claimed_s: 1_300_000_000,
            ..ArchivedParcel::default()
        };
        writer.parcel(region, &parcel).unwrap();
    }
    let heights = (0..256 * 256).map(|n| 21.0 + (n % 256) as f32 / 64.0).collect();
    let terrain = TerrainHeights { width: 256, depth: 256, heights };
    writer.terrain(region, "Harbour", &terrain).unwrap();
    for n in 0..sample.n_objects {
        let id = sample.first + 2 * n;
        let position = Vec3::new((10 + 10 * (n % 24)) as f32, (10 + 10 * (n / 24 % 24)) as f32, 30.0);
        let group =
            SceneGroup { root: part(id, owner, position), others: vec![part(id + 1, owner, Vec3::X)] };
        let document = write_group(&group, &WriteOptions::default());
        let name = format!("Box {id}");
        writer.object(region, (&name, position.to_array(), Uuid::from_u128(id)), &document).unwrap();
    }
    writer.asset(Uuid::from_u128(TEXTURE_ID), ArchivedKind::from(AssetKind::Texture), TEXTURE).unwrap();
    writer.finish().unwrap();
}

/// A folder `Chairs` with two notecards of one content.
pub(super) fn write_iar(path: &Path) {
    let archive = ArchiveWriter::gzip(BufWriter::new(File::create(path).unwrap()), 1);
    let mut writer = IarWriter::begin(archive, &IarControl::new(false, true)).unwrap();
    let folder = NodeName { name: "Chairs".into(), id: Uuid::from_u128(0xF0) };
    writer.folder(&NodeLocation { folders: vec![folder.clone()], item: None }).unwrap();
    let asset = Uuid::from_u128(0xA0);
    for n in 1..=2_u128 {
        let item = ArchivedItem {
            id: Uuid::from_u128(n),
            name: format!("Note {n}"),
            inventory_type: 7,
            asset_type: 7,
            asset,
            base_mask: 0x7FFF_FFFF,
            owner_mask: 0x7FFF_FFFF,
            ..ArchivedItem::default()
        };
        let name = NodeName { name: item.name.as_str().into(), id: item.id };
        let location = NodeLocation { folders: vec![folder.clone()], item: Some(name) };
        writer.item(&location, &item).unwrap();
    }
    writer.asset(asset, ArchivedKind::from(AssetKind::Notecard), NOTECARD.as_bytes()).unwrap();
    writer.finish().unwrap();
}
