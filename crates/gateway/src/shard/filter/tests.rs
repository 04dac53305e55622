//! Slow actions of a user pass, idle noise of a client does not.

use super::*;
use proptest::prelude::*;

fn still() -> AgentUpdateAgentData {
    AgentUpdateAgentData {
        body_rotation: Quat::IDENTITY,
        head_rotation: Quat::IDENTITY,
        camera_center: Vec3::new(128.0, 128.0, 25.0),
        camera_at_axis: Vec3::X,
        camera_left_axis: Vec3::Y,
        camera_up_axis: Vec3::Z,
        far: 128.0,
        ..AgentUpdateAgentData::default()
    }
}

/// A filter with the last updates accepted by its world and its gateway.
#[derive(Default)]
struct Line {
    filter: UpdateFilter,
    mode: FilterMode,
    world: Option<AgentUpdateAgentData>,
    gateway: Option<AgentUpdateAgentData>,
}

impl Line {
    fn opened(mode: FilterMode) -> Self {
        let mut line = Self { mode, ..Self::default() };
        assert_eq!(line.send(&still()), FilterVerdict::Control);
        line
    }

    fn send(&mut self, update: &AgentUpdateAgentData) -> FilterVerdict {
        let verdict = self.filter.classify(self.mode, update);
        if verdict != FilterVerdict::Dropped {
            self.filter.accept(verdict, update);
            self.gateway = Some(update.clone());
        }
        if verdict == FilterVerdict::Control {
            self.world = Some(update.clone());
        }
        verdict
    }

    /// Checks that all accepted values are within their thresholds of the true ones.
    fn assert_current(&self, update: &AgentUpdateAgentData) {
        // Half a hundredth of slack for the arithmetic of 32 bits.
        const SLACK: f32 = 1.005;
        let (world, gateway) = (self.world.as_ref().expect("opened"), self.gateway.as_ref().expect("opened"));
        let turned = world.body_rotation.angle_between(update.body_rotation);
        // The angle comes from a cosine, which is that coarse near zero.
        assert!(turned <= ROTATION_SIGNIFICANT_RAD * SLACK + 1e-3, "the body is {turned} rad off");
        let nodded = gateway.head_rotation.angle_between(update.head_rotation);
        assert!(nodded <= ROTATION_SIGNIFICANT_RAD * SLACK + 1e-3, "the head is {nodded} rad off");
        let off = (gateway.camera_center - update.camera_center).abs().max_element();
        assert!(off <= CAMERA_SIGNIFICANT_M * SLACK, "the camera is {off} m off");
        for (told, is) in
            [(gateway.camera_at_axis, update.camera_at_axis), (gateway.camera_up_axis, update.camera_up_axis)]
        {
            let off = (told - is).abs().max_element();
            assert!(off <= AXIS_SIGNIFICANT * SLACK, "an axis is {off} off");
        }
        assert!((gateway.far - update.far).abs() <= FAR_SIGNIFICANT_M);
        assert_eq!(
            (world.control_flags, world.state, world.flags),
            (update.control_flags, update.state, update.flags)
        );
    }
}

/// Change of an input per update.
#[derive(Clone, Copy, Debug)]
struct Habit {
    turn_rad: f32,
    nod_rad: f32,
    pan_rad: f32,
    walk_m: f32,
    zoom_m: f32,
    keys: u32,
}

fn habit() -> impl Strategy<Value = Habit> {
    // From a hundredth of each threshold to ten times as much, in both directions, or not at all.
    let rate = |threshold: f32| {
        prop_oneof![
            1 => Just(0.0),
            4 => (-4.6_f32..2.3, any::<bool>()).prop_map(move |(exponent, back)| {
                let rate = threshold * exponent.exp();
                if back { -rate } else { rate }
            }),
        ]
    };
    (
        rate(ROTATION_SIGNIFICANT_RAD),
        rate(ROTATION_SIGNIFICANT_RAD),
        rate(AXIS_SIGNIFICANT),
        rate(CAMERA_SIGNIFICANT_M),
        rate(FAR_SIGNIFICANT_M / 10.0),
        prop_oneof![4 => Just(0_u32), 1 => Just(1), 1 => Just(1 << 13)],
    )
        .prop_map(|(turn_rad, nod_rad, pan_rad, walk_m, zoom_m, keys)| Habit {
            turn_rad,
            nod_rad,
            pan_rad,
            walk_m,
            zoom_m,
            keys,
        })
}

