//! The database of a region, in memory. A keeper writes it, as a server's does.

use super::START_S;
use ids::{Instant, LocalId, SessionKey, Uuid, WorldId};
use keeper::{Following, Keeper, KeeperConfig, LoadedRegion, NewLand, RegionIds};
use link::{
    Action, Command, CommandSeries, Estate, Frame, StoredObjects, Terrain, kept_object_ids,
    temporary_object_ids,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use store::{ObjectRows, RegionChanges, RegionRow, StoredRegion};

/// Name of the clients' caches of a region that has none yet.
const FRESH: Uuid = Uuid::from_u128(0xCAC4E);
const SAVE: Duration = Duration::from_millis(250);

/// Rows of a region's objects: all that a crash leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskRows {
    row: Option<RegionRow>,
    bodies: BTreeMap<LocalId, Vec<u8>>,
    states: BTreeMap<LocalId, Vec<u8>>,
    /// Servers that have loaded them.
    n_servers: u64,
}

impl DiskRows {
    fn stored(&self) -> StoredRegion {
        let rows = |values: &BTreeMap<LocalId, Vec<u8>>| {
            let mut rows = ObjectRows::default();
            values.iter().for_each(|(id, value)| rows.push(*id, value));
            rows
        };
        let (bodies, states) = (rows(&self.bodies), rows(&self.states));
        StoredRegion { row: self.row.clone(), bodies, states, ..StoredRegion::default() }
    }

    fn write(&mut self, changes: RegionChanges) {
        let RegionChanges { row, bodies, states, gone, .. } = changes;
        self.row = Some(row);
        self.bodies.extend(bodies.iter().map(|(id, value)| (id, value.to_vec())));
        self.states.extend(states.iter().map(|(id, value)| (id, value.to_vec())));
        for id in gone {
            self.bodies.remove(&id);
            self.states.remove(&id);
        }
    }
}

/// Rows with the keeper that writes them.
#[derive(Debug)]
pub(crate) struct RegionDisk {
    rows: DiskRows,
    keeper: Keeper,
    next_command: u64,
}

impl RegionDisk {
    /// Loads a region that has these local ids. Each server begins later than the one before.
    pub(crate) fn open(
        mut rows: DiskRows,
        region: WorldId,
        local_ids: &Range<u32>,
        terrain: &Arc<Terrain>,
    ) -> (Self, LoadedRegion) {
        let estate = Estate::new("Harbour estate", None, 20.0);
        let config = KeeperConfig {
            region,
            name: "Harbour".into(),
            former_name: None,
            land: NewLand { terrain: Arc::clone(terrain), estate, now_s: START_S },
            ids: RegionIds { kept: kept_object_ids(local_ids), temporary: temporary_object_ids(local_ids) },
            save: SAVE,
            moving_bytes_per_s: 1 << 20,
            unix_start_s: START_S.cast_signed(),
        };
        let (keeper, mut loaded) = Keeper::load(&config, &rows.stored(), FRESH).expect("rows of this region");
        loaded.objects.version_floor = StoredObjects::floor_at(START_S + 60 * rows.n_servers);
        rows.n_servers += 1;
        assert!(loaded.damaged.is_empty() && loaded.n_mended == 0, "{:?}", loaded.damaged);
        (Self { rows, keeper, next_command: CommandSeries::Transfers.first() }, loaded)
    }

    /// Saves what is due behind a frame; `commands` are the world's.
    pub(crate) fn follow(&mut self, now: Instant, frame: &Frame, commands: &mut Vec<Command>) {
        let Self { rows, keeper, next_command } = self;
        let mut send = |action| {
            commands.push(Command::by_node(SessionKey::NODE, *next_command, action));
            *next_command += 1;
            true
        };
        if keeper.handle_frame(now, frame) == Following::NeedsSnapshot {
            send(Action::Resync);
        }
        if let Some(batch) = keeper.poll_batch(now) {
            rows.write(batch.changes);
            keeper.handle_saved(now, batch.id, true);
        }
        keeper.send_orders(send);
    }

    /// The process is killed.
    pub(crate) fn into_rows(self) -> DiskRows {
        self.rows
    }
}
