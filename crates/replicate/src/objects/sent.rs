//! The objects that one client has, and the next ones to send.
//!
//! A client has five bits for each prim, and cursors into the rings of changes and of movers that were filed under another place:
//!
//! | bit | meaning | set | cleared |
//! |---|---|---|---|
//! | known | the client may have the prim, in some state | when it is sent | when the prim is gone, which is the reason for a kill |
//! | current | the newest state was sent | when it is sent | when the prim changes, or its datagram is lost |
//! | in flight | its datagram is neither acked nor lost | when it is sent | when that is settled |
//! | plain | it goes as ObjectUpdate, which evicts it from the viewer's cache: no other form reaches a displayed prim | when it is sent so, changes while it is known, or the client is in doubt | when the prim is gone |
//! | asked | the viewer's cache lacks it | when the client asks for it | when the prim is gone |
//!
//! A prim that is not current is due, but not while it is in flight: two datagrams with it could arrive in the other order. Without changes and
//! movement a client costs nothing.
//!
//! Changed prims go before the scene that waits, in the order in which they changed. By size, a brick of half a metre that a user moves would be sent behind
//! all houses, and while bytes are short it would wait for as long as larger things change.
//!
//! A client that walks searches its surroundings every [`STRIDE_M`]. All prims in reach of the place of the last search are known, in flight, listed
//! or in the backlog, unless that had no room for all of them. So a further search looks only at those that have come into reach since. A client
//! that lacks more than the backlog holds, as for minutes after its arrival among 40,000 prims, searches all of its reach every [`FULL_STRIDE_M`], and in
//! between what is near.

use super::encoder::ObjectEntry;
use super::grid::{BEYOND_DRAW_M, PlacedObject};
use super::replica::ObjectReplica;
use glam::Vec3;
use ids::LocalId;
use link::{PAGE_PRIMS, index_in_page, page_of};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Distance that a client walks before its surroundings are searched again, metres: objects are sent from so much further than their reach.
const STRIDE_M: f32 = 8.0;
/// The same for a search of all of its reach, while it lacks more than the backlog holds.
const FULL_STRIDE_M: f32 = 40.0;
/// Reach of the searches in between, metres.
const NEAR_M: f32 = 48.0;
/// Changed objects that are kept in a list; more lead to a search.
const LISTED_MAX: usize = 512;
/// Objects of a search that are kept, the first ones to send: a search through 45,000 prims takes longer than a send of a hundred.
const BACKLOG_MAX: usize = 2_048;
/// Seats of displayed avatars that are sent from any distance; beyond that the oldest is forgotten.
const PINNED_MAX: usize = 64;

#[cfg(test)]
mod tests;

/// Rank of prims that have not changed.
const SCENE: u32 = u32::MAX;

const WORDS: usize = PAGE_PRIMS / 64;

/// The client to which objects are shown.
pub trait Onlooker {
    /// Position of the viewer, metres from the region's corner.
    fn eye(&self) -> Vec3;

    /// Distance to which it draws, metres.
    fn draw_m(&self) -> f32;

    /// Metres to an avatar whose worn objects it is shown; `None` for others: avatars that it does not display, those that are not among the
    /// nearest, and the screens of all avatars but its own.
    fn distance_to_wearer(&self, wearer: LocalId, is_on_screen: bool) -> Option<f32>;

    /// Avatars whose worn objects it may be shown: its own, and the nearest.
    fn wearers(&self) -> impl Iterator<Item = LocalId>;
}

/// Prims that a client was sent.
#[derive(Debug, Default)]
pub struct SentSet {
    pages: BTreeMap<LocalId, SentPage>,
    /// Changes of the replica that the client's state takes account of.
    cursor: u64,
    /// Movers filed under another place that it takes account of.
    filed_cursor: u64,
    /// Place and reach of the last search; none if its result is not valid any more.
    searched: Option<(Vec3, f32)>,
    /// Prims that it found and that were not chosen since, the first to send last.
    backlog: Vec<LocalId>,
    /// It found more.
    is_more: bool,
    /// Place of the last search of the whole reach.
    fully_searched_from: Vec3,
    /// Prims that changed since then.
    listed: Vec<LocalId>,
    /// Prims that are sent from any distance: a viewer displays no avatar that sits on an object which it lacks.
    pinned: Vec<LocalId>,
}

/// Bits of a page.
#[derive(Clone, Copy, Debug, Default)]
struct SentPage {
    /// The client may have the prim, in some state.
    known: [u64; WORDS],
    /// It was sent the newest one.
    current: [u64; WORDS],
    /// That has been neither acked nor lost.
    in_flight: [u64; WORDS],
    /// It goes as ObjectUpdate.
    plain: [u64; WORDS],
    /// The viewer's cache lacks it.
    asked: [u64; WORDS],
}

