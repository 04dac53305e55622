//! Work longer than a frame: creation of worlds, grounds and navmeshes, and the drop of former worlds.
//!
//! It runs on the pool's `long-N` threads ([`schedule::long`]). [`run`] waits for the result, and so belongs on a thread that may
//! block.

use crossbeam_channel::{RecvTimeoutError, bounded};
use schedule::long::{Long, LongContext, LongOutcome, LongRefusal, LongTasks};
use std::time::Duration;
use thiserror::Error;

/// Kinds of tasks: the label of metrics. Tasks of one kind run in order.
pub const MAKE_WORLD: &str = "world";
/// Restoration of a suspended instance. See [`MAKE_WORLD`].
pub const RESUME: &str = "resume";
/// A region's picture on the map. See [`MAKE_WORLD`].
pub const DRAW_MAP: &str = "map";
/// A solid of an asset. See [`MAKE_WORLD`].
pub const DECODE_SOLID: &str = "solid";
/// See [`MAKE_WORLD`].
pub const BUILD_TEMPLATE: &str = "template";

/// Period at which a waiting caller checks for the server's stop: a hanging task must not delay that.
const LOOK: Duration = Duration::from_millis(500);

/// Reasons for which there is no result.
#[derive(Debug, Error)]
pub enum LongFailure {
    /// It was not taken.
    #[error(transparent)]
    Refused(#[from] LongRefusal),
    /// It panicked, and said this.
    #[error("It failed: {0}.")]
    Panicked(String),
    /// An operator took it out, or gave it up.
    #[error("An operator has ended it.")]
    Ended,
    /// The pool ended before it did.
    #[error("The server is about to stop.")]
    Stopping,
}

/// Runs work as a long task, and waits for its result. A result after the task was abandoned is dropped on its thread.
///
/// Not to be called by a long task: with each thread waiting for another one, none would continue.
///
/// # Errors
/// [`LongFailure`].
pub fn run<R: Send + 'static>(
    tasks: &LongTasks,
    (kind, name, estimated): (&'static str, String, Duration),
    work: impl FnOnce(&LongContext) -> R + Send + 'static,
) -> Result<R, LongFailure> {
    let (sender, result) = bounded(1);
    let send = move |context: &LongContext| {
        // Fails only if the caller has stopped waiting.
        let _ = sender.send(work(context));
    };
    let ticket = tasks.submit(Long { kind, name, estimated, work: Box::new(send) })?;
    loop {
        return match ticket.outcome().recv_timeout(LOOK) {
            Ok(LongOutcome::Done) => result.recv().map_err(|_| LongFailure::Stopping),
            Ok(LongOutcome::Panicked(message)) => Err(LongFailure::Panicked(message)),
            Ok(LongOutcome::Cancelled | LongOutcome::Abandoned) if !tasks.is_stopping() => {
                Err(LongFailure::Ended)
            }
            Err(RecvTimeoutError::Timeout) if !tasks.is_stopping() => continue,
            _ => Err(LongFailure::Stopping),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Instant;
    use schedule::Pool;

    fn pool() -> Pool {
        Pool::start(1, || Instant::ZERO).expect("threads")
    }

    fn spec() -> (&'static str, String, Duration) {
        (MAKE_WORLD, "Cave".into(), Duration::from_millis(1))
    }

    #[test]
    fn the_result_comes_back_or_why_there_is_none() {
        let pool = pool();
        let tasks = pool.long();
        assert_eq!(run(&tasks, spec(), |_| 7).expect("it ran"), 7);
        let failure = run(&tasks, spec(), |_| -> u32 { panic!("no room") }).expect_err("it panicked");
        assert!(matches!(&failure, LongFailure::Panicked(message) if message == "no room"), "{failure}");
        drop(pool);
        let failure = run(&tasks, spec(), |_| 7).expect_err("there is no pool");
        assert!(matches!(failure, LongFailure::Refused(LongRefusal::Stopping { .. })), "{failure}");
    }

    #[test]
    fn a_waiting_caller_gets_an_error_when_an_operator_ends_its_task() {
        let pool = pool();
        let tasks = pool.long();
        let (began, begins) = bounded(1);
        let (end, ends) = bounded::<()>(0);
        let other = tasks.clone();
        std::thread::scope(|scope| {
            let waits = scope.spawn(move || {
                run(&other, spec(), move |context| {
                    began.send(context.id()).expect("the test waits");
                    let _ = ends.recv();
                })
            });
            let id = begins.recv().expect("it begins");
            tasks.abandon(id).expect("it runs");
            let failure = waits.join().expect("no panic").expect_err("it was given up");
            assert!(matches!(failure, LongFailure::Ended), "{failure}");
        });
        drop(end);
    }
}
