//! ParcelOverlay: a byte for each square of 4 m.
//!
//! ```text
//! bits 0–2  class of the owner, as the receiver sees it
//! 0x10      avatars inside are hidden     0x20  sounds are heard inside only
//! 0x40      border in the west            0x80  border in the south
//! ```

use ids::AgentId;
use link::{Parcel, ParcelFlags, ParcelNumber};
use replicate::land::{LandReplica, OVERLAY_SQUARES};

const PUBLIC: u8 = 0;
const OF_OTHERS: u8 = 1;
const OWN: u8 = 3;
const FOR_SALE: u8 = 4;
const HIDDEN_AVATARS: u8 = 0x10;
const LOCAL_SOUNDS: u8 = 0x20;
const WEST_EDGE: u8 = 0x40;
const SOUTH_EDGE: u8 = 0x80;

/// The squares of one message for a receiver, row by row from the south-west.
///
/// # Panics
/// If the region has no such part.
pub(crate) fn overlay_part(land: &LandReplica, receiver: AgentId, part: u16) -> Vec<u8> {
    let (squares, side) = (land.squares(), usize::from(land.side()));
    let first = usize::from(part) * OVERLAY_SQUARES;
    // Neighbours mostly have the same parcel.
    let mut last = (ParcelNumber::default(), PUBLIC);
    (first..squares.len().min(first + OVERLAY_SQUARES))
        .map(|index| {
            let number = squares[index];
            if last.0 != number {
                let parcel = land.parcel(number);
                last = (number, parcel.map_or(PUBLIC, |known| class(&known.parcel, receiver)));
            }
            let west = index % side == 0 || squares[index - 1] != number;
            let south = index < side || squares[index - side] != number;
            last.1 | if west { WEST_EDGE } else { 0 } | if south { SOUTH_EDGE } else { 0 }
        })
        .collect()
}

/// The part of the byte that all squares of a parcel have.
fn class(parcel: &Parcel, receiver: AgentId) -> u8 {
    let settings = &parcel.settings;
    let buyer = settings.sale.buyer;
    let is_offered = settings.flags.any(ParcelFlags::FOR_SALE) && (buyer.is_nil() || buyer == receiver.0);
    let owner = match parcel.owner {
        Some(owner) if owner == receiver => OWN,
        _ if is_offered => FOR_SALE,
        Some(_) => OF_OTHERS,
        None => PUBLIC,
    };
    let hidden = if settings.shows_avatars { 0 } else { HIDDEN_AVATARS };
    let local = if settings.flags.any(ParcelFlags::SOUND_LOCAL) { LOCAL_SOUNDS } else { 0 };
    owner | hidden | local
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use link::LandSale;

    fn agent(n: u128) -> AgentId {
        AgentId(Uuid::from_u128(n))
    }

    fn parcel(owner: Option<AgentId>) -> Parcel {
        Parcel::new(ParcelNumber(1), Uuid::from_u128(9), owner, 0)
    }

    #[test]
    fn the_class_depends_on_the_receiver() {
        assert_eq!(class(&parcel(None), agent(1)), PUBLIC);
        assert_eq!(class(&parcel(Some(agent(1))), agent(1)), OWN);
        assert_eq!(class(&parcel(Some(agent(1))), agent(2)), OF_OTHERS);
        let mut offered = parcel(Some(agent(1)));
        offered.settings.flags = offered.settings.flags.union(ParcelFlags::FOR_SALE);
        offered.settings.sale = LandSale { price: 0, buyer: agent(2).0 };
        assert_eq!([1, 2, 3].map(|n| class(&offered, agent(n))), [OWN, FOR_SALE, OF_OTHERS]);
    }

    #[test]
    fn hidden_avatars_and_local_sounds_are_marked() {
        let mut quiet = parcel(None);
        quiet.settings.shows_avatars = false;
        assert_eq!(class(&quiet, agent(1)), HIDDEN_AVATARS);
        quiet.settings.flags = quiet.settings.flags.union(ParcelFlags::SOUND_LOCAL);
        assert_eq!(class(&quiet, agent(1)), HIDDEN_AVATARS | LOCAL_SOUNDS);
    }
}
