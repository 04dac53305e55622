//! Carrying bots against a server in memory: its state is as their record states, whatever answers are lost, and a thing that is taken away is missed.

use super::*;
use crate::carry::audit::AuditFindings;
use crate::carry::census::CarryCensus;
use crate::carry::ledger::CarryLedger;
use crate::carry::model::{ModelServer, SECURE_SESSION, ToBot, agent_of, avatar_of, root_of, trash_of};
use glam::Vec2;

const BOTS: u32 = 3;
const STEP: Duration = Duration::from_millis(50);

fn setup(bot: u32, plan: CarryPlan, numbers: (u64, u32)) -> CarrierSetup {
    CarrierSetup {
        bot,
        plan,
        ids: RequestIds { agent: agent_of(bot), session: Uuid::from_u128(7) },
        secure_session: SECURE_SESSION,
        root: root_of(bot),
        trash: trash_of(bot),
        plot: Plot { corner: Vec2::new(16.0 * bot as f32, 0.0), side: 16.0 },
        rate_hz: 10,
        numbers,
    }
}

/// Bots, their server and their record.
struct Grid {
    now: Instant,
    bots: Vec<Carrier>,
    server: ModelServer,
    ledger: CarryLedger,
    /// Requests by kind, and those of them that are done.
    kinds: BTreeMap<DeedKind, u32>,
    done: BTreeMap<DeedKind, u32>,
    asked: BTreeMap<(u32, u64), DeedKind>,
    /// True while the server carries requests out and sends nothing.
    is_mute: bool,
}

impl Grid {
    fn new(seed: u64, plan: CarryPlan) -> Self {
        let now = Instant::from_millis(1_000);
        let mut grid = Self {
            now,
            bots: (0..BOTS)
                .map(|bot| Carrier::new(now, setup(bot, plan, (0, 0)), seed + u64::from(bot)))
                .collect(),
            server: ModelServer::default(),
            ledger: CarryLedger::default(),
            kinds: BTreeMap::new(),
            done: BTreeMap::new(),
            asked: BTreeMap::new(),
            is_mute: false,
        };
        grid.introduce();
        grid
    }

    fn introduce(&mut self) {
        for bot in &mut self.bots {
            (0..BOTS).for_each(|other| bot.meet(other, agent_of(other)));
        }
    }

    fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.now += STEP;
            for bot in 0..BOTS {
                self.bots[bot as usize].handle_timeout(self.now);
                self.drain(bot);
            }
        }
    }

    /// Carries out the requests of a bot, and delivers what follows.
    fn drain(&mut self, bot: u32) {
        let now = self.now;
        loop {
            self.note_events(bot);
            let carrier = &mut self.bots[bot as usize];
            let (message, call) = (carrier.poll_message(), carrier.poll_call());
            if message.is_none() && call.is_none() {
                break;
            }
            if let Some(message) = message {
                self.server.on_message(bot, message);
            }
            if let Some(call) = call {
                let (id, answer) = (call.id, self.server.on_call(bot, call));
                let answer = if self.is_mute { Err("no connection".to_owned()) } else { Ok(answer) };
                self.bots[bot as usize].on_answer(now, id, &answer);
            }
            let out = std::mem::take(&mut self.server.out);
            if !self.is_mute {
                out.into_iter().for_each(|(to, event)| self.deliver(to, event));
            }
        }
    }

    fn deliver(&mut self, to: u32, event: ToBot) {
        let (now, carrier) = (self.now, &mut self.bots[to as usize]);
        match event {
            ToBot::Message(message) => {
                let mut bytes = Vec::new();
                message.encode(&mut bytes);
                let (number, body) = wire::messages::MessageNumber::split(&bytes).expect("its own");
                carrier.on_message(now, number, body).expect("its own encoding");
            }
            ToBot::Prim(id, prim) => carrier.on_prim(now, id, &prim, Some(avatar_of(to))),
            ToBot::Kill(id) => carrier.on_kill(now, id),
        }
        self.note_events(to);
    }

    fn note_events(&mut self, bot: u32) {
        while let Some(event) = self.bots[bot as usize].poll_event() {
            match &event {
                CarryEvent::Asked { number, deed } => {
                    *self.kinds.entry(deed.kind).or_default() += 1;
                    self.asked.insert((bot, *number), deed.kind);
                }
                CarryEvent::Done { number, .. } => {
                    *self.done.entry(self.asked[&(bot, *number)]).or_default() += 1;
                }
                CarryEvent::Received { .. } => *self.done.entry(DeedKind::Give).or_default() += 1,
                _ => {}
            }
            self.ledger.add(bot, &event);
        }
    }

    fn census(&self) -> CarryCensus {
        let all: Vec<Belongings> = (0..BOTS).map(|bot| self.server.belongings(bot)).collect();
        CarryCensus::of((0..).zip(&all))
    }

    fn audit(&self) -> AuditFindings {
        self.ledger.audit(&self.census())
    }

    /// The server comes back behind a crash, with other processes of the bots.
    fn restart(&mut self, seed: u64, plan: CarryPlan) {
        let census = self.census();
        for event in self.ledger.settlement(&census) {
            self.ledger.add(0, &event);
        }
        // Objects that are worn are no part of this test's region then.
        let uniques = census.finds.keys().filter(|key| key.is_unique).map(|key| key.tag).collect();
        for bot in 0..BOTS {
            let setup = setup(bot, plan, self.ledger.numbers_of(bot));
            let mut carrier = Carrier::new(self.now, setup, seed);
            carrier.take_up(&self.server.belongings(bot), &uniques);
            self.bots[bot as usize] = carrier;
        }
        self.asked.clear();
        self.introduce();
    }
}

