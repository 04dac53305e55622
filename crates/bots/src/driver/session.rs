//! The HTTP half of all bots, on a thread of its own: login, seed, inventory root, event queue.
//!
//! Facts for the circuits travel as a [`Notice`]. Circuits never wait for this thread; this thread waits for them when [`NOTICES_MAX`]
//! notices are unread.

use super::BotsConfig;
use super::calls::{self, BotCall, Grants};
use super::clock::RunClock;
use super::http::{self, Http, HttpAnswer, HttpError};
use super::notices::{Notice, NoticeSender};
use crate::behavior::Behavior;
use crate::destination::{Destination, TELEPORT_FINISH};
use crate::login::{self, Credentials};
use hyper::{StatusCode, Uri};
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinSet;
use wire::llsd::{Limits, Llsd, xml};

/// Notices that the circuits have not read.
pub(super) const NOTICES_MAX: usize = 16_384;

/// Deadline of a login: behind thousands of others it waits for its turn at the password hash.
const LOGIN_MAX: Duration = Duration::from_secs(300);

/// Deadline of any other request.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// Deadline of an event-queue poll. Servers answer after 30 to 60 s when they have no events.
const POLL_MAX: Duration = Duration::from_secs(120);

/// A poll that fails sooner is an error; a later failure means "no events", as viewers interpret it.
const QUIET_POLL_MIN: Duration = Duration::from_secs(10);

/// Time between polls after an error.
const POLL_PAUSE: Duration = Duration::from_secs(2);

/// Delay of a slow reader before it takes an event-queue answer and polls again. Events pile up meanwhile.
const SLOW_ANSWER: Duration = Duration::from_secs(20);

/// Deadline of the final event-queue request.
const FAREWELL_MAX: Duration = Duration::from_secs(10);

/// Capabilities that bots request from the seed.
const CAPABILITIES: [&str; 14] = [
    EVENT_QUEUE,
    INVENTORY,
    "FetchInventory2",
    "CreateInventoryCategory",
    "NewFileAgentInventory",
    "UpdateNotecardAgentInventory",
    "RequestTaskInventory",
    "SimulatorFeatures",
    "GetDisplayNames",
    "ViewerAsset",
    "GetTexture",
    "ExtEnvironment",
    "RenderMaterials",
    "AvatarPickerSearch",
];
const EVENT_QUEUE: &str = "EventQueueGet";
const INVENTORY: &str = "FetchInventoryDescendents2";

/// Progress of the HTTP half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LoginPhase {
    Staying,
    /// Bots log out; a session that the server has forgotten is no trouble any more.
    Leaving,
    Over,
}

/// The thread's handle.
#[derive(Debug)]
pub(super) struct HttpThread {
    phase: watch::Sender<LoginPhase>,
    wanted: watch::Sender<u32>,
    answers_lie: watch::Sender<Duration>,
    thread: JoinHandle<()>,
}

impl HttpThread {
    /// Logs bots in until `bots` of them have logged in.
    pub(super) fn want(&self, bots: u32) {
        self.wanted.send_replace(bots);
    }

    /// The bots behave so from now on.
    pub(super) fn behave(&self, behavior: Behavior) {
        self.answers_lie.send_replace(answers_lie(behavior));
    }

    /// The bots log out now.
    pub(super) fn leave(&self) {
        self.phase.send_replace(LoginPhase::Leaving);
    }

    /// Says goodbye to all event queues and waits for that.
    pub(super) fn finish(self) {
        self.phase.send_replace(LoginPhase::Over);
        // Its panic was printed when it happened.
        let _ = self.thread.join();
    }

    /// True once the thread ended, which before the end of the run only a panic causes.
    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }
}

