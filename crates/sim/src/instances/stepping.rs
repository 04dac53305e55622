//! Commands to worlds of instances, their steps, and their moves between hosts.

use super::*;
use glam::Quat;
use link::{Action, ChatKind, Command, Control, ControlFlags, Enter};

/// A visitor's avatar comes in.
pub(super) fn enter(agent: AgentId) -> Action {
    Action::Enter(Box::new(Enter {
        agent,
        first_name: "User".into(),
        last_name: "Resident".into(),
        position: Vec3::splat(40.0),
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }))
}

impl InstanceRun {
    /// Sends a command to a world, if it is an instance that is stepped.
    pub(super) fn command(&mut self, world: WorldId, session: SessionKey, action: Action) {
        let mut hosted = self.process.pool.hosted();
        if !hosted.worlds.contains_key(&world) {
            return;
        }
        let command = Command::by_session(session, self.process.next_command, action);
        self.process.next_command += 1;
        hosted.push_command(world, &command);
    }

    /// A visitor says something, walks, or stops.
    pub(super) fn walk_or_talk(&mut self, circuit: CircuitKey, world: WorldId) {
        if self.roll(3) == 0 {
            let text = format!("word {}", self.process.next_command);
            return self.command(
                world,
                circuit.session,
                Action::Chat { kind: ChatKind::Say, channel: 0, text },
            );
        }
        let flags = if self.roll(2) == 0 { ControlFlags::AT_POS } else { ControlFlags::default() };
        let control = Control { flags, body_rotation: Quat::from_rotation_z(self.roll(6) as f32) };
        self.command(world, circuit.session, Action::Control(control));
    }

    /// One tick of every world.
    pub(super) fn step_worlds(&mut self) {
        let (now, tick) = (self.now, self.tick);
        self.tick = Tick(tick.0 + 1);
        let Process { hub, pool, .. } = &self.process;
        pool.hosted().step(now, tick, hub, &mut self.report);
    }

    pub(super) fn move_any_world(&mut self) {
        let has_moved = self.process.pool.hosted().move_any(&mut self.moves_rng);
        self.report.moves += u64::from(has_moved);
    }

    /// The journal's thread, as often as that of a server.
    pub(super) fn write_journal(&mut self) {
        let now = self.now;
        if now < self.process.next_journal || self.is_stopping {
            return;
        }
        self.process.next_journal = now + JOURNAL_PERIOD;
        if !self.is_sabotaged(InstanceSabotage::LateJournal) {
            self.process.workplace.write_once(self.process.next_journal);
        }
    }

    /// Progress is durable within a second and a turn, as long as the store takes it.
    pub(super) fn assert_journal_is_timely(&mut self) {
        let now = self.now;
        if !self.around.store.is_writable() || self.is_stopping {
            self.writable_since = now;
        }
        let Some(changed_at) = self.process.pool.hosted().oldest_change(now) else { return };
        let waits = now.since(changed_at.max(self.writable_since));
        assert!(waits <= JOURNAL_PERIOD + 2 * TURN_MAX, "progress is not journalled after {waits:?}");
    }
}
