//! Where commands wait for worlds: an inbox for each, and all of them by world.
//!
//! A world takes all that waits at once, by swapping buffers, so that a lock is held for no longer than a command takes to be moved.
//! Both buffers keep what memory the most commands of one step took.
//!
//! Beside the commands there is room for one change of who lives there, which a world makes between two steps. Nobody wakes a world for it: one
//! that sleeps makes it when it wakes.

use ids::WorldId;
use link::Command;
use schedule::{TaskId, Waker};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use world::{Cast, Recast};

/// What waits for one world.
#[derive(Debug)]
pub struct Waiting {
    commands: Mutex<Vec<Command>>,
    /// Read before every step; the lock is not needed for that.
    is_empty: AtomicBool,
    max: usize,
    casting: Mutex<Casting>,
    /// Read before every step, as above.
    has_recast: AtomicBool,
}

/// Who lives in the world.
#[derive(Debug, Default)]
struct Casting {
    /// As it is once the world has made the change that waits.
    cast: Option<Arc<Cast>>,
    recast: Option<Arc<Recast>>,
    /// One that the world has made and nobody else has, so that it is not freed in a step. None but those that lead on from where the world
    /// began again.
    made: Option<Arc<Recast>>,
}

impl Waiting {
    /// Nothing; room for `max`.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            commands: Mutex::default(),
            is_empty: AtomicBool::new(true),
            max,
            casting: Mutex::default(),
            has_recast: AtomicBool::new(false),
        })
    }

    /// Adds a command. False when there is no room: whoever sent it keeps it and tries again.
    pub fn put(&self, command: Command) -> bool {
        let mut commands = self.lock();
        let has_room = commands.len() < self.max;
        if has_room {
            commands.push(command);
            self.is_empty.store(false, Ordering::Release);
        }
        has_room
    }

    /// Moves everything that waits behind what is in `into`.
    pub fn take(&self, into: &mut Vec<Command>) {
        if self.is_empty.load(Ordering::Acquire) {
            return;
        }
        let mut commands = self.lock();
        if into.is_empty() {
            std::mem::swap(&mut *commands, into);
        } else {
            into.append(&mut commands);
        }
        self.is_empty.store(true, Ordering::Release);
    }

    /// Whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.is_empty.load(Ordering::Acquire)
    }

    /// Says who lives in the world as it begins.
    pub fn set_cast(&self, cast: Option<Arc<Cast>>) {
        self.casting().cast = cast;
    }

    /// Whether this is the one that lives there, once the change that waits is made.
    pub fn has_cast(&self, cast: &Arc<Cast>) -> bool {
        self.casting().cast.as_ref().is_some_and(|known| Arc::ptr_eq(known, cast))
    }

    /// The world has begun again with this one. A change that waits leads from there to where it was to lead, or nowhere when there is no way.
    /// What has to be compared for that takes too long for a step, and for the lock that a step waits for.
    pub fn begin_again_with(&self, cast: &Arc<Cast>) {
        let (mut waits, made) = {
            let mut casting = self.casting();
            (casting.recast.clone(), casting.made.take())
        };
        drop(made);
        let lead_from_there = |waits: &Arc<Recast>| match Arc::ptr_eq(waits.from(), cast) {
            true => Some(Arc::clone(waits)),
            false => Recast::new(Arc::clone(cast), Arc::clone(waits.to())).ok().map(Arc::new),
        };
        let mut casting = loop {
            let leads = waits.as_ref().and_then(lead_from_there);
            let mut casting = self.casting();
            // Files are read again meanwhile at most as often as somebody has them read.
            if casting.recast.as_ref().map(Arc::as_ptr) == waits.as_ref().map(Arc::as_ptr) {
                casting.recast = leads;
                break casting;
            }
            waits.clone_from(&casting.recast);
        };
        let then = casting.recast.as_ref().map_or(cast, |waits| waits.to());
        casting.cast = Some(Arc::clone(then));
        self.has_recast.store(casting.recast.is_some(), Ordering::Release);
    }

    /// Takes the change that waits, so that the world makes it.
    pub fn take_recast(&self) -> Option<Arc<Recast>> {
        if !self.has_recast.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut casting = self.casting();
        let recast = casting.recast.take()?;
        if Arc::strong_count(&recast) == 1 {
            casting.made = Some(Arc::clone(&recast));
        }
        Some(recast)
    }

    /// From which cast the next change has to lead.
    pub fn goes_over_from(&self) -> Option<Arc<Cast>> {
        let casting = self.casting();
        casting.recast.as_ref().map(|waits| waits.from()).or(casting.cast.as_ref()).cloned()
    }

    /// Leaves another change for the world, from what it has. One that waits is not made any more: there is one at a time. Gives the cast
    /// that is given up; none when nobody lives there.
    ///
    /// # Errors
    /// Of `change`; then all stays as it is.
    pub fn put_recast<E>(
        &self,
        change: impl FnOnce(&Arc<Cast>) -> Result<Arc<Recast>, E>,
    ) -> Result<Option<Arc<Cast>>, E> {
        let mut casting = self.casting();
        let Casting { cast: Some(cast), recast, .. } = &mut *casting else { return Ok(None) };
        let from = recast.as_ref().map_or(&*cast, |waits| waits.from());
        let recast = change(from)?;
        let given_up = std::mem::replace(cast, Arc::clone(recast.to()));
        casting.recast = Some(recast);
        self.has_recast.store(true, Ordering::Release);
        Ok(Some(given_up))
    }

    fn casting(&self) -> MutexGuard<'_, Casting> {
        self.casting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Command>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where one world's commands go in.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// Commands that wait.
    pub waiting: Arc<Waiting>,
    /// Wakes the world.
    pub waker: Waker,
}