impl SentPage {
    /// The client has a prim no more.
    const fn forget(&mut self, word: usize, bit: u64) {
        self.known[word] &= !bit;
        self.current[word] &= !bit;
        self.plain[word] &= !bit;
        self.asked[word] &= !bit;
    }
}

/// An object to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DueObject {
    /// Place in the list of changed prims of the first one of its linkset; `u32::MAX` for those that have not changed.
    pub rank: u32,
    /// Radius ÷ distance of its linkset.
    pub size: f32,
    /// Root of its linkset. All its prims have one size, and linksets of equal size do not mix.
    pub root: LocalId,
    /// Its place there, the root first.
    pub link_number: u8,
    /// The prim.
    pub id: LocalId,
}

impl DueObject {
    /// Key by which the first to send comes first. Sizes are positive, so that their bits are in their order.
    fn order(&self) -> (u32, Reverse<u32>, LocalId, u8) {
        (self.rank, Reverse(self.size.to_bits()), self.root, self.link_number)
    }
}

impl SentSet {
    /// Takes account of the changes since the last call. `kills` gets the prims that are gone and that the client has.
    pub fn follow(&mut self, objects: &ObjectReplica, kills: &mut Vec<LocalId>) {
        self.follow_filed(objects);
        let from = std::mem::replace(&mut self.cursor, objects.n_changes());
        if from == objects.n_changes() {
            return;
        }
        if let Some(changed) = objects.changed_since(from) {
            for id in changed {
                self.note_change(objects, id, kills);
            }
        } else {
            let known: Vec<LocalId> = self.known().collect();
            for id in known.into_iter().filter(|&id| objects.has_changed_since(id, from)) {
                self.note_change(objects, id, kills);
            }
            self.searched = None;
        }
    }

    /// Lists movers that have come into reach of the client. A search that is due finds them without this.
    fn follow_filed(&mut self, objects: &ObjectReplica) {
        let cursor = std::mem::replace(&mut self.filed_cursor, objects.n_filed());
        if cursor == objects.n_filed() {
            return;
        }
        let Some((from, reach_max_m)) = self.searched else { return };
        let Some(filed) = objects.filed_since(cursor) else {
            self.searched = None;
            return;
        };
        for id in filed.filter(|&id| !self.knows(id)).collect::<Vec<_>>() {
            if objects.get(id).is_some_and(|entry| is_in_reach(&place_of(id, entry), from, reach_max_m)) {
                self.defer(id);
            }
        }
    }

    fn note_change(&mut self, objects: &ObjectReplica, id: LocalId, kills: &mut Vec<LocalId>) {
        let (word, bit) = place(id);
        let is_gone = objects.get(id).is_none();
        let mut state = SentPage::default();
        if let Some(page) = self.pages.get_mut(&page_of(id)) {
            state = *page;
            page.current[word] &= !bit;
            // A viewer puts another form into its cache, and goes on displaying the former state.
            page.plain[word] |= page.known[word] & bit;
            if is_gone {
                page.forget(word, bit);
            }
        }
        if is_gone && state.known[word] & bit != 0 {
            kills.push(id);
        }
        // One in flight is listed when that is settled.
        if !is_gone && state.in_flight[word] & bit == 0 {
            self.defer(id);
        }
    }

    /// Takes back chosen objects that were not sent: they are the first to send the next time. Beyond the bound the last ones are left to a
    /// search.
    pub fn put_back(&mut self, unsent: &mut Vec<DueObject>) {
        unsent.sort_unstable_by_key(DueObject::order);
        let n_changed = unsent.partition_point(|due| due.rank < SCENE);
        self.listed.splice(..0, unsent.drain(..n_changed).map(|due| due.id));
        self.backlog.extend(unsent.drain(..).rev().map(|due| due.id));
        let n_beyond = self.backlog.len().saturating_sub(BACKLOG_MAX);
        self.is_more |= n_beyond > 0;
        self.backlog.drain(..n_beyond);
    }

    /// Notes a prim that is due.
    fn defer(&mut self, id: LocalId) {
        if self.listed.len() < LISTED_MAX {
            self.listed.push(id);
        } else {
            self.searched = None;
        }
    }

    /// True if objects have to be sent, or may have to.
    #[must_use]
    pub fn is_due(&self, objects: &ObjectReplica, eye: Vec3, draw_m: f32) -> bool {
        let waits = !self.listed.is_empty() || !self.backlog.is_empty();
        !objects.is_empty() && (waits || self.has_to_search(eye, draw_m))
    }

