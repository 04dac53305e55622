//! A few connections to a PostgreSQL server, which blocking callers borrow, and the handling of broken ones.
//!
//! - A caller waits at most [`Patience::call`] for a connection, reconnecting to a server that restarts included, then
//!   [`Patience::statement`] for each answer, and once more [`Patience::call`] to find the outcome of a commit whose answer was lost.
//! - Connections are made when they are needed, at most [`CONNECTIONS_MAX`], and kept. A broken one is dropped; the next caller makes
//!   another.
//! - Work that failed because the connection broke, or because two transactions stood in each other's way, is done again from its
//!   beginning, unless its COMMIT may have been carried out: that is found out first.

#[cfg(test)]
mod tests;

use super::connection::{CommitOutcome, Connection, TransactionMark, wait};
use super::{EngineError, Session, members};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use telemetry::{LockHold, LockWait};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use tokio_postgres::Config;

/// Connections of one pool. A store's statements take about a millisecond, and the server's threads that use it are few.
pub(crate) const CONNECTIONS_MAX: usize = 4;
/// Longest time to make one connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Pauses between attempts, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Deadlines of callers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For one call with all its attempts.
    pub(crate) call: Duration,
    /// For the answer to one statement.
    pub(crate) statement: Duration,
}

impl Patience {
    /// A server restarts within seconds; a client that logs in waits not much longer.
    pub(crate) const SERVING: Self =
        Self { call: Duration::from_secs(10), statement: Duration::from_secs(6) };
    /// An operator's command that reads or changes whole tables.
    pub(crate) const MAINTENANCE: Self =
        Self { call: Duration::from_secs(30), statement: Duration::from_secs(3_600) };
}

#[derive(Debug)]
pub(crate) struct Pool {
    config: Config,
    /// Carries the bytes of all connections, on a thread of its own. Always there until the pool is dropped.
    runtime: Option<Runtime>,
    patience: Patience,
    /// Id of the session that has the claim of this server; 0 without a claim. Shared by its pools.
    claim: Arc<AtomicI32>,
    state: Mutex<Connections>,
    freed: Condvar,
    lock_wait: LockWait,
}

#[derive(Debug, Default)]
struct Connections {
    idle: Vec<Connection>,
    /// Idle, borrowed, or being made.
    n: usize,
}

impl Pool {
    /// A pool without any connection yet.
    pub(crate) fn new(mut config: Config, patience: Patience) -> Result<Self, EngineError> {
        config.connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(patience.call);
        if config.get_application_name().is_none() {
            config.application_name("throng");
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("postgres")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|why| EngineError::unfit(format!("cannot start the postgres thread: {why}")))?;
        Ok(Self {
            config,
            runtime: Some(runtime),
            patience,
            claim: Arc::default(),
            state: Mutex::default(),
            freed: Condvar::new(),
            lock_wait: LockWait::default(),
        })
    }

    pub(crate) fn set_lock_wait(&mut self, lock_wait: LockWait) {
        self.lock_wait = lock_wait;
    }

    /// Connections are members of the claim of that pool from now on.
    pub(crate) fn share_claim(&mut self, other: &Self) {
        self.claim = Arc::clone(&other.claim);
    }

    /// New connections are members of the claim of the session with this id.
    pub(super) fn set_claim(&self, id: i32) {
        self.claim.store(id, Ordering::Release);
    }

    pub(super) fn read<T>(
        &self,
        mut work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut attempts = Attempts::new(self);
        loop {
            let result = self.borrow(attempts.end);
            match result.and_then(|mut one| work(&mut Session::Postgres(one.connection()))) {
                Err(why) if why.is_passing() && attempts.pause() => {}
                result => return result,
            }
        }
    }

    pub(super) fn write<T>(
        &self,
        mut work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut attempts = Attempts::new(self);
        loop {
            match self
                .borrow(attempts.end)
                .map_err(CommitFailure::Without)
                .and_then(|mut one| transact(&mut one, &mut work))
            {
                Ok(result) => return Ok(result),
                Err(CommitFailure::Without(why)) if why.is_passing() && attempts.pause() => {}
                Err(CommitFailure::Without(why)) => return Err(why),
                Err(CommitFailure::Unknown { result, mark, why }) => match self.resolve(&mark) {
                    Ok(CommitOutcome::Committed) => return Ok(result),
                    Ok(CommitOutcome::Fenced) if attempts.pause() => {}
                    Ok(CommitOutcome::Fenced) => return Err(why),
                    Err(why) => return Err(why.commit_unknown()),
                },
            }
        }
    }

    pub(super) fn probe(&self, sql: &str) -> Result<(), EngineError> {
        let mut attempts = Attempts::new(self);
        loop {
            let probed = self.borrow(attempts.end).and_then(|mut one| {
                let connection = one.connection();
                connection.begin()?;
                let written = connection.batch(sql);
                connection.roll_back();
                written
            });
            match probed {
                Err(why) if why.is_passing() && attempts.pause() => {}
                probed => return probed,
            }
        }
    }

    /// A connection beside the pool, known to the server by this name.
    pub(super) fn connect_apart(&self, name: &str) -> Result<Connection, EngineError> {
        let mut config = self.config.clone();
        config.application_name(name);
        Connection::open(&config, self.runtime().handle(), CONNECT_TIMEOUT, self.patience.statement)
    }

