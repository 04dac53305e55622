//! `throng serve`: builds the parts, gives them threads and real clocks, and takes them down again.
//!
//! Threads: `world-N` step worlds (`worlds`), `replica` encodes frames (`replicas`), `shard-N` own circuits and
//! sockets (`shards`), `hub` carries mail from the shards to the sessions and `store` writes what has to be kept
//! (`sessions`), `passwords` hashes, `http` threads serve login, capabilities and the page, and `watch` measures
//! once a second (`watch`). The main thread waits for a signal.

mod addresses;
mod data;
mod error;
mod limits;
mod places;
mod replicas;
mod sessions;
mod shards;
mod watch;
mod worlds;

pub use data::RunFile;
pub(crate) use data::{create_dir, database_path, read_token};
pub use error::ServeError;

use crate::config::{Config, PublicChat};
use crate::page;
use addresses::Bound;
use data::DataDir;
use gateway::feed::Feed;
use gateway::http::admin::{self, Admin};
use gateway::http::live::{self, Live};
use gateway::http::{HttpCounters, Peer, Portal, Settings};
use gateway::places::Places;
use grid::attempts::{Allowance, AttemptLimits};
use grid::capability::SimulatorFeatures;
use grid::login::{LoginConfig, LoginService};
use grid::password::{Cost, LoadHint, Passwords};
use ids::Instant;
use replicate::Replica;
use std::future::IntoFuture as _;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::Store;
use telemetry::{LogFormat, Metrics};

/// The clock of the process: what every sans-IO core gets its time from.
pub(crate) type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Why the server tells its visitors to go.
const FAREWELL: &str = "The server is about to stop. Please come back later.";

/// Threads that serve HTTP: most of their time they wait.
const HTTP_THREADS: usize = 2;

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When something that it needs cannot be had: an address, the data directory, the database, a thread.
pub fn run(config: &Config) -> Result<(), ServeError> {
    let format = if config.server.log_format == "json" { LogFormat::Json } else { LogFormat::Text };
    telemetry::start_logging(format, &config.server.log_filter)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(HTTP_THREADS)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(|source| ServeError::Thread { name: "http", source })?;
    runtime.block_on(serve(config))
}

