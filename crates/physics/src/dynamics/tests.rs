use super::*;
use crate::colliders::{Colliders, Placement};
use crate::shape::Geometry;
use glam::Quat;

/// Level ground and linksets of one box each.
struct Field {
    colliders: Colliders,
    plans: BTreeMap<LocalId, BodyPlan>,
}

impl Neighbourhood for Field {
    fn colliders(&self) -> &Colliders {
        &self.colliders
    }

    fn surface(&self, prim: LocalId) -> Option<PrimSurface> {
        Some(PrimSurface { sleeper: Some(prim), friction: 0.6, restitution: 0.0 })
    }

    fn describe(&mut self, root: LocalId, plan: &mut BodyPlan) -> bool {
        let known = self.plans.get(&root);
        known.into_iter().for_each(|known| plan.clone_from(known));
        known.is_some()
    }

    fn ground_height(&self, _: u32, _: u32) -> f32 {
        0.0
    }

    fn ground_version(&self) -> u64 {
        0
    }
}

/// Boxes in the air, far from each other.
fn field(n: u32) -> Field {
    let plan = |n: u32| {
        let part = BodyPart {
            id: LocalId(n),
            geometry: Geometry::BOX,
            placement: Placement { position: Vec3::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE },
            density: 1_000.0,
            friction: 0.6,
            restitution: 0.0,
        };
        BodyPlan {
            position: Vec3::new(10.0 * n as f32, 100.0, 50.0),
            parts: vec![part],
            ..BodyPlan::default()
        }
    };
    Field { colliders: Colliders::new(256), plans: (1..=n).map(|n| (LocalId(n), plan(n))).collect() }
}

const TICK: Duration = Duration::from_millis(50);

#[test]
fn a_body_that_breaks_is_stopped_by_name_where_it_was_and_the_others_go_on() {
    let mut field = field(2);
    let mut dynamics = Dynamics::new(DynamicsSettings::new(256));
    let mut out = Outcome::default();
    assert!(dynamics.wake(LocalId(1)) && dynamics.wake(LocalId(2)));
    dynamics.step(TICK, &mut field, &mut out);
    let before = out.moved[0];
    assert_eq!(before.root, LocalId(1));
    let held = dynamics.state.held.as_mut().unwrap();
    let handle = held.bodies[&LocalId(1)].handle;
    held.engine.break_body(handle);
    dynamics.step(TICK, &mut field, &mut out);
    assert_eq!(out.stopped, [(LocalId(1), StopReason::NotANumber)]);
    let roots: Vec<LocalId> = out.moved.iter().map(|motion| motion.root).collect();
    assert_eq!(roots, [LocalId(1), LocalId(2)]);
    assert_eq!(out.moved[0].velocity, Vec3::ZERO);
    assert_eq!(out.moved[0].position, before.position, "its last possible place");
    assert!(out.moved.iter().all(|motion| motion.position.is_finite() && motion.velocity.is_finite()));
    for _ in 0..10 {
        dynamics.step(TICK, &mut field, &mut out);
        assert!(out.stopped.is_empty() && out.moved.len() == 1 && out.moved[0].root == LocalId(2));
    }
}

#[test]
fn nothing_is_held_before_the_first_wake_and_after_the_last_rest() {
    let mut field = field(1);
    let mut dynamics = Dynamics::new(DynamicsSettings::new(256));
    let mut out = Outcome::default();
    dynamics.step(TICK, &mut field, &mut out);
    assert!(dynamics.state.held.is_none());
    assert!(dynamics.wake(LocalId(1)));
    dynamics.step(TICK, &mut field, &mut out);
    assert!(dynamics.state.held.is_some());
    field.plans.clear();
    dynamics.edited(LocalId(1));
    dynamics.step(TICK, &mut field, &mut out);
    assert!(dynamics.state.held.is_none() && out.moved.is_empty());
}

#[test]
fn a_body_accelerates_by_gravity_until_something_touches_it_and_holds_the_ground_near_it_only() {
    let mut field = field(1);
    let mut dynamics = Dynamics::new(DynamicsSettings::new(256));
    dynamics.wake(LocalId(1));
    let mut out = Outcome::default();
    let mut ticks = Vec::new();
    for _ in 0..120 {
        dynamics.step(TICK, &mut field, &mut out);
        let Some(motion) = out.moved.first() else { break };
        let body = &dynamics.state.held.as_ref().expect("it moves").bodies[&LocalId(1)];
        ticks.push((motion.position.z, motion.acceleration, !body.patches.is_empty()));
    }
    let (falling, touching) = ticks.split_at(ticks.partition_point(|&(z, ..)| z > 0.6));
    assert!(falling.len() > 60 && touching.len() > 5, "{ticks:?}");
    assert!(falling.iter().all(|&(_, acceleration, _)| acceleration == Vec3::NEG_Z * GRAVITY_M_PER_S2));
    assert!(
        touching[2..]
            .iter()
            .all(|&(_, acceleration, is_on_ground)| acceleration == Vec3::ZERO && is_on_ground)
    );
    let holds_ground = |&(z, _, holds): &(f32, Vec3, bool)| (z, holds);
    assert!(falling.iter().map(holds_ground).all(|(z, holds)| z < 10.0 || !holds), "{falling:?}");
}
