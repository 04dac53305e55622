//! Where one can walk, how one gets there, who is in the way, what one sees; and how NPCs decide and what they notice.
//!
//! The geometric half knows meshes and points: [`NavMesh::build`] makes a mesh from [`Ground`] and [`Solids`], a [`PathFinder`] searches
//! it, a [`Follower`] walks a path, [`crowd`] keeps walkers apart, [`Sight`] says what is hidden. The thinking half knows neither:
//! [`behavior`] has behaviours as text, checked when they are loaded, and [`behavior::Mind`], which follows one; [`senses`] has
//! what an NPC sees and hears, and how often it looks and thinks. A world joins the halves: it owns the NPCs, says what time it
//! is, and carries out what they intend.
//!
//! All of it is a function of its arguments: nothing here reads a clock, draws a number or iterates a hash map, budgets
//! count polygons and nodes and never milliseconds.

pub mod behavior;
mod build;
pub mod crowd;
mod follow;
mod ground;
mod mesh;
mod path;
pub mod senses;
mod sight;
mod solids;

pub use build::{BuildError, Walker};
pub use follow::{Follower, GIVE_UP_S, Pace, Status};
pub use ground::{Ground, GroundError};
pub use mesh::{CELL_M, DecodeError, NavMesh, PolyRef, Ray, Slid, Spot, TILE_M, TOLERANCE_M};
pub use path::{CORNERS_MAX, End, NODES_MAX, Path, PathFinder, Search};
pub use sight::Sight;
pub use solids::{Solid, Solids, SolidsError};
