//! Whom a client is told about in one send, when not everybody fits its bytes.
//!
//! The own avatar comes first. Half of the rest goes to what changed, nearest first; the other half goes round
//! over everybody else who has something new, so that nobody stays old. What does not fit is not queued: the next
//! send chooses again from newer state. This module is the seam at which interest by cells will replace a scan
//! over all entities.

use crate::replica::{Hot, Replica, SlotIndex};
use crate::viewer::{Known, Viewer};
use wire::terse::AVATAR_BLOCK_LEN;

/// The entities chosen for one send; buffers are reused between viewers.
#[derive(Debug, Default)]
pub struct Selection {
    /// Never shown before: to be sent whole.
    pub full: Vec<SlotIndex>,
    /// Shown before: a terse block.
    pub terse: Vec<SlotIndex>,
    candidates: Vec<(f32, SlotIndex)>,
}

/// What one send may cost.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes for blocks of this send, headers not counted.
    pub bytes: usize,
    /// Full updates of this send: they are reliable, and the client's unacked ones are bounded.
    pub full: usize,
}

/// A full block on the wire: measured 250–290 bytes with names of common length.
pub const FULL_BLOCK_BYTES: usize = 280;

impl Selection {
    /// Chooses for `viewer`, after [`Viewer::departed`].
    pub fn choose(&mut self, viewer: &mut Viewer, replica: &Replica, allowance: Allowance) {
        self.full.clear();
        self.terse.clear();
        self.candidates.clear();
        let mut purse = Purse { bytes: allowance.bytes, full: allowance.full };
        let eye = viewer.look_from(replica);
        let own = replica.of_session(viewer.session);
        if let Some(own) = own
            && let Some(need) = need(&viewer.known[own as usize], &replica.hot()[own as usize], true)
        {
            self.take(need, own, &mut purse);
        }

        for (index, (hot, known)) in replica.hot().iter().zip(&viewer.known).enumerate() {
            let index = index as SlotIndex;
            if Some(index) != own && need(known, hot, false).is_some() {
                self.candidates.push((hot.position.distance_squared(eye), index));
            }
        }

        let mut near = Purse { bytes: purse.bytes / 2, full: purse.full.div_ceil(2) };
        purse.bytes -= near.bytes;
        purse.full -= near.full;
        let n_nearest = self.take_nearest(viewer, replica, &mut near);
        purse.bytes += near.bytes;
        purse.full += near.full;
        self.take_round(n_nearest, viewer, replica, &mut purse);
    }

    /// Takes the nearest candidates that the purse holds and gathers them at the front. Returns how many they are.
    fn take_nearest(&mut self, viewer: &Viewer, replica: &Replica, purse: &mut Purse) -> usize {
        let most = (purse.bytes / AVATAR_BLOCK_LEN).min(self.candidates.len());
        if most == 0 {
            return 0;
        }
        if most < self.candidates.len() {
            self.candidates.select_nth_unstable_by(most - 1, by_distance);
        }
        self.candidates[..most].sort_unstable_by(by_distance);
        let mut n_taken = 0;
        for position in 0..most {
            let index = self.candidates[position].1;
            let (known, hot) = (&viewer.known[index as usize], &replica.hot()[index as usize]);
            if need(known, hot, false).is_some_and(|need| self.take(need, index, purse)) {
                self.candidates.swap(n_taken, position);
                n_taken += 1;
            }
        }
        n_taken
    }

    /// Goes round over the candidates behind the first `n_taken`, from where the last send stopped.
    fn take_round(&mut self, n_taken: usize, viewer: &mut Viewer, replica: &Replica, purse: &mut Purse) {
        let rest = &mut self.candidates[n_taken..];
        rest.sort_unstable_by_key(|&(_, index)| index);
        let start = rest.partition_point(|&(_, index)| index < viewer.cursor);
        let n = rest.len();
        for step in 0..n {
            let index = self.candidates[n_taken + (start + step) % n].1;
            let (known, hot) = (&viewer.known[index as usize], &replica.hot()[index as usize]);
            let Some(need) = need(known, hot, false) else { continue };
            // Nobody overtakes what the bytes do not hold: the next send begins with it and has saved them up.
            if !self.take(need, index, purse) && purse.is_short_of_bytes_for(need) {
                viewer.cursor = index;
                return;
            }
        }
        viewer.cursor = 0;
    }

    fn take(&mut self, need: Need, index: SlotIndex, purse: &mut Purse) -> bool {
        match need {
            Need::Full if purse.full > 0 && purse.bytes >= FULL_BLOCK_BYTES => {
                purse.full -= 1;
                purse.bytes -= FULL_BLOCK_BYTES;
                self.full.push(index);
                true
            }
            Need::Terse if purse.bytes >= AVATAR_BLOCK_LEN => {
                purse.bytes -= AVATAR_BLOCK_LEN;
                self.terse.push(index);
                true
            }
            _ => false,
        }
    }
}

struct Purse {
    bytes: usize,
    full: usize,
}

impl Purse {
    const fn is_short_of_bytes_for(&self, need: Need) -> bool {
        match need {
            Need::Full => self.full > 0 && self.bytes < FULL_BLOCK_BYTES,
            Need::Terse => self.bytes < AVATAR_BLOCK_LEN,
        }
    }
}

#[derive(Clone, Copy)]
enum Need {
    Full,
    Terse,
}

fn need(known: &Known, hot: &Hot, own: bool) -> Option<Need> {
    if hot.id == 0 || (hot.private && !own) {
        None
    } else if known.id != hot.id || known.doubtful {
        Some(Need::Full)
    } else if known.sent != hot.changed_at || known.repeats > 0 {
        Some(Need::Terse)
    } else {
        None
    }
}

fn by_distance(a: &(f32, SlotIndex), b: &(f32, SlotIndex)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}
