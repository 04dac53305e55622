//! From a frame's objects to blocks and rights, once for all receivers.

use super::block::{self, LazyBlock, ObjectBlock};
use super::contents_rights::ContentsRights;
use super::movers::{FrameTime, MovedPrim, MoverTracks};
use glam::Vec3;
use ids::{AgentId, Instant, LocalId};
use link::{
    Motion, ObjectChange, ObjectPage, PAGE_PRIMS, PrimFlags, PrimMotion, VersionedBody, index_in_page,
    page_of,
};
use prim::{Body, LinksetPermissions, Role, update_flags};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use wire::text::VARIABLE1_MAX;

/// An object change with its block.
#[derive(Clone, Debug)]
pub enum EncodedObject {
    /// Pages as a whole.
    Pages(Vec<EncodedPage>),
    /// A prim that is new, or has changed.
    Set(LocalId, ObjectEntry),
    /// A prim has moved, and nothing else of it has changed.
    Moved(MovedPrim),
    /// A prim of a linkset that has come this far is found at this place from now on, metres.
    Filed(LocalId, Vec3),
    /// A prim that moved has been at rest for a while.
    Settled(LocalId),
    /// It is gone.
    Removed(LocalId),
}

/// A page of prims for clients.
#[derive(Clone, Debug)]
pub struct EncodedPage {
    /// Local id of its first place.
    pub first: LocalId,
    /// By the low byte of the local id.
    pub entries: Arc<[Option<ObjectEntry>; PAGE_PRIMS]>,
}

/// A prim for clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectEntry {
    /// Block of a full update.
    pub(super) block: LazyBlock,
    /// Position of its linkset's root in the region, metres; while it moves, up to 4 m from there.
    pub position: Vec3,
    /// Radius of the sphere around that position which holds the whole linkset, metres: a linkset is sent as a whole.
    pub radius_m: f32,
    /// Place, movement, and place in its linkset.
    pub prim: PrimMotion,
    /// Update flags by receiver.
    pub flags: ReceiverFlags,
    /// Checksum for caches.
    pub crc: u32,
    /// The avatar that wears its linkset.
    pub wearer: Option<LocalId>,
    /// No prim of its linkset moves by itself, vanishes by itself or is worn.
    pub is_lasting: bool,
    /// Prims of its linkset, itself included.
    pub n_prims: u16,
    /// Time of the last change of its linkset, nanoseconds; none since its world has begun.
    changed_ns: Option<NonZeroU64>,
    /// Everything but place and movement: the world's own.
    pub body: Arc<Body>,
}

// There is one for each prim of a region.
const _: () = assert!(size_of::<ObjectEntry>() <= 160);

impl ObjectEntry {
    /// Update flags for a receiver.
    #[must_use]
    pub fn flags_for(&self, agent: AgentId) -> u32 {
        if self.body.ownership.owner == agent { self.flags.owner } else { self.flags.everyone }
    }

    /// Appends the block of an ObjectUpdate with this motion, zero-coded; its length when it is expanded.
    pub fn write_plain(&self, id: LocalId, motion: &Motion, update_flags: u32, out: &mut Vec<u8>) -> usize {
        let block = self.block.get(|| ObjectBlock::new(id, &self.prim, self.crc, &self.body));
        block.write(motion, update_flags, out);
        block.expanded_len()
    }

    /// Appends the block of an ObjectUpdateCompressed, zero-coded or as it is; its length when it is expanded.
    pub fn write_compressed(
        &self,
        id: LocalId,
        update_flags: u32,
        is_zero_coded: bool,
        out: &mut Vec<u8>,
    ) -> usize {
        let before = out.len();
        if is_zero_coded {
            let mut plain = Vec::with_capacity(320);
            block::write_compressed(id, &self.prim, self.crc, &self.body, update_flags, &mut plain);
            wire::zero_code::compress(&plain, out);
            plain.len()
        } else {
            block::write_compressed(id, &self.prim, self.crc, &self.body, update_flags, out);
            out.len() - before
        }
    }

    /// True if it is on the screen of its wearer, and shown to nobody else.
    #[must_use]
    pub fn is_on_screen(&self) -> bool {
        self.wearer.is_some() && (31..=38).contains(&self.body.state.rotate_left(4))
    }

