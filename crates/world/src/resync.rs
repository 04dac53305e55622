//! Snapshots for replicas: the whole state in parts, one a frame, beside the changes that go on.
//!
//! A part holds avatars as they are after its frame's changes. So a replica that empties itself at part 0, applies
//! changes (of avatars it does not know yet: none), and adds each part, is complete after the last.

use crate::{land::Land, npc::Npcs, objects::ObjectStore, roster::Roster, setting::WorldSetting};
use ids::LocalId;
use link::{Frame, SnapshotChunk};
use serde::{Deserialize, Serialize};
use systems::System;

/// Entities in one part: 20 frames, a second, for 5,000.
pub const CHUNK_ENTITIES_MAX: usize = 256;

/// The snapshot under way, and the request for the next one. Several requests make one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Resync {
    requested: bool,
    run: Option<SnapshotRun>,
}

/// Slot of NPCs.
const NO_SLOT: u32 = u32::MAX;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SnapshotRun {
    /// Visitors present at its start with their slots, then NPCs. Later arrivals are in the changes.
    members: Vec<(u32, LocalId)>,
    next_index: u32,
}

impl Resync {
    /// Asks for a snapshot that begins from now on. One under way has begun already, and another will follow it.
    pub(crate) const fn request(&mut self) {
        self.requested = true;
    }

    pub(crate) const fn is_done(&self) -> bool {
        !self.requested && self.run.is_none()
    }

    /// Puts the next part of a snapshot into a frame, if one was asked for.
    pub(crate) fn write_part(
        &mut self,
        roster: &Roster,
        npcs: &Npcs,
        objects: Option<&ObjectStore>,
        land: Option<&Land>,
        setting: &WorldSetting,
        out: &mut Frame,
    ) {
        if !self.is_done() {
            self.write_next_part(roster, npcs, objects, land, setting, out);
        }
    }

    /// True if a snapshot of this format can contain it.
    pub(crate) fn is_sound(&self) -> bool {
        self.run.as_ref().is_none_or(|run| run.next_index < run.count())
    }

    /// Puts the next part into a frame that has all its changes.
    #[inline(never)]
    fn write_next_part(
        &mut self,
        roster: &Roster,
        npcs: &Npcs,
        objects: Option<&ObjectStore>,
        land: Option<&Land>,
        setting: &WorldSetting,
        out: &mut Frame,
    ) {
        System::WorldResync.enter();
        if self.run.is_none() && self.requested {
            self.requested = false;
            let visitors = roster.iter().map(|(slot, presence)| (slot, presence.id));
            let members = visitors.chain(npcs.ids().map(|id| (NO_SLOT, id))).collect();
            self.run = Some(SnapshotRun { members, next_index: 0 });
        }
        let Some(run) = &mut self.run else { return };
        let is_first = run.next_index == 0;
        let mut chunk = run.chunk(roster, npcs, setting);
        if let Some(objects) = objects.filter(|_| is_first) {
            (chunk.objects, chunk.transfers) = (objects.pages(), objects.escrow().unsettled());
        }
        if let Some(land) = land.filter(|_| is_first) {
            (chunk.ground, chunk.baked, chunk.land) =
                (land.patches(), land.baked_patches(), Some(land.state()));
        }
        out.snapshot = Some(chunk);
        if run.is_over() {
            self.run = None;
        }
    }
}

impl SnapshotRun {
    /// Parts in all; an empty world has one, too, for the replica to know.
    fn count(&self) -> u32 {
        u32::try_from(self.members.len().div_ceil(CHUNK_ENTITIES_MAX).max(1)).expect("local ids are 32 bits")
    }

    fn is_over(&self) -> bool {
        self.next_index == self.count()
    }

    fn chunk(&mut self, roster: &Roster, npcs: &Npcs, setting: &WorldSetting) -> SnapshotChunk {
        let index = self.next_index;
        self.next_index += 1;
        let part = self.members.chunks(CHUNK_ENTITIES_MAX).nth(index as usize).unwrap_or_default();
        let entities = part
            .iter()
            .filter_map(|&(slot, id)| match slot {
                NO_SLOT => npcs.entity_with_id(id, setting),
                slot => Some(roster.get(slot).filter(|presence| presence.id == id)?.entity()),
            })
            .collect();
        SnapshotChunk { index, count: self.count(), entities, ..SnapshotChunk::default() }
    }
}
