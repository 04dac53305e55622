//! Construction of a node: its regions, accounts, shards and hub.

use super::disk::{DiskInventories, DiskRows, RegionDisk};
use super::region::{Region, gate, ground, local_ids, spec, world_of};
use super::{
    ARRIVAL_TIMEOUT, FOLDER, GROUND_M, HARBOUR, ITEM, Node, OFFLINE_AGENT, OFFLINE_BORN_S, START_S,
    SimulatedLoss, agent,
};
use crate::hub::{Hub, HubConfig};
use crate::places::{PlaceSettings, Places};
use crate::shard::{CACHE_AFTER, FilterMode, Outbox, Sending, Shard, ShardConfig};
use assets::{MemoryAssets, SizeLimits};
use grid::asset_sources::AssetSources;
use ids::{Incarnation, Instant, Uuid};
use keeper::Wardrobe;
use link::{PortalTo, Terrain, WorldSpec};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::{Folder, Item, NewAccount, PasswordHash, Permissions, Sale, Store};

/// Variations of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) shards: usize,
    pub(crate) sessions_max: usize,
    pub(crate) max_avatars: u32,
    /// The world's own limit, if lower than the hub's.
    pub(crate) world_max_avatars: usize,
    pub(crate) ports: usize,
    pub(crate) client_bytes_per_s: u32,
    pub(crate) egress_bytes_per_s: Option<u64>,
    pub(crate) visible_max: usize,
    /// Objects that stand in each region.
    pub(crate) boxes: u32,
    /// True if regions have pictures on the map.
    pub(crate) maps: bool,
    /// Further regions, named Isle0 and so on.
    pub(crate) isles: u16,
    /// Owner of the estate and the one parcel of the harbour, which has land then.
    pub(crate) landlord: Option<&'static str>,
    /// Time without a change after which viewers may keep an object.
    pub(crate) cache_after: Duration,
    /// True if the store has rows of what clients upload and take out of regions, as on a server.
    pub(crate) keeps_assets: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            shards: 1,
            sessions_max: 1_000,
            max_avatars: 1_000,
            world_max_avatars: 2_000,
            ports: 4,
            client_bytes_per_s: 65_536,
            egress_bytes_per_s: None,
            visible_max: 200,
            boxes: 0,
            maps: false,
            isles: 0,
            landlord: None,
            cache_after: CACHE_AFTER,
            keeps_assets: false,
        }
    }
}

impl Node {
    pub(crate) fn new() -> Self {
        Self::with(Setup::default())
    }

    pub(crate) fn with(setup: Setup) -> Self {
        Self::begin(setup, None)
    }

    /// A server that begins with the objects of the harbour as they are on the disk, and saves them there.
    pub(crate) fn on_disk(setup: Setup, rows: DiskRows) -> Self {
        Self::begin(setup, Some(rows))
    }

    /// State of the harbour after a kill of the server.
    pub(crate) fn kill(mut self) -> DiskRows {
        self.regions.swap_remove(0).disk.expect("a server with a disk").into_rows()
    }

