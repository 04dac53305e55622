//! Geometry of walking: meshes, paths, steering, collision shapes, lines of sight.
//!
//! [`NavMesh::build`] makes a mesh from [`Ground`] and [`Solids`], a [`PathFinder`] searches it, a [`Follower`] walks a path,
//! [`crowd`] keeps walkers apart, [`Sight`] tests lines of sight. Decisions, NPCs and their senses are not here but in `behavior`;
//! a world joins the two.
//!
//! All of it is a function of its arguments: nothing here reads a clock, draws a number or iterates a hash map, budgets
//! count polygons and nodes and never milliseconds.

mod build;
pub mod crowd;
mod follow;
mod ground;
mod mesh;
mod path;
mod sight;
mod solids;

pub use build::{BuildError, Walker};
pub use follow::{Follower, GIVE_UP_S, Status, WalkStep};
pub use ground::{Ground, GroundError};
pub use mesh::{CELL_M, DecodeError, NavMesh, PolyRef, Ray, Slid, Spot, TILE_M, TOLERANCE_M};
pub use path::{CORNERS_MAX, End, NODES_MAX, Path, PathFinder, Search};
pub use sight::Sight;
pub use solids::{Solid, Solids, SolidsError};
