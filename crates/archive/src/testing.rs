//! Archives for tests: a house with a script and a notecard, a box, a parcel, and assets that are missing, damaged and unused.

use crate::file::{ArchiveWriter, FileError};
use crate::kind::{ArchivedKind, asset_path};
use crate::oar::{ArchivedParcel, ArchivedSettings, OarControl, OarRegion, RegionSize, TerrainHeights};
use crate::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, write_group};
use ids::{AgentId, Uuid};
use prim::{Body, Carried, ContentItem, Contents, Names, Ownership, Permissions, Sale, Shape};
use std::sync::Arc;
use wire::texture_entry::TextureEntry;

/// Paths and contents of an archive.
pub(crate) type SampleEntries = Vec<(String, Vec<u8>)>;

/// Assets of the samples.
pub(crate) const TEXTURE: u128 = 1;
pub(crate) const MISSING_TEXTURE: u128 = 2;
pub(crate) const SCRIPT: u128 = 3;
pub(crate) const NOTECARD: u128 = 4;
pub(crate) const LANDMARK: u128 = 5;
pub(crate) const UNUSED_SCRIPT: u128 = 6;
pub(crate) const DAMAGED_GESTURE: u128 = 7;
pub(crate) const BOX_ASSET: u128 = 8;

/// Accounts of the samples.
pub(crate) const OWNER: u128 = 100;
pub(crate) const CREATOR: u128 = 101;

/// Linksets of the samples.
pub(crate) const HOUSE: u128 = 200;
pub(crate) const BOX: u128 = 300;

pub(crate) fn id(n: u128) -> Uuid {
    Uuid::from_u128(0x1234_5678_9ABC_4DEF << 64 | n)
}

fn ownership() -> Ownership {
    Ownership {
        creator: AgentId(id(CREATOR)),
        owner: AgentId(id(OWNER)),
        last_owner: AgentId(id(OWNER)),
        group: Uuid::nil(),
        permissions: Permissions::NEW,
    }
}

fn item(n: u128, name: &str, asset: u128, asset_type: i8) -> Arc<ContentItem> {
    Arc::new(ContentItem {
        id: id(n),
        asset: id(asset),
        asset_type,
        inventory_type: asset_type,
        name: name.into(),
        description: "".into(),
        flags: 0,
        ownership: ownership(),
        sale: Sale::default(),
        created_s: 1_300_000_000,
        carried: Carried::default(),
    })
}

fn part(n: u128, name: &str, texture: u128, items: Vec<Arc<ContentItem>>) -> ScenePart {
    let entry = TextureEntry::plain(id(texture)).encode();
    let mut body = Body::new(id(n), Shape::BOX, entry.into(), AgentId(id(CREATOR)), 1_300_000_000_000_000);
    body.names = Names { name: name.into(), ..Names::default() };
    body.ownership = Arc::new(ownership());
    if !items.is_empty() {
        body.contents = Some(Arc::new(Contents { serial: 1, items }));
    }
    ScenePart { place: PartPlace::default(), flags: 0, body: Arc::new(body) }
}

/// Two prims, the root of which has a script and a notecard.
pub(crate) fn house() -> SceneGroup {
    let items = vec![item(210, "Door", SCRIPT, 10), item(211, "Read me", NOTECARD, 7)];
    SceneGroup {
        root: part(HOUSE, "House", TEXTURE, items),
        others: vec![part(HOUSE + 1, "Roof", MISSING_TEXTURE, Vec::new())],
    }
}

/// One prim.
pub(crate) fn plain_box() -> SceneGroup {
    SceneGroup { root: part(BOX, "Box", TEXTURE, Vec::new()), others: Vec::new() }
}

pub(crate) fn document(group: &SceneGroup) -> String {
    write_group(group, &WriteOptions::default())
}

