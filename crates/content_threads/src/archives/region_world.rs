//! Linksets of a running region that make room for others, and come back if these do not stay.
//!
//! All of it is commands of the node, a few at a time, whose outcomes are waited for. The cleared linksets are known exactly, since a command clears all of its
//! linksets or none; so are the added ones. Objects that users make, take or change meanwhile are theirs.

use super::steps::ArchiveFailure;
use gateway::places::Place;
use ids::{LocalId, Uuid, WorldId};
use link::{EDIT_OBJECTS_MAX, INSERT_PRIMS_MAX, InsertedLinkset, Insertion, ObjectCommand, PrimMotion};
use prim::Body;
use region_threads::node_edits::{NodeEditError, NodeEditOutcome, NodeEdits, PendingEdit};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Commands that are on their way at once: 1,024 prims, which a few steps add.
const PENDING: usize = 4;
/// Prims of one command that clears, but for a single linkset with more.
const CLEARED_PRIMS: usize = 1_024;
/// Pause before a command for which the world's inbox has no room is tried again, and attempts.
const BUSY_PAUSE: Duration = Duration::from_millis(50);
const BUSY_ATTEMPTS: u32 = 600;
/// Attempts to lead the region back, and the pause between them.
const BACK_ATTEMPTS: u32 = 100;
const BACK_PAUSE: Duration = Duration::from_millis(200);

/// A linkset as the region has shown it.
#[derive(Clone, Debug)]
pub(super) struct ShownLinkset {
    pub(super) root: LocalId,
    pub(super) id: Uuid,
    /// The root first.
    pub(super) prims: Vec<(PrimMotion, Arc<Body>)>,
}

/// The objects of a region.
pub(super) struct RegionWorld<'a> {
    edits: &'a NodeEdits,
    place: &'a Place,
    /// Local ids of objects that are kept.
    kept: Range<u32>,
}

/// Changes of a region that may have to be taken back.
#[derive(Debug, Default)]
pub(super) struct RegionChanges {
    /// Linksets that were cleared away, or whose outcome is not known.
    cleared: Vec<ShownLinkset>,
    /// Prims that were added, or whose outcome is not known.
    added: HashSet<Uuid>,
}

