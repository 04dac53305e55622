//! Prims as a viewer displays and keeps them.
//!
//! A cache belongs to a region and outlives the circuit ([`PrimView::cache`]). The rules are those of viewers:
//!
//! - ObjectUpdate displays the prim, and evicts it from the cache; so does a terse update.
//! - ObjectUpdateCached displays the cached prim if its checksum is the one in the message; otherwise the viewer asks for it.
//! - ObjectUpdateCompressed goes into the cache, and is displayed from there unless the prim is displayed already. It is ignored with the checksum
//!   of the cached prim.
//! - KillObject removes it from both.
//! - RegionHandshake names the cache of the region. A region whose local ids were assigned anew has another one, which is empty.

use glam::Vec3;
use ids::{Instant, LocalId, Uuid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use wire::Malformed;
use wire::messages::{
    MessageNumber, ObjectUpdate, ObjectUpdateCached, ObjectUpdateCompressed, ObjectUpdateObjectData,
    RequestMultipleObjectsObjectData,
};
use wire::object_update::{PCODE_AVATAR, RegionData};
use wire::{object_compressed, object_update};

/// Prims that one view keeps.
pub const PRIMS_MAX: usize = 100_000;
/// Regions of which a viewer keeps prims. Beyond that it forgets all others.
const CACHES_MAX: usize = 16;
/// Blocks of RequestMultipleObjects in one message.
pub const MISSES_PER_MESSAGE: usize = 255;

/// A prim as last shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenPrim {
    /// Its id in every region.
    pub id: Uuid,
    /// Checksum of its version.
    pub crc: u32,
    /// Root of its linkset, or `LocalId(0)`.
    pub parent: LocalId,
    /// Metres from the region's corner, or from the root.
    pub position: Vec3,
    /// Size along each axis, metres.
    pub scale: Vec3,
    /// The viewer's rights on it.
    pub update_flags: u32,
    /// Hash of its textures ([`textures_of`]).
    pub textures: u64,
    /// Time of the latest update.
    pub updated_at: Instant,
    /// Message of that update.
    #[serde(skip, default = "form_of_kept")]
    pub form: MessageNumber,
}

/// Hash of a texture entry: views compare textures, and keep none.
#[must_use]
pub fn textures_of(entry: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    entry.hash(&mut hasher);
    hasher.finish()
}

/// The form of all prims in a cache.
const fn form_of_kept() -> MessageNumber {
    ObjectUpdateCompressed::NUMBER
}

/// First time that a view displays a prim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimArrival {
    /// The prim.
    pub id: LocalId,
    /// Time, on the bots' clock.
    pub at: Instant,
}

/// A viewer's caches of regions, by the names that the regions give them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PrimCache {
    regions: BTreeMap<Uuid, BTreeMap<LocalId, SeenPrim>>,
    /// Name of the one that is used; nil before the first handshake.
    name: Uuid,
}

impl PrimCache {
    /// True if the one that is used has no prims.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of prims in the one that is used.
    #[must_use]
    pub fn len(&self) -> usize {
        self.regions.get(&self.name).map_or(0, BTreeMap::len)
    }

    /// Uses the cache of this name from now on. A nil name is that of a place without one, and changes nothing.
    fn enter(&mut self, name: Uuid) {
        if name.is_nil() {
            return;
        }
        self.name = name;
        self.regions.retain(|_, prims| !prims.is_empty());
        if self.regions.len() >= CACHES_MAX {
            self.regions.retain(|&kept, _| kept == name);
        }
    }

    fn get(&self, id: LocalId) -> Option<&SeenPrim> {
        self.regions.get(&self.name)?.get(&id)
    }

    fn insert(&mut self, id: LocalId, prim: SeenPrim) {
        if self.len() < PRIMS_MAX {
            self.regions.entry(self.name).or_default().insert(id, prim);
        }
    }

    fn remove(&mut self, id: LocalId) {
        if let Some(prims) = self.regions.get_mut(&self.name) {
            prims.remove(&id);
        }
    }
}

