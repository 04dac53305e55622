//! Touches of objects: a click with its begin and its end, and the way of the pointer between.

use glam::{Vec2, Vec3};
use ids::{AgentId, LocalId, SessionKey};
use serde::{Deserialize, Serialize};

/// Part of a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TouchPhase {
    /// The button went down.
    Began,
    /// It is held.
    Held,
    /// It went up.
    Ended,
}

/// Point of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurfacePoint {
    /// Number of the face, as viewers count.
    pub face: u8,
    /// Texture coordinates; −1 for both where they are not known.
    pub uv: Vec2,
    /// Coordinates on the face, 0 to 1 from its lower left corner; −1 for both where they are not known.
    pub st: Vec2,
    /// Metres from the region's corner.
    pub position: Vec3,
    /// Unit vector out of the object.
    pub normal: Vec3,
    /// Unit vector along the face; zero where it is not known.
    pub binormal: Vec3,
}

/// A touch as a client sends it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TouchCommand {
    /// The prim.
    pub object: LocalId,
    /// Begin, way or end.
    pub phase: TouchPhase,
    /// Point that was gripped, from the prim's position, metres.
    pub offset: Vec3,
    /// The surface under the pointer, if the client knows it.
    pub surface: Option<SurfacePoint>,
}

/// A touch of a prim that is there, for its scripts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Touch {
    /// Session of the avatar.
    pub session: SessionKey,
    /// Its account.
    pub agent: AgentId,
    /// The prim.
    pub object: LocalId,
    /// Root of its linkset.
    pub root: LocalId,
    /// Begin, way or end.
    pub phase: TouchPhase,
    /// Point that was gripped, from the prim's position, metres.
    pub offset: Vec3,
    /// The touched surface: the client's, or the one that a ray from the avatar's eyes to the gripped point meets.
    pub surface: Option<SurfacePoint>,
}