/// Reason for which a region was not changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum RegionChangeError {
    #[error(transparent)]
    Edit(#[from] NodeEditError),
    #[error("the region refuses {n} of the objects: {reason}")]
    Refused { n: u32, reason: &'static str },
}

impl From<RegionChangeError> for ArchiveFailure {
    fn from(error: RegionChangeError) -> Self {
        Self::of(&error)
    }
}

impl<'a> RegionWorld<'a> {
    pub(super) const fn new(edits: &'a NodeEdits, place: &'a Place, kept: Range<u32>) -> Self {
        Self { edits, place, kept }
    }

    fn world(&self) -> WorldId {
        self.place.world()
    }

    /// Linksets that are kept and that none wears, in the order of their roots.
    pub(super) fn linksets(&self) -> Vec<ShownLinkset> {
        let replica = self.place.scene.feed.current();
        let mut by_root: BTreeMap<LocalId, BTreeMap<u8, (PrimMotion, Arc<Body>)>> = BTreeMap::new();
        let kept = replica
            .objects()
            .entries()
            .filter(|(id, entry)| self.kept.contains(&id.0) && entry.wearer.is_none());
        for (id, entry) in kept {
            let root = if entry.prim.parent == LocalId(0) { id } else { entry.prim.parent };
            let prim = (entry.prim, Arc::clone(&entry.body));
            by_root.entry(root).or_default().insert(entry.prim.link_number, prim);
        }
        drop(replica);
        let linkset = |(root, prims): (LocalId, BTreeMap<u8, (PrimMotion, Arc<Body>)>)| {
            let prims: Vec<_> = prims.into_values().collect();
            let id = prims.first()?.1.id;
            Some(ShownLinkset { root, id, prims })
        };
        by_root.into_iter().filter_map(linkset).collect()
    }

    /// Clears linksets away, and notes them. Those that are gone or changed by then stay out of it. `chosen` names them by the ids of their roots.
    pub(super) async fn clear(
        &self,
        chosen: &dyn Fn(&ShownLinkset) -> bool,
        changes: &mut RegionChanges,
    ) -> Result<u64, RegionChangeError> {
        let mut n_cleared = 0;
        // A command that comes upon a change clears nothing, and the next look has the change.
        for _ in 0..BACK_ATTEMPTS {
            let wanted: Vec<ShownLinkset> = self.linksets().into_iter().filter(chosen).collect();
            if wanted.is_empty() {
                break;
            }
            let mut is_stale = false;
            for part in parts(wanted) {
                let roots: Vec<_> = part.iter().map(|linkset| (linkset.root, linkset.id)).collect();
                let (n_roots, n_before) = (roots.len() as u64, changes.cleared.len());
                // Before the command, whose outcome may get lost.
                changes.cleared.extend(part);
                let outcome = self.carry_out(ObjectCommand::Clear(roots)).await?;
                if outcome.refused == 0 {
                    n_cleared += n_roots;
                } else {
                    changes.cleared.truncate(n_before);
                    is_stale = true;
                }
            }
            if !is_stale {
                break;
            }
        }
        Ok(n_cleared)
    }

    /// Sends a portion of linksets, after those before it have come far enough.
    pub(super) async fn add<'p>(
        &'p self,
        linksets: Vec<InsertedLinkset>,
        ids: Uuid,
        pending: &mut VecDeque<PendingEdit<'p>>,
        changes: &mut RegionChanges,
    ) -> Result<(), RegionChangeError> {
        while pending.len() >= PENDING {
            settle(pending).await?;
        }
        // Before the command, whose outcome may get lost.
        let prims = linksets.iter().flat_map(|linkset| &linkset.prims);
        changes.added.extend(prims.map(|(_, body)| body.id));
        let request = ObjectCommand::InsertWithIds(Box::new(Insertion { ids, linksets }));
        pending.push_back(self.send(request).await?);
        Ok(())
    }

    /// Waits for all portions, also behind a refused one.
    pub(super) async fn settle_all(
        &self,
        pending: &mut VecDeque<PendingEdit<'_>>,
    ) -> Result<(), RegionChangeError> {
        let mut settled = Ok(());
        while !pending.is_empty() {
            let next = settle(pending).await;
            settled = settled.and(next);
        }
        settled
    }

    /// Takes changes back: added linksets go, cleared ones come. Linksets that users have changed meanwhile are theirs, and stay. False if that
    /// does not succeed.
    pub(super) async fn lead_back(&self, changes: RegionChanges, ids: Uuid) -> bool {
        let RegionChanges { cleared, added } = changes;
        let is_added = |linkset: &ShownLinkset| {
            let mut prims = linkset.prims.iter();
            prims.all(|(_, body)| added.contains(&body.id))
        };
        for _ in 0..BACK_ATTEMPTS {
            // Commands are carried out in their order: behind this one, none of the former ones comes any more.
            let is_settled = self.carry_out(ObjectCommand::Clear(Vec::new())).await.is_ok();
            let there = self.linksets();
            let known: HashSet<Uuid> = there.iter().map(|linkset| linkset.id).collect();
            let too_many: Vec<ShownLinkset> = there.into_iter().filter(&is_added).collect();
            let absent: Vec<&ShownLinkset> = cleared.iter().filter(|it| !known.contains(&it.id)).collect();
            if is_settled && too_many.is_empty() && absent.is_empty() {
                return true;
            }
            for part in parts(too_many) {
                let roots = part.iter().map(|linkset| (linkset.root, linkset.id)).collect();
                // The next look shows what is left.
                let _ = self.carry_out(ObjectCommand::Clear(roots)).await;
            }
            for linksets in portions(&absent) {
                let insertion = Insertion { ids, linksets };
                let _ = self.carry_out(ObjectCommand::InsertWithIds(Box::new(insertion))).await;
            }
            tokio::time::sleep(BACK_PAUSE).await;
        }
        false
    }

    async fn carry_out(&self, request: ObjectCommand) -> Result<NodeEditOutcome, NodeEditError> {
        self.send(request).await?.wait().await
    }

    /// Sends a request as soon as the world has room for it.
    async fn send(&self, request: ObjectCommand) -> Result<PendingEdit<'_>, NodeEditError> {
        for _ in 0..BUSY_ATTEMPTS {
            match self.edits.send(self.world(), request.clone()) {
                Err(NodeEditError::Busy) => tokio::time::sleep(BUSY_PAUSE).await,
                sent => return sent,
            }
        }
        Err(NodeEditError::Busy)
    }
}

