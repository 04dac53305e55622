use super::*;
use crate::{Solid, Solids, WalkerSize};
use glam::{Quat, Vec3};
use proptest::prelude::*;
use std::sync::LazyLock;

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let heights = vec![20.0; 40 * 40];
    let block = |x: f32, height: f32| Solid {
        centre: Vec3::new(x, 20.0, 20.0),
        rotation: Quat::from_rotation_z(x),
        size: Vec3::new(3.0, 5.0, 2.0 * height),
    };
    let solids = Solids::new(40, &[block(5.0, 2.0), block(30.0, 0.3), block(34.0, 0.5)]).unwrap();
    let ground = GroundHeights::new(40, &heights).unwrap();
    NavMesh::build(ground, &solids, &WalkerSize::default(), &mut || true).unwrap().to_bytes()
});

/// The same bytes with a valid checksum, so that the checks behind it run.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= HEADER_BYTES {
        let size_m = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
        let sum = seal(size_m, &bytes[HEADER_BYTES..]);
        bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

fn middle(poly: &Poly) -> Vec2 {
    (0..poly.len()).map(|place| poly.corner(place)).sum::<Vec2>() / poly.len() as f32
}

#[test]
fn a_mesh_comes_back_as_it_went() {
    let mesh = NavMesh::from_bytes(&BYTES).unwrap();
    assert_eq!(mesh.to_bytes(), *BYTES);
    assert!(mesh.poly_count() > 10);
}

#[test]
fn a_flipped_bit_is_noticed() {
    for at in 0..BYTES.len() {
        let mut bytes = BYTES.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(NavMesh::from_bytes(&bytes).is_err(), "byte {at}");
    }
    assert_eq!(NavMesh::from_bytes(&BYTES[..10]), Err(DecodeError::Length(8)));
    assert_eq!(NavMesh::from_bytes(&[0; 40]), Err(DecodeError::Version));
    let longer = sealed([&BYTES[..], &[0]].concat());
    assert_eq!(NavMesh::from_bytes(&longer), Err(DecodeError::Length(BYTES.len())));
}

proptest! {
    #[test]
    fn damage_behind_the_checksum_is_an_error_or_a_mesh(
        changes in prop::collection::vec((0usize..1 << 16, any::<u8>()), 1..4), cut in 0usize..1 << 17,
    ) {
        let mut bytes = BYTES.clone();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(cut.max(HEADER_BYTES));
        if let Ok(mesh) = NavMesh::from_bytes(&sealed(bytes)) {
            for poly in mesh.polys() {
                let at = middle(mesh.poly(poly).unwrap()) / crate::mesh::CELLS_PER_M;
                let slid = mesh.slide(crate::MeshPoint { poly, at }, at + Vec2::new(7.0, 3.0));
                prop_assert!(mesh.holds(slid.spot));
            }
        }
    }
}
