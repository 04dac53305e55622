//! True poses of all avatars, now and a moment ago.

use glam::{Quat, Vec3};
use ids::{AgentId, LocalId};
use link::{Change, Entity, Frame, Motion};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Index of an avatar in [`Truth`].
pub(super) type Who = u32;

/// One avatar.
#[derive(Debug)]
pub(super) struct Person {
    pub(super) is_here: bool,
    /// True if its display is judged.
    pub(super) is_judged: bool,
    /// Now, and a tick before.
    pub(super) poses: [TruePose; 2],
    pub(super) is_moving: bool,
    /// Time at which it came to rest, while it rests.
    pub(super) stopped_ns: Option<u64>,
}

/// Position and direction of an avatar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TruePose {
    pub(super) position: Vec3,
    pub(super) rotation: Quat,
}

impl TruePose {
    const fn of(motion: &Motion) -> Self {
        Self { position: motion.position, rotation: motion.rotation }
    }
}

/// A world as it is.
#[derive(Debug, Default)]
pub(super) struct Truth {
    people: Vec<Person>,
    by_id: BTreeMap<LocalId, Who>,
    by_agent: BTreeMap<AgentId, Who>,
    /// Avatars that may have another pose than a tick ago.
    stirred: Vec<Who>,
    /// The last name of judged avatars; all are judged without one.
    judged: Option<String>,
}

impl Truth {
    pub(super) fn new(entities: impl Iterator<Item = Arc<Entity>>, judged: Option<&str>) -> Self {
        let mut truth = Self { judged: judged.map(str::to_owned), ..Self::default() };
        entities.for_each(|entity| truth.enter(&entity));
        truth
    }

    pub(super) fn person(&self, who: Who) -> &Person {
        &self.people[who as usize]
    }

    pub(super) fn people(&self) -> impl Iterator<Item = (Who, &Person)> {
        (0..).zip(&self.people).filter(|(_, person)| person.is_here)
    }

    pub(super) fn of_id(&self, id: LocalId) -> Option<Who> {
        self.by_id.get(&id).copied()
    }

    /// An agent's avatar, if it is here.
    pub(super) fn of_agent(&self, agent: AgentId) -> Option<Who> {
        self.by_agent.get(&agent).copied().filter(|&who| self.person(who).is_here)
    }

    /// Goes on by a tick.
    pub(super) fn apply(&mut self, now_ns: u64, frame: &Frame) {
        for who in self.stirred.drain(..) {
            let poses = &mut self.people[who as usize].poses;
            poses[1] = poses[0];
        }
        for change in &frame.changes {
            match change {
                Change::Created(entity) => self.enter(entity),
                Change::Moved(id, motion) => {
                    if let Some(&who) = self.by_id.get(id) {
                        self.move_to(now_ns, who, motion);
                    }
                }
                Change::Removed(id) => {
                    if let Some(who) = self.by_id.remove(id) {
                        self.people[who as usize].is_here = false;
                    }
                }
                Change::Appeared(..) | Change::Animated(..) | Change::Seated(..) => {}
            }
        }
    }

    fn enter(&mut self, entity: &Entity) {
        let avatar = &entity.avatar;
        let who = self.people.len() as Who;
        self.people.push(Person {
            is_here: true,
            is_judged: self.judged.as_ref().is_none_or(|name| *name == avatar.last_name),
            poses: [TruePose::of(&entity.motion); 2],
            is_moving: !entity.motion.at_rest(),
            stopped_ns: None,
        });
        self.by_id.insert(entity.id, who);
        self.by_agent.insert(avatar.agent, who);
    }

    fn move_to(&mut self, now_ns: u64, who: Who, motion: &Motion) {
        let person = &mut self.people[who as usize];
        let was_shifted = person.poses[1] != person.poses[0];
        person.poses[0] = TruePose::of(motion);
        if !was_shifted {
            self.stirred.push(who);
        }
        let was_moving = std::mem::replace(&mut person.is_moving, !motion.at_rest());
        if person.is_moving {
            person.stopped_ns = None;
        } else if was_moving {
            person.stopped_ns = Some(now_ns);
        } else if person.poses[0].position != person.poses[1].position {
            // A push while it rests is no stop, and spoils the judgement of the one before.
            person.stopped_ns = None;
        }
    }
}
