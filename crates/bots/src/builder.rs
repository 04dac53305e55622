//! A building bot: it makes, moves, paints, scales, links, names and deletes prims on its own plot, and compares the updates that it receives with
//! the edits that it asked for.
//!
//! ```text
//! poll_edit ─► BuildEdit ─► message ─► server ─► update of the prim ─► on_prim: seen, after so long
//!                                                  none within 10 s, or another state ─► wrong
//! ```
//!
//! A prim has one edit under way at a time, so that each update can be assigned. [`BuildPlan::REZ`] only makes prims, many at a time, and
//! [`BuildPlan::RUSH`] sends edits of a prim without waiting for each: only the last one is compared.

mod journal;
mod plot;
#[cfg(test)]
mod tests;

pub use journal::{BuildEvent, EDITS_FILE, EditEffect, EditRecord, PrimState};
pub use plot::Plot;

use crate::distribution::Distribution;
use crate::prims::{SeenPrim, textures_of};
use crate::rng::Rng;
use glam::{Vec2, Vec3};
use ids::{Instant, LocalId};
use std::time::Duration;
use wire::texture_entry::{PRIM_TEXTURE, TextureEntry};

/// Time after which an edit that was not seen counts as wrong.
pub const SEEN_WITHIN: Duration = Duration::from_secs(10);
/// Events that are kept between two calls of [`Builder::take_events`]; further ones are left out.
const EVENTS_MAX: usize = 10_000;
/// Height of prims over the ground, metres, at least.
const FLOOR_M: f32 = 30.0;
/// Update flags: the client's user owns the object, and the client selects it as its maker.
const YOU_OWNER: u32 = 1 << 5;
const CREATE_SELECTED: u32 = 1 << 1;

/// Range of a bot's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildPlan {
    /// Prims that a bot keeps. One that edits deletes the oldest for the next; the others stop there.
    pub prims_max: usize,
    /// Prims that were asked for and not seen yet.
    pub making_max: usize,
    /// True if it changes prims.
    pub edits: bool,
    /// True if it waits until it has seen an edit of a prim before it sends the next one. Without that it only moves, scales and paints.
    pub waits: bool,
    /// Height above the floor of plots to which prims are thrown, metres, if physics moves them. Such bots make, drop and throw prims, and compare
    /// nothing.
    pub throws_to_m: Option<u16>,
}

impl BuildPlan {
    /// All kinds of edits of a few prims.
    pub const BUILD: Self =
        Self { prims_max: 12, making_max: 1, edits: true, waits: true, throws_to_m: None };
    /// New prims alone, as fast as the rate allows.
    pub const REZ: Self = Self { prims_max: 800, making_max: 400, edits: false, ..Self::BUILD };
    /// Edits of a few prims at any rate.
    pub const RUSH: Self = Self { making_max: 12, waits: false, ..Self::BUILD };
    /// Bodies that are thrown a little above the plot again and again, so that they hardly come to rest.
    pub const TUMBLE: Self = Self { prims_max: 20, making_max: 20, throws_to_m: Some(0), ..Self::RUSH };
    /// Bodies that are thrown so high that they fall for half a minute.
    pub const SOAR: Self = Self { throws_to_m: Some(3_800), ..Self::TUMBLE };
}

/// A request of a building bot.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildEdit {
    /// Make a prim of this size at a place.
    Create {
        /// Centre, metres from the region's corner.
        position: Vec3,
        /// Metres.
        scale: Vec3,
    },
    /// Move it.
    Move(LocalId, Vec3),
    /// Scale it.
    Scale(LocalId, Vec3),
    /// Paint it with this texture entry.
    Paint(LocalId, Vec<u8>),
    /// Rename it.
    Name(LocalId, String),
    /// Make the second a part of the first.
    Link(LocalId, LocalId),
    /// Make it a linkset of its own.
    Delink(LocalId),
    /// Delete it.
    Delete(LocalId),
    /// Let physics move it.
    Drop(LocalId),
}

