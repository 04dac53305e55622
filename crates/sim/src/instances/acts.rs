//! Acts of users, programs and accidents, and the passing of time.

use super::*;

impl Surroundings {
    fn new(scenario: InstanceScenario) -> Self {
        let ground = |&(_, size_m): &(&str, u32)| {
            let terrain = Arc::new(Terrain::flat(size_m, 22.0));
            Arc::new(EncodedGround::new(GroundSpec::new(terrain, Arc::default(), 20.0)))
        };
        let grounds: Vec<Arc<EncodedGround>> = TEMPLATES.iter().map(ground).collect();
        let spec = grounds[0].spec();
        let cast = village::contested_cast(&spec.terrain, &spec.scenery, spec.water_m);
        let time = Arc::new(AtomicU64::new(0));
        let clock: Clock = {
            let time = Arc::clone(&time);
            Arc::new(move || Instant(time.load(Ordering::Relaxed)))
        };
        Self {
            casts: Arc::new(CastLibrary::of([Arc::clone(&cast)])),
            store: Arc::new(StoreModel::new(Arc::clone(&clock), scenario.sabotage)),
            cast,
            grounds,
            time,
            clock,
        }
    }

    fn template(&self, (name, ground): (&str, &Arc<EncodedGround>)) -> Template {
        Template {
            name: name.into(),
            ground: Arc::clone(ground.spec()),
            portals: Arc::default(),
            cast: (name == VILLAGE).then(|| Arc::clone(&self.cast)),
            script: None,
            max_avatars: MAX_AVATARS,
            hz: 20,
            keep: Some(KEEP),
        }
    }
}

impl Process {
    fn start(scenario: InstanceScenario, seed: u64, around: &Surroundings) -> Self {
        let Surroundings { grounds, casts, store, clock, .. } = around;
        let portal = |(n, (template, _)): (usize, &(&str, u32))| Portal {
            at: Vec3::new(20.0 + 10.0 * n as f32, 20.0, 22.0),
            radius_m: 1.0,
            to: PortalTo::Own((*template).into()),
        };
        let portals: Arc<[Portal]> = TEMPLATES.iter().enumerate().map(portal).collect();
        let region = |n: u32| {
            let (ground, portals) = (Arc::clone(&grounds[0]), Arc::clone(&portals));
            let spec = region_spec(n, &ground, portals);
            PlaceSettings { grid: (1_000 + n, 1_000), spec, ground }
        };
        let places = Arc::new(Places::new((0..N_REGIONS).map(region).collect()));
        let config = HubConfig {
            udp_ports: (9_000..9_016).collect(),
            http_port: 9_000,
            sessions_max: 100,
            arrival_timeout: Duration::from_secs(30),
        };
        let config_of_registry = RegistryConfig {
            instances_max: INSTANCES_MAX,
            active_max: ACTIVE_MAX,
            suspend_after: SUSPEND_AFTER,
            host: HostNumber(1),
            local_ids: LOCAL_IDS,
            portal_max: PORTAL_MAX,
            per_user_max: 0,
            unix_start_s: UNIX_START_S,
        };
        let facts = |&(name, _): &(&str, u32)| TemplateFacts {
            name: name.into(),
            n_local_ids: 100,
            n_npcs: if name == VILLAGE { village::NPCS as usize } else { 0 },
            keep: Some(KEEP),
        };
        let mut registry = Registry::new(config_of_registry, TEMPLATES.iter().map(facts).collect());
        store.rows().into_values().for_each(|row| registry.load(row, None));
        let pool = PoolModel::new(scenario.hosts, &places, grounds, casts, store, scenario.sabotage);
        let rng = stream(seed, Purpose::Instances, 1);
        let constructions = Arc::new(ConstructionModel::new(Arc::clone(clock), rng));
        let backend = WorkplaceBackend {
            persistence: Arc::<StoreModel>::clone(store),
            pool: Arc::new(pool.clone()),
            constructions: Arc::<ConstructionModel>::clone(&constructions),
            clock: Arc::clone(clock),
        };
        let names = TEMPLATES.iter().map(|&(name, _)| name);
        let templates = names.zip(grounds).map(|template| around.template(template)).collect();
        Self {
            hub: Hub::new(config, places, entropy_of(seed)),
            coordinator: Coordinator::new(registry),
            pool,
            workplace: Arc::new(InstanceWorkplace::new(templates, backend, &Metrics::new())),
            constructions,
            reports: Reports::default(),
            jobs: BTreeMap::new(),
            asked: BTreeSet::new(),
            travelling: Vec::new(),
            is_stopped: false,
            mail: VecDeque::new(),
            standing: BTreeMap::new(),
            agents: BTreeMap::new(),
            next_journal: Instant::ZERO,
            next_request: 0,
            next_command: 1,
        }
    }