/// Begins the first logins; [`HttpThread::want`] may ask for more, up to the number in the configuration.
pub(super) fn start(
    config: &BotsConfig,
    clock: RunClock,
    login_uri: Uri,
    mailbox: NoticeSender,
    (grants, calls): (Grants, UnboundedReceiver<BotCall>),
    first: u32,
) -> io::Result<HttpThread> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, receiver) = watch::channel(LoginPhase::Staying);
    let (wanted, wants) = watch::channel(first);
    let (answers_lie, lying) = watch::channel(answers_lie(config.agent.behavior));
    let config = config.clone();
    let thread = std::thread::Builder::new().name("bots-http".to_owned()).spawn(move || {
        let signals = Signals { phase: receiver, wants, lying };
        runtime.block_on(async {
            let http = Http::new();
            tokio::spawn(calls::serve(http.clone(), mailbox.clone(), grants.clone(), calls));
            let shared = SharedParts { http, mailbox, grants };
            log_in_all(&config, clock, login_uri, shared, signals).await;
        });
    })?;
    Ok(HttpThread { phase: sender, wanted, answers_lie, thread })
}

/// Delay before bots of this behaviour take an event-queue answer.
fn answers_lie(behavior: Behavior) -> Duration {
    if behavior == Behavior::SlowReader { SLOW_ANSWER } else { Duration::ZERO }
}

/// Signals to the running thread.
struct Signals {
    phase: watch::Receiver<LoginPhase>,
    wants: watch::Receiver<u32>,
    lying: watch::Receiver<Duration>,
}

/// Parts that all sessions share.
#[derive(Clone, Debug)]
struct SharedParts {
    http: Http,
    mailbox: NoticeSender,
    grants: Grants,
}

async fn log_in_all(
    config: &BotsConfig,
    clock: RunClock,
    login_uri: Uri,
    shared: SharedParts,
    signals: Signals,
) {
    let Signals { mut phase, mut wants, lying } = signals;
    let mut sessions = JoinSet::new();
    let period = Duration::from_secs_f64(1.0 / config.ramp_per_s);
    let mut turn = clock.now();
    for bot in 0..config.count {
        if bot >= *wants.borrow() {
            tokio::select! {
                _ = wants.wait_for(|&wanted| bot < wanted) => turn = clock.now(),
                () = until(&mut phase, LoginPhase::Leaving) => break,
            }
        }
        tokio::select! {
            () = tokio::time::sleep(turn - clock.now()) => turn += period,
            () = until(&mut phase, LoginPhase::Leaving) => break,
        }
        let first = first_name(bot);
        let session = HttpSession { bot, shared: shared.clone(), phase: phase.clone(), lying: lying.clone() };
        let request = login::request(&first, &config.last_name, &config.password);
        sessions.spawn(session.run(clock, login_uri.clone(), request));
    }
    until(&mut phase, LoginPhase::Over).await;
    while let Some(ended) = sessions.join_next().await {
        ended.expect("a session's task neither panics nor is cancelled");
    }
}

/// `Bot0001` and on, so that they sort.
fn first_name(bot: u32) -> String {
    format!("Bot{:04}", u64::from(bot) + 1)
}

async fn until(phase: &mut watch::Receiver<LoginPhase>, wanted: LoginPhase) {
    // The sender is dropped with the run, which is as good as over.
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}

/// Reasons for a session to leave a region's event queue.
enum Departure {
    /// To the region with this seed.
    Teleport(String),
    /// The server has forgotten the session, or the run is over.
    End,
}

/// Content of a poll request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PollContent {
    Next,
    Farewell,
}

/// The HTTP half of one bot.
struct HttpSession {
    bot: u32,
    shared: SharedParts,
    phase: watch::Receiver<LoginPhase>,
    /// Delay before event-queue answers are taken.
    lying: watch::Receiver<Duration>,
}

impl HttpSession {
    async fn run(mut self, clock: RunClock, login_uri: Uri, request: String) {
        let began_at = clock.now();
        let mut phase = self.phase.clone();
        let credentials = tokio::select! {
            credentials = self.log_in(&login_uri, request) => credentials,
            () = until(&mut phase, LoginPhase::Leaving) => return,
        };
        match credentials {
            Ok(credentials) => {
                let notice =
                    Notice::LoggedIn { bot: self.bot, credentials: Box::new(credentials.clone()), began_at };
                self.shared.mailbox.post(notice);
                self.stay(credentials).await;
            }
            Err(reason) => self.shared.mailbox.post(Notice::LoginFailed { bot: self.bot, reason }),
        }
    }

