//! Census of a world, kept from its frames alone, with its static objects: the truth that everything else is compared with.

use super::prims::PrimCensus;
use super::{Failure, Rule};
use glam::Vec3;
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey};
use link::{Change, Entity, Frame, Motion};
use std::collections::BTreeMap;
use std::time::Duration;

/// An avatar in a world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CensusEntry {
    pub(crate) agent: AgentId,
    pub(crate) session: SessionKey,
    pub(crate) name: String,
    pub(crate) motion: Motion,
    /// Since when it is at rest, while it is.
    pub(crate) rests_since: Option<Instant>,
    /// The time of its latest movement.
    moved_at: Instant,
}

impl CensusEntry {
    fn of(now: Instant, entity: &Entity) -> Self {
        let Entity { motion, avatar, .. } = entity;
        Self {
            agent: avatar.agent,
            session: avatar.session,
            name: format!("{} {}", avatar.first_name, avatar.last_name),
            motion: *motion,
            rests_since: motion.at_rest().then_some(now),
            moved_at: now,
        }
    }

    /// True for NPCs.
    pub(crate) fn is_npc(&self) -> bool {
        self.session == SessionKey::NODE
    }

    /// True if it has rested at its position for `lasting`.
    pub(crate) fn has_stood(&self, now: Instant, lasting: Duration) -> bool {
        self.motion.at_rest() && now.since(self.moved_at) >= lasting
    }

    /// Square of its distance from a place, as replication computes it.
    pub(crate) fn square(&self, eye: Vec3) -> f32 {
        self.motion.position.distance_squared(eye)
    }

    fn moved(&mut self, now: Instant, motion: Motion) {
        self.motion = motion;
        self.moved_at = now;
        self.rests_since = motion.at_rest().then(|| self.rests_since.unwrap_or(now));
    }
}

/// The state of one world.
#[derive(Debug, Default)]
pub(crate) struct Census {
    here: BTreeMap<LocalId, CensusEntry>,
    /// Positions of static objects. They are in no frame.
    objects: BTreeMap<LocalId, Vec3>,
    prims: PrimCensus,
    by_agent: BTreeMap<AgentId, LocalId>,
    /// Departure times of absent avatars.
    left_at: BTreeMap<AgentId, Instant>,
    /// Owner of every id, in all lives of the world.
    ids: BTreeMap<LocalId, SessionKey>,
    epoch: Epoch,
    next_sequence: u64,
    /// State sent so far by a restarted world, until it is whole.
    roll: Option<BTreeMap<LocalId, CensusEntry>>,
}

/// Effect of a frame on the census.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CensusChange {
    Came(AgentId, SessionKey),
    Went(AgentId, SessionKey),
}

impl Census {
    /// A world with these static objects, and no avatar yet.
    pub(crate) fn among(objects: BTreeMap<LocalId, Vec3>) -> Self {
        Self { objects, ..Self::default() }
    }

    /// Applies a frame; yields the avatars that came and went.
    pub(crate) fn apply(
        &mut self,
        now: Instant,
        frame: &Frame,
        passages: &mut Vec<CensusChange>,
    ) -> Result<(), Failure> {
        let wrong =
            |what: String| Failure::new(now, Rule::FramesAreConsistent, format!("{:?}: {what}", frame.world));
        if frame.epoch > self.epoch {
            self.epoch = frame.epoch;
            self.next_sequence = 0;
            self.roll = Some(BTreeMap::new());
        }
        if (frame.epoch, frame.sequence) != (self.epoch, self.next_sequence) {
            return Err(wrong(format!(
                "frame {} of {:?} where {} of {:?} was due",
                frame.sequence, frame.epoch, self.next_sequence, self.epoch
            )));
        }
        self.next_sequence += 1;
        self.prims.apply(now, frame);
        if self.roll.is_some() {
            return self.call_roll(now, frame, passages).map_err(wrong);
        }
        let highest_before = self.ids.last_key_value().map(|(id, _)| *id);
        frame
            .changes
            .iter()
            .try_for_each(|change| self.apply_change(now, change, highest_before, passages))
            .map_err(wrong)
    }