    /// Bytes of fields that do not fit an ObjectUpdate.
    #[must_use]
    pub fn long_fields_len(&self) -> usize {
        let fields = [self.body.extra_params.as_bytes().len(), self.body.particles.len()];
        fields.into_iter().filter(|&len| len > VARIABLE1_MAX).sum()
    }

    /// True if clients are shown the same by both.
    #[must_use]
    pub fn shows_the_same_as(&self, other: &Self) -> bool {
        (self.crc, self.flags, &self.prim) == (other.crc, other.flags, &other.prim)
            && (self.position, self.radius_m) == (other.position, other.radius_m)
            && (Arc::ptr_eq(&self.body, &other.body) || self.body.shows_the_same_as(&other.body))
    }

    /// Time of the last change of its linkset; none since its world has begun.
    #[must_use]
    pub fn changed_at(&self) -> Option<Instant> {
        self.changed_ns.map(|ns| Instant(ns.get()))
    }

    /// True if a viewer may keep it: it lasts, and has not changed within `after`.
    #[must_use]
    pub fn is_cacheable(&self, now: Instant, after: Duration) -> bool {
        self.is_lasting && self.changed_at().is_none_or(|at| now.since(at) >= after)
    }
}

/// Update flags of an object, by the relation of the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverFlags {
    /// For its owner.
    pub owner: u32,
    /// For members of its group.
    pub group: u32,
    /// For all others.
    pub everyone: u32,
}

impl ReceiverFlags {
    /// Flags of a linkset's prim.
    #[must_use]
    pub fn new(linkset: &LinksetPermissions, is_attached: bool, flags: PrimFlags) -> Self {
        let of = |role| update_flags(linkset.rights(role, is_attached), role) | flags.0;
        Self { owner: of(Role::Owner), group: of(Role::Group), everyone: of(Role::Everyone) }
    }
}

/// Copy of a world's objects, as far as blocks depend on other prims than their own.
#[derive(Debug, Default)]
pub struct ObjectEncoder {
    pages: BTreeMap<LocalId, ObjectPage>,
    /// Parts of linksets with more than one prim.
    parts: BTreeMap<LocalId, Vec<LocalId>>,
    contents_rights: ContentsRights,
    movers: MoverTracks,
    /// Changed prims encoded since the start. Blocks of whole pages are made as clients are sent them.
    pub blocks_encoded: u64,
}

/// Place, size and rights of a linkset.
struct Linkset {
    permissions: LinksetPermissions,
    position: Vec3,
    radius_m: f32,
    wearer: Option<LocalId>,
    is_lasting: bool,
    n_prims: u16,
}

impl ObjectEncoder {
    /// Encodes a frame's changes. Prims whose rights or places follow from a changed one are encoded with it.
    pub fn encode(&mut self, time: FrameTime, changes: &[ObjectChange], out: &mut Vec<EncodedObject>) {
        let mut stale: Vec<LocalId> = Vec::new();
        for change in changes {
            match change {
                ObjectChange::Pages(pages) => {
                    for page in pages {
                        self.forget_page(page);
                        self.pages.insert(page.first, page.clone());
                        for (id, _, versioned) in page.prims() {
                            self.contents_rights.note(id, &versioned.body);
                        }
                        let parts = page.prims().filter(|(_, motion, _)| motion.parent != LocalId(0));
                        for (id, motion, _) in parts {
                            self.parts.entry(motion.parent).or_default().push(id);
                        }
                    }
                }
                ObjectChange::Set { id, motion, body, .. } => {
                    self.put(*id, *motion, body.clone());
                    stale.push(*id);
                }
                ObjectChange::Moved(id, motion) => {
                    if !self.move_prim(time, *id, motion, out) {
                        stale.push(*id);
                    }
                }
                ObjectChange::Removed(id) => {
                    self.take_out(*id);
                    self.movers.remove(*id);
                    out.push(EncodedObject::Removed(*id));
                }
            }
        }
        let whole = changes.iter().filter_map(|change| match change {
            ObjectChange::Pages(pages) => Some(pages),
            _ => None,
        });
        let pages: Vec<EncodedPage> = whole.flatten().map(|page| self.page(page)).collect();
        if !pages.is_empty() {
            let movers: Vec<LocalId> = self.movers_of(&pages);
            out.push(EncodedObject::Pages(pages));
            for id in movers {
                let Some(&prim) = self.get(id).map(|(prim, _)| prim) else { continue };
                let place =
                    self.get(self.root_of(id)).map_or(prim.motion.position, |(root, _)| root.motion.position);
                out.extend(self.movers.restart(time, id, &prim, place).map(EncodedObject::Moved));
            }
        }
        // A linkset as a whole: rights follow from all parts, places of parts from the root.
        let mut roots: Vec<LocalId> = stale.iter().map(|&id| self.root_of(id)).collect();
        roots.sort_unstable();
        roots.dedup();
        for root in roots {
            let Some(linkset) = self.linkset(root) else { continue };
            let parts = self.parts.get(&root).cloned().unwrap_or_default();
            for id in std::iter::once(root).chain(parts) {
                if let Some(mut entry) = self.entry(id, &linkset, Some(time.at)) {
                    self.blocks_encoded += 1;
                    entry.block = LazyBlock::made(ObjectBlock::new(id, &entry.prim, entry.crc, &entry.body));
                    let moved = self.movers.restart(time, id, &entry.prim, entry.position);
                    out.push(EncodedObject::Set(id, entry));
                    out.extend(moved.map(EncodedObject::Moved));
                }
            }
        }
        self.movers.settle(time.at, |id| out.push(EncodedObject::Settled(id)));
    }