/// Counters of a view; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrimCounters {
    /// Blocks of ObjectUpdate, ObjectUpdateCompressed and ObjectUpdateCached.
    pub blocks: [u64; 3],
    /// Prims that were asked for.
    pub misses: u64,
    /// Prims that were removed.
    pub kills: u64,
    /// Prims not kept because the table was full.
    pub not_kept: u64,
}

/// Prims that one viewer displays.
#[derive(Clone, Debug, Default)]
pub struct PrimView {
    shown: BTreeMap<LocalId, SeenPrim>,
    /// None of a viewer without a cache.
    cache: Option<PrimCache>,
    missed: Vec<RequestMultipleObjectsObjectData>,
    /// Prims that were shown or killed since the last [`Self::take_changes`], if they are recorded.
    changes: Option<Vec<LocalId>>,
    /// Arrivals since the scene was empty, in their order, if they are recorded.
    arrivals: Option<Vec<PrimArrival>>,
    counters: PrimCounters,
}

impl PrimView {
    /// A viewer with a cache, perhaps from a former visit.
    #[must_use]
    pub fn with_cache(cache: PrimCache) -> Self {
        Self { cache: Some(cache), ..Self::default() }
    }

    /// The cache, for another visit.
    #[must_use]
    pub const fn cache(&self) -> Option<&PrimCache> {
        self.cache.as_ref()
    }

    /// Records changes for [`Self::take_changes`] from now on.
    pub fn keep_changes(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// Prims that were shown or killed since the last call, in that order.
    pub fn take_changes(&mut self) -> Vec<LocalId> {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records arrivals for [`Self::arrivals`] from now on.
    pub fn keep_arrivals(&mut self) {
        self.arrivals.get_or_insert_default();
    }

    /// Prims in the order in which they were displayed first, each once since the scene was empty. At most [`PRIMS_MAX`]; none if they are not
    /// recorded.
    #[must_use]
    pub fn arrivals(&self) -> &[PrimArrival] {
        self.arrivals.as_deref().unwrap_or_default()
    }

    /// Takes in the name of the region's cache, before [`Self::handshake_flags`]. A nil name is that of a place without one.
    pub fn enter_region(&mut self, name: Uuid) {
        if let Some(cache) = &mut self.cache {
            cache.enter(name);
        }
    }

    fn note_change(&mut self, id: LocalId) {
        // Beyond the bound the reader has not looked for long, and compares all prims.
        if let Some(changes) = self.changes.as_mut().filter(|changes| changes.len() < PRIMS_MAX) {
            changes.push(id);
        }
    }

    /// Flags of RegionHandshakeReply: 1 for a cache, 2 if nothing is in it.
    #[must_use]
    pub fn handshake_flags(&self) -> u32 {
        match &self.cache {
            Some(cache) => 1 | u32::from(cache.is_empty()) << 1,
            None => 2,
        }
    }

    /// A prim that is displayed.
    #[must_use]
    pub fn get(&self, id: LocalId) -> Option<&SeenPrim> {
        self.shown.get(&id)
    }

    /// All prims that are displayed, by local id.
    pub fn prims(&self) -> impl Iterator<Item = (LocalId, &SeenPrim)> {
        self.shown.iter().map(|(id, prim)| (*id, prim))
    }

    /// Number of prims that are displayed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// True without displayed prims.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Counters.
    #[must_use]
    pub const fn counters(&self) -> &PrimCounters {
        &self.counters
    }

    /// Forgets what is displayed. The cache stays.
    pub fn clear(&mut self) {
        self.shown.clear();
        self.missed.clear();
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.clear();
        }
    }

    /// Takes prims to ask for, as many as a message holds.
    pub fn take_missed(&mut self) -> Vec<RequestMultipleObjectsObjectData> {
        let n = self.missed.len().min(MISSES_PER_MESSAGE);
        self.missed.drain(..n).collect()
    }

    /// True if there are prims to ask for.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        !self.missed.is_empty()
    }