    fn apply_change(
        &mut self,
        now: Instant,
        change: &Change,
        highest_before: Option<LocalId>,
        passages: &mut Vec<CensusChange>,
    ) -> Result<(), String> {
        match change {
            Change::Created(entity) => {
                let resident = CensusEntry::of(now, entity);
                // Newcomers of one tick come in the order of their slots.
                if highest_before >= Some(entity.id) || self.ids.contains_key(&entity.id) {
                    return Err(format!("{:?} was used before", entity.id));
                }
                self.ids.insert(entity.id, resident.session);
                if self.by_agent.insert(resident.agent, entity.id).is_some() {
                    return Err(format!("{:?} is there twice", resident.agent));
                }
                self.left_at.remove(&resident.agent);
                passages.push(CensusChange::Came(resident.agent, resident.session));
                self.here.insert(entity.id, resident);
            }
            Change::Moved(id, motion) => match self.here.get_mut(id) {
                Some(resident) => resident.moved(now, *motion),
                None => return Err(format!("{id:?} moves and is not there")),
            },
            Change::Removed(id) => {
                let Some(resident) = self.here.remove(id) else {
                    return Err(format!("{id:?} goes and is not there"));
                };
                self.by_agent.remove(&resident.agent);
                self.left_at.insert(resident.agent, now);
                passages.push(CensusChange::Went(resident.agent, resident.session));
            }
            Change::Appeared(id, _) | Change::Animated(id, _) | Change::Seated(id, _)
                if !self.here.contains_key(id) =>
            {
                return Err(format!("{id:?} changes and is not there"));
            }
            Change::Appeared(..) | Change::Animated(..) | Change::Seated(..) => {}
        }
        Ok(())
    }

    /// Follows the first frames of a restarted world, which send its state in parts.
    fn call_roll(
        &mut self,
        now: Instant,
        frame: &Frame,
        passages: &mut Vec<CensusChange>,
    ) -> Result<(), String> {
        let Some(roll) = &mut self.roll else { return Ok(()) };
        for change in &frame.changes {
            match change {
                Change::Created(entity) => drop(roll.insert(entity.id, CensusEntry::of(now, entity))),
                Change::Removed(id) => drop(roll.remove(id)),
                Change::Moved(id, motion) => {
                    roll.entry(*id).and_modify(|resident| resident.moved(now, *motion));
                }
                Change::Appeared(..) | Change::Animated(..) | Change::Seated(..) => {}
            }
        }
        let Some(part) = &frame.snapshot else {
            return Err("a restarted world does not list its avatars".to_owned());
        };
        roll.extend(part.entities.iter().map(|entity| (entity.id, CensusEntry::of(now, entity))));
        if part.index + 1 < part.count {
            return Ok(());
        }
        let here = self.roll.take().unwrap_or_default();
        for (id, resident) in &here {
            let new = self.ids.last_key_value().is_none_or(|(highest, _)| id > highest);
            if !new && self.ids.get(id) != Some(&resident.session) {
                return Err(format!("{id:?} was another avatar's in an earlier life"));
            }
        }
        self.ids.extend(here.iter().map(|(id, resident)| (*id, resident.session)));
        let former = std::mem::replace(&mut self.here, here);
        self.by_agent.clear();
        for (_, gone) in former.iter().filter(|(id, _)| !self.here.contains_key(id)) {
            self.left_at.insert(gone.agent, now);
            passages.push(CensusChange::Went(gone.agent, gone.session));
        }
        for (id, resident) in &self.here {
            if self.by_agent.insert(resident.agent, *id).is_some() {
                return Err(format!("{:?} is there twice", resident.agent));
            }
            self.left_at.remove(&resident.agent);
            if !former.contains_key(id) {
                passages.push(CensusChange::Came(resident.agent, resident.session));
            }
        }
        Ok(())
    }

    /// Objects that can change.
    pub(crate) const fn prims(&self) -> &PrimCensus {
        &self.prims
    }

