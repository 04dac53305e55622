//! The visible set of one client: the entities of the world that it displays.
//!
//! Viewers cannot draw thousands of avatars, and their bandwidth cannot carry them: a client displays the nearest
//! [`Viewer::visible_max`], and its memory here has that size, independent of the crowd. The set is listed again every 0.8 s; between
//! two lists only its members are examined.

use crate::cells::SlotIndex;
use crate::dead_reckoning::BANDS;
use crate::replica::{Hot, Replica};
use glam::Vec3;
use ids::{LocalId, SessionKey};
use std::ops::Range;

/// World ticks between two lists: 0.8 s at 20 Hz, in which a runner covers 4 m and the set reaches tens of metres.
pub(crate) const LIST_TICKS: u32 = 16;
/// Upper bound of [`Lister::set_stretch`]: 3.2 s at 20 Hz between two lists, in which a walker covers 10 m.
const LIST_STRETCH_MAX: f32 = 4.0;
/// The first lists of a viewer, which no shortage delays: visitors that come together arrive beside each other, and one that was not there at
/// a viewer's first list enters its visible set at the next. Among 5,000 walkers such an avatar was shown 3.2 s later (`crowd`).
const FIRST_LISTS: u8 = 6;
/// Hysteresis of the visible set: an entity stays while rank < visible_max × STAY_RATIO and gives way only to one with rank <
/// visible_max / STAY_RATIO. Without it entities at the border flap, each time for a kill, a full update, an animation and an
/// appearance.
pub(crate) const STAY_RATIO: f32 = 1.4;
/// Number of nearest avatars that get appearances, reliable animations and dots on the small map.
pub const NEAR_MAX: usize = 60;
/// Outer radius of each band, in metres; the last band has none. Ranks below [`NEAR_MAX`] use the next nearer band, and all other ranks
/// the second at least.
const BAND_REACH_M: [f32; BANDS - 1] = [12.0, 64.0];

/// Band of distance of the avatar with this rank by distance in a visible set, counted from 0, at this distance in metres. Its dead-reckoning
/// thresholds are [`PLACE_M`](crate::PLACE_M) and [`ROTATION_RAD`](crate::ROTATION_RAD).
#[must_use]
pub fn band_of(rank: usize, distance_m: f32) -> usize {
    let band = BAND_REACH_M.iter().filter(|&&reach_m| distance_m > reach_m).count();
    if rank < NEAR_MAX { band.saturating_sub(1) } else { band.max(1) }
}

/// The border of a visible set as ranks by distance: ranks below `start` are in it, ranks from `end` on are not, and ranks between keep
/// their former state.
#[must_use]
pub fn border_ranks(visible_max: usize) -> Range<usize> {
    let nearest = (visible_max as f32 / STAY_RATIO).ceil() as usize;
    nearest..(visible_max as f32 * STAY_RATIO) as usize
}

/// State of one visible entity that every send needs: 16 bytes, since a shard reads it for all its clients ten times a second and it
/// does not stay in a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Its slot in the replica.
    pub slot: SlotIndex,
    /// Low 32 bits of the tick of the last motion sent to the client.
    pub sent: u32,
    /// Metres away, as of the last list.
    pub distance: f32,
    /// Sends of a stop that remain.
    pub repeats: u8,
    /// Sends for which it was due and held back.
    pub(crate) held: u8,
    /// Distance band, which selects the changes worth sending.
    pub(crate) band: u8,
    /// The client's knowledge of it.
    pub(crate) send_state: SendState,
}

const _: () = assert!(size_of::<Shown>() == 16);

/// State of one visible entity that only some sends need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityHistory {
    /// Its local id.
    pub id: u32,
    /// Low 32 bits of the tick in which it was first shown.
    pub since: u32,
    /// [`Hot::animation_serial`] it was sent.
    pub animation_serial: u16,
    /// [`Hot::appearance_serial`] it was sent.
    pub appearance_serial: u16,
    /// Unreliable animations that are still to be repeated.
    pub animation_repeats: u8,
}

/// State of an entity at the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendState {
    /// It is in the set, and was not sent yet.
    Wanted,
    /// It was sent.
    Sent,
    /// The ack of its full update is overdue: the client may or may not show it.
    Doubtful,
}

