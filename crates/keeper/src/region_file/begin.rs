//! Uses of a file at the begin of a world: rows of a region that has none, and prims for worlds whose objects never change.

use super::{RegionAbout, RegionFile};
use crate::import::Linkset;
use crate::land::{LandOnDisk, TrackedLand, WholeLand};
use crate::load::{RegionIds, pages_of};
use crate::rows::{PlacedPrim, RegionState, push_body, push_region, push_state};
use glam::{Quat, Vec3};
use ids::{Epoch, Instant, LocalId, Ticket, Uuid};
use link::{ObjectPage, PlacedBody, PrimFlags, PrimMotion, RestingIds, StoredLand, StoredObjects, Terrain};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use store::{LandChanges, ObjectRows, RegionChanges, RegionRow};

impl RegionFile {
    /// A region of these linksets, each with the root first, as a file of it would be read for these local ids; `None` if it has more prims than there are ids.
    /// The patches of its land are those that differ from the described ground.
    #[must_use]
    pub fn of_linksets(
        about: RegionAbout,
        linksets: Vec<Linkset>,
        land: Option<StoredLand>,
        kept: &Range<u32>,
    ) -> Option<Self> {
        let mut free = kept.clone().map(LocalId);
        let mut prims = Vec::with_capacity(linksets.iter().map(Vec::len).sum());
        for linkset in linksets {
            let mut root = LocalId(0);
            for ((place, body), link_number) in linkset.into_iter().zip(0_u8..=u8::MAX) {
                let id = free.next()?;
                let is_empty = body.body.n_items() == 0;
                let emptiness = if is_empty { PrimFlags::INVENTORY_EMPTY } else { PrimFlags::default() };
                let lasting = place.flags.with(PrimFlags::TEMPORARY, PrimFlags::default());
                let flags = lasting.with(PrimFlags::INVENTORY_EMPTY, emptiness);
                let motion = PrimMotion { parent: root, link_number, flags, ..place };
                if link_number == 0 {
                    root = id;
                }
                prims.push(PlacedPrim { id, motion, body });
            }
        }
        let n_used = u32::try_from(prims.len()).ok()?;
        let kept = RestingIds { n_used, resting: Vec::new() };
        let objects = StoredObjects { pages: pages_of(prims), kept, ..StoredObjects::default() };
        Some(Self { about, objects, land })
    }

    /// The rows of a region that begins with these objects and this land, read for its local ids `ids`. `cache_id` becomes the id of the clients' caches,
    /// `described` is the ground of its description. A region of another size than the file's has no land of it.
    #[must_use]
    pub fn rows(&self, ids: &RegionIds, cache_id: Uuid, described: &Arc<Terrain>) -> RegionChanges {
        let (mut bodies, mut states) = (ObjectRows::default(), ObjectRows::default());
        let mut value = Vec::new();
        for (id, motion, versioned) in self.prims() {
            value.clear();
            push_body(&mut value, &versioned.body);
            bodies.push(id, &value);
            value.clear();
            push_state(&mut value, &ids.kept, motion, versioned);
            states.push(id, &value);
        }
        let mut state = Vec::new();
        let of_region = RegionState { kept: self.objects.kept.clone(), ..RegionState::default() };
        push_region(&mut state, &of_region);
        // The name comes with the first save of the server.
        let (epoch, name, ticket) = (Epoch(0), String::new(), Ticket(0));
        let row = RegionRow { epoch, sequence: 0, cache_id, name, state, ticket };
        let (gone, land) = (Vec::new(), self.land_rows(described));
        RegionChanges { row, bodies, states, gone, land, ..RegionChanges::default() }
    }

    fn land_rows(&self, described: &Arc<Terrain>) -> LandChanges {
        let fits = self.about.size_m == described.size_m();
        let Some(land) = self.land.as_ref().filter(|_| fits) else { return LandChanges::default() };
        let StoredLand { state, last_number, ground, baked, .. } = land.clone().over(described);
        let mut tracked = TrackedLand::new(Arc::clone(described), last_number, LandOnDisk::new());
        tracked.take_whole(Instant::ZERO, WholeLand { state: &state, ground: &ground, baked: &baked });
        tracked.take_batch().changes
    }

    /// All prims, each with its place in the region instead of that in its linkset.
    #[must_use]
    pub fn placed(&self) -> Vec<PlacedBody> {
        let roots: BTreeMap<LocalId, &PrimMotion> = self
            .prims()
            .filter(|(_, motion, _)| motion.parent == LocalId(0))
            .map(|(id, motion, _)| (id, motion))
            .collect();
        let place = |motion: &PrimMotion| -> (Vec3, Quat) {
            let own = motion.motion;
            match roots.get(&motion.parent) {
                None => (own.position, own.rotation),
                Some(root) => {
                    let root = root.motion;
                    (root.position + root.rotation * own.position, root.rotation * own.rotation)
                }
            }
        };
        let placed = self.prims().map(|(_, motion, versioned)| {
            let (position, rotation) = place(motion);
            (position, rotation, Arc::clone(&versioned.body))
        });
        placed.collect()
    }

    fn prims(&self) -> impl Iterator<Item = (LocalId, &PrimMotion, &link::VersionedBody)> {
        self.objects.pages.iter().flat_map(ObjectPage::prims)
    }
}
