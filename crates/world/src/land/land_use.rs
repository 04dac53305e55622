//! Linksets on each parcel, by owner. Kept up to date as linksets come, go, move and change hands, and as parcels are divided and joined.
//!
//! A linkset counts where its root is, temporary and worn ones nowhere. All of it follows from objects and land: snapshots do not have it.

use super::orders::LandAuthor;
use super::parcels::square_of;
use super::part::{Land, ObjectReturn};
use crate::objects::store::ObjectStore;
use glam::{Vec2, Vec3};
use ids::{AgentId, LocalId, Uuid};
use link::{Parcel, ParcelNumber, PrimFlags, ReturnKinds};
use prim::{Body, SaleKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Linksets on the parcels of a region.
#[derive(Debug)]
pub(crate) struct LandUse {
    side: u16,
    /// Parcels of the squares, as they are counted.
    squares: Arc<[ParcelNumber]>,
    /// Hash of the parcels, as they are counted.
    parcels_hash: u64,
    /// Parcels with a rule that returns objects, as they are counted.
    rules: BTreeMap<ParcelNumber, (Option<AgentId>, u32)>,
    roots: BTreeMap<LocalId, CountedRoot>,
    /// The first root on each square, or `LocalId(0)`. A list through the roots, so that movement takes no memory.
    first_on: Vec<LocalId>,
    of_owner: BTreeMap<AgentId, BTreeSet<LocalId>>,
    parcels: BTreeMap<ParcelNumber, ParcelPrims>,
    /// Linksets that came, went, or whose parcel, its rule, or whose owner has changed, and that [`Self::pop_changed`] has not taken; some more than once.
    changed: Vec<ChangedRoot>,
}

/// A linkset that came or went, or for which another rule may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangedRoot {
    /// Its root, which lasts longer than a local id.
    pub(crate) object: Uuid,
    /// The time of its former rule counts no more.
    pub(crate) is_under_new_rule: bool,
}

/// A linkset that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CountedRoot {
    object: Uuid,
    square: u32,
    n_prims: u32,
    owner: AgentId,
    /// Neighbours in the list of its square, or `LocalId(0)`.
    before: LocalId,
    behind: LocalId,
}

/// An owner's linksets are elsewhere if it has more than so many for each prim on a parcel.
const ELSEWHERE: usize = 8;

/// No root.
const NONE: LocalId = LocalId(0);

/// Prims of one parcel.
#[derive(Debug, Default)]
struct ParcelPrims {
    n: u32,
    of_owner: BTreeMap<AgentId, u32>,
}

/// A place of a linkset on land, with the rules that hold there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LandPlace {
    /// Minutes after which linksets of other owners are returned; 0 for never.
    pub(crate) auto_return_min: u32,
    /// The parcel is the linkset owner's.
    pub(crate) is_own: bool,
}

impl LandUse {
    /// That of these objects, whose changes are followed from now on.
    pub(crate) fn of(store: &mut ObjectStore, land: &Land) -> Self {
        let side = land.parcels.side();
        let mut all = Self {
            side,
            squares: Arc::clone(land.parcels.squares()),
            parcels_hash: land.parcels.hash(),
            rules: rules_of(land),
            roots: BTreeMap::new(),
            first_on: vec![NONE; usize::from(side) * usize::from(side)],
            of_owner: BTreeMap::new(),
            parcels: BTreeMap::new(),
            changed: Vec::new(),
        };
        for id in store.touch_all() {
            all.count(store, id);
        }
        let changed = std::mem::take(&mut all.changed);
        let has_rule = |changed: &ChangedRoot| {
            let root = store.local_id(changed.object).and_then(|id| all.roots.get(&id));
            root.is_some_and(|root| all.rules.contains_key(&all.parcel_of(root)))
        };
        let changed = changed.into_iter().filter(has_rule).collect();
        all.changed = changed;
        all
    }

    /// Counts the changes of objects and parcels since the last call.
    pub(crate) fn settle(&mut self, store: &mut ObjectStore, land: &Land) {
        if self.parcels_hash != land.parcels.hash() {
            self.parcels_hash = land.parcels.hash();
            self.follow_squares(land.parcels.squares());
            self.follow_rules(rules_of(land));
        }
        while let Some(id) = store.pop_touched() {
            self.count(store, id);
            if let Some(root) = store.root_of(id).filter(|&root| root != id) {
                self.count(store, root);
            }
        }
    }

