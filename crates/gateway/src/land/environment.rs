//! Sky and water of regions and parcels: ExtEnvironment's maps, kept as their bytes, in XML from clients and in notation from archives.

use ids::Uuid;
use link::{ENVIRONMENT_MAX, Environment};
use std::collections::BTreeMap;
use wire::llsd::{Limits, Llsd, notation, xml};

/// Parcel number of the whole region in requests and replies.
const WHOLE_REGION: i32 = -1;
/// Number of changes at most, after which it begins again.
const VERSION_MAX: i32 = i32::MAX;

/// The environment that a client has sent, over the former one; `base` is that of a region without one. `None` if it is none, or too long.
pub(crate) fn environment_of(former: Option<&Environment>, base: &Llsd, body: &Llsd) -> Option<Environment> {
    let new = body.get("environment").as_map()?;
    let former_map = former.and_then(read);
    let mut map = former_map.or_else(|| base.as_map().cloned()).unwrap_or_default();
    map.extend(new.iter().map(|(key, value)| (key.clone(), value.clone())));
    let bytes = xml::encode(&Llsd::Map(map)).into_bytes();
    if bytes.len() > ENVIRONMENT_MAX {
        return None;
    }
    let version = former.map_or(0, |former| former.version);
    Some(Environment { version: if version == VERSION_MAX { 1 } else { version + 1 }, bytes: bytes.into() })
}

/// The reply to a request for an environment that is set; `parcel` is `None` for the region. `None` if its bytes are none.
pub(crate) fn environment_reply(
    environment: &Environment,
    region_id: Uuid,
    parcel: Option<u16>,
) -> Option<Llsd> {
    let mut map = read(environment)?;
    map.insert("env_version".to_owned(), environment.version.into());
    map.insert("is_default".to_owned(), false.into());
    Some(environment_body(map.into_iter(), region_id, parcel))
}

/// The fields of an environment; `None` if its bytes are none.
fn read(environment: &Environment) -> Option<BTreeMap<String, Llsd>> {
    let limits = Limits { bytes_max: ENVIRONMENT_MAX, ..Limits::REQUEST };
    let bytes = &environment.bytes;
    match xml::decode(bytes, limits).or_else(|_| notation::decode(bytes, limits)) {
        Ok(Llsd::Map(map)) => Some(map),
        _ => None,
    }
}

/// A reply with these fields of the environment. Without any the viewer shows its own sky.
pub(crate) fn environment_body(
    fields: impl Iterator<Item = (String, Llsd)>,
    region_id: Uuid,
    parcel: Option<u16>,
) -> Llsd {
    let parcel_id = parcel.map_or(WHOLE_REGION, i32::from);
    let place = [("region_id", Llsd::from(region_id)), ("parcel_id", parcel_id.into())];
    let placed = place.clone().map(|(key, value)| (key.to_owned(), value));
    let environment = Llsd::map(fields.chain(placed));
    let mut reply = vec![("success", Llsd::from(true)), ("environment", environment)];
    reply.extend(place);
    Llsd::map(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Llsd {
        Llsd::map([("day_offset", Llsd::from(7)), ("day_length", 9.into())])
    }

    fn body() -> Llsd {
        Llsd::map([("environment", Llsd::map([("day_length", Llsd::from(14_400))]))])
    }

    #[test]
    fn an_environment_comes_back_with_its_place_and_version() {
        let first = environment_of(None, &base(), &body()).expect("an environment");
        let second = environment_of(Some(&first), &base(), &body()).expect("an environment");
        assert_eq!((first.version, second.version), (1, 2));
        let region_id = Uuid::from_u128(5);
        let reply = environment_reply(&second, region_id, Some(3)).expect("its own bytes");
        assert_eq!((reply.get("success").as_bool(), reply.get("parcel_id").as_i32()), (Some(true), Some(3)));
        let environment = reply.get("environment");
        assert_eq!(environment.get("day_length").as_i32(), Some(14_400));
        assert_eq!(
            environment.get("day_offset").as_i32(),
            Some(7),
            "a field that it lacks is that of the base"
        );
        assert_eq!(environment.get("env_version").as_i32(), Some(2));
        assert_eq!(environment.get("region_id").as_uuid(), Some(region_id));
    }

    #[test]
    fn an_environment_of_an_archive_is_notation() {
        let bytes = b"{'day_length':i14400,'day_offset':i7}".as_slice().into();
        let reply = environment_reply(&Environment { version: 1, bytes }, Uuid::nil(), None);
        let reply = reply.expect("an environment");
        assert_eq!(reply.get("environment").get("day_length").as_i32(), Some(14_400));
    }

    #[test]
    fn a_body_without_an_environment_or_with_too_long_a_one_is_refused() {
        assert_eq!(environment_of(None, &base(), &Llsd::map([("x", Llsd::from(1))])), None);
        let long = Llsd::map([("name", Llsd::from("x".repeat(ENVIRONMENT_MAX)))]);
        assert_eq!(environment_of(None, &base(), &Llsd::map([("environment", long)])), None);
    }

    #[test]
    fn bytes_that_are_no_map_are_no_environment() {
        let damaged =
            Environment { version: 1, bytes: b"<llsd><integer>1</integer></llsd>".as_slice().into() };
        assert_eq!(environment_reply(&damaged, Uuid::nil(), None), None);
    }
}
