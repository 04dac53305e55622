//! The frame phase: what is different from the frame before.

use crate::{
    frame::{Change, Frame},
    world::World,
};
use systems::System;

impl World {
    /// Fills in the changes and brings the state hash up to date.
    ///
    /// Removals come first, then newcomers as they are at the end of the tick, then what is new about the others. Who came and went
    /// within the tick is not mentioned.
    #[inline(never)]
    pub(crate) fn tell(&mut self, out: &mut Frame) {
        System::WorldTell.enter();
        // As much as they usually come to at most: they have all moved, and all begin or end an animation.
        let n_usual = 2 * (self.roster.len() + self.npcs.len());
        out.changes.reserve(n_usual);
        out.changes.extend(self.removed.drain(..).map(Change::Removed));
        let newcomers = self.roster.iter().filter(|(_, presence)| presence.news.created);
        out.changes.extend(newcomers.map(|(_, presence)| Change::Created(presence.entity())));
        self.tell_new_npcs(out);

        for (slot, presence) in self.roster.iter_mut() {
            let news = std::mem::take(&mut presence.news);
            if !news.touched {
                continue;
            }
            let told = out.changes.len();
            if !news.created {
                if news.appeared {
                    out.changes.push(Change::Appeared(presence.id, presence.appearance.clone()));
                }
                if news.animated {
                    out.changes.push(Change::Animated(presence.id, presence.animator.list().clone()));
                }
                if presence.shown != presence.motion {
                    out.changes.push(Change::Moved(presence.id, presence.motion));
                }
            }
            self.counters.entities_dirtied += u64::from(news.created || out.changes.len() > told);
            presence.shown = presence.motion;

            let hash = presence.state_hash(slot);
            let former = std::mem::replace(&mut presence.hashes.whole, hash);
            self.presences_hash = self.presences_hash.wrapping_sub(former).wrapping_add(hash);
        }
        self.tell_npcs(out);
    }
}
