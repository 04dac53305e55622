//! One client: a bot of crate `bots`, and the rest of a client process: logins, polls of event queues, crashes, returns. Its intents
//! are in `will`.

mod exchange;
mod will;

pub(crate) use exchange::{Answer, Request, Visit, Word};
pub(crate) use will::Mood;

use crate::addresses::{FIRST_PORT, SERVER_IP};
use crate::faults::Faults;
use crate::network::Cuts;
use crate::setting::Setting;
use crate::streams::{Purpose, chance, duration, stream};
use bots::agent::{Agent, AgentConfig, AgentEvent};
use bots::behavior::Behavior;
use bots::identity::Identity;
use bots::login::Credentials;
use bots::prims::PrimCache;
use bots::rng::Rng;
use gateway::hub::Admission;
use ids::{AgentId, Instant, RegionHandle, Uuid};
use std::net::SocketAddrV4;
use std::time::Duration;
use will::{DUTY, Proof};
use wire::llsd::Llsd;

/// Minimum and maximum absence of a client after leaving or being evicted.
const ABSENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(4));
/// Delay of a client after a broken connection.
const RETRY: Duration = Duration::from_secs(1);
/// Edits per second of a client that builds.
const EDITS_PER_S: u32 = 4;
/// Walkers among ten clients; one sits, the others stand.
const WALKERS_OF_10: u32 = 7;

#[derive(Debug)]
enum ClientState {
    Away {
        until: Instant,
    },
    /// A login is under way.
    Asking,
    In(Box<ClientSession>),
}

#[derive(Debug)]
struct ClientSession {
    bot: Agent,
    /// Destination of its travel, if any.
    travels_to: Option<RegionHandle>,
    /// Secret of the newest seed capability.
    secret: Uuid,
    /// Chat lines taken from the observer so far.
    n_heard: u64,
    proof: Proof,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) index: u32,
    pub(crate) agent: AgentId,
    pub(crate) cuts: Cuts,
    pub(crate) visits: Vec<Visit>,
    /// Said and heard since the checks looked last.
    pub(crate) words: Vec<Word>,
    /// Requests that are to leave, with the time until they do.
    pub(crate) requests: Vec<(Duration, Request)>,
    seed: u64,
    setting: Setting,
    places: [RegionHandle; 2],
    will: Rng,
    http: Rng,
    state: ClientState,
    mood: Mood,
    next_whim_at: Instant,
    /// Counts logins; each has a source port of its own, as each start of a viewer has.
    n_logins: u16,
    n_said: u32,
    /// Objects that its viewer keeps between two logins.
    cache: PrimCache,
    /// Circuits that it gave up.
    pub(crate) n_lost: u32,
}

impl Client {
    pub(crate) fn new(
        seed: u64,
        setting: Setting,
        index: u32,
        cuts: Cuts,
        places: [RegionHandle; 2],
    ) -> Self {
        Self {
            setting,
            index,
            agent: AgentId(Uuid::from_u64_pair(0x73_696d, u64::from(index) + 1)),
            cuts,
            visits: Vec::new(),
            words: Vec::new(),
            requests: Vec::new(),
            seed,
            places,
            will: stream(seed, Purpose::Will, index.into()),
            http: stream(seed, Purpose::Http, index.into()),
            state: ClientState::Away { until: setting.comes_at(index) },
            mood: Mood::Roam,
            next_whim_at: Instant::ZERO,
            n_logins: 0,
            n_said: 0,
            cache: PrimCache::default(),
            n_lost: 0,
        }
    }

    /// First and last name.
    pub(crate) fn name(&self) -> (String, String) {
        (format!("Guest{}", self.index), "Resident".to_owned())
    }

    /// Region that it enters first.
    pub(crate) const fn first_region(&self) -> u16 {
        self.setting.first_region(self.index)
    }

    /// Number of logins: messages for an earlier one reach no client.
    pub(crate) const fn generation(&self) -> u16 {
        self.n_logins
    }

    /// Its bot, while it is logged in.
    pub(crate) fn bot(&self) -> Option<&Agent> {
        match &self.state {
            ClientState::In(session) => Some(&session.bot),
            ClientState::Away { .. } | ClientState::Asking => None,
        }
    }

    /// The visit that it is in, once the server has placed it.
    pub(crate) fn present(&self) -> Option<(&Agent, &Visit)> {
        let bot = self.bot().filter(|bot| bot.is_present())?;
        Some((bot, self.visits.last()?))
    }

