//! Capabilities against a region that is built on, and one that is not.

use super::*;
use crate::testing::{HARBOUR, MEADOW, Node, PARCEL, Setup, agent};
use link::{Brush, GroundEdit, Stroke, StrokeArea};

/// Ada owns the harbour, and has arrived there.
fn node() -> (Node, usize) {
    let mut node = Node::with(Setup { landlord: Some("Ada"), ..Setup::default() });
    let ada = node.enter("Ada");
    node.run_ms(500);
    (node, ada)
}

/// The harbour with an instance behind it, which is not built on.
fn cave(node: &mut Node) -> Place {
    let scene = node.instance("Cave", 256, 0, 10);
    node.places.get(HARBOUR).showing(&scene)
}

/// Gives a client's changes to its world.
fn carry_out(node: &mut Node, client: usize, edits: Vec<LandEdit>) {
    let circuit = node.hub.holder(node.clients[client].seed).expect("its secret").circuit;
    assert!(node.hub.edit_land(circuit, edits));
    node.relay();
    node.run_ms(500);
}

fn sky(day_length: i32) -> Llsd {
    Llsd::map([("environment", Llsd::map([("day_length", Llsd::from(day_length))]))])
}

fn day_length(reply: &Llsd) -> Option<i32> {
    reply.get("environment").get("day_length").as_i32()
}

#[test]
fn a_query_about_the_region_names_no_parcel() {
    assert_eq!(parcel_of_query("parcelid=7&x=1"), Some(7));
    assert_eq!(["", "parcelid=-1", "parcelid=x", "parcel=3"].map(parcel_of_query), [None; 4]);
}

#[test]
fn skies_of_region_and_parcel_are_set_and_taken_back() {
    let (mut node, ada) = node();
    let places = std::sync::Arc::clone(&node.places);
    let place = places.get(HARBOUR);
    let default = day_length(&environment(place, ""));
    for (query, length) in [("", 5_000), ("parcelid=1", 7_000)] {
        let (edit, answer) = environment_edit(place, query, Some(&sky(length))).expect("a sky");
        assert_eq!((day_length(&answer), answer.get("success").as_bool()), (Some(length), Some(true)));
        carry_out(&mut node, ada, vec![edit]);
    }
    assert_eq!(day_length(&environment(place, "")), Some(5_000));
    assert_eq!(day_length(&environment(place, "parcelid=1")), Some(7_000));
    for query in ["", "parcelid=1"] {
        let (edit, _) = environment_edit(place, query, None).expect("it is taken back");
        carry_out(&mut node, ada, vec![edit]);
    }
    assert_eq!(day_length(&environment(place, "")), default);
    let of_parcel = environment(place, "parcelid=1");
    assert_eq!(of_parcel.get("environment").get("is_default").as_bool(), Some(true));
}

#[test]
fn a_sky_that_is_none_and_one_without_a_place_are_refused() {
    let (mut node, _) = node();
    let cave = cave(&mut node);
    let place = node.places.get(HARBOUR);
    for (query, form) in
        [("", Llsd::map([("x", Llsd::from(1))])), ("parcelid=9", sky(5)), ("parcelid=1&trackno=2", sky(5))]
    {
        assert!(environment_edit(place, query, Some(&form)).is_err(), "{query}");
    }
    assert_eq!(environment_edit(&cave, "", Some(&sky(5))).err(), Some(Feature::Land.to_string()));
}

#[test]
fn a_form_changes_the_fields_that_it_has() {
    let (mut node, ada) = node();
    let places = std::sync::Arc::clone(&node.places);
    let place = places.get(HARBOUR);
    let form = Llsd::map([("local_id", Llsd::from(1)), ("name", "Quay".into()), ("see_avs", false.into())]);
    let edit = parcel_edit(place, &form).expect("a change");
    carry_out(&mut node, ada, vec![edit]);
    let edits = estate_edits(place, |region| {
        vec![EstateEdit::Region(
            RegionForm::of_map(&Llsd::map([("block_fly", Llsd::from(true))])).over(region),
        )]
    });
    carry_out(&mut node, ada, edits.expect("a change"));
    let replica = place.scene.feed.current();
    let land = replica.land().expect("the harbour has land");
    let settings = &land.parcel(ParcelNumber(1)).expect("its parcel").parcel.settings;
    assert_eq!((&*settings.name, settings.shows_avatars, settings.has_any_sounds), ("Quay", false, true));
    let (estate, _) = land.estate().expect("its estate");
    assert!(estate.region.flags.any(link::RegionFlags::BLOCK_FLY.union(link::RegionFlags::PUBLIC)));
    let unknown = Llsd::map([("local_id", Llsd::from(7))]);
    assert_eq!(parcel_edit(place, &unknown).err().map(|(status, _)| status), Some(StatusCode::NOT_FOUND));
    drop(replica);
    let cave = cave(&mut node);
    assert_eq!(parcel_edit(&cave, &form).err().map(|(status, _)| status), Some(StatusCode::FORBIDDEN));
}