/// Counters of a building bot; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildCounters {
    /// Prims that were made and seen.
    pub objects_made: u64,
    /// Prims that were asked for and not seen in time.
    pub objects_failed: u64,
    /// Requests.
    pub edits_sent: u64,
    /// Requests whose effect was seen. Names are in no update, and count when they are sent.
    pub edits_seen: u64,
    /// Requests whose effect was not seen in time, and updates that no request explains.
    pub edits_wrong: u64,
}

#[derive(Clone, Debug)]
struct BuiltPrim {
    id: LocalId,
    /// State that the bot has asked for last.
    wanted: PrimState,
    /// State before the edit under way.
    former: PrimState,
    /// Number and time of the edit under way.
    under_way: Option<(u64, Instant)>,
    is_leaving: bool,
    /// True once the bot has dropped it.
    is_dropped: bool,
}

/// A creation under way.
#[derive(Clone, Copy, Debug)]
struct Making {
    number: u64,
    position: Vec3,
    scale: Vec3,
    sent_at: Instant,
}

/// A building bot.
#[derive(Clone, Debug)]
pub struct Builder {
    plan: BuildPlan,
    plot: Plot,
    period: Duration,
    next_at: Instant,
    built: Vec<BuiltPrim>,
    making: Vec<Making>,
    /// Edits so far, which make each one differ from the others.
    n_edits: u64,
    counters: BuildCounters,
    seen_after: Distribution,
    /// Events since the last [`Self::take_events`], if they are kept.
    events: Option<Vec<(Instant, BuildEvent)>>,
}

impl Builder {
    /// A bot that begins now with `rate_hz` edits a second.
    #[must_use]
    pub fn new(now: Instant, plan: BuildPlan, plot: Plot, rate_hz: u32) -> Self {
        let mut builder = Self {
            plan,
            plot,
            period: Duration::ZERO,
            next_at: now,
            built: Vec::new(),
            making: Vec::new(),
            n_edits: 0,
            counters: BuildCounters::default(),
            seen_after: Distribution::default(),
            events: None,
        };
        builder.set_rate_hz(rate_hz);
        builder
    }

    /// Works otherwise from the next edit on, with the prims that it has.
    pub const fn set_plan(&mut self, plan: BuildPlan) {
        self.plan = plan;
    }

    /// Sets the edits a second, from the edit after the next one on.
    pub fn set_rate_hz(&mut self, rate_hz: u32) {
        self.period = Duration::from_secs(1) / rate_hz.max(1);
    }

    /// Keeps events for [`Self::take_events`] from now on.
    pub fn keep_events(&mut self) {
        self.events.get_or_insert_default();
    }

    /// Events since the last call, in their order.
    pub fn take_events(&mut self) -> Vec<(Instant, BuildEvent)> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note(&mut self, at: Instant, event: BuildEvent) {
        if let Some(events) = self.events.as_mut().filter(|events| events.len() < EVENTS_MAX) {
            events.push((at, event));
        }
    }

    /// Counters.
    #[must_use]
    pub const fn counters(&self) -> &BuildCounters {
        &self.counters
    }

    /// Times from a request to the update that shows its effect.
    #[must_use]
    pub const fn seen_after(&self) -> &Distribution {
        &self.seen_after
    }

    /// Time of the next edit.
    #[must_use]
    pub const fn poll_timeout(&self) -> Instant {
        self.next_at
    }

    /// The edit that is due. A prim with an edit under way is left alone; with none free there is none.
    pub fn poll_edit(&mut self, now: Instant, rng: &mut Rng) -> Option<BuildEdit> {
        self.give_up_overdue(now);
        if self.next_at > now {
            return None;
        }
        self.next_at = (self.next_at + self.period).max(now);
        let edit = self.next_edit(now, rng)?;
        self.n_edits += 1;
        self.counters.edits_sent += 1;
        Some(edit)
    }