    /// Takes in an ObjectUpdate; avatars are left out.
    ///
    /// # Errors
    /// Those of [`ObjectUpdate::decode`] and [`object_update::decode`].
    pub fn on_update(&mut self, now: Instant, body: &[u8]) -> Result<(), Malformed> {
        let (_, objects): (RegionData, _) = object_update::decode(body)?;
        let blocks = ObjectUpdate::decode(body)?.object_data;
        for (object, block) in objects.into_iter().zip(blocks) {
            if object.p_code == PCODE_AVATAR {
                continue;
            }
            self.counters.blocks[0] += 1;
            if let Some(cache) = &mut self.cache {
                cache.remove(object.local_id);
            }
            let position = object.motion.position;
            let (flags, form) = (object.update_flags, ObjectUpdate::NUMBER);
            self.show(object.local_id, seen(now, block, position, flags, form));
        }
        Ok(())
    }

    /// Takes in an ObjectUpdateCompressed.
    ///
    /// # Errors
    /// Those of its decoders.
    pub fn on_compressed(&mut self, now: Instant, body: &[u8]) -> Result<(), Malformed> {
        for row in ObjectUpdateCompressed::decode(body)?.object_data {
            let (block, motion) = object_compressed::decode(&row.data)?;
            self.counters.blocks[1] += 1;
            let id = LocalId(block.id);
            let is_known = |cache: &PrimCache| cache.get(id).is_some_and(|kept| kept.crc == block.crc);
            if self.cache.as_ref().is_some_and(is_known) {
                continue;
            }
            let form = ObjectUpdateCompressed::NUMBER;
            let prim = seen(now, block, motion.position, row.update_flags, form);
            if let Some(cache) = &mut self.cache {
                cache.insert(id, prim.clone());
                if self.shown.contains_key(&id) {
                    continue;
                }
            }
            self.show(id, prim);
        }
        Ok(())
    }

    /// Takes in an ObjectUpdateCached.
    ///
    /// # Errors
    /// Those of [`ObjectUpdateCached::decode`].
    pub fn on_cached(&mut self, now: Instant, body: &[u8]) -> Result<(), Malformed> {
        for row in ObjectUpdateCached::decode(body)?.object_data {
            self.counters.blocks[2] += 1;
            let id = LocalId(row.id);
            let kept = self.cache.as_ref().and_then(|cache| cache.get(id));
            if let Some(kept) = kept.filter(|kept| kept.crc == row.crc) {
                let (update_flags, form) = (row.update_flags, ObjectUpdateCached::NUMBER);
                let prim = SeenPrim { update_flags, updated_at: now, form, ..kept.clone() };
                self.show(id, prim);
                continue;
            }
            let cache_miss_type = u8::from(kept.is_some());
            self.counters.misses += 1;
            if self.missed.len() < PRIMS_MAX {
                self.missed.push(RequestMultipleObjectsObjectData { cache_miss_type, id: row.id });
            }
        }
        Ok(())
    }

    /// Takes in the place of a prim from a terse update; false for another object.
    pub fn on_moved(&mut self, now: Instant, id: LocalId, position: Vec3) -> bool {
        let Some(prim) = self.shown.get_mut(&id) else { return false };
        (prim.position, prim.updated_at) = (position, now);
        self.note_change(id);
        if let Some(cache) = &mut self.cache {
            cache.remove(id);
        }
        true
    }

    /// Takes in a kill of any object.
    pub fn on_kill(&mut self, id: LocalId) {
        if self.shown.remove(&id).is_some() {
            self.counters.kills += 1;
            self.note_change(id);
        }
        if let Some(cache) = &mut self.cache {
            cache.remove(id);
        }
    }

