//! Archives of regions with as many prims and bytes as are wanted: written as a stream, the same for the same plan.
//!
//! A plan's linksets are of the sizes that buildings have: half of them stand alone, the largest have 200 parts. Each tenth prim has a script, each twentieth a
//! notecard, and every third a second texture. Textures are codestreams up to their first tile with noise behind it: servers accept them, and nothing
//! compresses them, as it is with real ones.

use super::failed;
use crate::error::ExperimentError;
use archive::ArchivedKind;
use archive::file::{ArchiveWriteError, ArchiveWriter};
use archive::oar::{
    ArchivedParcel, ArchivedSettings, OarControl, OarRegion, OarWriter, RegionSize, TerrainHeights,
};
use archive::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, write_group};
use bots::carry::Content;
use bots::carry::item_row::{NOTECARD, SCRIPT, TEXTURE};
use bots::rng::Rng;
use glam::{Quat, Vec3};
use ids::{AgentId, Uuid};
use prim::{Body, Carried, ContentItem, Contents, Names, Ownership, Permissions, Sale, Shape};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use wire::texture_entry::{Face, TextureEntry};

/// Level of compression, the usual one of gzip.
const LEVEL: u32 = 6;
/// Share of linksets, and their parts, least and most.
const LINKSETS: [(f64, u32, u32); 4] = [(0.5, 1, 1), (0.35, 2, 16), (0.12, 17, 64), (0.03, 65, 200)];
/// Prims for each script, and each notecard in prims; assets of scripts.
const PRIMS_PER_SCRIPT: u32 = 10;
const PRIMS_PER_NOTE: u32 = 20;
const PRIMS_PER_SCRIPT_ASSET: u32 = 100;
/// Prims for each second texture.
const PRIMS_PER_FACE: u32 = 3;
/// Bytes of the smallest texture.
const TEXTURE_BYTES_MIN: usize = 600;
/// Bytes of a header, and the unit of contents, in a tar file.
const BLOCK: u64 = 512;
/// Metres of a region's side, and of its ground.
const SIDE_M: u32 = 256;
const GROUND_M: f32 = 21.0;
/// Places of roots along each axis, and of the other parts from their roots, metres.
const PLACES_M: [(f32, f32); 3] = [(10.0, 246.0), (10.0, 246.0), (25.0, 60.0)];
const PART_OFFSET_M: f32 = 8.0;
/// Edges of a prim, metres.
const EDGE_M: (f32, f32) = (0.1, 8.0);
/// Time of the making of everything, seconds and microseconds since 1970.
const CREATED_S: i32 = 1_300_000_000;
const CREATED_US: u64 = 1_300_000_000_000_000;
/// Folder of the region in an archive of several.
const FOLDER: &str = "1_1_Field";

/// Upper halves of ids, and the beginning of lower halves: the variant of random ids.
const TEXTURES: u64 = 0x6f61_7200_0000_4000;
const SCRIPTS: u64 = 0x6f61_7200_0001_4000;
const NOTES: u64 = 0x6f61_7200_0002_4000;
const PRIMS: u64 = 0x6f61_7200_0003_4000;
const ITEMS: u64 = 0x6f61_7200_0004_4000;
const OTHERS: u64 = 0x6f61_7200_0005_4000;
const VARIANT: u64 = 0x8000_0000_0000_0000;

/// A plan of an archive.
#[derive(Clone, Copy, Debug)]
pub(in crate::keep) struct OarPlan {
    pub(in crate::keep) version: (u32, u32),
    /// Owner and creator of everything.
    pub(in crate::keep) owner: Uuid,
    pub(in crate::keep) n_prims: u32,
    pub(in crate::keep) n_textures: u32,
    /// Bytes of the uncompressed archive with its assets, about; textures have the smallest size if that is too few.
    pub(in crate::keep) bytes: u64,
    pub(in crate::keep) has_assets: bool,
    /// Archives of different seeds have no id in common. Less than 4,096.
    pub(in crate::keep) seed: u64,
}

/// An archive that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::keep) struct WrittenOar {
    pub(in crate::keep) n_objects: u64,
    pub(in crate::keep) n_assets: u64,
}

/// Writes an archive.
pub(in crate::keep) fn write_oar(path: &Path, plan: &OarPlan) -> Result<WrittenOar, ExperimentError> {
    let file =
        File::create(path).map_err(|source| ExperimentError::File { path: path.to_owned(), source })?;
    let archive = ArchiveWriter::gzip(BufWriter::new(file), LEVEL);
    write(archive, plan).map_err(|why| failed(path, why))
}