    /// True if each request has its reply, and each travel order its end.
    fn has_answered_all(&self) -> bool {
        self.asked.is_empty() && self.travelling.is_empty()
    }
}

impl InstanceRun {
    pub(super) fn new(scenario: InstanceScenario) -> Self {
        let seed = scenario.seed;
        let around = Surroundings::new(scenario);
        let now = Instant::from_millis(100_000);
        around.time.store(now.0, Ordering::Relaxed);
        Self {
            scenario,
            rng: stream(seed, Purpose::Instances, 0),
            moves_rng: stream(seed, Purpose::Moves, 0),
            tick: Tick(0),
            now,
            writable_since: now,
            process: Process::start(scenario, seed, &around),
            around,
            visits: BTreeMap::new(),
            owners: BTreeMap::new(),
            seen: BTreeMap::new(),
            ending: BTreeSet::new(),
            is_stopping: false,
            acknowledged: BTreeSet::new(),
            ended: BTreeSet::new(),
            report: InstanceReport::default(),
        }
    }

    /// From 0 up to `sides`.
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        roll(&mut self.rng, sides)
    }

    /// Less than `max` milliseconds.
    pub(super) fn ms(&mut self, max: u64) -> Duration {
        Duration::from_millis(self.roll(max))
    }

    pub(super) fn is_sabotaged(&self, sabotage: InstanceSabotage) -> bool {
        self.scenario.sabotage == Some(sabotage)
    }

    pub(super) fn id(&mut self) -> Uuid {
        Uuid::from_u64_pair(self.roll(u64::MAX), self.roll(u64::MAX))
    }

    /// Number of the next request or travel order.
    pub(super) fn number(&mut self) -> RequestId {
        let number = RequestId(self.process.next_request);
        self.process.next_request += 1;
        number
    }

    pub(super) fn request(&mut self, request: InstanceRequest) {
        let number = self.number();
        self.process.asked.insert(number);
        self.process.coordinator.handle_request(self.now, number, request);
    }

    pub(super) fn log_in(&mut self, user: u128) {
        let login = Login {
            incarnation: Incarnation(0),
            agent: agent(user),
            first_name: "User".into(),
            last_name: user.to_string().into(),
            server_ip: Ipv4Addr::LOCALHOST,
            start: Spot { place: PlaceId(user as u16 % 2), position: Vec3::splat(30.0), look_at: Vec3::X },
            home: None,
            wearables: Arc::from([]),
            look: None,
        };
        // A second login ends the first one, which may have to be waited for.
        let _ = self.process.hub.login(self.now, login);
    }

    /// One act of a user, a program or an accident.
    pub(super) fn act(&mut self) {
        let user = u128::from(self.roll(USERS as u64));
        let agent = agent(user);
        let known: Vec<Uuid> =
            self.process.coordinator.registry().summaries().map(|summary| summary.row.id).collect();
        // Now and then one that does not exist.
        let id = known.get(self.roll(known.len() as u64 + 1) as usize).copied().unwrap_or(Uuid::nil());
        let session = self.process.standing.get(&agent).map(|(circuit, _)| circuit.session);
        match self.roll(20) {
            0..3 => {
                let (template, _) = TEMPLATES[self.roll(2) as usize];
                let owner = (self.roll(2) == 0).then_some(agent);
                let new = self.new_instance(template, owner);
                self.request(InstanceRequest::Open(new));
            }
            3..7 => {
                if let Some(session) = session {
                    let visitor = Visitor { session, ticket: None, from: None };
                    let enter = InstanceRequest::Enter { instance: id, visitor, position: None };
                    self.request(enter);
                }
            }
            7..10 => {
                if let Some(&(circuit, world)) = self.process.standing.get(&agent) {
                    let number = self.roll(2) as u8;
                    self.send_to_hub(FromShard::Request(circuit, Request::Portal { world, number }));
                }
            }
            10..12 => {
                if let Some(session) = session {
                    let visitor = Visitor { session, ticket: None, from: None };
                    self.request(InstanceRequest::Dismiss(visitor));
                }
            }
            12 => self.request(InstanceRequest::Suspend(id)),
            13 => self.request(InstanceRequest::Resume(id)),
            14 => {
                if self.roll(2) == 0 {
                    // From here on it may be gone, whatever the reply.
                    self.acknowledged.remove(&id);
                    self.ending.insert(id);
                    self.request(InstanceRequest::End(id));
                }
            }
            15 => match self.process.standing.get(&agent) {
                Some(&(circuit, _)) => self.close(circuit, Closed::LoggedOut),
                None => self.log_in(user),
            },
            16 => {
                let n_worlds = self.process.pool.hosted().worlds.len() as u64;
                let n = self.roll(n_worlds + 1) as usize;
                if let Some(world) = self.process.pool.hosted().worlds.values_mut().nth(n) {
                    world.is_to_panic = true;
                }
            }
            17 => {
                let refuses = self.roll(4) == 0;
                self.around.store.refuse(refuses);
            }
            18 if self.roll(12) == 0 => self.kill(),
            _ => self.log_in(user),
        }
        let standing: Vec<(CircuitKey, WorldId)> = self.process.standing.values().copied().collect();
        for (circuit, world) in standing {
            if self.process.pool.hosted().worlds.contains_key(&world) && self.roll(4) == 0 {
                self.walk_or_talk(circuit, world);
            }
        }
        // Their commands wait in the inbox then.
        if self.scenario.moves && roll(&mut self.moves_rng, 10) == 0 {
            self.move_any_world();
        }
    }

    pub(super) fn new_instance(&mut self, template: &str, owner: Option<AgentId>) -> NewInstance {
        let id = self.id();
        self.owners.insert(id, owner);
        NewInstance { id, template: template.into(), name: None, owner, created_s: 0, maker: None }
    }

    /// The process ends at once. Each transaction under way was committed, or was not.
    pub(super) fn kill(&mut self) {
        for ((_, id), job) in std::mem::take(&mut self.process.jobs) {
            if self.roll(2) == 0 {
                self.carry_out(id, job);
            }
        }
        for id in &self.acknowledged {
            assert!(self.around.store.has_row(*id), "{id} was acknowledged and is lost");
        }
        for id in &self.ended {
            assert!(!self.around.store.has_row(*id), "{id} has ended and is back");
        }
        self.visits = self.around.store.visits();
        // Last visits are written with a delay.
        self.seen.clear();
        self.end_process();
        self.process.constructions.clear();
        self.report.kills += 1;
        let seed = self.roll(u64::MAX);
        self.process = Process::start(self.scenario, seed, &self.around);
        for summary in self.process.coordinator.registry().summaries() {
            let InstanceRow { id, owner, .. } = summary.row;
            assert_eq!(owner, self.owners[&id], "the owner of {id} is lost");
        }
    }

    /// Adds the figures of this life of the node to the report.
    fn end_process(&mut self) {
        let Process { coordinator, pool, .. } = &self.process;
        self.report.expired += coordinator.registry().counters().expired;
        self.report.suspended += pool.hosted().suspended;
        self.report.resumed += pool.hosted().resumed;
    }

    /// Lets time pass until the next turn.
    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
        let now = self.now;
        self.around.time.store(now.0, Ordering::Relaxed);
        self.step_worlds();
        while self.process.mail.front().is_some_and(|(at, _)| *at <= now) {
            let (_, mail) = self.process.mail.pop_front().expect("looked at");
            self.on_mail(mail);
        }
        while let Some((&(at, id), _)) = self.process.jobs.first_key_value()
            && at <= now
        {
            let job = self.process.jobs.remove(&(at, id)).expect("looked up");
            self.carry_out(id, job);
            self.drain();
        }
        self.process.constructions.run_due(now);
        self.write_journal();
        self.assert_journal_is_timely();
        self.process.hub.handle_timeout(now);
        if now >= self.process.coordinator.poll_timeout() {
            self.process.coordinator.handle_timeout(now);
            self.drain();
            self.process.workplace.end_abandoned_starts();
        }
        self.drain();
    }

    /// Passes on the outputs of coordinator and hub, until neither has any.
    pub(super) fn drain(&mut self) {
        loop {
            self.process.coordinator.registry().assert_invariants();
            if let Some((id, outcome)) = self.process.reports.next() {
                self.process.coordinator.handle_outcome(self.now, id, outcome);
            } else if let Some(output) = self.process.coordinator.poll_output() {
                self.on_output(output);
            } else if let Some(order) = self.process.hub.poll_order() {
                self.on_travel_order(order);
            } else if let Some((_, mail)) = self.process.hub.poll_output() {
                // In order, each some time after the one before.
                let last = self.process.mail.back().map_or(self.now, |(at, _)| *at);
                let at = last.max(self.now) + self.ms(40);
                self.process.mail.push_back((at, mail));
            } else if self.process.hub.poll_record().is_none()
                && self.process.hub.poll_lookup().is_none()
                && self.process.hub.poll_inventory().is_none()
            {
                return;
            }
        }
    }

    /// Lets everything come to rest.
    pub(super) fn rest(&mut self) {
        self.around.store.refuse(false);
        let until = self.now + REST;
        while self.now < until {
            let inside: Vec<SessionKey> =
                self.process.standing.values().map(|(circuit, _)| circuit.session).collect();
            for session in inside {
                let _ = self.process.hub.leave(self.now, session);
            }
            self.pass(Duration::from_millis(100));
        }
    }

    /// Stops the node, occupied or not: each world is saved.
    pub(super) fn stop(&mut self) {
        self.around.store.refuse(false);
        let until = self.now + REST;
        // Worlds that are down begin again.
        while self.process.pool.hosted().is_any_down() {
            assert!(self.now < until, "a world stays down");
            self.pass(Duration::from_millis(100));
        }
        // The journal's thread ends first.
        self.process.workplace.write_changes();
        self.is_stopping = true;
        self.process.coordinator.begin_stop(self.now);
        let until = self.now + Duration::from_secs(10);
        // A server does not wait for worlds under construction; the model does, to see them answered.
        while !(self.process.is_stopped
            && self.process.coordinator.registry().is_stopped()
            && self.process.has_answered_all())
        {
            assert!(self.now < until, "the node does not stop");
            self.pass(Duration::from_millis(100));
        }
        assert_eq!(self.process.coordinator.n_pending(), 0, "requests are unanswered");
        let hosted = self.process.pool.hosted();
        assert!(hosted.worlds.is_empty(), "worlds are left in memory");
        let saved = self.around.store.visits();
        for (id, visits) in self.visits.iter().filter(|(id, _)| !hosted.begun_empty.contains(id)) {
            assert_eq!(saved.get(id), Some(visits), "visits of {id} are not saved");
        }
        drop(hosted);
        self.end_process();
        self.report.journalled = self.around.store.n_journalled();
    }

    /// Asserts the conditions that hold once everything has come to rest.
    pub(super) fn assert_at_rest(&self) {
        let Process { hub, coordinator, pool, asked, travelling, .. } = &self.process;
        assert!(
            self.process.has_answered_all(),
            "requests {asked:?} and orders {travelling:?} are unanswered"
        );
        assert_eq!(coordinator.n_pending(), 0, "requests are unanswered");
        let registry = coordinator.registry();
        let visitors = hub.visitors();
        assert!(
            visitors.keys().all(|world| world.0 <= SHARED_WORLDS_MAX),
            "all are in regions: {visitors:?}"
        );
        assert_eq!(registry.counts().1, 0, "empty instances are suspended");
        assert!(pool.hosted().worlds.is_empty(), "worlds are left without an instance");
        let known: BTreeSet<Uuid> = registry.summaries().map(|summary| summary.row.id).collect();
        assert!(
            known.iter().eq(self.around.store.rows().keys()),
            "registry and store know the same instances"
        );
    }
}