    fn next_edit(&mut self, now: Instant, rng: &mut Rng) -> Option<BuildEdit> {
        let is_full = self.built.len() + self.making.len() >= self.plan.prims_max;
        if !is_full && self.making.len() < self.plan.making_max {
            return Some(self.make(now, rng));
        }
        if !self.plan.edits {
            return None;
        }
        if is_full && self.plan.waits && rng.unit() < 0.2 {
            let oldest = (0..self.built.len()).find(|&at| self.is_free(at) && self.is_alone(at))?;
            let id = self.built[oldest].id;
            self.begin(oldest, now).is_leaving = true;
            self.note_sent(now, EditEffect::Gone(id));
            return Some(BuildEdit::Delete(id));
        }
        if let Some(height_m) = self.plan.throws_to_m {
            return self.drop_or_throw(height_m.into(), rng);
        }
        let free: Vec<usize> = (0..self.built.len()).filter(|&at| self.is_free(at)).collect();
        let at = *free.get((rng.unit() * free.len() as f64) as usize)?;
        let id = self.built[at].id;
        let kind = if self.plan.waits {
            (rng.unit() * 6.0) as usize
        } else {
            [1, 2, 4][(rng.unit() * 3.0) as usize]
        };
        let edit = match kind {
            0 => {
                self.counters.edits_seen += 1;
                return Some(BuildEdit::Name(id, format!("Brick {}", self.n_edits)));
            }
            1 => {
                let entry = texture_entry(self.n_edits);
                self.begin(at, now).wanted.textures = textures_of(&entry);
                BuildEdit::Paint(id, entry)
            }
            2 => {
                let scale = self.size();
                self.begin(at, now).wanted.scale = scale;
                BuildEdit::Scale(id, scale)
            }
            3 => self.link_or_delink(at, &free, now)?,
            // Parts stay where they are in their linkset.
            _ if self.built[at].wanted.parent != LocalId(0) => return None,
            _ => {
                let place = self.place(rng);
                self.begin(at, now).wanted.position = place;
                BuildEdit::Move(id, place)
            }
        };
        self.note_sent(now, EditEffect::Changed(id, self.built[at].wanted));
        Some(edit)
    }

    /// Drops a prim that is not dropped yet; else throws any of them.
    fn drop_or_throw(&mut self, height_m: f32, rng: &mut Rng) -> Option<BuildEdit> {
        if let Some(built) = self.built.iter_mut().find(|built| !built.is_dropped) {
            built.is_dropped = true;
            return Some(BuildEdit::Drop(built.id));
        }
        let at = (self.n_edits as usize).checked_rem(self.built.len())?;
        Some(BuildEdit::Move(self.built[at].id, self.place(rng) + Vec3::Z * height_m))
    }

    fn make(&mut self, now: Instant, rng: &mut Rng) -> BuildEdit {
        let (position, scale) = (self.place(rng), self.size());
        self.making.push(Making { number: self.n_edits, position, scale, sent_at: now });
        self.note_sent(now, EditEffect::Made { position, scale });
        BuildEdit::Create { position, scale }
    }

    fn note_sent(&mut self, now: Instant, effect: EditEffect) {
        self.note(now, BuildEvent::Sent { number: self.n_edits, effect });
    }

    /// Makes a prim that stands alone a part of another root, and a part stand alone.
    fn link_or_delink(&mut self, at: usize, free: &[usize], now: Instant) -> Option<BuildEdit> {
        let (id, parent) = (self.built[at].id, self.built[at].wanted.parent);
        if parent != LocalId(0) {
            let root = self.built.iter().find(|built| built.id == parent && built.under_way.is_none())?;
            let place = root.wanted.position + self.built[at].wanted.position;
            let wanted = &mut self.begin(at, now).wanted;
            (wanted.position, wanted.parent) = (place, LocalId(0));
            return Some(BuildEdit::Delink(id));
        }
        let is_root = |other: usize| other != at && self.built[other].wanted.parent == LocalId(0);
        let root = free.iter().copied().find(|&other| is_root(other)).filter(|_| self.is_alone(at))?;
        let (root_id, root_place) = (self.built[root].id, self.built[root].wanted.position);
        let wanted = &mut self.begin(at, now).wanted;
        (wanted.position, wanted.parent) = (wanted.position - root_place, root_id);
        Some(BuildEdit::Link(root_id, id))
    }

    fn is_free(&self, at: usize) -> bool {
        !self.plan.waits || self.built[at].under_way.is_none()
    }

    /// True for a prim that is neither a part nor has any.
    fn is_alone(&self, at: usize) -> bool {
        let built = &self.built[at];
        let mut states = self.built.iter().flat_map(|other| [other.wanted, other.former]);
        built.wanted.parent == LocalId(0) && states.all(|state| state.parent != built.id)
    }

