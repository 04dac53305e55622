//! View of an observing bot: it decodes every message of the scene and keeps the displayed avatars, like a viewer.

use crate::prims::{PrimCache, PrimView};
use crate::views::ViewChange;
use glam::{Quat, Vec3};
use ids::{AgentId, Instant, LocalId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use wire::Malformed;
use wire::messages::{
    AvatarAnimation, AvatarAppearance, ChatFromSimulator, CoarseLocationUpdate, ImprovedTerseObjectUpdate,
    KillObject, MessageNumber, ObjectUpdate, ObjectUpdateCached, ObjectUpdateCompressed,
};
use wire::{object_update, terse, text};

/// Avatars that one observer keeps: more than any region holds. Further ones are only counted.
pub const AVATARS_MAX: usize = 16_384;

/// Chat lines that are kept, newest last; the oldest make room.
pub const CHAT_MAX: usize = 64;

/// An avatar as last shown.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenAvatar {
    /// Account of the avatar.
    pub agent: AgentId,
    /// First name as shown with the avatar.
    pub first_name: String,
    /// Last name as shown with the avatar.
    pub last_name: String,
    /// Metres from the region's corner, or from the seat.
    pub position: Vec3,
    /// Metres per second, for extrapolation.
    pub velocity: Vec3,
    /// Direction of the body.
    pub rotation: Quat,
    /// Time of the latest update.
    pub updated_at: Instant,
    /// Updates since it was shown first, that one included.
    pub updates: u64,
    /// Animations that it plays now.
    pub animations: u32,
    /// True once its appearance was received.
    pub has_appearance: bool,
}

impl SeenAvatar {
    const fn view_change(&self, id: LocalId) -> ViewChange {
        ViewChange::Avatar { id, position: self.position, velocity: self.velocity, rotation: self.rotation }
    }
}

/// A line of chat as heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardChat {
    /// Displayed name of the speaker.
    pub from: String,
    /// 0 whisper, 1 say, 2 shout, 4 and 5 start and stop of typing.
    pub kind: u8,
    /// Line.
    pub text: String,
}

/// Counters of an observer; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObserverCounters {
    /// Blocks of full updates of avatars.
    pub full_blocks: u64,
    /// Blocks of full updates of objects that stand in the world.
    pub object_blocks: u64,
    /// Blocks of terse updates.
    pub terse_blocks: u64,
    /// Terse blocks of objects that were not shown in full before.
    pub unknown_blocks: u64,
    /// Objects removed.
    pub kills: u64,
    /// Chat messages, typing included.
    pub chats: u64,
    /// Lists of dots on the map.
    pub coarse_lists: u64,
    /// Lists of animations.
    pub animation_lists: u64,
    /// Looks.
    pub appearances: u64,
    /// Avatars not kept because the table was full.
    pub not_kept: u64,
    /// Messages that could not be decoded.
    pub malformed: u64,
}

impl ObserverCounters {
    /// Blocks of full and terse updates of avatars.
    #[must_use]
    pub const fn updates(&self) -> u64 {
        self.full_blocks + self.terse_blocks
    }
}

/// The scene as one bot sees it.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    avatars: BTreeMap<LocalId, SeenAvatar>,
    by_agent: BTreeMap<AgentId, LocalId>,
    prims: PrimView,
    /// Prims that have moved while changes were recorded.
    movers: BTreeSet<LocalId>,
    /// Changes since the last [`Self::take_sights`], if they are recorded.
    changes: Option<Vec<ViewChange>>,
    /// Avatars that appeared since the last [`Self::take_newcomers`].
    newcomers: Vec<AgentId>,
    chat: VecDeque<HeardChat>,
    dots: usize,
    seen: ObserverCounters,
    /// Time of the last change of the displayed scene.
    changed_at: Option<Instant>,
    /// The longest time without such news since the last call of [`Self::take_gap`].
    gap: Duration,
}

