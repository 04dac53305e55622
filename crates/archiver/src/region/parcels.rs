//! Parcels of an archive as those of a region.

use super::placing::Placing;
use super::settings::environment_of;
use crate::accounts::AccountRules;
use crate::renewed_ids::RenewedIds;
use archive::oar::{ArchivedParcel, SQUARE_M as ARCHIVED_SQUARE_M};
use glam::{Vec2, Vec3};
use ids::{AgentId, Uuid};
use link::{
    ACCESS_MAX, AccessEntry, LandSale, Landing, LandingKind, Parcel, ParcelFlags, ParcelMedia, ParcelNumber,
    ParcelSettings, Pass, ReplacedParcels, SQUARE_M,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bits of an entry of an access list: the user may enter, or may not.
pub(super) const MAY_ENTER: u32 = 1;
pub(super) const IS_BANNED: u32 = 2;

/// Rules for the parcels of a load.
#[derive(Clone, Copy, Debug)]
pub struct ParcelRules<'a> {
    /// Places in the region.
    pub placing: Placing,
    /// Accounts.
    pub accounts: AccountRules<'a>,
    /// Owner of the estate, who gets the parcels of unknown owners and of groups.
    pub estate_owner: Option<AgentId>,
    /// Width of the region, metres.
    pub region_m: u32,
    /// Time, seconds since 1970.
    pub now_s: u64,
}

/// Parcels for a region.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedParcels {
    /// All of them.
    pub replaced: ReplacedParcels,
    /// Those of the archive by their places in its list, each with its id now. Parcels that cover nothing are not there.
    pub loaded: Vec<(usize, Uuid)>,
}

/// More parcels than a region may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the region would have more than {} parcels", ParcelNumber::COUNT_MAX)]
pub struct TooManyParcels;

/// The parcels of an archive for a region. With `former` they are added to these, whose squares they take; otherwise squares without one become a parcel of
/// the estate's owner.
///
/// # Errors
/// [`TooManyParcels`].
pub fn parcels_of(
    archived: &[ArchivedParcel],
    former: Option<&ReplacedParcels>,
    rules: &ParcelRules<'_>,
    ids: &mut RenewedIds,
) -> Result<LoadedParcels, TooManyParcels> {
    let side = rules.region_m / SQUARE_M;
    let by_square = archived_squares(archived, rules);
    let mut numbers = Numbers::new(former);
    // Numbers of the archive's parcels, by their places.
    let mut given: BTreeMap<usize, ParcelNumber> = BTreeMap::new();
    let mut squares = Vec::with_capacity(by_square.len());
    for (index, place) in by_square.iter().enumerate() {
        squares.push(match place {
            Some(place) => *given.entry(*place).or_insert_with(|| {
                let wanted = archived[*place].local_id;
                numbers.give(former.is_none().then_some(wanted))
            }),
            None => former.map_or_else(ParcelNumber::default, |former| former.squares[index]),
        });
    }
    let mut known_ids: BTreeSet<Uuid> = BTreeSet::new();
    let mut parcels: BTreeMap<ParcelNumber, Parcel> = BTreeMap::new();
    for parcel in former.into_iter().flat_map(|former| &former.parcels) {
        known_ids.insert(parcel.id);
        parcels.insert(parcel.number, Parcel::clone(parcel));
    }
    let mut loaded = Vec::with_capacity(given.len());
    for (place, number) in given {
        let mut parcel = parcel_of(&archived[place], number, rules);
        parcel.id = ids.give(parcel.id);
        while !known_ids.insert(parcel.id) {
            parcel.id = ids.give(parcel.id);
        }
        loaded.push((place, parcel.id));
        parcels.insert(number, parcel);
    }
    if squares.contains(&ParcelNumber::default()) {
        let number = numbers.give(None);
        let id = ids.part(Uuid::nil(), u64::from(number.0));
        parcels.insert(number, Parcel::new(number, id, rules.estate_owner, rules.now_s));
        squares.iter_mut().filter(|square| **square == ParcelNumber::default()).for_each(|it| *it = number);
    }
    let mut n_squares: BTreeMap<ParcelNumber, u32> = BTreeMap::new();
    for number in &squares {
        *n_squares.entry(*number).or_default() += 1;
    }
    // Former parcels whose squares are all gone are gone.
    parcels.retain(|number, _| n_squares.contains_key(number));
    if parcels.len() > ParcelNumber::COUNT_MAX {
        return Err(TooManyParcels);
    }
    for (number, parcel) in &mut parcels {
        parcel.n_squares = n_squares[number];
        keep_landing(parcel, &squares, side);
    }
    let parcels = parcels.into_values().map(Arc::new).collect();
    Ok(LoadedParcels { replaced: ReplacedParcels { parcels, squares: squares.into() }, loaded })
}