fn write(archive: ArchiveWriter<BufWriter<File>>, plan: &OarPlan) -> Result<WrittenOar, ArchiveWriteError> {
    let mut writer = OarWriter::begin(archive, &control(plan))?;
    let region = (plan.version.0 == 1).then_some(FOLDER);
    if plan.version >= (0, 2) {
        let settings = ArchivedSettings { water_m: 19.0, ..ArchivedSettings::default() };
        writer.settings(region, "Field", &settings)?;
    }
    if plan.version >= (0, 3) {
        writer.parcel(region, &parcel(plan))?;
    }
    let heights = (0..SIDE_M * SIDE_M).map(|n| GROUND_M + (n % SIDE_M) as f32 / 64.0).collect::<Vec<_>>();
    let mut bytes = entry_bytes(heights.len() * size_of::<f32>());
    writer.terrain(region, "Field", &TerrainHeights { width: SIDE_M, depth: SIDE_M, heights })?;

    let mut written = WrittenOar::default();
    let mut objects = ObjectMaker::new(plan);
    while let Some(group) = objects.next_group() {
        let document = write_group(&group, &WriteOptions::default());
        let (body, at) = (&group.root.body, group.root.place.position.to_array());
        writer.object(region, (&*body.names.name, at, body.id), &document)?;
        bytes += entry_bytes(document.len());
        written.n_objects += 1;
    }
    if plan.has_assets {
        written.n_assets = write_assets(&mut writer, plan, plan.bytes.saturating_sub(bytes))?;
    }
    writer.finish()?.flush()?;
    Ok(written)
}

/// Writes all assets; their number. Textures have this number of bytes together, about.
fn write_assets(
    writer: &mut OarWriter<BufWriter<File>>,
    plan: &OarPlan,
    bytes: u64,
) -> Result<u64, ArchiveWriteError> {
    let kind = |number| ArchivedKind::from_number(number).expect("archives have these kinds");
    let mut rng = Rng::new(plan.seed, 1);
    let mean = bytes as f64 / f64::from(plan.n_textures.max(1)) - BLOCK as f64;
    for texture in plan.textures() {
        // From half of the mean to one and a half.
        let n_bytes = (mean * (0.5 + rng.unit())) as usize;
        let content = Content::texture(&mut rng, n_bytes.max(TEXTURE_BYTES_MIN));
        writer.asset(texture, kind(TEXTURE), &content.bytes)?;
    }
    let n_scripts = plan.n_scripts();
    for n in 0..n_scripts {
        writer.asset(plan.id(SCRIPTS, n), kind(SCRIPT), &Content::script(&mut rng).bytes)?;
    }
    writer.asset(plan.id(NOTES, 0), kind(NOTECARD), &Content::notecard(&mut rng).bytes)?;
    Ok(u64::from(plan.n_textures + n_scripts + 1))
}

/// Bytes of a file in a tar file, with its header.
const fn entry_bytes(len: usize) -> u64 {
    BLOCK + (len as u64).next_multiple_of(BLOCK)
}

impl OarPlan {
    fn id(&self, space: u64, n: u32) -> Uuid {
        Uuid::from_u64_pair(space | self.seed, VARIANT | u64::from(n))
    }

    const fn n_scripts(&self) -> u32 {
        self.n_prims / PRIMS_PER_SCRIPT_ASSET + 1
    }

    /// Its textures.
    pub(in crate::keep) fn textures(&self) -> impl Iterator<Item = Uuid> {
        (0..self.n_textures).map(|n| self.id(TEXTURES, n))
    }
}

fn control(plan: &OarPlan) -> OarControl {
    let size_m = RegionSize { width_m: SIDE_M, depth_m: SIDE_M };
    let region = plan.id(OTHERS, 1);
    let mut control = if plan.version.0 == 1 {
        let row =
            OarRegion { id: region, directory: FOLDER.into(), size_m: Some(size_m), ..OarRegion::default() };
        OarControl::multiple(vec![vec![Some(row)]], CREATED_S.into())
    } else {
        OarControl::single(region, size_m, CREATED_S.into())
    };
    control.version = plan.version;
    control
}

fn parcel(plan: &OarPlan) -> ArchivedParcel {
    ArchivedParcel {
        id: plan.id(OTHERS, 2),
        local_id: 1,
        name: "Quay".to_owned(),
        owner: plan.owner,
        bitmap: vec![0xFF; 512],
        area_m2: 65_536,
        landing_type: 2,
        claimed_s: CREATED_S,
        ..ArchivedParcel::default()
    }
}

/// Makes the objects of a plan, one after the other.
pub(in crate::keep) struct ObjectMaker<'a> {
    plan: &'a OarPlan,
    rng: Rng,
    /// Prims so far.
    n_made: u32,
}

