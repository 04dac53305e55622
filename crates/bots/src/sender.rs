//! The agent updates that a bot sends: its pose and camera in the message's form, steady or with jitter.

use crate::behavior::BodyPose;
use crate::identity::Identity;
use crate::profile::Profile;
use crate::rng::Rng;
use glam::{Quat, Vec3};
use wire::messages::{AgentUpdate, AgentUpdateAgentData};

/// Largest change of each component of a rotation by jitter. Twice that, 0.04° in all three, stays far below the 0.5°
/// that servers take for a turn.
pub const JITTER_ROTATION: f32 = 1e-4;

/// Largest change of each coordinate of the camera by jitter, in metres. Servers take 1 cm for a movement.
pub const JITTER_CAMERA_M: f32 = 1e-3;

/// Largest change of each component of the camera's axes by jitter.
pub const JITTER_AXIS: f32 = 1e-4;

/// Draw distance that bots ask for, in metres: the default of viewers.
pub(crate) const FAR_M: f32 = 128.0;

/// node-metaverse's camera stands still in a corner, wherever its avatar goes, looks at something and sees one metre.
const NM_CAMERA_M: Vec3 = Vec3::new(199.58, 203.95, 24.304);
const NM_LOOK_AT: Vec3 = Vec3::new(0.979_546, 0.105_575, -0.171_303);
const NM_FAR_M: f32 = 1.0;

/// Offset of the camera behind and above the avatar's centre, in metres: the default of viewers.
const CAMERA_BEHIND_M: f32 = 3.0;
const CAMERA_ABOVE_M: f32 = 0.75;

/// Steadiness of a bot's updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steadiness {
    /// An idle bot repeats the same update, bit for bit.
    #[default]
    Stable,
    /// Every update differs a little from the one before, as those of some real clients do: an invisible change in a distinct update.
    Unstable,
}

/// Makes a bot's agent updates.
#[derive(Clone, Debug)]
pub struct Sender {
    profile: Profile,
    steadiness: Steadiness,
    /// Position of the camera. It follows a walking bot and rests with a standing one, even if the server moves that a little.
    anchor: Vec3,
}

impl Sender {
    /// Updates of a bot that arrived at this position, in metres from the region's corner.
    #[must_use]
    pub const fn new(profile: Profile, steadiness: Steadiness, position: Vec3) -> Self {
        Self { profile, steadiness, anchor: position }
    }

    /// Is this steady from the next update on.
    pub(crate) const fn steady(&mut self, steadiness: Steadiness) {
        self.steadiness = steadiness;
    }

    /// The update for a pose. `position` is where the bot thinks it is.
    pub fn update(
        &mut self,
        identity: &Identity,
        pose: &BodyPose,
        position: Vec3,
        rng: &mut Rng,
    ) -> AgentUpdate {
        if pose.walking {
            self.anchor = position;
        }
        let ahead = pose.rotation * Vec3::X;
        let mut agent_data = AgentUpdateAgentData {
            agent_id: identity.agent.0,
            session_id: identity.session.0,
            body_rotation: pose.rotation,
            head_rotation: pose.rotation,
            state: 0,
            camera_center: self.anchor - ahead * CAMERA_BEHIND_M + Vec3::Z * CAMERA_ABOVE_M,
            camera_at_axis: ahead,
            camera_left_axis: pose.rotation * Vec3::Y,
            camera_up_axis: Vec3::Z,
            far: FAR_M,
            control_flags: pose.control_flags,
            flags: 0,
        };
        if self.profile == Profile::NodeMetaverse {
            (agent_data.camera_center, agent_data.far) = (NM_CAMERA_M, NM_FAR_M);
            agent_data.camera_at_axis = NM_LOOK_AT;
            agent_data.camera_left_axis = Vec3::NEG_X;
            agent_data.head_rotation = Quat::IDENTITY;
        }
        if self.steadiness == Steadiness::Unstable {
            jitter(&mut agent_data, rng);
        }
        AgentUpdate { agent_data }
    }
}