    /// Movers on these pages.
    fn movers_of(&self, pages: &[EncodedPage]) -> Vec<LocalId> {
        let pages = pages.iter().flat_map(|page| (page.first.0..).take(PAGE_PRIMS));
        pages.map(LocalId).filter(|&id| self.movers.has(id)).collect()
    }

    /// Follows a movement; false if the linkset has to be encoded as a whole. That is so when one that viewers may keep begins to move, and for
    /// worn ones.
    fn move_prim(
        &mut self,
        time: FrameTime,
        id: LocalId,
        prim: &PrimMotion,
        out: &mut Vec<EncodedObject>,
    ) -> bool {
        let Some(&former) = self.get(id).map(|(prim, _)| prim) else { return true };
        self.put_motion(id, *prim);
        let root = self.root_of(id);
        let Some(&root_prim) = self.get(root).map(|(prim, _)| prim) else { return true };
        let is_worn = root_prim.parent != LocalId(0);
        let is_kept_by_viewers = !root_prim.flags.any(PrimFlags::PHYSICS) && !self.movers.has(id);
        let place = root_prim.motion.position;
        let moved = self.movers.follow(time, (id, &former.motion), prim, place);
        if is_worn {
            self.movers.remove(id);
        }
        if is_worn || is_kept_by_viewers {
            return false;
        }
        out.push(EncodedObject::Moved(moved));
        if root == id && self.movers.has_to_file(id, place) {
            let parts = self.parts.get(&root).into_iter().flatten().copied();
            out.extend(std::iter::once(root).chain(parts).map(|id| EncodedObject::Filed(id, place)));
        }
        true
    }

