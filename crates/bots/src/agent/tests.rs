//! A bot against a minimal region on virtual time, over a link that may be bad.

use super::*;
use crate::behavior::SIT_ON_GROUND;
use crate::hostile::{AttackKind, GARBAGE_PER_S, LINES_PER_S, TURN_RAD, UPDATES_PER_S};
use crate::link::{Conditions, ImpairedLink};
use crate::region::ServedRegion;
use crate::scene::{self, IDENTITY};
use ids::{AgentId, LocalId, Uuid};
use std::collections::BTreeMap;
use wire::llsd::Llsd;
use wire::messages::{
    AgentSetAppearance, AgentThrottle, AgentUpdateAgentData, ChatFromSimulator, CoarseLocationUpdate,
    CoarseLocationUpdateAgentData, DisableSimulator, KickUser, MapNameRequest, Message, ObjectUpdate,
    TeleportFailed,
};
use wire::throttle::Throttles;

const HERE: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 9000);
const THERE: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 9001);
const TICK: Duration = Duration::from_millis(10);

/// A bot and the regions that it may go to.
struct Pair {
    now: Instant,
    bot: Agent,
    servers: BTreeMap<SocketAddrV4, ServedRegion>,
    up: ImpairedLink<(SocketAddrV4, Vec<u8>)>,
    down: ImpairedLink<(SocketAddrV4, Vec<u8>)>,
    events: Vec<AgentEvent>,
    /// FNV-1a over everything that the bot sent.
    trace: u64,
}

impl Pair {
    fn new(seed: u64, config: AgentConfig, conditions: Conditions) -> Self {
        let now = Instant::from_millis(1000);
        let credentials = Credentials {
            identity: IDENTITY,
            simulator: HERE,
            region: RegionHandle::from_grid(1000, 1000),
            region_size_m: 256,
            seed_capability: String::new(),
            inventory_root: Uuid::nil(),
            trash_folder: Uuid::nil(),
            secure_session: Uuid::nil(),
        };
        Self {
            now,
            bot: Agent::new(now, &config, &credentials, seed),
            servers: BTreeMap::from([(HERE, ServedRegion::new(now))]),
            up: ImpairedLink::new(conditions, Rng::new(seed, 1)),
            down: ImpairedLink::new(conditions, Rng::new(seed, 2)),
            events: Vec::new(),
            trace: 0xCBF2_9CE4_8422_2325,
        }
    }

    fn perfect(config: AgentConfig) -> Self {
        Self::new(1, config, Conditions::default())
    }

    fn server(&mut self) -> &mut ServedRegion {
        self.servers.get_mut(&HERE).expect("always there")
    }

    fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.now += TICK;
            self.turn();
        }
    }

    fn turn(&mut self) {
        let now = self.now;
        let mut datagram = Vec::new();
        while let Some((to, bytes)) = self.up.poll(now) {
            if let Some(server) = self.servers.get_mut(&to) {
                server.handle(now, &bytes);
            }
        }
        for (&from, server) in &mut self.servers {
            if now.0.is_multiple_of(100_000_000) {
                server.step();
            }
            server.circuit.handle_timeout(now);
            while server.circuit.poll_transmit(now, &mut datagram).is_some() {
                self.down.push(now, (from, std::mem::take(&mut datagram)));
            }
        }
        while let Some((from, bytes)) = self.down.poll(now) {
            self.bot.handle_datagram(now, from, &bytes);
            self.drain();
        }
        self.bot.handle_timeout(now);
        self.drain();
        let next = self.bot.poll_timeout();
        assert!(next.is_none_or(|next| next > now), "the bot wants to be served again at once");
    }

    fn drain(&mut self) {
        let mut datagram = Vec::new();
        while let Some(to) = self.bot.poll_transmit(self.now, &mut datagram) {
            for &byte in &datagram {
                self.trace = (self.trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
            self.up.push(self.now, (to, std::mem::take(&mut datagram)));
        }
        while let Some(event) = self.bot.poll_event() {
            self.events.push(event);
        }
    }

    fn arrivals(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, AgentEvent::Arrived(_))).count()
    }
}

