//! Memory shared between processes, and the kernel's counts of a thread: `unsafe` of the recorder, besides `ticks`.
//!
//! The memory is a file without a name (memfd). Another process opens it as `/proc/PID/fd/N`, also when this process has
//! stopped in a crash: the kernel keeps it as long as any process has it open or mapped. Its content is described in
//! `layout`.
#![expect(
    unsafe_code,
    reason = "mapping memory and asking the kernel for a thread's figures have no safe wrapper"
)]

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::slice;
use std::sync::atomic::AtomicU64;

/// A mapped file of atomic words. Unmapped when dropped.
pub(super) struct SharedMemory {
    start: NonNull<AtomicU64>,
    n_words: usize,
    /// Kept open, so that other processes find it under its number.
    file: OwnedFd,
}

// SAFETY: the memory belongs to no thread, and all access to it is through shared references to atomics.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Creates `n_words` zero words, readable and writable. A page takes no memory before it is touched.
    pub(super) fn create(n_words: usize) -> io::Result<Self> {
        let file = memfd_create("throng-recorder", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, (n_words * 8) as u64)?;
        // The seal prevents shrinking, so that no access can be beyond the end of the file and raise SIGBUS.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(file, n_words, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps the memory of another process for reading. Only loads with `Ordering::Relaxed` are allowed: only those are
    /// guaranteed to work on read-only memory.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] when the file is not sealed against shrinking, so it is no recorder's.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OwnedFd::from(File::open(path)?);
        let sealed = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if !sealed {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not the memory of a flight recorder"));
        }
        let n_words = usize::try_from(fstat(&file)?.st_size).unwrap_or(0) / 8;
        Self::map(file, n_words, ProtFlags::READ)
    }

    fn map(file: OwnedFd, n_words: usize, access: ProtFlags) -> io::Result<Self> {
        // SAFETY: the kernel chooses a free address, so no memory in use changes; `mmap` checks the result, which is only
        // used in this type.
        let start = unsafe { mmap(null_mut(), n_words * 8, access, MapFlags::SHARED, &file, 0)? };
        let start = NonNull::new(start.cast()).expect("the kernel maps nothing at 0 unless asked to");
        Ok(Self { start, n_words, file })
    }

    /// The underlying file.
    pub(super) const fn file(&self) -> &OwnedFd {
        &self.file
    }
}

impl Deref for SharedMemory {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `start` is the beginning of a mapping of at least `n_words` words, aligned to a page, which lives as long
        // as `self`; the file is sealed against shrinking, so all of it stays valid. All mappings of it are accessed as
        // atomics, and every bit pattern is a valid `AtomicU64`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.n_words) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        let start: *mut c_void = self.start.as_ptr().cast();
        // SAFETY: this is the mapping that `map` made, and references to it borrow `self`.
        // `munmap` fails only for addresses that were never mapped.
        let _ = unsafe { munmap(start, self.n_words * 8) };
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("n_words", &self.n_words).field("file", &self.file).finish()
    }
}

/// The kernel's counts of a thread besides its time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadUsage {
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

/// Counts of the calling thread; `None` if the kernel returns an error. A system call of a fraction of a microsecond;
/// reading files below /proc would take tens.
pub(super) fn thread_usage() -> Option<ThreadUsage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage`, exclusively owned, which the kernel may fill.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    if result != 0 {
        return None;
    }
    // SAFETY: it consists of integers and was zeroed before the kernel filled it in.
    let usage = unsafe { usage.assume_init() };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Some(ThreadUsage {
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;
    use std::path::PathBuf;
    use std::sync::atomic::Ordering;

    fn path_of(memory: &SharedMemory) -> PathBuf {
        format!("/proc/self/fd/{}", memory.file().as_raw_fd()).into()
    }

    #[test]
    fn one_mapping_reads_the_writes_of_another() {
        let ours = SharedMemory::create(1024).unwrap();
        let theirs = SharedMemory::open(&path_of(&ours)).unwrap();
        assert_eq!(theirs.len(), 1024);
        ours[1023].store(42, Ordering::Relaxed);
        assert_eq!(theirs[1023].load(Ordering::Relaxed), 42);
        drop(ours);
        assert_eq!(theirs[1023].load(Ordering::Relaxed), 42, "it lives as long as a process has it");
    }

    #[test]
    fn it_cannot_shrink_under_its_readers() {
        let memory = SharedMemory::create(1024).unwrap();
        assert!(ftruncate(memory.file(), 8).is_err());
    }

    #[test]
    fn a_file_that_could_shrink_is_refused() {
        let error = SharedMemory::open(Path::new("/proc/self/exe")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_thread_s_first_touch_of_memory_is_a_fault_that_the_kernel_counts() {
        let before = thread_usage().unwrap();
        let memory = SharedMemory::create(512 * 64).unwrap();
        memory.iter().step_by(512).for_each(|word| word.store(1, Ordering::Relaxed));
        assert!(thread_usage().unwrap().minor_faults > before.minor_faults);
    }
}
