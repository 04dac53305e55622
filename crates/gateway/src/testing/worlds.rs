//! Worlds of a node: commands to them, panics, their steps, and their states.

use super::disk::{DiskNews, RegionDisk};
use super::region::Region;
use super::{Node, STEPS_PER_TICK, agent, setup};
use crate::places::PlaceId;
use glam::Vec3;
use grid::inventory::{WorldAnswer, WorldOrder, WorldOrderEnd, end_world_order, transfer_notices};
use ids::{Instant, SessionKey, Tick};
use keeper::{Keeper, WornRegions};
use link::{Action, CircuitKey, Command, CommandSeries, ObjectChange, Scenery};
use std::collections::BTreeMap;
use std::time::Duration;
use world::Life;

/// The regions that are saved.
pub(super) struct Saved<'a>(pub(super) &'a mut [Region]);

impl WornRegions for Saved<'_> {
    fn keepers(&mut self) -> impl Iterator<Item = &mut Keeper> {
        self.0.iter_mut().filter_map(|region| region.disk.as_mut()).map(RegionDisk::keeper)
    }
}

impl Node {
    /// Puts a change of objects into the next frame of a place's world.
    pub(crate) fn publish(&mut self, place: PlaceId, change: ObjectChange) {
        self.regions[place.0 as usize].object_changes.push(change);
    }

    /// Gives a command of the node to a place's world.
    pub(crate) fn order(&mut self, place: PlaceId, action: Action) {
        self.order_for(place, SessionKey::NODE, action);
    }

    /// The same for a session there.
    pub(crate) fn order_for(&mut self, place: PlaceId, session: SessionKey, action: Action) {
        let sequence = CommandSeries::Edits.first() + self.commands.len() as u64;
        let region = &mut self.regions[place.0 as usize];
        let command = Command::by_node(session, sequence, action);
        self.commands.push((region.scene.world, command.clone()));
        region.commands.push(command);
    }

    /// A place's world panics in a step and restarts: its newest checkpoint is 4 s old at most. The commands in its inbox are lost.
    pub(crate) fn panic(&mut self, place: PlaceId) {
        self.panics += 1;
        let region = &mut self.regions[place.0 as usize];
        region.life.begin_again(1);
        region.commands = self.hub.census_of(region.scene.world).dismissals(region.life.world().sessions());
    }

    /// Lets a world panic at such a command, this number of times.
    pub(crate) fn poison(&mut self, times: usize, poison: fn(&Action) -> bool) {
        self.poison = poison;
        self.poisoned = times;
    }

    /// Dismisses the avatars without a session in a place, as is done for a while after a restart.
    pub(crate) fn dismiss(&mut self, place: PlaceId) {
        let region = &mut self.regions[place.0 as usize];
        region
            .commands
            .extend(self.hub.census_of(region.scene.world).dismissals(region.life.world().sessions()));
    }

    /// Sessions in a place that its replica does not show.
    pub(crate) fn n_missing(&self, place: PlaceId) -> usize {
        let scene = &self.regions[place.0 as usize].scene;
        let replica = scene.feed.current();
        self.hub.census_of(scene.world).n_missing(|session| replica.of_session(session).is_some())
    }

    /// Lets time pass until a place's world has just taken a checkpoint.
    pub(crate) fn await_checkpoint(&mut self) {
        let period = Life::CHECKPOINT_PERIOD.as_nanos() as u64;
        let next = Instant((self.now.0 / period + 1) * period);
        self.run_for(next - self.now + Duration::from_millis(100));
    }

    /// Number of avatars in a world.
    pub(crate) fn avatars_in(&self, place: PlaceId) -> usize {
        self.regions[place.0 as usize].life.world().n_avatars()
    }

    /// Position of a user's avatar in a place.
    pub(crate) fn position_in(&self, place: PlaceId, name: &str) -> Option<Vec3> {
        let replica = self.regions[place.0 as usize].scene.feed.current();
        replica.entities().find(|(_, _, slot)| slot.agent == agent(name)).map(|(_, hot, _)| hot.position)
    }