const ROUGH: Conditions =
    Conditions { loss: 0.2, delay: Duration::from_millis(50), jitter: Duration::from_millis(40) };

#[test]
fn a_viewer_asks_for_everything_that_a_region_must_answer() {
    let mut pair = Pair::perfect(AgentConfig::default());
    pair.run_for(Duration::from_secs(2));
    assert!(pair.bot.is_present());
    assert_eq!(pair.arrivals(), 1);
    assert_eq!(
        pair.server().names(),
        [
            "UseCircuitCode",
            "CompleteAgentMovement",
            "RegionHandshakeReply",
            "AgentThrottle",
            "RequestRegionInfo",
            "AgentWearablesRequest",
            "AgentDataUpdateRequest",
            "MapNameRequest",
            "AgentSetAppearance",
        ]
    );
    for (_, message) in &pair.server().received {
        match message {
            Message::AgentThrottle(AgentThrottle { throttle, .. }) => {
                let wanted = Throttles::parse(&throttle.throttles).expect("seven floats");
                assert_eq!(wanted.total_bytes_per_s(), 192_000);
            }
            Message::MapNameRequest(MapNameRequest { name_data, .. }) => {
                assert_eq!(name_data.name, b"Harbour\0");
            }
            Message::AgentSetAppearance(AgentSetAppearance { visual_param, .. }) => {
                assert_eq!(visual_param.len(), 218);
            }
            _ => {}
        }
    }
}

#[test]
fn node_metaverse_takes_one_step_after_the_other() {
    let config = AgentConfig { profile: Profile::NodeMetaverse, ..AgentConfig::default() };
    let mut pair = Pair::perfect(config);
    pair.run_for(Duration::from_secs(7));
    assert_eq!(
        pair.server().names(),
        [
            "UseCircuitCode",
            "CompleteAgentMovement",
            "RegionHandshakeReply",
            "RequestRegionInfo",
            "MapNameRequest",
            "AgentThrottle",
            "AgentDataUpdateRequest",
            "AgentWearablesRequest",
        ]
    );
    let settled = pair.server().received.iter().find(|(_, m)| matches!(m, Message::AgentWearablesRequest(_)));
    let settled_at = settled.expect("sent").0;
    let at: Vec<Instant> = pair.server().updates().map(|(at, _)| at).collect();
    assert!(at[0] - settled_at >= Duration::from_secs(1), "no agent update in the first second");
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_millis(980)), "{at:?}");
    assert_eq!(pair.server().circuit.stats().pings_in, 1);
}

#[test]
fn arrival_heals_any_loss() {
    for seed in 0..30 {
        for profile in [Profile::Viewer, Profile::NodeMetaverse] {
            let mut pair = Pair::new(seed, AgentConfig { profile, ..AgentConfig::default() }, ROUGH);
            pair.run_for(Duration::from_secs(60));
            let (stage, unacked) = (pair.bot.stage, pair.bot.here.circuit.unacked());
            assert!(pair.bot.is_present(), "{profile:?}, seed {seed}: {stage:?}, {unacked} unacked");
            assert_eq!(pair.arrivals(), 1, "{profile:?}, seed {seed}");
            assert!(pair.server().updates().count() > 10, "{profile:?}, seed {seed}");
        }
    }
}

