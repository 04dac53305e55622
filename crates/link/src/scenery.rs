//! Static objects of a region: prims that never move, change or vanish while the world lives.
//!
//! Immutable and shared, as the ground is, so that frames omit it: replicas have it from the same place as the world. In each world the
//! prims have the first local ids, in their own order, so that they are the same in every life of it. They do not collide with avatars
//! yet.
//!
//! Boxes and arches are made here. Content comes from a file, and each of its prims has a whole [`Body`]; a world knows no more of it than of a box, and
//! clients are shown all of it.

use crate::terrain::Terrain;
use glam::{Quat, Vec3};
use ids::Uuid;
use prim::Body;
use serde::{Deserialize, Serialize};
use state_hash::{StateHasher, mix};
use std::sync::Arc;
use thiserror::Error;

/// High half of the ids of [`Scenery::boxes`].
const BOX_ID_SPACE: u64 = 0x7468_726f_6e67_4002;

/// And of [`Scenery::with_arch`].
const ARCH_ID_SPACE: u64 = 0x7468_726f_6e67_4003;
/// And of [`Scenery::with_content`].
const CONTENT_ID_SPACE: u64 = 0x7468_726f_6e67_4004;
/// Height of an arch's posts, and how thick its parts are, metres.
const ARCH_HEIGHT_M: f32 = 3.0;
const ARCH_THICK_M: f32 = 0.4;

/// True if an object with this id is part of an arch, see [`Scenery::with_arch`].
#[must_use]
pub const fn is_arch(object: Uuid) -> bool {
    object.as_u64_pair().0 == ARCH_ID_SPACE
}

/// A plain cube's textures: plywood.
const PLYWOOD: [u8; 47] = plain_texture(ids::PLYWOOD_TEXTURE.as_u128());

/// A texture entry with one white texture on every face, one repeat in each direction.
#[must_use]
pub const fn plain_texture(texture: u128) -> [u8; 47] {
    let mut entry = [0; 47];
    let texture = texture.to_be_bytes();
    let mut at = 0;
    while at < 16 {
        entry[at] = texture[at];
        at += 1;
    }
    // Colours are inverted, so white is zeros; then 1.0 and 1.0, the repeats.
    (entry[24], entry[25]) = (0x80, 0x3f);
    (entry[29], entry[30]) = (0x80, 0x3f);
    entry
}

/// A prim that stands in a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StaticObject {
    /// Centre, metres from the region's corner.
    pub position: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Shape and textures.
    pub prim: Prim,
}

/// The visible state of a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prim {
    /// Its id in every region; `FullID` in messages.
    pub id: Uuid,
    /// Size along each axis, in metres.
    pub scale: Vec3,
    /// Its textures in the protocol's encoding.
    pub texture_entry: Arc<[u8]>,
}

impl Prim {
    /// Bytes of textures that a message can carry beside the rest of the object.
    pub const TEXTURE_ENTRY_MAX: usize = 900;
}

/// Everything that stands in a region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EncodedScenery", into = "EncodedScenery")]
pub struct Scenery {
    prims: Vec<StaticObject>,
    /// Ids of all prims with their numbers, sorted: clients name objects by their ids.
    numbers: Vec<(Uuid, u32)>,
    fingerprint: u64,
    /// Number of the first prim of the content.
    content_begin: usize,
    /// Bodies of the content, in the order of its prims.
    content: Vec<Arc<Body>>,
    content_fingerprint: u64,
}

/// A prim of the content: its centre, metres from the region's corner, its rotation, and its body.
pub type PlacedBody = (Vec3, Quat, Arc<Body>);

/// Scenery by content.
#[derive(Serialize, Deserialize)]
struct EncodedScenery {
    prims: Vec<StaticObject>,
    content_begin: u32,
    content: Vec<Arc<Body>>,
}

impl TryFrom<EncodedScenery> for Scenery {
    type Error = SceneryError;

    fn try_from(encoded: EncodedScenery) -> Result<Self, SceneryError> {
        let scenery = Self::new(encoded.prims)?;
        scenery.with_bodies(encoded.content_begin as usize, encoded.content)
    }
}

impl From<Scenery> for EncodedScenery {
    fn from(scenery: Scenery) -> Self {
        let Scenery { prims, content_begin, content, .. } = scenery;
        Self { prims, content_begin: content_begin as u32, content }
    }
}

