//! The one thread that hashes passwords, with its queue.
//!
//! Hashing on the HTTP threads would let a crowd of logins take every core from the worlds. Here it takes one, and no more than
//! [`DutyCycle`] allows while the host is loaded; logins without room in the queue are refused with a request to retry.

use super::{Cost, DamagedHash, DutyCycle, Hasher, LoadHint, PasswordDigest};
use ids::Instant;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::PasswordHash;
use telemetry::recorder::{Recorder, Scope, frame_end};
use telemetry::{LockWait, Metrics};
use tokio::sync::oneshot;

/// One password: 26 ms on the machine of the project. At ten times that, another process had the core.
static HASH: Scope = Scope::new("passwords.hash").limit_us(250_000);

/// Reads the process's clock. The thread measures its own work with it.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Reasons for which a password was neither hashed nor checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordsError {
    /// [`Passwords::QUEUE_MAX`] jobs wait already.
    #[error("too many logins are waiting")]
    Full,
    /// The thread has been stopped.
    #[error("the server is stopping")]
    Stopped,
    /// The account's stored hash is unusable.
    #[error(transparent)]
    Damaged(#[from] DamagedHash),
    /// The system gave no random bytes for a salt.
    #[error("the system has no random numbers: {0}")]
    Random(String),
}

/// Handle to the passwords thread. Dropping it stops the thread; jobs that still wait end in
/// [`PasswordsError::Stopped`].
pub struct Passwords {
    shared: Arc<SharedQueue>,
    thread: Option<JoinHandle<()>>,
    cost: Cost,
}

struct SharedQueue {
    state: Mutex<QueueState>,
    lock_wait: LockWait,
    /// Signalled for a job, and for the stop of the thread.
    changed: Condvar,
    load: LoadHint,
    clock: Clock,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<HashJob>,
    stopping: bool,
}

enum HashJob {
    Verify {
        digest: PasswordDigest,
        stored: PasswordHash,
        reply: oneshot::Sender<Result<bool, PasswordsError>>,
    },
    Hash {
        digest: PasswordDigest,
        reply: oneshot::Sender<Result<PasswordHash, PasswordsError>>,
    },
}

impl Passwords {
    /// Jobs that may wait. At 26 ms each the last waits four minutes, longer than any client does; a job whose
    /// client has gone is skipped.
    pub const QUEUE_MAX: usize = 10_000;

    /// Idle time after which the working memory is freed.
    pub const IDLE_RELEASE: Duration = Duration::from_secs(5);

    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(cost: Cost, load: LoadHint, clock: Clock) -> std::io::Result<Self> {
        Self::start_waiting(cost, load, clock, Recorder::off(), LockWait::default())
    }

    /// As [`Passwords::start`], with a thread that records what it does. Waits for its queue are counted in
    /// `throng_lock_wait_seconds` with the label `system`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start_recorded(
        cost: Cost,
        load: LoadHint,
        clock: Clock,
        recorder: Recorder,
        (metrics, system): (&Metrics, &str),
    ) -> std::io::Result<Self> {
        Self::start_waiting(cost, load, clock, recorder, LockWait::new(metrics, system))
    }

    fn start_waiting(
        cost: Cost,
        load: LoadHint,
        clock: Clock,
        recorder: Recorder,
        lock_wait: LockWait,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(SharedQueue {
            state: Mutex::default(),
            lock_wait,
            changed: Condvar::new(),
            load,
            clock,
        });
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("passwords".into()).spawn(move || {
            recorder.thread("passwords").install();
            worker.run(cost);
        })?;
        Ok(Self { shared, thread: Some(thread), cost })
    }

    /// Cost of its hashes.
    #[must_use]
    pub const fn cost(&self) -> Cost {
        self.cost
    }

    /// True if the stored hash was made of this digest.
    ///
    /// # Errors
    /// [`PasswordsError`].
    pub async fn verify(&self, digest: PasswordDigest, stored: PasswordHash) -> Result<bool, PasswordsError> {
        let (reply, answer) = oneshot::channel();
        self.shared.submit(HashJob::Verify { digest, stored, reply })?;
        answer.await.unwrap_or(Err(PasswordsError::Stopped))
    }

    /// Hashes a digest with a new salt.
    ///
    /// # Errors
    /// [`PasswordsError`].
    pub async fn hash(&self, digest: PasswordDigest) -> Result<PasswordHash, PasswordsError> {
        let (reply, answer) = oneshot::channel();
        self.shared.submit(HashJob::Hash { digest, reply })?;
        answer.await.unwrap_or(Err(PasswordsError::Stopped))
    }

    /// Jobs that wait, for metrics.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.lock().jobs.len()
    }
}

