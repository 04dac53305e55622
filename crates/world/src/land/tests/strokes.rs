//! The heights that brushes leave, against their formulas.

use super::scene::*;
use link::{Brush, EstateEdit, GroundEdit, LandEdit, LandRefusal, StrokeArea, Terrain, WaterAndLimits};

fn height(scene: &Scene, x: u32, y: u32) -> f32 {
    scene.ground().heights()[(y * scene.ground().size_m() + x) as usize]
}

/// Difference from the flat ground.
fn raised(scene: &Scene, x: u32, y: u32) -> f32 {
    height(scene, x, y) - GROUND_M
}

fn near(value: f32, expected: f32) -> bool {
    (value - expected).abs() < 1e-4
}

#[test]
fn a_raised_disc_is_a_cosine_of_its_radius() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, stroke(Brush::Raise, disc(100.0, 60.0, 4.0), 0.5)).unwrap();
    assert!(near(raised(&scene, 100, 60), 0.5));
    assert!(near(raised(&scene, 102, 60), 0.5 * libm::cosf(std::f32::consts::FRAC_PI_4)));
    assert!([(104, 60), (96, 60), (103, 63), (100, 65)].iter().all(|&(x, y)| raised(&scene, x, y) == 0.0));
    scene.edit(OWNER, stroke(Brush::Lower, disc(100.0, 60.0, 4.0), 0.25)).unwrap();
    assert!(near(raised(&scene, 100, 60), 0.25));
}

#[test]
fn lowered_ground_ends_at_zero_metres() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, stroke(Brush::Lower, disc(50.0, 50.0, 2.0), 50.0)).unwrap();
    assert_eq!(height(&scene, 50, 50), 0.0);
    let mut deep = Scene::of(Terrain::flat(256, -30.0));
    deep.edit(OWNER, stroke(Brush::Lower, disc(50.0, 50.0, 2.0), 5.0)).unwrap();
    assert_eq!(height(&deep, 50, 50), -30.0, "ground below zero is not raised");
}

#[test]
fn a_flattened_disc_leads_to_the_height() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, stroke_to(Brush::Flatten, disc(100.0, 60.0, 4.0), 0.5, 31.0)).unwrap();
    assert!(near(raised(&scene, 100, 60), 5.0));
    assert!(near(raised(&scene, 104, 60), 10.0 * 0.5 * 0.5), "half as much at the rim");
    assert_eq!(raised(&scene, 104, 64), 0.0, "nothing at the corner of its square");
    scene.edit(OWNER, stroke_to(Brush::Flatten, disc(100.0, 60.0, 4.0), 9.0, 31.0)).unwrap();
    assert_eq!(height(&scene, 100, 60), 31.0, "the height itself, without rounding");
}

#[test]
fn a_smoothed_disc_leads_to_the_mean_of_its_surroundings() {
    for (radius, reach) in [(1.0, 1), (2.0, 2), (4.0, 4), (11.0, 4)] {
        let mut scene = Scene::of(Terrain::hills(256, 9));
        // Both inside and at the corner of the region, where a part of the surroundings is missing.
        for (x, y) in [(200_u32, 37_u32), (0, 0), (255, 128)] {
            let around = |at: u32| at.saturating_sub(reach)..=(at + reach).min(255);
            let samples: Vec<f32> = around(y)
                .flat_map(|y| around(x).map(move |x| (x, y)))
                .map(|(x, y)| height(&scene, x, y))
                .collect();
            let mean = samples.iter().sum::<f32>() / samples.len() as f32;
            scene.edit(OWNER, stroke(Brush::Smooth, disc(x as f32, y as f32, radius), 1.0)).unwrap();
            assert!(
                (height(&scene, x, y) - mean).abs() < 1e-3,
                "{} for {mean} at {x}, {y}",
                height(&scene, x, y)
            );
        }
    }
}

#[test]
fn a_smoothed_rectangle_approaches_the_mean_of_each_sample() {
    let mut scene = Scene::of(Terrain::hills(256, 9));
    let before = scene.ground().clone();
    let whole = StrokeArea::Rect(rect(0.0, 0.0, 256.0, 256.0));
    scene.edit(OWNER, stroke(Brush::Smooth, whole, 100.0)).unwrap();
    for (x, y) in [(0_u32, 0_u32), (7, 250), (128, 31), (255, 255), (254, 3)] {
        let around = |at: u32| at.saturating_sub(4)..=(at + 4).min(255);
        let sample = |x: u32, y: u32| before.heights()[(y * 256 + x) as usize];
        let samples: Vec<f32> = around(y).flat_map(|y| around(x).map(move |x| sample(x, y))).collect();
        let mean = samples.iter().sum::<f32>() / samples.len() as f32;
        let expected = sample(x, y) + (mean - sample(x, y)) * 0.2;
        assert!((height(&scene, x, y) - expected).abs() < 1e-3, "at {x}, {y}");
    }
}

