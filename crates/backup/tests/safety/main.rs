//! Backups, restores and looks through data on real files: whole, interrupted at every step, damaged in every kind of file and row.

mod backups;
mod damage;
mod driver;
mod grid;
mod rehearsals;