/// Reasons to refuse prims as scenery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SceneryError {
    /// A place, a turn or a size that is none.
    #[error("object {0} stands nowhere: its place, turn or size is not a number")]
    NotANumber(usize),
    /// Textures that no message can carry.
    #[error("the textures of object {0} are longer than {max} bytes", max = Prim::TEXTURE_ENTRY_MAX)]
    TextureEntry(usize),
    /// A body with a field that no object can have.
    #[error("object {0} has a field that no object can have")]
    Body(usize),
    /// More bodies than prims.
    #[error("content of {bodies} objects among {prims}")]
    Content {
        /// Number of bodies.
        bodies: usize,
        /// Number of prims from the first one of the content on.
        prims: usize,
    },
}

impl Scenery {
    /// Takes prims in the order of their local ids.
    ///
    /// # Errors
    /// [`SceneryError`] with the first prim that cannot be.
    pub fn new(prims: Vec<StaticObject>) -> Result<Self, SceneryError> {
        let mut hasher = StateHasher::new();
        for (index, StaticObject { position, rotation, prim }) in prims.iter().enumerate() {
            if !position.is_finite() || !rotation.is_normalized() || !prim.scale.is_finite() {
                return Err(SceneryError::NotANumber(index));
            }
            if prim.texture_entry.len() > Prim::TEXTURE_ENTRY_MAX {
                return Err(SceneryError::TextureEntry(index));
            }
            hasher.bytes(prim.id.as_bytes());
            hasher.vec3(*position);
            hasher.quat(*rotation);
            hasher.vec3(prim.scale);
            hasher.bytes(&prim.texture_entry);
        }
        let fingerprint = if prims.is_empty() { 0 } else { hasher.finish() };
        let mut numbers: Vec<(Uuid, u32)> = prims.iter().map(|object| object.prim.id).zip(0..).collect();
        numbers.sort_unstable();
        Ok(Self { prims, numbers, fingerprint, ..Self::default() })
    }

    /// With content behind everything else. Its prims get ids of their own: the region that the content comes from may be on the same grid. A
    /// rotation without direction becomes none.
    ///
    /// # Errors
    /// [`SceneryError::NotANumber`], [`SceneryError::Body`], with the number of the first prim that cannot be.
    ///
    /// # Panics
    /// If there is content already.
    pub fn with_content(self, content: Vec<PlacedBody>) -> Result<Self, SceneryError> {
        assert!(self.content.is_empty(), "a world has content from one file");
        let content_begin = self.prims.len();
        let mut prims = self.prims;
        let mut bodies = Vec::with_capacity(content.len());
        for (position, rotation, body) in content {
            let (high, low) = body.id.as_u64_pair();
            let id = Uuid::from_u64_pair(CONTENT_ID_SPACE, mix(high ^ mix(low)));
            let has_direction = rotation.is_finite() && rotation.length_squared() > 1e-6;
            let rotation = if has_direction { rotation.normalize() } else { Quat::IDENTITY };
            // The textures are in the body.
            let prim = Prim { id, scale: body.scale, texture_entry: Arc::default() };
            prims.push(StaticObject { position, rotation, prim });
            bodies.push(Arc::new(Body { id, ..(*body).clone() }));
        }
        Self::new(prims)?.with_bodies(content_begin, bodies)
    }

    fn with_bodies(self, content_begin: usize, content: Vec<Arc<Body>>) -> Result<Self, SceneryError> {
        let behind = self.prims.get(content_begin..).unwrap_or_default();
        if content.len() > behind.len() {
            return Err(SceneryError::Content { bodies: content.len(), prims: behind.len() });
        }
        let mut hasher = StateHasher::new();
        for (body, index) in content.iter().zip(content_begin..) {
            if Body::clone(body).checked().as_ref() != Ok(&**body) {
                return Err(SceneryError::Body(index));
            }
            body.fold_into(&mut hasher);
        }
        let content_fingerprint = if content.is_empty() { 0 } else { hasher.finish() };
        Ok(Self { content_begin, content, content_fingerprint, ..self })
    }

    /// `count` boxes of 0.3–1.2 m, scattered evenly over the ground, for measurements. A seed always gives the same scenery.
    #[must_use]
    pub fn boxes(count: u32, terrain: &Terrain, seed: u64) -> Self {
        let texture_entry: Arc<[u8]> = PLYWOOD.into();
        let size_m = terrain.size_m() as f32;
        let place = |n: u32| {
            let mut random = mix(seed ^ u64::from(n) << 32);
            // 24 bits are what a float holds exactly.
            let mut share = || {
                random = mix(random);
                (random >> 40) as f32 / (1u32 << 24) as f32
            };
            let (x, y, edge) = (share() * size_m, share() * size_m, 0.3 + 0.9 * share());
            // A turn about the upright axis without a sine: half the way round the circle by its chord.
            let (cosine, sine) = (share(), share() * 2.0 - 1.0);
            StaticObject {
                position: Vec3::new(x, y, terrain.height(x, y) + edge / 2.0),
                rotation: Quat::from_xyzw(0.0, 0.0, sine, cosine + 0.01).normalize(),
                prim: Prim {
                    id: Uuid::from_u64_pair(BOX_ID_SPACE, mix(seed).wrapping_add(u64::from(n))),
                    scale: Vec3::splat(edge),
                    texture_entry: Arc::clone(&texture_entry),
                },
            }
        };
        Self::new((0..count).map(place).collect()).expect("made of numbers")
    }

