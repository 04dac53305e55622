use super::*;
use proptest::prelude::*;

fn upright(centre: Vec3, size: Vec3) -> Solid {
    Solid { centre, rotation: Quat::IDENTITY, size }
}

#[test]
fn boxes_that_cannot_be_are_refused_by_index() {
    let good = upright(Vec3::ONE, Vec3::ONE);
    let lost = upright(Vec3::NAN, Vec3::ONE);
    assert_eq!(Solids::new(64, &[good, lost]), Err(SolidsError::NotANumber(1)));
    let skewed = Solid { rotation: Quat::from_xyzw(0.0, 0.0, 0.0, 2.0), ..good };
    assert_eq!(Solids::new(64, &[skewed]), Err(SolidsError::NotANumber(0)));
    let many = vec![good; Solids::COUNT_MAX + 1];
    assert_eq!(Solids::new(64, &many), Err(SolidsError::TooMany(many.len())));
}

#[test]
fn a_stride_visits_the_cells_under_a_segment_in_order() {
    let mut stride = Stride::new(Vec2::new(0.5, 0.5), Vec2::new(2.5, 1.6), 1.0);
    let mut cells = vec![stride.cell()];
    while stride.advance() {
        cells.push(stride.cell());
    }
    assert_eq!(cells, [(0, 0), (1, 0), (1, 1), (2, 1)]);
    let nowhere = Stride::new(Vec2::NAN, Vec2::NAN, 1.0);
    assert_eq!(nowhere.left, 0);
}

fn place() -> impl Strategy<Value = Vec3> {
    (-10.0f32..80.0, -10.0f32..80.0, 0.0f32..6.0).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

fn solid() -> impl Strategy<Value = Solid> {
    let size = prop_oneof![(0.1f32..2.0), (0.1f32..40.0)];
    (place(), size.clone(), size, 0.1f32..3.0, -3.0f32..3.0, -1.0f32..1.0).prop_map(
        |(centre, x, y, z, yaw, pitch)| Solid {
            centre,
            rotation: (Quat::from_rotation_z(yaw) * Quat::from_rotation_x(pitch)).normalize(),
            size: Vec3::new(x, y, z),
        },
    )
}

proptest! {
    #[test]
    fn the_grid_forgets_no_box(
        solids in prop::collection::vec(solid(), 0..40), from in place(), to in place(),
    ) {
        let solids = Solids::new(64, &solids).unwrap();
        // Boxes beyond the region are in no cell.
        let inside = |v: Vec3| v.clamp(Vec3::new(0.0, 0.0, -9.0), Vec3::new(63.9, 63.9, 99.0));
        let (from, to) = (inside(from), inside(to));
        let by_hand = solids.shapes.iter().all(|shape| !shape.meets(from, to));
        prop_assert_eq!(solids.is_clear(from, to), by_hand);
    }

    #[test]
    fn a_segment_meets_what_a_dense_row_of_points_is_in(solid in solid(), from in place(), to in place()) {
        let shape = Shape::new(&solid);
        let is_inside = |at: Vec3| {
            let rel = at - shape.centre;
            shape.axes.iter().zip(shape.half.to_array()).all(|(axis, half)| axis.dot(rel).abs() < half)
        };
        if (0..=400).any(|n| is_inside(from.lerp(to, n as f32 / 400.0))) {
            prop_assert!(shape.meets(from, to));
        }
    }
}