    fn begin(&mut self, at: usize, now: Instant) -> &mut BuiltPrim {
        let number = self.n_edits;
        let prim = &mut self.built[at];
        prim.former = prim.wanted;
        prim.under_way = Some((number, now));
        prim
    }

    fn place(&self, rng: &mut Rng) -> Vec3 {
        let side = self.plot.side;
        let inside = Vec2::new(rng.between(0.1, 0.9), rng.between(0.1, 0.9)) * side;
        (self.plot.corner + inside).extend(FLOOR_M + rng.between(0.0, side))
    }

    /// A size of its own for each edit.
    fn size(&self) -> Vec3 {
        Vec3::new(0.5, 0.5, 0.5 + (self.n_edits % 1_000) as f32 / 500.0)
    }

    /// Takes in the state of a prim as an update shows it.
    pub fn on_prim(&mut self, now: Instant, id: LocalId, seen: &SeenPrim) {
        let state = PrimState::of(seen);
        if let Some(built) = self.built.iter_mut().find(|built| built.id == id) {
            let under_way = built.under_way.filter(|_| !built.is_leaving);
            if built.wanted.is_like(&state) {
                if let Some((number, sent_at)) = under_way {
                    built.under_way = None;
                    self.note_seen(now, number, sent_at, id);
                }
            } else if self.plan.waits && (under_way.is_none() || !built.former.is_like(&state)) {
                self.counters.edits_wrong += 1;
            }
            return;
        }
        // Servers mark the last new prims of a client alone.
        let marks = if self.plan.making_max == 1 { YOU_OWNER | CREATE_SELECTED } else { YOU_OWNER };
        if seen.update_flags & marks != marks || !self.plot.holds(seen.position) {
            return;
        }
        let made = self.making.iter().position(|&Making { position, scale, .. }| {
            EditEffect::Made { position, scale }.is_shown_by(Some(&state))
        });
        if let Some(made) = made {
            let Making { number, position, scale, sent_at } = self.making.swap_remove(made);
            let wanted = PrimState { position, scale, ..state };
            self.counters.objects_made += 1;
            self.note_seen(now, number, sent_at, id);
            self.built.push(BuiltPrim {
                id,
                wanted,
                former: wanted,
                under_way: None,
                is_leaving: false,
                is_dropped: false,
            });
        }
    }

    /// Takes in a kill.
    pub fn on_kill(&mut self, now: Instant, id: LocalId) {
        let Some(at) = self.built.iter().position(|built| built.id == id) else { return };
        let built = self.built.remove(at);
        match built.under_way.filter(|_| built.is_leaving) {
            Some((number, sent_at)) => self.note_seen(now, number, sent_at, id),
            // Bodies may leave the region.
            None => self.counters.edits_wrong += u64::from(self.plan.throws_to_m.is_none()),
        }
    }

    fn note_seen(&mut self, now: Instant, number: u64, sent_at: Instant, id: LocalId) {
        self.counters.edits_seen += 1;
        self.seen_after.record(now - sent_at);
        self.note(now, BuildEvent::Seen { number, id });
    }

    fn give_up_overdue(&mut self, now: Instant) {
        let is_overdue = |sent_at: Instant| now.since(sent_at) > SEEN_WITHIN;
        let n_before = self.making.len();
        self.making.retain(|making| !is_overdue(making.sent_at));
        let n_failed = (n_before - self.making.len()) as u64;
        self.counters.objects_failed += n_failed;
        self.counters.edits_wrong += n_failed;
        for built in &mut self.built {
            if built.under_way.is_some_and(|(_, sent_at)| is_overdue(sent_at)) {
                (built.under_way, built.is_leaving, built.wanted) = (None, false, built.former);
                self.counters.edits_wrong += 1;
            }
        }
    }
}

/// A texture entry that no other edit of a bot has: the colour is the number of the edit.
fn texture_entry(n_edit: u64) -> Vec<u8> {
    let [red, green, blue, ..] = n_edit.to_le_bytes();
    let mut entry = TextureEntry::plain(PRIM_TEXTURE);
    entry.default.color = [red, green, blue, 255];
    entry.encode()
}