    /// Forgets everything, before a snapshot.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.parts.clear();
        self.contents_rights.clear();
        self.movers.clear();
    }

    fn page(&self, page: &ObjectPage) -> EncodedPage {
        let mut entries = [const { None }; PAGE_PRIMS];
        let mut linksets: BTreeMap<LocalId, Option<Linkset>> = BTreeMap::new();
        for (id, ..) in page.prims() {
            let root = self.root_of(id);
            let linkset = linksets.entry(root).or_insert_with(|| self.linkset(root));
            entries[index_in_page(id)] = linkset.as_ref().and_then(|linkset| self.entry(id, linkset, None));
        }
        EncodedPage { first: page.first, entries: Arc::new(entries) }
    }

    /// Place, size and rights that the prims of a linkset have in common.
    fn linkset(&self, root: LocalId) -> Option<Linkset> {
        let (root_prim, root_body) = self.get(root)?;
        let parts = || self.parts.get(&root).into_iter().flatten().filter_map(|&part| self.get(part));
        let of_root = (&root_body.body.ownership.permissions, self.contents_rights.of(root));
        let of_parts = self.parts.get(&root).into_iter().flatten().filter_map(|&part| {
            let (_, versioned) = self.get(part)?;
            Some((versioned.body.ownership.permissions, self.contents_rights.of(part)))
        });
        let permissions = LinksetPermissions::of(of_root, of_parts);
        let own_radius = |body: &VersionedBody| body.body.scale.length() / 2.0;
        let radius_of =
            |(prim, body): (&PrimMotion, &VersionedBody)| prim.motion.position.length() + own_radius(body);
        let radius_m = parts().map(radius_of).fold(own_radius(root_body), f32::max);
        let wearer = (root_prim.parent != LocalId(0)).then_some(root_prim.parent);
        let passing = PrimFlags(PrimFlags::PHYSICS.0 | PrimFlags::TEMPORARY.0);
        let mut prims = std::iter::once(root_prim).chain(parts().map(|(prim, _)| prim));
        let is_lasting =
            wearer.is_none() && prims.all(|prim| !prim.flags.any(passing) && prim.motion.at_rest());
        let n_prims = 1 + parts().count() as u16;
        let position = root_prim.motion.position;
        Some(Linkset { permissions, position, radius_m, wearer, is_lasting, n_prims })
    }

    fn entry(&self, id: LocalId, linkset: &Linkset, changed_at: Option<Instant>) -> Option<ObjectEntry> {
        let (prim, versioned) = self.get(id)?;
        Some(ObjectEntry {
            block: LazyBlock::default(),
            position: linkset.position,
            radius_m: linkset.radius_m,
            prim: *prim,
            flags: ReceiverFlags::new(&linkset.permissions, linkset.wearer.is_some(), prim.flags),
            crc: versioned.crc(),
            wearer: linkset.wearer,
            is_lasting: linkset.is_lasting,
            n_prims: linkset.n_prims,
            changed_ns: changed_at.map(|at| NonZeroU64::new(at.0).unwrap_or(NonZeroU64::MIN)),
            body: Arc::clone(&versioned.body),
        })
    }

    fn get(&self, id: LocalId) -> Option<(&PrimMotion, &VersionedBody)> {
        let page = self.pages.get(&page_of(id))?;
        let body = page.bodies[index_in_page(id)].as_ref()?;
        Some((&page.motions[index_in_page(id)], body))
    }

    fn root_of(&self, id: LocalId) -> LocalId {
        let parent = self.get(id).map_or(LocalId(0), |(prim, _)| prim.parent);
        if self.get(parent).is_some() { parent } else { id }
    }

    fn put(&mut self, id: LocalId, motion: PrimMotion, body: VersionedBody) {
        self.leave_linkset(id);
        self.contents_rights.note(id, &body.body);
        let page = self.pages.entry(page_of(id)).or_insert_with(|| ObjectPage::empty(id));
        Arc::make_mut(&mut page.motions)[index_in_page(id)] = motion;
        Arc::make_mut(&mut page.bodies)[index_in_page(id)] = Some(body);
        if motion.parent != LocalId(0) {
            self.parts.entry(motion.parent).or_default().push(id);
        }
    }

    /// Another place of a prim in the same linkset.
    fn put_motion(&mut self, id: LocalId, motion: PrimMotion) {
        if let Some(page) = self.pages.get_mut(&page_of(id)) {
            Arc::make_mut(&mut page.motions)[index_in_page(id)] = motion;
        }
    }

    fn take_out(&mut self, id: LocalId) {
        self.leave_linkset(id);
        self.contents_rights.forget(id);
        if let Some(page) = self.pages.get_mut(&page_of(id)) {
            Arc::make_mut(&mut page.motions)[index_in_page(id)] = PrimMotion::NONE;
            Arc::make_mut(&mut page.bodies)[index_in_page(id)] = None;
        }
    }

    fn leave_linkset(&mut self, id: LocalId) {
        let Some(parent) = self.get(id).map(|(prim, _)| prim.parent) else { return };
        if let Some(parts) = self.parts.get_mut(&parent) {
            parts.retain(|&part| part != id);
            if parts.is_empty() {
                self.parts.remove(&parent);
            }
        }
    }

    /// Takes the prims of a page out of their linksets, for another state of it. Rights to contents stay of those that are in that.
    fn forget_page(&mut self, next: &ObjectPage) {
        let Some(page) = self.pages.get(&next.first) else { return };
        let ids: Vec<LocalId> = page.prims().map(|(id, ..)| id).collect();
        for id in ids {
            self.leave_linkset(id);
            if next.bodies[index_in_page(id)].is_none() {
                self.contents_rights.forget(id);
            }
        }
    }
}
