//! Parcels of a region as those of an archive.

use super::parcels::{IS_BANNED, MAY_ENTER, ParcelRules, parcel_of};
use super::settings::written_environment;
use archive::oar::{ArchivedParcel, ParcelAccess};
use ids::Uuid;
use link::{AccessEntry, Parcel, ParcelNumber, ParcelSettings};
use std::sync::Arc;

/// The document of a parcel, in the form that it was loaded in. `squares` has the parcel of each square of the region.
#[must_use]
pub fn archived_parcel(
    parcel: &Parcel,
    squares: &[ParcelNumber],
    source: Option<ArchivedParcel>,
    rules: &ParcelRules<'_>,
) -> ArchivedParcel {
    let mut archived = source.unwrap_or_default();
    // Values that a load of the source would give are left as they stand there.
    let loaded = parcel_of(&archived, parcel.number, rules);
    let (now, then) = (&parcel.settings, &loaded.settings);
    archived.id = parcel.id;
    archived.local_id = i32::from(parcel.number.0);
    let bitmap = bitmap_of(parcel.number, squares);
    if archived.bitmap != bitmap {
        archived.bitmap = bitmap;
        archived.area_m2 = i32::try_from(parcel.area_m2()).unwrap_or(i32::MAX);
    }
    archived.owner = parcel.owner.map_or_else(Uuid::nil, |owner| owner.0);
    (archived.group, archived.is_group_owned) = (parcel.settings.group, false);
    if (&parcel.allowed, &parcel.banned) != (&loaded.allowed, &loaded.banned) {
        archived.access = access_of(parcel);
    }
    if parcel.claimed_s != loaded.claimed_s {
        archived.claimed_s = i32::try_from(parcel.claimed_s).unwrap_or(i32::MAX);
    }
    if parcel.auto_return_min != loaded.auto_return_min {
        archived.autoreturn_min = i32::try_from(parcel.auto_return_min).unwrap_or_default();
    }
    archived.environment = written_environment(
        parcel.environment.as_ref(),
        loaded.environment.as_ref(),
        archived.environment.take(),
    );
    put_texts(&mut archived, now, then);
    put_numbers(&mut archived, now, then);
    archived
}

fn put_texts(archived: &mut ArchivedParcel, now: &ParcelSettings, then: &ParcelSettings) {
    let put = |to: &mut String, now: &Arc<str>, then: &Arc<str>| {
        if now != then {
            *to = now.to_string();
        }
    };
    put(&mut archived.name, &now.name, &then.name);
    put(&mut archived.description, &now.description, &then.description);
    put(&mut archived.music_url, &now.media.music_url, &then.media.music_url);
    put(&mut archived.media.url, &now.media.url, &then.media.url);
    put(&mut archived.media.mime_type, &now.media.mime_type, &then.media.mime_type);
    put(&mut archived.media.description, &now.media.description, &then.media.description);
}

fn put_numbers(archived: &mut ArchivedParcel, now: &ParcelSettings, then: &ParcelSettings) {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    if now.flags != then.flags {
        archived.flags = now.flags.0;
    }
    if now.category != then.category {
        archived.category = i8::try_from(now.category).unwrap_or_default();
    }
    (archived.snapshot, archived.media.texture) = (now.snapshot, now.media.texture);
    let (landing, loaded) = (now.landing, then.landing);
    if landing.kind != loaded.kind {
        archived.landing_type = landing.kind as u8;
    }
    if landing.at != loaded.at {
        archived.landing_at = landing.at.to_array();
    }
    if landing.look_at != loaded.look_at {
        archived.landing_look = landing.look_at.to_array();
    }
    let (media, loaded) = (&now.media, &then.media);
    if (media.width, media.height) != (loaded.width, loaded.height) {
        (archived.media.width_px, archived.media.height_px) = (media.width.into(), media.height.into());
    }
    if media.is_scaled != loaded.is_scaled {
        archived.media.auto_scale = u8::from(media.is_scaled);
    }
    (archived.media.is_looped, archived.media.is_obscured) = (media.is_looped, media.is_hidden_outside);
    archived.buyer = now.sale.buyer;
    if now.sale.price != then.sale.price {
        archived.sale_price = number(now.sale.price);
    }
    if now.pass.price != then.pass.price {
        archived.pass_price = number(now.pass.price);
    }
    if now.pass.hours != then.pass.hours {
        archived.pass_hours = now.pass.hours;
    }
    archived.sees_avatars = now.shows_avatars;
    (archived.hears_avatars, archived.hears_group) = (now.has_any_sounds, now.has_group_sounds);
}

/// The entries of both lists, by their users.
fn access_of(parcel: &Parcel) -> Vec<ParcelAccess> {
    let of_list = |list: &[AccessEntry], flags: u32| -> Vec<ParcelAccess> {
        let entry = |entry: &AccessEntry| ParcelAccess {
            agent: entry.agent.0,
            expires_s: i32::try_from(entry.expires_s).unwrap_or_default(),
            flags,
            unknown: Box::default(),
        };
        list.iter().map(entry).collect()
    };
    [of_list(&parcel.allowed, MAY_ENTER), of_list(&parcel.banned, IS_BANNED)].concat()
}

fn bitmap_of(number: ParcelNumber, squares: &[ParcelNumber]) -> Vec<u8> {
    let mut bitmap = vec![0; squares.len().div_ceil(8)];
    for (n, _) in squares.iter().enumerate().filter(|(_, square)| **square == number) {
        bitmap[n / 8] |= 1 << (n % 8);
    }
    bitmap
}
