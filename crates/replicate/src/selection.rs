//! Selection of entities for one send, when the client's bytes do not suffice for all.
//!
//! The own avatar comes first. The others in the [visible set](Viewer::shown) with a due update are ordered by the age of their last
//! update and their distance. Entities without room are not queued: the next send selects again from newer state. A datagram costs as
//! much as its contents, so updates of far entities wait up to [`HOLD_SENDS`] sends until they fill one. The last datagram of a send is
//! filled with moving entities that have no due update, since their last update may have been lost.

use crate::replica::{Hot, Replica};
use crate::viewer::{Place, SendState, Shown, Viewer};
use std::cmp::Ordering;
use wire::terse::AVATAR_BLOCK_LEN;

/// Maximum number of entities of a visible set that one send examines.
const LOOK_MAX: usize = 1_024;
/// Period of repeated updates of moving entities, ticks: 2 s at 20 Hz near the viewer, 2.5 s elsewhere.
const REFRESH_TICKS: u32 = 40;
const REFRESH_FAR_TICKS: u32 = 50;
/// Ticks from a stop to its last repetition, half a second at 20 Hz: long enough to arrive after a late update from before the stop, which
/// would set the avatar moving again. For far entities it is the only repetition, so it must not be late: at one second, stops with 5 %
/// loss were off by a second's walk (p99.9 of `crowd`).
const LAST_REST_TICKS: u32 = 10;
/// Maximum number of sends for which far entities wait for a full datagram: 0.3 s at ten per second.
pub const HOLD_SENDS: u8 = 3;
/// Minimum age in ticks of the last update of an entity that fills a datagram.
const FILL_TICKS: u32 = 4;
/// Distance in metres at which an entity waits twice as long as at distance 0.
const HALF_WEIGHT_M: f32 = 10.0;
/// Urgency of a stop relative to a movement: a viewer extrapolates a stopped avatar until it gets the stop.
const STOP_WEIGHT: f32 = 4.0;
/// Urgency of a repetition relative to a movement.
const REFRESH_WEIGHT: f32 = 0.25;

/// The entities chosen for one send, by their places in the visible set; buffers are reused between viewers.
#[derive(Debug, Default)]
pub struct Selection {
    /// To be sent whole: never shown before, or in doubt.
    pub full: Vec<Place>,
    /// Shown before: a terse block.
    pub terse: Vec<Place>,
    /// Entities with a due terse block, with its urgency; above [`MOST_URGENT`] it does not wait.
    due: Vec<(f32, Place)>,
    /// Entities to be shown, with their distances.
    wanted: Vec<(f32, Place)>,
    /// Moving entities that can fill a datagram, with the ticks since their last update.
    spare: Vec<(f32, Place)>,
}

/// Budget of one send.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes for blocks of this send, headers not counted.
    pub bytes: usize,
    /// Full updates of this send: they are reliable, and the client's unacked ones are bounded.
    pub full: usize,
    /// Terse blocks of one datagram.
    pub blocks_per_datagram: usize,
    /// Shortage of CPU time of the sender, from 1: see [`period_ticks`].
    pub pressure: f32,
    /// Sends of this viewer per send that is not [`Self::near_only`].
    pub far_every: u32,
    /// True if only the own avatar and [near](crate::NEAR_MAX) entities take part.
    pub near_only: bool,
}

/// World ticks between two sends: 0.1 s at 20 Hz.
const SEND_TICKS: f32 = 2.0;
/// Radius within which no pressure lowers rates, as a part of the distance of the last [near](crate::NEAR_MAX) avatar: in an even crowd
/// twenty of the 60 are within √⅓ of it.
const FULL_RATE_REACH: f32 = 0.577;

/// Factor by which pressure stretches the period of an avatar's updates: `1 + (pressure − 1) × max(0, distance ÷ (0.577 × near) − 1)`,
/// where `near` is the distance of the last of the nearest 60. Distances are relative to the crowd's density, since in a dense one all
/// visible avatars stand within a few metres.
fn stretch(pressure: f32, distance: f32, near: f32) -> f32 {
    1.0 + (pressure - 1.0) * (distance / (FULL_RATE_REACH * near.max(f32::MIN_POSITIVE)) - 1.0).max(0.0)
}

/// `stretch` at the edge of the nearest.
#[must_use]
pub fn near_edge_stretch(pressure: f32) -> f32 {
    stretch(pressure, 1.0, 1.0)
}

/// Least world ticks between two updates of a moving avatar under pressure: `stretch` × the time between two sends, at most 60.
/// Stops do not wait. Without pressure it is the time between two sends.
#[must_use]
pub fn period_ticks(pressure: f32, distance: f32, near: f32) -> f32 {
    (SEND_TICKS * stretch(pressure, distance, near)).min(PERIOD_TICKS_MAX)
}

