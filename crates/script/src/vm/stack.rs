//! Frames of the functions that have begun, with their cells.

use super::FRAME_BYTES;
use crate::cell::{self, EMPTY};
use crate::error::RunError;
use crate::heap::Heap;
use crate::program::{CELL_BYTES, FrameLayout, Program};
use serde::{Deserialize, Serialize};

/// Cells of a frame that are initialised for one fuel.
const CELLS_PER_FUEL: usize = 8;

/// Cells with references of a frame that are released at its end for one fuel.
const RELEASES_PER_FUEL: usize = 2;

/// Frames and cells that an interrupted handler keeps without need.
const SPARE: usize = 16;

/// A function that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub(crate) function: u16,
    /// The next instruction.
    pub(crate) pc: u32,
}

/// Frames and cells of a handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    pub(crate) frames: Vec<Frame>,
    /// Cells of all frames, in their order.
    pub(crate) cells: Vec<u64>,
}

/// Logical memory of a call frame.
pub(crate) const fn frame_bytes(layout: &FrameLayout) -> usize {
    FRAME_BYTES + layout.n_cells * CELL_BYTES
}

/// Fuel of a call frame, from its beginning to its end.
pub(crate) const fn frame_fuel(layout: &FrameLayout) -> i64 {
    (layout.n_cells / CELLS_PER_FUEL + layout.references.len() / RELEASES_PER_FUEL) as i64
}

impl Stack {
    /// Adds the frame of a function with empty cells.
    ///
    /// # Errors
    ///
    /// [`RunError::StackHeapCollision`] without room.
    pub(crate) fn push(&mut self, program: &Program, function: u16, heap: &mut Heap) -> Result<(), RunError> {
        let layout = &program.layouts[usize::from(function)];
        heap.reserve(frame_bytes(layout))?;
        self.cells.resize(self.cells.len() + layout.n_cells, EMPTY);
        self.frames.push(Frame { function, pc: 0 });
        Ok(())
    }

    /// Removes the top frame with all that it owns.
    pub(crate) fn pop(&mut self, program: &Program, heap: &mut Heap) {
        let frame = self.frames.pop().expect("a frame that has begun");
        let layout = &program.layouts[usize::from(frame.function)];
        let base = self.cells.len() - layout.n_cells;
        for &at in &layout.references {
            cell::release(heap, self.cells[base + usize::from(at)]);
        }
        self.cells.truncate(base);
        heap.unreserve(frame_bytes(layout));
    }

    /// Removes all frames without a look at what they own.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.cells.clear();
    }

    /// Returns memory of frames that have ended, if it is most of what there is.
    pub(crate) fn trim(&mut self) {
        trim(&mut self.frames);
        trim(&mut self.cells);
    }

    /// Removes all frames.
    pub(crate) fn unwind(&mut self, program: &Program, heap: &mut Heap) {
        while !self.frames.is_empty() {
            self.pop(program, heap);
        }
    }
}

fn trim<T>(memory: &mut Vec<T>) {
    if memory.capacity() > SPARE.max(memory.len() * 4) {
        memory.shrink_to(SPARE.max(memory.len() * 2));
    }
}