#[test]
fn noise_differs_from_stroke_to_stroke_and_not_from_world_to_world() {
    let noise = || stroke(Brush::Noise, disc(100.0, 60.0, 6.0), 0.5);
    let run = |mut scene: Scene| {
        scene.edit(OWNER, noise()).unwrap();
        let first: Vec<f32> = (95..105).map(|x| raised(&scene, x, 60)).collect();
        scene.edit(OWNER, noise()).unwrap();
        let second: Vec<f32> =
            (95..105).map(|x| raised(&scene, x, 60)).zip(&first).map(|(both, one)| both - one).collect();
        (first, second)
    };
    let (first, second) = run(Scene::flat());
    assert!(first.iter().chain(&second).all(|height| height.abs() <= 0.5 + 1e-4));
    assert!(first.iter().any(|&height| height != 0.0));
    assert_ne!(first, second);
    assert_eq!((first, second), run(Scene::flat()));
}

#[test]
fn reverted_ground_is_the_baked_one() {
    let mut scene = Scene::of(Terrain::hills(256, 9));
    let baked = scene.ground().clone();
    let area = StrokeArea::Rect(rect(10.0, 10.0, 60.0, 30.0));
    scene.edit(OWNER, stroke(Brush::Raise, area, 3.0)).unwrap();
    scene.edit(OWNER, stroke(Brush::Revert, disc(30.0, 20.0, 4.0), 0.5)).unwrap();
    assert!(near(height(&scene, 30, 20), baked.height(30.0, 20.0) + 1.5));
    scene.edit(OWNER, stroke(Brush::Revert, area, 0.5)).unwrap();
    assert!(*scene.ground() == baked);
    // The frame that reports it has the patches, and the state has none.
    assert!(!scene.frame.ground.is_empty() && scene.land().stored().ground.is_empty());
}

#[test]
fn rectangles_and_parcels_are_edited_evenly() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, stroke(Brush::Raise, StrokeArea::Rect(rect(9.5, 20.0, 12.0, 21.9)), 2.0)).unwrap();
    let inside = [(10, 20), (12, 20), (12, 21)].map(|(x, y)| raised(&scene, x, y));
    let outside = [(9, 20), (13, 20), (10, 19), (10, 22)].map(|(x, y)| raised(&scene, x, y));
    assert_eq!((inside, outside), ([2.0; 3], [0.0; 4]));
    let number = scene.divide_for(OWNER, rect(64.0, 64.0, 72.0, 68.0));
    scene.edit(OWNER, stroke(Brush::Raise, StrokeArea::Parcel(number), 1.0)).unwrap();
    let inside = [(64, 64), (71, 67), (71, 64)].map(|(x, y)| raised(&scene, x, y));
    let outside = [(63, 64), (72, 67), (64, 68)].map(|(x, y)| raised(&scene, x, y));
    assert_eq!((inside, outside), ([1.0; 3], [0.0; 3]));
    let half = stroke_to(Brush::Flatten, StrokeArea::Parcel(number), 12.5, 32.0);
    scene.edit(OWNER, half).unwrap();
    assert!(near(raised(&scene, 66, 66), 6.0), "0.04 a second");
}

#[test]
fn edits_end_at_the_limits_of_the_estate_but_for_operators() {
    let mut scene = Scene::flat();
    let at = disc(40.0, 40.0, 3.0);
    scene.edit(OWNER, stroke(Brush::Raise, at, 900.0)).unwrap();
    assert_eq!(raised(&scene, 40, 40), 100.0);
    let levels = WaterAndLimits { water_m: 20.0, raise_m: 4.0, lower_m: 2.0 };
    scene.edit(OWNER, LandEdit::Estate(EstateEdit::Levels(levels))).unwrap();
    scene.edit(OWNER, stroke(Brush::Raise, at, 1.0)).unwrap();
    assert_eq!(raised(&scene, 40, 40), 100.0, "higher than the limit already: no higher");
    scene.edit(OWNER, stroke(Brush::Lower, at, 1.0)).unwrap();
    assert_eq!(raised(&scene, 40, 40), 99.0, "and not down to the limit at once");
    scene.edit(MANAGER, stroke(Brush::Lower, disc(80.0, 40.0, 3.0), 9.0)).unwrap();
    assert_eq!(raised(&scene, 80, 40), -2.0);
    scene.edit_as_operator(stroke(Brush::Raise, disc(120.0, 40.0, 3.0), 500.0)).unwrap();
    assert_eq!(raised(&scene, 120, 40), 500.0);
    scene.edit_as_operator(stroke_to(Brush::Flatten, disc(120.0, 40.0, 3.0), 9.0, 9e9)).unwrap();
    assert_eq!(height(&scene, 120, 40), Terrain::HEIGHT_MAX_M);
}

