//! Random runs against a model of the workplace and the gateway that ends jobs late, in any order, and with failures.

use super::*;
use proptest::prelude::*;

/// Step of a random run; numbers are reduced to what exists at that moment.
#[derive(Clone, Debug)]
enum Step {
    Open(u8, bool),
    Enter(u8),
    EnterOwn(u8),
    Suspend(u8),
    Resume(u8),
    End(u8),
    /// End one of the jobs under way, with this success.
    Job(u8, bool),
    /// Answer one of the open admissions, with this success.
    Admission(u8, bool),
    Leave(u8),
    LateCount(u8),
    Pass(u8),
    Memory(Option<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    prop_oneof![
        3 => (0_u8..9, any::<bool>()).prop_map(|(id, owned)| Open(id, owned)),
        4 => (0_u8..9).prop_map(Enter),
        2 => (0_u8..4).prop_map(EnterOwn),
        1 => (0_u8..9).prop_map(Suspend),
        1 => (0_u8..9).prop_map(Resume),
        1 => (0_u8..9).prop_map(End),
        8 => (any::<u8>(), proptest::bool::weighted(0.8)).prop_map(|(which, ok)| Job(which, ok)),
        5 => (any::<u8>(), proptest::bool::weighted(0.8)).prop_map(|(which, ok)| Admission(which, ok)),
        3 => any::<u8>().prop_map(Leave),
        2 => any::<u8>().prop_map(LateCount),
        2 => (0_u8..8).prop_map(Pass),
        1 => proptest::option::of(1_u8..5).prop_map(Memory),
    ]
}

/// Workplace and gateway that end each job and each admission when the run says so.
#[derive(Default)]
struct Model {
    jobs: Vec<(JobId, Job)>,
    admissions: Vec<(RequestId, WorldId)>,
    occupants: BTreeMap<WorldId, u32>,
    n_admitted: u64,
    last_admission: BTreeMap<WorldId, u64>,
    /// Worlds that the workplace steps.
    stepped: BTreeSet<WorldId>,
    rows: BTreeSet<Uuid>,
    /// Rows whose deletion or creation is under way.
    replies: BTreeMap<RequestId, bool>,
}

impl Model {
    fn drain(&mut self, registry: &mut Registry) {
        registry.assert_invariants();
        while let Some((id, job)) = registry.poll_job() {
            match job {
                Job::SaveState(world) => {
                    assert!(self.stepped.contains(&world));
                    self.jobs.push((id, Job::SaveState(world)));
                }
                Job::Remove(world) => assert!(self.stepped.remove(&world), "removed once"),
                job => self.jobs.push((id, job)),
            }
        }
        while let Some(order) = registry.poll_order() {
            match order {
                GatewayOrder::Admit { request, world, .. } => {
                    assert!(self.stepped.contains(&world), "a visitor is sent into a world that is stepped");
                    self.admissions.push((request, world));
                }
                GatewayOrder::Dismiss { .. } => unreachable!("the run requests none"),
                GatewayOrder::Empty { world, .. } => _ = self.occupants.remove(&world),
            }
        }
        while let Some((request, reply)) = registry.poll_reply() {
            assert!(self.replies.insert(request, reply.is_ok()).is_none(), "one reply for each request");
        }
        for (request, world) in &self.admissions {
            let is_ended = !registry.instances.contains_key(world);
            assert!(is_ended || self.stepped.contains(world), "{request:?}: its world left memory");
        }
    }

    fn end_job(&mut self, registry: &mut Registry, now: Instant, which: u8, ok: bool) {
        if self.jobs.is_empty() {
            return;
        }
        let (id, job) = self.jobs.swap_remove(usize::from(which) % self.jobs.len());
        let why = || failed("it failed");
        let outcome = match job {
            Job::WriteRow(row) => {
                if ok {
                    assert!(self.rows.insert(row.id), "written once");
                }
                JobOutcome::RowWritten(if ok { Ok(()) } else { Err(why()) })
            }
            Job::DeleteRow(row) => {
                if ok {
                    assert!(self.rows.remove(&row), "deleted once");
                }
                JobOutcome::RowDeleted(if ok { Ok(()) } else { Err(why()) })
            }
            Job::Start { world, .. } => {
                if ok {
                    assert!(self.stepped.insert(world), "started once");
                }
                JobOutcome::Started(if ok { Ok(Some(HALL_BYTES)) } else { Err(StartFailure::Failed(why())) })
            }
            Job::Suspend(targets) => {
                let end = |SuspendTarget { world, .. }: SuspendTarget| {
                    let is_occupied = self.occupants.get(&world).is_some_and(|&n| n > 0);
                    assert!(!is_occupied, "world {}: suspended while occupied", world.0);
                    if ok {
                        assert!(self.stepped.remove(&world), "a stepped world is suspended");
                        (world, SuspendOutcome::Saved(Some(HALL_BYTES)))
                    } else {
                        (world, kept(now))
                    }
                };
                JobOutcome::Suspended(targets.into_iter().map(end).collect())
            }
            Job::SaveState(_) => JobOutcome::StateSaved(if ok { Ok(()) } else { Err(now) }),
            Job::NoteVisits(_) => JobOutcome::VisitsNoted(ok),
            Job::Remove(_) => unreachable!("it has no outcome"),
        };
        registry.handle_outcome(now, id, outcome);
    }

