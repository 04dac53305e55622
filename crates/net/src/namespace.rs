//! Network namespaces: interfaces, addresses and ports of one's own, for experiments.
//!
//! A [`Namespace`] has no name in the file system: it lives as long as a thread, process or descriptor is in it and is
//! removed by the kernel with the last one, however that ended. So nothing is left behind by a run that crashed.

use crate::tun::bring_loopback_up;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Work for the thread of a namespace.
type Job = Box<dyn FnOnce() + Send>;

/// A network namespace, and a thread inside of it. A new one has nothing in it but a loopback interface.
///
/// The thread stays until this is dropped, so processes that it starts may ask to die with their parent: the kernel
/// means the parent's thread by that (`PR_SET_PDEATHSIG`).
#[derive(Debug)]
pub struct Namespace {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Namespace {
    /// Makes a new namespace.
    ///
    /// # Errors
    /// Without the right to (CAP_SYS_ADMIN).
    pub fn create() -> io::Result<Self> {
        Self::inside(leave_for_a_new_one)
    }

    /// The namespace that a process is in.
    ///
    /// # Errors
    /// When there is no such process, or without the right to (CAP_SYS_ADMIN).
    pub fn of_process(pid: u32) -> io::Result<Self> {
        Self::inside(move || {
            let link = File::open(format!("/proc/{pid}/ns/net"))?;
            Ok(move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::Network))?)
        })
    }

    fn inside(enter: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (jobs, waiting) = channel::<Job>();
        let (outcome, came) = channel();
        let thread = std::thread::Builder::new().name("namespace".to_owned()).spawn(move || {
            let entered = enter();
            let is_inside = entered.is_ok();
            // The caller waits for it.
            let _ = outcome.send(entered);
            if is_inside {
                waiting.iter().for_each(|job| job());
            }
        })?;
        came.recv().map_err(io::Error::other)??;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs something inside and waits for it. Sockets and TUN devices that it opens belong to this namespace for good;
    /// processes and threads that it starts live in it.
    ///
    /// # Panics
    /// When `job` does.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, result) = channel();
        let job: Job = Box::new(move || {
            let _ = sender.send(job());
        });
        let jobs = self.jobs.as_ref().expect("there is a thread until this is dropped");
        jobs.send(job).expect("the thread ends with this");
        result.recv().expect("the job has panicked in its namespace")
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// Moves the calling thread, and no other, into a new namespace.
#[expect(unsafe_code, reason = "rustix marks all of unshare unsafe for the sake of CLONE_FILES")]
fn leave_for_a_new_one() -> io::Result<()> {
    // SAFETY: only CLONE_FILES can surprise others, by giving the thread descriptors of its own. NEWNET concerns which
    // interfaces sockets see that this thread opens later.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }?;
    bring_loopback_up()
}
