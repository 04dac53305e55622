//! Writes the seed of the fuzz target `navmesh` anew, for when the format has changed:
//! `cargo run -p nav --example navmesh_seed -- fuzz/seeds/navmesh`.
//!
//! A mesh of two tiles with a wall, a step and a platform from which one can only come down: small, and with everything that the
//! format has.

use glam::{Quat, Vec3};
use nav::{GroundHeights, NavMesh, Solid, Solids, WalkerSize};
use std::{io, path::PathBuf};

fn main() -> io::Result<()> {
    let directory: PathBuf =
        std::env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: navmesh_seed DIRECTORY"))?.into();
    let size_m = 40;
    let heights = vec![20.0; size_m * size_m];
    let block =
        |x: f32, size: Vec3| Solid { centre: Vec3::new(x, 20.0, 20.0), rotation: Quat::IDENTITY, size };
    let solids = [
        block(5.0, Vec3::new(0.2, 20.0, 6.0)),
        block(15.0, Vec3::new(2.0, 2.0, 0.6)),
        block(25.0, Vec3::new(5.0, 5.0, 1.1)),
    ];
    let ground = GroundHeights::new(size_m as u32, &heights).map_err(io::Error::other)?;
    let solids = Solids::new(size_m as u32, &solids).map_err(io::Error::other)?;
    let mesh =
        NavMesh::build(ground, &solids, &WalkerSize::default(), &mut || true).map_err(io::Error::other)?;
    std::fs::write(directory.join("mesh"), mesh.to_bytes())
}