    fn answer(&mut self, registry: &mut Registry, now: Instant, which: u8, ok: bool) {
        if self.admissions.is_empty() {
            return;
        }
        let (request, world) = self.admissions.swap_remove(usize::from(which) % self.admissions.len());
        let outcome = if ok && self.stepped.contains(&world) {
            let n = self.occupants.entry(world).or_default();
            *n += 1;
            self.n_admitted += 1;
            self.last_admission.insert(world, self.n_admitted);
            Ok(OccupantCount { n: *n, as_of: AdmissionNumber(self.n_admitted) })
        } else {
            Err(failed("elsewhere"))
        };
        registry.handle_notice(now, GatewayNotice::Admission { request, outcome });
    }

    fn leave(&mut self, registry: &mut Registry, now: Instant, which: u8) {
        let occupied: Vec<WorldId> =
            self.occupants.iter().filter(|(_, n)| **n > 0).map(|(&world, _)| world).collect();
        if occupied.is_empty() {
            return;
        }
        let world = occupied[usize::from(which) % occupied.len()];
        let n = self.occupants.get_mut(&world).expect("listed above");
        *n -= 1;
        let count = OccupantCount { n: *n, as_of: AdmissionNumber(self.n_admitted) };
        registry.handle_notice(now, GatewayNotice::Occupants { world, count });
    }

    /// A count from before a world's last admission arrives: then the world was empty.
    fn count_late(&self, registry: &mut Registry, now: Instant, which: u8) {
        if let Some((&world, &last)) = self.last_admission.iter().nth(usize::from(which) % 4) {
            let count = OccupantCount { n: 0, as_of: AdmissionNumber(last - 1) };
            registry.handle_notice(now, GatewayNotice::Occupants { world, count });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Every request has exactly one reply, no world is suspended under a visitor, existing instances are those whose rows exist, and at
    /// the end nothing is reserved.
    #[test]
    fn every_run_keeps_the_invariants_and_comes_to_rest(steps in proptest::collection::vec(step(), 1..120)) {
        let mut registry = registry();
        let mut model = Model::default();
        let mut now = at(0);
        let mut n_requests = 0;
        for step in steps {
            let id = |n: u8| Uuid::from_u128(u128::from(n) + 1);
            let owner = |n: u8| Some(ids::AgentId(Uuid::from_u128(u128::from(n % 4) + 100)));
            let request = match step {
                Step::Open(n, owned) => {
                    let owner = owner(n).filter(|_| owned);
                    Some(InstanceRequest::Open(NewInstance { owner, ..new(u128::from(n) + 1) }))
                }
                Step::Enter(n) => Some(enter(u128::from(n) + 1)),
                Step::EnterOwn(n) => {
                    let new = NewInstance { owner: owner(n), ..new(u128::from(n_requests) + 1_000) };
                    Some(InstanceRequest::EnterOwn { new, visitor: visitor(u64::from(n)) })
                }
                Step::Suspend(n) => Some(InstanceRequest::Suspend(id(n))),
                Step::Resume(n) => Some(InstanceRequest::Resume(id(n))),
                Step::End(n) => Some(InstanceRequest::End(id(n))),
                Step::Job(which, ok) => { model.end_job(&mut registry, now, which, ok); None }
                Step::Admission(which, ok) => { model.answer(&mut registry, now, which, ok); None }
                Step::Leave(which) => { model.leave(&mut registry, now, which); None }
                Step::LateCount(which) => { model.count_late(&mut registry, now, which); None }
                Step::Pass(s) => {
                    now += Duration::from_secs(s.into());
                    registry.handle_timeout(now);
                    None
                }
                Step::Memory(worlds) => {
                    let resident_bytes = model.stepped.len() as u64 * HALL_BYTES;
                    let allowed_bytes = worlds.map(|n| u64::from(n) * HALL_BYTES);
                    let sample = NodeSample { resident_bytes, allowed_bytes, ..NodeSample::default() };
                    registry.record_sample(now, &sample);
                    None
                }
            };
            if let Some(request) = request {
                registry.handle_request(now, RequestId(n_requests), request);
                n_requests += 1;
            }
            model.drain(&mut registry);
        }
        // Healing: jobs succeed, visitors leave, memory is free.
        registry.record_sample(now, &NodeSample::default());
        model.drain(&mut registry);
        while !(model.jobs.is_empty() && model.admissions.is_empty()) {
            model.end_job(&mut registry, now, 0, true);
            model.drain(&mut registry);
            model.answer(&mut registry, now, 0, true);
            model.drain(&mut registry);
            model.leave(&mut registry, now, 0);
            model.drain(&mut registry);
        }
        prop_assert_eq!(model.replies.len() as u64, n_requests, "a request has no reply");
        let existing: BTreeSet<Uuid> = registry.summaries().map(|summary| summary.row.id).collect();
        prop_assert_eq!(&existing, &model.rows);
        prop_assert!(registry.summaries().all(|summary| matches!(summary.phase, "active" | "suspended")));
        while model.occupants.values().any(|&n| n > 0) {
            model.leave(&mut registry, now, 0);
            model.drain(&mut registry);
        }
        for _ in 0..4 {
            now += Duration::from_secs(20);
            registry.handle_timeout(now);
            model.drain(&mut registry);
            while !model.jobs.is_empty() {
                model.end_job(&mut registry, now, 0, true);
                model.drain(&mut registry);
            }
        }
        prop_assert_eq!(registry.counts().1, 0, "an empty instance is suspended");
        prop_assert_eq!(registry.unsaved().count(), 0);
        (0..3).for_each(|_| registry.record_sample(now, &NodeSample::default()));
        prop_assert_eq!(registry.capacity().reserved_bytes(), 0, "a reservation has not ended");
    }
}
