//! Inboxes of worlds: bounded buffers of commands, one for each world, and their index by world.
//!
//! A world takes all waiting commands at once, by swapping buffers, so that a lock is held only while a command is moved. Both buffers
//! keep the capacity of the busiest step.
//!
//! Beside the commands an inbox holds at most one change of the cast, which the world makes between two steps. It does not resume a
//! world: an idle one makes it at its next step.

use super::lock_order::{CASTING, INBOX, INBOXES};
use super::world_map::WorldMap;
use crate::serving::SnapshotRequest;
use ids::{SessionKey, WorldId};
use link::{Action, Command, CommandSeries};
use schedule::{TaskId, Waker};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use telemetry::Held;
use world::{CastReload, NpcCast};

/// Waiting commands and cast change of one world.
#[derive(Debug)]
pub struct Waiting {
    commands: Mutex<Vec<Command>>,
    /// Read before every step; the lock is not needed for that.
    is_empty: AtomicBool,
    max: usize,
    casting: Mutex<Casting>,
    /// Read before every step, as above.
    has_reload: AtomicBool,
}

/// Cast of the world.
#[derive(Debug, Default)]
struct Casting {
    /// As it is once the world has made the change that waits.
    cast: Option<Arc<NpcCast>>,
    reload: Option<Arc<CastReload>>,
    /// A change made by the world and referred to only here, so that a step never frees it. Only changes that continue from the state
    /// of the last restart.
    made: Option<Arc<CastReload>>,
}

