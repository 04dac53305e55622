//! Static objects of a region: prims that never move, change or vanish while the world lives.
//!
//! Immutable and shared, as the ground is, so that frames omit it: replicas have it from the same place as the world. In each world the
//! prims have the first local ids, in their own order, so that they are the same in every life of it. They do not collide with avatars
//! yet.

use crate::terrain::Terrain;
use glam::{Quat, Vec3};
use ids::Uuid;
use serde::{Deserialize, Serialize};
use state_hash::{StateHasher, mix};
use std::sync::Arc;
use thiserror::Error;

/// High half of the ids of [`Scenery::boxes`].
const BOX_ID_SPACE: u64 = 0x7468_726f_6e67_4002;

/// And of [`Scenery::with_arch`].
const ARCH_ID_SPACE: u64 = 0x7468_726f_6e67_4003;
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
#[serde(try_from = "Vec<StaticObject>", into = "Vec<StaticObject>")]
pub struct Scenery {
    prims: Vec<StaticObject>,
    fingerprint: u64,
}

impl TryFrom<Vec<StaticObject>> for Scenery {
    type Error = SceneryError;

    fn try_from(prims: Vec<StaticObject>) -> Result<Self, SceneryError> {
        Self::new(prims)
    }
}

impl From<Scenery> for Vec<StaticObject> {
    fn from(scenery: Scenery) -> Self {
        scenery.prims
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
        Ok(Self { prims, fingerprint })
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
        let mut prims = self.prims;
        prims.extend(parts.into_iter().map(part));
        Self::new(prims).expect("made of numbers")
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

    /// A number that differs when anything does; a snapshot refers to its static objects by it. 0 for none.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
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
