//! Collisions: the solid form of prims, a store of colliders, and avatars that move among them.
//!
//! Four layers, each of which uses the ones before. [`ShapeCache`] turns the parameters of a prim into a [`Geometry`], in units of its scale.
//! [`Colliders`] holds the prims of a region by local id and answers queries around a box and along a ray. [`step_avatar`] moves one avatar, an upright
//! cylinder, by one displacement: it climbs steps, slides along walls and stands on tops. [`Dynamics`] moves linksets that fall, collide and rest.
//!
//! Everything is deterministic: equal calls give equal bits on every machine. There is no clock, no randomness and no dependence on the order
//! in which colliders came.

mod bounds;
mod colliders;
mod dynamics;
mod mover;
mod shape;

pub use bounds::{Aabb, OrientedBox};
pub use colliders::{ColliderError, ColliderKind, Colliders, Placement, RayHit};
pub use dynamics::{
    BodyMotion, BodyPart, BodyPlan, Dynamics, DynamicsError, DynamicsSettings, GRAVITY_M_PER_S2,
    Neighbourhood, Outcome, PrimSurface, StopReason,
};
pub use mover::{
    AvatarStep, Cylinder, Gait, Moved, Obstruction, PIECE_SHARE, STEP_UP_M, Support, Surroundings,
    step_avatar,
};
pub use shape::{Geometry, ShapeCache, SolidForm, SolidMesh, TRIANGLES_MAX};