#[test]
fn the_lists_of_the_estate_are_for_its_managers() {
    let (mut node, _) = node();
    let cave = cave(&mut node);
    let place = node.places.get(HARBOUR);
    let lists = access(place, agent("Ada")).expect("her own");
    let names = ["AllowedAgents", "AllowedGroups", "BannedAgents", "Managers"];
    assert!(names.iter().all(|name| lists.get(name) == &Llsd::Array(Vec::new())), "{lists:?}");
    assert_eq!(access(place, agent("Bea")).err().map(|(status, _)| status), Some(StatusCode::FORBIDDEN));
    assert!(access(&cave, agent("Ada")).is_err());
}

#[test]
fn a_parcel_has_an_id_from_afar() {
    let (mut node, _) = node();
    let cave = cave(&mut node);
    let (harbour, meadow) = (node.places.get(HARBOUR), node.places.get(MEADOW));
    let location = || Llsd::array([30.0, 30.0, 21.0]);
    let by_id = |region: Uuid| Llsd::map([("region_id", Llsd::from(region)), ("location", location())]);
    let found = |form: &Llsd| remote_parcel(&node.places, meadow, form).get("parcel_id").as_uuid();
    assert_eq!(found(&by_id(harbour.region_id)), Some(PARCEL));
    let of_cave = remote_parcel(&node.places, &cave, &by_id(harbour.region_id));
    assert_eq!(of_cave.get("parcel_id").as_uuid(), Some(cave.parcel_id), "an instance where it is seen");
    let by_handle =
        Llsd::map([("region_handle", Llsd::from_u64(harbour.handle.0)), ("location", location())]);
    assert_eq!(found(&by_handle), Some(PARCEL));
    assert_eq!(found(&by_id(Uuid::from_u128(3))), Some(Uuid::nil()));
}

#[test]
fn the_map_shows_the_ground_as_it_was_edited() {
    let (mut node, ada) = node();
    let places = std::sync::Arc::clone(&node.places);
    let scene = &places.get(HARBOUR).scene;
    let highest = || {
        let bytes = crate::http::map::heights(scene);
        let heights =
            bytes.chunks_exact(4).map(|height| f32::from_le_bytes(height.try_into().expect("4 bytes")));
        heights.fold(f32::MIN, f32::max)
    };
    let before = highest();
    let area = StrokeArea::Disc { at: Vec2::new(120.0, 120.0), radius_m: 8.0 };
    let stroke = Stroke { brush: Brush::Raise, area, seconds: 3.0, height_m: 0.0 };
    carry_out(&mut node, ada, vec![LandEdit::Ground(GroundEdit::Stroke(stroke))]);
    assert!(highest() > before + 2.0, "{} m above {before} m", highest());
}

#[test]
fn figures_of_a_parcel_name_it() {
    let (node, _) = node();
    let place = node.places.get(HARBOUR);
    let query = format!("parcel={PARCEL}");
    let details = resources(place, &query, details_of).expect("the parcel");
    let parcel = details.get("parcels").at(0);
    assert_eq!(
        (parcel.get("owner_id").as_uuid(), parcel.get("prims").as_i32()),
        (Some(agent("Ada").0), Some(0))
    );
    let summary = resources(place, &query, summary_of).expect("the parcel");
    assert_eq!(summary.get("summary").get("used").at(2).get("amount").as_i32(), Some(0));
    assert!(resources(place, "parcel=x", summary_of).is_err());
}
