//! A comparison as text for a terminal.

use crate::compare::{Comparison, SystemChange, TOLERANCE, percent};
use std::fmt::Write as _;

/// The comparison, line by line; the names are those of the builds.
#[must_use]
pub fn text(comparison: &Comparison, base_name: &str, head_name: &str) -> String {
    let mut text = format!(
        "{}, {} ticks\nBASE {base_name}\nHEAD {head_name}\n\n",
        comparison.workload, comparison.ticks
    );
    line(&mut text, ["system", "instructions", "became", "change", "allocations", "became", ""]);
    for system in &comparison.systems {
        system_line(&mut text, system);
    }
    let (base, head) = comparison.instructions();
    let change = change_in_percent(percent(base, head));
    line(&mut text, ["all", &grouped(base), &grouped(head), &change, "", "", ""]);
    let _ = writeln!(text, "\nA change within {} % counts as none.", TOLERANCE * 100.0);
    if comparison.work.is_empty() {
        text.push_str("Work done: equal.\n");
    }
    for change in &comparison.work {
        let percent = change_in_percent(percent(change.base, change.head));
        let (base, head) = (grouped(change.base), grouped(change.head));
        let _ = writeln!(text, "Work done: {} {base} became {head} ({percent}).", change.work);
    }
    match &comparison.divergence {
        None => text.push_str("Behaviour: equal in every tick.\n"),
        Some(divergence) => {
            let _ = writeln!(text, "Behaviour: differs first {divergence}.");
        }
    }
    let _ = writeln!(text, "\n{comparison}");
    text
}

fn system_line(text: &mut String, system: &SystemChange) {
    let SystemChange { base, head, .. } = system;
    let change = change_in_percent(system.percent());
    line(
        text,
        [
            &system.system,
            &grouped(base.instructions),
            &grouped(head.instructions),
            &change,
            &grouped(base.allocations),
            &grouped(head.allocations),
            system.change().as_str(),
        ],
    );
}

fn line(text: &mut String, [system, base, head, change, from, to, verdict]: [&str; 7]) {
    let line = format!("{system:<17}{base:>15}{head:>15}{change:>11}{from:>13}{to:>10}  {verdict}");
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Percent with sign, or "new" for a change from 0.
pub(crate) fn change_in_percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "new".to_owned(), |percent| format!("{percent:+.2} %"))
}

/// A count with separators between thousands.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CostChange, Divergence, HashedPart, WorkChange};
    use crate::costs::SystemCharge;

    #[test]
    fn the_text_names_what_changed_and_where_behaviour_parts() {
        let cost = |instructions, allocations| SystemCharge { instructions, allocations, entries: 1 };
        let comparison = Comparison {
            workload: "crowd".into(),
            ticks: 100,
            systems: vec![SystemChange {
                system: "world.movement".into(),
                base: cost(2_643_059, 0),
                head: cost(2_695_920, 12),
                instructions: CostChange::Dearer,
                allocations: CostChange::Dearer,
            }],
            work: vec![WorkChange { work: "bytes sent".into(), base: 1_000, head: 1_010 }],
            divergence: Some(Divergence {
                tick: 87,
                world: Some(1),
                what: HashedPart::State,
                base: 1,
                head: 2,
            }),
        };
        let expected = "\
crowd, 100 ticks
BASE main
HEAD mine

system              instructions         became     change  allocations    became
world.movement         2,643,059      2,695,920    +2.00 %            0        12  dearer
all                    2,643,059      2,695,920    +2.00 %

A change within 0.3 % counts as none.
Work done: bytes sent 1,000 became 1,010 (+1.00 %).
Behaviour: differs first in tick 87 the state of world 1: 0000000000000001 became 0000000000000002.

different from tick 87 on; dearer: world.movement
";
        assert_eq!(text(&comparison, "main", "mine"), expected);
    }
}
