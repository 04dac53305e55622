//! Messages of the ground for arriving clients, and the place of a position.

use super::*;
use glam::Vec3;
use link::Scenery;
use std::ops::Range;
use wire::messages::Message;
use wire::terrain;

fn instance_spec(world: WorldId, name: &str, local_ids: Range<u32>, ground: &EncodedGround) -> WorldSpec {
    WorldSpec {
        world,
        epoch: Epoch(0),
        is_shared: false,
        name: name.into(),
        max_avatars: 100,
        max_objects: 0,
        hz: 20,
        local_ids,
        ground: Arc::clone(ground.spec()),
        portals: Arc::default(),
        seed: 0,
        cache_id: Uuid::nil(),
    }
}

fn place(size_m: u32) -> Places {
    let terrain = Arc::new(Terrain::hills(size_m, 5));
    let settings = |n, name: &str, grid, terrain| {
        let ground = Arc::new(EncodedGround::new(GroundSpec::new(terrain, Arc::default(), 20.0)));
        let spec = WorldSpec { is_shared: true, ..instance_spec(WorldId(n), name, 1..1_000, &ground) };
        PlaceSettings { grid, spec, ground }
    };
    let flat = Arc::new(Terrain::flat(256, 25.0));
    Places::new(vec![
        settings(9, "Hills", (1_000, 1_000), terrain),
        settings(4, "Flat", (1_010, 1_000), flat),
    ])
}

fn overlay(place: &Place) -> Vec<(i32, Vec<u8>)> {
    let read = |bytes: &Vec<u8>| match Message::decode(bytes) {
        Ok(Message::ParcelOverlay(m)) => (m.parcel_data.sequence_id, m.parcel_data.data),
        other => panic!("{other:?}"),
    };
    place.ground().overlay.iter().map(read).collect()
}

#[test]
fn the_overlay_is_sent_in_parts_of_1024_squares_with_borders_in_the_west_and_south() {
    for (size_m, n_messages) in [(256, 4), (512, 16)] {
        let places = place(size_m);
        let parts = overlay(places.get(PlaceId(0)));
        assert_eq!(parts.len(), n_messages);
        assert!(parts.iter().zip(0..).all(|((id, data), n)| *id == n && data.len() == 1_024));
        let side = size_m as usize / 4;
        let squares: Vec<u8> = parts.into_iter().flat_map(|(_, data)| data).collect();
        assert_eq!(squares.len(), side * side);
        for (n, square) in squares.iter().enumerate() {
            let west = if n % side == 0 { 0x40 } else { 0 };
            let south = if n < side { 0x80 } else { 0 };
            assert_eq!(*square, west | south, "square {n} of {size_m} m");
        }
    }
}

