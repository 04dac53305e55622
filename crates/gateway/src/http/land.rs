//! Capabilities about land. Questions are answered from the replica; changes go by the client's shard to its world, which judges them: a refusal comes as an
//! alert.

use super::HttpState;
use super::reply::{error, llsd, read_map};
use crate::coverage::Feature;
use crate::hub::Holder;
use crate::land::{
    EstateForm, RegionForm, environment_body, environment_of, environment_reply, estate_access,
    parcel_of_map, prims_by_owner,
};
use crate::places::{Place, Places};
use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use glam::Vec2;
use grid::capability;
use ids::{AgentId, RegionHandle, Uuid};
use link::{EstateEdit, LandEdit, LandRefusal, ParcelEdit, ParcelNumber, RegionOptions};
use replicate::Replica;
use replicate::land::KnownParcel;
use std::collections::BTreeMap;
use wire::llsd::Llsd;

/// Names of the addresses to which LandResources sends clients.
const SUMMARY: &str = "LandResourcesSummary";
const DETAILS: &str = "LandResourcesDetails";

/// A refusal, with the sentence that states its reason.
type Refused = (StatusCode, String);

/// Answers a capability about land; `None` for any other one, and for methods that it does not take. `base` is the base URL of the client's capabilities.
pub(super) fn call(
    state: &HttpState,
    holder: &Holder,
    name: &str,
    method: &Method,
    query: &str,
    body: &Bytes,
    base: &str,
) -> Option<Response> {
    let place = &*holder.place;
    let reply = match (name, method) {
        ("ExtEnvironment", &Method::GET) => Ok(environment(place, query)),
        ("ExtEnvironment", &Method::DELETE) => set_environment(state, holder, query, None),
        ("EstateAccess", &Method::GET) => access(place, holder.agent),
        (SUMMARY, &Method::GET) => resources(place, query, summary_of),
        (DETAILS, &Method::GET) => resources(place, query, details_of),
        (
            "ParcelPropertiesUpdate"
            | "DispatchRegionInfo"
            | "EstateChangeInfo"
            | "RemoteParcelRequest"
            | "LandResources",
            &Method::POST,
        )
        | ("ExtEnvironment", &Method::PUT) => {
            let form = match read_map(body) {
                Ok(form) => form,
                Err(response) => return Some(*response),
            };
            match name {
                "ExtEnvironment" => set_environment(state, holder, query, Some(&form)),
                "ParcelPropertiesUpdate" => {
                    parcel_edit(place, &form).and_then(|edit| give(state, holder, vec![edit], empty()))
                }
                "RemoteParcelRequest" => Ok(remote_parcel(&state.places, place, &form)),
                "LandResources" => Ok(addresses_of(base, &form)),
                name => estate_edits(place, |region| match name {
                    "DispatchRegionInfo" => vec![EstateEdit::Region(RegionForm::of_map(&form).over(region))],
                    _ => EstateForm::of_map(&form).edits(region),
                })
                .and_then(|edits| give(state, holder, edits, empty())),
            }
        }
        _ => return None,
    };
    Some(match reply {
        Ok(answer) => llsd(&answer),
        Err((status, sentence)) => error(status, &sentence),
    })
}

/// Passes changes on to the client's shard, and answers then.
fn give(state: &HttpState, holder: &Holder, edits: Vec<LandEdit>, answer: Llsd) -> Result<Llsd, Refused> {
    let is_given = state.sessions.with(|hub| hub.edit_land(holder.circuit, edits));
    if is_given { Ok(answer) } else { Err(forbidden("You have not arrived yet.")) }
}

fn forbidden(why: impl ToString) -> Refused {
    (StatusCode::FORBIDDEN, why.to_string())
}

/// A parameter of a query.
fn parameter<'a>(query: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Parcel that a query about an environment is about; `None` for the region.
fn parcel_of_query(query: &str) -> Option<i32> {
    parameter(query, "parcelid").and_then(|id| id.parse().ok()).filter(|id| *id >= 0)
}

/// A parcel by the number that a client has sent.
fn parcel_numbered(replica: &Replica, local_id: i32) -> Option<&KnownParcel> {
    let number = u16::try_from(local_id).ok()?;
    replica.land()?.parcel(ParcelNumber(number))
}