impl Shown {
    /// Sends of a rest after the first one: mid-motion updates are unreliable and a viewer extrapolates without limit, so the stop must
    /// not get lost. The last one has to be acked, see [`Viewer::is_last_rest`]; beyond the nearest band it is the only one.
    ///
    /// On a path that loses packets a stop in the nearest band is sent in every turn until the last repetition. With half of everything
    /// lost in bursts of ten datagrams, and five datagrams a turn, all sends of the first second are lost for 2 stops in 100,000, and
    /// with three repetitions for 9.
    const fn rest_repeats(&self, is_path_lossy: bool) -> u8 {
        match (self.band, is_path_lossy) {
            (0, false) => 3,
            (0, true) => 5,
            _ => 1,
        }
    }

    /// True once a full update of it has been sent.
    #[must_use]
    pub const fn is_sent(&self) -> bool {
        !matches!(self.send_state, SendState::Wanted)
    }
}

// A client of a crowd has 200 entities of both and one viewer.
const _: () = assert!(size_of::<EntityHistory>() == 16 && size_of::<Viewer>() <= 128);

/// Index into [`Viewer::shown`], valid until the next [`Viewer::update_visible_set`].
pub type Place = u32;

/// A client's view of one world.
///
/// It needs no epochs: a local id denotes one presence in all epochs of a world, and ticks only rise (`world::Life`). An entity that is
/// missing after a restart is therefore removed as in any other tick, and data sent again are newer than those sent before.
#[derive(Debug)]
pub struct Viewer {
    /// The client's session.
    pub session: SessionKey,
    /// Position of the viewer: its own avatar's, or the avatar's last or expected one while it is not in the world.
    pub eye: Vec3,
    /// Most entities that it is shown, its own avatar not counted.
    pub visible_max: usize,
    /// True if its path loses packets: stops are repeated more often.
    pub is_path_lossy: bool,
    /// The own avatar first when it is in the world, then the [`NEAR_MAX`] nearest, then the others.
    pub(crate) shown: Vec<Shown>,
    /// In the same order.
    histories: Vec<EntityHistory>,
    /// Distance of the last of the nearest [`NEAR_MAX`] of the latest list, in metres; 0 without any.
    near_m: f32,
    /// Slot and local id of the own avatar, as of the latest [`Self::update_visible_set`].
    own: Option<(SlotIndex, u32)>,
    /// Tick of the last list.
    listed_at: Option<u32>,
    /// Lists so far, [`FIRST_LISTS`] at most.
    n_lists: u8,
    /// [`Replica::removals`] that it has followed.
    removals: u64,
    /// Index of the member at which the next round-robin pass continues.
    pub(crate) cursor: Place,
}

/// Buffers of a list, reused between viewers.
#[derive(Debug, Default)]
pub struct Lister {
    found: Vec<(f32, SlotIndex)>,
    /// By slot.
    marks: Vec<ListEntry>,
    n_lists: u32,
    /// Lists are taken every LIST_TICKS × (1 + extra_stretch) ticks.
    extra_stretch: f32,
    stay: Vec<Member>,
    /// Displayed entities that may stay while there is room.
    linger: Vec<Member>,
    /// Entities that are not displayed and may enter if there is room after that.
    come: Vec<Member>,
    /// Local ids to kill at the client.
    gone: Vec<LocalId>,
}

/// One of a visible set while it is listed.
#[derive(Clone, Copy, Debug)]
struct Member {
    shown: Shown,
    history: EntityHistory,
}

/// The result of a list for one slot.
#[derive(Clone, Copy, Debug, Default)]
struct ListEntry {
    /// By which list.
    list: u32,
    distance: f32,
    /// True if its rank is inside the inner border, so that it displaces others.
    is_nearest: bool,
}

impl Viewer {
    /// A viewer with an empty visible set.
    #[must_use]
    pub const fn new(session: SessionKey, eye: Vec3, visible_max: usize) -> Self {
        Self {
            session,
            eye,
            visible_max,
            is_path_lossy: false,
            shown: Vec::new(),
            histories: Vec::new(),
            near_m: 0.0,
            own: None,
            listed_at: None,
            n_lists: 0,
            removals: 0,
            cursor: 0,
        }
    }