impl Waiting {
    /// Nothing; room for `max`.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            commands: Mutex::default(),
            is_empty: AtomicBool::new(true),
            max,
            casting: Mutex::default(),
            has_reload: AtomicBool::new(false),
        })
    }

    /// Adds a command. False without room: the sender keeps it and tries again.
    pub fn push_command(&self, command: Command) -> bool {
        let mut commands = self.lock();
        let has_room = commands.len() < self.max;
        if has_room {
            commands.push(command);
            self.is_empty.store(false, Ordering::Release);
        }
        has_room
    }

    /// Appends all waiting commands to `into`.
    pub fn drain_commands(&self, into: &mut Vec<Command>) {
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

    /// Requests snapshots of the world. It is not woken: this is for frames that are read within its own step.
    pub(crate) fn snapshot_request(self: &Arc<Self>) -> SnapshotRequest {
        let waiting = Arc::clone(self);
        request_by(move |command| waiting.push_command(command))
    }

    /// True without commands.
    pub fn is_empty(&self) -> bool {
        self.is_empty.load(Ordering::Acquire)
    }

    /// Sets the cast with which the world begins.
    pub fn set_cast(&self, cast: Option<Arc<NpcCast>>) {
        self.casting().cast = cast;
    }

    /// True if this is the cast of the world once the waiting change is made.
    pub fn has_cast(&self, cast: &Arc<NpcCast>) -> bool {
        self.casting().cast.as_ref().is_some_and(|known| Arc::ptr_eq(known, cast))
    }

    /// The world has restarted with this cast. A waiting change is replaced by one from there to its target, or dropped without a way.
    /// The comparison takes too long for a step, and for the lock that a step waits for.
    pub fn begin_again_with(&self, cast: &Arc<NpcCast>) {
        let (mut waits, made) = {
            let mut casting = self.casting();
            (casting.reload.clone(), casting.made.take())
        };
        drop(made);
        let lead_from_there = |waits: &Arc<CastReload>| match Arc::ptr_eq(waits.from(), cast) {
            true => Some(Arc::clone(waits)),
            false => CastReload::new(Arc::clone(cast), Arc::clone(waits.to())).ok().map(Arc::new),
        };
        let mut casting = loop {
            let leads = waits.as_ref().and_then(lead_from_there);
            let mut casting = self.casting();
            // Meanwhile files are reloaded at most as often as requested.
            if casting.reload.as_ref().map(Arc::as_ptr) == waits.as_ref().map(Arc::as_ptr) {
                casting.reload = leads;
                break casting;
            }
            waits.clone_from(&casting.reload);
        };
        let then = casting.reload.as_ref().map_or(cast, |waits| waits.to());
        casting.cast = Some(Arc::clone(then));
        self.has_reload.store(casting.reload.is_some(), Ordering::Release);
    }

    /// Takes the change that waits, so that the world makes it.
    pub fn take_reload(&self) -> Option<Arc<CastReload>> {
        if !self.has_reload.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut casting = self.casting();
        let reload = casting.reload.take()?;
        if Arc::strong_count(&reload) == 1 {
            casting.made = Some(Arc::clone(&reload));
        }
        Some(reload)
    }

    /// From which cast the next change has to lead.
    pub fn goes_over_from(&self) -> Option<Arc<NpcCast>> {
        let casting = self.casting();
        casting.reload.as_ref().map(|waits| waits.from()).or(casting.cast.as_ref()).cloned()
    }

    /// Replaces the waiting change of the world, at most one at a time, by another that starts from its current cast. Returns the
    /// replaced cast; none for a world without NPCs.
    ///
    /// # Errors
    /// Of `change`; then nothing changes.
    pub fn replace_reload<E>(
        &self,
        change: impl FnOnce(&Arc<NpcCast>) -> Result<Arc<CastReload>, E>,
    ) -> Result<Option<Arc<NpcCast>>, E> {
        let mut casting = self.casting();
        let Casting { cast: Some(cast), reload, .. } = &mut *casting else { return Ok(None) };
        let from = reload.as_ref().map_or(&*cast, |waits| waits.from());
        let reload = change(from)?;
        let given_up = std::mem::replace(cast, Arc::clone(reload.to()));
        casting.reload = Some(reload);
        self.has_reload.store(true, Ordering::Release);
        Ok(Some(given_up))
    }

    fn casting(&self) -> Held<MutexGuard<'_, Casting>> {
        CASTING.hold(|| self.casting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> Held<MutexGuard<'_, Vec<Command>>> {
        INBOX.hold(|| self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Requests as commands of the node, which are numbered.
fn request_by(push: impl Fn(Command) -> bool + Send + 'static) -> SnapshotRequest {
    let mut sequence = CommandSeries::Snapshots.first();
    Box::new(move || {
        let taken = push(Command::by_node(SessionKey::NODE, sequence, Action::Resync));
        sequence += u64::from(taken);
        taken
    })
}

/// Sending half of one world's inbox.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// Commands that wait.
    pub waiting: Arc<Waiting>,
    /// Wakes the world.
    pub waker: Waker,
}

impl Inbox {
    /// True for the same inbox.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.waiting, &other.waiting)
    }

    /// Requests snapshots of the world, and wakes it for that.
    pub fn snapshot_request(&self) -> SnapshotRequest {
        let inbox = self.clone();
        request_by(move |command| inbox.push_command(command))
    }

    /// Adds a command and sees to it that the world is stepped. False when there is no room.
    pub fn push_command(&self, command: Command) -> bool {
        let taken = self.waiting.push_command(command);
        if taken {
            self.waker.wake();
        }
        taken
    }
}

/// Inboxes of all worlds.
#[derive(Debug, Default)]
pub struct Inboxes {
    /// Inboxes of the shared worlds, for as long as the server runs.
    shared: WorldMap<Inbox>,
    instances: RwLock<InstanceInboxes>,
}

type InstanceInboxes = BTreeMap<WorldId, Inbox>;

impl Inboxes {
    /// Inboxes of the shared worlds, without instances.
    pub fn new(shared: WorldMap<Inbox>) -> Self {
        Self { shared, instances: RwLock::default() }
    }

    /// Inboxes of the shared worlds.
    pub const fn shared(&self) -> &WorldMap<Inbox> {
        &self.shared
    }

    /// A world's, while there is that world.
    pub fn of(&self, world: WorldId) -> Option<Inbox> {
        let shared = self.shared.get(world).cloned();
        shared.or_else(|| self.instances().get(&world).cloned())
    }

    /// World of each task of the pool.
    pub fn worlds_by_task(&self) -> BTreeMap<TaskId, WorldId> {
        let instances = self.instances();
        let all = self.shared.iter().chain(instances.iter().map(|(&world, inbox)| (world, inbox)));
        all.map(|(world, inbox)| (inbox.waker.id(), world)).collect()
    }

    fn instances(&self) -> Held<RwLockReadGuard<'_, InstanceInboxes>> {
        INBOXES.hold(|| self.instances.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn instances_mut(&self) -> Held<RwLockWriteGuard<'_, InstanceInboxes>> {
        INBOXES.hold(|| self.instances.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// An instance begins.
    pub fn add(&self, world: WorldId, inbox: Inbox) {
        self.instances_mut().insert(world, inbox);
    }

    /// An instance has ended.
    pub fn remove(&self, world: WorldId) -> Option<Inbox> {
        self.instances_mut().remove(&world)
    }

    /// Delivers commands, in order for each world. Commands that find no room stay, without delaying those of other worlds; commands
    /// for ended worlds are dropped.
    pub fn deliver(&self, commands: &mut Vec<(WorldId, Command)>) {
        if commands.is_empty() {
            return;
        }
        let instances = self.instances();
        let inbox_of = |world: WorldId| self.shared.get(world).or_else(|| instances.get(&world));
        let mut full: Vec<WorldId> = Vec::new();
        let mut last: Option<(WorldId, &Inbox)> = None;
        commands.retain(|(world, command)| {
            if full.contains(world) {
                return true;
            }
            if last.is_none_or(|(known, _)| known != *world) {
                // Commands of a turn come in runs: a world is notified once for each.
                if let Some((_, inbox)) = last.take() {
                    inbox.waker.wake();
                }
                let Some(inbox) = inbox_of(*world) else { return false };
                last = Some((*world, inbox));
            }
            let taken = last.is_some_and(|(_, inbox)| inbox.waiting.push_command(command.clone()));
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
    use ids::{Instant, Tick};
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
        inbox.waiting.drain_commands(&mut taken);
        taken.iter().map(|command| command.sequence).collect()
    }

    #[test]
    fn a_full_world_holds_up_no_other_and_loses_nothing() {
        let pool = pool();
        let inboxes = Inboxes::new(
            [(WorldId(9), inbox(&pool, 2)), (WorldId(1), inbox(&pool, 10))].into_iter().collect(),
        );
        inboxes.add(WorldId(7), inbox(&pool, 1));
        let worlds = [9, 9, 9, 1, 7, 7, 9, 1];
        let mut commands: Vec<_> = (0..).zip(worlds).map(|(n, world)| (WorldId(world), command(n))).collect();
        inboxes.deliver(&mut commands);
        let left: Vec<_> = commands.iter().map(|(world, command)| (world.0, command.sequence)).collect();
        assert_eq!(left, [(9, 2), (7, 5), (9, 6)]);
        let taken = |world| sequences(&inboxes.of(WorldId(world)).expect("it is there"));
        assert_eq!(taken(9), [0, 1]);
        assert_eq!(taken(1), [3, 7]);
        inboxes.deliver(&mut commands);
        assert_eq!(taken(9), [2, 6]);
        assert_eq!(commands.len(), 1, "the instance has taken nothing yet");
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "the list of inboxes is locked by a thread that holds an inbox")]
    fn the_list_of_inboxes_is_locked_before_an_inbox() {
        let waiting = Waiting::new(1);
        let _commands = waiting.lock();
        let _ = Inboxes::default().of(WorldId(7));
    }

    #[test]
    fn commands_for_a_world_that_has_ended_are_dropped() {
        let pool = pool();
        let inboxes = Inboxes::new([(WorldId(1), inbox(&pool, 2))].into_iter().collect());
        inboxes.add(WorldId(7), inbox(&pool, 1));
        assert!(inboxes.of(WorldId(7)).is_some());
        inboxes.remove(WorldId(7));
        let mut commands = vec![(WorldId(7), command(0)), (WorldId(1), command(1))];
        inboxes.deliver(&mut commands);
        assert!(commands.is_empty());
        assert_eq!(sequences(&inboxes.of(WorldId(1)).expect("it is there")), [1]);
    }

    #[test]
    fn requests_of_snapshots_are_numbered_and_say_when_there_is_no_room() {
        let pool = pool();
        let inbox = inbox(&pool, 2);
        let mut within_steps = inbox.waiting.snapshot_request();
        assert_eq!([(); 3].map(|()| within_steps()), [true, true, false]);
        assert_eq!(sequences(&inbox), [0, 1]);
        assert!(within_steps() && inbox.snapshot_request()());
        let mut taken = Vec::new();
        inbox.waiting.drain_commands(&mut taken);
        assert_eq!(taken.iter().map(|command| command.sequence).collect::<Vec<_>>(), [2, 0]);
        assert!(taken.iter().all(|command| command.action == Action::Resync));
    }

    #[test]
    fn taking_keeps_the_order_and_the_earlier_commands() {
        let waiting = Waiting::new(10);
        let mut taken = vec![command(1)];
        assert!(waiting.is_empty());
        assert!(waiting.push_command(command(2)) && waiting.push_command(command(3)));
        assert!(!waiting.is_empty());
        waiting.drain_commands(&mut taken);
        assert_eq!(taken.iter().map(|command| command.sequence).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(waiting.is_empty());
    }
}
