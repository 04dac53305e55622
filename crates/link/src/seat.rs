//! Seats of avatars on linksets, and requests for them.

use glam::{Quat, Vec3};
use ids::LocalId;
use serde::{Deserialize, Serialize};

/// Place of an avatar that sits on a linkset. It moves as the root does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    /// Root of the linkset; `ParentID` of the avatar in messages.
    pub parent: LocalId,
    /// The avatar's centre from the root, along the root's axes, metres.
    pub position: Vec3,
    /// Its rotation against the root's, a unit quaternion.
    pub rotation: Quat,
}

/// Reasons for which an avatar does not sit down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SitRefusal {
    /// The object is gone, or it is worn.
    Unknown,
    /// It is out of reach.
    Far,
}
