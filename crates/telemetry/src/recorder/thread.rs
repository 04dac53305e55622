//! A recording thread: its slot in the recorder, and the kernel's figures of it.

use super::RecorderState;
use super::capture::SampleKind;
use super::memory::thread_usage;
use super::writer::{self, DueSample, ThreadSlot};
use crate::allocations;
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

thread_local! {
    static INSTALLED: RefCell<Option<Installed>> = const { RefCell::new(None) };
}

/// Handle with which a thread records under a name. Created anywhere, installed in the thread itself.
#[derive(Debug)]
#[must_use = "nothing is recorded before it is installed"]
pub struct ThreadRecorder {
    pub(super) shared: Option<&'static RecorderState>,
    pub(super) name: String,
}

impl ThreadRecorder {
    /// Records the calling thread until it ends, which releases its slot and blocks. Replaces a recorder that the thread had
    /// before. When [all slots](super::RecorderCounters::threads_refused) are taken, the thread records nothing.
    pub fn install(self) {
        // The old slot is released first: it may be the only free one.
        INSTALLED.with_borrow_mut(Option::take);
        // Allocations are counted also without a recorder.
        allocations::count_here(&self.name);
        let Some(shared) = self.shared else { return };
        let tid = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap_or(0);
        let Some(index) = shared.arena.claim(&self.name, tid) else { return };
        // Without these figures in the kernel the file is missing, and the samples are too.
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        writer::assign_slot(Some(ThreadSlot { shared, slot: shared.arena.slot(index), tid }));
        INSTALLED.set(Some(Installed { shared, index, schedstat }));
    }
}

/// Resources that a thread releases at its end.
struct Installed {
    shared: &'static RecorderState,
    index: usize,
    schedstat: Option<File>,
}

impl Drop for Installed {
    fn drop(&mut self) {
        writer::assign_slot(None);
        self.shared.arena.release(self.index);
    }
}

/// Ends a frame of the calling thread: call it once per turn, without open scopes, just before the thread waits for its next
/// work. Releases blocks whose events are all older than the horizon, and every 20 ms, or after an overrun, samples the
/// kernel's figures. No-op on a thread that does not record.
pub fn frame_end() {
    let Some(DueSample { now_ns, lock_wait_ns }) = writer::end_frame() else { return };
    sample(lock_wait_ns, |kind, value| writer::write_sample(now_ns, kind, value));
}

/// Reports the kernel's figures of the calling thread.
fn sample(lock_wait_ns: u64, mut report: impl FnMut(SampleKind, u64)) {
    INSTALLED.with_borrow(|installed| {
        let schedstat = installed.as_ref().and_then(|installed| installed.schedstat.as_ref());
        if let Some((run_ns, wait_ns)) = schedstat.and_then(read_schedstat) {
            report(SampleKind::RunNs, run_ns);
            report(SampleKind::WaitNs, wait_ns);
        }
    });
    if let Some(usage) = thread_usage() {
        report(SampleKind::MinorFaults, usage.minor_faults);
        report(SampleKind::MajorFaults, usage.major_faults);
        report(SampleKind::VoluntarySwitches, usage.voluntary_switches);
        report(SampleKind::InvoluntarySwitches, usage.involuntary_switches);
    }
    report(SampleKind::LockWaitNs, lock_wait_ns);
}

/// Nanoseconds on a core and in its run queue: the first two of the file's three numbers.
fn read_schedstat(file: &File) -> Option<(u64, u64)> {
    let mut bytes = [0; 96];
    let n = file.read_at(&mut bytes, 0).ok()?;
    let mut numbers = str::from_utf8(&bytes[..n]).ok()?.split_ascii_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
