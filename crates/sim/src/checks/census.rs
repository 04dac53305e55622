//! Who is in a world, kept from its frames alone: the truth that everything else is compared with.

use super::{Failure, Rule};
use ids::{AgentId, Instant, LocalId, SessionKey};
use std::collections::BTreeMap;
use world::{Change, EntityKind, Frame, Motion};

/// Somebody in a world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resident {
    pub(crate) agent: AgentId,
    pub(crate) session: SessionKey,
    pub(crate) name: String,
    pub(crate) motion: Motion,
}

/// The state of one world.
#[derive(Debug, Default)]
pub(crate) struct Census {
    here: BTreeMap<LocalId, Resident>,
    by_agent: BTreeMap<AgentId, LocalId>,
    /// When those who are not here any more left.
    left_at: BTreeMap<AgentId, Instant>,
    highest_id: Option<LocalId>,
    next_sequence: u64,
}

/// What a frame did to the census.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passage {
    Came(AgentId, SessionKey),
    Went(AgentId, SessionKey),
}

impl Census {
    /// Takes a frame in; says who came and went.
    pub(crate) fn apply(
        &mut self,
        now: Instant,
        frame: &Frame,
        passages: &mut Vec<Passage>,
    ) -> Result<(), Failure> {
        let wrong =
            |what: String| Failure::new(now, Rule::FramesAreConsistent, format!("{:?}: {what}", frame.world));
        if frame.sequence != self.next_sequence {
            return Err(wrong(format!("frame {} where {} was due", frame.sequence, self.next_sequence)));
        }
        self.next_sequence += 1;
        let highest_before = self.highest_id;
        for change in &frame.changes {
            match change {
                Change::Created(entity) => {
                    let EntityKind::Avatar(avatar) = &entity.kind;
                    // Newcomers of one tick come in the order of their slots.
                    if highest_before >= Some(entity.id) || self.here.contains_key(&entity.id) {
                        return Err(wrong(format!("{:?} was used before", entity.id)));
                    }
                    self.highest_id = self.highest_id.max(Some(entity.id));
                    if self.by_agent.insert(avatar.agent, entity.id).is_some() {
                        return Err(wrong(format!("{:?} is there twice", avatar.agent)));
                    }
                    self.left_at.remove(&avatar.agent);
                    passages.push(Passage::Came(avatar.agent, avatar.session));
                    self.here.insert(
                        entity.id,
                        Resident {
                            agent: avatar.agent,
                            session: avatar.session,
                            name: format!("{} {}", avatar.first_name, avatar.last_name),
                            motion: entity.motion,
                        },
                    );
                }
                Change::Moved(id, motion) => match self.here.get_mut(id) {
                    Some(resident) => resident.motion = *motion,
                    None => return Err(wrong(format!("{id:?} moves and is not there"))),
                },
                Change::Removed(id) => {
                    let Some(resident) = self.here.remove(id) else {
                        return Err(wrong(format!("{id:?} goes and is not there")));
                    };
                    self.by_agent.remove(&resident.agent);
                    self.left_at.insert(resident.agent, now);
                    passages.push(Passage::Went(resident.agent, resident.session));
                }
                Change::Appeared(id, _) | Change::Animated(id, _) if !self.here.contains_key(id) => {
                    return Err(wrong(format!("{id:?} changes and is not there")));
                }
                Change::Appeared(..) | Change::Animated(..) => {}
            }
        }
        Ok(())
    }

    /// Everybody, by local id.
    pub(crate) fn residents(&self) -> impl Iterator<Item = &Resident> {
        self.here.values()
    }

    /// Somebody, if they are here.
    pub(crate) fn resident(&self, agent: AgentId) -> Option<&Resident> {
        self.here.get(self.by_agent.get(&agent)?)
    }

    /// When somebody left who is not here; `None` for those who never were.
    pub(crate) fn left_at(&self, agent: AgentId) -> Option<Instant> {
        self.left_at.get(&agent).copied()
    }

    /// Whether nobody moves.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.here.values().all(|resident| resident.motion.at_rest())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::Arc;
    use world::{Audience, Avatar, Entity};

    fn created(id: u32, agent: u128) -> Change {
        let kind = EntityKind::Avatar(Avatar {
            session: SessionKey(1),
            agent: AgentId(ids::Uuid::from_u128(agent)),
            first_name: "Ada".into(),
            last_name: "Lovelace".into(),
            size: glam::Vec3::ONE,
            appearance: None,
            animations: Arc::from([]),
        });
        let motion = Motion::default();
        Change::Created(Arc::new(Entity { id: LocalId(id), audience: Audience::All, motion, kind }))
    }

    /// A world in which these stand in one spot.
    pub(in crate::checks) fn census_of(agents: &[AgentId]) -> Census {
        let mut census = Census::default();
        let changes = agents.iter().zip(1..).map(|(agent, id)| created(id, agent.0.as_u128())).collect();
        let frame = Frame { changes, ..Frame::empty() };
        census.apply(Instant::ZERO, &frame, &mut Vec::new()).expect("distinct agents");
        census
    }

    /// Whether a census finds a world consistent that tells these changes, a frame each.
    fn accepts(changes: &[Change]) -> bool {
        let mut census = Census::default();
        changes.iter().zip(0..).all(|(change, sequence)| {
            let frame = Frame { sequence, changes: vec![change.clone()], ..Frame::empty() };
            census.apply(Instant::ZERO, &frame, &mut Vec::new()).is_ok()
        })
    }

    #[test]
    fn who_comes_goes_and_returns_under_another_id_is_consistent() {
        assert!(accepts(&[created(1, 7), Change::Removed(LocalId(1)), created(2, 7)]));
    }

    #[test]
    fn impossible_frames_are_noticed() {
        assert!(!accepts(&[created(1, 7), created(1, 8)]), "an id twice");
        assert!(!accepts(&[created(1, 7), created(2, 7)]), "an agent twice");
        assert!(!accepts(&[created(1, 7), Change::Removed(LocalId(1)), created(1, 7)]), "an id again");
        assert!(!accepts(&[Change::Moved(LocalId(1), Motion::default())]), "a move of nobody");
        let gap = Frame { sequence: 1, ..Frame::empty() };
        assert!(Census::default().apply(Instant::ZERO, &gap, &mut Vec::new()).is_err(), "a gap");
    }
}