    /// True if it is in a region and not about to leave it.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(&self.state, ClientState::In(session) if session.bot.is_present() && session.travels_to.is_none())
    }

    /// True if it has completed [`Mood::Prove`].
    pub(crate) fn has_proved(&self) -> bool {
        matches!(&self.state, ClientState::In(session) if session.proof == Proof::Done)
    }

    /// Describes its state for a report.
    pub(crate) fn describe(&self) -> String {
        let state = match &self.state {
            ClientState::Away { .. } => "is away".to_owned(),
            ClientState::Asking => "waits for its login".to_owned(),
            ClientState::In(session) => format!(
                "is in {:?}{}, travels to {:?}, proof {:?}, latest visit {:?}",
                session.bot.region(),
                if session.bot.is_present() { "" } else { " but not present" },
                session.travels_to,
                session.proof,
                self.visits.last(),
            ),
        };
        format!("client {} {state}", self.index)
    }

    pub(crate) fn poll_timeout(&self) -> Instant {
        match &self.state {
            ClientState::Away { until } => *until,
            ClientState::Asking => Instant(u64::MAX),
            ClientState::In(session) => {
                session.bot.poll_timeout().map_or(self.next_whim_at, |at| at.min(self.next_whim_at))
            }
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, faults: &Faults) {
        match &mut self.state {
            ClientState::Away { until } if *until <= now => self.log_in(faults),
            ClientState::In(session) => {
                session.bot.handle_timeout(now);
                if self.next_whim_at <= now {
                    self.act(now, faults);
                }
                self.digest(now);
            }
            ClientState::Away { .. } | ClientState::Asking => {}
        }
    }

    pub(crate) fn handle_datagram(&mut self, now: Instant, port: u8, bytes: &[u8]) {
        let ClientState::In(session) = &mut self.state else { return };
        let remote = SocketAddrV4::new(SERVER_IP, FIRST_PORT + u16::from(port));
        session.bot.handle_datagram(now, remote, bytes);
        self.digest(now);
    }

    pub(crate) fn handle_answer(&mut self, now: Instant, answer: Answer, faults: &Faults) {
        match answer {
            Answer::LoggedIn(admission) => self.enter(now, &admission, faults),
            Answer::Refused => self.state = ClientState::Away { until: now + RETRY },
            // It crashed meanwhile.
            _ if self.bot().is_none() => {}
            Answer::Events { secret, body } => {
                let ack = body.get("id").as_i32();
                for event in body.get("events").as_array() {
                    self.on_event(
                        now,
                        event.get("message").as_str().unwrap_or_default(),
                        event.get("body"),
                        faults,
                    );
                }
                self.request(Duration::ZERO, Request::Poll { secret, ack }, faults);
                self.digest(now);
            }
            Answer::Reset { secret, ack } => self.request(RETRY, Request::Poll { secret, ack }, faults),
            Answer::NotFound { secret } => {
                // The end of an old region's queue is nothing new; that of the current one is the end of the session.
                if matches!(&self.state, ClientState::In(session) if session.secret == secret) {
                    self.go_away(now);
                }
            }
        }
    }

    /// The next outgoing datagram: the server's port, with the bytes in `out`.
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<u8> {
        let ClientState::In(session) = &mut self.state else { return None };
        let remote = session.bot.poll_transmit(now, out)?;
        Some((remote.port() - FIRST_PORT) as u8)
    }

    /// Latency of a request or reply.
    pub(crate) fn http_delay(&mut self, faults: &Faults) -> Duration {
        duration(&mut self.http, Faults::NONE.http_delay, faults.http_delay)
    }

    /// True if the connection breaks before a reply.
    pub(crate) fn http_resets(&mut self, faults: &Faults) -> bool {
        chance(&mut self.http, faults.http_reset)
    }

    fn request(&mut self, after: Duration, request: Request, faults: &Faults) {
        let delay = after + self.http_delay(faults);
        self.requests.push((delay, request));
    }

    fn log_in(&mut self, faults: &Faults) {
        self.n_logins += 1;
        self.state = ClientState::Asking;
        self.request(Duration::ZERO, Request::LogIn, faults);
    }

    fn enter(&mut self, now: Instant, admission: &Admission, faults: &Faults) {
        let credentials = Credentials {
            identity: Identity {
                agent: self.agent,
                session: admission.session_id,
                circuit_code: admission.code,
            },
            simulator: SocketAddrV4::new(SERVER_IP, admission.sim_port),
            region: admission.place.handle,
            region_size_m: admission.place.ground().size_m,
            seed_capability: admission.seed_url.clone(),
            inventory_root: Uuid::nil(),
            trash_folder: Uuid::nil(),
            secure_session: Uuid::nil(),
        };
        let behavior = match self.index % 10 {
            _ if self.mood != Mood::Roam => Behavior::Stand,
            _ if self.setting.builds(self.index) => Behavior::Build,
            0..WALKERS_OF_10 => Behavior::Walk,
            WALKERS_OF_10..9 => Behavior::Stand,
            _ => Behavior::Sit,
        };
        let config = AgentConfig {
            behavior,
            number: self.index,
            rate_hz: EDITS_PER_S,
            observes: true,
            ..AgentConfig::default()
        };
        let seed =
            stream(self.seed, Purpose::Bot, u64::from(self.index) << 16 | u64::from(self.n_logins)).next();
        let secret = secret_of(&admission.seed_url);
        let mut bot = Agent::new(now, &config, &credentials, seed);
        if self.setting == Setting::Site {
            bot.keep_prims(self.cache.clone());
        }
        self.state = ClientState::In(Box::new(ClientSession {
            bot,
            travels_to: None,
            secret,
            n_heard: 0,
            proof: if self.index.is_multiple_of(4) { Proof::Travel } else { Proof::Say },
        }));
        let region = admission.place.handle;
        self.visits.push(Visit { region, began_at: now, arrived_at: None, ended_at: None });
        self.plan_whim(now);
        self.request(Duration::ZERO, Request::Poll { secret, ack: None }, faults);
    }

    fn on_event(&mut self, now: Instant, message: &str, body: &Llsd, faults: &Faults) {
        let ClientState::In(session) = &mut self.state else { return };
        let from = session.bot.region();
        session.bot.handle_event(now, message, body);
        if session.bot.region() == from {
            return;
        }
        let secret = secret_of(body.get("Info").at(0).get("SeedCapability").as_str().unwrap_or_default());
        session.secret = secret;
        let region = session.bot.region();
        self.end_visit(now);
        self.visits.push(Visit { region, began_at: now, arrived_at: None, ended_at: None });
        self.request(Duration::ZERO, Request::Poll { secret, ack: None }, faults);
    }

    /// Handles the bot's events.
    fn digest(&mut self, now: Instant) {
        let visit = self.visits.len().wrapping_sub(1);
        let ClientState::In(session) = &mut self.state else { return };
        if let Some(observer) = session.bot.observer() {
            let n_new = (observer.seen().chats - session.n_heard) as usize;
            session.n_heard = observer.seen().chats;
            let n_known = observer.chat().count() - n_new;
            for heard in observer.chat().skip(n_known) {
                if session.proof == Proof::Hear(heard.text.clone()) {
                    session.proof = Proof::Done;
                }
                self.words.push(Word::Heard { visit, text: heard.text.clone() });
            }
        }
        let mut is_over = session.bot.is_gone();
        while let Some(event) = session.bot.poll_event() {
            match event {
                AgentEvent::Arrived(region) => {
                    self.visits[visit].arrived_at.get_or_insert(now);
                    if session.travels_to == Some(region) {
                        session.travels_to = None;
                    }
                }
                AgentEvent::TeleportFailed(_) => {
                    // After leaving for the new region there is no way back: users then log in again.
                    is_over |= session.travels_to == Some(session.bot.region());
                    session.travels_to = None;
                    if session.proof == Proof::Arrive {
                        session.proof = Proof::Travel;
                    }
                }
                AgentEvent::LoggedOut { .. } => is_over = true,
                AgentEvent::Lost(_) => {
                    self.n_lost += 1;
                    is_over = true;
                }
                AgentEvent::Ping(_) | AgentEvent::Echo(_) => {}
            }
        }
        if is_over {
            self.go_away(now);
        }
    }

    fn go_away(&mut self, now: Instant) {
        let absence = match self.mood {
            Mood::Roam => duration(&mut self.will, ABSENCE.0, ABSENCE.1),
            Mood::Gather | Mood::Prove => DUTY,
        };
        let prims = self.bot().and_then(Agent::observer).and_then(|observer| observer.prims().cache());
        if let Some(cache) = prims.cloned() {
            self.cache = cache;
        }
        self.state = ClientState::Away { until: now + absence };
        self.end_visit(now);
    }

    fn end_visit(&mut self, now: Instant) {
        if let Some(visit) = self.visits.last_mut() {
            visit.ended_at.get_or_insert(now);
        }
    }
}

/// The secret in the URL of a seed capability.
fn secret_of(seed_url: &str) -> Uuid {
    let last = seed_url.rsplit('/').next().unwrap_or_default();
    Uuid::parse_str(last).expect("the hub makes seed URLs of an id")
}
