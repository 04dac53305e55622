//! Regions for tests.

use crate::{KeeperConfig, NewLand, RegionIds};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, LocalId, Tick, Uuid, WorldId};
use link::{
    Estate, Frame, Motion, ObjectChange, ObjectMask, PrimFlags, PrimMotion, StoredLand, StoredObjects,
    Terrain, VersionedBody,
};
use prim::{
    Body, Carried, ContentItem, Contents, ExtraParam, ExtraParams, HoverText, LoopedSound, Material,
    MaterialOverride, MaterialOverrides, Media, MediaEntry, Names, Ownership, PhysicsShape, PrimPhysics,
    Sale, SaleKind, Shape, ShapeKind, SitTarget,
};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use world::{World, WorldConfig};

pub(crate) const REGION: WorldId = WorldId(1);
/// Local ids of the region.
pub(crate) const ALL_IDS: Range<u32> = 1 << 20..2 << 20;
const KEPT: Range<u32> = ALL_IDS.start..ALL_IDS.start + (1 << 19);
pub(crate) const IDS: RegionIds = RegionIds { kept: KEPT, temporary: KEPT.end..KEPT.end + (1 << 17) };

/// Time at which the region begins, seconds since 1970.
pub(crate) const NOW_S: u64 = 1_800_000_000;

/// The owner of the estate of a new region.
pub(crate) const OWNER: AgentId = AgentId(Uuid::from_u128(7));

/// The described ground.
pub(crate) static GROUND: LazyLock<Arc<Terrain>> = LazyLock::new(|| Arc::new(Terrain::flat(256, 21.0)));

pub(crate) fn new_land() -> NewLand {
    NewLand { terrain: Arc::clone(&GROUND), estate: Estate::new("Hills", Some(OWNER), 20.0), now_s: NOW_S }
}

pub(crate) fn config() -> KeeperConfig {
    KeeperConfig {
        region: REGION,
        name: "Harbour".into(),
        former_name: None,
        land: new_land(),
        ids: IDS,
        save: Duration::from_millis(250),
        moving_bytes_per_s: 4 << 20,
        unix_start_s: 1_700_000_000,
    }
}

/// A kept local id.
pub(crate) const fn kept(n: u32) -> LocalId {
    LocalId(KEPT.start + n)
}

/// The local id of a temporary object.
pub(crate) const fn temporary(n: u32) -> LocalId {
    LocalId(KEPT.end + n)
}

/// A plain prim.
pub(crate) fn body(n: u128) -> VersionedBody {
    let body = Body::new(Uuid::from_u128(n + 1), Shape::BOX, Arc::default(), AgentId(Uuid::from_u128(1)), 0);
    VersionedBody { version: 1, body: Arc::new(body) }
}

/// A prim with something in every field.
pub(crate) fn rich_body(n: u128) -> VersionedBody {
    let agent = |n| AgentId(Uuid::from_u128(n));
    let plain = body(n);
    let light = [&[9, 8, 7, 255], &1.5_f32.to_le_bytes()[..], &[0; 4], &1.0_f32.to_le_bytes()].concat();
    let extra_params = ExtraParams::default().with(ExtraParam::Light, Some(&light)).expect("a light");
    let body = Body {
        state: 3,
        material: Material::Glass,
        click_action: 1,
        scale: Vec3::new(0.5, 2.0, 64.0),
        shape: Shape::plain(ShapeKind::Torus),
        texture_entry: vec![n as u8; 60].into(),
        texture_animation: vec![1; 16].into(),
        extra_params,
        particles: vec![2; 86].into(),
        hover_text: HoverText { text: "schön".into(), color: [1, 2, 3, 4] },
        media_url: "https://example.org/".into(),
        sound: Some(LoopedSound { id: Uuid::from_u128(5), gain: 0.5, flags: 1, radius_m: 20.0 }),
        names: Names {
            name: "Lamp".into(),
            description: "A lamp".into(),
            touch: "Light".into(),
            sit: "No".into(),
        },
        ownership: Arc::new(Ownership {
            owner: agent(2),
            last_owner: agent(3),
            group: Uuid::from_u128(4),
            ..*plain.body.ownership
        }),
        created_us: 1_700_000_000_000_000 + n as u64,
        sale: Sale { kind: SaleKind::Copy, price: 10 },
        physics: PrimPhysics { shape: PhysicsShape::Convex, density: 500.0, ..PrimPhysics::default() },
        overrides: Some(Arc::new(overrides())),
        sit_target: Some(SitTarget { position: Vec3::new(0.0, 0.5, 1.0), rotation: Quat::IDENTITY }),
        ..(*plain.body).clone()
    };
    VersionedBody { version: 7, body: Arc::new(body) }
}

