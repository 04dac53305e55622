//! State shared by long threads, submitters and operators.
//!
//! A submitter pushes into a mailbox and calls a thread. The lock is for long threads and operators: a thread of low priority may be
//! preempted while it holds the lock, so a short-task worker that needs the backlog only tries it ([`LongShared::backlog`]).

use super::cores::{CpuAccount, CpuTimes};
use super::{
    Cancelled, LONG_ENDED_MAX, LONG_WAITING_MAX, Long, LongContext, LongCounters, LongEnded, LongId,
    LongInfo, LongOutcome, LongQueue, LongRefusal, LongSpec, LongTicket,
};
use crate::{mailbox::MpscMailbox, parking::Parking, starvation::Backlog};
use crossbeam_channel::{Sender, bounded};
use ids::Instant;
use std::{
    any::Any,
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, TryLockError,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::Duration,
};
use telemetry::recorder::Recorder;

/// Kind of disposals, and their expected duration until it is learned.
pub(super) const DISPOSE: &str = "dispose";
pub(super) const DISPOSE_ESTIMATE: Duration = Duration::from_millis(1);

pub(super) type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

pub(super) struct LongShared {
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    pub(super) n_threads: usize,
    pub(super) parking: Parking,
    /// Tasks not yet in the queue.
    pub(super) mailbox: MpscMailbox<Submission>,
    pub(super) disposals: MpscMailbox<Disposal>,
    /// Tasks that have not begun, in the mailbox or put in order.
    pub(super) n_waiting: AtomicUsize,
    /// Disposals not yet in the queue.
    pub(super) n_disposals: AtomicUsize,
    /// Tasks and disposals in the queue.
    pub(super) n_ordered: AtomicUsize,
    /// Tasks and disposals that run on threads which count.
    pub(super) n_running: AtomicUsize,
    pub(super) last_id: AtomicU64,
    pub(super) is_stopping: AtomicBool,
    pub(super) state: Mutex<LongStore>,
    /// Something ended.
    pub(super) ended: Condvar,
    pub(super) counts: Counts,
}

#[derive(Default)]
pub(super) struct LongStore {
    pub(super) tasks: LongQueue<LongWork>,
    /// Values to be dropped, oldest first.
    pub(super) disposals: VecDeque<Disposal>,
    /// Buffer for drained submissions.
    submissions: Vec<Submission>,
    disposed: Vec<Disposal>,
    /// Tasks on threads that are not abandoned.
    pub(super) running: Vec<OnThread>,
    /// CPU accounts of the threads, by index.
    pub(super) accounts: Vec<Option<CpuAccount>>,
    pub(super) n_threads: usize,
    /// Results not polled yet, oldest first.
    pub(super) ended: VecDeque<LongEnded>,
}

/// Something that runs.
pub(super) struct OnThread {
    pub(super) id: LongId,
    /// The thread's place.
    pub(super) spot: usize,
    /// Channel to the submitter.
    pub(super) outcome: Option<Sender<LongOutcome>>,
    /// CPU time of the thread at the last observation.
    pub(super) got: Option<CpuTimes>,
}

impl LongStore {
    /// A thread takes something up.
    pub(super) fn begin(&mut self, id: LongId, spot: usize, outcome: Option<Sender<LongOutcome>>) {
        let got = self.account(spot).and_then(CpuAccount::read);
        self.running.push(OnThread { id, spot, outcome, got });
    }

    /// Observes the CPU time of running tasks.
    fn observe(&mut self, now: Instant) {
        let Self { tasks, running, accounts, .. } = self;
        for OnThread { id, spot, got, .. } in running {
            let newest = accounts.get(*spot).and_then(Option::as_ref).and_then(CpuAccount::read);
            if let (Some(before), Some(newest)) = (*got, newest) {
                let ran = newest.ran.saturating_sub(before.ran);
                tasks.observe(*id, now, ran, newest.delayed.saturating_sub(before.delayed));
            }
            *got = newest;
        }
    }

    fn put_in_order(&mut self) {
        let Self { tasks, submissions, disposals, disposed, .. } = self;
        for Submission { id, spec, submitted_at, work } in submissions.drain(..) {
            tasks.push(id, submitted_at, Arc::default(), spec, work);
        }
        // Submissions of several threads arrive out of order.
        disposed.sort_by_key(|disposal| disposal.submitted_at);
        disposals.extend(disposed.drain(..));
    }

    fn account(&self, spot: usize) -> Option<&CpuAccount> {
        self.accounts.get(spot)?.as_ref()
    }