impl Drop for Passwords {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the passwords thread has panicked");
        }
    }
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

impl SharedQueue {
    /// The state is a queue and a flag, whole after every statement, so a panic elsewhere cannot have left it broken.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.lock_wait.lock(&self.state).unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&self, job: HashJob) -> Result<(), PasswordsError> {
        let mut state = self.lock();
        if state.stopping {
            return Err(PasswordsError::Stopped);
        }
        if state.jobs.len() == Passwords::QUEUE_MAX {
            return Err(PasswordsError::Full);
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    fn run(&self, cost: Cost) {
        let mut hasher = Hasher::new(cost);
        while let Some(job) = self.next_job(&mut hasher) {
            if job.is_abandoned() {
                continue;
            }
            let hash = HASH.enter(0);
            let started_at = (self.clock)();
            job.carry_out(&mut hasher);
            drop(hash);
            frame_end();
            let work = (self.clock)().since(started_at);
            self.rest(DutyCycle::rest_after(work, self.load.is_loaded()));
        }
        // Dropping the senders returns an error to the waiting callers.
        self.lock().jobs.clear();
    }

    /// The next job; `None` when the thread must stop.
    fn next_job(&self, hasher: &mut Hasher) -> Option<HashJob> {
        let idle = |state: &mut QueueState| state.jobs.is_empty() && !state.stopping;
        let (mut state, timeout) = self
            .changed
            .wait_timeout_while(self.lock(), Passwords::IDLE_RELEASE, idle)
            .unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            hasher.release();
            state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopping { None } else { state.jobs.pop_front() }
    }

    /// Waits for `time`, or until the thread must stop.
    fn rest(&self, time: Duration) {
        if time > Duration::ZERO {
            let waited = self.changed.wait_timeout_while(self.lock(), time, |state| !state.stopping);
            drop(waited);
        }
    }
}

impl HashJob {
    /// True if no caller waits for the answer any more.
    fn is_abandoned(&self) -> bool {
        match self {
            Self::Verify { reply, .. } => reply.is_closed(),
            Self::Hash { reply, .. } => reply.is_closed(),
        }
    }