    async fn log_in(&self, uri: &Uri, request: String) -> Result<Credentials, String> {
        let answer = self.shared.http.post(uri, "text/xml", request, LOGIN_MAX).await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status != StatusCode::OK {
            return Err(format!("status {}", answer.status.as_u16()));
        }
        login::read_reply(&answer.body).map_err(|error| error.to_string())
    }

    /// Attends to one region after the other.
    async fn stay(&mut self, credentials: Credentials) {
        let mut seed = credentials.seed_capability.clone();
        let mut has_inventory = false;
        loop {
            let grants = match self.grants(&seed).await {
                Ok(grants) => grants,
                Err(reason) => return self.trouble(format!("seed: {reason}")),
            };
            self.shared.grants.set(self.bot, grants.clone());
            if !std::mem::replace(&mut has_inventory, true)
                && let Err(reason) = self.fetch_inventory_root(&grants, &credentials).await
            {
                self.trouble(format!("inventory: {reason}"));
            }
            let queue = match capability(&grants, EVENT_QUEUE) {
                Ok(queue) => queue,
                Err(reason) => return self.trouble(format!("event queue: {reason}")),
            };
            match self.attend(&queue).await {
                Departure::Teleport(next) => seed = next,
                Departure::End => return,
            }
        }
    }

    async fn grants(&self, seed: &str) -> Result<Llsd, String> {
        let uri = http::parse_uri(seed).map_err(|reason| format!("{seed:?}: {reason}"))?;
        self.call(&uri, &Llsd::array(CAPABILITIES)).await
    }

    async fn fetch_inventory_root(&self, grants: &Llsd, credentials: &Credentials) -> Result<(), String> {
        let folder = Llsd::map([
            ("folder_id", Llsd::from(credentials.inventory_root)),
            ("owner_id", Llsd::from(credentials.identity.agent.0)),
            ("fetch_folders", Llsd::from(true)),
            ("fetch_items", Llsd::from(true)),
            ("sort_order", Llsd::from(1)),
        ]);
        let request = Llsd::map([("folders", Llsd::Array(vec![folder]))]);
        let reply = self.call(&capability(grants, INVENTORY)?, &request).await?;
        let fetched = reply.get("folders").at(0).get("folder_id").as_uuid();
        if fetched == Some(credentials.inventory_root) { Ok(()) } else { Err("no such folder".to_owned()) }
    }

    /// A request to a capability that answers with LLSD.
    async fn call(&self, uri: &Uri, request: &Llsd) -> Result<Llsd, String> {
        let answer = self.post(uri, request, REQUEST_MAX).await.map_err(|error| error.to_string())?;
        if answer.status != StatusCode::OK {
            return Err(format!("status {}", answer.status.as_u16()));
        }
        xml::decode(&answer.body, Limits::REPLY).map_err(|reason| reason.to_string())
    }

    async fn post(&self, uri: &Uri, request: &Llsd, timeout: Duration) -> Result<HttpAnswer, HttpError> {
        self.shared.http.post(uri, "application/llsd+xml", xml::encode(request), timeout).await
    }