fn jitter(update: &mut AgentUpdateAgentData, rng: &mut Rng) {
    for rotation in [&mut update.body_rotation, &mut update.head_rotation] {
        // A small turn on top, not noise on the components: w is rebuilt from them on arrival, and near a half turn
        // noise of 1e-4 would become one of 1.6°.
        let [x, y, z] = [(); 3].map(|()| rng.within(JITTER_ROTATION));
        *rotation = (*rotation * Quat::from_xyzw(x, y, z, 1.0)).normalize();
    }
    for axis in [&mut update.camera_at_axis, &mut update.camera_left_axis, &mut update.camera_up_axis] {
        *axis += noise(JITTER_AXIS, rng);
    }
    update.camera_center += noise(JITTER_CAMERA_M, rng);
}

fn noise(most: f32, rng: &mut Rng) -> Vec3 {
    Vec3::new(rng.within(most), rng.within(most), rng.within(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec2;
    use std::f32::consts::PI;

    /// Least change that servers take for one (OpenSimulator's filter): 0.5°, and 1 cm or the equivalent on axes.
    const TURN_RAD: f32 = 0.0087;
    const SHIFT: f32 = 0.01;

    fn updates(steadiness: Steadiness, pose: BodyPose, count: usize) -> Vec<AgentUpdateAgentData> {
        let mut rng = Rng::new(5, 0);
        let mut sender = Sender::new(Profile::Viewer, steadiness, Vec3::new(128.0, 128.0, 25.0));
        let position = |index: usize| Vec3::new(128.0, 128.0 + index as f32, 25.0);
        let update = |index| sender.update(&crate::scene::IDENTITY, &pose, position(index), &mut rng);
        // Through the wire, as a server sees them: rotations are rounded there.
        let sent = |update: AgentUpdate| {
            let mut bytes = Vec::new();
            update.encode(&mut bytes);
            AgentUpdate::decode(&bytes[1..]).expect("own encoding").agent_data
        };
        (0..count).map(update).map(sent).collect()
    }

    fn idle(heading: f32) -> BodyPose {
        let rotation = Quat::from_rotation_z(Vec2::from_angle(heading).to_angle());
        BodyPose { rotation, control_flags: 0, walking: false }
    }

    #[test]
    fn a_stable_idle_sender_repeats_itself_bit_for_bit_wherever_it_is_pushed() {
        let sent = updates(Steadiness::Stable, idle(2.0), 50);
        assert!(sent.iter().all(|update| *update == sent[0]));
    }

    #[test]
    fn an_unstable_sender_never_repeats_itself_and_never_differs_visibly() {
        for heading in [0.0, 1.0, PI - 1e-4, 1e-4 - PI, -1.5] {
            let sent = updates(Steadiness::Unstable, idle(heading), 200);
            for pair in sent.windows(2) {
                assert_ne!(pair[0], pair[1]);
            }
            for (a, b) in sent.iter().zip(sent.iter().rev()) {
                for (a, b) in [(a.body_rotation, b.body_rotation), (a.head_rotation, b.head_rotation)] {
                    let half_angle = (a.conjugate() * b).xyz().length();
                    assert!(half_angle < TURN_RAD / 4.0, "{half_angle} at {heading}");
                }
                for (a, b) in [
                    (a.camera_center, b.camera_center),
                    (a.camera_at_axis, b.camera_at_axis),
                    (a.camera_left_axis, b.camera_left_axis),
                    (a.camera_up_axis, b.camera_up_axis),
                ] {
                    assert!((a - b).abs().max_element() < SHIFT / 2.0, "{a} and {b}");
                }
            }
        }
    }

    #[test]
    fn node_metaverses_camera_stays_where_it_is() {
        let mut sender = Sender::new(Profile::NodeMetaverse, Steadiness::Stable, Vec3::ONE);
        let walking = BodyPose { walking: true, ..idle(0.0) };
        let mut update = |x| {
            let position = Vec3::new(x, 1.0, 25.0);
            sender.update(&crate::scene::IDENTITY, &walking, position, &mut Rng::new(1, 0)).agent_data
        };
        assert_eq!(update(1.0), update(100.0));
        assert_eq!(update(1.0).body_rotation, walking.rotation);
    }

    #[test]
    fn the_camera_follows_a_walk() {
        let walking = BodyPose { walking: true, ..idle(0.0) };
        let sent = updates(Steadiness::Stable, walking, 3);
        assert_eq!(sent[2].camera_center - sent[0].camera_center, Vec3::new(0.0, 2.0, 0.0));
    }
}