/// Longest period of updates of an avatar under pressure: three seconds at 20 Hz.
const PERIOD_TICKS_MAX: f32 = 60.0;

/// A full block on the wire: measured 250–290 bytes with names of common length.
pub const FULL_BLOCK_BYTES: usize = 280;

impl Selection {
    /// Chooses for `viewer`, after [`Viewer::update_visible_set`]. Returns the number of entities examined.
    pub fn choose(&mut self, viewer: &mut Viewer, replica: &Replica, allowance: Allowance) -> usize {
        self.full.clear();
        self.terse.clear();
        for list in [&mut self.due, &mut self.wanted, &mut self.spare] {
            list.clear();
        }
        let n_looks = self.gather(viewer, replica, &allowance);
        let mut bytes = allowance.bytes;
        self.take_wanted(&mut bytes, allowance.full);
        self.take_due(bytes / AVATAR_BLOCK_LEN, allowance.blocks_per_datagram);
        self.fill(bytes / AVATAR_BLOCK_LEN, allowance.blocks_per_datagram);
        n_looks
    }

    /// Examines the visible set, or [`LOOK_MAX`] entities of a larger one, and returns their number.
    fn gather(&mut self, viewer: &mut Viewer, replica: &Replica, allowance: &Allowance) -> usize {
        let (hot, tick) = (replica.hot(), replica.tick.0 as u32);
        let own = viewer.own();
        let near_m = viewer.near_m();
        let is_pressed = allowance.pressure > 1.0;
        // A period counts as over if it ends before the middle between this send and the next one that examines the avatar.
        let look_ticks = SEND_TICKS * allowance.far_every as f32;
        let n = if allowance.near_only { viewer.near().end } else { viewer.shown.len() };
        let n_looks = n.min(LOOK_MAX);
        // The nearest stand in front, and have a turn in every send.
        let n_always = n_looks.min(LOOK_MAX / 4);
        let rest = n - n_always;
        let start = if rest == 0 { 0 } else { viewer.cursor as usize % rest };
        for look in 0..n_looks {
            let at = if look < n_always { look } else { n_always + (start + look - n_always) % rest };
            let shown = &mut viewer.shown[at];
            let hot = &hot[shown.slot as usize];
            let age = tick.wrapping_sub(shown.sent);
            let at = at as Place;
            if Some(shown.slot) == own {
                // Before all others.
                match need(shown, hot, tick) {
                    Some(Need::Full) => self.wanted.push((-1.0, at)),
                    Some(Need::Terse(_)) => self.due.push((f32::INFINITY, at)),
                    None => {}
                }
                continue;
            }
            match need(shown, hot, tick) {
                Some(Need::Full) => self.wanted.push((order_of_full(shown, hot), at)),
                Some(Need::Terse(_))
                    if is_pressed
                        && !hot.at_rest
                        && (age as f32 + look_ticks / 2.0)
                            < period_ticks(allowance.pressure, shown.distance, near_m) => {}
                Some(Need::Terse(weight)) => {
                    let urgency = weight * age as f32 / (1.0 + shown.distance / HALF_WEIGHT_M);
                    // Under pressure the next send may not examine it.
                    let waits = shown.band > 0 && shown.held < HOLD_SENDS && !(is_pressed && hot.at_rest);
                    shown.held = shown.held.saturating_add(1);
                    let urgency = urgency.clamp(1e-3, MOST_URGENT);
                    self.due.push((if waits { urgency } else { urgency * NOW }, at));
                }
                None if !hot.at_rest && age >= FILL_TICKS => self.spare.push((age as f32, at)),
                None => {}
            }
        }
        viewer.cursor = ((start + n_looks - n_always) % rest.max(1)) as Place;
        n_looks
    }

    /// Takes full updates in the order of [`order_of_full`], for at most half of the bytes while terse updates are due.
    fn take_wanted(&mut self, bytes: &mut usize, full_max: usize) {
        let share = if self.due.is_empty() { *bytes } else { *bytes / 2 };
        // One full update always fits: the budget of a slow client has grown to it over several sends.
        let share = if share < FULL_BLOCK_BYTES { *bytes } else { share };
        let most = (share / FULL_BLOCK_BYTES).min(full_max);
        take_first(&mut self.wanted, most, lowest);
        self.full.extend(self.wanted.iter().map(|&(_, at)| at));
        let spent = self.full.len() * FULL_BLOCK_BYTES;
        assert!(spent <= *bytes, "full updates of {spent} bytes in a send of {bytes}");
        *bytes -= spent;
    }

