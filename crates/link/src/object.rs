//! Objects in frames: prims with place and movement, in pages.
//!
//! A page has 256 prims with neighbouring local ids. Its motions and its bodies are apart, each behind `Arc`: a holder that changes neither shares
//! both with all others, in one process. Encoded, a page has its prims one by one.

use crate::motion::Motion;
use glam::{Quat, Vec3};
use ids::LocalId;
use prim::Body;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Prims of a page. Their local ids have the same upper 24 bits.
pub const PAGE_PRIMS: usize = 256;

/// Place, movement and dynamic flags of a prim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimMotion {
    /// From the region's corner for a root, from the root (or the wearing avatar) for others.
    pub motion: Motion,
    /// Root of its linkset, or the wearing avatar; `LocalId(0)` for a root on the ground.
    pub parent: LocalId,
    /// Number in its linkset: 0 for the root, 1 for the first part linked to it.
    pub link_number: u8,
    /// Settings that decide its movement.
    pub flags: PrimFlags,
}

impl PrimMotion {
    /// A root at rest at the corner; also the content of places without a prim.
    pub const NONE: Self = Self {
        motion: Motion {
            position: Vec3::ZERO,
            velocity: Vec3::ZERO,
            acceleration: Vec3::ZERO,
            rotation: Quat::IDENTITY,
            angular_velocity: Vec3::ZERO,
        },
        parent: LocalId(0),
        link_number: 0,
        flags: PrimFlags(0),
    };
}

/// Settings of a prim that decide its movement, in the bits of `UpdateFlags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PrimFlags(pub u32);

impl PrimFlags {
    /// Moved by physics.
    pub const PHYSICS: Self = Self(1);
    /// Runs a script.
    pub const SCRIPTED: Self = Self(1 << 6);
    /// A click touches it.
    pub const TOUCH: Self = Self(1 << 7);
    /// A click pays it.
    pub const MONEY: Self = Self(1 << 9);
    /// Collides with nothing.
    pub const PHANTOM: Self = Self(1 << 10);
    /// Has no contents.
    pub const INVENTORY_EMPTY: Self = Self(1 << 11);
    /// Reports collisions and collides with nothing.
    pub const VOLUME_DETECT: Self = Self(1 << 14);
    /// Found by searches.
    pub const IN_SEARCH: Self = Self(1 << 15);
    /// All users may put items into it.
    pub const ALLOW_DROP: Self = Self(1 << 16);
    /// Vanishes a minute after it was made.
    pub const TEMPORARY: Self = Self(1 << 29);
    /// Those that all prims of a linkset share.
    pub const OF_LINKSET: Self =
        Self(Self::PHYSICS.0 | Self::PHANTOM.0 | Self::VOLUME_DETECT.0 | Self::TEMPORARY.0);

    /// True if any bit of `other` is set.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// With the bits of `mask` as they are in `other`.
    #[must_use]
    pub const fn with(self, mask: Self, other: Self) -> Self {
        Self(self.0 & !mask.0 | other.0 & mask.0)
    }
}

/// A prim's body, and the number of its changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionedBody {
    /// Rises with every change of the body or of its place in a linkset; from 1. Clients' caches compare it, see [`Self::crc`].
    pub version: u32,
    /// Everything but place and movement.
    pub body: Arc<Body>,
}

impl VersionedBody {
    /// `CRC` in messages: a mix of id and version, never 0. The version alone would match the cache entry of another object that had the
    /// same local id before.
    #[must_use]
    pub fn crc(&self) -> u32 {
        let (high, low) = self.body.id.as_u64_pair();
        let mixed = state_hash::mix(high ^ state_hash::mix(low ^ u64::from(self.version)));
        (mixed as u32).max(1)
    }
}

/// Motions of a page, by the low byte of the local id.
pub type PageMotions = [PrimMotion; PAGE_PRIMS];

/// Bodies of a page; `None` where there is no prim.
pub type PageBodies = [Option<VersionedBody>; PAGE_PRIMS];

/// Prims with neighbouring local ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EncodedPage", into = "EncodedPage")]
pub struct ObjectPage {
    /// Local id of its first place, a multiple of [`PAGE_PRIMS`].
    pub first: LocalId,
    /// Places and movements.
    pub motions: Arc<PageMotions>,
    /// Bodies.
    pub bodies: Arc<PageBodies>,
}

impl ObjectPage {
    /// A page without prims. `first` is rounded down to a multiple of [`PAGE_PRIMS`].
    #[must_use]
    pub fn empty(first: LocalId) -> Self {
        Self {
            first: page_of(first),
            motions: Arc::new([PrimMotion::NONE; PAGE_PRIMS]),
            bodies: Arc::new([const { None }; PAGE_PRIMS]),
        }
    }

    /// Prims of the page, in the order of their local ids.
    pub fn prims(&self) -> impl Iterator<Item = (LocalId, &PrimMotion, &VersionedBody)> {
        let places = (self.first.0..).zip(self.motions.iter().zip(&*self.bodies));
        places.filter_map(|(id, (motion, body))| Some((LocalId(id), motion, body.as_ref()?)))
    }
}