#[test]
fn every_kind_of_request_is_made_and_acknowledged_and_the_record_is_right() {
    let mut grid = Grid::new(1, CarryPlan::CARRY);
    for minute in 0..10 {
        grid.run_for(Duration::from_secs(60));
        let findings = grid.audit();
        assert!(findings.is_clean(), "minute {minute}: {:?}", findings.texts);
    }
    for kind in [
        DeedKind::Upload,
        DeedKind::UploadLegacy,
        DeedKind::Create,
        DeedKind::CreateFolder,
        DeedKind::Copy,
        DeedKind::Rewrite,
        DeedKind::Rename,
        DeedKind::Move,
        DeedKind::Give,
        DeedKind::Build,
        DeedKind::Take,
        DeedKind::TakeToTrash,
        DeedKind::Rez,
        DeedKind::Wear,
        DeedKind::Detach,
        DeedKind::Put,
        DeedKind::TakeOut,
        DeedKind::Trash,
        DeedKind::Purge,
        DeedKind::Remove,
    ] {
        assert!(grid.done.get(&kind).is_some_and(|n| *n > 0), "{kind:?} of {:?}", grid.kinds);
    }
    let counters = grid.bots.iter().fold((0, 0, 0), |sum, bot| {
        let counters = bot.counters();
        (sum.0 + counters.asked, sum.1 + counters.acknowledged, sum.2 + counters.unanswered)
    });
    assert!(counters.0 > 1_500 && counters.2 == 0, "asked, acknowledged, unanswered: {counters:?}");
    assert!(grid.census().finds.keys().any(|key| key.is_unique), "some must not be copied");
}

#[test]
fn equal_seeds_give_equal_requests() {
    let kinds = |seed| {
        let mut grid = Grid::new(seed, CarryPlan::CARRY);
        grid.run_for(Duration::from_secs(60));
        grid.kinds
    };
    assert_eq!(kinds(1), kinds(1));
    assert_ne!(kinds(1), kinds(2));
}

#[test]
fn lost_answers_leave_a_record_with_which_both_outcomes_agree() {
    for seed in 1..20 {
        let mut grid = Grid::new(seed, CarryPlan::CARRY);
        for round in 0..5 {
            grid.run_for(Duration::from_secs(20));
            // Carried out, and the answers lost with the server.
            grid.is_mute = true;
            grid.run_for(Duration::from_millis(300));
            grid.is_mute = false;
            let findings = grid.audit();
            assert!(findings.is_clean(), "seed {seed}, round {round}: {:?}", findings.texts);
            assert!(grid.ledger.n_pending() > 0, "seed {seed}, round {round}");
            grid.restart(seed + 100 * (round + 1), CarryPlan::CARRY);
        }
    }
}

#[test]
fn an_item_that_is_taken_away_or_doubled_on_the_server_is_missed() {
    let mut grid = Grid::new(3, CarryPlan::CARRY);
    grid.run_for(Duration::from_secs(120));
    grid.bots.iter_mut().for_each(|bot| bot.set_resting(true));
    grid.run_for(Duration::from_secs(30));
    assert!(grid.bots.iter().all(Carrier::is_idle) && grid.audit().is_clean());

    let common = grid.server.items.iter().find(|(_, row)| !row.masks.is_unique());
    let (key, row) = common.map(|(key, row)| (*key, row.clone())).expect("there are some");
    grid.server.items.remove(&key);
    assert_eq!(grid.audit().lost, 1);
    grid.server.items.insert(key, row);

    let unique = grid.server.items.iter().find(|(_, row)| row.masks.is_unique());
    let (key, row) = unique.map(|(key, row)| (*key, row.clone())).expect("there are some");
    let copy = ItemRow { id: Uuid::from_u128(1), ..row.clone() };
    grid.server.items.insert((key.0, copy.id), copy);
    assert_eq!(grid.audit().doubled, 1);
    grid.server.items.remove(&(key.0, Uuid::from_u128(1)));
    grid.server.items.remove(&key);
    let findings = grid.audit();
    assert_eq!((findings.lost, findings.doubled, findings.vanished), (1, 0, 1), "{:?}", findings.texts);
}

#[test]
fn other_bytes_of_an_asset_are_missed() {
    let mut grid = Grid::new(4, CarryPlan::CARRY);
    grid.run_for(Duration::from_secs(60));
    let (asset, _) = grid.ledger.new_assets().next().expect("there are uploads");
    grid.server.assets.insert(asset, b"other".to_vec());
    assert!(grid.audit().lost > 0);
}

#[test]
fn a_ferry_transfers_objects_that_must_not_be_copied() {
    let mut grid = Grid::new(5, CarryPlan::FERRY);
    grid.run_for(Duration::from_secs(120));
    assert!(grid.audit().is_clean(), "{:?}", grid.audit().texts);
    for kind in [DeedKind::Take, DeedKind::Rez, DeedKind::Give] {
        assert!(grid.done.get(&kind).is_some_and(|n| *n > 20), "{:?}", grid.done);
    }
    let timed: u64 = grid.bots.iter().map(|bot| bot.transfer_times().count()).sum();
    assert!(timed > 100, "{timed}");
    assert!(
        !grid.bots[0].take_recent_transfers().is_empty() && grid.bots[0].take_recent_transfers().is_empty()
    );
}
