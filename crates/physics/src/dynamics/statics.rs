//! Prims and patches of ground near bodies, each once, for as long as a body needs it.
//!
//! Prims stay for some time after that: bodies that are thrown about come back to the same ones, and hulls and meshes are expensive to make.
//!
//! Asking again for a prim or a patch that has not changed changes nothing, also in rapier: a restored region may ask for all of them.

use super::engine::Engine;
use super::neighbourhood::{Neighbourhood, PrimSurface};
use crate::bounds::Aabb;
use crate::colliders::{Collider, ColliderKind};
use ids::LocalId;
use rapier3d::prelude::ColliderHandle;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::collections::BTreeMap;

/// Width of a patch of ground, metres.
const PATCH_M: u32 = 16;
/// Prims without users are trimmed when n_unused > n_used + this.
const UNUSED_MIN: usize = 64;

/// Prims and ground that rapier has.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Statics {
    prims: BTreeMap<LocalId, StaticPrim>,
    /// By column and row.
    ground: BTreeMap<(u8, u8), StaticPatch>,
    /// Version of the ground as of the last look at it. None after a restart, whose ground counts anew.
    #[serde(skip)]
    ground_version: Option<u64>,
    /// Cache: highest point of each patch that was asked for, as of `ground_version`.
    #[serde(skip)]
    tops: BTreeMap<(u8, u8), f32>,
    /// A prim has lost its last user, or one with users was removed, since [`Self::trim`] counted. True after a restore: an extra count changes nothing.
    #[serde(skip, default = "due")]
    is_count_due: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct StaticPrim {
    /// None for a form that rapier does not take.
    handle: Option<ColliderHandle>,
    /// Hash of form, place and surface.
    hash: u64,
    /// Number of bodies that need it. With 0 no body reaches it, and it is compared with the store when that changes.
    users: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct StaticPatch {
    handle: ColliderHandle,
    /// Hash of its heights.
    hash: u64,
    users: u32,
}

impl Statics {
    /// Brings a prim up to date. `is_new` counts one more user.
    pub(super) fn hold(
        &mut self,
        id: LocalId,
        is_new: bool,
        collider: &Collider,
        surface: &PrimSurface,
        engine: &mut Engine,
    ) {
        let hash = hash_of(collider, surface);
        match self.prims.get_mut(&id) {
            Some(known) => {
                known.users += u32::from(is_new);
                if known.hash != hash {
                    known.handle.take().into_iter().for_each(|former| engine.remove_static(former));
                    (known.handle, known.hash) = (engine.add_prim(id, collider, surface), hash);
                }
            }
            None => {
                let handle = engine.add_prim(id, collider, surface);
                self.prims.insert(id, StaticPrim { handle, hash, users: 1 });
            }
        }
    }

    /// Gives up one use of a prim.
    pub(super) fn release(&mut self, id: LocalId) {
        if let Some(known) = self.prims.get_mut(&id) {
            known.users -= 1;
            self.is_count_due |= known.users == 0;
        }
    }

    /// Takes a prim without users out if it is another one now, or gone.
    pub(super) fn check_unused(&mut self, id: LocalId, scene: &dyn Neighbourhood, engine: &mut Engine) {
        let Some(known) = self.prims.get(&id).filter(|known| known.users == 0) else { return };
        let colliders = scene.colliders();
        let solid = colliders.slot_of(id).filter(|&slot| colliders.label(slot).1 == ColliderKind::Solid);
        let hash =
            solid.zip(scene.surface(id)).map(|(slot, surface)| hash_of(colliders.collider(slot), &surface));
        if hash != Some(known.hash) {
            self.expel(id, engine);
        }
    }

    /// Checks all prims without users.
    pub(super) fn check_all_unused(&mut self, scene: &dyn Neighbourhood, engine: &mut Engine) {
        let unused: Vec<LocalId> = self.unused().collect();
        unused.into_iter().for_each(|id| self.check_unused(id, scene, engine));
    }

    /// Takes out prims without users if there are too many: half of them, the first ones by id.
    pub(super) fn trim(&mut self, engine: &mut Engine) {
        if !std::mem::take(&mut self.is_count_due) {
            return;
        }
        let n_unused = self.unused().count();
        if n_unused > UNUSED_MIN + (self.prims.len() - n_unused) {
            let leaving: Vec<LocalId> = self.unused().take(n_unused / 2).collect();
            for id in leaving {
                self.expel(id, engine);
            }
        }
    }

    fn unused(&self) -> impl Iterator<Item = LocalId> {
        self.prims.iter().filter(|(_, known)| known.users == 0).map(|(id, _)| *id)
    }

    /// Takes a prim out, whatever its users; false if it is not there.
    pub(super) fn expel(&mut self, id: LocalId, engine: &mut Engine) -> bool {
        let Some(known) = self.prims.remove(&id) else { return false };
        self.is_count_due |= known.users > 0;
        known.handle.into_iter().for_each(|handle| engine.remove_static(handle));
        true
    }

    /// Patches of ground that reach into a box or above it, ascending.
    pub(super) fn patches_at(
        &mut self,
        area: &Aabb,
        scene: &dyn Neighbourhood,
        size_m: u32,
        found: &mut Vec<(u8, u8)>,
    ) {
        found.clear();
        let side = size_m / PATCH_M;
        // Casts of floats saturate.
        let range = |low: f32, high: f32| {
            let patch = |at: f32| (at / PATCH_M as f32).floor();
            (patch(low).max(0.0) as u32, (patch(high) + 1.0).clamp(0.0, side as f32) as u32)
        };
        let (columns, rows) = (range(area.low.x, area.high.x), range(area.low.y, area.high.y));
        for column in columns.0..columns.1 {
            let at = (rows.0..rows.1).map(|row| (column as u8, row as u8));
            found.extend(at.filter(|&at| {
                let top = self.tops.entry(at).or_insert_with(|| patch_top(at, scene));
                *top >= area.low.z
            }));
        }
    }

    /// Adds one use of a patch of ground.
    pub(super) fn hold_patch(&mut self, at: (u8, u8), scene: &dyn Neighbourhood, engine: &mut Engine) {
        if let Some(known) = self.ground.get_mut(&at) {
            known.users += 1;
            return;
        }
        let (handle, hash) = (add_patch(at, scene, engine), patch_hash(at, scene));
        self.ground.insert(at, StaticPatch { handle, hash, users: 1 });
    }

    /// Gives up one use of a patch of ground.
    pub(super) fn release_patch(&mut self, at: (u8, u8), engine: &mut Engine) {
        let Some(known) = self.ground.get_mut(&at) else { return };
        known.users -= 1;
        if known.users == 0 {
            engine.remove_static(known.handle);
            self.ground.remove(&at);
        }
    }

    /// Takes over new heights; true if there are any. Bodies on them wake.
    pub(super) fn renew_ground(&mut self, scene: &dyn Neighbourhood, engine: &mut Engine) -> bool {
        let version = scene.ground_version();
        if self.ground_version.replace(version) == Some(version) {
            return false;
        }
        self.tops.clear();
        for (&at, known) in &mut self.ground {
            let hash = patch_hash(at, scene);
            if known.hash != hash {
                engine.remove_static(known.handle);
                (known.handle, known.hash) = (add_patch(at, scene, engine), hash);
            }
        }
        true
    }

    /// Prims that rapier has.
    pub(super) fn n_prims(&self) -> usize {
        self.prims.len()
    }

    /// False for a state that no run leads to.
    pub(super) fn is_sound(&self, engine: &Engine) -> bool {
        let has = |handle: &ColliderHandle| engine.has_collider(*handle);
        self.prims.values().all(|known| known.handle.iter().all(has))
            && self.ground.values().all(|known| known.users > 0 && has(&known.handle))
    }
}

const fn due() -> bool {
    true
}

fn corner((column, row): (u8, u8)) -> (u32, u32) {
    (u32::from(column) * PATCH_M, u32::from(row) * PATCH_M)
}

fn add_patch(at: (u8, u8), scene: &dyn Neighbourhood, engine: &mut Engine) -> ColliderHandle {
    let (west, south) = corner(at);
    engine.add_ground((west, south), PATCH_M, |x, y| scene.ground_height(west + x, south + y))
}

fn patch_top(at: (u8, u8), scene: &dyn Neighbourhood) -> f32 {
    let (west, south) = corner(at);
    let heights = (0..=PATCH_M)
        .flat_map(|y| (0..=PATCH_M).map(move |x| (x, y)))
        .map(|(x, y)| scene.ground_height(west + x, south + y));
    heights.fold(f32::NEG_INFINITY, f32::max)
}

fn patch_hash(at: (u8, u8), scene: &dyn Neighbourhood) -> u64 {
    let (west, south) = corner(at);
    let mut hasher = StateHasher::new();
    for y in 0..=PATCH_M {
        (0..=PATCH_M).for_each(|x| hasher.f32(scene.ground_height(west + x, south + y)));
    }
    hasher.finish()
}

fn hash_of(collider: &Collider, surface: &PrimSurface) -> u64 {
    let PrimSurface { sleeper, friction, restitution } = surface;
    let mut hasher = StateHasher::new();
    collider.fold_into(&mut hasher);
    hasher.u32(sleeper.map_or(0, |root| root.0));
    hasher.f32(*friction);
    hasher.f32(*restitution);
    hasher.finish()
}
