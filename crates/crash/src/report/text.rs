//! The text of a report, for terminals and `.txt` files.

use super::{CrashReport, ReportedThread, StackFrame};
use jiff::Timestamp;
use std::fmt;

impl CrashReport {
    /// The cause, in one line.
    #[must_use]
    pub fn headline(&self) -> String {
        if let Some(panic) = self.note.as_ref().and_then(|note| note.panic.as_deref()) {
            return panic.lines().next().unwrap_or_default().to_owned();
        }
        let crashed = self.threads.first().filter(|thread| thread.crashed);
        let name = crashed.map_or("a thread", |thread| thread.name.as_str());
        let sender = self.note.as_ref().and_then(|note| note.sent_by);
        match (self.address, sender) {
            (Some(address), _) if self.stack_overflow => {
                format!("{name} overflowed its stack: {} at {address:#x}", self.signal)
            }
            (Some(address), _) => format!("{name} crashed: {} at {address:#x}", self.signal),
            (None, Some(pid)) => format!("process {pid} sent {}, which {name} received", self.signal),
            (None, None) => format!("{name} crashed: {}", self.signal),
        }
    }
}

impl fmt::Display for CrashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.headline())?;
        if let Some(note) = &self.note {
            if let Some(panic) = note.panic.as_deref().filter(|panic| panic.contains('\n')) {
                writeln!(f, "{panic}\n")?;
            }
            let at = Timestamp::from_second(note.unix_s).unwrap_or(Timestamp::UNIX_EPOCH);
            writeln!(f, "time      {}", at.strftime("%Y-%m-%d %H:%M:%S UTC"))?;
            writeln!(f, "process   {}", note.pid)?;
            writeln!(f, "version   {}", note.version)?;
        }
        if self.note.as_ref().is_none_or(|note| note.panic.is_none()) {
            writeln!(f, "signal    {}", self.signal)?;
        }
        writeln!(f, "build id  {}", self.build_id.as_deref().unwrap_or("none"))?;
        match &self.symbols {
            Some(path) => writeln!(f, "symbols   {}", path.display())?,
            None => writeln!(f, "symbols   none: no executable of this build id is here or in DATA/symbols")?,
        }
        self.threads.iter().try_for_each(|thread| write!(f, "\n{thread}"))?;
        self.costs.iter().try_for_each(|costs| write!(f, "\n{costs}"))
    }
}

impl fmt::Display for ReportedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "thread {} ({}){}", self.name, self.tid, if self.crashed { ", crashed" } else { "" })?;
        if let Some(doing) = &self.doing {
            writeln!(f, "  was in {doing}")?;
        }
        let mut n = 0;
        while n < self.frames.len() {
            if let Some((at, left_out)) = self.left_out.filter(|&(at, _)| at == n) {
                writeln!(f, "      … {left_out} more between frames {} and {at}", at.saturating_sub(1))?;
            }
            // Equal frames share a line, or recursion would fill a screen.
            let same = self.frames[n..].iter().take_while(|frame| frame.is_same(&self.frames[n])).count();
            let until = self.left_out.map_or(same, |(at, _)| if n < at { same.min(at - n) } else { same });
            writeln!(f, "  {n:>3} {}", self.frames[n])?;
            match until - 1 {
                0 => {}
                1 => writeln!(f, "      … and once more")?,
                more => writeln!(f, "      … and {more} times more")?,
            }
            n += until;
        }
        Ok(())
    }
}

impl StackFrame {
    fn is_same(&self, other: &Self) -> bool {
        self.function == other.function && self.place == other.place && self.module == other.module
    }
}

impl fmt::Display for StackFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.function, &self.place) {
            (Some(function), Some(place)) => write!(f, "{function}  {place}"),
            (Some(function), None) => write!(f, "{function}  in {}", self.module),
            (None, Some(place)) => write!(f, "{:#x}  {place}", self.address),
            (None, None) => write!(f, "{:#x}  in {}", self.address, self.module),
        }
    }
}