    /// Takes all immediate updates, and as many waiting ones as fill their last datagram or fill further datagrams completely; the most
    /// urgent ones if the bytes do not suffice.
    fn take_due(&mut self, most: usize, blocks_per_datagram: usize) {
        let n = self.due.len();
        let n_now = self.due.iter().filter(|(urgency, _)| *urgency > MOST_URGENT).count();
        let full = n - n % blocks_per_datagram;
        let wanted = n_now.next_multiple_of(blocks_per_datagram).max(full);
        if wanted <= most {
            // The bytes suffice. `wanted` may exceed `n`: then entities without a due update fill the last datagram.
            leave_last(&mut self.due, n.saturating_sub(wanted));
        } else {
            take_first(&mut self.due, most, highest);
        }
        self.terse.extend(self.due.iter().map(|&(_, at)| at));
    }

    /// Fills the last datagram with the entities whose last update is oldest.
    fn fill(&mut self, most: usize, blocks_per_datagram: usize) {
        let n = self.terse.len();
        if n > 0 {
            let room = n.next_multiple_of(blocks_per_datagram).min(most.max(n)) - n;
            take_first(&mut self.spare, room, highest);
            self.terse.extend(self.spare.iter().map(|&(_, at)| at));
        }
    }
}

fn lowest(a: &(f32, Place), b: &(f32, Place)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

fn highest(a: &(f32, Place), b: &(f32, Place)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// Boundary of urgencies: waiting entities are below it; immediate ones, multiplied by `NOW`, above.
const MOST_URGENT: f32 = 1e5;
const NOW: f32 = 1e9;

/// Keeps the first `most` of a list by the given order. The result is not sorted.
fn take_first(
    list: &mut Vec<(f32, Place)>,
    most: usize,
    order: fn(&(f32, Place), &(f32, Place)) -> Ordering,
) {
    if most < list.len() {
        if most > 0 {
            list.select_nth_unstable_by(most - 1, order);
        }
        list.truncate(most);
    }
}

/// Drops `n` waiting updates, those at the end first, since the nearest are in front. `n` is less than a datagram's blocks, and each dropped
/// update becomes immediate after [`HOLD_SENDS`] sends, so that an exact order would gain nothing.
fn leave_last(due: &mut Vec<(f32, Place)>, mut n: usize) {
    let mut at = due.len();
    while n > 0 && at > 0 {
        at -= 1;
        if due[at].0 <= MOST_URGENT {
            due.swap_remove(at);
            n -= 1;
        }
    }
}

#[derive(Clone, Copy)]
enum Need {
    Full,
    /// Its urgency.
    Terse(f32),
}

/// Rank of a full update among those wanted, the lowest first: the distance in metres. A stopped entity whose update may be lost precedes all
/// newcomers, since a client that displays it extrapolates it without limit. Ranked by distance, such a stop waited for 30 nearer newcomers
/// on a slow path and was 1.3 s late.
fn order_of_full(shown: &Shown, hot: &Hot) -> f32 {
    if shown.send_state == SendState::Doubtful && hot.at_rest && shown.is_behind(hot) {
        -0.5 / (1.0 + shown.distance)
    } else {
        shown.distance
    }
}

fn need(shown: &Shown, hot: &Hot, tick: u32) -> Option<Need> {
    if shown.send_state != SendState::Sent {
        return Some(Need::Full);
    }
    if shown.is_behind(hot) {
        if shown.is_reseated(hot) {
            // Terse updates do not name the parent that they are relative to.
            return Some(Need::Full);
        }
        return Some(Need::Terse(if hot.at_rest { STOP_WEIGHT } else { 1.0 }));
    }
    if hot.at_rest {
        let rested = tick.wrapping_sub(hot.changed_at[usize::from(shown.band)]);
        let is_due = shown.repeats > 1 || shown.repeats == 1 && rested >= LAST_REST_TICKS;
        is_due.then_some(Need::Terse(1.0))
    } else {
        let age = tick.wrapping_sub(shown.sent);
        let refresh = if shown.band == 0 { REFRESH_TICKS } else { REFRESH_FAR_TICKS };
        (age >= refresh).then_some(Need::Terse(REFRESH_WEIGHT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "full updates of 560 bytes in a send of 280")]
    fn full_updates_without_bytes_for_them_are_noticed() {
        let mut selection = Selection { full: vec![0, 1], ..Selection::default() };
        let mut bytes = FULL_BLOCK_BYTES;
        selection.take_wanted(&mut bytes, 1);
    }
}