    /// With an arch around a place on the ground, `half_width_m` to either side: the visible mark of a portal.
    #[must_use]
    pub fn with_arch(self, at: Vec3, half_width_m: f32) -> Self {
        let n = self.prims.len() as u64;
        let part = |(part, offset, scale): (u64, Vec3, Vec3)| StaticObject {
            position: at + offset,
            rotation: Quat::IDENTITY,
            prim: Prim {
                id: Uuid::from_u64_pair(ARCH_ID_SPACE, (n << 2) + part),
                scale,
                texture_entry: PLYWOOD.into(),
            },
        };
        let post = Vec3::new(ARCH_THICK_M, ARCH_THICK_M, ARCH_HEIGHT_M);
        let beam = Vec3::new(ARCH_THICK_M, 2.0 * half_width_m + ARCH_THICK_M, ARCH_THICK_M);
        let parts = [
            (0, Vec3::new(0.0, -half_width_m, ARCH_HEIGHT_M / 2.0), post),
            (1, Vec3::new(0.0, half_width_m, ARCH_HEIGHT_M / 2.0), post),
            (2, Vec3::new(0.0, 0.0, ARCH_HEIGHT_M + ARCH_THICK_M / 2.0), beam),
        ];
        let Self { mut prims, content_begin, content, .. } = self;
        prims.extend(parts.into_iter().map(part));
        let with_arch = Self::new(prims).expect("made of numbers");
        with_arch.with_bodies(content_begin, content).expect("there are more prims than before")
    }

    /// Everything, in the order of local ids.
    #[must_use]
    pub fn prims(&self) -> &[StaticObject] {
        &self.prims
    }

