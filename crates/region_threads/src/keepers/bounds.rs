//! Bounds of a region's objects, as commands to its world: those of the configuration, as they are tuned, and no edits at all while earlier ones
//! cannot be saved.

use ids::{Epoch, SessionKey};
use link::{Action, Command, CommandSeries, ObjectLimits};
use std::time::Duration;
use workplace::inboxes::Inbox;

/// Tuned values of objects: bounds of their edits, and times of their saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectTunables {
    /// Prims that a session makes per second.
    pub rez_per_s: u32,
    /// Time until a temporary object vanishes.
    pub temporary_s: u32,
    /// Prims of a linkset.
    pub link_max: u32,
    /// Time without a change after which viewers may keep an object.
    pub cache_after: Duration,
    /// Age of an unsaved change from which on others are refused.
    pub refuse_edits_after: Option<Duration>,
    /// Time between a change and its transaction.
    pub save: Duration,
    /// Bytes that are written per second of objects in motion.
    pub moving_bytes_per_s: u64,
}

/// Room of a region, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionRoom {
    /// Name of the region.
    pub name: String,
    /// Prims.
    pub objects_max: u32,
    /// Prims of these that physics moves.
    pub physical_max: u32,
}

/// Bounds of one region.
pub(super) struct RegionBounds {
    room: RegionRoom,
    inbox: Inbox,
    /// Those that the world has, and its epoch then: one that restarts may have earlier ones.
    sent: (Epoch, ObjectLimits),
    /// Number of the next command.
    next_command: u64,
}

impl RegionBounds {
    pub(super) fn new(room: RegionRoom, inbox: Inbox) -> Self {
        // As worlds begin. A world without visitors is not woken for the bounds that it has.
        let sent = (Epoch(0), ObjectLimits::default());
        Self { room, inbox, sent, next_command: CommandSeries::Bounds.first() }
    }

    /// Sends the world its bounds if they differ from those that it has. `unsaved_for` is the age of the oldest unsaved change.
    pub(super) fn refresh(&mut self, epoch: Epoch, tunables: &ObjectTunables, unsaved_for: Duration) {
        let limits = self.wanted(tunables, unsaved_for);
        if self.sent == (epoch, limits) {
            return;
        }
        let was_closed = self.sent.1.is_closed;
        let command = Command::by_node(SessionKey::NODE, self.next_command, Action::ObjectLimits(limits));
        // Without room it is sent after the next frame.
        if self.inbox.push_command(command) {
            self.next_command += 1;
            self.sent = (epoch, limits);
            match (was_closed, limits.is_closed) {
                (false, true) => {
                    tracing::warn!(region = self.room.name, "edits are refused: earlier ones are not saved")
                }
                (true, false) => tracing::info!(region = self.room.name, "edits are accepted again"),
                (false, false) | (true, true) => {}
            }
        }
    }

    fn wanted(&self, tunables: &ObjectTunables, unsaved_for: Duration) -> ObjectLimits {
        let ObjectTunables { rez_per_s, temporary_s, link_max, refuse_edits_after, .. } = *tunables;
        ObjectLimits {
            objects_max: self.room.objects_max,
            physical_max: self.room.physical_max,
            rez_per_s,
            link_max,
            temporary_ms: temporary_s.saturating_mul(1_000),
            is_closed: refuse_edits_after.is_some_and(|after| unsaved_for > after),
            ..ObjectLimits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{Instant, Tick};
    use schedule::{Pool, StepStart, Task};
    use std::sync::Arc;
    use workplace::inboxes::Waiting;

    struct Idle;

    impl Task for Idle {
        fn is_quiet(&mut self) -> bool {
            true
        }

        fn step(&mut self, _: &StepStart) {}
    }

    const TUNABLES: ObjectTunables = ObjectTunables {
        rez_per_s: 7,
        temporary_s: 8,
        link_max: 9,
        cache_after: Duration::ZERO,
        refuse_edits_after: Some(Duration::from_secs(60)),
        save: Duration::from_millis(250),
        moving_bytes_per_s: 1 << 20,
    };

    #[test]
    fn a_world_gets_its_bounds_when_they_change_when_it_restarts_and_when_nothing_is_saved() {
        let pool = Pool::start(1, || Instant::ZERO).expect("a thread");
        let waker = pool.add(Box::new(Idle), Duration::from_millis(50), Tick(0));
        let inbox = Inbox { waiting: Waiting::new(1), waker };
        let waiting = Arc::clone(&inbox.waiting);
        let room = RegionRoom { name: "Harbour".into(), objects_max: 5, physical_max: 2 };
        let mut bounds = RegionBounds::new(room, inbox);
        let taken = || {
            let mut commands = Vec::new();
            waiting.drain_commands(&mut commands);
            let limits = commands.into_iter().map(|command| match command.action {
                Action::ObjectLimits(limits) => limits,
                other => panic!("{other:?}"),
            });
            limits.collect::<Vec<_>>()
        };
        let usual = ObjectLimits {
            objects_max: 5,
            physical_max: 2,
            rez_per_s: 7,
            link_max: 9,
            temporary_ms: 8_000,
            ..ObjectLimits::default()
        };
        let closed = ObjectLimits { is_closed: true, ..usual };
        bounds.refresh(Epoch(0), &TUNABLES, Duration::ZERO);
        // The inbox is full, so that these are sent later.
        bounds.refresh(Epoch(1), &TUNABLES, Duration::ZERO);
        assert_eq!(taken(), [usual]);
        for (epoch, unsaved_s, expected) in [
            (1, 60, vec![usual]),
            (1, 60, vec![]),
            (1, 61, vec![closed]),
            (2, 62, vec![closed]),
            (2, 0, vec![usual]),
        ] {
            bounds.refresh(Epoch(epoch), &TUNABLES, Duration::from_secs(unsaved_s));
            assert_eq!(taken(), expected, "epoch {epoch}, {unsaved_s} s");
        }
        let never = ObjectTunables { refuse_edits_after: None, rez_per_s: 70, ..TUNABLES };
        bounds.refresh(Epoch(2), &never, Duration::from_secs(1_000));
        assert_eq!(taken(), [ObjectLimits { rez_per_s: 70, ..usual }]);
    }
}
