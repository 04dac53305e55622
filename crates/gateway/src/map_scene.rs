//! A world as it is drawn on the map at the moment.

use crate::land::water_m;
use crate::places::Scene;
use crate::region_map::MapScene;

/// The world of a scene with all that users have changed. Far quicker than its picture.
#[must_use]
pub fn present(scene: &Scene) -> MapScene {
    let replica = scene.feed.current();
    MapScene::described(scene.ground.spec()).with(&replica, water_m(&scene.ground, &replica))
}