    /// The calling thread has this place from now on.
    pub(super) fn set_account(&mut self, spot: usize) {
        if self.accounts.len() <= spot {
            self.accounts.resize_with(spot + 1, || None);
        }
        self.accounts[spot] = CpuAccount::of_this_thread();
    }
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) submitted: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) done: AtomicU64,
    pub(super) panicked: AtomicU64,
    pub(super) cancelled: AtomicU64,
    pub(super) abandoned: AtomicU64,
    pub(super) disposed: AtomicU64,
    pub(super) ended_unreported: AtomicU64,
}

pub(super) struct Submission {
    pub(super) id: LongId,
    pub(super) spec: LongSpec,
    pub(super) submitted_at: Instant,
    pub(super) work: LongWork,
}

/// Something to be dropped.
pub(super) struct Disposal {
    pub(super) submitted_at: Instant,
    pub(super) what: Box<dyn Any + Send>,
}

pub(super) struct LongWork {
    pub(super) run: Box<dyn FnOnce(&LongContext) + Send>,
    pub(super) outcome: Sender<LongOutcome>,
}

pub(super) const UNPOISONED: &str = "nothing panics while it holds the long tasks";

impl LongShared {
    pub(super) fn new(n_threads: usize, clock: Clock, recorder: Recorder) -> Self {
        Self {
            clock,
            recorder,
            n_threads,
            parking: Parking::new(n_threads),
            mailbox: MpscMailbox::default(),
            disposals: MpscMailbox::default(),
            n_waiting: AtomicUsize::new(0),
            n_ordered: AtomicUsize::new(0),
            n_disposals: AtomicUsize::new(0),
            n_running: AtomicUsize::new(0),
            last_id: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            state: Mutex::default(),
            ended: Condvar::new(),
            counts: Counts::default(),
        }
    }

    pub(super) fn submit(&self, long: Long) -> Result<LongTicket, LongRefusal> {
        let Long { kind, name, estimated, work } = long;
        let refuse = |work, why| {
            self.counts.refused.fetch_add(1, Relaxed);
            // The captured state of the work may be large.
            self.dispose(Box::new(work));
            Err(why)
        };
        if self.is_stopping.load(SeqCst) {
            return refuse(work, LongRefusal::Stopping { kind });
        }
        if self.n_waiting.fetch_add(1, SeqCst) >= LONG_WAITING_MAX {
            self.n_waiting.fetch_sub(1, SeqCst);
            return refuse(work, LongRefusal::Full { kind });
        }
        let id = self.next_id();
        let (outcome, receiver) = bounded(1);
        let spec = LongSpec { kind, name, estimated };
        let submission =
            Submission { id, spec, submitted_at: (self.clock)(), work: LongWork { run: work, outcome } };
        self.mailbox.push(submission);
        self.counts.submitted.fetch_add(1, Relaxed);
        self.parking.call();
        if self.is_stopping.load(SeqCst) {
            // The pool may have ended: no thread would cancel it.
            self.cancel_waiting();
        }
        Ok(LongTicket { id, outcome: receiver })
    }

    pub(super) fn dispose(&self, what: Box<dyn Any + Send>) {
        if self.is_stopping.load(SeqCst) {
            return drop(what);
        }
        self.n_disposals.fetch_add(1, SeqCst);
        self.disposals.push(Disposal { submitted_at: (self.clock)(), what });
        self.parking.call();
        if self.is_stopping.load(SeqCst) {
            // The pool may have ended: no thread would drop it.
            self.drop_disposals();
        }
    }

    pub(super) fn list(&self) -> Vec<LongInfo> {
        let mut state = self.lock();
        self.put_all_in_order(&mut state);
        let list = state.tasks.list((self.clock)());
        drop(state);
        self.call_thread_if_ordered();
        list
    }

    pub(super) fn cancel(&self, id: LongId) -> bool {
        let mut state = self.lock();
        self.put_all_in_order(&mut state);
        let cancelled = state.tasks.cancel(id);
        self.count_ordered(&state);
        drop(state);
        self.call_thread_if_ordered();
        match cancelled {
            None => false,
            Some(Cancelled::Running) => true,
            Some(Cancelled::Waiting(work)) => {
                self.report_cancelled(work);
                true
            }
        }
    }

    pub(super) fn ratio(&self, kind: &str) -> f64 {
        self.lock().tasks.ratio(kind)
    }

    pub(super) fn counters(&self) -> LongCounters {
        let Counts { submitted, refused, done, panicked, cancelled, abandoned, disposed, ended_unreported } =
            &self.counts;
        let count = |count: &AtomicU64| count.load(Relaxed);
        LongCounters {
            submitted: count(submitted),
            refused: count(refused),
            done: count(done),
            panicked: count(panicked),
            cancelled: count(cancelled),
            abandoned: count(abandoned),
            disposed: count(disposed),
            ended_unreported: count(ended_unreported),
            waiting: self.n_waiting.load(Relaxed) as u64,
            disposals_waiting: self.n_disposals.load(Relaxed) as u64,
        }
    }