impl Inbox {
    /// Whether it is the same one.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.waiting, &other.waiting)
    }

    /// Adds a command and sees to it that the world is stepped. False when there is no room.
    pub fn put(&self, command: Command) -> bool {
        let taken = self.waiting.put(command);
        if taken {
            self.waker.wake();
        }
        taken
    }
}

/// Those of all worlds.
#[derive(Debug, Default)]
pub struct Inboxes {
    /// Of the worlds that lie at a place, which are there as long as the server runs.
    shared: Vec<Inbox>,
    instances: RwLock<BTreeMap<WorldId, Inbox>>,
}

impl Inboxes {
    /// `shared[n]` is world `n`'s.
    pub fn new(shared: Vec<Inbox>) -> Self {
        Self { shared, instances: RwLock::default() }
    }

    /// Those of the worlds that lie at a place.
    pub fn shared(&self) -> &[Inbox] {
        &self.shared
    }

    /// A world's, while there is that world.
    pub fn of(&self, world: WorldId) -> Option<Inbox> {
        let shared = self.shared.get(world.0 as usize).cloned();
        shared.or_else(|| self.instances.read().unwrap_or_else(PoisonError::into_inner).get(&world).cloned())
    }

    /// Which world each task of the pool is.
    pub fn worlds_by_task(&self) -> BTreeMap<TaskId, WorldId> {
        let instances = self.instances.read().unwrap_or_else(PoisonError::into_inner);
        let shared = (0..).map(WorldId).zip(&self.shared);
        let all = shared.chain(instances.iter().map(|(&world, inbox)| (world, inbox)));
        all.map(|(world, inbox)| (inbox.waker.id(), world)).collect()
    }

    /// An instance begins.
    pub fn add(&self, world: WorldId, inbox: Inbox) {
        self.instances.write().unwrap_or_else(PoisonError::into_inner).insert(world, inbox);
    }

    /// An instance has ended.
    pub fn remove(&self, world: WorldId) -> Option<Inbox> {
        self.instances.write().unwrap_or_else(PoisonError::into_inner).remove(&world)
    }

