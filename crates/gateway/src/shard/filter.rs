//! Filter of agent updates. Clients send 1 to 125 a second, about ten even when idle, some with jitter in every one; an update with
//! insignificant differences from the last *accepted* one is dropped before it costs anything.
//!
//! The comparison with the last accepted one, not the last received, passes a slow pan or a slow turn: small differences add up until
//! they count.

use glam::{Quat, Vec3};
use wire::messages::AgentUpdateAgentData;

/// Turns below this are dropped, in radians (0.5°). OpenSimulator's filter uses `1 − |q·q'| < 1e-5`, which is 0.51°; a deviation
/// becomes noticeable at 2°.
pub const ROTATION_SIGNIFICANT_RAD: f32 = 0.008_727;

/// Camera movements below this are dropped, in metres: OpenSimulator's `VDELTA`.
pub const CAMERA_SIGNIFICANT_M: f32 = 0.01;

/// Differences of the camera's unit axes below this are dropped: OpenSimulator's `VDELTA`, 0.57° on a unit vector.
pub const AXIS_SIGNIFICANT: f32 = 0.01;

/// Changes of the draw distance below this are dropped, in metres: the edge of an interest cell.
pub const FAR_SIGNIFICANT_M: f32 = 16.0;

/// `[gateway] agent_update_filter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterMode {
    /// Every update counts. For experiments.
    Off,
    /// Only exact repetitions are dropped. For experiments.
    Equality,
    /// Insignificant differences are dropped.
    #[default]
    Significance,
}

/// Results of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterVerdict {
    /// No visible difference.
    Dropped,
    /// Only the view is different: the gateway's business, not the world's.
    View,
    /// The world has to know.
    Control,
}

/// The last accepted update of a circuit.
#[derive(Clone, Debug, Default)]
pub struct UpdateFilter {
    accepted: Option<Accepted>,
}

#[derive(Clone, Debug)]
struct Accepted {
    body_rotation: Quat,
    camera_center: Vec3,
    camera_at_axis: Vec3,
    camera_left_axis: Vec3,
    camera_up_axis: Vec3,
    head_rotation: Quat,
    far: f32,
    control_flags: u32,
    state: u8,
    flags: u8,
}

impl UpdateFilter {
    /// Judges an update without accepting it.
    #[must_use]
    pub fn classify(&self, mode: FilterMode, update: &AgentUpdateAgentData) -> FilterVerdict {
        let Some(last) = &self.accepted else { return FilterVerdict::Control };
        match mode {
            FilterMode::Off => FilterVerdict::Control,
            FilterMode::Equality if last.steers_exactly_as(update) => {
                if last.looks_exactly_as(update) {
                    FilterVerdict::Dropped
                } else {
                    FilterVerdict::View
                }
            }
            FilterMode::Significance if last.steers_as(update) => {
                if last.looks_as(update) {
                    FilterVerdict::Dropped
                } else {
                    FilterVerdict::View
                }
            }
            FilterMode::Equality | FilterMode::Significance => FilterVerdict::Control,
        }
    }

    /// Makes an update the one that later ones are compared with, as far as its verdict passes it on: otherwise a slow turn of the body
    /// beside a moving camera would never reach the world.
    pub fn accept(&mut self, verdict: FilterVerdict, update: &AgentUpdateAgentData) {
        let body_rotation = match (&self.accepted, verdict) {
            (_, FilterVerdict::Dropped) => return,
            (Some(last), FilterVerdict::View) => last.body_rotation,
            (_, FilterVerdict::Control) | (None, FilterVerdict::View) => update.body_rotation,
        };
        self.accepted = Some(Accepted {
            body_rotation,
            camera_center: update.camera_center,
            camera_at_axis: update.camera_at_axis,
            camera_left_axis: update.camera_left_axis,
            camera_up_axis: update.camera_up_axis,
            head_rotation: update.head_rotation,
            far: update.far,
            control_flags: update.control_flags,
            state: update.state,
            flags: update.flags,
        });
    }
}

impl Accepted {
    fn same_keys(&self, update: &AgentUpdateAgentData) -> bool {
        self.control_flags == update.control_flags && self.state == update.state && self.flags == update.flags
    }

    fn steers_as(&self, update: &AgentUpdateAgentData) -> bool {
        self.same_keys(update) && same_rotation(self.body_rotation, update.body_rotation)
    }

    fn steers_exactly_as(&self, update: &AgentUpdateAgentData) -> bool {
        self.same_keys(update) && self.body_rotation == update.body_rotation
    }

    fn looks_as(&self, update: &AgentUpdateAgentData) -> bool {
        let near = |a: Vec3, b: Vec3, most: f32| (a - b).abs().max_element() <= most;
        near(self.camera_center, update.camera_center, CAMERA_SIGNIFICANT_M)
            && near(self.camera_at_axis, update.camera_at_axis, AXIS_SIGNIFICANT)
            && near(self.camera_up_axis, update.camera_up_axis, AXIS_SIGNIFICANT)
            && same_rotation(self.head_rotation, update.head_rotation)
            && (self.far - update.far).abs() < FAR_SIGNIFICANT_M
    }

    fn looks_exactly_as(&self, update: &AgentUpdateAgentData) -> bool {
        self.camera_center == update.camera_center
            && self.camera_at_axis == update.camera_at_axis
            && self.camera_left_axis == update.camera_left_axis
            && self.camera_up_axis == update.camera_up_axis
            && self.head_rotation == update.head_rotation
            && self.far == update.far
    }
}

/// True if two unit quaternions are equal within [`ROTATION_SIGNIFICANT_RAD`]. Compares the vector part of the difference, sin(θ/2) ≈
/// θ/2: the cosine of so small an angle has too few digits left in 32 bits.
fn same_rotation(a: Quat, b: Quat) -> bool {
    const HALF_ANGLE_SQUARED: f32 = (ROTATION_SIGNIFICANT_RAD / 2.0) * (ROTATION_SIGNIFICANT_RAD / 2.0);
    let difference = a.conjugate() * b;
    difference.xyz().length_squared() <= HALF_ANGLE_SQUARED
}

#[cfg(test)]
mod tests;
