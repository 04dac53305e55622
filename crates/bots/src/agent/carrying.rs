//! A carrying bot within its session: requests become messages and calls, and answers and the scene come back. The same for readings of all that a bot has.

use super::{Agent, AgentConfig};
use crate::builder::Plot;
use crate::carry::calls::{CallAnswer, HttpCall};
use crate::carry::requests::RequestIds;
use crate::carry::{Belongings, CargoTag, Carrier, CarrierSetup, CarryEvent, INSPECTION_CALL, Inspector};
use circuit::Reliability;
use ids::{Instant, Uuid};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wire::Malformed;
use wire::messages::{MessageNumber, ObjectProperties};

/// Time between two looks of a reading at the scene.
const LOOK_PERIOD: Duration = Duration::from_millis(100);

/// Facts from outside of the session with which a bot begins to carry.
#[derive(Clone, Debug, Default)]
pub(super) struct CarryBasis {
    /// Root folder, trash, and the secret of the session.
    pub(super) root: Uuid,
    pub(super) trash: Uuid,
    pub(super) secure_session: Uuid,
    /// Highest number of a request so far, and highest serial number of a thing.
    numbers: (u64, u32),
    peers: BTreeMap<u32, Uuid>,
    /// Things that it has from before, and those of which an instance exists that must not be copied.
    belongings: Option<(Belongings, BTreeSet<CargoTag>)>,
}

impl CarryBasis {
    /// Of a login.
    pub(super) fn new(root: Uuid, trash: Uuid, secure_session: Uuid) -> Self {
        Self { root, trash, secure_session, ..Self::default() }
    }
}

/// A reading under way.
#[derive(Clone, Debug)]
pub(super) struct Inspection {
    inspector: Inspector,
    look_at: Instant,
}

impl Agent {
    /// Another bot of the run, to which a carrying bot may give things.
    pub fn meet(&mut self, bot: u32, agent: Uuid) {
        self.carry_basis.peers.insert(bot, agent);
        if let Some(carrier) = &mut self.carrier {
            carrier.meet(bot, agent);
        }
    }

    /// Numbers that earlier processes have used: the highest of a request, and the highest serial number of a thing of this bot.
    pub const fn set_carry_numbers(&mut self, numbers: (u64, u32)) {
        self.carry_basis.numbers = numbers;
    }

    /// Carries with these things from now on, or once it carries. `uniques` are the things of which an instance exists that must not be copied.
    pub fn take_up_belongings(&mut self, belongings: Belongings, uniques: BTreeSet<CargoTag>) {
        if let Some(carrier) = &mut self.carrier {
            carrier.take_up(&belongings, &uniques);
        }
        self.carry_basis.belongings = Some((belongings, uniques));
    }

    /// Root folder of its inventory.
    #[must_use]
    pub const fn inventory_root(&self) -> Uuid {
        self.carry_basis.root
    }

    /// The bot as a carrier, if it carries.
    #[must_use]
    pub fn carrier(&self) -> Option<&Carrier> {
        self.carrier.as_deref()
    }

    /// The same, to control it.
    pub fn carrier_mut(&mut self) -> Option<&mut Carrier> {
        self.carrier.as_deref_mut()
    }

    /// The next HTTP call of a carrying bot or of a reading.
    pub fn poll_call(&mut self) -> Option<HttpCall> {
        let own = self.carrier.as_mut().and_then(|carrier| carrier.poll_call());
        own.or_else(|| self.inspection.as_mut().and_then(|inspection| inspection.inspector.poll_call()))
    }

    /// Takes in the answer to a call, or the reason for which there is none.
    pub fn handle_answer(&mut self, now: Instant, id: u64, answer: &Result<CallAnswer, String>) {
        if id & INSPECTION_CALL != 0 {
            if let Some(inspection) = &mut self.inspection {
                inspection.inspector.on_answer(id, answer);
            }
        } else if let Some(carrier) = &mut self.carrier {
            carrier.on_answer(now, id, answer);
            self.send_carried();
        }
    }

    /// Requests and answers since the last call.
    pub fn take_carry_events(&mut self) -> Vec<CarryEvent> {
        let Some(carrier) = &mut self.carrier else { return Vec::new() };
        std::iter::from_fn(|| carrier.poll_event()).collect()
    }

    /// Begins to read all that the bot has, and these assets. Before that it needs the scene ([`AgentConfig::keeps_scene`]).
    pub fn begin_inspection(&mut self, now: Instant, assets: impl IntoIterator<Item = (Uuid, i8)>) {
        let inspector = Inspector::new(now, self.identity.agent.0, self.carry_basis.root, assets);
        self.inspection = Some(Box::new(Inspection { inspector, look_at: now }));
    }