    /// Hands out commands, in order for each world. Those for which a world has no room stay, and hold up none of other worlds; those
    /// for a world that has ended are of no use to anybody.
    pub fn deliver(&self, commands: &mut Vec<(WorldId, Command)>) {
        if commands.is_empty() {
            return;
        }
        let instances = self.instances.read().unwrap_or_else(PoisonError::into_inner);
        let inbox_of = |world: WorldId| self.shared.get(world.0 as usize).or_else(|| instances.get(&world));
        let mut full: Vec<WorldId> = Vec::new();
        let mut last: Option<(WorldId, &Inbox)> = None;
        commands.retain(|(world, command)| {
            if full.contains(world) {
                return true;
            }
            if last.is_none_or(|(known, _)| known != *world) {
                // Commands of a turn come in runs: a world is woken once for each.
                if let Some((_, inbox)) = last.take() {
                    inbox.waker.wake();
                }
                let Some(inbox) = inbox_of(*world) else { return false };
                last = Some((*world, inbox));
            }
            let taken = last.is_some_and(|(_, inbox)| inbox.waiting.put(command.clone()));
            if !taken {
                full.push(*world);
            }
            !taken
        });
        if let Some((_, inbox)) = last {
            inbox.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{Instant, SessionKey, Tick};
    use link::Action;
    use schedule::{Pool, StepStart, Task};
    use std::time::Duration;

    struct Idle;

    impl Task for Idle {
        fn is_quiet(&mut self) -> bool {
            true
        }

        fn step(&mut self, _: &StepStart) {}
    }

    fn command(sequence: u64) -> Command {
        Command::by_session(SessionKey(1), sequence, Action::Leave)
    }

    fn pool() -> Pool {
        Pool::start(1, || Instant::ZERO).expect("a thread")
    }

    fn inbox(pool: &Pool, max: usize) -> Inbox {
        let waker = pool.add(Box::new(Idle), Duration::from_millis(50), Tick(0));
        Inbox { waiting: Waiting::new(max), waker }
    }

    fn sequences(inbox: &Inbox) -> Vec<u64> {
        let mut taken = Vec::new();
        inbox.waiting.take(&mut taken);
        taken.iter().map(|command| command.sequence).collect()
    }

    #[test]
    fn a_full_world_holds_up_no_other_and_loses_nothing() {
        let pool = pool();
        let inboxes = Inboxes::new(vec![inbox(&pool, 2), inbox(&pool, 10)]);
        inboxes.add(WorldId(7), inbox(&pool, 1));
        let worlds = [0, 0, 0, 1, 7, 7, 0, 1];
        let mut commands: Vec<_> = (0..).zip(worlds).map(|(n, world)| (WorldId(world), command(n))).collect();
        inboxes.deliver(&mut commands);
        let left: Vec<_> = commands.iter().map(|(world, command)| (world.0, command.sequence)).collect();
        assert_eq!(left, [(0, 2), (7, 5), (0, 6)]);
        assert_eq!(sequences(&inboxes.shared()[0]), [0, 1]);
        assert_eq!(sequences(&inboxes.shared()[1]), [3, 7]);
        inboxes.deliver(&mut commands);
        assert_eq!(sequences(&inboxes.shared()[0]), [2, 6]);
        assert_eq!(commands.len(), 1, "the instance has taken nothing yet");
    }

    #[test]
    fn commands_for_a_world_that_has_ended_are_dropped() {
        let pool = pool();
        let inboxes = Inboxes::new(vec![inbox(&pool, 2)]);
        inboxes.add(WorldId(7), inbox(&pool, 1));
        assert!(inboxes.of(WorldId(7)).is_some());
        inboxes.remove(WorldId(7));
        let mut commands = vec![(WorldId(7), command(0)), (WorldId(0), command(1))];
        inboxes.deliver(&mut commands);
        assert!(commands.is_empty());
        assert_eq!(sequences(&inboxes.shared()[0]), [1]);
    }

    #[test]
    fn taking_keeps_the_order_and_what_was_there() {
        let waiting = Waiting::new(10);
        let mut taken = vec![command(1)];
        assert!(waiting.is_empty());
        assert!(waiting.put(command(2)) && waiting.put(command(3)));
        assert!(!waiting.is_empty());
        waiting.take(&mut taken);
        assert_eq!(taken.iter().map(|command| command.sequence).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(waiting.is_empty());
    }
}