    /// Number of prims.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.prims.len()
    }

    /// True without prims.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.prims.is_empty()
    }

    /// Body of a prim of the content, by its number among all prims; `None` for boxes and arches.
    #[must_use]
    pub fn body(&self, index: usize) -> Option<&Arc<Body>> {
        self.content.get(index.checked_sub(self.content_begin)?)
    }

    /// Number of the first prim with this id.
    #[must_use]
    pub fn index_of(&self, id: Uuid) -> Option<usize> {
        let at = self.numbers.partition_point(|(other, _)| *other < id);
        self.numbers.get(at).filter(|(other, _)| *other == id).map(|(_, number)| *number as usize)
    }

    /// A number that differs when places, sizes or boxes do; a snapshot refers to its static objects by it. 0 for none.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// A number that differs when the looks of the content do, which no world knows. 0 without content.
    #[must_use]
    pub const fn content_fingerprint(&self) -> u64 {
        self.content_fingerprint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_stand_on_the_ground_all_over_the_region() {
        let terrain = Terrain::hills(256, 1);
        let boxes = Scenery::boxes(2_000, &terrain, 1);
        let mut quarters = [0; 4];
        for StaticObject { position, prim, .. } in boxes.prims() {
            assert_eq!(position.z, terrain.height(position.x, position.y) + prim.scale.z / 2.0);
            quarters[usize::from(position.x >= 128.0) + 2 * usize::from(position.y >= 128.0)] += 1;
        }
        assert!(quarters.iter().all(|n| (400..600).contains(n)), "{quarters:?}");
    }

    #[test]
    fn a_seed_names_one_scenery() {
        let terrain = Terrain::flat(256, 21.0);
        assert_eq!(Scenery::boxes(100, &terrain, 1), Scenery::boxes(100, &terrain, 1));
        assert_ne!(
            Scenery::boxes(100, &terrain, 1).fingerprint(),
            Scenery::boxes(100, &terrain, 2).fingerprint()
        );
        assert_eq!(Scenery::boxes(0, &terrain, 2), Scenery::default());
    }

    #[test]
    fn a_prim_is_found_by_its_id() {
        let boxes = Scenery::boxes(300, &Terrain::flat(256, 21.0), 1).with_arch(Vec3::ZERO, 2.0);
        let mut prims = boxes.prims().to_vec();
        prims.push(prims[17].clone());
        let twice = Scenery::new(prims).unwrap();
        for (number, object) in boxes.prims().iter().enumerate() {
            let found = [boxes.index_of(object.prim.id), twice.index_of(object.prim.id)];
            assert_eq!(found, [Some(number); 2], "the first of two");
        }
        assert_eq!(boxes.index_of(Uuid::nil()), None);
        assert_eq!(Scenery::default().index_of(Uuid::nil()), None);
    }

    #[test]
    fn arches_have_ids_of_their_own_and_leave_the_rest_where_it_is() {
        let terrain = Terrain::flat(256, 21.0);
        let (boxes, at) = (Scenery::boxes(10, &terrain, 1), Vec3::new(30.0, 40.0, 21.0));
        let with = boxes.clone().with_arch(at, 2.0).with_arch(at + Vec3::X, 2.0);
        assert_eq!(with.prims()[..10], *boxes.prims());
        assert_eq!(with.len(), 16);
        let mut ids: Vec<_> = with.prims().iter().map(|standing| standing.prim.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 16);
        assert!(with.prims()[10..].iter().all(|part| part.position.z - part.prim.scale.z / 2.0 >= 21.0));
    }

    #[test]
    fn content_stands_behind_the_boxes_under_ids_of_its_own() {
        let terrain = Terrain::flat(256, 21.0);
        let boxes = Scenery::boxes(3, &terrain, 1);
        let owner = ids::AgentId(Uuid::from_u128(1));
        let body =
            |n| Arc::new(Body::new(Uuid::from_u128(n), prim::Shape::BOX, Arc::new([7; 2_000]), owner, 0));
        let content =
            vec![(Vec3::ONE, Quat::IDENTITY, body(7)), (Vec3::X, Quat::from_array([0.0; 4]), body(8))];
        let with = boxes.clone().with_content(content.clone()).unwrap();
        assert_eq!((with.prims()[..3].to_vec(), with.len()), (boxes.prims().to_vec(), 5));
        assert!((0..3).all(|index| with.body(index).is_none()) && with.body(5).is_none());
        let first = with.body(3).unwrap();
        assert_eq!((first.id, first.scale), (with.prims()[3].prim.id, with.prims()[3].prim.scale));
        assert_ne!(first.id, Uuid::from_u128(7));
        assert_eq!(with.index_of(first.id), Some(3));
        assert_eq!(with.prims()[4].rotation, Quat::IDENTITY);
        // An arch behind it moves none of it.
        let arched = with.clone().with_arch(Vec3::splat(30.0), 2.0);
        assert_eq!((arched.body(3), arched.body(5)), (with.body(3), None));
        // Looks are in a fingerprint of their own.
        let mut hollow = content;
        Arc::make_mut(&mut hollow[0].2).shape.profile_hollow = 9;
        let hollow = boxes.clone().with_content(hollow).unwrap();
        assert_eq!(hollow.fingerprint(), with.fingerprint());
        assert_ne!(hollow.content_fingerprint(), with.content_fingerprint());
        assert_eq!(boxes.content_fingerprint(), 0);
        let bytes = postcard::to_stdvec(&with).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(with));
        let lost = vec![(Vec3::NAN, Quat::IDENTITY, body(7))];
        assert_eq!(boxes.with_content(lost), Err(SceneryError::NotANumber(3)));
    }

    #[test]
    fn more_bodies_than_prims_are_refused() {
        let body = Body::new(Uuid::nil(), prim::Shape::BOX, Arc::default(), ids::AgentId(Uuid::nil()), 0);
        let encoded = EncodedScenery { prims: Vec::new(), content_begin: 0, content: vec![Arc::new(body)] };
        let bytes = postcard::to_stdvec(&encoded).unwrap();
        assert!(postcard::from_bytes::<Scenery>(&bytes).is_err());
    }

    #[test]
    fn prims_that_cannot_be_are_refused() {
        let prims = Scenery::boxes(3, &Terrain::flat(256, 21.0), 1).prims().to_vec();
        let mut lost = prims.clone();
        lost[1].position.x = f32::NAN;
        assert_eq!(Scenery::new(lost), Err(SceneryError::NotANumber(1)));
        let mut long = prims;
        long[2].prim.texture_entry = vec![0; Prim::TEXTURE_ENTRY_MAX + 1].into();
        assert_eq!(Scenery::new(long), Err(SceneryError::TextureEntry(2)));
    }
}