/// The sky of the region or of a parcel. Without one of its own a parcel has that of the region.
fn environment(place: &Place, query: &str) -> Llsd {
    let replica = place.scene.feed.current();
    let Some(local_id) = parcel_of_query(query) else {
        let estate = replica.land().and_then(|land| land.estate());
        let own = estate.and_then(|(estate, _)| estate.environment.as_ref());
        let reply = own.and_then(|own| environment_reply(own, place.region_id, None));
        return reply.unwrap_or_else(|| capability::environment(place.region_id));
    };
    let number = u16::try_from(local_id).unwrap_or_default();
    let own = parcel_numbered(&replica, local_id).and_then(|known| known.parcel.environment.as_ref());
    let reply = own.and_then(|own| environment_reply(own, place.region_id, Some(number)));
    reply.unwrap_or_else(|| default_environment(place, Some(number)))
}

fn default_environment(place: &Place, parcel: Option<u16>) -> Llsd {
    environment_body([("is_default".to_owned(), true.into())].into_iter(), place.region_id, parcel)
}

/// Sets the sky of the region or of a parcel, or takes it back without a `form`. A refusal is a reply that viewers show.
fn set_environment(
    state: &HttpState,
    holder: &Holder,
    query: &str,
    form: Option<&Llsd>,
) -> Result<Llsd, Refused> {
    match environment_edit(&holder.place, query, form) {
        Ok((edit, answer)) => give(state, holder, vec![edit], answer),
        Err(why) => Ok(Llsd::map([("success", Llsd::from(false)), ("message", why.into())])),
    }
}

/// The change of a sky with the answer to it, or the reason against it.
fn environment_edit(place: &Place, query: &str, form: Option<&Llsd>) -> Result<(LandEdit, Llsd), String> {
    let replica = place.scene.feed.current();
    let estate = replica.land().and_then(|land| land.estate());
    let (estate, _) = estate.ok_or_else(|| Feature::Land.to_string())?;
    if parameter(query, "trackno").is_some() {
        return Err("A sky for one altitude cannot be set on this server.".to_owned());
    }
    let local_id = parcel_of_query(query);
    let known = local_id.and_then(|local_id| parcel_numbered(&replica, local_id));
    if local_id.is_some() && known.is_none() {
        return Err(LandRefusal::UnknownParcel.to_string());
    }
    let former = match known {
        Some(known) => known.parcel.environment.as_ref(),
        None => estate.environment.as_ref(),
    };
    let read = |form: &Llsd| {
        let base = capability::environment(place.region_id);
        environment_of(former, base.get("environment"), form)
            .ok_or_else(|| "This is no environment, or it is too long.".to_owned())
    };
    let new = form.map(read).transpose()?;
    let number = known.map(|known| known.parcel.number);
    let parcel = number.map(|number| number.0);
    let reply = new.as_ref().and_then(|new| environment_reply(new, place.region_id, parcel));
    let reply = reply.unwrap_or_else(|| default_environment(place, parcel));
    let edit = match number {
        Some(number) => LandEdit::Parcel(number, ParcelEdit::Environment(new)),
        None => LandEdit::Estate(EstateEdit::Environment(new)),
    };
    Ok((edit, reply))
}

/// The change of a parcel's settings that a form asks for.
fn parcel_edit(place: &Place, form: &Llsd) -> Result<LandEdit, Refused> {
    let replica = place.scene.feed.current();
    if replica.land().is_none() {
        return Err(forbidden(Feature::Land));
    }
    let known = form.get("local_id").as_i32().and_then(|local_id| parcel_numbered(&replica, local_id));
    let known = known.ok_or_else(|| (StatusCode::NOT_FOUND, LandRefusal::UnknownParcel.to_string()))?;
    let settings = parcel_of_map(&known.parcel.settings, form)
        .ok_or_else(|| (StatusCode::BAD_REQUEST, LandRefusal::Malformed.to_string()))?;
    Ok(LandEdit::Parcel(known.parcel.number, ParcelEdit::Settings(Box::new(settings))))
}

/// Changes of the estate, from the present settings of its region.
fn estate_edits(
    place: &Place,
    edits: impl FnOnce(RegionOptions) -> Vec<EstateEdit>,
) -> Result<Vec<LandEdit>, Refused> {
    let replica = place.scene.feed.current();
    let estate = replica.land().and_then(|land| land.estate());
    let (estate, _) = estate.ok_or_else(|| forbidden(Feature::Land))?;
    Ok(edits(estate.region).into_iter().map(LandEdit::Estate).collect())
}