#[test]
fn equal_seeds_send_equal_bytes() {
    let trace = |seed| {
        let config = AgentConfig { behavior: Behavior::Walk, observes: true, ..AgentConfig::default() };
        let mut pair = Pair::new(seed, config, ROUGH);
        pair.run_for(Duration::from_secs(20));
        pair.trace
    };
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn attackers_log_in_as_others_do_and_then_send_their_kind_until_they_behave() {
    for (number, kind) in (0..).zip(AttackKind::ALL) {
        let config = AgentConfig { behavior: Behavior::Stand, number, ..AgentConfig::default() };
        let mut pair = Pair::perfect(config);
        pair.run_for(Duration::from_secs(2));
        let quiet = |server: &ServedRegion| {
            let foreign = |update: &AgentUpdateAgentData| update.session_id != IDENTITY.session.0;
            server.refused.is_empty() && !server.updates().any(|(_, update)| foreign(update))
        };
        assert!(pair.bot.is_present() && quiet(pair.server()));
        let count = |server: &ServedRegion| {
            let lines = server.received.iter().filter_map(|(_, message)| match message {
                Message::ChatFromViewer(chat) => Some(chat.chat_data.r#type),
                _ => None,
            });
            let (shouts, others): (Vec<u8>, Vec<u8>) = lines.partition(|kind| *kind == Loudness::Shout as u8);
            [server.refused.len(), server.updates().count(), shouts.len(), others.len()].map(|n| n as u32)
        };
        let before = count(pair.server());
        pair.bot.behave(Behavior::Hostile);
        pair.run_for(Duration::from_secs(10));
        let after = count(pair.server());
        let [refused, updates, shouts, others] = std::array::from_fn(|n| after[n] - before[n]);
        let near = |sent: u32, wanted: u32| sent.abs_diff(wanted) * 50 < wanted;
        match kind {
            AttackKind::Garbage => {
                // An eighth is valid but for its session.
                assert!(near(refused, 10 * GARBAGE_PER_S / 8 * 7), "{refused}");
                for reason in ["truncated", "zero_code", "unknown_message"] {
                    assert!(pair.server().refused.contains(&reason), "{reason}");
                }
                assert!(near(updates, 10 * (10 + GARBAGE_PER_S / 8)), "{updates}");
                assert!(!quiet(pair.server()));
            }
            AttackKind::Updates => {
                assert!(near(updates, 10 * (10 + UPDATES_PER_S)), "{updates}");
                let turned = pair.server().updates().map(|(_, update)| update.body_rotation);
                let turned: Vec<_> = turned.collect();
                let changes = turned.windows(2).filter(|pair| pair[0].angle_between(pair[1]) > TURN_RAD);
                assert!(changes.count() > 9 * UPDATES_PER_S as usize, "each of them is another one");
            }
            AttackKind::Chat => {
                assert!(near(shouts, 10 * LINES_PER_S / 3) && near(others, 20 * LINES_PER_S / 3));
            }
        }
        if kind != AttackKind::Garbage {
            assert!(quiet(pair.server()), "{kind:?} sends what could be read");
        }
        assert!(pair.bot.is_present() && pair.bot.stats().unsent == 0, "{kind:?}");

        pair.bot.behave(Behavior::Stand);
        pair.run_for(Duration::from_secs(1));
        let before = count(pair.server());
        pair.run_for(Duration::from_secs(10));
        let after = count(pair.server());
        assert_eq!(after, [before[0], before[1] + 100, before[2], before[3]], "{kind:?} goes on");
        pair.bot.log_out(pair.now);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.events.last(), Some(&AgentEvent::LoggedOut { answered: true }));
    }
}

#[test]
fn a_bot_attacks_neither_before_its_arrival_nor_while_it_leaves() {
    let config = AgentConfig { behavior: Behavior::Hostile, ..AgentConfig::default() };
    let mut pair = Pair::perfect(config);
    while !pair.bot.is_present() {
        pair.run_for(TICK);
        assert!(pair.server().refused.is_empty());
    }
    pair.run_for(Duration::from_secs(1));
    let refused = pair.server().refused.len();
    assert!(refused > 0);
    pair.bot.log_out(pair.now);
    pair.run_for(Duration::from_secs(3));
    // Some were under way.
    assert!(pair.server().refused.len() - refused < GARBAGE_PER_S as usize / 10);
    assert!(pair.bot.is_gone());
}

/// The region sends `bytes_per_s` to the bot, in datagrams of a kilobyte, half of them reliable while the window permits.
fn pour(pair: &mut Pair, bytes_per_s: usize, seconds: usize) {
    let (words, per_s) = (vec![b'x'; 1_000], bytes_per_s / 1_000);
    for n in 0..seconds * per_s {
        let mut chat = ChatFromSimulator::default();
        chat.chat_data.message.clone_from(&words);
        let mut message = Vec::new();
        chat.encode(&mut message);
        let how = [Reliability::Reliable, Reliability::Unreliable][n % 2];
        if pair.server().circuit.send(how, &message, false).is_err() {
            pair.server().circuit.send(Reliability::Unreliable, &message, false).expect("room");
        }
        pair.run_for(Duration::from_secs(1) / per_s as u32);
    }
}

#[test]
fn a_slow_reader_acks_late_loses_what_overflows_and_stays() {
    let config = AgentConfig { behavior: Behavior::SlowReader, ..AgentConfig::default() };
    let mut pair = Pair::perfect(config);
    pair.run_for(Duration::from_secs(10));
    assert!(pair.bot.is_present(), "what a quiet region sends passes");
    assert_eq!(pair.bot.stats().overflowed, 0);

    let heard = |pair: &Pair| pair.bot.circuit_stats().bytes_in;
    let (before, began) = (heard(&pair), pair.now);
    pour(&mut pair, 40_000, 20);
    let rate = ((heard(&pair) - before) as f64 / (pair.now - began).as_secs_f64()) as u64;
    assert!(rate <= u64::from(SLOW_LINE.bytes_per_s) * 11 / 10, "{rate} bytes a second were read");
    assert!(rate >= u64::from(SLOW_LINE.bytes_per_s) * 9 / 10, "{rate} bytes a second were read");
    let lost = pair.bot.stats().overflowed;
    assert!(lost > 20 * 20, "{lost} datagrams of 20 a second and their repetitions");
    let stats = *pair.server().circuit.stats();
    assert!(pair.server().circuit.unacked() > 0 && stats.resends > 0 && stats.acks_in > 0, "{stats:?}");

    pair.run_for(Duration::from_secs(60));
    assert!(pair.bot.is_present());
    assert_eq!(pair.bot.stats().pings_unanswered, 0, "those that overflowed are forgiven");

    pair.bot.behave(Behavior::Stand);
    let (before, lost) = (heard(&pair), pair.bot.stats().overflowed);
    pour(&mut pair, 40_000, 20);
    assert!(heard(&pair) - before >= 20 * 40_000, "all of it is read");
    assert_eq!(pair.bot.stats().overflowed, lost);
}

#[test]
fn updates_flow_at_the_rate_asked_for_even_when_idle() {
    for rate_hz in [1, 10, 50] {
        let mut pair = Pair::perfect(AgentConfig { rate_hz, ..AgentConfig::default() });
        pair.run_for(Duration::from_secs(2));
        let before = pair.server().updates().count();
        pair.run_for(Duration::from_secs(10));
        assert_eq!(pair.server().updates().count() - before, rate_hz as usize * 10);
    }
}

#[test]
fn a_stable_stander_repeats_one_update() {
    let mut pair = Pair::perfect(AgentConfig::default());
    pair.run_for(Duration::from_secs(10));
    let first = pair.server().updates().next().expect("sent").1.clone();
    assert!(pair.server().updates().all(|(_, update)| *update == first));
}

#[test]
fn an_unstable_stander_never_repeats_an_update() {
    let config = AgentConfig { steadiness: Steadiness::Unstable, ..AgentConfig::default() };
    let mut pair = Pair::perfect(config);
    pair.run_for(Duration::from_secs(10));
    let updates: Vec<_> = pair.server().updates().map(|(_, update)| update.clone()).collect();
    assert!(updates.len() > 50 && updates.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(updates.iter().all(|update| update.control_flags == 0));
}

#[test]
fn a_sitter_sits_down_once_and_idles() {
    let mut pair = Pair::perfect(AgentConfig { behavior: Behavior::Sit, ..AgentConfig::default() });
    pair.run_for(Duration::from_secs(10));
    let flags: Vec<u32> = pair.server().updates().map(|(_, update)| update.control_flags).collect();
    assert_eq!(flags[..3], [SIT_ON_GROUND; 3]);
    assert!(flags[3..].iter().all(|&flags| flags == 0));
}

#[test]
fn a_walker_walks_knows_where_it_is_and_stays_inside() {
    let mut pair = Pair::perfect(AgentConfig { behavior: Behavior::Walk, ..AgentConfig::default() });
    let mut walked = 0.0;
    for _ in 0..600 {
        let before = pair.server().position;
        pair.run_for(Duration::from_secs(1));
        let position = pair.server().position;
        walked += (position - before).length();
        assert!(position.cmpge(Vec3::ZERO).all() && position.max_element() <= 256.0, "{position}");
        let thought = pair.bot.position(pair.now);
        assert!((thought - position).length() < 0.7, "thinks {thought}, is at {position}");
    }
    assert!((600.0..1900.0).contains(&walked), "{walked} m in ten minutes");
}

#[test]
fn names_are_asked_for_once_and_together() {
    let config = AgentConfig { observes: true, ..AgentConfig::default() };
    let mut pair = Pair::perfect(config);
    pair.run_for(Duration::from_secs(1));
    let ada = AgentId(Uuid::from_u128(500));
    for number in 0..10 {
        let agent = AgentId(Uuid::from_u128(500 + number));
        let body = scene::full_update(agent, LocalId(100 + number as u32), Vec3::ONE);
        pair.server().send_body(ObjectUpdate::NUMBER, &body);
    }
    pair.run_for(Duration::from_secs(3));
    let observer = pair.bot.observer().expect("observes");
    assert_eq!(observer.others(IDENTITY.agent), 10);
    assert_eq!(pair.bot.names().get(ada), Some("Ada Lovelace"));
    let asked = |message: &Message| match message {
        Message::UUIDNameRequest(request) => request.uuid_name_block.len(),
        _ => 0,
    };
    let asked: usize = pair.server().received.iter().map(|(_, message)| asked(message)).sum();
    assert_eq!(asked, 11, "the own name too");
}

#[test]
fn a_bot_that_does_not_observe_learns_of_others_from_the_map() {
    let mut pair = Pair::perfect(AgentConfig::default());
    pair.run_for(Duration::from_secs(1));
    let agent_data = vec![CoarseLocationUpdateAgentData { agent_id: Uuid::from_u128(500) }];
    let dots = CoarseLocationUpdate { agent_data, ..CoarseLocationUpdate::default() };
    for _ in 0..3 {
        pair.server().send(|out| dots.encode(out));
    }
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.bot.names().answered(), 1);
    assert!(pair.bot.observer().is_none());
}

#[test]
fn a_teleport_is_followed_and_the_old_circuit_served_until_it_ends() {
    let mut pair = Pair::new(4, AgentConfig { observes: true, ..AgentConfig::default() }, ROUGH);
    pair.run_for(Duration::from_secs(30));
    pair.servers.insert(THERE, ServedRegion::new(pair.now));
    let region = RegionHandle::from_grid(1001, 1000);
    pair.bot.teleport_to(region, Vec3::ONE);
    let info = Llsd::map([
        ("SimIP", Llsd::Binary(vec![127, 0, 0, 1])),
        ("SimPort", Llsd::from(9001)),
        ("RegionHandle", Llsd::from_u64(region.0)),
        ("SeedCapability", Llsd::from("http://127.0.0.1/seed")),
        ("RegionSizeX", Llsd::from(512)),
    ]);
    let event = Llsd::map([("Info", Llsd::Array(vec![info]))]);
    pair.bot.handle_event(pair.now, "TeleportFinish", &event);
    assert!(pair.bot.observer().expect("observes").avatars().next().is_none());
    pair.run_for(Duration::from_secs(30));
    assert_eq!(pair.arrivals(), 2);
    assert!(pair.events.contains(&AgentEvent::Arrived(region)));
    assert!(pair.bot.is_present());
    assert!(pair.servers[&THERE].updates().count() > 50);

    pair.server().send(|out| DisableSimulator::default().encode(out));
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.server().circuit.unacked(), 0, "the end of the old circuit was acked");
    let heard = pair.server().circuit.stats().datagrams_in;
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.server().circuit.stats().datagrams_in, heard, "nothing goes to the old circuit");
}