/// The local id of the first place on the page of an id.
#[must_use]
pub const fn page_of(LocalId(id): LocalId) -> LocalId {
    LocalId(id & !(PAGE_PRIMS as u32 - 1))
}

/// Index of an id on its page.
#[must_use]
pub const fn index_in_page(LocalId(id): LocalId) -> usize {
    (id % PAGE_PRIMS as u32) as usize
}

/// A page by content.
#[derive(Serialize, Deserialize)]
struct EncodedPage {
    first: LocalId,
    prims: Vec<(u8, PrimMotion, VersionedBody)>,
}

impl From<ObjectPage> for EncodedPage {
    fn from(page: ObjectPage) -> Self {
        let prims = page.prims().map(|(id, motion, body)| (index_in_page(id) as u8, *motion, body.clone()));
        Self { first: page.first, prims: prims.collect() }
    }
}

impl TryFrom<EncodedPage> for ObjectPage {
    type Error = &'static str;

    fn try_from(encoded: EncodedPage) -> Result<Self, &'static str> {
        let mut page = Self::empty(encoded.first);
        if page.first != encoded.first {
            return Err("a page begins at a multiple of 256");
        }
        let (motions, bodies) = (Arc::get_mut(&mut page.motions), Arc::get_mut(&mut page.bodies));
        let (motions, bodies) = motions.zip(bodies).expect("shared with nothing yet");
        for (index, motion, body) in encoded.prims {
            if bodies[usize::from(index)].replace(body).is_some() {
                return Err("two prims at one place of a page");
            }
            motions[usize::from(index)] = motion;
        }
        Ok(page)
    }
}

/// A difference of an object to the tick before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ObjectChange {
    /// Pages as a whole: of a world that has loaded its objects, or of many prims that came at once. They replace pages of the same ids.
    Pages(Vec<ObjectPage>),
    /// A new prim, or one with another body.
    Set {
        /// Its number in messages.
        id: LocalId,
        /// Place and movement.
        motion: PrimMotion,
        /// The new body.
        body: VersionedBody,
        /// The parts that are new.
        mask: ObjectMask,
    },
    /// Another place or movement.
    Moved(LocalId, PrimMotion),
    /// It is gone.
    Removed(LocalId),
}

/// Parts of a prim that have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectMask(pub u16);

impl ObjectMask {
    /// Place, movement.
    pub const MOTION: Self = Self(1);
    /// Shape and size.
    pub const SHAPE: Self = Self(1 << 1);
    /// Texture entry, animation, media.
    pub const TEXTURES: Self = Self(1 << 2);
    /// Extra parameters, particles, sound.
    pub const EXTRA: Self = Self(1 << 3);
    /// Names and hover text.
    pub const TEXT: Self = Self(1 << 4);
    /// Flags, material, owner, permissions, sale.
    pub const FLAGS: Self = Self(1 << 5);
    /// Place in a linkset.
    pub const LINK: Self = Self(1 << 6);
    /// Contents.
    pub const CONTENTS: Self = Self(1 << 7);
    /// A prim that was not there.
    pub const CREATED: Self = Self(u16::MAX);

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if any bit of `other` is set.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{AgentId, Uuid};
    use prim::Shape;

    fn body(n: u128) -> VersionedBody {
        let body = Body::new(Uuid::from_u128(n), Shape::BOX, Arc::default(), AgentId(Uuid::from_u128(1)), 0);
        VersionedBody { version: 1, body: Arc::new(body) }
    }

    fn page() -> ObjectPage {
        let mut page = ObjectPage::empty(LocalId(0x0010_0007));
        for n in [0_usize, 7, 255] {
            Arc::make_mut(&mut page.bodies)[n] = Some(body(n as u128));
            Arc::make_mut(&mut page.motions)[n].motion.position.x = n as f32;
        }
        page
    }

    #[test]
    fn a_page_survives_its_encoding_and_has_its_prims_in_order() {
        let page = page();
        let ids: Vec<u32> = page.prims().map(|(LocalId(id), ..)| id).collect();
        assert_eq!(ids, [0x0010_0000, 0x0010_0007, 0x0010_00FF]);
        let bytes = postcard::to_stdvec(&page).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(page));
    }

    #[test]
    fn damaged_pages_are_refused() {
        let prim = || (7, PrimMotion::NONE, body(7));
        for (first, prims) in [(0x0010_0001, vec![prim()]), (0x0010_0000, vec![prim(), prim()])] {
            let bytes = postcard::to_stdvec(&EncodedPage { first: LocalId(first), prims }).unwrap();
            assert!(postcard::from_bytes::<ObjectPage>(&bytes).is_err(), "{first:x}");
        }
    }

    #[test]
    fn a_crc_is_of_one_version_of_one_object() {
        let crc = |n, version| VersionedBody { version, ..body(n) }.crc();
        assert_eq!(crc(1, 1), crc(1, 1));
        assert_ne!(crc(1, 1), crc(1, 2));
        assert_ne!(crc(1, 1), crc(2, 1));
    }
}