proptest! {
    #[test]
    fn a_slow_turn_pan_and_walk_arrive_together_or_alone(
        habits in prop::collection::vec((habit(), 1_usize..80), 1..6),
    ) {
        let mut line = Line::opened(FilterMode::Significance);
        let mut update = still();
        let (mut yaw, mut nod, mut pan) = (0.0_f32, 0.0_f32, 0.0_f32);
        for (habit, n) in habits {
            update.control_flags = habit.keys;
            for _ in 0..n {
                yaw += habit.turn_rad;
                nod += habit.nod_rad;
                pan += habit.pan_rad;
                update.body_rotation = Quat::from_rotation_z(yaw);
                update.head_rotation = Quat::from_rotation_z(nod);
                update.camera_at_axis = Quat::from_rotation_z(pan) * Vec3::X;
                update.camera_left_axis = Quat::from_rotation_z(pan) * Vec3::Y;
                update.camera_center.x += habit.walk_m;
                update.far += habit.zoom_m;
                line.send(&update);
                line.assert_current(&update);
            }
        }
    }

    #[test]
    fn jitter_below_the_thresholds_is_dropped_for_ever(
        jitters in prop::collection::vec((-0.4_f32..0.4, -0.4_f32..0.4, -0.4_f32..0.4), 1..200),
    ) {
        let mut line = Line::opened(FilterMode::Significance);
        for (turn, pan, shift) in jitters {
            let mut update = still();
            update.body_rotation = Quat::from_rotation_z(turn * ROTATION_SIGNIFICANT_RAD);
            update.head_rotation = Quat::from_rotation_y(shift * ROTATION_SIGNIFICANT_RAD);
            update.camera_at_axis = Quat::from_rotation_z(pan * AXIS_SIGNIFICANT) * Vec3::X;
            update.camera_center += Vec3::splat(shift * CAMERA_SIGNIFICANT_M);
            update.far += shift * FAR_SIGNIFICANT_M;
            prop_assert_eq!(line.send(&update), FilterVerdict::Dropped);
        }
    }

    #[test]
    fn keys_always_count(first: u32, second: u32, state: u8, flags: u8) {
        let mut line = Line::opened(FilterMode::Significance);
        let mut update = still();
        update.control_flags = first;
        let expected = if first == 0 { FilterVerdict::Dropped } else { FilterVerdict::Control };
        prop_assert_eq!(line.send(&update), expected);
        update.control_flags = second;
        (update.state, update.flags) = (state, flags);
        let same = second == first && state == 0 && flags == 0;
        prop_assert_eq!(line.send(&update), if same { FilterVerdict::Dropped } else { FilterVerdict::Control });
    }
}

#[test]
fn the_first_update_counts_in_every_mode() {
    for mode in [FilterMode::Off, FilterMode::Equality, FilterMode::Significance] {
        assert_eq!(UpdateFilter::default().classify(mode, &still()), FilterVerdict::Control);
    }
}

#[test]
fn a_body_that_turns_slowly_beside_a_moving_camera_reaches_the_world() {
    let mut line = Line::opened(FilterMode::Significance);
    let mut update = still();
    let mut told = 0;
    for n in 1..=100 {
        update.body_rotation = Quat::from_rotation_z(n as f32 * ROTATION_SIGNIFICANT_RAD * 0.4);
        update.camera_center.x += 1.0;
        told += usize::from(line.send(&update) == FilterVerdict::Control);
        line.assert_current(&update);
    }
    assert_eq!(told, 33, "every third update");
}

#[test]
fn a_camera_alone_is_no_business_of_the_world() {
    let mut line = Line::opened(FilterMode::Significance);
    let mut update = still();
    update.camera_center.z += 1.0;
    assert_eq!(line.send(&update), FilterVerdict::View);
    assert_eq!(line.send(&update), FilterVerdict::Dropped);
    update.far += 64.0;
    assert_eq!(line.send(&update), FilterVerdict::View);
    update.head_rotation = Quat::from_rotation_z(0.5);
    assert_eq!(line.send(&update), FilterVerdict::View);
}

#[test]
fn a_quaternion_and_its_negative_are_the_same_turn() {
    let mut line = Line::opened(FilterMode::Significance);
    let mut update = still();
    update.body_rotation = Quat::from_rotation_z(2.0);
    assert_eq!(line.send(&update), FilterVerdict::Control);
    update.body_rotation = -update.body_rotation;
    assert_eq!(line.send(&update), FilterVerdict::Dropped);
}

#[test]
fn equality_drops_exact_repetitions_only() {
    let mut line = Line::opened(FilterMode::Equality);
    assert_eq!(line.send(&still()), FilterVerdict::Dropped);
    let mut update = still();
    update.camera_left_axis.x += 1e-6;
    assert_eq!(line.send(&update), FilterVerdict::View);
    update.body_rotation = Quat::from_rotation_z(1e-5);
    assert_eq!(line.send(&update), FilterVerdict::Control);
    assert_eq!(line.send(&update), FilterVerdict::Dropped);
}

#[test]
fn off_passes_every_update_to_the_world() {
    let mut line = Line::opened(FilterMode::Off);
    for _ in 0..3 {
        assert_eq!(line.send(&still()), FilterVerdict::Control);
    }
}
