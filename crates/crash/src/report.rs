//! A dump as people want it: why, where, what each thread was doing, the crashed one first, and what the last seconds went
//! into.

mod text;

use crate::note::Note;
use crate::recording;
use crate::symbols::Symbols;
use crate::unwind::{Callers, Image, images};
use addr2line::Loader;
use minidump::{
    Minidump, MinidumpException, MinidumpLinuxMaps, MinidumpModuleList, MinidumpSystemInfo,
    MinidumpThreadList, MinidumpThreadNames,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use telemetry::captures::Summary;

/// Frames told of a thread: the innermost ones, and the outermost ones when there are more.
const INNERMOST: usize = 48;
const OUTERMOST: usize = 64;
/// `si_code` of a fault that has no address, such as that of a general protection (sigaction(2)).
const SI_KERNEL: i32 = 0x80;
/// How far below the stack pointer an overflowing function may have reached. With probes it is a page at a time.
const STACK_REACH: u64 = 1 << 20;

/// A dump, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The monitor's note, unless somebody else wrote the dump.
    pub note: Option<Note>,
    /// The signal with its code, such as `SIGSEGV / SEGV_MAPERR`.
    pub signal: String,
    /// What the processor could not reach, for a fault.
    pub address: Option<u64>,
    /// Whether the crashed thread ran out of stack.
    pub stack_overflow: bool,
    /// Of the executable.
    pub build_id: Option<String>,
    /// Where functions and lines come from.
    pub symbols: Option<PathBuf>,
    /// The crashed thread first, then in order of their ids.
    pub threads: Vec<Thread>,
    /// What the last seconds went into, when the flight recorder ran and that lies beside the dump.
    pub costs: Option<Summary>,
}

/// A thread at the moment of the crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The kernel's id.
    pub tid: u32,
    /// Its name, cut to 15 bytes by the kernel.
    pub name: String,
    /// Whether it is the one that crashed.
    pub crashed: bool,
    /// What it was in the middle of, as the flight recorder knows it.
    pub doing: Option<String>,
    /// From the innermost function outwards.
    pub frames: Vec<Frame>,
    /// Frames left out after the first [`frames`](Self::frames), and where they would be.
    pub left_out: Option<(usize, usize)>,
}

/// A function that a thread was in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Of the instruction.
    pub address: u64,
    /// Its name, without the compiler's hash.
    pub function: Option<String>,
    /// File and line.
    pub place: Option<String>,
    /// The executable or library.
    pub module: String,
}

/// The dump cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path} as a minidump")]
pub struct ReportError {
    path: PathBuf,
    #[source]
    source: minidump::Error,
}

/// Explains a dump.
///
/// # Errors
/// When the file is not there or no minidump of a crash.
pub fn read(path: &Path, symbols: &Symbols) -> Result<Report, ReportError> {
    explain(path, symbols).map_err(|source| ReportError { path: path.into(), source })
}

fn explain(path: &Path, symbols: &Symbols) -> Result<Report, minidump::Error> {
    let dump = Minidump::read_path(path)?;
    let system = dump.get_stream::<MinidumpSystemInfo>()?;
    let threads = dump.get_stream::<MinidumpThreadList<'_>>()?;
    let exception = dump.get_stream::<MinidumpException<'_>>()?;
    let modules = dump.get_stream::<MinidumpModuleList>()?;
    // A dump without them is poorer and still of use.
    let names = dump.get_stream::<MinidumpThreadNames>().unwrap_or_default();
    let maps = dump.get_stream::<MinidumpLinuxMaps<'_>>().unwrap_or_default();
    let memory = dump.get_memory().unwrap_or_default();
    let images = images(&modules, symbols);
    let callers = Callers::new(&images);
    let mut lines = Lines::new(&images);

    let crashed = exception.get_crashing_thread_id();
    let record = &exception.raw.exception_record;
    // Codes of processes are not positive, and the kernel gives no address where there is none to give.
    let code = record.exception_flags as i32;
    let is_fault = code > 0 && code != SI_KERNEL;
    let address = is_fault.then_some(record.exception_address);
    let note = Note::of(&dump);
    let mut told: Vec<Thread> = threads
        .threads
        .iter()
        .map(|thread| {
            let tid = thread.raw.thread_id;
            let context = if tid == crashed { exception.context(&system, None) } else { None }
                .or_else(|| thread.context(&system, None));
            let stack = thread.stack_memory(&memory);
            let addresses = context.map_or_else(Vec::new, |context| callers.of(&context, stack));
            let (frames, left_out) = lines.frames(&addresses);
            let name = if note.as_ref().is_some_and(|note| note.pid == tid) {
                // The system calls it by the file of the executable.
                "main".to_owned()
            } else {
                names.get_name(tid).map_or_else(|| "unnamed".to_owned(), |name| name.into_owned())
            };
            let doing = note.as_ref().and_then(|note| note.doing.get(&tid).cloned());
            let mut thread = Thread { tid, name, crashed: tid == crashed, doing, frames, left_out };
            thread.leave_runtime_out();
            thread
        })
        .collect();
    told.sort_by_key(|thread| (!thread.crashed, thread.tid));
    if note.as_ref().is_some_and(|note| note.panic.is_some())
        && let Some(thread) = told.first_mut()
    {
        thread.leave_panicking_out();
    }
    let stack_pointer = exception.context(&system, None).map(|context| context.get_stack_pointer());
    Ok(Report {
        note,
        signal: exception.get_crash_reason(system.os, system.cpu).to_string(),
        address,
        stack_overflow: address
            .zip(stack_pointer)
            .is_some_and(|(address, stack_pointer)| overflowed(address, stack_pointer, &maps)),
        build_id: images.first().and_then(|image| image.build_id.clone()),
        symbols: images.first().and_then(|image| image.file.as_deref()).map(resolved),
        threads: told,
        costs: recording::read_costs(path),
    })
}

