//! A recording of the world beside a window, with which clients' screens are compared later.

use crate::child::Running;
use crate::error::ExperimentError;
use crate::server::Server;
use crate::{Run, clock};
use bots::record_file::monotonic_ns;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time by which a recording is longer than its window: its first step may come a moment later, and windows end at an export of the server.
const LONGER: Duration = Duration::from_secs(5);
const LONGER_QUICK: Duration = Duration::from_secs(3);
const BEGINS: Duration = Duration::from_secs(1);

/// A recording under way.
pub(super) struct RecordingWindow {
    recording: Running,
    world: PathBuf,
    begin_ns: u64,
}

/// A recording at its end.
pub(super) struct RecordedWindow {
    /// The file.
    pub(super) world: PathBuf,
    /// The window, by the machine's monotonic clock.
    pub(super) window_ns: Range<u64>,
}

impl RecordingWindow {
    /// Begins a recording of this name for a window of this length, which begins now.
    pub(super) fn begin(
        run: &Run,
        server: &Server,
        name: &str,
        window: Duration,
    ) -> Result<Self, ExperimentError> {
        let world = run.out.join(format!("{name}.recording"));
        // One of an earlier run.
        let _ = fs::remove_file(&world);
        let longer = run.pick(LONGER, LONGER_QUICK);
        let recording = server.record(run, (window + longer).as_secs(), &world)?;
        clock::wait(BEGINS);
        Ok(Self { recording, world, begin_ns: monotonic_ns() })
    }

    /// Ends the window, and waits for the end of the recording.
    pub(super) fn end(mut self) -> Result<RecordedWindow, ExperimentError> {
        let window_ns = self.begin_ns..monotonic_ns();
        let status = self.recording.wait()?;
        if !status.success() {
            return Err(self.recording.error(format!("ended with {status}")));
        }
        Ok(RecordedWindow { world: self.world, window_ns })
    }
}

impl RecordedWindow {
    /// Removes the recording, and views that were compared with it: they are hundreds of megabytes.
    pub(super) fn remove_with(self, views: &Path) {
        for path in [self.world.as_path(), views] {
            let _ = fs::remove_file(path);
        }
    }
}
