//! Prims on parcels, by owner and kind. Static objects belong to the grid's operator.

use crate::places::Place;
use grid::inventory::LIBRARY_OWNER;
use ids::{AgentId, Uuid};
use link::{Parcel, ParcelNumber};
use replicate::Replica;
use replicate::objects::CountRow;
use std::collections::BTreeMap;

/// Numbers of prims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ParcelPrims {
    /// Of the parcel's owner.
    pub(crate) of_owner: u32,
    /// Of the parcel's group, and not of its owner.
    pub(crate) of_group: u32,
    /// All others.
    pub(crate) of_others: u32,
    /// On all parcels of the same owner in the region.
    pub(crate) on_owners_land: u32,
    /// Static objects on the parcel, which take no room of its users.
    pub(crate) fixed: u32,
    /// Static objects on all parcels of the same owner.
    pub(crate) fixed_on_owners_land: u32,
}

impl ParcelPrims {
    /// All on the parcel.
    pub(crate) const fn total(&self) -> u32 {
        self.of_owner + self.of_group + self.of_others
    }
}

/// Prims of a region by square, owner and group: those of the replica, and static ones.
fn rows<'a>(place: &'a Place, replica: &'a Replica) -> impl Iterator<Item = CountRow> {
    let fixed = place.ground().objects_by_square.iter();
    let row = |&(square, n_prims): &(u32, u32)| CountRow {
        square,
        owner: AgentId(LIBRARY_OWNER),
        group: Uuid::nil(),
        n_prims,
    };
    replica.objects().counts().rows().chain(fixed.map(row))
}

/// Prims on a parcel by owner. Looks at all squares that have any.
pub(crate) fn prims_by_owner(
    place: &Place,
    replica: &Replica,
    number: ParcelNumber,
) -> BTreeMap<AgentId, u32> {
    let squares = replica.land().map_or(&[][..], |land| land.squares());
    let mut owners = BTreeMap::new();
    for row in rows(place, replica) {
        if squares.get(row.square as usize) == Some(&number) {
            *owners.entry(row.owner).or_default() += row.n_prims;
        }
    }
    owners
}

/// Counts of a parcel, and of its owner's land. Looks at all squares that have any.
pub(crate) fn prims_on(place: &Place, replica: &Replica, parcel: &Parcel) -> ParcelPrims {
    let Some(land) = replica.land() else { return ParcelPrims::default() };
    let mut counts = ParcelPrims::default();
    let mut last: Option<(ParcelNumber, bool)> = None;
    for row in rows(place, replica) {
        let Some(&number) = land.squares().get(row.square as usize) else { continue };
        let is_owners = match last {
            Some((known, is_owners)) if known == number => is_owners,
            _ => land.parcel(number).is_some_and(|known| known.parcel.owner == parcel.owner),
        };
        last = Some((number, is_owners));
        let n_fixed = if row.owner == AgentId(LIBRARY_OWNER) { row.n_prims } else { 0 };
        if is_owners {
            counts.on_owners_land += row.n_prims;
            counts.fixed_on_owners_land += n_fixed;
        }
        if number == parcel.number {
            counts.fixed += n_fixed;
            *kind_of(&mut counts, parcel, row.owner, row.group) += row.n_prims;
        }
    }
    counts
}

fn kind_of<'a>(counts: &'a mut ParcelPrims, parcel: &Parcel, owner: AgentId, group: Uuid) -> &'a mut u32 {
    if parcel.is_of(owner) {
        &mut counts.of_owner
    } else if !group.is_nil() && group == parcel.settings.group {
        &mut counts.of_group
    } else {
        &mut counts.of_others
    }
}
