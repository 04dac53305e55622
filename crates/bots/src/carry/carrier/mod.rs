//! A carrying bot as a state machine without IO: it makes things, moves them between inventories and the world, and records each request and its answer.
//!
//! Choices are in `choice`, answers in messages in `answers`, those over HTTP and readings in `replies`. A thing has one request under way at a time. A request
//! without an answer is given up after [`ANSWER_MAX`]: its outcome is unknown, and the bot does not touch the thing any more.

mod answers;
mod choice;
mod holding;
mod replies;
#[cfg(test)]
mod tests;

use super::calls::HttpCall;
use super::cargo::{CargoKey, CargoPlace, CargoTag};
use super::census::Belongings;
use super::item_row::{COPY, ItemRow};
use super::plan::CarryPlan;
use super::record::{CarryEvent, Deed, DeedKind, Expectation};
use super::requests::RequestIds;
use crate::builder::Plot;
use crate::distribution::Distribution;
use crate::rng::Rng;
use holding::{Errand, HeldAt, Holding, Lookup, Wait};
use ids::{Instant, LocalId, Uuid};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use wire::messages::Message;

/// Wait for an answer.
pub const ANSWER_MAX: Duration = Duration::from_secs(20);
/// Time after which a prim that is displayed is saved: twice the server's promise.
const SAVED_AFTER: Duration = Duration::from_secs(2);
/// Time between two readings of an effect.
const READ_PERIOD: Duration = Duration::from_millis(400);
/// Rows that came without a request, for offers that name them.
const ROWS_MAX: usize = 256;

/// A bot at its begin.
#[derive(Clone, Copy, Debug)]
pub struct CarrierSetup {
    /// Number of the bot.
    pub bot: u32,
    /// Range of its work.
    pub plan: CarryPlan,
    /// Ids of its session.
    pub ids: RequestIds,
    /// Secret of its session, of which ids of legacy uploads are made.
    pub secure_session: Uuid,
    /// Its root folder.
    pub root: Uuid,
    /// Its trash.
    pub trash: Uuid,
    /// Its place in the world.
    pub plot: Plot,
    /// Requests a second.
    pub rate_hz: u32,
    /// Highest number of a request so far, and highest serial number of its things.
    pub numbers: (u64, u32),
}

/// Counters of a carrying bot; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarryCounters {
    /// Requests.
    pub asked: u64,
    /// Answers that the effect is durable.
    pub acknowledged: u64,
    /// Refusals.
    pub refused: u64,
    /// Requests that were given up.
    pub unanswered: u64,
    /// Takes, rezzes and gifts among the acknowledged ones.
    pub transfers: u64,
}

/// A carrying bot.
#[derive(Clone, Debug)]
pub struct Carrier {
    setup: CarrierSetup,
    rng: Rng,
    period: Duration,
    next_at: Instant,
    /// True while it asks for nothing new.
    is_resting: bool,
    number: u64,
    serial: u32,
    callback: u32,
    holdings: BTreeMap<u64, Holding>,
    next_holding: u64,
    errands: BTreeMap<u64, Errand>,
    /// Items whose rows are read over HTTP, by number.
    lookups: BTreeMap<u64, Lookup>,
    /// Its prim for the contents of others.
    chest: Option<(Uuid, LocalId)>,
    /// Other bots and their accounts.
    peers: BTreeMap<u32, Uuid>,
    /// Rows by id.
    rows: BTreeMap<Uuid, ItemRow>,
    /// Worn objects.
    attached: BTreeSet<LocalId>,
    /// The thing that it wears, and the object.
    worn: Option<(u64, LocalId)>,
    next_gift_at: Instant,
    messages: VecDeque<Message>,
    calls: VecDeque<HttpCall>,
    events: VecDeque<CarryEvent>,
    counters: CarryCounters,
    /// Times of transfers, from the request to the answer.
    transfer_times: Distribution,
    recent: Vec<Duration>,
}

impl Carrier {
    /// A bot that begins now. Equal seeds, setups and inputs give equal requests.
    #[must_use]
    pub fn new(now: Instant, setup: CarrierSetup, seed: u64) -> Self {
        let (number, serial) = setup.numbers;
        let mut carrier = Self {
            setup,
            // Another stream in each process: ids of folders must not come twice.
            rng: Rng::new(seed, number),
            period: Duration::ZERO,
            next_at: now,
            is_resting: false,
            number,
            serial,
            callback: 0,
            holdings: BTreeMap::new(),
            next_holding: 0,
            errands: BTreeMap::new(),
            lookups: BTreeMap::new(),
            chest: None,
            peers: BTreeMap::new(),
            rows: BTreeMap::new(),
            attached: BTreeSet::new(),
            worn: None,
            next_gift_at: now,
            messages: VecDeque::new(),
            calls: VecDeque::new(),
            events: VecDeque::new(),
            counters: CarryCounters::default(),
            transfer_times: Distribution::default(),
            recent: Vec::new(),
        };
        carrier.set_rate_hz(setup.rate_hz);
        carrier
    }

