//! The models: effects of jobs on the store and the worlds, of orders on the hub, and of mail on the shard.

use super::stepping::enter;
use super::*;
use link::Action;

impl InstanceRun {
    pub(super) fn tell(&mut self, from: FromShard) {
        self.process.hub.handle(self.now, ShardIndex(0), from);
    }

    pub(super) fn close(&mut self, circuit: CircuitKey, why: Closed) {
        let Some(&agent) = self.process.agents.get(&circuit) else { return };
        if let Some(&(known, world)) = self.process.standing.get(&agent)
            && known == circuit
        {
            self.process.standing.remove(&agent);
            self.command(world, circuit.session, Action::Leave);
        }
        self.process.agents.remove(&circuit);
        self.tell(FromShard::Closed { circuit, why, agent, spot: None, next_sequence: 1 });
    }

    /// The shard, with willing clients.
    pub(super) fn on_mail(&mut self, mail: ToShard) {
        match mail {
            // Its world has ended: the hub is about to revoke it.
            ToShard::Ticket(ticket) if self.process.hub.places().scene(ticket.world).is_none() => {}
            ToShard::Ticket(ticket) => {
                self.process.agents.insert(ticket.circuit, ticket.agent);
                self.tell(FromShard::Opened(ticket.circuit));
                self.let_in(ticket.circuit, ticket.world);
            }
            ToShard::Switch { circuit, world, .. } if self.process.agents.contains_key(&circuit) => {
                self.tell(FromShard::Left { circuit, spot: None });
                self.let_in(circuit, world);
            }
            ToShard::Close(circuit, _) => self.close(circuit, Closed::Asked),
            _ => {}
        }
    }

    pub(super) fn let_in(&mut self, circuit: CircuitKey, world: WorldId) {
        let Some(scene) = self.process.hub.places().scene(world) else { return };
        if !scene.is_shared && self.roll(6) == 0 {
            return self.tell(FromShard::Refused(circuit, world, EntryRefusal::Full));
        }
        let agent = self.process.agents[&circuit];
        if let Some((former, world)) = self.process.standing.insert(agent, (circuit, world)) {
            self.command(world, former.session, Action::Leave);
        }
        self.command(world, circuit.session, enter(agent));
        self.tell(FromShard::Arrived(circuit, world));
    }

    /// An order of the hub, on its way to the coordinator.
    pub(super) fn on_travel_order(&mut self, order: TravelOrder) {
        let new_id = self.id();
        if let TravelOrder::EnterOwn { agent, .. } = &order {
            self.owners.insert(new_id, Some(*agent));
        }
        let number = self.number();
        self.process.travelling.push(order.clone());
        self.process.coordinator.handle_travel_order(number, order, new_id, 0);
    }

    /// Carries an output of the coordinator out, as the thread of a server does.
    pub(super) fn on_output(&mut self, output: CoordinatorOutput) {
        let (now, process) = (self.now, &mut self.process);
        match output {
            CoordinatorOutput::Job(id, job) => self.begin_job(id, job),
            CoordinatorOutput::Order(order) => self.on_order(order),
            CoordinatorOutput::Check(number, visitor) => {
                let checked = process.hub.check(&visitor);
                process.coordinator.handle_check(now, number, checked);
            }
            CoordinatorOutput::TakeCensus => self.take_census(),
            CoordinatorOutput::Reply(number, answer) => self.on_reply(number, &answer),
            CoordinatorOutput::EndOrder(order) => {
                self.on_order_end(&order);
                self.process.hub.end_order(&order);
            }
            CoordinatorOutput::RefuseOrder(order, why) => {
                self.on_order_end(&order);
                self.process.hub.turn_down(&order, &why);
            }
            CoordinatorOutput::Resumed(_) => {}
            CoordinatorOutput::Stopped(unsaved) => {
                assert_eq!(unsaved, [], "worlds are not saved when the node stops");
                assert!(!std::mem::replace(&mut process.is_stopped, true), "a node stops once");
            }
        }
    }

    fn begin_job(&mut self, id: JobId, job: Job) {
        let takes = match job {
            // Its world is stepped no more once the order is given.
            Job::Remove(_) => Duration::ZERO,
            _ => self.ms(400),
        };
        self.process.jobs.insert((self.now + takes, id), job);
    }

    fn on_order(&mut self, order: GatewayOrder) {
        let Process { hub, worlds, coordinator, .. } = &mut self.process;
        match order {
            GatewayOrder::Admit { request, world, visitor, position } => {
                let there = worlds.get_mut(&world).expect("the world of an admission is in memory");
                let checked = hub.check(&visitor);
                let passed = checked.and_then(|()| hub.enter(self.now, visitor.session, world, position));
                let admitted = passed.map(|passage| {
                    there.visits += 1;
                    self.visits.insert(there.id, there.visits);
                    self.seen.insert(there.id, self.now);
                    self.report.admitted += 1;
                    Admitted { passage, occupants: hub.occupants_of(world) }
                });
                coordinator.handle_admission(self.now, request, admitted);
            }
            GatewayOrder::Dismiss { request, visitor } => {
                let dismissed = hub.check(&visitor).and_then(|()| hub.leave(self.now, visitor.session));
                coordinator.handle_dismissal(self.now, request, dismissed);
            }
            GatewayOrder::Empty { world, reason } => hub.empty(self.now, world, &reason),
        }
    }

    fn take_census(&mut self) {
        let as_of = self.process.hub.last_admission();
        let mut visitors = self.process.hub.visitors();
        for (world, there) in &self.process.worlds {
            if visitors.contains_key(world) {
                self.seen.insert(there.id, self.now);
            }
        }
        if self.is_sabotaged(InstanceSabotage::BlindCensus) {
            visitors.clear();
        }
        self.process.coordinator.handle_census(self.now, as_of, &visitors);
    }