    fn has_to_search(&self, eye: Vec3, draw_m: f32) -> bool {
        let is_outdated = self.searched.is_none_or(|(from, reach)| {
            from.distance_squared(eye) >= STRIDE_M * STRIDE_M || reach < draw_m + BEYOND_DRAW_M
        });
        is_outdated || self.backlog.is_empty() && self.is_more
    }

    /// Notes the prims of linksets that an avatar wears, of which the client lacks some: it has been shown the avatar, or that has come near.
    /// The screens of avatars other than its own are not for it.
    pub fn note_wearer(&mut self, objects: &ObjectReplica, wearer: LocalId, is_own: bool) {
        for id in objects.worn_by(wearer) {
            let is_shown = is_own || objects.get(id).is_some_and(|entry| !entry.is_on_screen());
            if is_shown && self.is_lacking(id) {
                self.defer(id);
            }
        }
    }

    /// Forgets what an avatar wears that is not displayed any more. `kills` gets the prims that the client has.
    pub fn forget_worn(&mut self, objects: &ObjectReplica, wearer: LocalId, kills: &mut Vec<LocalId>) {
        for id in objects.worn_by(wearer) {
            let (word, bit) = place(id);
            let Some(page) = self.pages.get_mut(&page_of(id)) else { continue };
            if page.known[word] & bit != 0 {
                kills.push(id);
            }
            page.forget(word, bit);
        }
    }

    /// Fills `due` with objects that the client lacks, at most `most`: changed ones first, up to half of it while the scene waits, then the largest for
    /// their distance, a root before its parts. Of those that the client does not have, the ones within reach. Objects that are
    /// not sent have to be passed to [`Self::put_back`].
    pub fn choose(
        &mut self,
        objects: &ObjectReplica,
        onlooker: &impl Onlooker,
        most: usize,
        due: &mut Vec<DueObject>,
    ) {
        due.clear();
        let (eye, draw_m) = (onlooker.eye(), onlooker.draw_m());
        let reach_max_m = draw_m + BEYOND_DRAW_M;
        if self.has_to_search(eye, draw_m) {
            self.search(objects, onlooker, reach_max_m, due);
        }
        let listed = std::mem::take(&mut self.listed);
        due.extend((0..SCENE).zip(&listed).filter_map(|(rank, &id)| {
            let due = self.due(objects, id, onlooker, reach_max_m)?;
            Some(DueObject { rank, ..due })
        }));
        due.sort_unstable_by_key(|due| (due.root, due.link_number, due.id, due.rank));
        due.dedup_by_key(|due| due.id);
        for linkset in due.chunk_by_mut(|a, b| a.root == b.root) {
            // Parts without their root wait for it.
            let (first, has_root) = (linkset[0].root, linkset[0].id == linkset[0].root);
            let least = linkset.iter().map(|due| due.rank).min().unwrap_or(SCENE);
            let rank = if has_root || self.knows(first) { least } else { SCENE };
            linkset.iter_mut().for_each(|due| due.rank = rank);
        }
        due.sort_unstable_by_key(DueObject::order);
        let most_changed = if self.backlog.is_empty() { most } else { most.div_ceil(2) };
        let rest = due.drain(most_changed.min(due.len())..);
        self.listed.extend(rest.map(|due| due.id));
        while due.len() < most {
            let Some(id) = self.backlog.pop() else { break };
            due.extend(self.due(objects, id, onlooker, reach_max_m));
        }
        if self.backlog.is_empty() && !self.is_more {
            // The client has everything; the memory was for its arrival.
            self.backlog = Vec::new();
        }
        // A changed one may be in the backlog too, or in it twice.
        due.sort_unstable_by_key(|due| (due.id, due.rank));
        due.dedup_by_key(|due| due.id);
        due.sort_unstable_by_key(DueObject::order);
    }

