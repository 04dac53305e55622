//! The database of a region, in memory. A keeper writes it, as a server's does.

use super::START_S;
use assets::MemoryAssets;
use grid::inventory::{WorldAnswer, WorldOrder, WorldOrderEnd};
use ids::{Instant, LocalId, SessionKey, Uuid, WorldId};
use keeper::{
    AssetBytes, Batch, Following, Itemized, Keeper, KeeperConfig, LoadedRegion, NewLand, OrderKey, RegionIds,
    RenewedWorn, RestoreError, encode_object, itemize, renew_worn,
};
use link::{
    Action, CircuitKey, Command, CommandSeries, Estate, Frame, StoredObjects, Terrain, kept_object_ids,
    temporary_object_ids,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use store::{ItemEffect, ObjectRows, RegionChanges, RegionRow, Store, StoredRegion};

/// Name of the clients' caches of a region that has none yet.
const FRESH: Uuid = Uuid::from_u128(0xCAC4E);
const SAVE: Duration = Duration::from_millis(250);

/// Rows of a region's objects, and inventories: all that a crash leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskRows {
    row: Option<RegionRow>,
    bodies: BTreeMap<LocalId, Vec<u8>>,
    states: BTreeMap<LocalId, Vec<u8>>,
    /// Servers that have loaded them.
    n_servers: u64,
    /// On a server that has some. Then the region's rows are theirs, too.
    inventories: Option<DiskInventories>,
}

impl DiskRows {
    /// Number of the servers that have begun with them.
    pub(super) const fn n_servers(&self) -> u64 {
        self.n_servers
    }

    /// Inventories that an earlier server has left.
    pub(super) fn inventories(&self) -> Option<DiskInventories> {
        self.inventories.clone()
    }

    fn stored(&self, region: WorldId) -> StoredRegion {
        if let Some(DiskInventories { store, .. }) = &self.inventories {
            // As a server does before it reads the region.
            store.release_all_held().expect("a database in memory");
            store.release_all_marks().expect("a database in memory");
            return store.region_objects(region).expect("a database in memory");
        }
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

/// Inventories that a region's batches change, on a server that has some, and assets of the objects in them.
#[derive(Clone, Debug)]
pub(crate) struct DiskInventories {
    pub(super) store: Arc<Store>,
    pub(super) assets: Arc<MemoryAssets>,
}

impl DiskInventories {
    /// Saves a batch as the `keeper` thread does.
    fn save(&self, batch: &mut Batch) -> Vec<ItemEffect> {
        let Itemized { assets, failed } = itemize(batch.region, &mut batch.changes.held, encode_object);
        assert_eq!(failed, [], "objects of tests are short");
        let RenewedWorn { assets: of_worn, failed } = renew_worn(&mut batch.changes, encode_object);
        assert_eq!(failed, [], "and so are those that are worn");
        let assets = assets.into_iter().chain(of_worn);
        self.assets.keep_contents(assets.map(|AssetBytes { hash, bytes }| (hash, bytes)));
        self.store.save_region(batch.region, &batch.changes).expect("a database in memory")
    }
}

/// Rows with the keeper that writes them.
#[derive(Debug)]
pub(crate) struct RegionDisk {
    rows: DiskRows,
    keeper: Keeper,
    next_command: u64,
    inventories: Option<DiskInventories>,
    /// Orders without an outcome.
    waiting: Vec<(OrderKey, CircuitKey, WorldOrderEnd)>,
    news: DiskNews,
}

/// Outcomes of transfers since the last call.
#[derive(Debug, Default)]
pub(crate) struct DiskNews {
    pub(super) items: Vec<ItemEffect>,
    pub(super) ended: Vec<(CircuitKey, WorldOrderEnd, WorldAnswer)>,
}

impl RegionDisk {
    /// Loads a region that has these local ids. Each server begins later than the one before.
    pub(crate) fn open(
        mut rows: DiskRows,
        region: WorldId,
        local_ids: &Range<u32>,
        terrain: &Arc<Terrain>,
        inventories: Option<DiskInventories>,
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
        let (keeper, mut loaded) =
            Keeper::load(&config, &rows.stored(region), FRESH).expect("rows of this region");
        loaded.objects.version_floor = StoredObjects::floor_at(START_S + 60 * rows.n_servers);
        rows.n_servers += 1;
        assert!(loaded.damaged.is_empty() && loaded.n_mended == 0, "{:?}", loaded.damaged);
        let (next_command, waiting) = (CommandSeries::Transfers.first(), Vec::new());
        let news = DiskNews::default();
        (Self { rows, keeper, next_command, inventories, waiting, news }, loaded)
    }

    /// Takes an order of a client for the region, or ends it at once.
    pub(super) fn order(
        &mut self,
        circuit: CircuitKey,
        WorldOrder { order, end, .. }: WorldOrder,
    ) -> Result<(), WorldAnswer> {
        let key = order.key();
        match self.keeper.order(order) {
            Ok(()) => {
                self.waiting.push((key, circuit, end));
                Ok(())
            }
            Err(RestoreError::Twice) => Err(WorldAnswer::UnderWay),
            Err(why) => Err(WorldAnswer::NotSent(why.to_string())),
        }
    }

    pub(super) const fn keeper(&mut self) -> &mut Keeper {
        &mut self.keeper
    }

    pub(super) fn take_news(&mut self) -> DiskNews {
        std::mem::take(&mut self.news)
    }

    /// Saves what is due behind a frame; `commands` are the world's.
    pub(crate) fn follow(&mut self, now: Instant, frame: &Frame, commands: &mut Vec<Command>) {
        let Self { rows, keeper, next_command, inventories, waiting, news } = self;
        let mut send = |action| {
            commands.push(Command::by_node(SessionKey::NODE, *next_command, action));
            *next_command += 1;
            true
        };
        if keeper.handle_frame(now, frame) == Following::NeedsSnapshot {
            send(Action::Resync);
        }
        if let Some(mut batch) = keeper.poll_batch(now) {
            let items = inventories.as_ref().map(|inventories| inventories.save(&mut batch));
            rows.write(batch.changes);
            keeper.handle_saved(now, batch.id, true);
            let items = items.unwrap_or_default();
            keeper.note_items(&items);
            news.items.extend(items);
        }
        while let Some(outcome) = keeper.poll_outcome() {
            let Some(at) = waiting.iter().position(|(key, ..)| *key == outcome.order) else { continue };
            let (_, circuit, end) = waiting.remove(at);
            let answer = outcome.refusal.map_or(WorldAnswer::Done, WorldAnswer::Refused);
            news.ended.push((circuit, end, answer));
        }
        keeper.send_orders(send);
    }

    /// The process is killed.
    pub(crate) fn into_rows(self) -> DiskRows {
        DiskRows { inventories: self.inventories, ..self.rows }
    }
}
