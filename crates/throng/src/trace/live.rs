//! `throng trace live`: current costs of systems against their budgets, redrawn once a second.

use super::TraceError;
use crate::operator::{self, OperatorError};
use operator_api::Systems;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use telemetry::captures::{CaptureCosts, CostRow, KernelFigures};

const PERIOD: Duration = Duration::from_secs(1);
/// Lines of the table of scopes.
const SYSTEMS_MAX: usize = 24;
/// Lines of those of worlds and clients.
const OTHERS_MAX: usize = 5;
/// Moves to the upper left corner and clears the screen below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Draws until the terminal or the server is gone; with `once` gives one table.
pub(super) fn run(data: &Path, once: bool, terminal: &mut impl Write) -> Result<String, TraceError> {
    loop {
        let answer = operator::get(data, "/v1/systems")?;
        let systems: Systems = serde_json::from_str(&answer).map_err(OperatorError::from)?;
        let text = draw(&systems);
        if once {
            return Ok(text);
        }
        write!(terminal, "{CLEAR}{text}").and_then(|()| terminal.flush()).map_err(TraceError::Terminal)?;
        // No thread notifies this one, but it may wake up early without reason; then the table is newer.
        std::thread::park_timeout(PERIOD);
    }
}

fn draw(systems: &Systems) -> String {
    let window_ns = systems.window_ns.max(1);
    let CaptureCosts { systems: scopes, worlds, clients, threads } = &systems.costs;
    let mut out = String::new();
    table(&mut out, "scope", scopes, SYSTEMS_MAX, window_ns);
    table(&mut out, "world", worlds, OTHERS_MAX, window_ns);
    table(&mut out, "client", clients, OTHERS_MAX, window_ns);
    let _ = writeln!(
        out,
        "{:<34} {:>9} {:>11} {:>11} {:>11}",
        "thread", "in scopes", "on a core", "wait core", "wait lock"
    );
    for thread in threads {
        let kernel = |ns: fn(&KernelFigures) -> u64| {
            thread.kernel.as_ref().map_or_else(|| "–".into(), |kernel| share(ns(kernel), kernel.span_ns()))
        };
        let _ = writeln!(
            out,
            "{:<34} {:>9} {:>11} {:>11} {:>11}",
            thread.name,
            share(thread.busy_ns, window_ns),
            kernel(|kernel| kernel.run_ns),
            kernel(|kernel| kernel.wait_ns),
            kernel(|kernel| kernel.lock_wait_ns),
        );
    }
    out
}

fn table(out: &mut String, title: &str, costs: &[CostRow], lines_max: usize, window_ns: u64) {
    if costs.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "{title:<34} {:>9} {:>11} {:>11} {:>11} {:>8}",
        "per s", "mean", "max", "budget", "core"
    );
    for cost in costs.iter().take(lines_max) {
        let per_s = cost.count as f64 * 1e9 / window_ns as f64;
        let mean_ns = cost.total_ns.checked_div(cost.count).unwrap_or_default();
        let budget = cost.limit_ns.map_or_else(|| "–".to_owned(), ms);
        let over = if cost.limit_ns.is_some_and(|limit_ns| cost.max_ns > limit_ns) { " !" } else { "" };
        let _ = writeln!(
            out,
            "{:<34} {per_s:>9.1} {:>11} {:>11} {budget:>11} {:>8}{over}",
            cost.name,
            ms(mean_ns),
            ms(cost.max_ns),
            share(cost.total_ns, window_ns),
        );
    }
    out.push('\n');
}

fn ms(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}

fn share(ns: u64, of_ns: u64) -> String {
    format!("{:.1} %", 100.0 * ns as f64 / of_ns.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use telemetry::captures::ThreadCost;

    #[test]
    fn systems_stand_against_their_budgets_and_threads_beside_what_the_kernel_says() {
        let movement = CostRow {
            name: "world.movement".into(),
            count: 20,
            total_ns: 60_000_000,
            self_ns: 60_000_000,
            max_ns: 25_000_000,
            limit_ns: Some(20_000_000),
        };
        let tell =
            CostRow { name: "world.tell".into(), limit_ns: None, max_ns: 4_000_000, ..movement.clone() };
        let kernel = KernelFigures {
            begin_ns: 0,
            end_ns: 1_000_000_000,
            run_ns: 65_000_000,
            wait_ns: 5_000_000,
            ..KernelFigures::default()
        };
        let thread = ThreadCost { name: "world-0".into(), tid: 1, busy_ns: 62_000_000, kernel: Some(kernel) };
        let costs =
            CaptureCosts { systems: vec![movement, tell], threads: vec![thread], ..CaptureCosts::default() };
        let text = draw(&Systems { window_ns: 1_000_000_000, costs });
        let expected = [
            "world.movement                          20.0    3.000 ms   25.000 ms   20.000 ms    6.0 % !",
            "world.tell                              20.0    3.000 ms    4.000 ms           –    6.0 %",
            "world-0                                6.2 %       6.5 %       0.5 %       0.0 %",
        ];
        for line in expected {
            assert!(text.lines().any(|have| have == line), "{line:?} is not in\n{text}");
        }
    }
}
