//! Worlds of instances on their hosts: started, stepped, moved, saved and suspended.

use super::*;
use glam::Quat;
use link::{Action, ChatKind, Command, Control, ControlFlags, Enter};
use world::{Life, WorldConfig, saved};

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
    /// Creates the world of an instance on a host, from its saved state if there is one.
    pub(super) fn start_world(
        &mut self,
        instance: Uuid,
        template: &str,
        scene: Scene,
        visits: u64,
    ) -> InstanceWorld {
        let host = roll(&mut self.moves_rng, self.process.hosts.len() as u64) as usize;
        let config = WorldConfig::new(scene.spec(), (template == VILLAGE).then(|| Arc::clone(&self.cast)));
        let image = self.store.images.get(&instance).map(Vec::as_slice);
        let truth = self.images.get(&instance).map(Vec::as_slice);
        assert!(image == truth, "the saved state of {instance} is not that of a world that stays");
        let world = saved::restore(config.clone(), image).expect("a host reads what a host has saved");
        assert_eq!(world.sessions().count(), 0, "visitors of a former epoch are in {instance}");
        let life = Life::of(world, config, 0.0).kept();
        self.process.hosts[host].open_life(WorldSpec::clone(scene.spec()), life);
        if self.is_sabotaged(InstanceSabotage::StaleImage) {
            self.process.hosts[host].get_mut(scene.world).keep_stale();
        }
        let resident = self.process.hosts[host].get(scene.world);
        let reference = Some(WorldReference::beside(resident, &self.casts));
        self.process.hub.places().add_instance(Arc::new(scene));
        InstanceWorld { id: instance, reference, visits, host, last_frame: None, is_to_panic: false }
    }

    /// Sends a command to a world, if it is an instance that is stepped.
    pub(super) fn command(&mut self, world: WorldId, session: SessionKey, action: Action) {
        let Some(there) = self.process.worlds.get_mut(&world) else { return };
        let command = Command::by_session(session, self.process.next_command, action);
        self.process.next_command += 1;
        if let Some(reference) = &mut there.reference {
            reference.send(std::slice::from_ref(&command));
        }
        // Between gateway and host it is bytes.
        let bytes = postcard::to_allocvec(&command).expect("commands are plain data");
        let command = postcard::from_bytes(&bytes).expect("commands are plain data");
        self.process.hosts[there.host].get_mut(world).inbox.push(command);
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

    /// One tick of every world, each compared with one that stays.
    pub(super) fn step_worlds(&mut self) {
        let (now, tick) = (self.now, self.tick);
        self.tick = Tick(tick.0 + 1);
        let Process { hub, hosts, worlds, .. } = &mut self.process;
        for (&world, there) in worlds.iter_mut() {
            let resident = hosts[there.host].get_mut(world);
            let is_to_panic = std::mem::take(&mut there.is_to_panic) && !resident.is_down();
            self.report.panics += u64::from(is_to_panic);
            let mut dismissals = Vec::new();
            let frame =
                resident.tick(now, tick, || is_to_panic, |world| hub.census_of(world), &mut dismissals);
            let Some(frame) = frame else {
                there.reference = None;
                continue;
            };
            if let Some(reference) = &mut there.reference {
                reference.send(&dismissals);
                if let Some(difference) = reference.step(tick, frame) {
                    panic!("world {}: {difference}", world.0);
                }
                self.report.compared += 1;
            }
            let expected = match there.last_frame {
                Some((epoch, sequence)) if epoch == frame.epoch => sequence + 1,
                _ => 0,
            };
            assert_eq!(frame.sequence, expected, "frames of world {} have a gap", world.0);
            there.last_frame = Some((frame.epoch, frame.sequence));
            self.report.frames_hash = self.report.frames_hash.rotate_left(5) ^ frame.state_hash;
            if there.reference.is_none() && !hosts[there.host].get(world).is_recovering(now) {
                there.reference = Some(WorldReference::beside(hosts[there.host].get(world), &self.casts));
            }
        }
    }

    /// Moves one of the worlds to the next host, unless it is down.
    pub(super) fn move_any_world(&mut self) {
        let n = roll(&mut self.moves_rng, self.process.worlds.len() as u64 + 1) as usize;
        let sabotage = match self.scenario.sabotage {
            Some(InstanceSabotage::Move(sabotage)) => Some(sabotage),
            _ => None,
        };
        let Process { hosts, worlds, .. } = &mut self.process;
        let Some((&world, there)) = worlds.iter_mut().nth(n) else { return };
        let Some(departed) = hosts[there.host].release(world, sabotage) else { return };
        there.host = (there.host + 1) % hosts.len();
        if let Err(why) = hosts[there.host].take_in(departed) {
            panic!("world {} is not taken in: {why}", world.0);
        }
        self.report.moves += 1;
    }

    /// Suspends a world, unless it is down or the store refuses.
    pub(super) fn suspend(&mut self, target: SuspendTarget) -> SuspendOutcome {
        let SuspendTarget { world, is_changed } = target;
        let host = self.process.worlds[&world].host;
        if self.store.refuses || self.process.hosts[host].get(world).is_down() {
            return SuspendOutcome::Kept { until: self.now + Duration::from_secs(3), failure: None };
        }
        let is_free = self.is_stopping || !self.process.hub.visitors().contains_key(&world);
        assert!(is_free, "world {} is suspended under a visitor", world.0);
        if is_changed {
            self.save_state(world);
        }
        self.process.worlds.remove(&world);
        self.process.hosts[host].close(world);
        self.process.hub.places().remove_instance(world);
        self.report.suspended += 1;
        SuspendOutcome::Saved(Some(2 << 20))
    }

    /// Saves the state of a world between two steps.
    pub(super) fn save_state(&mut self, world: WorldId) {
        if self.is_sabotaged(InstanceSabotage::LostState) {
            return;
        }
        let there = &self.process.worlds[&world];
        let resident = self.process.hosts[there.host].get(world);
        let snapshot = resident.life.world().snapshot();
        let truth = there.reference.as_ref().map_or_else(|| snapshot.clone(), WorldReference::snapshot);
        let snapshot = resident.stale_snapshot().map_or(snapshot, <[u8]>::to_vec);
        self.store.visits.insert(there.id, there.visits);
        self.store.images.insert(there.id, saved::encode_image(&snapshot));
        self.images.insert(there.id, saved::encode_image(&truth));
    }

    pub(super) fn is_any_world_down(&self) -> bool {
        let Process { hosts, worlds, .. } = &self.process;
        worlds.iter().any(|(&world, there)| there.is_to_panic || hosts[there.host].get(world).is_down())
    }
}