    fn begin(setup: Setup, rows: Option<DiskRows>) -> Self {
        let n_former = rows.as_ref().map_or(0, DiskRows::n_servers);
        let inventories = setup.keeps_assets.then(|| {
            rows.as_ref().and_then(DiskRows::inventories).unwrap_or_else(|| {
                let store = store();
                DiskInventories { assets: Arc::new(MemoryAssets::beside(Arc::clone(&store))), store }
            })
        });
        let mut kept = rows.map(|rows| {
            let terrain = Arc::new(Terrain::flat(256, GROUND_M));
            RegionDisk::open(rows, world_of(0), &local_ids(0), &terrain, inventories.clone())
        });
        let cache_id = kept.as_ref().map_or(Uuid::nil(), |(_, loaded)| loaded.cache_id);
        let place = |n, name: &str, x, size_m| {
            let mut ground = ground(size_m, setup.boxes);
            if setup.maps {
                let ground = Arc::get_mut(&mut ground).expect("no world has it yet");
                ground.draw_map().expect("a picture");
            }
            let portals = gate(PortalTo::Own("cave".into()));
            let max_avatars = setup.max_avatars;
            let spec = spec(n, name, &ground);
            let cache_id = if n == 0 { cache_id } else { spec.cache_id };
            let spec = WorldSpec { is_shared: true, portals, max_avatars, cache_id, ..spec };
            PlaceSettings { grid: (x, 1_000), spec, ground }
        };
        let mut settings = vec![place(0, "Harbour", 1_000, 256), place(1, "Meadow", 1_004, 512)];
        settings.extend(
            (0..setup.isles).map(|n| place(2 + u32::from(n), &format!("Isle{n}"), 1_010 + u32::from(n), 256)),
        );
        let places = Arc::new(Places::new(settings));
        let regions: Vec<Region> = places
            .iter()
            .map(|place| {
                let landlord = setup.landlord.filter(|_| place.id == HARBOUR);
                let kept = kept.take_if(|_| place.id == HARBOUR);
                Region::new(&place.scene, setup.world_max_avatars, landlord.map(agent), kept)
            })
            .collect();
        let (store, assets) = match inventories {
            Some(DiskInventories { store, assets }) => (Some(store), AssetSources::new(assets)),
            None => (None, AssetSources::in_memory()),
        };
        let assets = Arc::new(assets);
        let config = ShardConfig {
            circuit: circuit::Config {
                total_bytes_per_s: setup.client_bytes_per_s,
                ..circuit::Config::server()
            },
            client_bytes_per_s: setup.client_bytes_per_s,
            egress_bytes_per_s: setup.egress_bytes_per_s,
            visible_max: setup.visible_max,
            sending: Sending::default(),
            filter: FilterMode::Significance,
            cache_after: setup.cache_after,
            assets: Arc::clone(&assets),
            asset_limits: SizeLimits::default(),
            attachments_max: 38,
            unix_start_s: START_S,
            hash_keys: [1, 2],
        };
        let shard = || Shard::new(config.clone(), Arc::clone(&places));
        let shards = (0..setup.shards).map(|_| shard()).collect();
        let hub_config = HubConfig {
            udp_ports: (9_000..).take(setup.ports).collect(),
            http_port: 9_000,
            sessions_max: setup.sessions_max,
            arrival_timeout: ARRIVAL_TIMEOUT,
        };
        // Ids of a server are none of the servers before it.
        let mut seed = u128::from(n_former) << 64;
        let entropy = Box::new(move || {
            seed += 1;
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).to_le_bytes()
        });
        let hub = Hub::new(hub_config, Arc::clone(&places), entropy);
        Self {
            now: Instant::ZERO,
            places,
            assets,
            hub,
            shards,
            clients: Vec::new(),
            loss: SimulatedLoss::default(),
            orders: Vec::new(),
            records: Vec::new(),
            commands: Vec::new(),
            mail: Vec::new(),
            restarts: Vec::new(),
            panics: 0,
            lag_ticks: 0,
            lagging: VecDeque::new(),
            keeps_up: true,
            holds_events: false,
            held_events: Vec::new(),
            poison: |_| false,
            poisoned: 0,
            regions,
            steps: 0,
            ack_delay: Duration::ZERO,
            up: Vec::new(),
            out: Outbox::default(),
            crowd: 0,
            store,
            wardrobe: Wardrobe::new(Uuid::from_u128(0xD3E55 + u128::from(n_former))),
            incarnation: Incarnation(n_former as u16),
        }
    }
}

/// A store with an account that is not logged in, and one whose inventory has a folder and an item.
pub(super) fn store() -> Arc<Store> {
    let store = Store::open_in_memory().expect("a database in memory");
    let account = |agent, first: &str, last: &str| NewAccount {
        agent,
        first: first.into(),
        last: last.into(),
        password_hash: PasswordHash(String::new()),
        created_s: OFFLINE_BORN_S,
        folders: Vec::new(),
        items: Vec::new(),
    };
    let folder =
        Folder { id: FOLDER, parent: Uuid::nil(), name: "Textures".into(), type_default: 0, version: 3 };
    let item = Item {
        id: ITEM,
        folder: FOLDER,
        asset: ids::PLYWOOD_TEXTURE,
        asset_type: 0,
        inventory_type: 0,
        name: "Wood".into(),
        description: String::new(),
        flags: 0,
        created_s: OFFLINE_BORN_S,
        permissions: Permissions {
            creator: agent("Ada").0,
            last_owner: agent("Ada").0,
            group: Uuid::nil(),
            group_owned: false,
            base: 0x7FFF_FFFF,
            owner: 0x7FFF_FFFF,
            group_mask: 0,
            everyone: 0,
            next_owner: 0,
        },
        sale: Sale::default(),
    };
    let ada =
        NewAccount { folders: vec![folder], items: vec![item], ..account(agent("Ada"), "Ada", "Resident") };
    for new in [account(OFFLINE_AGENT, "Grace", "Hopper"), ada] {
        store.create_account(&new).expect("an account");
    }
    Arc::new(store)
}