/// The archive's parcel of each square of the region, by its place in the list. The last one of several counts.
fn archived_squares(archived: &[ArchivedParcel], rules: &ParcelRules<'_>) -> Vec<Option<usize>> {
    let archive_m = rules.placing.archive_m();
    let archived_side = (archive_m.0 / ARCHIVED_SQUARE_M) as usize;
    let n_archived = archived_side * (archive_m.1 / ARCHIVED_SQUARE_M) as usize;
    // The size is a claim: memory is that of the bitmaps which are there.
    let n_stated = archived.iter().map(|parcel| 8 * parcel.bitmap.len()).max().unwrap_or(0);
    let mut of_archive: Vec<Option<usize>> = vec![None; n_archived.min(n_stated)];
    for (place, parcel) in archived.iter().enumerate() {
        let bytes = parcel.bitmap.iter().enumerate().filter(|(_, byte)| **byte != 0);
        let set_bits = |(n, byte): (usize, &u8)| {
            let byte = *byte;
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| n * 8 + bit)
        };
        for n in bytes.flat_map(set_bits) {
            if let Some(square) = of_archive.get_mut(n) {
                *square = Some(place);
            }
        }
    }
    let side = rules.region_m / SQUARE_M;
    let of_square = |n: u32| {
        let middle = Vec2::new((n % side) as f32 + 0.5, (n / side) as f32 + 0.5) * SQUARE_M as f32;
        let source = rules.placing.source_of(middle)? / ARCHIVED_SQUARE_M as f32;
        // Both are inside: positive, and below the sides.
        *of_archive.get(source.y as usize * archived_side + source.x as usize)?
    };
    (0..side * side).map(of_square).collect()
}

/// Numbers of parcels of a region.
struct Numbers {
    used: BTreeSet<u16>,
    next: u16,
}

impl Numbers {
    fn new(former: Option<&ReplacedParcels>) -> Self {
        let parcels = former.into_iter().flat_map(|former| &former.parcels);
        Self { used: parcels.map(|parcel| parcel.number.0).collect(), next: 1 }
    }

    /// The wanted number, or the next free one. There are fewer parcels than numbers: as many as squares at most.
    fn give(&mut self, wanted: Option<i32>) -> ParcelNumber {
        let wanted = wanted.and_then(|wanted| u16::try_from(wanted).ok());
        let is_free = |wanted: &u16| (1..u16::MAX / 2).contains(wanted) && !self.used.contains(wanted);
        let wanted = wanted.filter(is_free);
        let number = wanted.unwrap_or_else(|| {
            while self.used.contains(&self.next) {
                self.next = self.next.wrapping_add(1).max(1);
            }
            self.next
        });
        self.used.insert(number);
        ParcelNumber(number)
    }
}

