//! The frame phase: differences from the previous frame.

use crate::{counters::WorldCounters, npc::Npcs, roster::Roster, setting::WorldSetting};
use ids::{LocalId, Tick};
use link::{Change, Frame};
use systems::System;

/// The frame phase: the numbers of frames, and departures that the next one reports.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    /// Number of the next frame.
    pub(crate) next_sequence: u64,
    /// Avatars known to readers of frames that left since the last frame.
    pub(crate) departures: Vec<LocalId>,
}

impl Delta {
    /// Begins the next frame of the epoch: frames are numbered without gaps.
    pub(crate) fn begin(&mut self, setting: &WorldSetting, tick: Tick, dilation: f32, out: &mut Frame) {
        out.begin(setting.id, setting.epoch, self.next_sequence, tick, dilation);
        self.next_sequence += 1;
    }

    /// Fills in the changes and brings the visitors' hash up to date.
    ///
    /// Removals come first, then newcomers as they are at the end of the tick, then changes of the others. An avatar that came and went
    /// within the tick is not mentioned.
    #[inline(never)]
    pub(crate) fn write_changes(
        &mut self,
        roster: &mut Roster,
        npcs: &mut Npcs,
        setting: &WorldSetting,
        counters: &mut WorldCounters,
        out: &mut Frame,
    ) {
        System::WorldTell.enter();
        // As much as they usually come to at most: they have all moved, and all begin or end an animation.
        let n_usual = 2 * (roster.len() + npcs.len());
        out.changes.reserve(n_usual);
        out.changes.extend(self.departures.drain(..).map(Change::Removed));
        let newcomers = roster.iter().filter(|(_, presence)| presence.dirty.created);
        out.changes.extend(newcomers.map(|(_, presence)| Change::Created(presence.entity())));
        npcs.write_newcomers(setting, out);

        let mut difference = 0_u64;
        for (slot, presence) in roster.iter_mut() {
            let dirty = std::mem::take(&mut presence.dirty);
            if !dirty.touched {
                continue;
            }
            let n_before = out.changes.len();
            if !dirty.created {
                if dirty.appeared {
                    out.changes.push(Change::Appeared(presence.id, presence.appearance.clone()));
                }
                if dirty.animated {
                    out.changes.push(Change::Animated(presence.id, presence.animator.list().clone()));
                }
                if dirty.seated {
                    let seat = presence.seat.as_ref().map(|seat| seat.seat);
                    out.changes.push(Change::Seated(presence.id, seat));
                }
                if presence.shown != presence.motion {
                    out.changes.push(Change::Moved(presence.id, presence.motion));
                }
            }
            counters.entities_dirtied += u64::from(dirty.created || out.changes.len() > n_before);
            presence.shown = presence.motion;

            let hash = presence.state_hash(slot);
            let former = std::mem::replace(&mut presence.hashes.whole, hash);
            difference = difference.wrapping_sub(former).wrapping_add(hash);
        }
        roster.rehash(difference);
        npcs.write_changes(setting, counters, out);
    }
}