    /// Replaces the backlog by what a client at this place lacks: the nearest of it only, beside the former backlog, while that has no room for the rest
    /// and is of a place nearby. `found` is scratch.
    fn search(
        &mut self,
        objects: &ObjectReplica,
        onlooker: &impl Onlooker,
        reach_max_m: f32,
        found: &mut Vec<DueObject>,
    ) {
        let eye = onlooker.eye();
        // A full list is searched for again as well: else each further change would lead to a search.
        let is_list_full = self.listed.len() >= LISTED_MAX;
        if is_list_full {
            self.listed.clear();
        }
        let former = self.searched.replace((eye, reach_max_m)).filter(|_| !is_list_full);
        let is_near_enough = self.is_more
            && !self.backlog.is_empty()
            && former.is_some_and(|(_, reach_m)| reach_m >= reach_max_m)
            && eye.distance_squared(self.fully_searched_from) < FULL_STRIDE_M * FULL_STRIDE_M;
        let due = |id: LocalId| self.due(objects, id, onlooker, reach_max_m);
        if is_near_enough {
            objects.around(eye, [NEAR_M, STRIDE_M], |object| {
                if is_in_reach(object, eye, NEAR_M) {
                    found.extend(due(object.id));
                }
            });
            found.extend(self.backlog.iter().filter_map(|&id| due(id)));
        } else {
            let former = former.filter(|_| !self.is_more);
            objects.around(eye, [reach_max_m, STRIDE_M], |object| {
                let has_come_into_reach = is_in_reach(object, eye, reach_max_m)
                    && !former.is_some_and(|(from, reach_m)| is_in_reach(object, from, reach_m));
                if has_come_into_reach {
                    found.extend(due(object.id));
                }
            });
            if former.is_some() {
                found.extend(self.backlog.iter().filter_map(|&id| due(id)));
            }
        }
        // Known ones are updated wherever they are: the client may display them.
        found.extend(self.known_lacking().filter_map(due));
        // Worn ones are in no grid.
        let worn = onlooker.wearers().flat_map(|wearer| objects.worn_by(wearer));
        found.extend(worn.filter_map(due));
        found.extend(self.pinned.iter().filter_map(|&id| due(id)));
        found.sort_unstable_by_key(|due| due.id);
        found.dedup_by_key(|due| due.id);
        // Listed ones stay there.
        let mut listed = self.listed.clone();
        listed.sort_unstable();
        found.retain(|due| listed.binary_search(&due.id).is_err());
        let has_no_room = found.len() > BACKLOG_MAX;
        if !is_near_enough {
            (self.is_more, self.fully_searched_from) = (has_no_room, eye);
        }
        if has_no_room {
            found.select_nth_unstable_by_key(BACKLOG_MAX - 1, DueObject::order);
            found.truncate(BACKLOG_MAX);
        }
        found.sort_unstable_by_key(DueObject::order);
        self.backlog.clear();
        self.backlog.extend(found.drain(..).rev().map(|due| due.id));
    }

    /// A prim that the client lacks, if it is within reach or the client has it in another state.
    fn due(
        &self,
        objects: &ObjectReplica,
        id: LocalId,
        onlooker: &impl Onlooker,
        reach_max_m: f32,
    ) -> Option<DueObject> {
        // The client's bits are at hand, the prim rarely is.
        if !self.is_lacking(id) {
            return None;
        }
        let entry = objects.get(id)?;
        let (distance, is_near) = match entry.wearer {
            Some(wearer) => (onlooker.distance_to_wearer(wearer, entry.is_on_screen())?, true),
            None => {
                let eye = onlooker.eye();
                // Without another search, all within reach of the place of the last one are sent.
                let from = self.searched.map_or(eye, |(from, _)| from);
                let object = place_of(id, entry);
                let is_near = [eye, from].into_iter().any(|at| is_in_reach(&object, at, reach_max_m));
                (entry.position.distance(eye), is_near)
            }
        };
        // The parent of a worn root is its wearer.
        let root = objects.get(entry.prim.parent).map_or(id, |_| entry.prim.parent);
        let size = entry.radius_m / distance.max(entry.radius_m);
        (is_near || self.knows(id) || self.pinned.contains(&id)).then_some(DueObject {
            rank: SCENE,
            size,
            root,
            link_number: entry.prim.link_number,
            id,
        })
    }

    /// Notes that a prim was sent in its newest state, `plain` as ObjectUpdate. [`Self::settle`] follows.
    pub fn mark_sent(&mut self, id: LocalId, plain: bool) {
        let (word, bit) = place(id);
        let page = self.pages.entry(page_of(id)).or_default();
        page.known[word] |= bit;
        page.current[word] |= bit;
        page.in_flight[word] |= bit;
        if plain {
            page.plain[word] |= bit;
        }
    }

    /// The datagram with a prim was acked, or has got lost.
    pub fn settle(&mut self, id: LocalId, is_lost: bool) {
        let (word, bit) = place(id);
        let Some(page) = self.pages.get_mut(&page_of(id)) else { return };
        page.in_flight[word] &= !bit;
        if is_lost {
            page.current[word] &= !bit;
        }
        // One that is gone may be there again, as after a panic of its world.
        if page.current[word] & bit == 0 {
            self.defer(id);
        }
    }

