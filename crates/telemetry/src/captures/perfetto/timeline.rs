//! Reader of traces written by [`write`](super::write): the slices of each thread, for a terminal. Content of other
//! programs' traces is ignored where it is unknown here.

use super::schema::{Data, DebugAnnotation, InternedData, InternedString, TraceFile, TrackEvent};
use prost::Message as _;
use std::collections::BTreeMap;

/// The threads of a trace with their slices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// In the order of the trace.
    pub threads: Vec<ThreadRows>,
}

/// One thread's slices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadRows {
    /// Name of the thread.
    pub name: String,
    /// In order of their begins, parents before their children.
    pub rows: Vec<SliceRow>,
}

/// A slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceRow {
    /// Name of the scope.
    pub name: String,
    /// Its annotations, each after a space: ` client=17 name="Ada Resident"`.
    pub about: String,
    /// Number of slices around it.
    pub depth: usize,
    /// Begin.
    pub begin_ns: u64,
    /// End; the trace's last event for a slice without end.
    pub end_ns: u64,
}

/// The bytes are no trace.
#[derive(Debug, thiserror::Error)]
#[error("this is not a trace")]
pub struct NotATrace(#[from] prost::DecodeError);

impl Timeline {
    /// Reads a trace.
    ///
    /// # Errors
    /// When the bytes are no trace.
    pub fn read(bytes: &[u8]) -> Result<Self, NotATrace> {
        let trace = TraceFile::decode(bytes)?;
        let mut reader = TimelineReader::default();
        for packet in trace.packet {
            let at_ns = packet.timestamp.unwrap_or_default();
            if let Some(interned) = packet.interned_data {
                reader.intern_names(*interned);
            }
            match packet.data {
                Some(Data::TrackDescriptor(track)) => {
                    if let (Some(uuid), Some(thread)) = (track.uuid, track.thread) {
                        reader.track(uuid, thread.thread_name.unwrap_or_default());
                    }
                }
                Some(Data::TrackEvent(event)) => reader.event(at_ns, &event),
                Some(Data::ClockSnapshot(_)) | None => {}
            }
        }
        Ok(reader.done())
    }

    /// Begin of the first slice.
    #[must_use]
    pub fn begin_ns(&self) -> u64 {
        self.threads.iter().flat_map(|thread| thread.rows.iter().map(|row| row.begin_ns)).min().unwrap_or(0)
    }

    /// End of the last slice.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.threads.iter().flat_map(|thread| thread.rows.iter().map(|row| row.end_ns)).max().unwrap_or(0)
    }
}

#[derive(Default)]
struct TimelineReader {
    timeline: Timeline,
    /// By track: the thread's index, and its stack of open slices.
    tracks: BTreeMap<u64, (usize, Vec<usize>)>,
    event_names: BTreeMap<u64, String>,
    annotation_names: BTreeMap<u64, String>,
    last_ns: u64,
}

impl TimelineReader {
    fn intern_names(&mut self, interned: InternedData) {
        let named = |strings: Vec<InternedString>| {
            strings.into_iter().filter_map(|string| Some((string.iid?, string.name?)))
        };
        self.event_names.extend(named(interned.event_names));
        self.annotation_names.extend(named(interned.debug_annotation_names));
    }

    fn track(&mut self, uuid: u64, name: String) {
        self.tracks.insert(uuid, (self.timeline.threads.len(), Vec::new()));
        self.timeline.threads.push(ThreadRows { name, rows: Vec::new() });
    }

    fn event(&mut self, at_ns: u64, event: &TrackEvent) {
        self.last_ns = self.last_ns.max(at_ns);
        let track = event.track_uuid.and_then(|uuid| self.tracks.get_mut(&uuid));
        let Some((thread, open)) = track else { return };
        let rows = &mut self.timeline.threads[*thread].rows;
        match event.r#type {
            Some(TrackEvent::SLICE_BEGIN) => {
                let name = event.name_iid.and_then(|iid| self.event_names.get(&iid)).cloned();
                let about = event.debug_annotations.iter().map(|note| about(note, &self.annotation_names));
                let about: String = about.collect();
                open.push(rows.len());
                let depth = open.len() - 1;
                let name = name.unwrap_or_default();
                rows.push(SliceRow { name, about, depth, begin_ns: at_ns, end_ns: u64::MAX });
            }
            Some(TrackEvent::SLICE_END) => {
                if let Some(row) = open.pop() {
                    rows[row].end_ns = at_ns;
                }
            }
            _ => {}
        }
    }

    fn done(self) -> Timeline {
        let mut timeline = self.timeline;
        for row in timeline.threads.iter_mut().flat_map(|thread| &mut thread.rows) {
            row.end_ns = row.end_ns.min(self.last_ns);
        }
        timeline
    }
}

fn about(note: &DebugAnnotation, names: &BTreeMap<u64, String>) -> String {
    let name = note.name_iid.and_then(|iid| names.get(&iid)).map_or("", String::as_str);
    match (&note.string_value, note.uint_value) {
        (Some(text), _) => format!(" {name}={text:?}"),
        (None, Some(number)) => format!(" {name}={number}"),
        (None, None) => format!(" {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, write};
    use super::*;
    use crate::captures::CaptureCause;
    use crate::captures::testing::{self, BEGIN, MS};
    use crate::recorder::{Capture, OpenScope};

    fn reread(capture: &Capture) -> Timeline {
        let origin = Origin { pid: 1, process: "throng".into(), unix_ns: 0 };
        let mut bytes = Vec::new();
        write(capture, &CaptureCause::Operator, &origin, &mut bytes).unwrap();
        Timeline::read(&bytes).unwrap()
    }

    #[test]
    fn a_written_trace_reads_back() {
        let timeline = reread(&testing::slow_movement());
        let names: Vec<&str> = timeline.threads.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["shard-0", "world-0"]);
        assert_eq!(timeline.begin_ns(), BEGIN);
        let row = |name: &str, about: &str, depth, begin_us: u64, took_us: u64| SliceRow {
            name: name.into(),
            about: about.into(),
            depth,
            begin_ns: BEGIN + begin_us * 1_000,
            end_ns: BEGIN + (begin_us + took_us) * 1_000,
        };
        assert_eq!(
            timeline.threads[0].rows[..4],
            [
                row("shard.turn", "", 0, 10_000, 900),
                row("shard.client", " client=17 name=\"Ada Resident\"", 1, 10_100, 200),
                row("shard.send", " count=3", 2, 10_150, 50),
                row("shard.client", " client=18", 1, 10_300, 100),
            ]
        );
    }

    #[test]
    fn open_slices_last_until_the_last_event() {
        let mut capture = testing::slow_movement();
        let begin_ns = BEGIN + 10 * MS;
        capture.threads.push(crate::recorder::ThreadRecord {
            open: vec![OpenScope { scope: testing::TURN, begin_ns, arg: 0 }],
            ..crate::recorder::ThreadRecord::default()
        });
        let timeline = reread(&capture);
        let open = &timeline.threads[2].rows[0];
        assert_eq!((open.begin_ns, open.end_ns), (begin_ns, timeline.end_ns()));
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(Timeline::read(b"not a trace at all").is_err());
    }
}