    fn on_order_end(&mut self, order: &TravelOrder) {
        let known = self.process.travelling.iter().position(|known| known == order);
        self.process.travelling.swap_remove(known.expect("a travel order ends once"));
        self.report.replies += 1;
    }

    fn on_reply(&mut self, number: RequestId, answer: &Result<Granted, RequestRefusal>) {
        assert!(self.process.asked.remove(&number), "one reply for each request");
        self.report.replies += 1;
        match answer {
            Ok(Granted { reply: InstanceReply::Created(id) | InstanceReply::Exists(id), .. }) => {
                assert!(self.store.rows.contains_key(id), "{id} is acknowledged before it is durable");
                // Unless its end was requested meanwhile.
                self.acknowledged.insert(*id);
            }
            Ok(Granted { reply: InstanceReply::Ended(id), .. }) => {
                assert!(!self.store.rows.contains_key(id), "{id} has not ended");
                self.acknowledged.remove(id);
                self.ended.insert(*id);
            }
            _ => {}
        }
    }

    /// A job at its end: its effect on the store and on the worlds.
    pub(super) fn carry_out(&mut self, job: Job) -> Option<JobOutcome> {
        let refused = || -> Result<(), Arc<str>> { Err("the store refuses".into()) };
        match job {
            Job::WriteRow(row) => {
                let written = if self.store.refuses { refused() } else { Ok(()) };
                if written.is_ok() && !self.is_sabotaged(InstanceSabotage::LostRow) {
                    let owner = row.owner.filter(|_| !self.is_sabotaged(InstanceSabotage::LostOwner));
                    self.store.rows.insert(row.id, InstanceRow { owner, ..row });
                }
                Some(JobOutcome::RowWritten(written))
            }
            Job::DeleteRow(id) => {
                self.assert_may_end(id);
                let deleted = if self.store.refuses { refused() } else { Ok(()) };
                if deleted.is_ok() {
                    self.store.rows.remove(&id);
                    self.store.visits.remove(&id);
                    self.store.images.remove(&id);
                    self.images.remove(&id);
                    self.visits.remove(&id);
                    self.seen.remove(&id);
                    self.acknowledged.remove(&id);
                }
                Some(JobOutcome::RowDeleted(deleted))
            }
            Job::Start { request: _, world, instance, template, name, local_ids } => {
                assert!(self.store.rows.contains_key(&instance), "{instance} is not durable");
                if self.roll(12) == 0 {
                    let failure = StartFailure::Failed("the long task has panicked".into());
                    return Some(JobOutcome::Started(Err(failure)));
                }
                let number = TEMPLATES.iter().position(|(name, _)| *name == &*template).expect("known");
                let land = Arc::clone(&self.lands[number]);
                let name = name.to_string();
                let epoch = Epoch(self.store.next_epoch);
                self.store.next_epoch += 1;
                let spec = WorldSpec { epoch, ..spec(world, name, local_ids, &land) };
                let scene = Scene::new(spec, land);
                let visits = self.store.visits.get(&instance).copied().unwrap_or(0);
                let truth = self.visits.get(&instance).copied().unwrap_or(0);
                assert_eq!(visits, truth, "visits of {instance} are not in its saved state");
                self.report.resumed += u64::from(visits > 0);
                let begun = self.start_world(instance, &template, scene, visits);
                let former = self.process.worlds.insert(world, begun);
                assert!(former.is_none(), "world {} is in memory twice", world.0);
                Some(JobOutcome::Started(Ok(Some(1 << 20))))
            }
            Job::Suspend(targets) => {
                let outcomes = targets.into_iter().map(|target| (target.world, self.suspend(target)));
                Some(JobOutcome::Suspended(outcomes.collect()))
            }
            Job::SaveState(world) => {
                if self.store.refuses {
                    return Some(JobOutcome::StateSaved(Err(self.now + Duration::from_secs(3))));
                }
                if self
                    .process
                    .worlds
                    .get(&world)
                    .is_some_and(|there| self.store.rows.contains_key(&there.id))
                {
                    self.save_state(world);
                }
                Some(JobOutcome::StateSaved(Ok(())))
            }
            Job::NoteVisits(visits) => {
                let is_written = !self.store.refuses;
                for (id, visited_s) in visits.into_iter().filter(|_| is_written) {
                    if let Some(row) = self.store.rows.get_mut(&id) {
                        row.visited_s = row.visited_s.max(Some(visited_s));
                    }
                }
                Some(JobOutcome::VisitsNoted(is_written))
            }
            Job::Remove(world) => {
                let removed = self.process.worlds.remove(&world).expect("a removed world was in memory");
                self.process.hosts[removed.host].close(world);
                self.process.hub.places().remove_instance(world);
                assert!(!self.store.rows.contains_key(&removed.id), "{} has not ended", removed.id);
                None
            }
        }
    }

    /// An instance ends on request, or because nobody has been in it for the time of its template.
    fn assert_may_end(&self, id: Uuid) {
        let row = &self.store.rows[&id];
        let is_known = self.seen.get(&id).filter(|_| !self.ending.contains(&id));
        if let Some(&seen) = is_known {
            assert!(row.visited_s.is_some(), "{id} ends, and no portal created it");
            // Last visits are whole seconds.
            let kept = self.now.since(seen) + Duration::from_secs(1);
            assert!(kept >= KEEP, "{id} ends although it was visited a moment ago");
        }
    }
}