    fn carry_out(self, hasher: &mut Hasher) {
        // A failed send means that the client left while we worked: then the answer is of no use.
        match self {
            Self::Verify { digest, stored, reply } => {
                let _ = reply.send(hasher.verify(&digest, &stored).map_err(Into::into));
            }
            Self::Hash { digest, reply } => {
                let mut salt = [0; 16];
                let _ = reply.send(match getrandom::fill(&mut salt) {
                    Ok(()) => Ok(hasher.hash(&digest, salt)),
                    Err(error) => Err(PasswordsError::Random(error.to_string())),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    const CHEAP: Cost = Cost { memory_kib: 64, passes: 1 };

    fn digest(password: &str) -> PasswordDigest {
        PasswordDigest::of_password(password).unwrap()
    }

    fn still_clock() -> Clock {
        Arc::new(|| Instant::ZERO)
    }

    /// A thread that stops before each job until the test lets it go on: it reads the clock there.
    fn gated() -> (Passwords, mpsc::Receiver<()>, mpsc::Sender<()>, Arc<AtomicUsize>) {
        let (reached, reports) = mpsc::channel();
        let (gate, permits) = mpsc::channel();
        let permits = Mutex::new(permits);
        let readings = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&readings);
        let clock: Clock = Arc::new(move || {
            // Even readings come before a job, odd ones after it.
            if counted.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
                let _ = reached.send(());
                let _ = permits.lock().unwrap().recv();
            }
            Instant::ZERO
        });
        (Passwords::start(CHEAP, LoadHint::default(), clock).unwrap(), reports, gate, readings)
    }

    #[tokio::test]
    async fn a_hashed_password_verifies() {
        let passwords = Passwords::start(CHEAP, LoadHint::default(), still_clock()).unwrap();
        let hash = passwords.hash(digest("secret")).await.unwrap();
        assert_eq!(passwords.verify(digest("secret"), hash.clone()).await, Ok(true));
        assert_eq!(passwords.verify(digest("wrong"), hash.clone()).await, Ok(false));
        assert_ne!(passwords.hash(digest("secret")).await.unwrap(), hash, "every hash has its own salt");
    }

    #[tokio::test]
    async fn a_damaged_hash_is_reported_and_the_thread_goes_on() {
        let passwords = Passwords::start(CHEAP, LoadHint::default(), still_clock()).unwrap();
        let damaged = passwords.verify(digest("secret"), PasswordHash("rubbish".into())).await;
        assert!(matches!(damaged, Err(PasswordsError::Damaged(_))), "{damaged:?}");
        assert!(passwords.hash(digest("secret")).await.is_ok());
    }

    #[test]
    fn a_full_queue_refuses_and_a_place_that_frees_is_given_again() {
        let (passwords, reports, gate, _) = gated();
        let submit = || {
            let (reply, answer) = oneshot::channel();
            passwords.shared.submit(HashJob::Hash { digest: digest("a"), reply }).map(|()| answer)
        };
        let mut answers = vec![submit().unwrap()];
        reports.recv().unwrap(); // The first has left the queue and waits at the gate.
        answers.extend((0..Passwords::QUEUE_MAX).map(|_| submit().unwrap()));
        assert_eq!(submit().map(drop), Err(PasswordsError::Full));
        gate.send(()).unwrap();
        reports.recv().unwrap(); // The second has left the queue.
        answers.push(submit().unwrap());
        drop(answers);
        drop(gate);
    }

    #[test]
    fn a_job_whose_client_has_gone_costs_nothing() {
        let (passwords, reports, gate, readings) = gated();
        let submit = || {
            let (reply, answer) = oneshot::channel();
            passwords.shared.submit(HashJob::Hash { digest: digest("a"), reply }).unwrap();
            answer
        };
        let first = submit();
        reports.recv().unwrap();
        drop(submit());
        let last = submit();
        drop(gate);
        assert!(first.blocking_recv().unwrap().is_ok());
        assert!(last.blocking_recv().unwrap().is_ok());
        drop(passwords);
        assert_eq!(readings.load(Ordering::SeqCst), 4, "two readings for each of two jobs");
    }

    #[test]
    fn stopping_answers_every_waiting_client() {
        let (passwords, reports, gate, _) = gated();
        let submit = || {
            let (reply, answer) = oneshot::channel();
            passwords.shared.submit(HashJob::Hash { digest: digest("a"), reply }).unwrap();
            answer
        };
        let (running, waiting) = (submit(), submit());
        reports.recv().unwrap();
        let stopper = std::thread::spawn(move || drop(passwords));
        // The gate opens only once the stop is under way or about to be; either way the second job may run or not, but every caller
        // gets an answer.
        drop(gate);
        stopper.join().unwrap();
        assert!(running.blocking_recv().unwrap().is_ok());
        assert!(matches!(waiting.blocking_recv(), Ok(Ok(_)) | Err(_)));
    }

    #[test]
    fn a_loaded_host_makes_the_thread_rest_and_stopping_wakes_it() {
        let load = LoadHint::default();
        load.set_per_mille(1000);
        let readings = AtomicUsize::new(0);
        // Each job seems to take an hour, so the rest would be more than two.
        let clock: Clock = Arc::new(move || {
            Instant::ZERO + Duration::from_secs(3600) * readings.fetch_add(1, Ordering::SeqCst) as u32
        });
        let passwords = Passwords::start(CHEAP, load, clock).unwrap();
        let submit = || {
            let (reply, answer) = oneshot::channel();
            passwords.shared.submit(HashJob::Hash { digest: digest("a"), reply }).unwrap();
            answer
        };
        assert!(submit().blocking_recv().unwrap().is_ok());
        let resting = submit();
        drop(passwords);
        assert!(resting.blocking_recv().is_err(), "the thread was resting and has not begun it");
    }
}