/// A codestream of 64 x 32 pixels up to the marker of its first tile.
pub(crate) fn texture() -> Vec<u8> {
    let mut bytes = vec![0xFF, 0x4F, 0xFF, 0x51, 0, 41, 0, 0];
    for field in [64_u32, 32, 0, 0, 64, 32, 0, 0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend([0, 1, 7, 1, 1, 0xFF, 0x90]);
    bytes
}

fn notecard() -> String {
    format!(
        "Linden text version 2\n{{\nLLEmbeddedItems version 1\n{{\ncount 1\n{{\next char index 0\n\tinv_item\t0\n\t{{\n\
        \t\tasset_id\t{}\n\t\tname\tHome|\n\t}}\n}}\n}}\nText length 5\nHello}}\n",
        id(LANDMARK)
    )
}

fn landmark() -> String {
    format!("Landmark version 2\nregion_id {}\nlocal_pos 128 128 25\n", id(900))
}

/// Assets with their suffixes and bytes. The last one is damaged.
pub(crate) fn assets() -> Vec<(Uuid, ArchivedKind, Vec<u8>)> {
    [
        (TEXTURE, "_texture.jp2", texture()),
        (SCRIPT, "_script.lsl", b"default { }".to_vec()),
        (NOTECARD, "_notecard.txt", notecard().into_bytes()),
        (LANDMARK, "_landmark.txt", landmark().into_bytes()),
        (UNUSED_SCRIPT, "_script.lsl", b"// unused".to_vec()),
        (DAMAGED_GESTURE, "_gesture.txt", b"no gesture".to_vec()),
    ]
    .map(|(n, suffix, bytes)| (id(n), ArchivedKind::from_suffix(suffix).expect("a suffix"), bytes))
    .to_vec()
}

pub(crate) fn parcel() -> ArchivedParcel {
    ArchivedParcel {
        id: id(400),
        local_id: 1,
        name: "Land".to_owned(),
        owner: id(OWNER),
        bitmap: vec![0xFF; 512],
        area_m2: 65_536,
        ..ArchivedParcel::default()
    }
}

pub(crate) fn settings() -> ArchivedSettings {
    ArchivedSettings { ground_textures: [id(TEXTURE); 4], water_m: 21.5, ..ArchivedSettings::default() }
}

pub(crate) fn terrain() -> TerrainHeights {
    let heights = (0..65_536).map(|n| n as f32 / 1_024.0).collect();
    TerrainHeights { width: 256, depth: 256, heights }
}

/// All versions of archives of regions.
pub(crate) const OAR_VERSIONS: [(u32, u32); 10] =
    [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8), (1, 0), (1, 1)];

/// The control file of a version.
pub(crate) fn control(version: (u32, u32)) -> OarControl {
    let size_m = RegionSize { width_m: 256, depth_m: 256 };
    let is_from = |minor| version >= (0, minor);
    let region = |n: u128, directory: &str| {
        Some(OarRegion { id: id(n), directory: directory.into(), size_m: Some(size_m), unknown: "".into() })
    };
    let rows = vec![vec![region(500, "1_1_Sea_side"), None], vec![None, region(501, "2_2_Hills")]];
    let is_multiple = version.0 == 1;
    OarControl {
        version,
        created_s: is_from(3).then_some(1_300_000_000),
        region: (is_from(3) && !is_multiple).then(|| id(500)),
        assets_included: is_from(7).then_some(true),
        size_m: (is_from(8) && !is_multiple).then_some(size_m),
        rows: if is_multiple { rows } else { Vec::new() },
        ..OarControl::default()
    }
}

/// Paths and contents of an archive of a region in a version: with what the version has, and in its order.
pub(crate) fn oar_entries(version: (u32, u32)) -> SampleEntries {
    let mut entries = Vec::new();
    let regions = if version.0 == 1 { vec!["regions/1_1_Sea_side/", "regions/2_2_Hills/"] } else { vec![""] };
    for (n, region) in regions.into_iter().enumerate() {
        if version >= (0, 2) {
            entries.push((format!("{region}settings/Sea side.xml"), settings().write().into_bytes()));
        }
        if version >= (0, 3) {
            entries.push((format!("{region}landdata/{}.xml", parcel().id), parcel().write().into_bytes()));
        }
        entries.push((format!("{region}terrains/Sea side.r32"), terrain().write()));
        let (group, name) = if n == 0 { (house(), "House") } else { (plain_box(), "Box") };
        let path = format!("{region}objects/{name}_128-128-025__{}.xml", group.root.body.id);
        entries.push((path, document(&group).into_bytes()));
    }
    let control = ("archive.xml".to_owned(), control(version).write().into_bytes());
    // Old versions have it among the others.
    entries.insert(if version >= (0, 4) { 0 } else { 1 }, control);
    entries.extend(assets().into_iter().map(|(id, kind, bytes)| (asset_path(id, kind), bytes)));
    entries
}

pub(crate) fn archive(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ArchiveWriter::plain(Vec::new());
    for (path, content) in entries {
        writer.append(path, content).expect("memory takes everything");
    }
    writer.finish().expect("memory takes everything")
}

pub(crate) fn oar(version: (u32, u32)) -> Vec<u8> {
    archive(&oar_entries(version))
}

/// Parts of an archive, and the error that ended them.
pub(crate) fn parts_of<P>(
    mut next: impl FnMut() -> Result<Option<P>, FileError>,
) -> (Vec<P>, Option<FileError>) {
    let mut parts = Vec::new();
    loop {
        match next() {
            Ok(Some(part)) => parts.push(part),
            Ok(None) => return (parts, None),
            Err(why) => return (parts, Some(why)),
        }
    }
}