/// The same with media, whose version is its media address.
pub(crate) fn body_with_media(n: u128) -> VersionedBody {
    let page = MediaEntry { home: "https://example.org/".into(), ..MediaEntry::default() };
    let media = Media::changed(None, vec![None, Some(page)], AgentId(Uuid::from_u128(2))).expect("a page");
    let rich = rich_body(n);
    let body =
        Body { media_url: media.address().into(), media: Some(Arc::new(media)), ..(*rich.body).clone() };
    VersionedBody { body: Arc::new(body), ..rich }
}

/// The same with two items, and data of an archive.
pub(crate) fn body_with_contents(n: u128) -> VersionedBody {
    let rich = rich_body(n);
    let contents = Contents { serial: 9, items: vec![item(1, "Script"), item(2, "Zettel, schön")] };
    let (contents, carried) = (Some(Arc::new(contents)), Some(Arc::new(carried(20))));
    let body = Body { contents, carried, ..(*rich.body).clone() };
    VersionedBody { body: Arc::new(body), ..rich }
}

/// An item of the owner of [`rich_body`] with something in every field.
pub(crate) fn item(n: u128, name: &str) -> Arc<ContentItem> {
    let ownership = *rich_body(n).body.ownership;
    Arc::new(ContentItem {
        id: Uuid::from_u128(n << 64),
        asset: Uuid::from_u128(n << 65),
        asset_type: 10,
        inventory_type: -1,
        name: name.into(),
        description: "Öffnet die Tür".into(),
        flags: 1 << 20,
        ownership,
        sale: Sale { kind: SaleKind::Original, price: 3 },
        created_s: 1_700_000_000,
        carried: carried(3),
    })
}

/// Data of an archive, of this length.
pub(crate) fn carried(len: usize) -> Carried {
    Carried::new(vec![0xA5; len]).expect("few bytes")
}

/// Overrides of one face.
fn overrides() -> MaterialOverrides {
    let mut overrides = MaterialOverrides::default();
    let red = MaterialOverride { base_color: Some([1.0, 0.0, 0.0, 1.0]), ..MaterialOverride::default() };
    overrides.set(2, red).expect("a face");
    overrides
}

/// A root at rest.
pub(crate) fn at(x: f32) -> PrimMotion {
    let motion =
        Motion { position: Vec3::new(x, -0.0, 3.0), rotation: Quat::from_rotation_z(x), ..Motion::default() };
    PrimMotion { motion, ..PrimMotion::NONE }
}

/// A root in motion.
pub(crate) fn moving(x: f32) -> PrimMotion {
    let motion = Motion { velocity: Vec3::X, ..at(x).motion };
    PrimMotion { motion, flags: PrimFlags::PHYSICS, ..PrimMotion::NONE }
}

pub(crate) fn set(id: LocalId, motion: PrimMotion, body: VersionedBody) -> ObjectChange {
    ObjectChange::Set { id, motion, body, mask: ObjectMask::CREATED }
}

pub(crate) fn frame(sequence: u64, objects: Vec<ObjectChange>) -> Frame {
    let at = Instant::from_millis(50 * sequence);
    Frame { world: REGION, sequence, tick: Tick(sequence), at, objects, ..Frame::empty() }
}

/// A world that begins with these objects.
pub(crate) fn world_of(objects: StoredObjects) -> Option<World> {
    World::try_new(WorldConfig { objects: Some(objects), ..world_config() })
}

/// As [`world_of`], with this land.
pub(crate) fn world_with(objects: StoredObjects, land: StoredLand) -> Option<World> {
    World::try_new(WorldConfig { objects: Some(objects), land: Some(land), ..world_config() })
}

fn world_config() -> WorldConfig {
    WorldConfig {
        id: REGION,
        epoch: Epoch(0),
        size_m: 256,
        local_ids: ALL_IDS,
        terrain: Arc::clone(&GROUND),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    }
}

/// A golden file. With `KEEPER_WRITE_GOLDEN=1` a missing one is made of `bytes`; the others are never changed.
pub(crate) fn golden_or_new(name: &str, bytes: &[u8]) -> Vec<u8> {
    let path = golden_directory().join(name);
    if std::env::var_os("KEEPER_WRITE_GOLDEN").is_some() && !path.exists() {
        std::fs::write(&path, bytes).expect("a file in the source tree");
    }
    golden(name)
}

/// A golden file.
pub(crate) fn golden(name: &str) -> Vec<u8> {
    std::fs::read(golden_directory().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn golden_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}
