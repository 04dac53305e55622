//! Pictures of regions on the map, drawn again after a region has changed.
//!
//! A region's objects, ground and water are compared with those of its picture every [`LOOK`]. It is drawn when it has not changed for
//! `region.map_after_s`, or has waited [`OVERDUE`] times as long since its first change. The first picture waits for nothing: a region that was loaded
//! is on the map when clients come, and does no work later. Long tasks draw, one at a time. A picture stays a texture
//! until there are two newer ones: clients may still ask for it.

use super::Clock;
use gateway::http::HttpState;
use gateway::map_scene;
use gateway::places::{Place, Scene};
use gateway::region_map::RegionMap;
use ids::{Instant, Uuid};
use schedule::long::LongTasks;
use std::sync::Arc;
use std::time::Duration;
use workplace::long;

/// Period of the comparison.
const LOOK: Duration = Duration::from_secs(1);
/// Patience with a region that goes on changing, in times of the one with a region that has come to rest.
const OVERDUE: u32 = 20;
/// Time that a picture without objects takes, and a prim's part.
const ESTIMATE: Duration = Duration::from_millis(100);
const ESTIMATE_OF_PRIM: Duration = Duration::from_micros(10);

/// Changes of a region so far: of its objects, of its ground, of its estate.
type Changes = (u64, u64, u64);

/// Those of a region as the configuration describes it.
const AS_DESCRIBED: Changes = (0, 0, 0);

/// Draws the pictures of all regions for as long as the server runs.
pub(super) struct MapPictures {
    pub(super) state: Arc<HttpState>,
    pub(super) long: LongTasks,
    pub(super) clock: Clock,
    /// `region.map_after_s` of each place.
    pub(super) settled: Vec<Duration>,
}

impl MapPictures {
    pub(super) async fn run(self) {
        let Self { state, long, clock, settled } = self;
        let mut regions: Vec<(Arc<Place>, Picture)> = state
            .places
            .iter()
            .zip(settled)
            .map(|(place, settled)| (Arc::clone(place), Picture::new(place.scene.map_image(), settled)))
            .collect();
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            look.tick().await;
            for (place, picture) in &mut regions {
                if picture.is_due(changes_of(&place.scene), clock()) {
                    picture.draw(place, &state, &long).await;
                }
            }
        }
    }
}

fn changes_of(scene: &Scene) -> Changes {
    let replica = scene.feed.current();
    let (ground, estate) = replica
        .land()
        .map_or((0, 0), |land| (land.ground().n_changes(), land.estate().map_or(0, |(_, changed)| changed)));
    (replica.objects().n_changes(), ground, estate)
}

/// State of a region's picture.
#[derive(Debug)]
struct Picture {
    settled: Duration,
    /// Changes that it shows, or that nothing has happened since.
    shown: Changes,
    /// The newest changes, with the times of the first one that is not shown and of the last one.
    newest: Changes,
    first: Instant,
    last: Instant,
    /// Its texture, and the one before it.
    textures: [Uuid; 2],
}

impl Picture {
    /// The picture of a region as it is described, with this texture.
    const fn new(texture: Uuid, settled: Duration) -> Self {
        let (first, last) = (Instant::ZERO, Instant::ZERO);
        Self {
            settled,
            shown: AS_DESCRIBED,
            newest: AS_DESCRIBED,
            first,
            last,
            textures: [texture, Uuid::nil()],
        }
    }

    /// Takes note of a region's changes; true if it is to be drawn now.
    fn is_due(&mut self, changes: Changes, now: Instant) -> bool {
        if changes != self.newest {
            if self.newest == self.shown {
                self.first = now;
            }
            (self.newest, self.last) = (changes, now);
        }
        let is_first = self.shown == AS_DESCRIBED;
        let is_settled = is_first || now.since(self.last) >= self.settled;
        let is_overdue = now.since(self.first) >= self.settled * OVERDUE;
        self.newest != self.shown && (is_settled || is_overdue)
    }

    /// Draws the region as it is now. A failure leaves the former picture until the next change.
    async fn draw(&mut self, place: &Place, state: &HttpState, tasks: &LongTasks) {
        self.shown = self.newest;
        let scene = Arc::clone(&place.scene);
        let n_prims = u32::try_from(scene.feed.current().objects().len()).unwrap_or(u32::MAX);
        let estimated = ESTIMATE + ESTIMATE_OF_PRIM * n_prims;
        let (tasks, spec) = (tasks.clone(), (long::DRAW_MAP, place.name().to_owned(), estimated));
        let work = move || long::run(&tasks, spec, move |_| RegionMap::draw(&map_scene::present(&scene)));
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(Ok(map))) => self.show(map, place, state),
            Ok(Ok(Err(error))) => {
                tracing::warn!(region = place.name(), %error, "the map keeps its former picture")
            }
            Ok(Err(error)) => {
                tracing::warn!(region = place.name(), %error, "the map keeps its former picture")
            }
            // The server ends.
            Err(_) => {}
        }
    }

    fn show(&mut self, map: RegionMap, place: &Place, state: &HttpState) {
        let [texture, former] = self.textures;
        if map.id == texture {
            return;
        }
        state.assets.show_picture(map.id, map.codestream.clone().into());
        state.assets.hide_picture(former);
        self.textures = [map.id, texture];
        place.scene.show_map(Arc::new(map));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_drawn_when_it_has_come_to_rest_and_now_and_then_before() {
        let mut picture = Picture::new(Uuid::nil(), Duration::from_secs(5));
        let mut drawn = Vec::new();
        // Nothing until 10 s; one change; none until 30 s; changes all the time until 250 s.
        for second in 0..300_u64 {
            let n_changes = match second {
                0..10 => 0,
                10..30 => 1,
                30..250 => second,
                _ => 250,
            };
            if picture.is_due((0, n_changes, 0), Instant(second * 1_000_000_000)) {
                drawn.push(second);
                picture.shown = picture.newest;
            }
        }
        // The first change is that of a load. Each change behind a picture begins the time of a hundred seconds anew.
        assert_eq!(drawn, [10, 130, 231, 255]);
    }

    #[test]
    fn a_changed_ground_and_water_count_as_changed_objects_do() {
        for changes in [(1, 0, 0), (0, 1, 0), (0, 0, 1)] {
            let mut picture = Picture::new(Uuid::nil(), Duration::from_secs(1));
            assert!(!picture.is_due((0, 0, 0), Instant::ZERO));
            assert!(picture.is_due((1, 1, 1), Instant(1_000_000_000)), "the first one waits for nothing");
            picture.shown = picture.newest;
            let changes = (1 + changes.0, 1 + changes.1, 1 + changes.2);
            assert!(!picture.is_due(changes, Instant(2_000_000_000)));
            assert!(picture.is_due(changes, Instant(3_000_000_000)), "{changes:?}");
        }
    }
}
