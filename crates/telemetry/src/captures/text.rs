//! Text of summaries.

use super::culprit::Culprit;
use super::{CaptureSummary, CostRow, OverrunReport, ThreadActivity, ThreadCost};
use std::fmt::{self, Display, Formatter};

/// Rows of a table in a summary; the others are counted.
const LINES_MAX: usize = 10;

impl Display for Culprit {
    /// Its name: `world.movement in world Harbour`, `shard.client for client 17`, `300 × shard.client`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.count > 1 {
            write!(f, "{} × ", self.count)?;
        }
        f.write_str(&self.scope)?;
        if let Some(about) = &self.about {
            write!(f, " for {about}")?;
        }
        match &self.world {
            Some(world) if self.about.as_ref() != Some(world) => write!(f, " in {world}"),
            _ => Ok(()),
        }
    }
}

impl Display for CaptureSummary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} capture, {}, the last {:.1} s", self.trigger, self.at, self.window_ns as f64 / 1e9)?;
        if let Some(overrun) = &self.overrun {
            write!(f, "\n{overrun}")?;
        }
        match &self.culprit {
            Some(culprit) => write!(f, "\nCulprit: {culprit}\n{}", Charge(culprit))?,
            None if self.overrun.is_some() => {
                f.write_str("\nCulprit: unknown, the slice is not in the capture any more\n")?;
            }
            None => {}
        }
        table(f, "Inside of it, by scope", &self.inside)?;
        table(f, "The whole capture, by scope", &self.costs.systems)?;
        table(f, "By world", &self.costs.worlds)?;
        table(f, "By client", &self.costs.clients)?;
        threads(f, &self.costs.threads, self.window_ns)?;
        if self.blocks_recycled > 0 || self.events_lost > 0 {
            write!(
                f,
                "\nIncomplete: {} blocks were used again too early and {} events were overwritten while they were \
                 read.\n",
                self.blocks_recycled, self.events_lost
            )?;
        }
        Ok(())
    }
}

impl Display for OverrunReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scope)?;
        if let Some(about) = &self.about {
            write!(f, " for {about}")?;
        }
        write!(
            f,
            " took {}, {} more than its limit of {}, on {}",
            Ms(self.took_ns),
            Ms(self.over_ns),
            Ms(self.limit_ns),
            self.thread
        )?;
        if let Some(usual_ns) = self.usual_ns {
            write!(f, "; usually {}", Ms(usual_ns))?;
        }
        f.write_str(".\n")?;
        let Some(kernel) = &self.kernel else { return Ok(()) };
        writeln!(
            f,
            "In the {} between the kernel's figures before and after it, {} ran for {}, waited {} for a core, {} for \
             locks and {} in all without being ready; page faults: {} from memory, {} from disk; it gave up its core \
             {} times and lost it {} times.",
            Ms(kernel.span_ns()),
            self.thread,
            Ms(kernel.run_ns),
            Ms(kernel.wait_ns),
            Ms(kernel.lock_wait_ns),
            Ms(kernel.blocked_ns()),
            kernel.minor_faults,
            kernel.major_faults,
            kernel.voluntary_switches,
            kernel.involuntary_switches
        )
    }
}

/// A culprit's times and activity.
struct Charge<'a>(&'a Culprit);

impl Display for Charge<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let culprit = self.0;
        write!(f, "It took {}, {} of that itself", Ms(culprit.took_ns), Ms(culprit.self_ns))?;
        if let Some(usual_ns) = culprit.usual_ns {
            write!(f, "; usually {}", Ms(usual_ns))?;
        }
        if !culprit.within.is_empty() {
            write!(f, "; inside of {}", culprit.within.join(" > "))?;
        }
        f.write_str(".\n")?;
        if culprit.doing != ThreadActivity::Unknown {
            writeln!(f, "Meanwhile the thread {}.", culprit.doing)?;
        }
        Ok(())
    }
}

fn table(f: &mut Formatter<'_>, title: &str, costs: &[CostRow]) -> fmt::Result {
    if costs.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title:<40} {:>9} {:>12} {:>12} {:>12}", "count", "self", "total", "longest")?;
    for cost in costs.iter().take(LINES_MAX) {
        let (own, total, longest) = (Ms(cost.self_ns), Ms(cost.total_ns), Ms(cost.max_ns));
        writeln!(f, "  {:<38} {:>9} {own:>12} {total:>12} {longest:>12}", cost.name, cost.count)?;
    }
    match costs.len().checked_sub(LINES_MAX) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(f, "  and {more} more"),
    }
}

fn threads(f: &mut Formatter<'_>, threads: &[ThreadCost], window_ns: u64) -> fmt::Result {
    if threads.is_empty() {
        return Ok(());
    }
    let title = "By thread, share of the time";
    writeln!(
        f,
        "\n{title:<40} {:>9} {:>12} {:>12} {:>12}",
        "in scopes", "on a core", "wait core", "wait lock"
    )?;
    for thread in threads {
        let share = |ns: u64, of: u64| format!("{:.1} %", 100.0 * ns as f64 / of.max(1) as f64);
        let kernel = |ns: fn(&super::KernelFigures) -> u64| {
            thread.kernel.as_ref().map_or_else(|| "–".into(), |kernel| share(ns(kernel), kernel.span_ns()))
        };
        writeln!(
            f,
            "  {:<38} {:>9} {:>12} {:>12} {:>12}",
            thread.name,
            share(thread.busy_ns, window_ns),
            kernel(|kernel| kernel.run_ns),
            kernel(|kernel| kernel.wait_ns),
            kernel(|kernel| kernel.lock_wait_ns)
        )?;
    }
    Ok(())
}

/// Nanoseconds as milliseconds.
struct Ms(u64);

impl Display for Ms {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.3} ms", self.0 as f64 / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use crate::captures::{CaptureSummary, testing};

    #[test]
    fn the_text_names_the_overrun_its_thread_and_the_largest_costs() {
        let cause = testing::overrun_of_slow_movement();
        let text = CaptureSummary::of(&testing::slow_movement(), &cause, "2026-11-21T21:45:12.345Z".into())
            .to_string();
        for line in [
            "system capture, 2026-11-21T21:45:12.345Z, the last 5.0 s",
            "world.movement took 40.000 ms, 20.000 ms more than its limit of 20.000 ms, on world-0; usually 2.000 ms.",
            "Culprit: world.movement in world Harbour",
            "It took 40.000 ms, 40.000 ms of that itself; usually 2.000 ms.",
            "  world.movement                                20    78.000 ms    78.000 ms    40.000 ms",
            "  Ada Resident                                  20     3.000 ms     4.000 ms     0.200 ms",
            "  world-0                                    2.2 %            –            –            –",
        ] {
            assert!(text.lines().any(|have| have == line), "{line:?} is not in\n{text}");
        }
    }
}