    /// Takes out a linkset that came, went, or whose parcel, its rule, or whose owner has changed.
    pub(crate) fn pop_changed(&mut self) -> Option<ChangedRoot> {
        self.changed.pop()
    }

    /// Prims on a parcel.
    pub(crate) fn n_prims_on(&self, number: ParcelNumber) -> u32 {
        self.parcels.get(&number).map_or(0, |prims| prims.n)
    }

    /// Owners of prims on a parcel, with their numbers of prims.
    pub(crate) fn owners_on(&self, number: ParcelNumber) -> impl Iterator<Item = (AgentId, u32)> {
        let of_owner = self.parcels.get(&number).into_iter().flat_map(|prims| &prims.of_owner);
        of_owner.map(|(owner, n)| (*owner, *n))
    }

    /// The place of a linkset that counts.
    pub(crate) fn place_of(&self, root: LocalId, land: &Land) -> Option<LandPlace> {
        let counted = self.roots.get(&root)?;
        let parcel = land.parcel(self.squares[counted.square as usize])?;
        Some(LandPlace { auto_return_min: parcel.auto_return_min, is_own: parcel.is_of(counted.owner) })
    }

    /// Roots that an order to return names, `most` at most, without those of owners for whom the store takes no more.
    pub(crate) fn returnable(
        &self,
        order: &ObjectReturn,
        store: &ObjectStore,
        land: &Land,
        most: usize,
    ) -> Vec<LocalId> {
        let Some(parcel) = land.parcel(order.parcel) else { return Vec::new() };
        let is_meant = |root: &LocalId| {
            let is_there =
                self.roots.get(root).is_some_and(|counted| self.parcel_of(counted) == parcel.number);
            is_there && store.body(*root).is_some_and(|versioned| names(order, parcel, &versioned.body))
        };
        let has_room = |owner: AgentId| !store.escrow().is_full(owner);
        let owners = self.owners_on(parcel.number);
        let owners = owners.filter(|(owner, _)| may_name(order, parcel, *owner) && has_room(*owner));
        // Of owners with most of their linksets elsewhere, the parcel's squares are walked instead.
        let is_elsewhere = |(owner, n): &(AgentId, u32)| {
            self.of_owner.get(owner).is_some_and(|roots| roots.len() / ELSEWHERE > *n as usize)
        };
        let (elsewhere, here): (Vec<_>, Vec<_>) = owners.partition(is_elsewhere);
        let roots = here.iter().filter_map(|(owner, _)| self.of_owner.get(owner)).flatten();
        let mut found: Vec<LocalId> = roots.copied().filter(is_meant).take(most).collect();
        if found.len() < most && !elsewhere.is_empty() {
            let is_of_these = |root: &LocalId| {
                let owner = self.roots.get(root).map(|counted| counted.owner);
                owner.is_some_and(|owner| elsewhere.binary_search_by_key(&owner, |(owner, _)| *owner).is_ok())
            };
            let meant = self.roots_on(parcel.number).filter(|root| is_of_these(root) && is_meant(root));
            let mut meant: Vec<LocalId> = meant.collect();
            // The lists of squares are in the order of movements, which a restored world does not know.
            meant.sort_unstable();
            meant.truncate(most - found.len());
            found.extend(meant);
        }
        found
    }

    /// Roots on a parcel, in no order.
    fn roots_on(&self, number: ParcelNumber) -> impl Iterator<Item = LocalId> {
        let own = self.squares.iter().zip(&self.first_on).filter(move |&(&other, _)| other == number);
        let roots = &self.roots;
        own.flat_map(move |(_, &first)| {
            let known = move |id: LocalId| roots.contains_key(&id).then_some(id);
            std::iter::successors(known(first), move |id| known(roots.get(id)?.behind))
        })
    }

    fn count(&mut self, store: &ObjectStore, id: LocalId) {
        let now = self.counted(store, id);
        let before = self.roots.get(&id).copied();
        match (before, now) {
            (Some(before), Some(now))
                if (before.object, before.n_prims, before.owner) == (now.object, now.n_prims, now.owner) =>
            {
                if before.square != now.square {
                    self.carry(id, before, now.square);
                }
                return;
            }
            (None, None) => return,
            _ => {}
        }
        if let Some(before) = before {
            self.take(id, before);
        }
        if let Some(now) = now {
            self.put(id, now);
        }
        for CountedRoot { object, .. } in [before, now].into_iter().flatten() {
            self.changed.push(ChangedRoot { object, is_under_new_rule: false });
        }
    }