    /// The visible set: the own avatar first when it is in the world, then the nearest ones.
    #[must_use]
    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }

    /// The rarely needed state of the visible set, in the order of [`Self::shown`].
    #[must_use]
    pub fn histories(&self) -> &[EntityHistory] {
        &self.histories
    }

    /// Local ids that the client was sent, its own avatar's first.
    pub fn known(&self) -> impl Iterator<Item = LocalId> {
        let sent = self.shown.iter().zip(&self.histories).filter(|(shown, _)| shown.is_sent());
        sent.map(|(_, history)| LocalId(history.id))
    }

    /// Entities that a full update was sent of.
    #[must_use]
    pub fn n_shown(&self) -> usize {
        self.shown.iter().filter(|shown| shown.is_sent()).count()
    }

    /// Updates the visible set and returns the local ids to kill at the client: entities that left the world or the set. They are the lister's: a list
    /// for each of thousands of clients would have the length of its busiest turn. Call once before each selection.
    pub fn update_visible_set<'l>(&mut self, replica: &Replica, lister: &'l mut Lister) -> &'l [LocalId] {
        lister.gone.clear();
        if std::mem::replace(&mut self.removals, replica.removals()) != replica.removals() {
            self.forget_absent(replica, &mut lister.gone);
        }
        let tick = replica.tick.0 as u32;
        let own = self.own_in(replica);
        self.own = own.map(|own| (own, replica.hot()[own as usize].id));
        if let Some(own) = own {
            self.eye = replica.hot()[own as usize].position;
        }
        let has_own = self.shown.first().is_some_and(|first| Some(first.slot) == own);
        let period = if self.n_lists < FIRST_LISTS { LIST_TICKS } else { lister.period_ticks() };
        if has_own != own.is_some() || self.listed_at.is_none_or(|at| tick.wrapping_sub(at) >= period) {
            self.list(replica, own, lister);
            self.listed_at = Some(tick);
            self.n_lists = (self.n_lists + 1).min(FIRST_LISTS);
        }
        &lister.gone
    }

    /// Slot of the own avatar in a replica of the viewer's world, which may be newer than that of the latest
    /// [`Self::update_visible_set`]. Its former slot is tried first: lookups by session in a map of thousands took a tenth of a client's turn
    /// (`cargo bench -p sim --bench turns`).
    #[must_use]
    pub fn own_in(&self, replica: &Replica) -> Option<SlotIndex> {
        let is_there =
            |&(slot, id): &(SlotIndex, u32)| replica.hot().get(slot as usize).is_some_and(|hot| hot.id == id);
        match self.own.filter(is_there) {
            Some((slot, _)) => Some(slot),
            None => replica.of_session(self.session),
        }
    }

    /// Slot of the own avatar when it is in the world, as of the latest [`Self::update_visible_set`].
    #[must_use]
    pub fn own(&self) -> Option<SlotIndex> {
        self.own.map(|(slot, _)| slot)
    }

    /// Removes entities that are no longer in the world; those that the client has are added to `gone`.
    fn forget_absent(&mut self, replica: &Replica, gone: &mut Vec<LocalId>) {
        let mut n = 0;
        for at in 0..self.shown.len() {
            let (shown, history) = (self.shown[at], self.histories[at]);
            if replica.hot().get(shown.slot as usize).is_some_and(|hot| hot.id == history.id) {
                (self.shown[n], self.histories[n]) = (shown, history);
                n += 1;
            } else if shown.is_sent() {
                gone.push(LocalId(history.id));
            }
        }
        self.shown.truncate(n);
        self.histories.truncate(n);
    }

    /// Recomputes the members of the set.
    fn list(&mut self, replica: &Replica, own: Option<SlotIndex>, lister: &mut Lister) {
        lister.find(replica, self.eye, own, self.visible_max);
        let Lister { found, marks, n_lists, stay, linger, come, gone, .. } = lister;
        for list in [&mut *stay, linger, come] {
            list.clear();
        }
        let mut own_member = None;
        for (shown, history) in self.shown.drain(..).zip(self.histories.drain(..)) {
            let mark = &mut marks[shown.slot as usize];
            if Some(shown.slot) == own {
                own_member = Some(Member { shown, history });
            } else if mark.list != *n_lists {
                if shown.is_sent() {
                    gone.push(LocalId(history.id));
                }
            } else {
                let member = Member { shown: Shown { distance: mark.distance, ..shown }, history };
                if mark.is_nearest {
                    stay.push(member)
                } else {
                    linger.push(member)
                }
                // Not a newcomer: do not add it again below.
                mark.list = 0;
            }
        }
        let newcomer = |slot: SlotIndex| Member {
            shown: Shown::wanted(slot),
            history: EntityHistory::nothing(replica.hot()[slot as usize].id),
        };
        for &(_, slot) in found.iter().take(self.visible_max) {
            let mark = &marks[slot as usize];
            if mark.list == *n_lists {
                let mut member = newcomer(slot);
                member.shown.distance = mark.distance;
                if mark.is_nearest { stay.push(member) } else { come.push(member) }
            }
        }
        let n_staying = nearest_in_front(linger, self.visible_max - stay.len());
        let leave = linger.drain(n_staying..).filter(|member| member.shown.is_sent());
        gone.extend(leave.map(|member| LocalId(member.history.id)));
        stay.append(linger);
        let n_coming = nearest_in_front(come, self.visible_max - stay.len());
        come.truncate(n_coming);
        stay.append(come);
        if stay.len() > NEAR_MAX {
            stay.select_nth_unstable_by(NEAR_MAX - 1, nearer);
        }
        let near = stay.iter().take(NEAR_MAX).map(|member| member.shown.distance);
        self.near_m = near.fold(0.0, f32::max);
        // Exact capacity: thousands of clients keep one of these for their whole session.
        self.shown.reserve_exact(stay.len() + 1);
        self.histories.reserve_exact(stay.len() + 1);
        if let Some(own) = own {
            let Member { shown, history } = own_member.unwrap_or_else(|| newcomer(own));
            self.shown.push(Shown { distance: 0.0, band: 0, ..shown });
            self.histories.push(history);
        }
        for (n, Member { shown, history }) in stay.drain(..).enumerate() {
            self.shown.push(Shown { band: band_of(n, shown.distance) as u8, ..shown });
            self.histories.push(history);
        }
    }

    /// Distance of the last of the nearest [`NEAR_MAX`] in metres, as of the latest list.
    pub(crate) const fn near_m(&self) -> f32 {
        self.near_m
    }

    /// Metres to the own avatar, which are 0, or to a near one that was sent, as of the latest list.
    #[must_use]
    pub fn distance_to_near(&self, id: LocalId) -> Option<f32> {
        let is_it = |&at: &usize| self.histories[at].id == id.0 && self.shown[at].is_sent();
        (0..self.near().end).find(is_it).map(|at| self.shown[at].distance)
    }

    /// True for the own avatar.
    #[must_use]
    pub fn is_own(&self, id: LocalId) -> bool {
        self.own.is_some_and(|(_, own)| own == id.0)
    }

    /// Range of the near entities within the set, without the own avatar.
    #[must_use]
    pub fn near(&self) -> Range<usize> {
        let own = self.own();
        let first = usize::from(self.shown.first().is_some_and(|first| Some(first.slot) == own));
        first..self.shown.len().min(first + NEAR_MAX)
    }

    /// Notes that a full update went out.
    pub fn mark_shown(&mut self, at: Place, hot: &Hot, tick: u32) {
        let shown = &mut self.shown[at as usize];
        // Terse updates from before a rest may still be under way to a client that may have been shown it before, and would come
        // behind the full one: a last repetition comes behind them.
        let is_doubtful = shown.send_state == SendState::Doubtful;
        // Those from before it sat down are relative to another place.
        let is_moved_on = shown.send_state == SendState::Sent && shown.is_reseated(hot);
        let is_repeated = hot.at_rest && (is_doubtful || is_moved_on);
        *shown = Shown {
            repeats: u8::from(is_repeated),
            sent: tick,
            send_state: SendState::Sent,
            distance: shown.distance,
            band: shown.band,
            ..Shown::wanted(shown.slot)
        };
        self.histories[at as usize] = EntityHistory { since: tick, ..EntityHistory::nothing(hot.id) };
    }

    /// Notes that a terse update went out.
    pub fn updated(&mut self, at: Place, hot: &Hot, tick: u32) {
        let shown = &mut self.shown[at as usize];
        shown.repeats = if !hot.at_rest {
            0
        } else if !shown.is_behind(hot) {
            shown.repeats.saturating_sub(1)
        } else {
            shown.rest_repeats(self.is_path_lossy)
        };
        shown.sent = tick;
        shown.held = 0;
    }

    /// True if the next terse update is the last repetition of a rest. The client should ack it; without that ack,
    /// [`Self::missed_rest`] asks for another one: a burst of losses may outlast all repetitions.
    #[must_use]
    pub fn is_last_rest(&self, at: Place, hot: &Hot) -> bool {
        let shown = &self.shown[at as usize];
        hot.at_rest && !shown.is_behind(hot) && shown.repeats == 1
    }

    /// The last repetition of an entity's rest was not acked in time.
    pub fn missed_rest(&mut self, id: LocalId) {
        if let Some(shown) = self.shown_as(id) {
            shown.repeats = shown.repeats.max(1);
        }
    }

    /// The ack of an entity's full update is overdue: the update or the ack was lost. The entity is sent in full again; if it leaves before
    /// that, a kill is sent.
    pub fn lost(&mut self, id: LocalId) {
        if let Some(shown) = self.shown_as(id) {
            shown.send_state = SendState::Doubtful;
        }
    }

    /// True if an entity is in the visible set and was sent.
    #[must_use]
    pub fn shows(&self, id: LocalId) -> bool {
        self.place_of(id).is_some()
    }

    fn shown_as(&mut self, id: LocalId) -> Option<&mut Shown> {
        let at = self.place_of(id)?;
        Some(&mut self.shown[at])
    }

    /// Index of an entity that was sent.
    fn place_of(&self, id: LocalId) -> Option<usize> {
        let is_it = |at: &usize| self.histories[*at].id == id.0 && self.shown[*at].is_sent();
        (0..self.histories.len()).find(is_it)
    }

    /// The rarely needed state of an entity, to record animations and appearances.
    pub fn history_mut(&mut self, at: Place) -> &mut EntityHistory {
        &mut self.histories[at as usize]
    }
}