impl Observer {
    /// Records changes for [`Self::take_sights`] from now on.
    pub(crate) fn keep_sights(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// The own avatar was placed.
    pub(crate) fn note_placed(&mut self, own: AgentId) {
        push_change(&mut self.changes, ViewChange::Placed(own));
    }

    /// Drains the changes since the last call.
    pub(crate) fn take_sights(&mut self) -> impl Iterator<Item = ViewChange> {
        self.changes.iter_mut().flat_map(|changes| changes.drain(..))
    }

    /// The avatars that are shown now, the own one included.
    pub fn avatars(&self) -> impl Iterator<Item = &SeenAvatar> {
        self.avatars.values()
    }

    /// One avatar, if it is shown now.
    #[must_use]
    pub fn avatar(&self, agent: AgentId) -> Option<&SeenAvatar> {
        self.avatars.get(self.by_agent.get(&agent)?)
    }

    /// Number of an avatar in the region, if it is shown now.
    #[must_use]
    pub fn id_of(&self, agent: AgentId) -> Option<LocalId> {
        self.by_agent.get(&agent).copied()
    }

    /// The displayed objects, and the kept ones.
    #[must_use]
    pub const fn prims(&self) -> &PrimView {
        &self.prims
    }

    /// The same, to take what it lacks.
    pub(crate) const fn prims_mut(&mut self) -> &mut PrimView {
        &mut self.prims
    }

    /// Keeps objects from now on, and displays those of a former visit.
    pub fn keep_prims(&mut self, cache: PrimCache) {
        self.prims = PrimView::with_cache(cache);
    }

    /// Avatars shown now but for this one.
    #[must_use]
    pub fn others(&self, own: AgentId) -> usize {
        self.avatars.len() - usize::from(self.by_agent.contains_key(&own))
    }

    /// The newest lines of chat, oldest first.
    pub fn chat(&self) -> impl Iterator<Item = &HeardChat> {
        self.chat.iter()
    }

    /// Dots on the map in the latest list.
    #[must_use]
    pub const fn dots(&self) -> usize {
        self.dots
    }

    /// Counters.
    #[must_use]
    pub const fn seen(&self) -> &ObserverCounters {
        &self.seen
    }

    /// Forgets the scene of a region that was left. Counters and chat stay.
    pub fn clear(&mut self) {
        self.avatars.clear();
        self.by_agent.clear();
        self.prims.clear();
        self.movers.clear();
        self.newcomers.clear();
        self.dots = 0;
    }

    /// Avatars shown for the first time since the last call.
    pub(crate) fn take_newcomers(&mut self) -> Vec<AgentId> {
        std::mem::take(&mut self.newcomers)
    }

    /// Longest time since the last call without a change: no avatar appeared, left or moved. Repetitions are no change, so the gap
    /// grows while a world stands still.
    pub(crate) fn take_gap(&mut self, now: Instant) -> Duration {
        let last = *self.changed_at.get_or_insert(now);
        std::mem::take(&mut self.gap).max(now - last)
    }

    fn note_change(&mut self, now: Instant) {
        let last = self.changed_at.replace(now).unwrap_or(now);
        self.gap = self.gap.max(now - last);
    }

    /// Takes in a message of the scene; others are left alone.
    pub(crate) fn on_message(&mut self, now: Instant, number: MessageNumber, body: &[u8]) {
        let result = match number {
            ObjectUpdate::NUMBER => self.on_object_update(now, body),
            ImprovedTerseObjectUpdate::NUMBER => self.on_terse(now, body),
            ObjectUpdateCompressed::NUMBER => self.prims.on_compressed(now, body),
            ObjectUpdateCached::NUMBER => self.prims.on_cached(now, body),
            KillObject::NUMBER => self.on_kill(now, body),
            ChatFromSimulator::NUMBER => self.on_chat(body),
            CoarseLocationUpdate::NUMBER => self.on_dots(body),
            AvatarAnimation::NUMBER => self.on_animation(body),
            AvatarAppearance::NUMBER => self.on_appearance(body),
            _ => Ok(()),
        };
        self.seen.malformed += u64::from(result.is_err());
    }

    fn on_object_update(&mut self, now: Instant, body: &[u8]) -> Result<(), Malformed> {
        let (_, objects) = object_update::decode(body)?;
        for object in objects {
            if object.p_code == object_update::PCODE_AVATAR {
                self.seen.full_blocks += 1;
                self.record_full_update(now, &object);
            } else {
                self.seen.object_blocks += 1;
                let (motion, id) = (&object.motion, object.local_id);
                self.note_mover(id, motion.position, motion.velocity, motion.acceleration);
            }
        }
        self.prims.on_update(now, body)
    }

    fn record_full_update(&mut self, now: Instant, object: &object_update::SeenObject) {
        let agent = AgentId(object.id);
        let name = |key| object.name_value(key).unwrap_or_default().to_owned();
        // An avatar that returns has another number; the former is stale even if no KillObject said so.
        let stale = self.by_agent.get(&agent).copied().filter(|&former| former != object.local_id);
        if let Some(stale) = stale {
            self.avatars.remove(&stale);
            push_change(&mut self.changes, ViewChange::Gone(stale));
        }
        let former = self.avatars.remove(&object.local_id);
        if former.is_none() && self.avatars.len() >= AVATARS_MAX {
            self.seen.not_kept += 1;
            return;
        }
        if let Some(other) = former.as_ref().filter(|former| former.agent != agent) {
            self.by_agent.remove(&other.agent);
        }
        let former = former.filter(|former| former.agent == agent);
        if former.is_none() {
            self.newcomers.push(agent);
        }
        if former.as_ref().is_none_or(|former| former.position != object.motion.position) {
            self.note_change(now);
        }
        let avatar = SeenAvatar {
            agent,
            first_name: name("FirstName"),
            last_name: name("LastName"),
            position: object.motion.position,
            velocity: object.motion.velocity,
            rotation: object.motion.rotation,
            updated_at: now,
            updates: former.as_ref().map_or(0, |former| former.updates) + 1,
            animations: former.as_ref().map_or(0, |former| former.animations),
            has_appearance: former.is_some_and(|former| former.has_appearance),
        };
        push_change(&mut self.changes, avatar.view_change(object.local_id));
        self.avatars.insert(object.local_id, avatar);
        self.by_agent.insert(agent, object.local_id);
    }

    fn on_terse(&mut self, now: Instant, body: &[u8]) -> Result<(), Malformed> {
        for block in terse::decode(body)? {
            let block = block?;
            self.seen.terse_blocks += 1;
            if let Some(avatar) = self.avatars.get_mut(&block.local_id) {
                let moved = avatar.position != block.position;
                avatar.position = block.position;
                avatar.velocity = block.velocity;
                avatar.rotation = block.rotation;
                avatar.updated_at = now;
                avatar.updates += 1;
                push_change(&mut self.changes, avatar.view_change(block.local_id));
                if moved {
                    self.note_change(now);
                }
            } else if self.prims.on_moved(now, block.local_id, block.position) {
                self.note_mover(block.local_id, block.position, block.velocity, block.acceleration);
            } else {
                self.seen.unknown_blocks += 1;
            }
        }
        Ok(())
    }

    /// Records the motion of a prim, if changes are recorded and it moves or has moved.
    fn note_mover(&mut self, id: LocalId, position: Vec3, velocity: Vec3, acceleration: Vec3) {
        if self.changes.is_none() {
            return;
        }
        if velocity != Vec3::ZERO {
            self.movers.insert(id);
        }
        if self.movers.contains(&id) {
            push_change(&mut self.changes, ViewChange::Mover { id, position, velocity, acceleration });
        }
    }

    fn on_kill(&mut self, now: Instant, body: &[u8]) -> Result<(), Malformed> {
        for killed in KillObject::decode(body)?.object_data {
            self.seen.kills += 1;
            self.prims.on_kill(LocalId(killed.id));
            if self.movers.remove(&LocalId(killed.id)) {
                push_change(&mut self.changes, ViewChange::Gone(LocalId(killed.id)));
            }
            if let Some(avatar) = self.avatars.remove(&LocalId(killed.id)) {
                push_change(&mut self.changes, ViewChange::Gone(LocalId(killed.id)));
                self.by_agent.remove(&avatar.agent);
                self.note_change(now);
            }
        }
        Ok(())
    }

    fn on_chat(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let chat = ChatFromSimulator::decode(body)?.chat_data;
        self.seen.chats += 1;
        if self.chat.len() == CHAT_MAX {
            self.chat.pop_front();
        }
        let (from, text) = (text::from_wire(&chat.from_name), text::from_wire(&chat.message));
        self.chat.push_back(HeardChat { from, kind: chat.chat_type, text });
        Ok(())
    }

    fn on_dots(&mut self, body: &[u8]) -> Result<(), Malformed> {
        self.dots = CoarseLocationUpdate::decode(body)?.location.len();
        self.seen.coarse_lists += 1;
        Ok(())
    }

    fn on_animation(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let message = AvatarAnimation::decode(body)?;
        self.seen.animation_lists += 1;
        if let Some(avatar) = self.avatar_mut(message.sender.id) {
            // The count is one byte on the wire.
            avatar.animations = message.animation_list.len() as u32;
        }
        Ok(())
    }

    fn on_appearance(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let message = AvatarAppearance::decode(body)?;
        self.seen.appearances += 1;
        if let Some(avatar) = self.avatar_mut(message.sender.id) {
            avatar.has_appearance = true;
        }
        Ok(())
    }

    fn avatar_mut(&mut self, id: ids::Uuid) -> Option<&mut SeenAvatar> {
        self.avatars.get_mut(self.by_agent.get(&AgentId(id))?)
    }
}

fn push_change(changes: &mut Option<Vec<ViewChange>>, what: ViewChange) {
    if let Some(changes) = changes {
        changes.push(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;
    use ids::Uuid;
    use wire::messages::KillObjectObjectData;

    const ADA: AgentId = AgentId(Uuid::from_u128(1));
    const BOB: AgentId = AgentId(Uuid::from_u128(2));

    fn show(observer: &mut Observer, agent: AgentId, local_id: u32) {
        let body = scene::full_update(agent, LocalId(local_id), Vec3::splat(10.0));
        observer.on_message(Instant::ZERO, ObjectUpdate::NUMBER, &body);
    }

    fn kill(observer: &mut Observer, local_id: u32) {
        let mut body = Vec::new();
        KillObject { object_data: vec![KillObjectObjectData { id: local_id }] }.encode(&mut body);
        observer.on_message(Instant::ZERO, KillObject::NUMBER, &body[1..]);
    }

    #[test]
    fn avatars_appear_move_and_leave() {
        let mut observer = Observer::default();
        show(&mut observer, ADA, 5);
        show(&mut observer, BOB, 6);
        assert_eq!(observer.take_newcomers(), [ADA, BOB]);
        assert_eq!((observer.others(ADA), observer.avatars().count()), (1, 2));

        let later = Instant::from_millis(100);
        let body = scene::terse_update(&[(LocalId(6), Vec3::splat(20.0), Vec3::X)]);
        observer.on_message(later, ImprovedTerseObjectUpdate::NUMBER, &body);
        let bob = observer.avatar(BOB).expect("shown");
        assert!((bob.position - Vec3::splat(20.0)).length() < 0.01 && bob.velocity.x > 0.9);
        assert_eq!((bob.updated_at, bob.updates), (later, 2));

        kill(&mut observer, 6);
        assert_eq!((observer.avatar(BOB), observer.others(ADA)), (None, 0));
        assert_eq!(observer.seen().updates(), 3);
    }

    #[test]
    fn an_avatar_that_returns_under_another_number_is_one_avatar() {
        let mut observer = Observer::default();
        show(&mut observer, ADA, 5);
        show(&mut observer, ADA, 9);
        kill(&mut observer, 5);
        assert!(observer.avatar(ADA).is_some());
        assert_eq!(observer.avatars().count(), 1);
    }

    #[test]
    fn a_number_that_passes_to_another_avatar_shows_only_that_one() {
        let mut observer = Observer::default();
        show(&mut observer, ADA, 5);
        show(&mut observer, BOB, 5);
        assert!(observer.avatar(ADA).is_none());
        assert!(observer.avatar(BOB).is_some());
    }

    #[test]
    fn a_gap_is_the_longest_time_without_an_arrival_departure_or_movement() {
        let mut observer = Observer::default();
        let at = Instant::from_millis;
        assert_eq!(observer.take_gap(at(0)), Duration::ZERO);
        let shown = |observer: &mut Observer, now: u64, x: f32| {
            let body = scene::terse_update(&[(LocalId(5), Vec3::splat(x), Vec3::ZERO)]);
            observer.on_message(at(now), ImprovedTerseObjectUpdate::NUMBER, &body);
        };
        let body = scene::full_update(ADA, LocalId(5), Vec3::splat(10.0));
        observer.on_message(at(100), ObjectUpdate::NUMBER, &body);
        shown(&mut observer, 200, 11.0);
        shown(&mut observer, 400, 11.0);
        shown(&mut observer, 500, 12.0);
        shown(&mut observer, 600, 13.0);
        assert_eq!(observer.take_gap(at(700)), Duration::from_millis(300), "a repetition is no change");
        assert_eq!(observer.take_gap(at(900)), Duration::from_millis(300), "the one that is not over counts");
    }

    #[test]
    fn updates_of_unknown_avatars_and_malformed_ones_are_counted() {
        let mut observer = Observer::default();
        let body = scene::terse_update(&[(LocalId(6), Vec3::ONE, Vec3::ZERO)]);
        observer.on_message(Instant::ZERO, ImprovedTerseObjectUpdate::NUMBER, &body);
        observer.on_message(Instant::ZERO, ObjectUpdate::NUMBER, &[1, 2, 3]);
        assert_eq!((observer.seen().unknown_blocks, observer.seen().malformed), (1, 1));
    }
}