    /// A linkset has come to another square.
    fn carry(&mut self, id: LocalId, counted: CountedRoot, square: u32) {
        self.leave_square(counted);
        let moved = CountedRoot { square, ..counted };
        self.roots.insert(id, moved);
        self.come_to_square(id, square);
        let (from, to) = (self.parcel_of(&counted), self.parcel_of(&moved));
        if from != to {
            self.add(from, counted, false);
            self.add(to, moved, true);
            let is_under_new_rule = self.minutes_of(from) != self.minutes_of(to);
            self.changed.push(ChangedRoot { object: counted.object, is_under_new_rule });
        }
    }

    /// Minutes after which a parcel returns objects, as they are counted; 0 for never.
    fn minutes_of(&self, number: ParcelNumber) -> u32 {
        self.rules.get(&number).map_or(0, |(_, minutes)| *minutes)
    }

    /// Takes a root out of the list of its square.
    fn leave_square(&mut self, counted: CountedRoot) {
        let CountedRoot { square, before, behind, .. } = counted;
        match self.roots.get_mut(&before) {
            Some(root) => root.behind = behind,
            None => self.first_on[square as usize] = behind,
        }
        if let Some(root) = self.roots.get_mut(&behind) {
            root.before = before;
        }
    }

    /// Puts a root in front of the list of a square.
    fn come_to_square(&mut self, id: LocalId, square: u32) {
        let behind = std::mem::replace(&mut self.first_on[square as usize], id);
        if let Some(root) = self.roots.get_mut(&behind) {
            root.before = id;
        }
        let root = self.roots.get_mut(&id).expect("callers have put it there");
        (root.before, root.behind) = (NONE, behind);
    }

    fn counted(&self, store: &ObjectStore, id: LocalId) -> Option<CountedRoot> {
        let prim = store.motion(id)?;
        let is_counted = prim.parent == LocalId(0) && !prim.flags.any(PrimFlags::TEMPORARY);
        let body = &store.body(id).filter(|_| is_counted)?.body;
        let at = self.inside(prim.motion.position);
        let (column, row) = square_of(self.side, at.x, at.y)?;
        Some(CountedRoot {
            object: body.id,
            square: u32::from(row) * u32::from(self.side) + u32::from(column),
            n_prims: store.linkset_len(id) as u32,
            owner: body.ownership.owner,
            before: NONE,
            behind: NONE,
        })
    }

    /// The nearest point of the region: linksets stand on its border, too.
    fn inside(&self, position: Vec3) -> Vec2 {
        inside(position, f32::from(self.side) * link::SQUARE_M as f32)
    }

    fn parcel_of(&self, counted: &CountedRoot) -> ParcelNumber {
        self.squares[counted.square as usize]
    }

    fn take(&mut self, id: LocalId, counted: CountedRoot) {
        self.roots.remove(&id);
        self.leave_square(counted);
        if let Some(roots) = self.of_owner.get_mut(&counted.owner) {
            roots.remove(&id);
            if roots.is_empty() {
                self.of_owner.remove(&counted.owner);
            }
        }
        let number = self.parcel_of(&counted);
        self.add(number, counted, false);
    }

    fn put(&mut self, id: LocalId, counted: CountedRoot) {
        self.roots.insert(id, counted);
        self.come_to_square(id, counted.square);
        self.of_owner.entry(counted.owner).or_default().insert(id);
        let number = self.parcel_of(&counted);
        self.add(number, counted, true);
    }

    /// Adds a linkset to the prims of a parcel, or subtracts it.
    fn add(&mut self, number: ParcelNumber, counted: CountedRoot, is_added: bool) {
        let prims = self.parcels.entry(number).or_default();
        let of_owner = prims.of_owner.entry(counted.owner).or_default();
        let change = |n: u32| if is_added { n + counted.n_prims } else { n - counted.n_prims };
        (prims.n, *of_owner) = (change(prims.n), change(*of_owner));
        if *of_owner == 0 {
            prims.of_owner.remove(&counted.owner);
        }
        if prims.n == 0 {
            self.parcels.remove(&number);
        }
    }

