//! Start of a node under test: pool, database, hub, and the threads of its instances.

use super::*;
use gateway::hub::Entropy;
use gateway::sessions::{Mailbox, TakeOrder};

/// Parts in which nodes under test differ.
pub(super) struct StartUp<'a> {
    pub(super) config: &'a TestConfig,
    pub(super) url: store::StoreUrl,
    pub(super) clock: Clock,
    /// Templates of the portals of both regions.
    pub(super) portals: [&'static str; 2],
    pub(super) sessions_max: usize,
    pub(super) arrival_timeout: Duration,
    pub(super) entropy: Entropy,
    pub(super) shards: Vec<Mailbox>,
    /// Receiver of the hub's orders in place of the driver.
    pub(super) orders: Option<TakeOrder>,
    /// Model in place of the hub; the journal is then written when a test says so.
    pub(super) model: Option<GatewayModel>,
}

/// A node under test, on its threads.
pub(super) struct Started {
    pub(super) instances: Arc<Instances>,
    pub(super) admission: Arc<Admission>,
    pub(super) threads: InstanceThreads,
    pub(super) sessions: Arc<Sessions>,
    pub(super) instance_store: Arc<InstanceStore>,
    pub(super) fuses: Fuses,
    pub(super) metrics: Arc<Metrics>,
    pub(super) worlds: Worlds,
}

impl StartUp<'_> {
    pub(super) fn start(self) -> Started {
        let Self { config, url, clock, portals, sessions_max, arrival_timeout, .. } = self;
        let metrics = Arc::new(Metrics::new());
        let mut fuses = Fuses::default();
        let places = Arc::new(regions(portals));
        let worlds = worlds::start(2, &places, &clock, &metrics, Recorder::off(), &mut fuses).unwrap();
        let hub_config = HubConfig {
            udp_ports: (9_000..9_016).collect(),
            http_port: 9_000,
            sessions_max,
            arrival_timeout,
        };
        let hub = Hub::new(hub_config, places, self.entropy);
        let mailbox = InstanceMailbox::new();
        let orders = self.orders.unwrap_or_else(|| mailbox.take_orders());
        let (records, lookups) = (sync_channel(10).0, sync_channel(1).0);
        let sessions =
            Arc::new(Sessions::new(hub, self.shards, records, orders, lookups, LockWait::default()));
        let (instance_store, known) =
            InstanceStore::open(&url, fuses.at("instances"), &clock, &metrics).unwrap();
        let start = InstancesConfig {
            limits: config.limits,
            known,
            mailbox,
            parts: WorkplaceParts {
                templates: config.templates.iter().map(TestTemplate::build).collect(),
                instance_store: &instance_store,
                inboxes: &worlds.inboxes,
                pool: worlds.workplace(),
                long: worlds.long(),
                sessions: &sessions,
                clock: &clock,
                dead_reckoning: true,
                metrics: &metrics,
            },
            metrics: &metrics,
            unix_start_s: UNIX_START_S,
            recorder: Recorder::off(),
        };
        let started = match self.model {
            Some(model) => start_with(start, Box::new(model)),
            None => super::super::start(start),
        };
        let (instances, admission, threads) = started.unwrap();
        Started { instances, admission, threads, sessions, instance_store, fuses, metrics, worlds }
    }
}
