//! One connection to a PostgreSQL server: bounded waits, prepared statements, and commits whose outcome can be determined.
//!
//! A commit whose reply is lost has an open outcome. So each transaction inserts a *mark* of its own, a connection's id and a number,
//! into `commit_marks` together with its COMMIT. After a lost reply another connection inserts the same mark as a *fence*: the unique
//! key makes it wait for the former transaction while that runs, then shows that it was committed (the mark is present) or ensures that
//! it never will be (the fence is present, and the mark cannot be inserted any more). This holds after a crash of the server and on a
//! promoted replica too, where the transaction's number (`pg_xact_status`) may belong to another one.

use super::{EngineError, Value};
use std::collections::HashMap;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, SimpleQueryMessage, Statement};

/// Wait of a transaction for another one's lock, as long as SQLite waits for another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// A server drops transactions of a client that went silent.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(60);
/// Oldest version that is supported, as the server numbers it.
const VERSION_MIN: u32 = 150_000;

/// A mark of a transaction.
#[derive(Clone, Debug)]
pub(super) struct TransactionMark {
    /// A random id from the server.
    writer: String,
    number: u64,
}

/// Outcome of a commit with a lost reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitOutcome {
    Committed,
    /// It has had no effect, and never will have.
    Fenced,
}

/// A connection and its prepared statements.
pub(crate) struct Connection {
    client: Client,
    runtime: Handle,
    statements: HashMap<&'static str, Statement>,
    mark: TransactionMark,
    limit: Duration,
    is_broken: bool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("mark", &self.mark).finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects within `patience`; later statements get `limit` each.
    pub(super) fn open(
        config: &Config,
        runtime: &Handle,
        patience: Duration,
        limit: Duration,
    ) -> Result<Self, EngineError> {
        let connect = async {
            let (client, connection) = config.connect(NoTls).await?;
            // Its error is returned to the users of the client.
            runtime.spawn(async move { drop(connection.await) });
            let facts = client.simple_query(&settings(limit)).await?;
            Ok((client, facts))
        };
        let (client, facts) = wait(runtime, patience, connect)?;
        let fact = |at: usize| {
            let mut rows = facts.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
            rows.next_back().and_then(|row| row.get(at)).unwrap_or_default().to_owned()
        };
        let (writer, version, encoding) = (fact(0), fact(1), fact(2));
        if version.parse().is_ok_and(|version: u32| version < VERSION_MIN) {
            let why =
                format!("PostgreSQL {} or newer is needed, and this is {}", VERSION_MIN / 10_000, fact(3));
            return Err(EngineError::unfit(why));
        }
        if encoding != "UTF8" {
            let why = format!("the database's encoding is {encoding} and has to be UTF8");
            return Err(EngineError::unfit(why));
        }
        let mark = TransactionMark { writer, number: 0 };
        Ok(Self {
            client,
            runtime: runtime.clone(),
            statements: HashMap::new(),
            mark,
            limit,
            is_broken: false,
        })
    }

    /// True if it is of no further use.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken || self.client.is_closed()
    }

    pub(super) fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<usize, EngineError> {
        let statement = self.statement(sql)?;
        let changed = wait(&self.runtime, self.limit, self.client.execute_raw(&statement, values));
        self.noting(changed).map(|n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// Carries out a statement whose parameters are arrays, all of one length.
    pub(super) fn execute_columns(
        &mut self,
        sql: &'static str,
        columns: &[Vec<Value<'_>>],
    ) -> Result<(), EngineError> {
        let statement = self.statement(sql)?;
        let changed = wait(&self.runtime, self.limit, self.client.execute_raw(&statement, columns));
        self.noting(changed).map(drop)
    }

    pub(super) fn query(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, EngineError> {
        let statement = self.statement(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let rows = wait(&self.runtime, self.limit, self.client.query(&statement, &values));
        self.noting(rows)
    }

    pub(super) fn batch(&mut self, sql: &str) -> Result<(), EngineError> {
        let done = wait(&self.runtime, self.limit, self.client.batch_execute(sql));
        self.noting(done)
    }

    pub(super) fn begin(&mut self) -> Result<(), EngineError> {
        self.batch("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    }

    pub(super) fn begin_snapshot(&mut self) -> Result<(), EngineError> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// Rolls back a failed transaction. If that fails the connection is closed, with the same effect.
    pub(super) fn roll_back(&mut self) {
        if !self.is_broken() && self.batch("ROLLBACK").is_err() {
            self.is_broken = true;
        }
    }

    /// Commits. The outcome is open when the error is [broken](EngineError::is_broken); then [`resolve`](Self::resolve) on another
    /// connection finds it out with [`mark`](Self::mark).
    pub(super) fn commit(&mut self) -> Result<(), EngineError> {
        let before = self.mark.number;
        self.mark.number += 1;
        let TransactionMark { writer, number } = &self.mark;
        // One journey. The former mark has served its purpose, since its answer came: one row per connection stays.
        let sql = format!(
            "DELETE FROM commit_marks WHERE writer = '{writer}' AND number = {before}; \
             INSERT INTO commit_marks (writer, number) VALUES ('{writer}', {number}); COMMIT"
        );
        self.batch(&sql)
    }

    /// Mark of the last commit.
    pub(super) fn mark(&self) -> TransactionMark {
        self.mark.clone()
    }

    /// Outcome of another connection's last commit. Waits for it while it runs.
    pub(super) fn resolve(&mut self, mark: &TransactionMark) -> Result<CommitOutcome, EngineError> {
        let TransactionMark { writer, number } = mark;
        self.batch(&format!(
            "INSERT INTO commit_marks (writer, number, is_fence) VALUES ('{writer}', {number}, 1) ON CONFLICT DO NOTHING"
        ))?;
        let select = "SELECT is_fence FROM commit_marks WHERE writer = $1 AND number = $2";
        let number = Value::Integer(number.cast_signed());
        let rows = self.query(select, &[Value::Text(writer), number])?;
        let row = rows.first().ok_or_else(|| EngineError::unfit("a mark in commit_marks was removed"))?;
        Ok(if row.try_get::<_, i64>(0)? == 0 { CommitOutcome::Committed } else { CommitOutcome::Fenced })
    }

    fn statement(&mut self, sql: &'static str) -> Result<Statement, EngineError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let prepared = wait(&self.runtime, self.limit, self.client.prepare(sql));
        let statement = self.noting(prepared)?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    fn noting<T>(&mut self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        self.is_broken |= result.as_ref().is_err_and(EngineError::is_broken);
        result
    }
}

/// Waits on the calling thread. The engine's own thread carries the bytes, so this may be called from anywhere, threads of another
/// runtime included.
pub(super) fn wait<T>(
    runtime: &Handle,
    limit: Duration,
    future: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, EngineError> {
    let _context = runtime.enter();
    let answered = pollster::block_on(async { tokio::time::timeout(limit, future).await });
    answered.map_or_else(|_| Err(EngineError::silence(limit)), |answer| answer.map_err(EngineError::from))
}

/// Settings of a session, and facts about it in the last row. A server that is configured to acknowledge commits before they are on the disk
/// (`synchronous_commit = off`) does not do so here; stricter settings stay.
fn settings(limit: Duration) -> String {
    format!(
        "SET statement_timeout = {}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}; \
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'; \
         SELECT gen_random_uuid(), current_setting('server_version_num'), current_setting('server_encoding'), \
         current_setting('server_version')",
        limit.as_millis(),
        LOCK_TIMEOUT.as_millis(),
        IDLE_IN_TRANSACTION.as_millis(),
    )
}