#[test]
fn baked_ground_is_the_middle_of_the_limits() {
    let mut scene = Scene::flat();
    let (at, levels) = (disc(40.0, 40.0, 3.0), WaterAndLimits { water_m: 20.0, raise_m: 4.0, lower_m: 2.0 });
    scene.edit(OWNER, LandEdit::Estate(EstateEdit::Levels(levels))).unwrap();
    scene.edit(OWNER, stroke(Brush::Raise, at, 9.0)).unwrap();
    assert_eq!(scene.edit(ADA, LandEdit::Ground(GroundEdit::Bake)), Err(LandRefusal::NotPermitted));
    scene.edit(MANAGER, LandEdit::Ground(GroundEdit::Bake)).unwrap();
    scene.edit(OWNER, stroke(Brush::Raise, at, 9.0)).unwrap();
    assert_eq!(raised(&scene, 40, 40), 8.0);
    scene.edit(OWNER, stroke(Brush::Revert, at, 1.0)).unwrap();
    assert_eq!(raised(&scene, 40, 40), 4.0);
}

#[test]
fn strokes_that_are_impossible_or_outside_change_nothing() {
    let mut scene = Scene::flat();
    let ground = scene.ground().clone();
    let nan = f32::NAN;
    let at = disc(9.0, 9.0, 2.0);
    let raise = |area| stroke(Brush::Raise, area, 1.0);
    for (edit, reason) in [
        (stroke(Brush::Raise, at, nan), LandRefusal::Malformed),
        (stroke(Brush::Raise, at, f32::INFINITY), LandRefusal::Malformed),
        (stroke_to(Brush::Flatten, at, 1.0, nan), LandRefusal::Malformed),
        (raise(disc(nan, 9.0, 2.0)), LandRefusal::Malformed),
        (raise(disc(9.0, 9.0, nan)), LandRefusal::Malformed),
        (raise(disc(9.0, f32::NEG_INFINITY, 2.0)), LandRefusal::Malformed),
        (raise(disc(-9.0, 9.0, 2.0)), LandRefusal::NoArea),
        (raise(disc(9.0, 1e30, 2.0)), LandRefusal::NoArea),
        (raise(StrokeArea::Rect(rect(nan, 0.0, 9.0, 9.0))), LandRefusal::Malformed),
        (raise(StrokeArea::Rect(rect(9.0, 9.0, 5.0, 5.0))), LandRefusal::NoArea),
        (raise(StrokeArea::Rect(rect(300.0, 0.0, 400.0, 9.0))), LandRefusal::NoArea),
        (raise(StrokeArea::Parcel(link::ParcelNumber(99))), LandRefusal::UnknownParcel),
    ] {
        assert_eq!(scene.edit(OWNER, edit.clone()), Err(reason), "{edit:?}");
    }
    assert!(*scene.ground() == ground && scene.frame.ground.is_empty());
    // Beyond the range they are clamped.
    for edit in [raise(disc(9.0, 9.0, -1.0)), raise(disc(200.0, 200.0, 1e30)), stroke(Brush::Lower, at, -5.0)]
    {
        assert_eq!(scene.edit(OWNER, edit), Ok(()));
    }
    assert!(raised(&scene, 9, 9) > 0.9 && raised(&scene, 200, 200) > 0.9);
    assert!(near(raised(&scene, 200, 140), libm::cosf(std::f32::consts::FRAC_PI_2 * 60.0 / 64.0)));
}

#[test]
fn a_disc_across_the_border_is_cut_off() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, stroke(Brush::Raise, disc(0.0, 255.0, 4.0), 1.0)).unwrap();
    assert!(near(raised(&scene, 0, 255), 1.0) && raised(&scene, 3, 255) > 0.0);
    assert_eq!(scene.ground().height(-5.0, 300.0), height(&scene, 0, 255));
}
