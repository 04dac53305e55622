//! Worlds that come and go at the gateway.

use super::*;
use link::Frame;

fn instance(hall: &Hall, damage: bool) -> Arc<WorldSpec> {
    let ground =
        GroundSpec { damage, ..GroundSpec::clone(hall.sessions().places().get(PlaceId(0)).ground()) };
    Arc::new(WorldSpec {
        world: WorldId(u32::MAX - u32::from(damage)),
        epoch: Epoch(0),
        is_shared: false,
        name: "Hall".into(),
        max_avatars: 3,
        max_objects: 0,
        hz: 20,
        local_ids: 1..1_000,
        ground: Arc::new(ground),
        portals: Arc::default(),
        seed: 1,
        cache_id: Uuid::nil(),
    })
}

#[test]
fn frames_of_an_instance_are_shown_while_it_is_in_memory_and_its_scene_is_freed_after_the_last_client() {
    let hall = Hall::start(1);
    let (gateway, places) = (&hall.gateway, hall.sessions().places());
    let spec = instance(&hall, false);
    let mut outlet = gateway.open_world(&spec, Box::new(|| true));
    let scene = places.scene(spec.world).expect("it is open");
    for sequence in 0..2 {
        let frame = Frame { world: spec.world, sequence, ..Frame::empty() };
        assert!(!outlet.send(Box::new(frame)).is_lost);
        assert_eq!(scene.feed.current().sequence, sequence);
    }
    drop(outlet);
    gateway.close_world(spec.world);
    assert!(places.scene(spec.world).is_none());
    let n_ended = || {
        gateway.drop_ended();
        gateway.ended.lock().unwrap().len()
    };
    assert_eq!(n_ended(), 1, "a shard holds it");
    drop(scene);
    assert_eq!(n_ended(), 0);
    hall.stop();
}

#[test]
fn a_template_whose_damage_setting_changes_is_not_encoded_again() {
    let hall = Hall::start(1);
    let (gateway, places) = (&hall.gateway, hall.sessions().places());
    let shown = [false, true].map(|damage| {
        let spec = instance(&hall, damage);
        drop(gateway.open_world(&spec, Box::new(|| true)));
        let scene = places.scene(spec.world).expect("it is open");
        gateway.close_world(spec.world);
        scene
    });
    assert_eq!(shown.each_ref().map(|scene| scene.ground.damage), [false, true]);
    assert!(Arc::ptr_eq(&shown[0].ground.layers, &shown[1].ground.layers));
    hall.stop();
}