    /// Distance in metres between a user's avatar as a client extrapolates it, and as it moves in a place's world.
    pub(crate) fn shown_error_m(&self, client: usize, place: PlaceId, name: &str) -> f32 {
        let replica = self.regions[place.0 as usize].scene.feed.current();
        let slot = replica.of_agent(agent(name)).expect("it is in the world");
        let motion = replica.slot(slot).expect("looked up").motion;
        let place = motion.position + motion.velocity * self.now.since(replica.at).as_secs_f32();
        let seen = self.clients[client].sees(name).expect("it is shown");
        place.distance(seen.position + seen.velocity * self.now.since(seen.at).as_secs_f32())
    }

    /// Position of every avatar in a place, by local id.
    pub(crate) fn positions_in(&self, place: PlaceId) -> BTreeMap<u32, Vec3> {
        let replica = self.regions[place.0 as usize].scene.feed.current();
        replica.entities().map(|(_, hot, _)| (hot.id, hot.position)).collect()
    }

    /// Static objects of a region.
    pub(crate) fn scenery(&self, place: PlaceId) -> &Scenery {
        &self.places.get(place).ground().scenery
    }

    pub(super) fn step_worlds(&mut self) {
        let arrives_at = self.steps + self.lag_ticks * STEPS_PER_TICK;
        for shard in &mut self.shards {
            for (world, command) in shard.commands().drain(..) {
                self.commands.push((world, command.clone()));
                self.lagging.push_back((arrives_at, world, command));
            }
        }
        while let Some((_, world, command)) = self.lagging.pop_front_if(|(at, ..)| *at <= self.steps) {
            // A world that has ended takes none.
            if let Some(region) = self.regions.iter_mut().find(|region| region.scene.world == world) {
                region.commands.push(command);
            }
        }
        let tick = Tick(self.steps / STEPS_PER_TICK);
        for index in 0..self.regions.len() {
            let is_poison = |command: &Command| (self.poison)(&command.action);
            if self.poisoned > 0 && self.regions[index].commands.iter().any(is_poison) {
                self.poisoned -= 1;
                self.panic(PlaceId(index as u16));
            }
            let events = self.regions[index].step(self.now, tick);
            let world = self.regions[index].scene.world;
            if self.holds_events {
                self.held_events.push((world, events));
            } else if !events.is_empty() {
                self.send_events(world, events);
            }
            let news = self.regions[index].disk.as_mut().map(RegionDisk::take_news);
            let DiskNews { items, ended } = news.unwrap_or_default();
            self.hub.send_notices(transfer_notices(&items));
            for (circuit, end, answer) in ended {
                self.end_world_order(circuit, end, &answer);
            }
            while let Some(news) =
                self.regions[index].disk.as_mut().and_then(|disk| disk.keeper().poll_worn())
            {
                self.wardrobe.take_news(self.now, world, news, &mut Saved(&mut self.regions));
            }
        }
        self.wardrobe.drive(self.now, &mut Saved(&mut self.regions));
    }

    /// Hands orders of a client to the keepers of their regions.
    pub(crate) fn order_in_worlds(&mut self, circuit: CircuitKey, orders: Vec<WorldOrder>) {
        for order in orders {
            let end = order.end;
            let region = self.regions.iter_mut().find(|region| region.scene.world == order.region);
            let answer = match region.and_then(|region| region.disk.as_mut()) {
                Some(disk) => disk.order(circuit, order).err(),
                None => Some(WorldAnswer::NotSent("The region is not saved.".into())),
            };
            if let Some(answer) = answer {
                self.end_world_order(circuit, end, &answer);
            }
        }
    }

    fn end_world_order(&mut self, circuit: CircuitKey, end: WorldOrderEnd, answer: &WorldAnswer) {
        let replies = end_world_order(self.store.get_or_insert_with(setup::store), end, answer);
        self.hub.handle_world_end(circuit, &end, replies);
    }
}