    /// True if no reading is under way.
    #[must_use]
    pub fn is_inspected(&self, now: Instant) -> bool {
        self.inspection.as_ref().is_none_or(|inspection| inspection.inspector.is_done(now))
    }

    /// Ends a reading; gives what it has found.
    pub fn take_inspection(&mut self) -> Option<Belongings> {
        Some(self.inspection.take()?.inspector.into_belongings())
    }

    /// Carries if it behaves so, from its arrival on.
    pub(super) fn take_up_carrying(&mut self, now: Instant) {
        let Some(plan) = self.config.behavior.carry_plan() else {
            self.carrier = None;
            return;
        };
        if let Some(carrier) = &mut self.carrier {
            carrier.set_plan(plan);
            return;
        }
        let AgentConfig { number, rate_hz, plot_m, .. } = self.config;
        let CarryBasis { root, trash, secure_session, numbers, .. } = self.carry_basis;
        let setup = CarrierSetup {
            bot: number,
            plan,
            ids: RequestIds { agent: self.identity.agent.0, session: self.identity.session.0 },
            secure_session,
            root,
            trash,
            plot: Plot::of(number, plot_m as f32, self.whereabouts.region_size_m()),
            rate_hz,
            numbers,
        };
        let mut carrier = Carrier::new(now, setup, self.rng.next());
        self.carry_basis.peers.iter().for_each(|(bot, agent)| carrier.meet(*bot, *agent));
        let observer = self.observer.get_or_insert_default();
        observer.prims_mut().keep_changes();
        // Worn objects that are displayed already.
        let avatar = observer.id_of(self.identity.agent);
        observer.prims().prims().for_each(|(id, prim)| carrier.on_prim(now, id, prim, avatar));
        if let Some((belongings, uniques)) = &self.carry_basis.belongings {
            carrier.take_up(belongings, uniques);
        }
        self.carrier = Some(Box::new(carrier));
    }

    /// Time of the next request, reading of an effect, or look at the scene.
    pub(super) fn next_carry_at(&self) -> Option<Instant> {
        if !self.is_present() {
            return None;
        }
        let carrier = self.carrier.as_ref().map(|carrier| carrier.poll_timeout());
        let look_at = self.inspection.as_ref().map(|inspection| inspection.look_at);
        carrier.into_iter().chain(look_at).min()
    }

    /// Does the work that is due.
    pub(super) fn carry(&mut self, now: Instant) {
        if !self.is_present() {
            return;
        }
        self.take_up_carrying(now);
        if let Some(carrier) = &mut self.carrier {
            carrier.handle_timeout(now);
        }
        self.send_carried();
        self.look_around(now);
    }

    /// Takes in a message of the server.
    pub(super) fn carry_message(
        &mut self,
        now: Instant,
        number: MessageNumber,
        body: &[u8],
    ) -> Result<(), Malformed> {
        if number == ObjectProperties::NUMBER
            && let Some(inspection) = &mut self.inspection
        {
            inspection.inspector.on_properties(body)?;
        }
        if let Some(carrier) = &mut self.carrier {
            carrier.on_message(now, number, body)?;
            self.send_carried();
        }
        Ok(())
    }

    /// Takes in the prims that were shown or removed.
    pub(super) fn carry_prims(&mut self, now: Instant) {
        let Some((carrier, observer)) = self.carrier.as_mut().zip(self.observer.as_mut()) else { return };
        let avatar = observer.id_of(self.identity.agent);
        for id in observer.prims_mut().take_changes() {
            match observer.prims().get(id) {
                Some(prim) => carrier.on_prim(now, id, prim, avatar),
                None => carrier.on_kill(now, id),
            }
        }
        self.send_carried();
    }

    /// Sends the messages of the carrier.
    fn send_carried(&mut self) {
        let Some(mut carrier) = self.carrier.take() else { return };
        while let Some(message) = carrier.poll_message() {
            self.send(Reliability::Reliable, true, |out| message.encode(out));
        }
        self.carrier = Some(carrier);
    }

    /// Lets a reading look at the scene, and asks for the properties that it lacks.
    fn look_around(&mut self, now: Instant) {
        let Some(mut inspection) = self.inspection.take() else { return };
        if inspection.look_at <= now {
            inspection.look_at = now + LOOK_PERIOD;
            if let Some(observer) = &self.observer {
                inspection.inspector.on_scene(now, observer.prims().prims());
            }
            let selected = inspection.inspector.poll_select(now);
            if !selected.is_empty() {
                let ids = RequestIds { agent: self.identity.agent.0, session: self.identity.session.0 };
                let message = ids.select(&selected);
                self.send(Reliability::Reliable, true, |out| message.encode(out));
            }
        }
        self.inspection = Some(inspection);
    }
}
