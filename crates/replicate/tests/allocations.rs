//! Static objects of a template cost its instances no memory: they share them.

use ids::{Epoch, SessionKey, Tick, WorldId};
use link::{Action, Command, Frame, Terrain};
use replicate::scenery::{SceneryReplica, StaticObjects};
use replicate::{EncodedFrame, Encoder, Intake, Publisher, Replica};
use std::sync::Arc;
use std::time::Duration;
use telemetry::allocations::{CountingAllocator, count_here, counted_here};
use world::{World, WorldConfig};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TICK: Duration = Duration::from_millis(50);
const TICKS: u64 = 10;

/// Parts that instances have in common.
struct Template {
    terrain: Arc<Terrain>,
    scenery: Arc<link::Scenery>,
    objects: Arc<StaticObjects>,
}

impl Template {
    fn new(boxes: u32) -> Self {
        let terrain = Arc::new(Terrain::flat(256, 21.0));
        let scenery = Arc::new(link::Scenery::boxes(boxes, &terrain, 1));
        let objects = Arc::new(StaticObjects::new(&scenery, 256.0));
        Self { terrain, scenery, objects }
    }

    /// Makes an instance and steps it until its replica has the full state. Returns the number of allocations.
    fn requests_of_an_instance(&self) -> u64 {
        let before = counted_here();
        let config = WorldConfig {
            id: WorldId(1),
            epoch: Epoch(1),
            size_m: 256,
            local_ids: 1..10_000,
            terrain: Arc::clone(&self.terrain),
            scenery: Arc::clone(&self.scenery),
            objects: None,
            land: None,
            cast: None,
            water_m: 20.0,
            max_avatars: 20,
            seed: 1,
        };
        let scenery = SceneryReplica::new(Arc::clone(&self.objects), config.local_ids.start);
        let mut publisher = Publisher::new(Replica::new(config.id, 256.0, scenery));
        let (mut world, mut encoder) = (World::new(config), Encoder::new(TICK));
        let (mut frame, mut commands, mut spare) = (Frame::empty(), Vec::new(), EncodedFrame::default());
        let mut published = 0;
        for tick in 0..TICKS {
            world.step(Tick(tick), TICK, 1.0, &mut commands, &mut frame);
            match encoder.encode(&frame, &mut spare) {
                Intake::Ready => {
                    spare = publisher.publish(std::mem::take(&mut spare));
                    published += 1;
                }
                Intake::NeedsSnapshot => {
                    commands.push(Command::by_node(SessionKey::NODE, tick, Action::Resync));
                }
                Intake::Waiting => {}
            }
        }
        assert_eq!(published, TICKS - 1, "all but the first, which is no whole story");
        assert_eq!(publisher.current().scenery().len(), self.scenery.len());
        counted_here() - before
    }
}

#[test]
fn an_instance_asks_for_as_much_memory_whatever_stands_in_it() {
    count_here("instance");
    let (bare, full) = (Template::new(0), Template::new(200));
    let requests = bare.requests_of_an_instance();
    assert!(requests > 0, "nothing is counted");
    assert_eq!(full.requests_of_an_instance(), requests);
}