/// The lists of the estate, for those who manage it.
fn access(place: &Place, reader: AgentId) -> Result<Llsd, Refused> {
    let replica = place.scene.feed.current();
    let estate = replica.land().and_then(|land| land.estate());
    let (estate, _) = estate.ok_or_else(|| forbidden(Feature::Land))?;
    if estate.is_managed_by(reader) {
        Ok(estate_access(estate))
    } else {
        Err(forbidden(LandRefusal::NotPermitted))
    }
}

/// Id of the parcel at a point of a region; null if there is none.
fn remote_parcel(places: &Places, here: &Place, form: &Llsd) -> Llsd {
    let region = form.get("region_id").as_uuid().unwrap_or_default();
    let handle = form.get("region_handle").as_u64().map(RegionHandle);
    // An instance has the id of the place where it is seen.
    let is_here = here.region_id == region;
    let of_region = places.by_region_id(region);
    let other = of_region.or_else(|| places.by_handle(handle?));
    let place = if is_here { Some(here) } else { other.map(|place| &**place) };
    let at = form.get("location").as_vec3().map_or(Vec2::ZERO, |at| at.truncate());
    let id = place.map_or(Uuid::nil(), |place| {
        let replica = place.scene.feed.current();
        match replica.land() {
            Some(land) => land.parcel_at(at).map_or(Uuid::nil(), |known| known.parcel.id),
            None => place.parcel_id,
        }
    });
    Llsd::map([("parcel_id", Llsd::from(id))])
}

/// Addresses of the figures of a parcel.
fn addresses_of(base: &str, form: &Llsd) -> Llsd {
    let parcel = form.get("parcel_id").as_uuid().unwrap_or_default();
    Llsd::map([
        ("ScriptResourceSummary", Llsd::from(format!("{base}/{SUMMARY}?parcel={parcel}"))),
        ("ScriptResourceDetails", format!("{base}/{DETAILS}?parcel={parcel}").into()),
    ])
}

/// Figures of the parcel in the query.
fn resources(
    place: &Place,
    query: &str,
    figures: fn(&Place, &Replica, &KnownParcel) -> Llsd,
) -> Result<Llsd, Refused> {
    let replica = place.scene.feed.current();
    let id = parameter(query, "parcel").and_then(|id| Uuid::parse_str(id).ok()).unwrap_or_default();
    match replica.land().and_then(|land| land.parcel_of_id(id)) {
        Some(known) => Ok(figures(place, &replica, known)),
        None => Err((StatusCode::NOT_FOUND, LandRefusal::UnknownParcel.to_string())),
    }
}

fn n_prims(place: &Place, replica: &Replica, number: ParcelNumber) -> i32 {
    prims_by_owner(place, replica, number).values().sum::<u32>().cast_signed()
}

/// Scripts do not exist: they use nothing.
fn summary_of(place: &Place, replica: &Replica, known: &KnownParcel) -> Llsd {
    let row = |kind: &str, amount: i32| Llsd::map([("type", Llsd::from(kind)), ("amount", amount.into())]);
    let n_prims = n_prims(place, replica, known.parcel.number);
    let used = vec![row("urls", 0), row("memory", 0), row("prims", n_prims)];
    let available = vec![row("urls", 0), row("memory", 0)];
    let summary = Llsd::map([("available", Llsd::Array(available)), ("used", Llsd::Array(used))]);
    Llsd::map([("summary", summary)])
}

fn details_of(place: &Place, replica: &Replica, known: &KnownParcel) -> Llsd {
    let parcel = &known.parcel;
    let row = Llsd::map([
        ("id", Llsd::from(parcel.id)),
        ("local_id", i32::from(parcel.number.0).into()),
        ("name", Llsd::from(&*parcel.settings.name)),
        ("owner_id", parcel.owner.map_or(Uuid::nil(), |owner| owner.0).into()),
        ("is_group_owned", false.into()),
        ("prims", n_prims(place, replica, parcel.number).into()),
        ("objects", Llsd::Array(Vec::new())),
    ]);
    Llsd::map([("parcels", Llsd::Array(vec![row]))])
}

fn empty() -> Llsd {
    Llsd::Map(BTreeMap::new())
}

#[cfg(test)]
mod tests;