    /// Everything that stands here.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (LocalId, Vec3)> {
        self.objects.iter().map(|(id, position)| (*id, *position))
    }

    /// True for a static object.
    pub(crate) fn is_static(&self, id: LocalId) -> bool {
        self.objects.contains_key(&id)
    }

    /// All avatars, by local id.
    pub(crate) fn residents(&self) -> impl Iterator<Item = &CensusEntry> {
        self.here.values()
    }

    /// The avatar of an account, if present.
    pub(crate) fn resident(&self, agent: AgentId) -> Option<&CensusEntry> {
        self.here.get(self.by_agent.get(&agent)?)
    }

    /// Departure time of an absent avatar; `None` if it never was present.
    pub(crate) fn left_at(&self, agent: AgentId) -> Option<Instant> {
        self.left_at.get(&agent).copied()
    }

    /// True if no visitor moves.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.here.values().all(|resident| resident.is_npc() || resident.motion.at_rest())
    }

    /// True if the world has NPCs: they move and strike visitors, so that it never comes to rest.
    pub(crate) fn has_npcs(&self) -> bool {
        self.here.values().any(CensusEntry::is_npc)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use link::{Audience, Avatar, SnapshotChunk};
    use std::sync::Arc;

    fn created(id: u32, agent: u128) -> Change {
        let avatar = Avatar {
            session: SessionKey(1),
            agent: AgentId(ids::Uuid::from_u128(agent)),
            first_name: "Ada".into(),
            last_name: "Lovelace".into(),
            size: Vec3::ONE,
            appearance: None,
            animations: link::Animations::new(),
        };
        let motion = Motion::default();
        Change::Created(Arc::new(Entity {
            id: LocalId(id),
            audience: Audience::All,
            motion,
            seat: None,
            avatar,
        }))
    }

    /// A world in which these stand in one spot.
    pub(in crate::checks) fn census_of(agents: &[AgentId]) -> Census {
        let mut census = Census::default();
        let changes = agents.iter().zip(1..).map(|(agent, id)| created(id, agent.0.as_u128())).collect();
        let frame = Frame { changes, ..Frame::empty() };
        census.apply(Instant::ZERO, &frame, &mut Vec::new()).expect("distinct agents");
        census
    }

    /// True if the census accepts these changes, one per frame.
    fn accepts(changes: &[Change]) -> bool {
        let mut census = Census::default();
        changes.iter().zip(0..).all(|(change, sequence)| {
            let frame = Frame { sequence, changes: vec![change.clone()], ..Frame::empty() };
            census.apply(Instant::ZERO, &frame, &mut Vec::new()).is_ok()
        })
    }

    #[test]
    fn an_avatar_that_returns_under_another_id_is_consistent() {
        assert!(accepts(&[created(1, 7), Change::Removed(LocalId(1)), created(2, 7)]));
    }

    /// True if the census accepts the beginning of a second life, after a first in which 7 came as 1 and 8 as 2.
    fn accepts_roll(entities: &[(u32, u128, u64)]) -> bool {
        let mut census = Census::default();
        let first = Frame { changes: vec![created(1, 7), created(2, 8)], ..Frame::empty() };
        census.apply(Instant::ZERO, &first, &mut Vec::new()).expect("consistent");
        let entities = entities.iter().map(|&(id, agent, session)| {
            let Change::Created(mut entity) = created(id, agent) else { unreachable!("it is") };
            Arc::make_mut(&mut entity).avatar.session = SessionKey(session);
            entity
        });
        let snapshot = Some(SnapshotChunk {
            index: 0,
            count: 1,
            entities: entities.collect(),
            ..SnapshotChunk::default()
        });
        let again = Frame { epoch: Epoch(1), snapshot, ..Frame::empty() };
        census.apply(Instant::ZERO, &again, &mut Vec::new()).is_ok()
    }

    #[test]
    fn a_restarted_world_may_know_fewer_avatars_and_never_reassigns_an_id() {
        assert!(accepts_roll(&[(1, 7, 1)]));
        assert!(accepts_roll(&[(1, 7, 1), (3, 9, 5)]));
        assert!(!accepts_roll(&[(1, 9, 5)]), "another's id");
        assert!(!accepts_roll(&[(1, 7, 1), (2, 7, 1)]), "an agent twice");
    }

    #[test]
    fn impossible_frames_are_noticed() {
        assert!(!accepts(&[created(1, 7), created(1, 8)]), "an id twice");
        assert!(!accepts(&[created(1, 7), created(2, 7)]), "an agent twice");
        assert!(!accepts(&[created(1, 7), Change::Removed(LocalId(1)), created(1, 7)]), "an id again");
        assert!(!accepts(&[Change::Moved(LocalId(1), Motion::default())]), "a move of an unknown avatar");
        let gap = Frame { sequence: 1, ..Frame::empty() };
        assert!(Census::default().apply(Instant::ZERO, &gap, &mut Vec::new()).is_err(), "a gap");
    }
}
