//! Passage of time: the steps of a node, and the ways of datagrams and mail in each.

use super::worlds::Saved;
use super::{Node, START_S, STEP, STEPS_PER_TICK, TransferDirection, number_of, setup};
use crate::hub;
use crate::mail::{ShardIndex, ToShard};
use crate::shard::{CircuitAddress, CpuTime};
use grid::inventory::InventoryParts;
use ids::{Instant, WorldId};
use link::Event;
use std::time::Duration;

impl Node {
    pub(crate) fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.step();
        }
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        self.run_for(Duration::from_millis(ms));
    }

    /// Time of the next frame of all worlds.
    pub(crate) fn next_frame_at(&self) -> Instant {
        let tick = STEP * STEPS_PER_TICK as u32;
        Instant((self.steps / STEPS_PER_TICK + 1) * tick.as_nanos() as u64)
    }

    /// Lets time pass until something is so.
    pub(crate) fn run_until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let end = self.now + Duration::from_secs(60);
        while !is_so(self) {
            assert!(self.now < end, "not within a minute");
            self.step();
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        self.steps += 1;
        let arrived: Vec<_> = self.up.extract_if(.., |(at, ..)| *at <= self.now).collect();
        for (_, address, bytes) in arrived {
            self.deliver_up(address, &bytes);
        }
        if self.steps.is_multiple_of(STEPS_PER_TICK) {
            self.step_worlds();
        }
        for index in 0..self.shards.len() {
            let mut is_due = self.keeps_up || [0, 5].contains(&(self.steps % 15));
            // A thread that does not keep up never waits.
            let cpu = if self.keeps_up {
                CpuTime { used: Duration::ZERO, idle: STEP }
            } else {
                CpuTime { used: STEP, idle: Duration::ZERO }
            };
            self.shards[index].handle_cpu_time(self.now, cpu);
            while is_due {
                let goes_on = self.shards[index].poll(self.now, &mut self.out);
                self.deliver_down();
                let due = self.shards[index].poll_timeout().is_some_and(|due| due <= self.now);
                is_due = goes_on || due && self.keeps_up;
            }
        }
        if self.steps.is_multiple_of(200) {
            self.hub.handle_timeout(self.now);
        }
        self.relay();
        for client in &mut self.clients {
            client.handle_timeout(self.now);
            for (address, bytes) in client.take_datagrams(self.now) {
                if !self.loss.takes(TransferDirection::Up, &bytes) {
                    let is_ack = number_of(&bytes) == Some(wire::messages::PacketAck::NUMBER);
                    let delay = if is_ack { self.ack_delay } else { Duration::ZERO };
                    self.up.push((self.now + delay, address, bytes));
                }
            }
        }
    }

    /// Hands a datagram to the shard that the client's address belongs to.
    pub(crate) fn deliver_up(&mut self, address: CircuitAddress, bytes: &[u8]) {
        let shard = usize::from(address.remote.port()) % self.shards.len();
        self.shards[shard].handle_datagram(self.now, address, bytes, &mut self.out);
        self.deliver_down();
    }

    fn deliver_down(&mut self) {
        for (address, bytes) in self.out.packets() {
            if self.loss.takes(TransferDirection::Down, bytes) {
                continue;
            }
            let client = self.clients.iter_mut().find(|client| client.address() == address);
            if let Some(client) = client {
                client.receive(self.now, bytes);
            }
        }
        self.out.clear();
    }

    /// Sends events of a world to all shards.
    pub(crate) fn send_events(&mut self, world: WorldId, events: Vec<Event>) {
        let mail = ToShard::Events(world, events.into());
        for shard in 0..self.shards.len() {
            self.hand_mail(shard, mail.clone());
        }
    }

    /// Sends the events that were held, and holds none any more.
    pub(crate) fn release_events(&mut self) {
        self.holds_events = false;
        for (world, events) in std::mem::take(&mut self.held_events) {
            self.send_events(world, events);
        }
    }

    fn hand_mail(&mut self, shard: usize, mail: ToShard) {
        self.shards[shard].handle(self.now, mail, &mut self.out);
        self.deliver_down();
    }

    /// Carries mail between hub and shards until there is none.
    pub(crate) fn relay(&mut self) {
        loop {
            let mut is_quiet = true;
            for index in 0..self.shards.len() {
                for mail in std::mem::take(self.shards[index].mail()) {
                    is_quiet = false;
                    self.mail.push(mail.clone());
                    self.hub.handle(self.now, ShardIndex(index as u16), mail);
                }
            }
            while let Some(lookup) = self.hub.poll_lookup() {
                let store = self.store.get_or_insert_with(setup::store);
                let answer = lookup.read(store, &self.assets).expect("a database in memory");
                self.hub.handle_answer(&lookup, answer);
            }
            while let Some(order) = self.hub.poll_inventory() {
                if order.task.is_of_server() && self.store.is_none() {
                    // Nothing waits for users.
                    self.hub.refuse_inventory(&order);
                    continue;
                }
                let store = self.store.get_or_insert_with(setup::store);
                let parts = InventoryParts { store, assets: &self.assets };
                match order.carry_out(parts, START_S.cast_signed()) {
                    Ok(mut replies) => {
                        let orders = std::mem::take(&mut replies.orders);
                        for order in std::mem::take(&mut replies.wardrobe) {
                            self.wardrobe.take_order(self.now, order, &mut Saved(&mut self.regions));
                        }
                        while let Some((world, answer)) = self.wardrobe.poll_answer() {
                            self.send_events(world, vec![answer]);
                        }
                        self.hub.handle_inventory_reply(&order, replies);
                        self.order_in_worlds(order.circuit, orders);
                    }
                    // Few users have accounts.
                    Err(_) => self.hub.refuse_inventory(&order),
                }
            }
            while let Some((address, mail)) = self.hub.poll_output() {
                is_quiet = false;
                match address {
                    hub::Address::One(shard) => self.hand_mail(usize::from(shard.0), mail),
                    hub::Address::All => {
                        for shard in 0..self.shards.len() {
                            self.hand_mail(shard, mail.clone());
                        }
                    }
                }
            }
            while let Some(record) = self.hub.poll_record() {
                self.records.push(record);
            }
            self.orders.extend(std::iter::from_fn(|| self.hub.poll_order()));
            self.restarts.extend(std::iter::from_fn(|| self.hub.poll_restart()));
            if is_quiet {
                return;
            }
        }
    }
}