    pub(super) fn snapshot<T, E: From<EngineError>>(
        &self,
        work: impl FnOnce(&mut Session<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut one = self.borrow(Instant::now() + self.patience.call)?;
        one.connection().begin_snapshot()?;
        let result = work(&mut Session::Postgres(one.connection()));
        one.connection().roll_back();
        result
    }

    pub(super) fn read_view<T>(
        &self,
        mut work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut attempts = Attempts::new(self);
        loop {
            let read = self.borrow(attempts.end).and_then(|mut one| {
                let connection = one.connection();
                connection.begin_snapshot()?;
                let result = work(&mut Session::Postgres(connection));
                connection.roll_back();
                result
            });
            match read {
                Err(why) if why.is_passing() && attempts.pause() => {}
                read => return read,
            }
        }
    }

    /// Has the time of a call to itself: the server may have been silent for that of the write.
    fn resolve(&self, mark: &TransactionMark) -> Result<CommitOutcome, EngineError> {
        let mut attempts = Attempts::new(self);
        loop {
            let outcome = self.borrow(attempts.end).and_then(|mut one| one.connection().resolve(mark));
            match outcome {
                // Also while the former transaction holds the mark's key.
                Err(_) if attempts.pause() => {}
                outcome => return outcome,
            }
        }
    }

    fn borrow(&self, end: Instant) -> Result<Borrowed<'_>, EngineError> {
        LockHold::assert_none("the store's connection");
        let mut state = self.lock();
        let waiting_since = (state.idle.is_empty() && state.n >= CONNECTIONS_MAX).then(Instant::now);
        loop {
            while let Some(connection) = state.idle.pop() {
                if !connection.is_broken() {
                    drop(state);
                    if let Some(since) = waiting_since {
                        self.lock_wait.record_wait(since.elapsed());
                    }
                    return Ok(Borrowed { pool: self, connection: Some(connection) });
                }
                state.n -= 1;
            }
            let left = end.saturating_duration_since(Instant::now());
            if state.n < CONNECTIONS_MAX {
                state.n += 1;
                drop(state);
                // Gives the place back when there is no connection.
                let mut place = Borrowed { pool: self, connection: None };
                let patience = left.min(CONNECT_TIMEOUT);
                let limit = self.patience.statement;
                let mut connection =
                    Connection::open(&self.config, self.runtime().handle(), patience, limit)?;
                match self.claim.load(Ordering::Acquire) {
                    0 => {}
                    id => members::join(&mut connection, id)?,
                }
                place.connection = Some(connection);
                return Ok(place);
            }
            if left.is_zero() {
                return Err(EngineError::busy(self.patience.call));
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("only dropping the pool takes it")
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Nothing is under way. Waiting for the thread would be forbidden on one of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Reasons for which a transaction was not seen to commit.
enum CommitFailure<T> {
    /// It had no effect.
    Without(EngineError),
    /// The answer to COMMIT was lost.
    Unknown { result: T, mark: TransactionMark, why: EngineError },
}

fn transact<T>(
    one: &mut Borrowed<'_>,
    work: &mut impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
) -> Result<T, CommitFailure<T>> {
    let connection = one.connection();
    connection.begin().map_err(CommitFailure::Without)?;
    let result = match work(&mut Session::Postgres(connection)) {
        Ok(result) => result,
        Err(why) => {
            connection.roll_back();
            return Err(CommitFailure::Without(why));
        }
    };
    match connection.commit() {
        Ok(()) => Ok(result),
        Err(why) if why.is_broken() => {
            let mark = connection.mark();
            Err(CommitFailure::Unknown { result, mark, why })
        }
        Err(why) => {
            connection.roll_back();
            Err(CommitFailure::Without(why))
        }
    }
}

/// A connection that returns to its pool when this is dropped, unless it is broken.
struct Borrowed<'a> {
    pool: &'a Pool,
    /// None while it is being made, and when that has failed.
    connection: Option<Connection>,
}

impl Borrowed<'_> {
    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("it was made before it was handed out")
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        // A panic may have left it within a transaction.
        let whole = self.connection.take().filter(|one| !one.is_broken() && !std::thread::panicking());
        let mut state = self.pool.lock();
        match whole {
            Some(connection) => state.idle.push(connection),
            None => state.n -= 1,
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}

/// The time that a caller has.
pub(super) struct Attempts<'a> {
    pool: &'a Pool,
    end: Instant,
    next_pause: Duration,
}

impl<'a> Attempts<'a> {
    fn new(pool: &'a Pool) -> Self {
        Self::until(pool, Instant::now() + pool.patience.call)
    }

    pub(super) const fn until(pool: &'a Pool, end: Instant) -> Self {
        Self { pool, end, next_pause: FIRST_PAUSE }
    }

    /// Waits before the next attempt. False when there is no time for one.
    pub(super) fn pause(&mut self) -> bool {
        if Instant::now() + self.next_pause >= self.end {
            return false;
        }
        let pause = async {
            tokio::time::sleep(self.next_pause).await;
            Ok(())
        };
        let _ = wait(self.pool.runtime().handle(), PAUSE_MAX * 2, pause);
        self.next_pause = (self.next_pause * 2).min(PAUSE_MAX);
        true
    }
}