impl<'a> ObjectMaker<'a> {
    pub(in crate::keep) fn new(plan: &'a OarPlan) -> Self {
        Self { plan, rng: Rng::new(plan.seed, 0), n_made: 0 }
    }

    /// The next linkset; none once all prims are made.
    pub(in crate::keep) fn next_group(&mut self) -> Option<SceneGroup> {
        let left = self.plan.n_prims - self.n_made;
        let n_parts = self.linkset_len().min(left);
        if n_parts == 0 {
            return None;
        }
        let place = PLACES_M.map(|(low, high)| self.rng.between(low, high));
        let root = self.part(Vec3::from_array(place));
        let others = (1..n_parts).map(|_| {
            let offset = [(); 3].map(|()| self.rng.within(PART_OFFSET_M));
            self.part(Vec3::from_array(offset))
        });
        Some(SceneGroup { others: others.collect(), root })
    }

    /// All prims of a small plan as one linkset, without items.
    pub(in crate::keep) fn bare_group(mut self) -> SceneGroup {
        let mut parts = (0..self.plan.n_prims.max(1)).map(|n| {
            let ScenePart { place, flags, body } = self.part(Vec3::splat(n as f32));
            let body = Body { contents: None, ..Body::clone(&body) };
            ScenePart { place, flags, body: Arc::new(body) }
        });
        let root = parts.next().expect("one at least");
        SceneGroup { root, others: parts.collect() }
    }

    fn linkset_len(&mut self) -> u32 {
        let mut share = self.rng.unit();
        let class = LINKSETS.iter().find(|(of_all, ..)| {
            share -= of_all;
            share < 0.0
        });
        // Rounding may leave a rest.
        let &(_, least, most) = class.unwrap_or(&LINKSETS[0]);
        least + (self.rng.unit() * f64::from(most - least + 1)) as u32
    }

    fn part(&mut self, position: Vec3) -> ScenePart {
        let n = self.n_made;
        self.n_made += 1;
        let rotation = Quat::from_rotation_z(self.rng.between(0.0, std::f32::consts::TAU));
        let scale = Vec3::from_array([(); 3].map(|()| self.rng.between(EDGE_M.0, EDGE_M.1)));
        let (id, owner) = (self.plan.id(PRIMS, n), AgentId(self.plan.owner));
        let body = Body {
            scale,
            names: Names { name: format!("Part {n}").into(), ..Names::default() },
            contents: self.contents(n),
            ..Body::new(id, Shape::BOX, self.texture_entry(n).into(), owner, CREATED_US)
        };
        let place = PartPlace { position, rotation, ..PartPlace::default() };
        ScenePart { place, flags: 0, body: Arc::new(body) }
    }

    /// Textures are named in turn, so that each is named.
    fn texture_entry(&mut self, n: u32) -> Vec<u8> {
        let plan = self.plan;
        let texture = |n: u32| plan.id(TEXTURES, n % plan.n_textures.max(1));
        let faces = if n.is_multiple_of(PRIMS_PER_FACE) {
            BTreeMap::from([(1, Face::plain(texture((self.rng.next() >> 40) as u32)))])
        } else {
            BTreeMap::new()
        };
        TextureEntry { default: Face::plain(texture(n)), faces }.encode()
    }

    fn contents(&self, n: u32) -> Option<Arc<Contents>> {
        let mut items = Vec::new();
        if n.is_multiple_of(PRIMS_PER_SCRIPT) {
            let asset = self.plan.id(SCRIPTS, n / PRIMS_PER_SCRIPT % self.plan.n_scripts());
            items.push(self.item(2 * n, "Script", asset, SCRIPT));
        }
        if n.is_multiple_of(PRIMS_PER_NOTE) {
            items.push(self.item(2 * n + 1, "Read me", self.plan.id(NOTES, 0), NOTECARD));
        }
        (!items.is_empty()).then(|| Arc::new(Contents { serial: 1, items }))
    }

    fn item(&self, n: u32, name: &str, asset: Uuid, asset_type: i8) -> Arc<ContentItem> {
        let owner = AgentId(self.plan.owner);
        Arc::new(ContentItem {
            id: self.plan.id(ITEMS, n),
            asset,
            asset_type,
            inventory_type: asset_type,
            name: name.into(),
            description: "".into(),
            flags: 0,
            ownership: Ownership {
                creator: owner,
                owner,
                last_owner: owner,
                group: Uuid::nil(),
                permissions: Permissions::NEW,
            },
            sale: Sale::default(),
            created_s: CREATED_S.into(),
            carried: Carried::default(),
        })
    }
}
