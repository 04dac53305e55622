//! Outputs of the coordinator carried out, jobs with the checks of their effects, and the model of the shard.

use super::stepping::enter;
use super::*;
use link::Action;

impl InstanceRun {
    pub(super) fn send_to_hub(&mut self, from: FromShard) {
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
        self.send_to_hub(FromShard::Closed { circuit, why, agent, spot: None, next_sequence: 1 });
    }

    /// The shard, with willing clients.
    pub(super) fn on_mail(&mut self, mail: ToShard) {
        match mail {
            // Its world has ended: the hub is about to revoke it.
            ToShard::Ticket(ticket) if self.process.hub.places().scene(ticket.world).is_none() => {}
            ToShard::Ticket(ticket) => {
                self.process.agents.insert(ticket.circuit, ticket.agent);
                self.send_to_hub(FromShard::Opened(ticket.circuit));
                self.let_in(ticket.circuit, ticket.world);
            }
            ToShard::Switch { circuit, world, .. } if self.process.agents.contains_key(&circuit) => {
                self.send_to_hub(FromShard::Left { circuit, spot: None });
                self.let_in(circuit, world);
            }
            ToShard::Close(circuit, _) => self.close(circuit, Closed::Asked),
            _ => {}
        }
    }

    pub(super) fn let_in(&mut self, circuit: CircuitKey, world: WorldId) {
        let Some(scene) = self.process.hub.places().scene(world) else { return };
        if !scene.is_shared && self.roll(6) == 0 {
            return self.send_to_hub(FromShard::Refused(circuit, world, EntryRefusal::Full));
        }
        let agent = self.process.agents[&circuit];
        if let Some((former, world)) = self.process.standing.insert(agent, (circuit, world)) {
            self.command(world, former.session, Action::Leave);
        }
        self.command(world, circuit.session, enter(agent));
        self.send_to_hub(FromShard::Arrived(circuit, world));
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
                let n_unsaved = process.workplace.n_unsaved(&unsaved);
                assert_eq!(n_unsaved, 0, "worlds {unsaved:?} are not saved when the node stops");
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
        let Process { hub, pool, coordinator, .. } = &mut self.process;
        match order {
            GatewayOrder::Admit { request, world, visitor, position } => {
                let mut hosted = pool.hosted();
                let there = hosted.worlds.get_mut(&world).expect("the world of an admission is in memory");
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
        for (world, there) in &self.process.pool.hosted().worlds {
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
                assert!(self.around.store.has_row(*id), "{id} is acknowledged before it is durable");
                // Unless its end was requested meanwhile.
                self.acknowledged.insert(*id);
            }
            Ok(Granted { reply: InstanceReply::Ended(id), .. }) => {
                assert!(!self.around.store.has_row(*id), "{id} has not ended");
                self.acknowledged.remove(id);
                self.ended.insert(*id);
            }
            _ => {}
        }
    }

    /// Carries a job out, as a thread of the workplace does. Its end is reported now or later.
    pub(super) fn carry_out(&mut self, id: JobId, job: Job) {
        self.check_job(&job);
        let deleted = match &job {
            Job::DeleteRow(id) => Some(*id),
            _ => None,
        };
        self.process.workplace.carry_out(id, job, &self.process.reports.sink());
        if let Some(id) = deleted.filter(|id| !self.around.store.has_row(*id)) {
            self.visits.remove(&id);
            self.seen.remove(&id);
            self.acknowledged.remove(&id);
        }
    }

    fn check_job(&mut self, job: &Job) {
        match job {
            Job::DeleteRow(id) => self.assert_may_end(*id),
            Job::Start { world, instance, .. } => self.check_start(*world, *instance),
            Job::Suspend(targets) => {
                let visitors = self.process.hub.visitors();
                for SuspendTarget { world, .. } in targets {
                    let is_free = self.is_stopping || !visitors.contains_key(world);
                    assert!(is_free, "world {} is suspended under a visitor", world.0);
                }
            }
            _ => {}
        }
    }

    fn check_start(&mut self, world: WorldId, instance: Uuid) {
        let store = &self.around.store;
        assert!(store.has_row(instance), "{instance} is not durable");
        let mut hosted = self.process.pool.hosted();
        let visits = store.visits().get(&instance).copied().unwrap_or(0);
        if hosted.begun_empty.remove(&instance) {
            // Its former state was to stay as it was.
            self.visits.insert(instance, visits);
        }
        let truth = self.visits.get(&instance).copied().unwrap_or(0);
        assert_eq!(visits, truth, "visits of {instance} are not in its saved state");
        hosted.expect_start(world, instance, visits);
    }

    /// An instance ends on request, or because it was without visitors for the time of its template.
    fn assert_may_end(&self, id: Uuid) {
        let row = &self.around.store.rows()[&id];
        let is_known = self.seen.get(&id).filter(|_| !self.ending.contains(&id));
        if let Some(&seen) = is_known {
            assert!(row.visited_s.is_some(), "{id} ends, and no portal created it");
            // Last visits are whole seconds.
            let kept = self.now.since(seen) + Duration::from_secs(1);
            assert!(kept >= KEEP, "{id} ends although it was visited a moment ago");
        }
    }
}