/// Waits for the oldest portion.
async fn settle(pending: &mut VecDeque<PendingEdit<'_>>) -> Result<(), RegionChangeError> {
    let Some(edit) = pending.pop_front() else { return Ok(()) };
    let outcome = edit.wait().await?;
    if outcome.refused > 0 {
        let reason = outcome.reason.map_or("unknown", link::EditRefusal::label);
        return Err(RegionChangeError::Refused { n: outcome.refused, reason });
    }
    Ok(())
}

/// Linksets as the contents of commands that clear.
fn parts(linksets: Vec<ShownLinkset>) -> Vec<Vec<ShownLinkset>> {
    let mut parts: Vec<Vec<ShownLinkset>> = Vec::new();
    let mut n_prims_of_last = 0;
    for linkset in linksets {
        let n_prims = linkset.prims.len();
        let fits = n_prims_of_last + n_prims <= CLEARED_PRIMS;
        match parts.last_mut().filter(|last| fits && last.len() < EDIT_OBJECTS_MAX) {
            Some(last) => {
                last.push(linkset);
                n_prims_of_last += n_prims;
            }
            None => {
                parts.push(vec![linkset]);
                n_prims_of_last = n_prims;
            }
        }
    }
    parts
}

/// Linksets as the contents of commands that insert.
fn portions(linksets: &[&ShownLinkset]) -> Vec<Vec<InsertedLinkset>> {
    let mut portions: Vec<Vec<InsertedLinkset>> = Vec::new();
    let mut n_prims = INSERT_PRIMS_MAX;
    for linkset in linksets {
        if n_prims + linkset.prims.len() > INSERT_PRIMS_MAX {
            portions.push(Vec::new());
            n_prims = 0;
        }
        n_prims += linkset.prims.len();
        let inserted = InsertedLinkset { prims: linkset.prims.clone() };
        portions.last_mut().expect("just pushed").push(inserted);
    }
    portions
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::AgentId;
    use prim::Shape;

    fn linksets(sizes: &[usize]) -> Vec<ShownLinkset> {
        let body = Body::new(Uuid::from_u128(1), Shape::BOX, Arc::default(), AgentId(Uuid::from_u128(9)), 0);
        let prim = (PrimMotion::NONE, Arc::new(body));
        let linkset = |(n, size): (u32, &usize)| ShownLinkset {
            root: LocalId(n),
            id: Uuid::from_u128(n.into()),
            prims: vec![prim.clone(); *size],
        };
        (1..).zip(sizes).map(linkset).collect()
    }

    #[test]
    fn commands_have_bounded_numbers_of_linksets_and_prims() {
        let cleared = |sizes: &[usize]| parts(linksets(sizes)).iter().map(Vec::len).collect::<Vec<_>>();
        assert!(cleared(&[]).is_empty());
        assert_eq!(cleared(&[1; 511]), [255, 255, 1]);
        assert_eq!(cleared(&[256; 9]), [4, 4, 1]);
        assert_eq!(cleared(&[1_000, 24, 1, 2_000, 1]), [2, 1, 1, 1]);
        let inserted = |sizes: &[usize]| {
            let linksets = linksets(sizes);
            portions(&linksets.iter().collect::<Vec<_>>()).iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert!(inserted(&[]).is_empty());
        assert_eq!(inserted(&[256, 1, 255, 1]), [1, 2, 1]);
    }
}