#[test]
fn a_teleport_that_fails_leaves_the_bot_where_it_is() {
    let mut pair = Pair::perfect(AgentConfig::default());
    pair.run_for(Duration::from_secs(1));
    pair.bot.teleport_to(RegionHandle::from_grid(1, 1), Vec3::ONE);
    let mut failed = TeleportFailed::default();
    failed.info.reason = b"No such place.\0".to_vec();
    for _ in 0..2 {
        pair.server().send(|out| failed.encode(out));
    }
    pair.run_for(Duration::from_secs(1));
    let expected = AgentEvent::TeleportFailed("No such place.".to_owned());
    assert_eq!(pair.events.iter().filter(|event| **event == expected).count(), 1);
    assert!(pair.bot.is_present());
}

#[test]
fn logging_out_waits_for_the_answer_and_acks_it() {
    let mut pair = Pair::perfect(AgentConfig::default());
    pair.run_for(Duration::from_secs(1));
    pair.bot.log_out(pair.now);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.events.last(), Some(&AgentEvent::LoggedOut { answered: true }));
    assert!(pair.bot.is_gone() && pair.bot.poll_timeout().is_none());
    assert_eq!(pair.server().circuit.unacked(), 0);
}

#[test]
fn a_silent_server_ends_a_logout_after_five_seconds() {
    let mut pair = Pair::perfect(AgentConfig::default());
    pair.run_for(Duration::from_secs(1));
    pair.servers.clear();
    pair.bot.log_out(pair.now);
    pair.run_for(Duration::from_millis(4900));
    assert!(!pair.bot.is_gone());
    pair.run_for(Duration::from_millis(500));
    assert_eq!(pair.events.last(), Some(&AgentEvent::LoggedOut { answered: false }));
    assert!(pair.bot.is_gone());
}