impl Shown {
    const fn wanted(slot: SlotIndex) -> Self {
        Self { slot, sent: 0, distance: 0.0, repeats: 0, held: 0, band: 0, send_state: SendState::Wanted }
    }

    /// True if it has changed since it was sent, by the rules of its band.
    pub(crate) const fn is_behind(&self, hot: &Hot) -> bool {
        // A wrapping difference: a world may run for years.
        self.sent.wrapping_sub(hot.changed_at[self.band as usize]) >= 1 << 31
    }
}

impl Shown {
    /// True if it has sat down on a linkset or got up from one since it was sent.
    pub(crate) const fn is_reseated(&self, hot: &Hot) -> bool {
        self.sent.wrapping_sub(hot.reseated_at) >= 1 << 31
    }
}

impl EntityHistory {
    const fn nothing(id: u32) -> Self {
        Self { id, since: 0, animation_serial: 0, appearance_serial: 0, animation_repeats: 0 }
    }
}

impl Lister {
    /// Lists the viewer every LIST_TICKS × `stretch` ticks, with `stretch` within 1 to `LIST_STRETCH_MAX`: each entry or exit costs a
    /// full update, an animation and an appearance.
    pub const fn set_stretch(&mut self, stretch: f32) {
        self.extra_stretch = stretch.clamp(1.0, LIST_STRETCH_MAX) - 1.0;
    }