/// Whether a fault is a stack that is full: near the stack pointer, not writable, and below something that is.
fn overflowed(address: u64, stack_pointer: u64, maps: &MinidumpLinuxMaps<'_>) -> bool {
    let writable = |address| maps.memory_info_at_address(address).is_some_and(|map| map.is_writable());
    address.abs_diff(stack_pointer) < STACK_REACH
        && !writable(address)
        && maps.iter().any(|map| {
            map.is_writable()
                && map
                    .memory_range()
                    .is_some_and(|range| range.start > address && range.start - address <= STACK_REACH)
        })
}

impl Thread {
    /// What starts a thread is the same for all; the mark is the one of `std`'s own backtraces.
    fn leave_runtime_out(&mut self) {
        let mark = |frame: &Frame| {
            frame.function.as_deref().is_some_and(|name| name.contains("__rust_begin_short_backtrace"))
        };
        if let Some(at) = self.frames.iter().position(mark) {
            self.frames.truncate(at);
        }
    }

    /// The hook, the runtime's functions and ours are what a panic always looks like: what is of interest called them.
    fn leave_panicking_out(&mut self) {
        let of_panics = |frame: &Frame| {
            frame.function.as_deref().is_some_and(|name| {
                [
                    "core::panicking::",
                    "std::panicking::",
                    "core::option::",
                    "core::result::",
                    "__rustc::rust_begin_unwind",
                ]
                .iter()
                .any(|prefix| name.starts_with(prefix))
            })
        };
        let last = self.frames.iter().take(INNERMOST / 2).rposition(of_panics);
        if let Some(last) = last {
            self.frames.drain(..=last);
            self.left_out = self.left_out.map(|(at, n)| (at.saturating_sub(last + 1), n));
        }
    }
}

/// Functions and lines of all modules, read when first needed.
struct Lines<'a> {
    images: &'a [Image],
    loaders: BTreeMap<usize, Option<Loader>>,
}

impl<'a> Lines<'a> {
    fn new(images: &'a [Image]) -> Self {
        Self { images, loaders: BTreeMap::new() }
    }

    /// The frames of one thread, and how many are left out where.
    fn frames(&mut self, addresses: &[u64]) -> (Vec<Frame>, Option<(usize, usize)>) {
        let mut frames = Vec::new();
        if addresses.len() <= INNERMOST + OUTERMOST {
            addresses.iter().for_each(|&address| self.push(address, &mut frames));
            return (frames, None);
        }
        let (inner, rest) = addresses.split_at(INNERMOST);
        let (left_out, outer) = rest.split_at(rest.len() - OUTERMOST);
        inner.iter().for_each(|&address| self.push(address, &mut frames));
        let at = frames.len();
        outer.iter().for_each(|&address| self.push(address, &mut frames));
        (frames, Some((at, left_out.len())))
    }

    /// One address may be in several functions: those inlined into another come first.
    fn push(&mut self, address: u64, frames: &mut Vec<Frame>) {
        let Some(index) = self.images.iter().position(|image| (image.base..image.end).contains(&address))
        else {
            frames.push(Frame { address, function: None, place: None, module: "no module".into() });
            return;
        };
        let image = &self.images[index];
        let module =
            Path::new(&image.path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
        let load = || Loader::new(image.file.as_ref()?).ok();
        let loader = self.loaders.entry(index).or_insert_with(load).as_ref();
        let relative = address - image.base;
        let before = frames.len();
        if let Some(loader) = loader
            && let Ok(mut found) = loader.find_frames(relative)
        {
            while let Ok(Some(frame)) = found.next() {
                let function = frame.function.and_then(|name| Some(bare(&demangled(&name.raw_name().ok()?))));
                let place = frame.location.and_then(|at| Some(format!("{}:{}", short(at.file?), at.line?)));
                if function.is_some() || place.is_some() {
                    frames.push(Frame { address, function, place, module: module.clone() });
                }
            }
        }
        let symbol = loader.and_then(|loader| loader.find_symbol(relative)).map(demangled);
        match frames[before..].last_mut() {
            None => frames.push(Frame { address, function: symbol, place: None, module }),
            // Line tables name functions without their path; that of the one which is really called is in the symbol table.
            Some(last) => last.function = symbol.or_else(|| last.function.take()),
        }
    }
}

/// The path behind our own executable.
fn resolved(path: &Path) -> PathBuf {
    std::fs::read_link(path).unwrap_or_else(|_| path.to_owned())
}

/// A name without the hash that the compiler adds.
fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// A name without the types that it is generic over, which may fill a screen.
fn bare(name: &str) -> String {
    let end = if name.starts_with('<') { None } else { name.find('<') };
    name[..end.unwrap_or(name.len())].to_owned()
}

/// A path without what is the same for all files of its kind: the checkout, the registry, the compiler's own sources.
fn short(path: &str) -> String {
    let after = |mark: &str| path.rfind(mark).map(|at| at + mark.len());
    if let Some(at) = after("/registry/src/") {
        // One more component names the registry.
        return path[at..].split_once('/').map_or(&path[at..], |(_, rest)| rest).to_owned();
    }
    let kept = path.rfind("/crates/").map(|at| at + 1).or_else(|| path.rfind("/library/").map(|at| at + 1));
    kept.map_or(path, |at| &path[at..]).to_owned()
}

#[cfg(test)]
mod tests;