    fn show(&mut self, id: LocalId, prim: SeenPrim) {
        if self.shown.len() < PRIMS_MAX || self.shown.contains_key(&id) {
            let at = prim.updated_at;
            let is_new = self.shown.insert(id, prim).is_none();
            let arrivals = self.arrivals.as_mut().filter(|arrivals| is_new && arrivals.len() < PRIMS_MAX);
            if let Some(arrivals) = arrivals {
                arrivals.push(PrimArrival { id, at });
            }
            self.note_change(id);
        } else {
            self.counters.not_kept += 1;
        }
    }
}

fn seen(
    now: Instant,
    block: ObjectUpdateObjectData,
    position: Vec3,
    update_flags: u32,
    form: MessageNumber,
) -> SeenPrim {
    SeenPrim {
        id: block.full_id,
        crc: block.crc,
        parent: LocalId(block.parent_id),
        position,
        scale: block.scale,
        update_flags,
        textures: textures_of(&block.texture_entry),
        updated_at: now,
        form,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Quat;
    use wire::messages::{ObjectUpdateCachedObjectData, ObjectUpdateCompressedObjectData};
    use wire::object_compressed::CompressedMotion;
    use wire::object_update::{FullMotion, prim_motion};

    const ID: LocalId = LocalId(1 << 20);

    fn block(crc: u32, x: f32) -> ObjectUpdateObjectData {
        let motion = FullMotion { position: Vec3::new(x, 0.0, 0.0), ..FullMotion::default() };
        ObjectUpdateObjectData {
            id: ID.0,
            full_id: Uuid::from_u128(5),
            crc,
            p_code: 9,
            object_data: prim_motion(&motion),
            ..ObjectUpdateObjectData::default()
        }
    }

    fn plain(crc: u32, x: f32) -> Vec<u8> {
        body(ObjectUpdate::NUMBER, |out| {
            ObjectUpdate { object_data: vec![block(crc, x)], ..ObjectUpdate::default() }.encode(out);
        })
    }

    fn compressed(crc: u32, x: f32) -> Vec<u8> {
        let motion = CompressedMotion {
            position: Vec3::new(x, 0.0, 0.0),
            rotation: Quat::IDENTITY,
            angular_velocity: Vec3::ZERO,
        };
        let mut data = Vec::new();
        object_compressed::encode(&block(crc, x), &motion, &[], &[], &mut data);
        let object_data = vec![ObjectUpdateCompressedObjectData { update_flags: 3, data }];
        body(ObjectUpdateCompressed::NUMBER, |out| {
            ObjectUpdateCompressed { object_data, ..ObjectUpdateCompressed::default() }.encode(out);
        })
    }

    fn cached(crc: u32) -> Vec<u8> {
        let object_data = vec![ObjectUpdateCachedObjectData { id: ID.0, crc, update_flags: 4 }];
        body(ObjectUpdateCached::NUMBER, |out| {
            ObjectUpdateCached { object_data, ..ObjectUpdateCached::default() }.encode(out);
        })
    }

    fn body(number: MessageNumber, encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let (mut message, mut prefix) = (Vec::new(), Vec::new());
        encode(&mut message);
        number.write(&mut prefix);
        message.split_off(prefix.len())
    }

    #[test]
    fn a_compressed_update_is_kept_and_shown_again_at_the_next_visit() {
        let mut view = PrimView::with_cache(PrimCache::default());
        assert_eq!(view.handshake_flags(), 3);
        view.on_compressed(Instant(1), &compressed(7, 1.0)).unwrap();
        let mut again = PrimView::with_cache(view.cache().unwrap().clone());
        assert_eq!((again.handshake_flags(), again.len()), (1, 0));
        again.on_cached(Instant(2), &cached(7)).unwrap();
        assert_eq!(
            again.get(ID).map(|prim| (prim.crc, prim.position.x, prim.update_flags)),
            Some((7, 1.0, 4))
        );
        assert!(!again.is_missing());
    }

    #[test]
    fn another_checksum_is_asked_for() {
        let mut view = PrimView::with_cache(PrimCache::default());
        view.on_cached(Instant(1), &cached(7)).unwrap();
        assert_eq!(view.take_missed(), [RequestMultipleObjectsObjectData { cache_miss_type: 0, id: ID.0 }]);
        view.on_compressed(Instant(2), &compressed(7, 1.0)).unwrap();
        view.on_cached(Instant(3), &cached(8)).unwrap();
        assert_eq!(view.take_missed(), [RequestMultipleObjectsObjectData { cache_miss_type: 1, id: ID.0 }]);
        assert_eq!(view.get(ID).map(|prim| prim.crc), Some(7));
        view.on_compressed(Instant(4), &compressed(8, 2.0)).unwrap();
        assert_eq!(view.get(ID).map(|prim| prim.position.x), Some(1.0), "it is displayed already");
        view.clear();
        view.on_cached(Instant(5), &cached(8)).unwrap();
        assert_eq!(view.get(ID).map(|prim| prim.position.x), Some(2.0));
    }

    #[test]
    fn a_full_or_terse_update_evicts_and_a_known_checksum_is_ignored() {
        let mut view = PrimView::with_cache(PrimCache::default());
        view.on_compressed(Instant(1), &compressed(7, 1.0)).unwrap();
        view.on_compressed(Instant(2), &compressed(7, 9.0)).unwrap();
        assert_eq!(view.get(ID).map(|prim| prim.position.x), Some(1.0), "it has that version");
        view.on_update(Instant(3), &plain(8, 3.0)).unwrap();
        assert!(view.cache.as_ref().is_some_and(PrimCache::is_empty));
        assert_eq!(view.get(ID).map(|prim| prim.position.x), Some(3.0));
        view.on_compressed(Instant(4), &compressed(9, 4.0)).unwrap();
        assert!(view.on_moved(Instant(5), ID, Vec3::Y));
        assert!(view.cache.as_ref().is_some_and(PrimCache::is_empty));
    }

    #[test]
    fn a_killed_prim_is_gone_from_the_screen_and_from_the_cache() {
        let mut view = PrimView::with_cache(PrimCache::default());
        view.on_compressed(Instant(1), &compressed(7, 1.0)).unwrap();
        view.on_kill(ID);
        assert!(view.is_empty() && view.cache.as_ref().is_some_and(PrimCache::is_empty));
        assert_eq!(view.counters().kills, 1);
    }

    #[test]
    fn each_region_has_a_cache_of_its_own_and_all_survive_their_encoding() {
        let (name, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut view = PrimView::with_cache(PrimCache::default());
        view.enter_region(name);
        view.on_compressed(Instant(1), &compressed(7, 1.0)).unwrap();
        let bytes = postcard::to_stdvec(view.cache().unwrap()).unwrap();
        let mut again = PrimView::with_cache(postcard::from_bytes(&bytes).unwrap());
        for (at, flags) in [(Uuid::nil(), 1), (name, 1), (other, 3), (Uuid::nil(), 3), (name, 1)] {
            again.enter_region(at);
            assert_eq!(again.handshake_flags(), flags, "{at}");
        }
        for n in 10..10 + CACHES_MAX as u128 {
            again.enter_region(Uuid::from_u128(n));
            again.on_compressed(Instant(1), &compressed(7, 1.0)).unwrap();
        }
        again.enter_region(name);
        assert_eq!(again.handshake_flags(), 3, "too many others came between");
    }

    #[test]
    fn a_prim_arrives_once_however_often_it_is_updated() {
        let mut view = PrimView::with_cache(PrimCache::default());
        view.on_update(Instant(1), &plain(7, 1.0)).unwrap();
        assert_eq!(view.arrivals(), [], "they are not recorded yet");
        view.clear();
        view.keep_arrivals();
        for now in 2..5 {
            view.on_update(Instant(now), &plain(now as u32, 1.0)).unwrap();
        }
        assert_eq!(view.arrivals(), [PrimArrival { id: ID, at: Instant(2) }]);
        view.clear();
        assert_eq!(view.arrivals(), []);
    }
}