    fn period_ticks(&self) -> u32 {
        (LIST_TICKS as f32 * (1.0 + self.extra_stretch)) as u32
    }

    /// Finds the `n` nearest and some a little farther, nearest in front, and marks them. Excludes `own`.
    fn find(&mut self, replica: &Replica, eye: Vec3, own: Option<SlotIndex>, n: usize) {
        self.n_lists = self.n_lists.wrapping_add(1).max(1);
        self.marks.resize(self.marks.len().max(replica.hot().len()), ListEntry::default());
        let Range { start: nearest, end: most } = border_ranks(n);
        self.found.clear();
        // The own avatar is among them.
        replica.cells().nearest(eye, most + 1, &mut self.found);
        self.found.retain(|&(_, slot)| Some(slot) != own);
        let by_distance =
            |a: &(f32, SlotIndex), b: &(f32, SlotIndex)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if self.found.len() > most {
            self.found.select_nth_unstable_by(most, by_distance);
            self.found.truncate(most);
        }
        // The nearest in front, which displace others; then the entities that may enter; then those that may only stay.
        for (behind, border) in [(usize::MAX, n), (n, nearest)] {
            let behind = self.found.len().min(behind);
            if behind > border {
                self.found[..behind].select_nth_unstable_by(border, by_distance);
            }
        }
        for (rank, &(square, slot)) in self.found.iter().enumerate() {
            let mark = ListEntry { list: self.n_lists, distance: square.sqrt(), is_nearest: rank < nearest };
            self.marks[slot as usize] = mark;
        }
    }
}

/// Moves the `n` nearest in front of the others and returns their number.
fn nearest_in_front(list: &mut [Member], n: usize) -> usize {
    if list.len() > n {
        list.select_nth_unstable_by(n, nearer);
    }
    n.min(list.len())
}

fn nearer(a: &Member, b: &Member) -> std::cmp::Ordering {
    a.shown.distance.total_cmp(&b.shown.distance).then(a.shown.slot.cmp(&b.shown.slot))
}
