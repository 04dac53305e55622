//! Touches and effects: passed on, or dropped.

use crate::built::{Site, block, ground};
use crate::stage::{STANDING, enter_at};
use glam::{Vec2, Vec3};
use ids::{LocalId, SessionKey, Uuid};
use link::{
    Action, Effect, Event, NewObject, ObjectChange, ObjectCommand, Ray, ShownEffect, SurfacePoint, Touch,
    TouchCommand, TouchPhase,
};

fn touches(site: &Site) -> Vec<Touch> {
    let touch = |event: &Event| match event {
        Event::Touched(touch) => Some(**touch),
        _ => None,
    };
    site.stage.events().iter().filter_map(touch).collect()
}

fn touch(site: &mut Site, object: LocalId, offset: Vec3, surface: Option<SurfacePoint>) -> Vec<Touch> {
    let command = TouchCommand { object, phase: TouchPhase::Began, offset, surface };
    site.stage.send(1, Action::Touch(Box::new(command)));
    site.stage.step();
    touches(site)
}

#[test]
fn a_touch_names_prim_root_and_the_surface_of_the_client() {
    let mut site = Site::new();
    let root = site.build(block(ground(132.0, 128.0), Vec3::ONE));
    let part = site.build(block(ground(132.0, 129.0), Vec3::ONE));
    site.edit(ObjectCommand::Link(vec![root, part]));
    let surface = SurfacePoint {
        face: 2,
        uv: Vec2::new(0.25, 0.5),
        st: Vec2::splat(0.5),
        position: ground(132.5, 129.0),
        normal: Vec3::X,
        binormal: Vec3::Y,
    };
    let [touch] = touch(&mut site, part, Vec3::X, Some(surface))[..] else { panic!("one touch") };
    assert_eq!((touch.object, touch.root, touch.session), (part, root, SessionKey(1)));
    assert_eq!((touch.phase, touch.surface), (TouchPhase::Began, Some(surface)));
}

#[test]
fn a_touch_without_a_surface_gets_the_one_that_the_avatar_sees() {
    let mut site = Site::new();
    let prim = site.build(block(ground(132.0, 128.0) + Vec3::Z, Vec3::splat(2.0)));
    let [touch] = touch(&mut site, prim, Vec3::ZERO, None)[..] else { panic!("one touch") };
    let surface = touch.surface.expect("a side of the box");
    assert!(surface.normal.distance(Vec3::NEG_X) < 1e-4 && (surface.position.x - 131.0).abs() < 1e-3);
    assert_eq!(surface.face, 4, "the western side");
}

#[test]
fn touches_of_nothing_and_with_impossible_numbers_are_dropped() {
    let mut site = Site::new();
    let prim = site.build(block(ground(132.0, 128.0), Vec3::ONE));
    assert_eq!(touch(&mut site, LocalId(77), Vec3::ZERO, None), []);
    assert_eq!(touch(&mut site, prim, Vec3::splat(f32::NAN), None), []);
    let surface = SurfacePoint {
        face: 0,
        uv: Vec2::ZERO,
        st: Vec2::ZERO,
        position: Vec3::ZERO,
        normal: Vec3::splat(1e30),
        binormal: Vec3::ZERO,
    };
    assert_eq!(touch(&mut site, prim, Vec3::ZERO, Some(surface)), []);
    assert_eq!(site.stage.world.counters().touch, 0);
}

#[test]
fn effects_are_passed_on_up_to_a_bound_for_each_tick() {
    let mut site = Site::new();
    for session in 2..40 {
        site.stage.send(session, enter_at(ground(100.0 + session as f32, 100.0) + Vec3::Z * STANDING));
    }
    site.stage.step();
    for session in 1..40 {
        let sound = Effect::Sound { id: Uuid::from_u128(5), gain: 0.5 };
        site.stage.send(session, Action::Effect(Box::new(sound)));
    }
    site.stage.step();
    let n_passed = site.stage.events().iter().filter(|event| matches!(event, Event::Effect(_))).count();
    assert_eq!(n_passed, 16);
    assert_eq!(site.stage.world.counters().effect_dropped, 39 - 16);
    let Event::Effect(first) = &site.stage.events()[0] else { panic!("an effect") };
    assert_eq!((first.session, first.position), (SessionKey(1), site.stage.motion(1).position));
    let long = ShownEffect {
        id: Uuid::nil(),
        kind: 14,
        duration_s: f32::INFINITY,
        color: [0; 4],
        data: vec![0; 57],
    };
    site.stage.send(1, Action::Effect(Box::new(Effect::Shown(vec![long]))));
    site.stage.step();
    assert_eq!(site.stage.events(), []);
}

/// Place of the prim that a step made.
fn made_at(site: &Site) -> Vec3 {
    let place = |change: &ObjectChange| match change {
        ObjectChange::Set { motion, .. } => Some(motion.motion.position),
        _ => None,
    };
    site.stage.frame.objects.iter().find_map(place).expect("a new prim")
}

#[test]
fn a_new_prim_lies_on_the_surface_that_the_ray_meets() {
    let mut site = Site::new();
    site.build(block(ground(132.0, 128.0) + Vec3::Z, Vec3::splat(2.0)));
    // The first prim of a site has the id 1.
    let ray = |start, end| Some(Ray { start, end, target: Uuid::from_u128(1) });
    let small = block(Vec3::splat(50.0), Vec3::new(0.2, 0.4, 0.6));
    let top = ground(132.3, 128.2) + Vec3::Z * 2.0;
    site.build(NewObject { ray: ray(top + Vec3::new(-5.0, 0.0, 5.0), top), ..small.clone() });
    assert!(made_at(&site).distance(top + Vec3::Z * 0.3) < 1e-3, "{}", made_at(&site));
    let side = ground(131.0, 128.2) + Vec3::Z;
    site.build(NewObject { ray: ray(side - Vec3::X * 5.0, side), ..small.clone() });
    assert!(made_at(&site).distance(side - Vec3::X * 0.1) < 1e-3, "{}", made_at(&site));
    // Past it: the client's own account counts.
    site.build(NewObject { ray: ray(Vec3::splat(60.0), Vec3::splat(70.0)), ..small });
    assert_eq!(made_at(&site), Vec3::splat(50.0));
}