#[test]
fn a_kick_and_a_dead_server_lose_the_circuit() {
    let mut pair = Pair::perfect(AgentConfig::default());
    pair.run_for(Duration::from_secs(1));
    pair.server().send(|out| KickUser::default().encode(out));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.events.last(), Some(&AgentEvent::Lost(LossReason::Kicked)));

    let mut pair = Pair::perfect(AgentConfig::default());
    pair.run_for(Duration::from_secs(1));
    pair.servers.clear();
    pair.run_for(Duration::from_secs(110));
    assert_eq!(pair.events.last(), Some(&AgentEvent::Lost(LossReason::Circuit(CloseReason::Idle))));
}

#[test]
fn pings_are_answered_measured_and_missed_ones_counted_unless_forgiven() {
    let conditions = Conditions { delay: Duration::from_millis(50), ..Conditions::default() };
    let mut pair = Pair::new(1, AgentConfig::default(), conditions);
    pair.run_for(Duration::from_secs(21));
    let pings: Vec<&AgentEvent> =
        pair.events.iter().filter(|event| matches!(event, AgentEvent::Ping(_))).collect();
    assert_eq!(pings.len(), 4);
    let near =
        |ping: &AgentEvent| matches!(ping, AgentEvent::Ping(time) if time.as_millis().abs_diff(100) <= 20);
    assert!(pings.into_iter().all(near));
    assert_eq!(pair.bot.stats().pings_unanswered, 0);

    pair.servers.clear();
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.bot.stats().pings_unanswered, 1, "the first one that went nowhere");
    pair.bot.forgive_ping();
    pair.run_for(Duration::from_secs(5));
    assert_eq!((pair.bot.stats().pings_unanswered, pair.bot.stats().pings_forgiven), (1, 1));
}
