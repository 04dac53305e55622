//! Work that makes a system dearer on purpose, by the same amount in every run.

use super::System;
use std::cell::Cell;
use std::hint::black_box;

/// Artificial cost of one system on this thread.
struct Burden {
    /// Spins per thousand entries; a small share of a cheap system is less than one spin an entry.
    spins_per_1000: Cell<u64>,
    /// Owed spins, in thousandths.
    owed: Cell<u64>,
}

thread_local! {
    static BURDENED: Cell<bool> = const { Cell::new(false) };
    static BURDENS: [Burden; System::ALL.len()] =
        const { [const { Burden { spins_per_1000: Cell::new(0), owed: Cell::new(0) } }; System::ALL.len()] };
}

/// Makes every 1,000 entries of a system on this thread more expensive by `spins_per_1000` iterations of a short loop, evenly. The cost
/// of an iteration depends on the build; a profile shows it as [`SPIN`]. From the first burden on, every system of the thread pays for
/// the lookup, also one with a burden of 0.
pub fn set_burden(system: System, spins_per_1000: u64) {
    BURDENS.with(|burdens| burdens[system as usize].spins_per_1000.set(spins_per_1000));
    BURDENED.set(true);
}

/// Batch size of spins, so that starting them costs little beside them.
const SPINS_MIN: u64 = 16;

/// Name in a profile of the function that does the work.
pub const SPIN: &str = "systems::burden::spin";

#[inline]
pub(crate) fn spin_burden(system: System) {
    if BURDENED.get() {
        bear_burden(system);
    }
}

#[cold]
fn bear_burden(system: System) {
    BURDENS.with(|burdens| {
        let burden = &burdens[system as usize];
        let owed = burden.owed.get() + burden.spins_per_1000.get();
        if owed < SPINS_MIN * 1_000 {
            burden.owed.set(owed);
        } else {
            burden.owed.set(owed % 1_000);
            spin(owed / 1_000);
        }
    });
}

#[inline(never)]
fn spin(spins: u64) {
    for spin in 0..spins {
        black_box(spin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_are_owed_until_there_are_enough() {
        set_burden(System::Hub, 6_400);
        let owed = || BURDENS.with(|burdens| burdens[System::Hub as usize].owed.get());
        let debts: Vec<u64> = (0..4)
            .map(|_| {
                System::Hub.enter();
                System::WorldTell.enter();
                owed()
            })
            .collect();
        assert_eq!(debts, [6_400, 12_800, 200, 6_600]);
    }
}