    /// A task has ended.
    pub(super) fn note_ended(&self, state: &mut LongStore, ended: LongEnded) {
        if state.ended.len() == LONG_ENDED_MAX {
            state.ended.pop_front();
            self.counts.ended_unreported.fetch_add(1, Relaxed);
        }
        state.ended.push_back(ended);
    }

    pub(super) fn drain_ended(&self, ended: &mut Vec<LongEnded>) {
        // Not with the lock in hand.
        ended.reserve(LONG_ENDED_MAX);
        ended.extend(self.lock().ended.drain(..));
    }

    pub(super) fn wait_until_empty(&self, patience: Duration) -> bool {
        let until = (self.clock)() + patience;
        let mut state = self.lock();
        loop {
            let n_left = self.n_waiting.load(SeqCst) + self.n_disposals.load(SeqCst) + state.running.len();
            let left = until - (self.clock)();
            if n_left == 0 || left.is_zero() {
                return n_left == 0;
            }
            (state, _) = self.ended.wait_timeout(state, left).expect(UNPOISONED);
        }
    }

    pub(super) fn backlog(&self, now: Instant) -> Option<Backlog> {
        let n_disposals = self.n_disposals.load(Relaxed);
        if self.n_waiting.load(Relaxed) + n_disposals + self.n_running.load(Relaxed) == 0 {
            return Some(Backlog::default());
        }
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::WouldBlock) => return None,
            Err(TryLockError::Poisoned(_)) => panic!("{UNPOISONED}"),
        };
        self.put_in_order(&mut state);
        state.observe(now);
        let mut backlog = state.tasks.backlog(now, self.n_threads);
        let of_disposals = DISPOSE_ESTIMATE.mul_f64(state.tasks.ratio(DISPOSE) * n_disposals as f64);
        backlog.work += of_disposals.div_f64(self.n_threads as f64);
        // They grow old as tasks do: all threads may be in long tasks that lack a core, and memory is wanted back.
        let oldest = state.disposals.front().map_or(Duration::ZERO, |disposal| now - disposal.submitted_at);
        backlog.oldest = backlog.oldest.max(oldest);
        drop(state);
        self.call_thread_if_ordered();
        Some(backlog)
    }

    /// Moves submissions into the queue, except unfinished ones. A caller other than a long thread then [calls](Self::call_thread_if_ordered)
    /// one, which may have checked while items were in neither place.
    pub(super) fn put_in_order(&self, state: &mut LongStore) {
        self.mailbox.drain_into(&mut state.submissions);
        self.disposals.drain_into(&mut state.disposed);
        state.put_in_order();
        self.count_ordered(state);
    }

    /// Moves all submissions into the queue, and waits for unfinished ones.
    pub(super) fn put_all_in_order(&self, state: &mut LongStore) {
        self.mailbox.take_all(&mut state.submissions);
        self.disposals.take_all(&mut state.disposed);
        state.put_in_order();
        self.count_ordered(state);
    }

    /// Updates the count after changes of the queue.
    pub(super) fn count_ordered(&self, state: &LongStore) {
        self.n_ordered.store(state.tasks.n_waiting() + state.disposals.len(), SeqCst);
    }

    /// Calls a thread if there is something for it. Without the lock in hand.
    pub(super) fn call_thread_if_ordered(&self) {
        if self.n_ordered.load(SeqCst) > 0 {
            self.parking.call();
        }
    }

    /// True if a thread would find work.
    pub(super) fn has_work(&self) -> bool {
        self.n_ordered.load(SeqCst) > 0 || self.mailbox.has_some() || self.disposals.has_some()
    }

    /// Drops the waiting disposals on this thread.
    pub(super) fn drop_disposals(&self) {
        let mut state = self.lock();
        self.put_all_in_order(&mut state);
        let disposals = std::mem::take(&mut state.disposals);
        self.count_ordered(&state);
        drop(state);
        self.n_disposals.fetch_sub(disposals.len(), SeqCst);
    }

    /// Cancels running tasks and removes waiting ones.
    pub(super) fn cancel_waiting(&self) {
        let mut state = self.lock();
        self.put_all_in_order(&mut state);
        let waiting = state.tasks.cancel_all();
        self.count_ordered(&state);
        drop(state);
        waiting.into_iter().for_each(|work| self.report_cancelled(work));
    }

    fn report_cancelled(&self, work: LongWork) {
        self.n_waiting.fetch_sub(1, SeqCst);
        self.counts.cancelled.fetch_add(1, Relaxed);
        let _ = work.outcome.try_send(LongOutcome::Cancelled);
        self.dispose(Box::new(work.run));
    }

    pub(super) fn next_id(&self) -> LongId {
        LongId(self.last_id.fetch_add(1, Relaxed) + 1)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LongStore> {
        self.state.lock().expect(UNPOISONED)
    }
}
