//! Geometry of walking: meshes, paths, steering, collision shapes, lines of sight.
//!
//! [`NavMesh::build`] makes a mesh from [`GroundHeights`] and [`Solids`], a [`PathFinder`] searches it, a [`PathFollower`] walks a path,
//! [`crowd`] keeps walkers apart, [`SightObstacles`] tests lines of sight. Decisions, NPCs and their senses are not here but in `behavior`;
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

pub use build::{BuildError, WalkerSize};
pub use follow::{GIVE_UP_S, PathFollower, Status, WalkStep};
pub use ground::{GroundError, GroundHeights};
pub use mesh::{CELL_M, DecodeError, MeshPoint, NavMesh, PolyRef, Ray, Slid, TILE_M, TOLERANCE_M};
pub use path::{CORNERS_MAX, NODES_MAX, Path, PathEnd, PathFinder, PathSearch};
pub use sight::SightObstacles;
pub use solids::{Solid, Solids, SolidsError};
