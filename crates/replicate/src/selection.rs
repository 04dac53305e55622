//! Whom a client is told about in one send, when not everybody fits its bytes.
//!
//! The own avatar comes first. Half of the rest goes to what changed, nearest first; the other half goes round
//! over everybody else who has something new, so that nobody stays old. What does not fit is not queued: the next
//! send chooses again from newer state. This module is the seam at which interest by cells will replace a scan
//! over all entities.

use crate::replica::{Hot, Replica, SLOTS_PER_BLOCK, SlotIndex};
use crate::viewer::{Known, Viewer};
use glam::Vec3;
use wire::terse::AVATAR_BLOCK_LEN;

/// The entities chosen for one send; buffers are reused between viewers.
#[derive(Debug, Default)]
pub struct Selection {
    /// Never shown before: to be sent whole.
    pub full: Vec<SlotIndex>,
    /// Shown before: a terse block.
    pub terse: Vec<SlotIndex>,
    /// Of whom something is due, by index, with the square of their distance.
    candidates: Vec<(f32, SlotIndex)>,
    /// The nearest of them: the square of their distance, and where they stand in `candidates`.
    nearest: Vec<(f32, u32)>,
}

/// The distance of a candidate that was chosen already.
const TAKEN: f32 = -1.0;

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

        self.gather(viewer, replica, own, eye);

        let mut near = Purse { bytes: purse.bytes / 2, full: purse.full.div_ceil(2) };
        purse.bytes -= near.bytes;
        purse.full -= near.full;
        self.take_nearest(viewer, replica, &mut near);
        purse.bytes += near.bytes;
        purse.full += near.full;
        self.take_round(viewer, replica, &mut purse);
    }

    /// Everybody else of whom something is due. Blocks in which nothing was and nothing changed since are skipped:
    /// looking at every slot took a third of a saturated shard with 3,000 who sat still (`throng bots`, 2-core VM).
    fn gather(&mut self, viewer: &mut Viewer, replica: &Replica, own: Option<SlotIndex>, eye: Vec3) {
        let blocks = replica.blocks().zip(viewer.known.chunks(SLOTS_PER_BLOCK)).zip(&mut viewer.quiet);
        for (block, (((version, hot), known), quiet)) in blocks.enumerate() {
            if *quiet == version.state {
                continue;
            }
            let n_before = self.candidates.len();
            for (offset, (hot, known)) in hot.iter().zip(known).enumerate() {
                let index = (block * SLOTS_PER_BLOCK + offset) as SlotIndex;
                if Some(index) != own && need(known, hot, false).is_some() {
                    self.candidates.push((hot.position.distance_squared(eye), index));
                }
            }
            *quiet = if self.candidates.len() == n_before { version.state } else { 0 };
        }
    }

    /// Takes the nearest candidates that the purse holds, and marks them as taken.
    fn take_nearest(&mut self, viewer: &Viewer, replica: &Replica, purse: &mut Purse) {
        let most = (purse.bytes / AVATAR_BLOCK_LEN).min(self.candidates.len());
        if most == 0 {
            return;
        }
        let mut nearest = std::mem::take(&mut self.nearest);
        nearest.clear();
        nearest.extend(self.candidates.iter().enumerate().map(|(at, candidate)| (candidate.0, at as u32)));
        if most < nearest.len() {
            nearest.select_nth_unstable_by(most - 1, by_distance);
            nearest.truncate(most);
        }
        nearest.sort_unstable_by(by_distance);
        for &(_, at) in &nearest {
            let index = self.candidates[at as usize].1;
            let (known, hot) = (&viewer.known[index as usize], &replica.hot()[index as usize]);
            if need(known, hot, false).is_some_and(|need| self.take(need, index, purse)) {
                self.candidates[at as usize].0 = TAKEN;
            }
        }
        self.nearest = nearest;
    }

    /// Goes round over the candidates that were not taken, from where the last send stopped.
    fn take_round(&mut self, viewer: &mut Viewer, replica: &Replica, purse: &mut Purse) {
        let n = self.candidates.len();
        let start = self.candidates.partition_point(|&(_, index)| index < viewer.cursor);
        for step in 0..n {
            let (distance, index) = self.candidates[(start + step) % n];
            if distance == TAKEN {
                continue;
            }
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

fn by_distance(a: &(f32, u32), b: &(f32, u32)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}
