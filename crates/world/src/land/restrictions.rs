//! Squares that some avatar may not be on: one bit for each, so that the question costs one load for each avatar and tick.

use super::parcels::ParcelMap;
use link::{Estate, Parcel, ParcelFlags, RegionFlags};

/// Squares of parcels with an access or ban list in force.
#[derive(Debug, Default)]
pub(super) struct Restrictions {
    side: u16,
    /// Row by row from the south-west; empty without any.
    bits: Vec<u64>,
}

impl Restrictions {
    pub(super) fn of(parcels: &ParcelMap, estate: &Estate) -> Self {
        let side = parcels.side();
        let is_closed = |parcel: &Parcel| is_restricted(parcel, estate);
        if !parcels.iter().any(|parcel| is_closed(parcel)) {
            return Self::default();
        }
        let mut bits = vec![0_u64; (usize::from(side) * usize::from(side)).div_ceil(64)];
        // Neighbours mostly have the same parcel.
        let mut last = None;
        for (index, &number) in parcels.squares().iter().enumerate() {
            let is_set = match last {
                Some((known, is_set)) if known == number => is_set,
                _ => parcels.get(number).is_some_and(is_closed),
            };
            last = Some((number, is_set));
            bits[index / 64] |= u64::from(is_set) << (index % 64);
        }
        Self { side, bits }
    }

    /// True without any.
    pub(super) const fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// True if the square is of a parcel with a list in force. False outside the region.
    pub(super) fn has(&self, column: u16, row: u16) -> bool {
        let index = usize::from(row) * usize::from(self.side) + usize::from(column);
        column < self.side && self.bits.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}

/// True if a parcel keeps any user out.
fn is_restricted(parcel: &Parcel, estate: &Estate) -> bool {
    let flags = parcel.settings.flags;
    estate.region.flags.any(RegionFlags::ALLOW_PARCEL_ACCESS)
        && (flags.any(ParcelFlags::USE_ACCESS_LIST)
            || flags.any(ParcelFlags::USE_BAN_LIST) && !parcel.banned.is_empty())
}