    /// Holds a poll of the event queue until the bot teleports or the run is over.
    async fn attend(&mut self, queue: &Uri) -> Departure {
        let mut ack = Llsd::Undef;
        let mut phase = self.phase.clone();
        loop {
            let asked_at = tokio::time::Instant::now();
            let request = poll_request(&ack, PollContent::Next);
            let answer = tokio::select! {
                answer = self.post(queue, &request, POLL_MAX) => answer,
                () = until(&mut phase, LoginPhase::Over) => {
                    self.take_leave(queue, &ack).await;
                    return Departure::End;
                }
            };
            match answer {
                Ok(HttpAnswer { status: StatusCode::OK, body }) => {
                    self.let_lie().await;
                    let Ok(reply) = xml::decode(&body, Limits::REPLY) else {
                        self.fail_poll("event queue: unreadable reply".to_owned()).await;
                        continue;
                    };
                    ack = reply.get("id").clone();
                    if let Some(seed) = self.pass_on(&reply) {
                        self.take_leave(queue, &ack).await;
                        return Departure::Teleport(seed);
                    }
                }
                Ok(HttpAnswer { status: StatusCode::NOT_FOUND, .. }) => {
                    if *self.phase.borrow() == LoginPhase::Staying {
                        self.trouble("event queue: status 404".to_owned());
                    }
                    return Departure::End;
                }
                Ok(answer) if asked_at.elapsed() < QUIET_POLL_MIN || !is_quiet(answer.status) => {
                    self.fail_poll(format!("event queue: status {}", answer.status.as_u16())).await;
                }
                Err(error) if asked_at.elapsed() < QUIET_POLL_MIN => {
                    self.fail_poll(format!("event queue: {error}")).await;
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Waits for as long as a slow reader does, unless it becomes quicker meanwhile or the run is over.
    async fn let_lie(&mut self) {
        let lies_for = *self.lying.borrow();
        let mut phase = self.phase.clone();
        tokio::select! {
            () = tokio::time::sleep(lies_for) => {}
            _ = self.lying.wait_for(Duration::is_zero) => {}
            () = until(&mut phase, LoginPhase::Over) => {}
        }
    }

    /// Hands the events of a reply to the circuit; gives the seed of the region to which one of them leads.
    fn pass_on(&self, reply: &Llsd) -> Option<String> {
        let mut seed = None;
        for event in reply.get("events").as_array() {
            let message = event.get("message").as_str().unwrap_or_default().to_owned();
            let body = event.get("body").clone();
            if message == TELEPORT_FINISH {
                seed = Destination::from_event(&body).map(|destination| destination.seed_capability);
            }
            self.shared.mailbox.post(Notice::AgentEvent { bot: self.bot, message, body });
        }
        seed
    }

    /// Ends an event queue as node-metaverse does. Behind a logout or teleport the server knows the queue for a few
    /// seconds longer, so this is answered.
    async fn take_leave(&self, queue: &Uri, ack: &Llsd) {
        match self.post(queue, &poll_request(ack, PollContent::Farewell), FAREWELL_MAX).await {
            Ok(answer) if answer.status.is_success() => {}
            Ok(answer) => self.trouble(format!("event queue: farewell: status {}", answer.status.as_u16())),
            Err(error) => self.trouble(format!("event queue: farewell: {error}")),
        }
    }

    async fn fail_poll(&self, reason: String) {
        if *self.phase.borrow() == LoginPhase::Staying {
            self.trouble(reason);
        }
        tokio::time::sleep(POLL_PAUSE).await;
    }

    fn trouble(&self, reason: String) {
        self.shared.mailbox.post(Notice::Trouble { bot: self.bot, reason });
    }
}

fn poll_request(ack: &Llsd, poll: PollContent) -> Llsd {
    Llsd::map([("ack", ack.clone()), ("done", Llsd::from(poll == PollContent::Farewell))])
}

/// True if a late end of a poll with this status only means "no events".
fn is_quiet(status: StatusCode) -> bool {
    matches!(status.as_u16(), 499 | 500 | 502 | 503 | 504)
}

fn capability(grants: &Llsd, name: &str) -> Result<Uri, String> {
    let granted = grants.get(name).as_str().ok_or_else(|| "not granted".to_owned())?;
    http::parse_uri(granted).map_err(|reason| format!("{granted:?}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_and_go_on_behind_the_last_digit() {
        assert_eq!([0, 9_998, 9_999].map(first_name), ["Bot0001", "Bot9999", "Bot10000"]);
    }

    #[test]
    fn a_poll_acks_what_came_before() {
        let first = poll_request(&Llsd::Undef, PollContent::Next);
        assert!(first.get("ack").is_undef() && first.get("done").as_bool() == Some(false));
        let last = poll_request(&Llsd::from(7), PollContent::Farewell);
        assert!(last.get("ack").as_i32() == Some(7) && last.get("done").as_bool() == Some(true));
    }

    #[test]
    fn a_capability_must_be_granted_as_an_address() {
        let grants =
            Llsd::map([("A", "http://127.0.0.1:1/cap"), ("B", "nowhere")].map(|(k, v)| (k, v.into())));
        assert!(capability(&grants, "A").is_ok());
        assert!(capability(&grants, "B").is_err());
        assert_eq!(capability(&grants, "C"), Err("not granted".to_owned()));
    }
}