#[test]
fn the_layer_messages_hold_the_terrain() {
    for (size_m, code) in [(256, b'L'), (512, b'M')] {
        let places = place(size_m);
        let place = places.get(PlaceId(0));
        let mut heights = vec![f32::NAN; (size_m * size_m) as usize];
        for message in place.ground().layers.iter() {
            assert!(message.len() + 6 <= wire::header::DATAGRAM_MAX, "{} bytes", message.len());
            let Ok(Message::LayerData(layer)) = Message::decode(message) else { panic!("LayerData") };
            assert_eq!(layer.layer_id.r#type, code);
            for patch in terrain::decode_patches(&layer.layer_data.data).expect("our own patches").1 {
                for (n, height) in patch.heights.iter().enumerate() {
                    let x = usize::from(patch.x) * PATCH_SIDE + n % PATCH_SIDE;
                    let y = usize::from(patch.y) * PATCH_SIDE + n / PATCH_SIDE;
                    heights[y * size_m as usize + x] = *height;
                }
            }
        }
        for (n, (decoded, truth)) in heights.iter().zip(place.ground().terrain.heights()).enumerate() {
            assert!((decoded - truth).abs() < 0.1, "{decoded} for {truth} at {n} of {size_m} m");
        }
    }
}

#[test]
fn a_position_belongs_to_the_place_that_contains_it() {
    let places = place(512);
    let by = |x, y| places.by_handle(RegionHandle::from_grid(x, y)).map(|place| place.name().to_owned());
    for square in [(1_000, 1_000), (1_001, 1_000), (1_000, 1_001), (1_001, 1_001)] {
        assert_eq!(by(square.0, square.1).as_deref(), Some("Hills"));
    }
    assert_eq!(by(1_010, 1_000).as_deref(), Some("Flat"));
    for square in [(1_002, 1_000), (999, 1_000), (1_000, 1_002), (1_011, 1_000), (0, 0)] {
        assert_eq!(by(square.0, square.1), None, "{square:?}");
    }
    assert_eq!(places.by_name("fLaT").map(|place| place.id), Some(PlaceId(1)));
    assert!(places.by_name("Fla").is_none());
}

#[test]
fn a_place_is_found_by_the_id_of_its_region_and_the_first_one_by_that_of_newcomers() {
    let places = place(512);
    let by = |id| places.by_region_id(id).map(|found| found.id);
    for place in places.iter() {
        assert_eq!(by(place.region_id), Some(place.id));
    }
    assert_eq!((by(WELCOME_REGION), by(Uuid::nil())), (Some(PlaceId(0)), None));
}

#[test]
#[should_panic(expected = "a place keeps its size")]
fn a_place_does_not_show_a_world_of_another_size() {
    let places = place(512);
    let _ = places.get(PlaceId(0)).showing(&places.get(PlaceId(1)).scene);
}

#[test]
#[should_panic(expected = "world 9 has two places")]
fn a_world_has_one_place() {
    let ground = Arc::new(EncodedGround::new(GroundSpec::new(
        Arc::new(Terrain::flat(256, 25.0)),
        Arc::default(),
        20.0,
    )));
    let at = |x| {
        let spec = WorldSpec { is_shared: true, ..instance_spec(WorldId(9), "Hills", 1..1_000, &ground) };
        PlaceSettings { grid: (x, 1_000), spec, ground: Arc::clone(&ground) }
    };
    let _ = Places::new(vec![at(1_000), at(1_010)]);
}

#[test]
fn a_world_is_found_by_its_number_wherever_it_stands_in_the_list() {
    let places = place(256);
    let of = |world| places.of_world(WorldId(world)).map(|place| place.name().to_owned());
    assert_eq!([9, 4].map(of), [Some("Hills".to_owned()), Some("Flat".to_owned())]);
    assert_eq!([0, 1, 5, u32::MAX].map(of), [const { None }; 4]);
}

#[test]
fn every_requested_place_is_moved_inside_and_above_the_ground() {
    let places = place(256);
    let place = places.get(PlaceId(1));
    for (wished, expected) in [
        (Vec3::new(10.0, 20.0, 30.0), Vec3::new(10.0, 20.0, 30.0)),
        (Vec3::new(10.0, 20.0, 3.0), Vec3::new(10.0, 20.0, 25.0)),
        (Vec3::new(-5.0, 900.0, 1e9), Vec3::new(1.0, 255.0, 4_000.0)),
        (Vec3::new(f32::NAN, 1.0, 1.0), place.ground().landing),
        (Vec3::new(1.0, f32::INFINITY, 1.0), place.ground().landing),
    ] {
        assert_eq!(place.ground().clamp(wished), expected, "{wished}");
    }
}

#[test]
fn ids_of_regions_and_parcels_depend_on_the_handle_only_and_differ() {
    let (here, there) = (place(256), place(512));
    let ids: Vec<Uuid> = here.iter().flat_map(|place| [place.region_id, place.parcel_id]).collect();
    let again: Vec<Uuid> = there.iter().flat_map(|place| [place.region_id, place.parcel_id]).collect();
    assert_eq!(ids, again);
    assert!((1..ids.len()).all(|n| !ids[..n].contains(&ids[n])));
}

#[test]
fn an_instance_is_found_by_its_number_while_it_is_in_memory() {
    let places = place(256);
    let (hills, ground) = (places.get(PlaceId(0)).world(), Arc::clone(&places.get(PlaceId(0)).scene.ground));
    let world = WorldId(1 << 31);
    let scene = Arc::new(Scene::new(instance_spec(world, "Cave", 1..2, &ground), ground));
    assert!(places.scene(world).is_none() && places.showing(PlaceId(0), world).is_none());
    places.add_instance(Arc::clone(&scene));
    let found = places.showing(PlaceId(0), world).expect("it is in memory");
    assert!(Arc::ptr_eq(&found.scene, &scene));
    assert_eq!((found.id, found.handle), (PlaceId(0), places.get(PlaceId(0)).handle));
    let apart = places.apart(256).id;
    assert_eq!(places.showing(apart, world).map(|place| (place.id, place.world())), Some((apart, world)));
    let shared = places.showing(PlaceId(0), hills).expect("it is always there");
    assert!(Arc::ptr_eq(&shared, places.get(PlaceId(0))));
    drop((found, places.remove_instance(world)));
    assert!(places.showing(PlaceId(0), world).is_none());
    assert_eq!(Arc::strong_count(&scene), 1, "the directory holds nothing of it");
}

#[test]
fn instances_of_a_template_share_what_stands_there_and_name_it_differently() {
    let terrain = Terrain::flat(256, 21.0);
    let scenery = Scenery::boxes(5, &terrain, 1);
    let ground = Arc::new(EncodedGround::new(GroundSpec::new(Arc::new(terrain), Arc::new(scenery), 20.0)));
    let instance = |n: u32| {
        let local_ids = n * 100..n * 100 + 50;
        Scene::new(instance_spec(WorldId(n), "Cave", local_ids, &ground), Arc::clone(&ground))
    };
    let (one, other) = (instance(3), instance(7));
    for (scene, first_id) in [(&one, 300), (&other, 700)] {
        for replica in [&*Arc::clone(&scene.feed.current()), &scene.replica()] {
            let scenery = replica.scenery();
            assert!(Arc::ptr_eq(scenery.objects(), &ground.objects), "nothing is copied");
            assert_eq!((scenery.len(), scenery.id(0).0, scenery.id(4).0), (5, first_id, first_id + 4));
        }
    }
}
