//! `throng serve`: builds the parts, gives them threads and real clocks, and takes them down again.
//!
//! Threads: `world-N` step worlds (`worlds`), `long-N` do what takes longer than a frame (`long`), `replica` encodes frames, `keeper` saves objects and land, `transfers`
//! ends orders for regions and `solids` finds the forms of meshes in collisions (`region_threads`), `shard-N` own circuits and sockets (`shards`), `hub` carries mail from
//! the shards to the sessions and `store` writes what has to be kept (`sessions`), `inventory` changes inventories (`inventories`), `passwords` hashes, `restarts` takes up worlds that panicked (`restarts`), `http` threads serve
//! login, capabilities and the page, `jobs` keeps backups and other long orders, which `job` and `archive` carry out (`job_desk`), `watch` measures once a second (`watch`), and
//! `recorder` writes captures when something was too slow (`captures`). The main thread waits for a signal. Worlds and sessions know each other by `local_gateway` only.

mod addresses;
mod captures;
mod cpu_meter;
mod crashes;
mod ending;
mod error;
mod estate_restarts;
mod faults;
mod inventories;
mod limits;
mod local_gateway;
mod map_pictures;
mod places;
mod recordings;
mod region_load;
mod sessions;
mod shards;
mod stages;
mod watch;

pub use error::ServeError;

use crate::config::tunables::{KeptTuner, Tunables};
use crate::config::{Config, RegionSection, Sources, parts};
use crate::configured::{ConfiguredServer, grounds, keeper_config, new_land};
use crate::region_changes::{self, ConfiguredRegions, RegionChanges};
use crate::{page, supervise};
use addresses::Bound;
use captures::ServerSystemsView;
use content_threads::archives::{self, ArchiveParts, ArchiveRegion};
use content_threads::asset_api::{self, AssetDesk};
use content_threads::asset_threads;
use content_threads::content::ContentStores;
use data_dir::{DataDir, RunFile, create_privately};
use ending::Ending;
use estate_restarts::EstateRestarts;
use faults::{Fuses, fault};
use gateway::http::admin::{self, Admin, COMMAND_BYTES_MAX};
use gateway::http::door::Door;
use gateway::http::fault::Faults;
use gateway::http::listener::{self, Site};
use gateway::http::live::{self, Live};
use gateway::http::{AssetShares, BODY_BYTES_MAX, HttpCounters, HttpState, LoginRules, Uploads, long_bodies};
use gateway::places::{EncodedGround, Place, Places};
use grid::asset_sources::AssetSources;
use grid::login::LoginService;
use grid::password::{Cost, LoadHint, Passwords};
use grid_api::instances::{self, Owners};
use grid_api::regions::{self, RegionSettings, Regions, RestoreClaims};
use grid_api::terrain::{self, TerrainDesk};
use grid_api::users::{self, UserDesk};
use host::local_ids::LocalIdSpace;
use host::registry::RegistryConfig;
use ids::{Instant, WorldId};
use job_desk::JobThreadsConfig;
use limits::{HttpConnections, MemoryLimit};
use link::HostNumber;
use local_gateway::LocalGateway;
use map_pictures::MapPictures;
use operator_api::{Diagnose, FrameLog};
use recordings::Recordings;
use region_load::KeptWorld;
use region_threads::grounds::Grounds;
use region_threads::land_orders::LandOrders;
use region_threads::node_edits::NodeEdits;
use region_threads::parcels::ParcelMaps;
use region_threads::replicas::FrameQueue;
use region_threads::transfer_figures::TransferFigures;
use region_threads::{keepers, replicas, solids, world_orders};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::Store;
use telemetry::captures::{CaptureStore, MissedTicks};
use telemetry::recorder::{Recorder, RecorderConfig, frame_end};
use telemetry::{LogFormat, Metrics, cgroup, process};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use workplace::instances::{
    InstanceMailbox, InstanceStore, InstancesConfig, Template, WorkplaceParts, start,
};
use workplace::worlds::WorldStart;
use workplace::{Clock, inboxes, restarts, worlds};

/// Threads that serve HTTP: most of their time they wait.
const HTTP_THREADS: usize = 2;

