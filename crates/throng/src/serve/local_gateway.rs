//! The gateway of this process as its host sees it: worlds that come and go, their frames, and the sessions in them.
//!
//! Hosts know it by the traits of `workplace` only. Its calls take the hub's lock, or that of the directory of instances.

use gateway::places::{EncodedGround, EncodedGrounds, Places, Scene};
use gateway::sessions::Sessions;
use glam::Vec3;
use host::coordinator::Admitted;
use host::registry::Visitor;
use ids::{AgentId, Instant, SessionKey, WorldId};
use link::{
    AdmissionNumber, Command, OccupantCount, Passage, PassageRefusal, TravelOrder, WorldCensus, WorldSpec,
};
use region_threads::replicas::InstanceFrames;
use schedule::long::LongTasks;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use workplace::instances::{InstanceGateway, Who};
use workplace::serving::{FrameOutlet, ShownWorld, SnapshotRequest, WorldGateway};

/// See the module.
pub(super) struct LocalGateway {
    sessions: Arc<Sessions>,
    grounds: EncodedGrounds,
    /// True if dead reckoning suppresses updates.
    dead_reckoning: bool,
    long: LongTasks,
    /// Scenes of instances that have left memory, until no shard holds them. A long task frees them, so that no shard does. At most those that
    /// clients are still shown, and those ended since the last second.
    ended: Mutex<Vec<Arc<Scene>>>,
}

impl LocalGateway {
    pub(super) fn new(sessions: &Arc<Sessions>, dead_reckoning: bool, long: &LongTasks) -> Self {
        Self {
            sessions: Arc::clone(sessions),
            grounds: EncodedGrounds::default(),
            dead_reckoning,
            long: long.clone(),
            ended: Mutex::default(),
        }
    }

    /// Adds the ground of a template, which its instances share.
    pub(super) fn add_ground(&self, ground: Arc<EncodedGround>) {
        self.grounds.add(ground);
    }

    /// Has those ended scenes that no shard holds any more freed by a long task. Called periodically.
    pub(super) fn drop_ended(&self) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let unheld: Vec<Arc<Scene>> = ended.extract_if(.., |scene| Arc::strong_count(scene) == 1).collect();
        drop(ended);
        unheld.into_iter().for_each(|scene| self.long.dispose(Box::new(scene)));
    }

    fn places(&self) -> &Places {
        self.sessions.places()
    }
}

impl WorldGateway for LocalGateway {
    fn open_world(&self, spec: &Arc<WorldSpec>, request_snapshot: SnapshotRequest) -> Box<dyn FrameOutlet> {
        let scene = Arc::new(Scene::new(Arc::clone(spec), self.grounds.of(&spec.ground)));
        let frames = InstanceFrames::new(&scene, self.dead_reckoning, &self.sessions, request_snapshot);
        self.places().add_instance(scene);
        Box::new(frames)
    }

    fn close_world(&self, world: WorldId) {
        let scene = self.places().remove_instance(world);
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).extend(scene);
    }

    fn census(&self, world: WorldId) -> WorldCensus {
        self.sessions.with(|hub| hub.census_of(world))
    }

    fn dismissals(&self, world: WorldId) -> Vec<Command> {
        let Some(scene) = self.places().scene(world) else { return Vec::new() };
        let census = self.census(world);
        let replica = scene.feed.current();
        // NPCs have no login that could have ended.
        let shown = replica.entities().map(|(_, _, slot)| slot.session);
        census.dismissals(shown.filter(|session| *session != SessionKey::NODE))
    }

    fn shown(&self, world: WorldId) -> Option<ShownWorld> {
        let scene = self.places().scene(world)?;
        let census = self.census(world);
        let replica = scene.feed.current();
        let n_missing = census.n_missing(|session| replica.of_session(session).is_some());
        Some(ShownWorld { epoch: replica.epoch, n_missing })
    }
}

impl InstanceGateway for LocalGateway {
    fn check(&self, visitor: &Visitor) -> Result<(), PassageRefusal> {
        self.sessions.with(|hub| hub.check(visitor))
    }

    fn admit(
        &self,
        now: Instant,
        visitor: &Visitor,
        world: WorldId,
        position: Option<Vec3>,
    ) -> Result<Admitted, PassageRefusal> {
        self.check(visitor)?;
        self.sessions.with(|hub| {
            let passage = hub.enter(now, visitor.session, world, position)?;
            Ok(Admitted { passage, occupants: hub.occupants_of(world) })
        })
    }

    fn dismiss(&self, now: Instant, visitor: &Visitor) -> Result<Passage, PassageRefusal> {
        self.check(visitor)?;
        self.sessions.with(|hub| hub.leave(now, visitor.session))
    }

    fn occupants(&self) -> (AdmissionNumber, BTreeMap<WorldId, usize>) {
        self.sessions.with(|hub| (hub.last_admission(), hub.visitors()))
    }

    fn occupants_of(&self, world: WorldId) -> OccupantCount {
        self.sessions.with(|hub| hub.occupants_of(world))
    }

    fn empty(&self, now: Instant, world: WorldId, reason: &str) {
        self.sessions.with(|hub| hub.empty(now, world, reason));
    }

    fn end_order(&self, order: &TravelOrder) {
        self.sessions.with(|hub| hub.end_order(order));
    }

    fn turn_down(&self, order: &TravelOrder, why: &str) {
        self.sessions.with(|hub| hub.turn_down(order, why));
    }

    fn find(&self, who: &Who) -> Option<SessionKey> {
        self.sessions.with(|hub| match who {
            Who::Name(name) => hub.session_named(name),
            Who::Agent(id) => hub.session_of(AgentId(*id)),
        })
    }
}

#[cfg(test)]
mod tests;