    /// Counts the linksets of squares that belong to other parcels now.
    fn follow_squares(&mut self, squares: &Arc<[ParcelNumber]>) {
        let former = std::mem::replace(&mut self.squares, Arc::clone(squares));
        // The rules of new parcels are not counted yet.
        for (index, (&before, &now)) in former.iter().zip(&**squares).enumerate() {
            if before == now {
                continue;
            }
            let mut id = self.first_on[index];
            while let Some(&counted) = self.roots.get(&id) {
                self.add(before, counted, false);
                self.add(now, counted, true);
                let is_under_new_rule = self.minutes_of(before) != self.minutes_of(now);
                self.changed.push(ChangedRoot { object: counted.object, is_under_new_rule });
                id = counted.behind;
            }
        }
    }

    /// Notes the linksets of parcels whose owner or time of return is another now.
    fn follow_rules(&mut self, rules: BTreeMap<ParcelNumber, (Option<AgentId>, u32)>) {
        let former = std::mem::replace(&mut self.rules, rules);
        let numbers: BTreeSet<ParcelNumber> = former.keys().chain(self.rules.keys()).copied().collect();
        for number in numbers.into_iter().filter(|number| former.get(number) != self.rules.get(number)) {
            let minutes = |rules: &BTreeMap<ParcelNumber, (Option<AgentId>, u32)>| {
                rules.get(&number).map(|(_, minutes)| *minutes)
            };
            let is_under_new_rule = minutes(&former) != minutes(&self.rules);
            let owners = self.owners_on(number).filter_map(|(owner, _)| self.of_owner.get(&owner));
            let roots = owners.flatten().map(|root| &self.roots[root]);
            let there = roots.filter(|counted| self.parcel_of(counted) == number);
            let there: Vec<ChangedRoot> =
                there.map(|counted| ChangedRoot { object: counted.object, is_under_new_rule }).collect();
            self.changed.extend(there);
        }
    }
}

impl Land {
    /// Time of return of a linkset that comes to this place, world time from `now_ns` on; `None` for never.
    pub(crate) fn return_ns(place: LandPlace, now_ns: u64) -> Option<u64> {
        let minutes = u64::from(place.auto_return_min);
        (minutes > 0 && !place.is_own).then(|| now_ns.saturating_add(minutes.saturating_mul(60_000_000_000)))
    }

    /// The parcel that an object's root is on, also at the border of the region.
    pub(crate) fn parcel_below(&self, position: Vec3) -> &Parcel {
        let at = inside(position, self.size_m() as f32);
        let (column, row) = square_of(self.parcels.side(), at.x, at.y).expect("a point of the region");
        self.parcels.at(column, row)
    }

    /// Rights of an editor of objects.
    pub(crate) const fn editor(agent: Option<AgentId>, is_operator: bool) -> LandAuthor {
        LandAuthor { agent, is_operator }
    }
}

/// Owners and minutes of the parcels that return objects.
fn rules_of(land: &Land) -> BTreeMap<ParcelNumber, (Option<AgentId>, u32)> {
    let parcels = land.parcels.iter().filter(|parcel| parcel.auto_return_min > 0);
    parcels.map(|parcel| (parcel.number, (parcel.owner, parcel.auto_return_min))).collect()
}

/// The nearest point of a region of this size, within its squares.
fn inside(position: Vec3, size_m: f32) -> Vec2 {
    position.truncate().clamp(Vec2::ZERO, Vec2::splat(size_m - 0.5))
}

/// True if an order may name linksets of this owner.
fn may_name(order: &ObjectReturn, parcel: &Parcel, owner: AgentId) -> bool {
    let kinds = order.kinds;
    let is_own = parcel.is_of(owner);
    kinds.any(ReturnKinds::OWNER) && is_own
        || kinds.any(ReturnKinds(ReturnKinds::GROUP.0 | ReturnKinds::OTHER.0)) && !is_own
        || kinds.any(ReturnKinds::FOR_SALE)
        || kinds.any(ReturnKinds::LISTED) && order.owners.contains(&owner)
}

/// True if an order names a linkset on its parcel, by its root.
fn names(order: &ObjectReturn, parcel: &Parcel, body: &Body) -> bool {
    let (kinds, owner, group) = (order.kinds, body.ownership.owner, body.ownership.group);
    let is_own = parcel.is_of(owner);
    let is_of_group = !is_own && group == parcel.settings.group && group != Uuid::nil();
    kinds.any(ReturnKinds::OWNER) && is_own
        || kinds.any(ReturnKinds::GROUP) && is_of_group
        || kinds.any(ReturnKinds::OTHER) && !is_own && !is_of_group
        || kinds.any(ReturnKinds::FOR_SALE) && body.sale.kind != SaleKind::No
        || kinds.any(ReturnKinds::LISTED) && order.owners.contains(&owner)
}