/// Serves until SIGTERM, SIGINT or SIGHUP, or until the supervisor of this process id has ended. `sources` are those of the configuration: orders to create, remove
/// and rename regions edit its file.
///
/// # Errors
/// If a resource is unavailable: an address, the data directory, the database, a thread.
pub fn run(config: &Config, sources: &Sources, supervisor: Option<u32>) -> Result<(), ServeError> {
    let format = if config.server.log_format == "json" { LogFormat::Json } else { LogFormat::Text };
    telemetry::start_logging(format, &config.server.log_filter)?;
    create_privately();
    let recorder = start_recorder(config)?;
    if let Some(supervisor) = supervisor {
        supervise::end_with(supervisor).map_err(ServeError::Supervisor)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(HTTP_THREADS)
        .thread_name("http")
        .on_thread_start(move || recorder.thread("http").install())
        // For the runtime's workers. Blocking threads end their frames themselves.
        .on_thread_park(frame_end)
        .enable_all()
        .build()
        .map_err(|source| ServeError::Thread { name: "http", source })?;
    runtime.block_on(serve(config, sources, recorder))
}

fn start_recorder(config: &Config) -> Result<Recorder, ServeError> {
    let config = &config.recorder;
    if !config.enabled {
        return Ok(Recorder::off());
    }
    let recorder = RecorderConfig {
        memory_bytes: (config.memory_mib as usize) << 20,
        horizon: Duration::from_secs(config.horizon_s.into()),
    };
    Recorder::start(recorder).map_err(ServeError::Recorder)
}

#[expect(clippy::disallowed_methods, reason = "here the process's clock begins")]
fn start_clock() -> (Clock, u64) {
    let started = std::time::Instant::now();
    let unix_start_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let clock = move || Instant(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    (Arc::new(clock), unix_start_s)
}

async fn serve(config: &Config, sources: &Sources, recorder: Recorder) -> Result<(), ServeError> {
    let (clock, unix_start_s) = start_clock();
    let open_files_max = limits::raise_open_files();
    let data = Arc::new(DataDir::open(&config.server.data)?);
    let crashes = Arc::new(crashes::start(config)?);
    if let (Some(crashes), Some(memory)) = (&*crashes, recorder.memory_path()) {
        crashes.send_recorder_path(&memory);
    }
    let mut fuses = Fuses::default();
    let metrics = Arc::new(Metrics::new());
    let url = crate::database::url(config);
    let holder = crate::database::server_name();
    let store = Store::open_claimed(&url, &holder)?
        .with_metrics(&metrics, "store")
        .with_inventory_limits(parts::inventory_limits(config));
    store.check_incarnations()?;
    tracing::info!(%url, "the database is open");
    // Of their own: a save of instances does not wait for a login's.
    let store_of_instances = store.open_second()?;
    let store = Arc::new(store);
    let n_shards = n_shards(config);
    let bound = Bound::bind(config, n_shards).await?;

    region_load::release(&store)?;
    let asset_settings = parts::asset_settings(&config.assets, &data);
    let (stored, asset_threads) =
        asset_threads::start(&asset_settings, &store, &clock, unix_start_s, recorder)?;
    places::store_template_assets(config, &*stored)?;
    let grounds = grounds(config);
    let stores = ContentStores { store: &store, assets: &*stored };
    let kept = region_load::load(config, &grounds, stores, unix_start_s)?;
    let places = Arc::new(Places::new(places::settings(config, grounds, &region_load::cache_ids(&kept))));
    let frame_queue = FrameQueue::new();
    let (mut kept_worlds, mut full) = (Vec::new(), BTreeSet::new());
    let mut shared = Vec::new();
    let mut grounds = Vec::new();
    for (place, KeptWorld { world, keeper, room, region }) in places.iter().zip(kept) {
        let spec = Arc::clone(place.scene.spec());
        grounds.push((world, Arc::clone(&spec.ground.terrain), region.land.ground.clone()));
        let (objects, land) = (region.objects, Some(region.land));
        full.extend(objects.transfers.full.iter().copied());
        shared.push(WorldStart { spec, objects, land, outlet: frame_queue.outlet() });
        kept_worlds.push((world, keeper, room));
    }
    let grounds = Arc::new(Grounds::new(grounds));
    let worlds = worlds::start(n_workers(config), shared, &clock, &metrics, recorder, &mut fuses)?;
    let shards = shards::prepare(n_shards)?;
    let mailbox = InstanceMailbox::new();
    let keep_contents = keepers::keep_in(&stored);
    let n_given_back = keepers::give_worn_back(&store, &*keep_contents)?;
    if n_given_back > 0 {
        tracing::info!(n_given_back, "objects that avatars wore are in Lost and Found of their owners");
    }
    let assets = Arc::new(AssetSources::new(stored));
    let (restores, restore_orders) = keepers::RestoreOrders::new();
    let (wardrobe, wardrobe_orders) = keepers::WardrobeOrders::new();
    let transfer_figures = Arc::new(TransferFigures::new(&metrics));
    let estate_restarts = EstateRestarts::default();
    let (sessions, transfers) = sessions::start(sessions::SessionThreadsConfig {
        config,
        places: &places,
        bound: &bound,
        store: &store,
        assets: &assets,
        mailboxes: shards.iter().map(shards::Prepared::mailbox).collect(),
        clock: &clock,
        unix_start_s,
        metrics: &metrics,
        recorder,
        orders: mailbox.take_orders(),
        restarts: estate_restarts.clone(),
        restores: restores.clone(),
        wardrobe: wardrobe.clone(),
        figures: Arc::clone(&transfer_figures),
        fuse: fuses.at("hub"),
        store_fuse: fuses.at("store"),
        probe: {
            let data = Arc::clone(&data);
            Box::new(move || data.probe())
        },
    })?;
    let wakers: Vec<net::PollWaker> = shards.iter().map(shards::Prepared::waker).collect();
    let tunables = Arc::new(Tunables::new(config, recorder));
    tunables.restore(&data)?;
    places.iter().for_each(|place| show_map(&assets, place.ground()));
    let shards = shards::start(shards::ShardThreadsConfig {
        config,
        tunables: &tunables,
        places: &places,
        assets: &assets,
        prepared: shards,
        sockets: bound.sockets,
        inboxes: &worlds.inboxes,
        hub: &sessions.mail,
        clock: &clock,
        metrics: &metrics,
        unix_start_s,
        recorder,
        fuses: &mut fuses,
    })?;

    let load = LoadHint::default();
    let login = {
        let (clock, fuse) = (Arc::clone(&clock), fuses.at("passwords"));
        // The thread reads its clock only around its work.
        let password_clock = Arc::new(move || {
            fuse.strike();
            clock()
        });
        let (cost, load) = (Cost::default(), load.clone());
        let waits = (&*metrics, "logins");
        let passwords = Passwords::start_recorded(cost, load, password_clock, recorder, waits)
            .map_err(|source| ServeError::Thread { name: "passwords", source })?;
        let login = LoginService::new(Arc::clone(&store), passwords, parts::login_config(config));
        login.map_err(ServeError::Random)?.with_metrics(&metrics, "logins")
    };
    let http_port = config.server.advertise.http_port.unwrap_or_else(|| bound.http_addr.port());
    let http_state = Arc::new(HttpState {
        sessions: Arc::clone(&sessions.sessions),
        store,
        login,
        places: Arc::clone(&places),
        live: Live::new(parts::watcher_limits(config)),
        assets,
        asset_shares: AssetShares::new(config.http.asset_bytes_per_s),
        asset_times: metrics.timing("throng_asset_get_seconds", "Time to find a requested asset.", &[]),
        asset_limits: parts::size_limits(&config.assets),
        uploads: Uploads::default(),
        content_orders: world_orders::content_orders(restores.clone()),
        page: page::ASSETS,
        settings: parts::settings(config, http_port, bound.admin_addr, unix_start_s),
        clock: Arc::clone(&clock),
        door: Door::default(),
        logins: LoginRules::default(),
        counters: HttpCounters::default(),
    });
    let inbox = |world| worlds.inboxes.shared().get(world).expect("a shared world has an inbox").clone();
    let (keepers, keeper_thread) = keepers::start(keepers::KeeperThreadConfig {
        held_per_user_max: config.store.held_per_user_max,
        kept: kept_worlds,
        full,
        grounds: Arc::clone(&grounds),
        inbox: &inbox,
        store: &http_state.store,
        keep_contents,
        tell_owners: keepers::tell_in(&sessions.sessions),
        restores: (restores, restore_orders),
        dressing: (wardrobe, wardrobe_orders),
        seed: region_load::random_id()?,
        figures: transfer_figures,
        tunables: {
            let tunables = Arc::clone(&tunables);
            Box::new(move || tunables.objects())
        },
        clock: &clock,
        metrics: &metrics,
        recorder,
        fuse: fuses.at("keeper"),
    })?;
    let node_edits = Arc::new(NodeEdits::new(worlds.inboxes.shared().clone()));
    let parcels = Arc::new(ParcelMaps::new(places.iter().map(|place| place.world())));
    let solid_thread = solids::start(solids::SolidThreadConfig {
        inboxes: worlds.inboxes.shared().clone(),
        assets: Arc::clone(&http_state.assets),
        long: worlds.long().clone(),
        clock: &clock,
        recorder,
    })?;
    let replicas = replicas::start(replicas::ReplicaThreadConfig {
        keepers,
        solids: solid_thread.desk(),
        node_edits: Arc::clone(&node_edits),
        parcels: Arc::clone(&parcels),
        places: &places,
        worlds: &worlds,
        frames: frame_queue,
        dead_reckoning: config.gateway.dead_reckoning,
        sessions: &sessions.sessions,
        http_state: Arc::clone(&http_state),
        metrics: &metrics,
        recorder,
        fuse: fuses.at("replica"),
    })?;
    let gateway = LocalGateway::new(&sessions.sessions, config.gateway.dead_reckoning, worlds.long());
    let gateway = Arc::new(gateway);
    let restarts = restarts::start(&worlds, Arc::clone(&gateway) as _, &clock, &metrics, recorder)?;
    estate_restarts.connect(restarts.orders());
    let (instance_store, known) =
        InstanceStore::open(store_of_instances, fuses.at("instances"), &clock, &metrics)?;
    let templates: Vec<Template> = places::templates(config, worlds.long())?
        .into_iter()
        .map(|(template, ground)| {
            show_map(&http_state.assets, &ground);
            gateway.add_ground(ground);
            template
        })
        .collect();
    let (instances, admission, instance_threads) = start(InstancesConfig {
        limits: registry_config(config, unix_start_s),
        known,
        mailbox,
        gateway: Arc::clone(&gateway) as _,
        parts: WorkplaceParts {
            templates,
            instance_store: &instance_store,
            inboxes: &worlds.inboxes,
            pool: worlds.workplace(),
            long: worlds.long(),
            gateway: Arc::clone(&gateway) as _,
            clock: &clock,
            metrics: &metrics,
        },
        metrics: &metrics,
        unix_start_s,
        recorder,
    })?;
    let recordings = Recordings::new(&places, &worlds, &clock, unix_start_s, data.recordings());
    let missed = Arc::new(MissedTicks::default());
    let tracer = watch::PoolTracer { workplace: worlds.workplace(), inboxes: Arc::clone(&worlds.inboxes) };
    let frames = FrameLog::new(Box::new(tracer), &missed);
    if let Some(resident) = process::resident_bytes() {
        if let Some(limit) = MemoryLimit::of(tunables.memory_max_bytes(), cgroup::memory_limit_bytes) {
            limit.check(resident)?;
        }
        tunables.note_empty_server(resident);
    }
    let connections = HttpConnections::divide(open_files_max, limits::open_files())?;
    let job_threads = job_desk::start(JobThreadsConfig {
        backup: parts::backup_settings(config),
        source: Box::new(ConfiguredServer(config.clone())),
        store: &http_state.store,
        clock: &clock,
        unix_start_s,
        recorder,
    })?;
    let watch = watch::start(watch::WatchThreadConfig {
        metrics: Arc::clone(&metrics),
        clock: Arc::clone(&clock),
        worlds: worlds.watch(),
        gateway,
        n_workers: n_workers(config),
        instances: Arc::clone(&admission),
        frames: Arc::clone(&frames),
        missed: Arc::clone(&missed),
        long: worlds.long().clone(),
        standings: restarts.watch(),
        shards: shards.watch(),
        replicas: replicas.watch(),
        http_state: Arc::clone(&http_state),
        assets: asset_threads.figures(),
        solids: solid_thread.desk(),
        backups: job_threads.status(),
        unix_start_s,
        http: connections.clone(),
        load,
        tunables: Arc::clone(&tunables),
        recorder,
        crashes: Arc::clone(&crashes),
    })?;

    let eye = ServerSystemsView {
        recorder,
        sessions: Arc::clone(&sessions.sessions),
        places: Arc::clone(&places),
        owners: Arc::new(Owners::new(&http_state.store)),
        tick: Duration::from_secs(1) / config.world.hz,
    };
    let captures = captures::start(captures::CaptureThreadConfig {
        eye: eye.clone(),
        store: CaptureStore::new(data.captures()),
        tunables: &tunables,
        missed: &missed,
        metrics: &metrics,
        clock: &clock,
    })?;
    let diagnose = Diagnose {
        view: Box::new(eye),
        requests: captures.requests(),
        store: CaptureStore::new(data.captures()),
        tuner: Box::new(KeptTuner { tunables, data: Arc::clone(&data) }),
    };

    let draining = Arc::new(AtomicBool::new(false));
    let main_fuse = fuses.at("main");
    let main_turn = Arc::new(Notify::new());
    let faults = config.diagnose.allow_faults.then(|| {
        let inboxes = Arc::clone(&worlds.inboxes);
        let main_turn = Arc::clone(&main_turn);
        let wake = move || {
            inboxes.shared().values().for_each(|inbox| inbox.waker.wake());
            wakers.iter().for_each(net::PollWaker::wake);
            main_turn.notify_one();
        };
        Box::new(move |order| fuses.order(fault(order), &wake)) as Faults
    });
    let admin = Arc::new(Admin {
        state: Arc::clone(&http_state),
        token: data.admin_token()?,
        metrics: {
            let metrics = Arc::clone(&metrics);
            Box::new(move || metrics.render())
        },
        record: Box::new(move |order| recordings.begin(order)),
        alive: watch.health(),
        amiss: {
            let amiss = watch.amiss();
            let (instance_store, writes) = (Arc::clone(&instance_store), Arc::clone(&sessions.writes));
            let (saves, clock) = (keeper_thread.status(), Arc::clone(&clock));
            let backups = job_threads.status();
            Box::new(move || {
                let saves = saves.trouble(clock());
                let of_store = writes.trouble().into_iter().chain(saves).chain(instance_store.trouble());
                let of_store = of_store.chain(backups.late());
                amiss().into_iter().chain(of_store).chain(admission.trouble()).collect()
            })
        },
        ready: {
            let (draining, spare) = (Arc::clone(&draining), connections.clone());
            let (instance_store, writes) = (Arc::clone(&instance_store), Arc::clone(&sessions.writes));
            let (saves, clock) = (keeper_thread.status(), Arc::clone(&clock));
            Box::new(move || match draining.load(Ordering::Relaxed) {
                true => Err("The server drains.".into()),
                false if !spare.has_spare() => Err("Clients have taken nearly all connections.".into()),
                false => {
                    let trouble = writes.trouble().or_else(|| saves.trouble(clock()));
                    trouble.or_else(|| instance_store.trouble()).map_or(Ok(()), Err)
                }
            })
        },
        faults,
    });
    let land = LandOrders::new(grounds, Arc::clone(&worlds.inboxes), Arc::clone(&clock), unix_start_s);
    let land = Arc::new(land);
    let desk = TerrainDesk {
        regions: places.iter().map(|place| (place.name().to_owned(), place.world())).collect(),
        orders: Arc::clone(&land),
        folder: data.terrain(),
    };
    let users = UserDesk {
        store: Arc::clone(&http_state.store),
        assets: Arc::clone(&http_state.assets),
        sessions: Arc::clone(&sessions.sessions),
        clock: Arc::clone(&clock),
        unix_start_s,
    };
    let archive_parts = Arc::new(ArchiveParts {
        places: Arc::clone(&places),
        regions: archive_regions(config, &places, unix_start_s),
        store: Arc::clone(&http_state.store),
        assets: Arc::clone(&http_state.assets),
        node_edits: Arc::clone(&node_edits),
        land: Arc::clone(&land),
        saves: keeper_thread.orders(),
        holds: keeper_thread.holds(),
        folder: data.archives(),
        runtime: Handle::current(),
        clock: Arc::clone(&clock),
        unix_start_s,
    });
    let assets = AssetDesk {
        store: Arc::clone(&http_state.store),
        figures: asset_threads.figures(),
        jobs: job_threads.desk(),
        parts: Arc::clone(&archive_parts),
        database: url,
        templates: config.template.iter().map(parts::template_content).collect(),
        scrub_days: config.assets.scrub_days,
    };
    let owners = Owners::new(&http_state.store);
    let regions = Regions {
        places: Arc::clone(&places),
        settings: region_settings(config, &places, unix_start_s),
        owners: Owners::new(&http_state.store),
        store: Arc::clone(&http_state.store),
        node_edits,
        orders: keeper_thread.orders(),
        restores: keeper_thread.restores(),
        restoring: RestoreClaims::default(),
        saves: keeper_thread.status(),
        worlds: worlds.watch(),
        parcels,
        land,
        restarts: restarts.orders(),
        sessions: Arc::clone(&sessions.sessions),
        clock: Arc::clone(&clock),
        unix_start_s,
        folder: data.regions(),
    };
    let regions = Arc::new(regions);
    let configured = ConfiguredRegions::new(config, sources);
    let changes = RegionChanges { configured, running: Arc::clone(&regions) };
    let drills = config.diagnose.allow_faults;
    let (shutdown, shutdown_orders) = mpsc::channel(1);
    let commands = operator_api::diagnose_router(diagnose)
        .merge(instances::router(instances, owners, places))
        .merge(regions::router(regions))
        .merge(region_changes::router(changes))
        .merge(operator_api::long_tasks_router(worlds.long().clone(), Arc::clone(&clock), drills))
        .merge(operator_api::frames_router(frames))
        .merge(job_desk::router(job_threads.desk()))
        .merge(archives::router(archive_parts, job_threads.desk()))
        .merge(asset_api::router(assets))
        .merge(terrain::router(desk))
        .merge(users::router(users))
        .merge(ending::router(shutdown));
    let commands = admin::router(admin, commands);
    let public = gateway::http::router(Arc::clone(&http_state));
    let long_bodies = Some(long_bodies(&http_state));
    let proxies = Arc::new(parts::proxies(config));
    let public = Site {
        app: public,
        connections: connections.public,
        body_bytes_max: BODY_BYTES_MAX,
        long_bodies,
        proxies: Arc::clone(&proxies),
    };
    let commands = Site {
        app: commands,
        connections: connections.operator,
        body_bytes_max: COMMAND_BYTES_MAX,
        long_bodies: None,
        proxies,
    };
    let http = tokio::spawn(listener::serve(bound.http, public));
    let operator = tokio::spawn(listener::serve(bound.admin, commands));
    tokio::spawn(live::run(Arc::clone(&http_state)));
    let settled = |region: &RegionSection| Duration::from_secs(region.map_after_s.into());
    let pictures = MapPictures {
        state: http_state,
        long: worlds.long().clone(),
        clock: Arc::clone(&clock),
        settled: config.region.iter().map(settled).collect(),
    };
    tokio::spawn(pictures.run());

    let mut ending = Ending::listen(shutdown_orders)?;
    let run_file = RunFile::new(bound.http_addr, &bound.udp_addrs, bound.admin_addr);
    data.write_run_file(&run_file)?;
    announce(config, &run_file);

    let cause = ending.wait(&main_fuse, &main_turn).await;
    tracing::info!(cause = cause.name, "draining");
    draining.store(true, Ordering::Relaxed);
    let now = clock();
    sessions.sessions.with(|hub| hub.drain(now, &cause.farewell));
    let patience = Duration::from_secs(config.server.drain_s.into());
    if tokio::time::timeout(patience, shards.wait_until_empty()).await.is_err() {
        tracing::warn!(clients = shards.n_clients(), "some clients did not take notice in time");
    }
    http.abort();
    operator.abort();
    // Before the database has other last things to take.
    job_threads.stop();
    // In the order of the way a last word takes: shards → hub → store, and commands → worlds → store.
    shards.stop();
    let kept = sessions.stop();
    watch.stop();
    solid_thread.stop();
    let down = restarts.stop();
    let (saved_instances, n_unsaved) = instance_threads.save_all(down);
    // First: the others may wait for one of its tasks.
    worlds.stop();
    saved_instances.stop();
    // A replica thread that has panicked has taken the keepers with it.
    let n_unsaved_regions =
        replicas.stop().map_or(config.region.len(), |keepers| keeper_thread.finish(keepers, &clock));
    transfers.stop();
    captures.stop();
    asset_threads.stop();
    data.remove_run_file();
    tracing::info!("stopped");
    if n_unsaved_regions > 0 {
        return Err(ServeError::RegionsNotSaved { n: n_unsaved_regions });
    }
    if n_unsaved > 0 { Err(ServeError::NotSaved { n: n_unsaved }) } else { kept }
}

/// Half the cores, at least one, unless the configuration says otherwise.
fn n_shards(config: &Config) -> usize {
    match config.gateway.shards {
        0 => (n_cores() / 2).max(1),
        n => n.into(),
    }
}

/// As many as cores, unless the configuration says otherwise. A worker without a world that is due sleeps.
fn n_workers(config: &Config) -> usize {
    match config.world.threads {
        0 => n_cores(),
        n => n.into(),
    }
}

fn n_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Limits of instances. This process is the one host of its grid.
fn registry_config(config: &Config, unix_start_s: u64) -> RegistryConfig {
    let config = &config.instances;
    RegistryConfig {
        instances_max: config.max as usize,
        portal_max: config.max as usize * config.portal_percent as usize / 100,
        per_user_max: config.per_user_max as usize,
        active_max: config.active_max as usize,
        suspend_after: Duration::from_secs(config.suspend_after_s.into()),
        host: HostNumber::default(),
        local_ids: LocalIdSpace::INSTANCES,
        unix_start_s: unix_start_s.cast_signed(),
    }
}

/// Settings of the regions for their operators.
fn region_settings(config: &Config, places: &Places, now_s: u64) -> BTreeMap<WorldId, RegionSettings> {
    let settings = |((index, region), place): ((usize, &RegionSection), &Arc<Place>)| {
        let world = region.world(index);
        let land = new_land(region, &place.ground().terrain, None, now_s);
        let keeper = keeper_config(config, (world, region), land, now_s);
        (world, RegionSettings { keeper, objects_max: region.max_objects })
    };
    config.region.iter().enumerate().zip(places.iter()).map(settings).collect()
}

/// Settings of the regions for archives.
fn archive_regions(config: &Config, places: &Places, now_s: u64) -> BTreeMap<WorldId, ArchiveRegion> {
    let sections = config.region.iter().enumerate();
    let physical_max: BTreeMap<WorldId, u32> =
        sections.map(|(index, region)| (region.world(index), region.max_physical)).collect();
    let settings = |(world, settings): (WorldId, RegionSettings)| {
        let RegionSettings { keeper, objects_max } = settings;
        (world, ArchiveRegion { keeper, objects_max, physical_max: physical_max[&world] })
    };
    region_settings(config, places, now_s).into_iter().map(settings).collect()
}

/// Serves the picture of a ground as a texture.
fn show_map(assets: &AssetSources, ground: &EncodedGround) {
    if let Some(map) = &ground.map {
        assets.show_picture(map.id, map.codestream.clone().into());
    }
}

/// Prints the login URI on standard output: the first need of a new operator.
fn announce(config: &Config, run_file: &RunFile) {
    tracing::info!(login_uri = run_file.login_uri, admin = %run_file.admin, "ready");
    let registration = if config.login.open_registration {
        "Any name and password gets in: an account is made at the first login."
    } else {
        "Accounts are made with: throng user add First Last"
    };
    let text = format!(
        "Throng is ready.\n  login URI  {}\n  page       {}\n  {registration}\n",
        run_file.login_uri, run_file.page
    );
    // Standard output may be closed; the log and run.json have the same content.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