/// A parcel within the bounds of a region, without squares yet.
pub(super) fn parcel_of(archived: &ArchivedParcel, number: ParcelNumber, rules: &ParcelRules<'_>) -> Parcel {
    let owner = AgentId(archived.owner);
    let is_known = !archived.is_group_owned && rules.accounts.knows(owner);
    let seconds = |seconds: i32| u64::try_from(seconds).unwrap_or_default();
    let minutes = u32::try_from(archived.autoreturn_min).unwrap_or_default();
    let list = |bit: u32| -> Arc<[AccessEntry]> {
        let entries = archived.access.iter().filter(|entry| entry.flags & bit != 0);
        let ends = entries.map(|entry| (AgentId(entry.agent), seconds(entry.expires_s)));
        let known = ends.filter(|(agent, _)| rules.accounts.knows(*agent));
        let by_agent: BTreeMap<AgentId, u64> = known.collect();
        let entry = |(agent, expires_s)| AccessEntry { agent, expires_s };
        by_agent.into_iter().take(ACCESS_MAX).map(entry).collect()
    };
    let settings = settings_of(archived, rules);
    let fallback = || ParcelSettings::new(&archived.name).bounded(rules.region_m);
    let settings = settings.bounded(rules.region_m).or_else(fallback);
    Parcel {
        number,
        id: archived.id,
        owner: if is_known { Some(owner) } else { rules.estate_owner },
        claimed_s: seconds(archived.claimed_s),
        n_squares: 0,
        allowed: list(MAY_ENTER),
        banned: list(IS_BANNED),
        auto_return_min: minutes.min(Parcel::AUTO_RETURN_MAX_MIN),
        environment: environment_of(archived.environment.as_deref(), None),
        settings: settings.expect("a name alone is within all bounds"),
    }
}

fn settings_of(archived: &ArchivedParcel, rules: &ParcelRules<'_>) -> ParcelSettings {
    let media = &archived.media;
    let pixels = |pixels: i32| u16::try_from(pixels.max(0)).unwrap_or(u16::MAX);
    let price = |price: i32| u32::try_from(price).unwrap_or_default();
    let landing_at = Vec3::from_array(archived.landing_at);
    let has_landing = landing_at != Vec3::ZERO;
    ParcelSettings {
        name: archived.name.as_str().into(),
        description: archived.description.as_str().into(),
        flags: ParcelFlags(archived.flags),
        category: u8::try_from(archived.category).unwrap_or_default(),
        group: Uuid::nil(),
        snapshot: archived.snapshot,
        landing: Landing {
            kind: LandingKind::of_code(archived.landing_type).unwrap_or_default(),
            at: if has_landing { rules.placing.point(landing_at) } else { Vec3::ZERO },
            look_at: rules.placing.direction(Vec3::from_array(archived.landing_look)),
        },
        media: ParcelMedia {
            music_url: archived.music_url.as_str().into(),
            url: media.url.as_str().into(),
            texture: media.texture,
            mime_type: media.mime_type.as_str().into(),
            description: media.description.as_str().into(),
            width: pixels(media.width_px),
            height: pixels(media.height_px),
            is_scaled: media.auto_scale != 0,
            is_looped: media.is_looped,
            is_hidden_outside: media.is_obscured,
        },
        sale: LandSale { price: price(archived.sale_price), buyer: archived.buyer },
        pass: Pass { price: price(archived.pass_price), hours: archived.pass_hours },
        shows_avatars: archived.sees_avatars,
        has_any_sounds: archived.hears_avatars,
        has_group_sounds: archived.hears_group,
    }
}

/// Drops a landing point that is on another parcel.
fn keep_landing(parcel: &mut Parcel, squares: &[ParcelNumber], side: u32) {
    let landing = parcel.settings.landing;
    let square = |metres: f32| (metres / SQUARE_M as f32).floor().clamp(0.0, side as f32 - 1.0) as usize;
    let there = squares[square(landing.at.y) * side as usize + square(landing.at.x)];
    if landing.kind == LandingKind::Point && there != parcel.number {
        parcel.settings.landing = Landing::ANYWHERE;
    }
}

#[cfg(test)]
mod tests;
