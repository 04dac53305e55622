//! A damaged mesh: one that decodes can be walked on and searched. (With `cfg(fuzzing)` the checksum is not compared.)
#![no_main]

use glam::Vec2;
use libfuzzer_sys::fuzz_target;
use nav::{NavMesh, Path, PathFinder};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mesh) = NavMesh::from_bytes(bytes) else { return };
    assert_eq!(NavMesh::from_bytes(&mesh.to_bytes()).as_ref(), Ok(&mesh));
    let spots: Vec<nav::MeshPoint> = mesh
        .polys()
        .take(20)
        .filter_map(|poly| Some(nav::MeshPoint { poly, at: mesh.outline(poly).next()?.0 }))
        .collect();
    let (mut finder, mut path) = (PathFinder::new(), Path::EMPTY);
    for (&from, &to) in spots.iter().zip(spots.iter().rev()) {
        assert!(mesh.holds(from));
        assert!(finder.find(&mesh, from, to, 100, &mut path).nodes <= 100);
        assert!(mesh.holds(mesh.slide(from, to.at + Vec2::splat(0.3)).spot));
    }
});
