//! A dump, explained: cause, place, functions and open scopes of each thread with the crashed one first, and the costs of
//! the last seconds.

mod text;

use crate::note::CrashNote;
use crate::recording;
use crate::symbols::Symbols;
use crate::unwind::{Callers, LoadedModule, images};
use addr2line::Loader;
use minidump::{
    Minidump, MinidumpException, MinidumpLinuxMaps, MinidumpModuleList, MinidumpSystemInfo,
    MinidumpThreadList, MinidumpThreadNames,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use telemetry::captures::CaptureSummary;

/// Frames reported of one thread: the innermost ones, and in a longer stack also the outermost ones.
const INNERMOST: usize = 48;
const OUTERMOST: usize = 64;
/// `si_code` of a fault without an address, such as a general protection fault (sigaction(2)).
const SI_KERNEL: i32 = 0x80;
/// Maximum distance between the stack pointer and the fault of an overflow. Stack probes touch one page at a time.
const STACK_REACH: u64 = 1 << 20;

/// A dump, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct CrashReport {
    /// The monitor's note; `None` if another program wrote the dump.
    pub note: Option<CrashNote>,
    /// The signal with its code, such as `SIGSEGV / SEGV_MAPERR`.
    pub signal: String,
    /// Address that a fault could not access.
    pub address: Option<u64>,
    /// True if the crashed thread overflowed its stack.
    pub stack_overflow: bool,
    /// Build id of the executable.
    pub build_id: Option<String>,
    /// File that functions and lines were read from.
    pub symbols: Option<PathBuf>,
    /// The crashed thread first, then the others by id.
    pub threads: Vec<ReportedThread>,
    /// Costs of the last seconds, if the flight recorder ran and they lie beside the dump.
    pub costs: Option<CaptureSummary>,
}

/// A thread at the moment of the crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedThread {
    /// The kernel's id.
    pub tid: u32,
    /// Its name, cut to 15 bytes by the kernel.
    pub name: String,
    /// True for the thread that crashed.
    pub crashed: bool,
    /// Its open scopes in the flight recorder.
    pub doing: Option<String>,
    /// From the innermost function outwards.
    pub frames: Vec<StackFrame>,
    /// Index in [`frames`](Self::frames) of a gap, and the number of frames left out there.
    pub left_out: Option<(usize, usize)>,
}

/// A function on a thread's stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// Address of the instruction.
    pub address: u64,
    /// Name of the function, without the compiler's hash.
    pub function: Option<String>,
    /// File and line.
    pub place: Option<String>,
    /// File name of the executable or library.
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
/// When the file does not exist or is no minidump of a crash.
pub fn read_report(path: &Path, symbols: &Symbols) -> Result<CrashReport, ReportError> {
    explain(path, symbols).map_err(|source| ReportError { path: path.into(), source })
}

fn explain(path: &Path, symbols: &Symbols) -> Result<CrashReport, minidump::Error> {
    let dump = Minidump::read_path(path)?;
    let system = dump.get_stream::<MinidumpSystemInfo>()?;
    let threads = dump.get_stream::<MinidumpThreadList<'_>>()?;
    let exception = dump.get_stream::<MinidumpException<'_>>()?;
    let modules = dump.get_stream::<MinidumpModuleList>()?;
    // Optional streams: a dump without them still gives a report.
    let names = dump.get_stream::<MinidumpThreadNames>().unwrap_or_default();
    let maps = dump.get_stream::<MinidumpLinuxMaps<'_>>().unwrap_or_default();
    let memory = dump.get_memory().unwrap_or_default();
    let images = images(&modules, symbols);
    let callers = Callers::new(&images);
    let mut lines = LineTables::new(&images);

    let crashed = exception.get_crashing_thread_id();
    let record = &exception.raw.exception_record;
    // Signals sent by processes have codes <= 0, and SI_KERNEL marks faults without an address.
    let code = record.exception_flags as i32;
    let is_fault = code > 0 && code != SI_KERNEL;
    let address = is_fault.then_some(record.exception_address);
    let note = CrashNote::of(&dump);
    let mut told: Vec<ReportedThread> = threads
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
                // The kernel names the main thread after the executable's file.
                "main".to_owned()
            } else {
                names.get_name(tid).map_or_else(|| "unnamed".to_owned(), |name| name.into_owned())
            };
            let doing = note.as_ref().and_then(|note| note.doing.get(&tid).cloned());
            let mut thread = ReportedThread { tid, name, crashed: tid == crashed, doing, frames, left_out };
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
    Ok(CrashReport {
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

/// True if a fault is a stack overflow: near the stack pointer, not writable, and at most STACK_REACH below writable memory.
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

impl ReportedThread {
    /// Removes the frames that start a thread, equal for all. `std`'s own backtraces use the same mark.
    fn leave_runtime_out(&mut self) {
        let mark = |frame: &StackFrame| {
            frame.function.as_deref().is_some_and(|name| name.contains("__rust_begin_short_backtrace"))
        };
        if let Some(at) = self.frames.iter().position(mark) {
            self.frames.truncate(at);
        }
    }

    /// Removes the frames of the panic machinery, so that the panicking function is the first frame.
    fn leave_panicking_out(&mut self) {
        let of_panics = |frame: &StackFrame| {
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

/// Functions and lines of all modules, loaded on first use.
struct LineTables<'a> {
    images: &'a [LoadedModule],
    loaders: BTreeMap<usize, Option<Loader>>,
}

impl<'a> LineTables<'a> {
    fn new(images: &'a [LoadedModule]) -> Self {
        Self { images, loaders: BTreeMap::new() }
    }

    /// The frames of one thread, and the position and length of the gap in a stack that is too long.
    fn frames(&mut self, addresses: &[u64]) -> (Vec<StackFrame>, Option<(usize, usize)>) {
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

    /// Appends the functions of one address: inlined ones first, then the function that contains them.
    fn push(&mut self, address: u64, frames: &mut Vec<StackFrame>) {
        let Some(index) = self.images.iter().position(|image| (image.base..image.end).contains(&address))
        else {
            frames.push(StackFrame { address, function: None, place: None, module: "no module".into() });
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
                    frames.push(StackFrame { address, function, place, module: module.clone() });
                }
            }
        }
        let symbol = loader.and_then(|loader| loader.find_symbol(relative)).map(demangled);
        match frames[before..].last_mut() {
            None => frames.push(StackFrame { address, function: symbol, place: None, module }),
            // Line tables give names without their path. The symbol table has the full name of the outermost function.
            Some(last) => last.function = symbol.or_else(|| last.function.take()),
        }
    }
}

/// Target of the link to the own executable.
fn resolved(path: &Path) -> PathBuf {
    std::fs::read_link(path).unwrap_or_else(|_| path.to_owned())
}

/// A demangled name without the compiler's hash.
fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// A name without its generic arguments, which may fill a screen.
fn bare(name: &str) -> String {
    let end = if name.starts_with('<') { None } else { name.find('<') };
    name[..end.unwrap_or(name.len())].to_owned()
}

/// A path without the prefix that all files of its kind share: the checkout, the registry, the compiler's sources.
fn short(path: &str) -> String {
    let after = |mark: &str| path.rfind(mark).map(|at| at + mark.len());
    if let Some(at) = after("/registry/src/") {
        // The next component names the registry.
        return path[at..].split_once('/').map_or(&path[at..], |(_, rest)| rest).to_owned();
    }
    let kept = path.rfind("/crates/").map(|at| at + 1).or_else(|| path.rfind("/library/").map(|at| at + 1));
    kept.map_or(path, |at| &path[at..]).to_owned()
}

#[cfg(test)]
mod tests;