    /// A prim has to be sent from any distance: an avatar that the client displays sits on its linkset.
    pub fn pin(&mut self, id: LocalId) {
        if self.knows(id) || self.pinned.contains(&id) {
            return;
        }
        if self.pinned.len() == PINNED_MAX {
            self.pinned.remove(0);
        }
        self.pinned.push(id);
        self.defer(id);
    }

    /// A prim has to be sent, or sent again: the client asks for it, or may lack it.
    pub fn mark_lacking(&mut self, id: LocalId) {
        let (word, bit) = place(id);
        let mut is_in_flight = false;
        if let Some(page) = self.pages.get_mut(&page_of(id)) {
            page.current[word] &= !bit;
            is_in_flight = page.in_flight[word] & bit != 0;
        }
        if !is_in_flight {
            self.defer(id);
        }
    }

    /// The client asks for a prim that its cache lacks: it is sent again, in a form that goes into the cache.
    pub fn mark_asked(&mut self, id: LocalId) {
        let (word, bit) = place(id);
        if let Some(page) = self.pages.get_mut(&page_of(id)) {
            page.asked[word] |= page.known[word] & bit;
        }
        self.mark_lacking(id);
    }

    /// The client may display a prim in another state: it is sent again, in the form that changes the display.
    pub fn mark_doubtful(&mut self, id: LocalId) {
        let (word, bit) = place(id);
        if let Some(page) = self.pages.get_mut(&page_of(id)) {
            page.plain[word] |= page.known[word] & bit;
        }
        self.mark_lacking(id);
    }

    /// True if the client was sent the newest state of a prim.
    #[must_use]
    pub fn is_current(&self, id: LocalId) -> bool {
        let (word, bit) = place(id);
        self.pages.get(&page_of(id)).is_some_and(|page| page.current[word] & bit != 0)
    }

    /// True if the client may have a prim, in some state.
    #[must_use]
    pub fn knows(&self, id: LocalId) -> bool {
        let (word, bit) = place(id);
        self.pages.get(&page_of(id)).is_some_and(|page| page.known[word] & bit != 0)
    }

    /// True if a prim goes as ObjectUpdate.
    #[must_use]
    pub fn is_plain(&self, id: LocalId) -> bool {
        let (word, bit) = place(id);
        self.pages.get(&page_of(id)).is_some_and(|page| page.plain[word] & bit != 0)
    }

    /// True if the client asked for a prim, since its cache lacks it.
    #[must_use]
    pub fn is_asked(&self, id: LocalId) -> bool {
        let (word, bit) = place(id);
        self.pages.get(&page_of(id)).is_some_and(|page| page.asked[word] & bit != 0)
    }

    /// True if a prim is to be sent when it is within reach.
    fn is_lacking(&self, id: LocalId) -> bool {
        let (word, bit) = place(id);
        let page = self.pages.get(&page_of(id));
        page.is_none_or(|page| (page.current[word] | page.in_flight[word]) & bit == 0)
    }

    /// Prims that the client may have, in any state.
    pub fn known(&self) -> impl Iterator<Item = LocalId> {
        self.marked(|page, word| page.known[word])
    }

    /// Those of them that are to be sent.
    fn known_lacking(&self) -> impl Iterator<Item = LocalId> {
        self.marked(|page, word| page.known[word] & !(page.current[word] | page.in_flight[word]))
    }

    /// Prims whose bits are set in these words.
    fn marked(&self, word_of: impl Fn(&SentPage, usize) -> u64 + Copy) -> impl Iterator<Item = LocalId> {
        self.pages.iter().flat_map(move |(first, page)| {
            (0..WORDS).flat_map(move |word| {
                let base = first.0 + 64 * word as u32;
                let bits = word_of(page, word);
                let rest = std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)));
                rest.take_while(|&bits| bits != 0).map(move |bits| LocalId(base + bits.trailing_zeros()))
            })
        })
    }
}

/// A prim that no avatar wears, by the place under which it is found.
fn place_of(id: LocalId, entry: &ObjectEntry) -> PlacedObject {
    PlacedObject { id, position: entry.position, radius_m: entry.radius_m }
}

/// True if a prim that no avatar wears is sent to a client here.
fn is_in_reach(object: &PlacedObject, eye: Vec3, reach_max_m: f32) -> bool {
    let reach_m = object.reach_m(reach_max_m) + STRIDE_M;
    object.position.distance_squared(eye) <= reach_m * reach_m
}

/// Word and bit of a prim on its page.
const fn place(id: LocalId) -> (usize, u64) {
    let index = index_in_page(id);
    (index / 64, 1 << (index % 64))
}
