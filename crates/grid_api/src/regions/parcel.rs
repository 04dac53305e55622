//! One parcel of a region with its settings and lists.

use super::answers::RegionRefusal;
use super::shared::Regions;
use axum::extract::{Json, Path, State};
use ids::{AgentId, Uuid};
use link::{AccessEntry, LandingKind, Parcel, ParcelFlags};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Settings that are on or off, with their names in the API.
const SETTINGS: [(ParcelFlags, &str); 16] = [
    (ParcelFlags::ALLOW_FLY, "fly"),
    (ParcelFlags::CREATE_OBJECTS, "build"),
    (ParcelFlags::ALLOW_OTHER_SCRIPTS, "scripts"),
    (ParcelFlags::ALLOW_OBJECT_ENTRY, "object_entry"),
    (ParcelFlags::ALLOW_TERRAFORM, "edit_ground"),
    (ParcelFlags::ALLOW_LANDMARK, "landmark"),
    (ParcelFlags::ALLOW_DAMAGE, "damage"),
    (ParcelFlags::ALLOW_VOICE, "voice"),
    (ParcelFlags::FOR_SALE, "for_sale"),
    (ParcelFlags::USE_ACCESS_LIST, "access_list"),
    (ParcelFlags::USE_BAN_LIST, "ban_list"),
    (ParcelFlags::USE_PASS_LIST, "passes"),
    (ParcelFlags::SHOW_DIRECTORY, "in_searches"),
    (ParcelFlags::SOUND_LOCAL, "local_sounds"),
    (ParcelFlags::RESTRICT_PUSH, "no_pushes"),
    (ParcelFlags::MATURE_PUBLISH, "moderate"),
];

/// An account on a list of a parcel.
#[derive(Serialize, ToSchema)]
#[schema(as = ParcelListEntry)]
pub(super) struct AccessRow {
    id: Uuid,
    /// First and last name of that account, if it exists.
    name: Option<String>,
    /// End of the entry, seconds since 1970; none if it has no end.
    expires_s: Option<u64>,
}

/// A parcel with its settings.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionParcelDetails)]
pub(super) struct ParcelDetails {
    /// Its number in the region.
    number: u16,
    id: Uuid,
    name: String,
    description: String,
    /// None for public land.
    owner: Option<Uuid>,
    /// First and last name of that account, if it exists.
    owner_name: Option<String>,
    /// Time of the last change of its owner, seconds since 1970.
    claimed_s: u64,
    area_m2: u32,
    /// Settings that are on.
    settings: Vec<&'static str>,
    /// All settings as bits of the protocol.
    flags: u32,
    /// Minutes after which objects of other owners are returned; 0 for never.
    auto_return_min: u32,
    /// Rule for teleports: `blocked`, `point` or `anywhere`.
    landing: &'static str,
    /// Landing point, metres from the region's corner: east, north, up.
    #[schema(value_type = Vec<f32>, min_items = 3, max_items = 3)]
    landing_point: [f32; 3],
    /// Address of the music; empty without one.
    music_url: String,
    /// Address of the media; empty without one.
    media_url: String,
    /// Price, if it is for sale.
    price: Option<u32>,
    /// Users who may enter with the setting `access_list`.
    allowed: Vec<AccessRow>,
    /// Users who may not enter with the setting `ban_list`.
    banned: Vec<AccessRow>,
}

/// One parcel of a region with its settings and lists.
#[utoipa::path(get, path = "/v1/regions/{name}/parcels/{number}", operation_id = "show_region_parcel",
    params(
        ("name" = String, Path, description = "Name of the region."),
        ("number" = u16, Path, description = "Number of the parcel."),
    ),
    security(("token" = ["regions.read"])),
    responses(
        (status = 200, body = ParcelDetails),
        (status = 404, description = "There is no such region or parcel."),
    ))]
pub(super) async fn show(
    State(regions): State<Arc<Regions>>,
    Path((name, number)): Path<(String, u16)>,
) -> Result<Json<ParcelDetails>, RegionRefusal> {
    let show = move |regions: &Regions| {
        let map = regions.parcels.of(regions.region(&name)?.world());
        let map = map.ok_or_else(|| RegionRefusal::absent("This region is not divided into parcels."))?;
        let parcel = map.parcels().find(|parcel| parcel.number.0 == number);
        let parcel = parcel.ok_or_else(|| RegionRefusal::absent(format!("There is no parcel {number}.")))?;
        let listed = parcel.allowed.iter().chain(parcel.banned.iter()).map(|entry| entry.agent);
        let names = regions.owners.names(parcel.owner.into_iter().chain(listed));
        Ok(details(parcel, &names))
    };
    regions.blocking(show).await.map(Json)
}

fn details(parcel: &Parcel, names: &BTreeMap<AgentId, Arc<str>>) -> ParcelDetails {
    let settings = &parcel.settings;
    let name_of = |agent: AgentId| names.get(&agent).map(|name| name.to_string());
    let rows = |entries: &[AccessEntry]| {
        let row = |entry: &AccessEntry| AccessRow {
            id: entry.agent.0,
            name: name_of(entry.agent),
            expires_s: (entry.expires_s > 0).then_some(entry.expires_s),
        };
        entries.iter().map(row).collect()
    };
    let is_on = |flag: ParcelFlags| settings.flags.any(flag);
    ParcelDetails {
        number: parcel.number.0,
        id: parcel.id,
        name: settings.name.to_string(),
        description: settings.description.to_string(),
        owner: parcel.owner.map(|owner| owner.0),
        owner_name: parcel.owner.and_then(name_of),
        claimed_s: parcel.claimed_s,
        area_m2: parcel.area_m2(),
        settings: SETTINGS.into_iter().filter(|(flag, _)| is_on(*flag)).map(|(_, name)| name).collect(),
        flags: settings.flags.0,
        auto_return_min: parcel.auto_return_min,
        landing: match settings.landing.kind {
            LandingKind::Blocked => "blocked",
            LandingKind::Point => "point",
            LandingKind::Anywhere => "anywhere",
        },
        landing_point: settings.landing.at.to_array(),
        music_url: settings.media.music_url.to_string(),
        media_url: settings.media.url.to_string(),
        price: is_on(ParcelFlags::FOR_SALE).then_some(settings.sale.price),
        allowed: rows(&parcel.allowed),
        banned: rows(&parcel.banned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::ParcelNumber;

    #[test]
    fn settings_and_lists_of_a_parcel_are_named() {
        let ada = AgentId(Uuid::from_u128(0xada));
        let mut parcel = Parcel::new(ParcelNumber(3), Uuid::from_u128(9), Some(ada), 7);
        parcel.settings.flags = ParcelFlags::ALLOW_FLY.union(ParcelFlags::FOR_SALE);
        parcel.settings.sale.price = 5;
        parcel.banned = [AccessEntry { agent: ada, expires_s: 0 }].into();
        let details = details(&parcel, &BTreeMap::from([(ada, Arc::from("Ada Lovelace"))]));
        assert_eq!(details.settings, ["fly", "for_sale"]);
        assert_eq!((details.number, details.price, details.landing), (3, Some(5), "anywhere"));
        assert_eq!(details.owner_name.as_deref(), Some("Ada Lovelace"));
        assert_eq!((details.allowed.len(), details.banned[0].expires_s), (0, None));
    }

    #[test]
    fn each_setting_has_a_bit_of_its_own() {
        let all = SETTINGS.iter().fold(0_u32, |all, (flag, name)| {
            assert_eq!(all & flag.0, 0, "{name}");
            all | flag.0
        });
        assert_eq!(all.count_ones() as usize, SETTINGS.len());
    }
}
