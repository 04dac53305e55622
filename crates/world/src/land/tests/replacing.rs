//! Land as a whole in place of the present one.

use super::scene::*;
use ids::{AgentId, Uuid};
use link::{
    Estate, GroundPatch, LandChange, LandEdit, LandRefusal, LandReplacement, LandState, PATCH_SAMPLES,
    Parcel, ParcelNumber, ReplacedGround, ReplacedParcels, StoredLand,
};
use std::sync::Arc;

fn replace(new: LandReplacement) -> LandEdit {
    LandEdit::Replace(Box::new(new))
}

/// Two parcels: a strip in the west, and the rest.
fn two_parcels() -> ReplacedParcels {
    let parcel = |number: u16, n_squares| {
        let id = Uuid::from_u128(0x50 + u128::from(number));
        Arc::new(Parcel { n_squares, ..Parcel::new(ParcelNumber(number), id, Some(agent(ADA)), 5) })
    };
    let squares = (0..64 * 64).map(|n| ParcelNumber(if n % 64 < 16 { 7 } else { 9 })).collect();
    ReplacedParcels { parcels: vec![parcel(7, 16 * 64), parcel(9, 48 * 64)], squares }
}

fn patch(column: u8, height: f32) -> GroundPatch {
    GroundPatch::new(column, 0, [height; PATCH_SAMPLES]).expect("a height")
}

fn other_land() -> LandReplacement {
    let estate = Estate::new("Dales", Some(agent(EVE)), 30.0);
    let ground = ReplacedGround { patches: vec![patch(0, 40.0), patch(1, 41.0)], baked: vec![patch(1, 9.0)] };
    LandReplacement { parcels: Some(two_parcels()), estate: Some(Arc::new(estate)), ground: Some(ground) }
}

/// The replacement that leads back to stored land.
fn back_to(former: &StoredLand) -> LandReplacement {
    let LandState { parcels, squares, estate } = former.state.clone();
    LandReplacement {
        parcels: Some(ReplacedParcels { parcels, squares }),
        estate: Some(estate),
        ground: Some(ReplacedGround { patches: former.ground.clone(), baked: former.baked.clone() }),
    }
}

#[test]
fn all_parts_of_the_land_are_replaced_in_one_step_and_back() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, stroke(link::Brush::Raise, disc(128.0, 128.0, 8.0), 1.0)).expect("the owner's land");
    let former = scene.land().stored();
    assert_eq!(scene.edit_as_operator(replace(other_land())), Ok(()));
    assert!(matches!(scene.frame.land[..], [LandChange::Whole(_), LandChange::Baked(_)]));
    let numbers = [(10.0, 200.0), (100.0, 10.0)].map(|(x, y)| scene.number_at(x, y));
    assert_eq!(numbers, [ParcelNumber(7), ParcelNumber(9)]);
    assert_eq!(scene.parcel(7).owner, Some(agent(ADA)));
    assert_eq!((&*scene.land().estate().name, scene.world.setting.ground.water_m), ("Dales", 30.0));
    let ground = scene.ground();
    let heights = [(8.0, 8.0), (20.0, 8.0), (40.0, 8.0), (128.0, 128.0)].map(|(x, y)| ground.height(x, y));
    assert_eq!(heights, [40.0, 41.0, GROUND_M, GROUND_M], "edits of the former ground are gone");
    assert_eq!(scene.land().baked_patches(), [patch(1, 9.0)]);

    assert_eq!(scene.edit_as_operator(replace(back_to(&former))), Ok(()));
    let again = scene.land().stored();
    assert_eq!((again.state, again.ground, again.baked), (former.state, former.ground, former.baked));
}

#[test]
fn parts_that_a_replacement_lacks_stay() {
    let mut scene = Scene::flat();
    let former = scene.land().stored();
    let parcels = LandReplacement { parcels: Some(two_parcels()), ..LandReplacement::default() };
    assert_eq!(scene.edit_as_operator(replace(parcels)), Ok(()));
    let now = scene.land().stored();
    assert_eq!((now.state.parcels.len(), now.ground, &now.state.estate), (2, vec![], &former.state.estate));
    let estate = Estate { name: "Dales".into(), ..Estate::clone(&former.state.estate) };
    let estate = LandReplacement { estate: Some(Arc::new(estate)), ..LandReplacement::default() };
    assert_eq!(scene.edit_as_operator(replace(estate)), Ok(()));
    assert_eq!(scene.land().stored().state.parcels, now.state.parcels);
    assert!(LandReplacement::default().is_empty() && !other_land().is_empty());
    assert_eq!(scene.edit_as_operator(replace(LandReplacement::default())), Ok(()));
}

#[test]
fn impossible_land_is_refused_and_nothing_changes() {
    let mut scene = Scene::flat();
    let former = scene.land().stored();
    assert_eq!(scene.edit(OWNER, replace(other_land())), Err(LandRefusal::NotPermitted));
    type Spoil = fn(&mut LandReplacement);
    let spoilt: [Spoil; 6] = [
        |new| new.parcels.as_mut().expect("parcels").squares = vec![ParcelNumber(7); 64 * 64].into(),
        |new| new.parcels.as_mut().expect("parcels").squares = vec![ParcelNumber(7); 9].into(),
        |new| new.parcels.as_mut().expect("parcels").parcels.reverse(),
        |new| Arc::make_mut(new.estate.as_mut().expect("an estate")).owner = Some(AgentId(Uuid::nil())),
        |new| new.ground.as_mut().expect("a ground").patches.push(patch(16, 1.0)),
        |new| new.ground.as_mut().expect("a ground").baked.push(patch(2, GROUND_M)),
    ];
    for (case, spoil) in spoilt.iter().enumerate() {
        let mut new = other_land();
        spoil(&mut new);
        assert_eq!(scene.edit_as_operator(replace(new)), Err(LandRefusal::Malformed), "case {case}");
        let now = scene.land().stored();
        assert_eq!((&now.state, &now.ground, &now.baked), (&former.state, &former.ground, &former.baked));
    }
}