#[expect(clippy::disallowed_methods, reason = "here the process's clock begins")]
fn start_clock() -> (Clock, u64) {
    let started = std::time::Instant::now();
    let unix_start_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let clock = move || Instant(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    (Arc::new(clock), unix_start_s)
}

async fn serve(config: &Config) -> Result<(), ServeError> {
    let (clock, unix_start_s) = start_clock();
    limits::raise_open_files();
    let data = DataDir::open(&config.server.data)?;
    let store = Arc::new(Store::open(&data.database())?);
    let n_shards = threads_or_default(config.gateway.shards);
    let bound = Bound::bind(config, n_shards).await?;
    let metrics = Arc::new(Metrics::new());

    let places = Arc::new(Places::new(places::settings(config)));
    let feeds: Vec<Arc<Feed>> =
        places.iter().map(|place| Arc::new(Feed::new(Replica::new(place.world, place.handle)))).collect();
    let worlds = worlds::start(config, &places, &clock, &metrics)?;
    let shards = shards::prepare(n_shards)?;
    let sessions = sessions::start(config, &places, &bound, &store, &shards, &clock)?;
    let shards = shards::start(shards::Start {
        config,
        places: &places,
        feeds: &feeds,
        prepared: shards,
        sockets: bound.sockets,
        inboxes: &worlds.inboxes,
        hub: &sessions.mail,
        clock: &clock,
        unix_start_s,
    })?;

    let load = LoadHint::default();
    let login = {
        let password_clock = Arc::clone(&clock);
        let passwords = Passwords::start(Cost::default(), load.clone(), password_clock)
            .map_err(|source| ServeError::Thread { name: "passwords", source })?;
        LoginService::new(Arc::clone(&store), passwords, login_config(config)).map_err(ServeError::Random)?
    };
    let http_port = config.server.advertise.http_port.unwrap_or_else(|| bound.http_addr.port());
    let (figures, watched_figures) = tokio::sync::watch::channel(live::Figures::default());
    let portal = Arc::new(Portal {
        sessions: Arc::clone(&sessions.sessions),
        store,
        login,
        places: Arc::clone(&places),
        feeds: feeds.clone(),
        live: Live::new(watched_figures, config.page.watchers_max),
        page: page::ASSETS,
        settings: settings(config, http_port, unix_start_s),
        clock: Arc::clone(&clock),
        counters: HttpCounters::default(),
    });
    let replicas =
        replicas::start(&places, &feeds, &worlds, &sessions.sessions, Arc::clone(&portal), &metrics)?;
    let watch = watch::start(watch::Start {
        metrics: Arc::clone(&metrics),
        clock: Arc::clone(&clock),
        worlds: worlds.watch(),
        shards: shards.watch(),
        replicas: replicas.watch(),
        portal: Arc::clone(&portal),
        load,
        figures,
    })?;

    let draining = Arc::new(AtomicBool::new(false));
    let admin =
        Arc::new(Admin {
            portal: Arc::clone(&portal),
            token: data.admin_token()?,
            metrics: {
                let metrics = Arc::clone(&metrics);
                Box::new(move || metrics.render())
            },
            alive: watch.health(),
            ready: {
                let draining = Arc::clone(&draining);
                Box::new(move || {
                    if draining.load(Ordering::Relaxed) { Err("The server drains.".into()) } else { Ok(()) }
                })
            },
        });
    let public = gateway::http::router(Arc::clone(&portal)).into_make_service_with_connect_info::<Peer>();
    let http = tokio::spawn(axum::serve(bound.http, public).into_future());
    let operator = tokio::spawn(axum::serve(bound.admin, admin::router(admin)).into_future());
    tokio::spawn(live::run(Arc::clone(&portal)));

    let run_file = RunFile::new(bound.http_addr, &bound.udp_addrs, bound.admin_addr);
    data.write_run_file(&run_file)?;
    announce(config, &run_file);

    let signal = wait_for_signal().await?;
    tracing::info!(signal, "draining");
    draining.store(true, Ordering::Relaxed);
    let now = clock();
    sessions.sessions.with(|hub| hub.drain(now, FAREWELL));
    let patience = Duration::from_secs(config.server.drain_s.into());
    if tokio::time::timeout(patience, shards.wait_until_empty()).await.is_err() {
        tracing::warn!(clients = shards.n_clients(), "some clients did not take notice in time");
    }
    http.abort();
    operator.abort();
    // In the order of the way a last word takes: shards → hub → store.
    shards.stop();
    sessions.stop();
    watch.stop();
    worlds.stop();
    replicas.stop();
    data.remove_run_file();
    tracing::info!("stopped");
    Ok(())
}

/// Half the cores, at least one, unless the configuration says otherwise.
fn threads_or_default(configured: u16) -> usize {
    match configured {
        0 => (std::thread::available_parallelism().map_or(1, usize::from) / 2).max(1),
        n => n.into(),
    }
}

fn login_config(config: &Config) -> LoginConfig {
    let login = &config.login;
    let per_minute = |failures: u32| Allowance {
        burst: failures,
        forgiven_after: Duration::from_secs(60) / failures.max(1),
    };
    LoginConfig {
        open_registration: login.open_registration,
        attempts: AttemptLimits {
            address: per_minute(login.address_failures_per_min),
            pair: per_minute(login.account_failures_per_min),
            account: per_minute(login.account_failures_per_min.saturating_mul(3)),
            exempt_loopback: login.loopback_exempt,
            ..AttemptLimits::default()
        },
        ..LoginConfig::default()
    }
}

fn settings(config: &Config, http_port: u16, unix_start_s: u64) -> Settings {
    let radius = |kind: world::ChatKind| kind.radius_m() as i32;
    let advertised = config.server.advertise.ip;
    let host = advertised.map_or_else(|| config.server.http.ip().to_string(), |ip| ip.to_string());
    Settings {
        grid_name: config.server.name.clone(),
        welcome: config.login.welcome.clone(),
        advertised_ip: advertised,
        http_port,
        unix_start_s,
        public_chat: match config.page.public_chat {
            PublicChat::Loopback => live::PublicChat::Loopback,
            PublicChat::Everyone => live::PublicChat::Everyone,
            PublicChat::Nobody => live::PublicChat::Nobody,
        },
        features: SimulatorFeatures {
            grid_name: config.server.name.clone(),
            grid_url: format!("http://{host}:{http_port}/"),
            whisper_m: radius(world::ChatKind::Whisper),
            say_m: radius(world::ChatKind::Say),
            shout_m: radius(world::ChatKind::Shout),
            map_server_url: None,
        },
    }
}

/// Tells on standard output how to get in: the one thing that a newcomer waits for.
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
    // Nobody reads along, then; the log and run.json say the same.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

async fn wait_for_signal() -> Result<&'static str, ServeError> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Signal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Signal)?;
    Ok(tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    })
}