    /// Sets the requests a second.
    pub fn set_rate_hz(&mut self, rate_hz: u32) {
        self.period = Duration::from_secs(1) / rate_hz.max(1);
    }

    /// Changes the range of its work.
    pub const fn set_plan(&mut self, plan: CarryPlan) {
        self.setup.plan = plan;
    }

    /// Asks for nothing new from now on, or again.
    pub const fn set_resting(&mut self, is_resting: bool) {
        self.is_resting = is_resting;
    }

    /// True if no request is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.errands.is_empty() && self.lookups.is_empty()
    }

    /// Another bot, to which it may give things.
    pub fn meet(&mut self, bot: u32, agent: Uuid) {
        if bot != self.setup.bot {
            self.peers.insert(bot, agent);
        }
    }

    /// Counters.
    #[must_use]
    pub const fn counters(&self) -> &CarryCounters {
        &self.counters
    }

    /// Times of transfers.
    #[must_use]
    pub const fn transfer_times(&self) -> &Distribution {
        &self.transfer_times
    }

    /// Times of transfers since the last call.
    pub fn take_recent_transfers(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.recent)
    }

    /// Begins anew with the things of a reading: those of an earlier process, or behind an audit. `uniques` are the things of which a bot has an instance that must
    /// not be copied.
    pub fn take_up(&mut self, belongings: &Belongings, uniques: &BTreeSet<CargoTag>) {
        self.holdings.clear();
        self.errands.clear();
        self.lookups.clear();
        self.worn = None;
        for row in &belongings.items {
            let content = belongings.assets.get(&row.asset).copied().flatten();
            self.hold_row(row, HeldAt::Item(row.clone()), content, uniques);
        }
        for row in &belongings.contents {
            let content = belongings.assets.get(&row.item.asset).copied().flatten();
            let at = HeldAt::Content { prim: row.prim, local: row.local, row: row.item.clone() };
            self.hold_row(&row.item, at, content, uniques);
        }
        for row in &belongings.folders {
            if let Some(tag) = CargoTag::of_name(&row.name) {
                self.hold(Holding::new(CargoKey::common(tag), HeldAt::Folder(row.id), None));
            }
        }
        for row in &belongings.objects {
            let Some(tag) = CargoTag::of_name(&row.name) else { continue };
            if tag.is_chest() {
                self.chest = Some((row.id, row.local));
                continue;
            }
            let at = HeldAt::Object { id: row.id, local: row.local };
            let key = CargoKey { tag, is_unique: row.owner_mask & COPY == 0 };
            let becomes_unique = row.next_owner_mask & COPY == 0;
            let is_spent = !key.is_unique && becomes_unique && uniques.contains(&tag);
            self.hold(Holding { is_spent, ..Holding::new(key, at, None) });
        }
        // Worn in an earlier session.
        let attached: Vec<LocalId> = self.attached.iter().copied().collect();
        self.messages.extend(attached.into_iter().map(|id| self.setup.ids.detach(id)));
    }

    fn hold_row(
        &mut self,
        row: &ItemRow,
        at: HeldAt,
        content: Option<[u8; 32]>,
        uniques: &BTreeSet<CargoTag>,
    ) {
        let Some(tag) = CargoTag::of_name(&row.name) else { return };
        let key = CargoKey { tag, is_unique: row.masks.is_unique() };
        let is_spent = !key.is_unique && row.masks.becomes_unique() && uniques.contains(&tag);
        self.hold(Holding { is_spent, ..Holding::new(key, at, content) });
    }

    /// Adds a thing. A further copy of an original whose one instance is given away is spent as well.
    fn hold(&mut self, mut holding: Holding) -> u64 {
        let is_original = |held: &Holding| held.is_spent && held.key == holding.key && !held.key.is_unique;
        holding.is_spent |= self.holdings.values().any(is_original);
        self.next_holding += 1;
        self.holdings.insert(self.next_holding, holding);
        self.next_holding
    }

    /// Time of its next work.
    #[must_use]
    pub fn poll_timeout(&self) -> Instant {
        let due = self.errands.values().map(|errand| errand.due_at());
        due.chain((!self.is_resting).then_some(self.next_at)).min().unwrap_or(self.next_at + ANSWER_MAX)
    }

    /// Does the work that is due: gives up overdue requests, reads effects, and asks for something new.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.give_up_overdue(now);
        self.advance_readings(now);
        if self.is_resting || self.next_at > now {
            return;
        }
        self.next_at = (self.next_at + self.period).max(now);
        if self.errands.len() < self.setup.plan.under_way_max {
            self.choose(now);
        }
    }

    /// The next message to send, reliably.
    pub fn poll_message(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }

    /// The next call to make.
    pub fn poll_call(&mut self) -> Option<HttpCall> {
        self.calls.pop_front()
    }

    /// The next event for the record. It has to be there before messages and calls leave.
    pub fn poll_event(&mut self) -> Option<CarryEvent> {
        self.events.pop_front()
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn next_callback(&mut self) -> u32 {
        self.callback += 1;
        self.callback
    }

    fn next_tag(&mut self) -> CargoTag {
        self.serial += 1;
        CargoTag { maker: self.setup.bot, serial: self.serial }
    }

    fn next_id(&mut self) -> Uuid {
        Uuid::from_u64_pair(self.rng.next(), self.rng.next())
    }

    /// Begins a request: it is in the record from now on.
    fn begin(&mut self, now: Instant, deed: Deed, holding: Option<u64>, wait: Wait) -> u64 {
        let number = self.next_number();
        self.events.push_back(CarryEvent::Asked { number, deed });
        self.counters.asked += 1;
        if let Some(holding) = holding.and_then(|id| self.holdings.get_mut(&id)) {
            holding.is_busy = true;
        }
        let Deed { kind, key, expected, .. } = deed;
        self.errands.insert(number, Errand { kind, key, expected, holding, asked_at: now, wait });
        number
    }

    /// Ends a request whose effect is durable.
    fn finish(&mut self, now: Instant, number: u64, place: Option<CargoPlace>, asset: Option<(Uuid, i8)>) {
        let Some(errand) = self.errands.remove(&number) else { return };
        self.events.push_back(CarryEvent::Done { number, place, asset });
        self.count_done(now, &errand);
        self.release(errand.holding);
    }

    /// Counts an acknowledged request, and the time of a transfer that waits for the disk: those of copies show at once.
    fn count_done(&mut self, now: Instant, errand: &Errand) {
        self.counters.acknowledged += 1;
        let waits = errand.key.is_unique || matches!(errand.kind, DeedKind::Take | DeedKind::TakeToTrash);
        if matches!(errand.kind, DeedKind::Take | DeedKind::TakeToTrash | DeedKind::Rez | DeedKind::Give) {
            self.counters.transfers += 1;
            if waits {
                let took = now - errand.asked_at;
                self.transfer_times.record(took);
                self.recent.push(took);
            }
        }
    }

    fn refuse(&mut self, number: u64) {
        let Some(errand) = self.errands.remove(&number) else { return };
        self.events.push_back(CarryEvent::Refused { number });
        self.counters.refused += 1;
        self.release(errand.holding);
    }

    fn release(&mut self, holding: Option<u64>) {
        if let Some(holding) = holding.and_then(|id| self.holdings.get_mut(&id)) {
            holding.is_busy = false;
        }
    }

    /// Gives a request up: it stays without an answer in the record, and the bot leaves the thing alone.
    fn abandon(&mut self, number: u64) {
        let Some(errand) = self.errands.remove(&number) else { return };
        self.counters.unanswered += 1;
        if let Some(id) = errand.holding {
            self.holdings.remove(&id);
        }
        if matches!(errand.wait, Wait::Worn | Wait::Gone(_)) {
            self.worn = None;
        }
    }

    fn give_up_overdue(&mut self, now: Instant) {
        let is_overdue = |errand: &Errand| now.since(errand.asked_at) > ANSWER_MAX;
        let overdue = self.errands.iter().filter(|(_, errand)| is_overdue(errand)).map(|(number, _)| *number);
        let overdue: Vec<u64> = overdue.collect();
        overdue.into_iter().for_each(|number| self.abandon(number));
    }

    /// A thing that no request is about, for which a predicate holds.
    fn pick(&mut self, is_wanted: impl Fn(&Holding) -> bool) -> Option<u64> {
        let busy: BTreeSet<CargoKey> = self.errands.values().map(|errand| errand.key).collect();
        let is_free = |holding: &Holding| !holding.is_busy && !busy.contains(&holding.key);
        let wanted = self.holdings.iter().filter(|(_, holding)| is_free(holding) && is_wanted(holding));
        let wanted: Vec<u64> = wanted.map(|(id, _)| *id).collect();
        let at = (self.rng.unit() * wanted.len() as f64) as usize;
        wanted.get(at).copied()
    }
}

impl Errand {
    /// Time at which something is to be done about it without an answer.
    fn due_at(&self) -> Instant {
        let overdue_at = self.asked_at + ANSWER_MAX + Duration::from_millis(1);
        let at = match &self.wait {
            Wait::Confirmed(confirmation) => confirmation.read_at,
            Wait::Named { saved_at, select_at, .. } => Some(saved_at.unwrap_or(*select_at)),
            Wait::Shown { saved_at, .. } => *saved_at,
            Wait::Put { read_at, is_reading: false, .. } => *read_at,
            _ => None,
        };
        at.map_or(overdue_at, |at| at.min(overdue_at))
    }
}

/// A deed that brings a thing into being.
const fn new_deed(kind: DeedKind, key: CargoKey, expected: Expectation) -> Deed {
    Deed { kind, key, from: None, leaves: false, expected }
}
