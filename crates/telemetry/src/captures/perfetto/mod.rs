//! Writes a capture as a Perfetto trace, and reads the slices of such a trace.
//!
//! Tracks: one for the process, one per thread with its scopes as nested slices, and one per kernel figure of that thread.
//! A slice carries its argument and the argument's name as debug annotations: `client = 17`, `name = "Ada Resident"`.
//! Names of scopes are interned. Figures that only rise are written as differences between two samples: times as a share of
//! a core, counts as they are.
//!
//! Timestamps are of CLOCK_MONOTONIC, which the trace declares as its own clock; a clock snapshot relates it to the
//! calendar. Open the file at <https://ui.perfetto.dev> or with Perfetto's `trace_processor`.

mod schema;
mod timeline;

pub use timeline::{NotATrace, SliceRow, ThreadRows, Timeline};

use super::nest::{ScopeSpan, spans};
use super::{CaptureCause, label, scope_name};
use crate::recorder::{Arg, Capture, KernelSample, Overrun, SampleKind, ThreadRecord};
use prost::Message as _;
use schema::{
    ClockSnapshot, CounterDescriptor, Data, DebugAnnotation, InternedData, InternedString, ProcessDescriptor,
    SnapshotClock, ThreadDescriptor, TraceFile, TracePacket, TrackDescriptor, TrackEvent,
};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The captured process, and the time of the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Process id.
    pub pid: u32,
    /// The process's name.
    pub process: String,
    /// Nanoseconds since 1970 at [`Capture::end_ns`].
    pub unix_ns: u64,
}

/// All packets belong to one writer.
const SEQUENCE: u32 = 1;
const PROCESS_TRACK: u64 = 1;
/// First track of thread n is `(n + 1) * THREAD_TRACKS`: its slices; its figures follow.
const THREAD_TRACKS: u64 = 16;
/// Interned name of labels. Annotations of an [`Arg`] use its number; 0 is no name.
const LABEL_IID: u64 = 100;

/// Writes the capture: tracks first, then all events in order of time.
///
/// # Errors
/// Errors of `out`.
pub fn write(
    capture: &Capture,
    cause: &CaptureCause,
    origin: &Origin,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut writer = PacketWriter { out, packet: Vec::new() };
    let clock = |id, timestamp| SnapshotClock { clock_id: Some(id), timestamp: Some(timestamp) };
    writer.packet(TracePacket {
        sequence_flags: Some(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED),
        interned_data: Some(Box::new(interned(capture))),
        data: Some(Data::ClockSnapshot(ClockSnapshot {
            clocks: vec![
                clock(SnapshotClock::BOOTTIME, capture.end_ns),
                clock(SnapshotClock::MONOTONIC, capture.end_ns),
                clock(SnapshotClock::REALTIME, origin.unix_ns),
            ],
        })),
        ..TracePacket::default()
    })?;
    let pid = Some(origin.pid.cast_signed());
    writer.track(TrackDescriptor {
        uuid: Some(PROCESS_TRACK),
        process: Some(ProcessDescriptor { pid, process_name: Some(origin.process.clone()) }),
        ..TrackDescriptor::default()
    })?;
    let spans: Vec<Vec<ScopeSpan>> =
        capture.threads.iter().map(|thread| spans(thread, capture.end_ns)).collect();
    let mut events = Vec::new();
    for ((thread, spans), n) in capture.threads.iter().zip(&spans).zip(1..) {
        let track = n * THREAD_TRACKS;
        writer.track(TrackDescriptor {
            uuid: Some(track),
            parent_uuid: Some(PROCESS_TRACK),
            thread: Some(ThreadDescriptor {
                pid,
                tid: Some(thread.tid.cast_signed()),
                thread_name: Some(thread.name.clone()),
            }),
            ..TrackDescriptor::default()
        })?;
        slices(spans, track, &mut events);
        figures(&mut writer, thread, track, &mut events)?;
        if let CaptureCause::Overrun(overrun) = cause
            && overrun.thread == thread.tid
        {
            // A track of its own, since an instant among the slices is easily overlooked.
            let uuid = track + THREAD_TRACKS - 1;
            writer.track(TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: Some(track),
                name: Some("overrun".into()),
                ..TrackDescriptor::default()
            })?;
            events.push(TimedEvent {
                at_ns: overrun.at_ns,
                track: uuid,
                what: TimedEventKind::Overrun(overrun),
            });
        }
    }
    // A stable sort keeps the order of events of one track within a nanosecond.
    events.sort_by_key(|event| event.at_ns);
    events.iter().try_for_each(|event| writer.event(capture, event))
}

/// An event at a time on a track.
struct TimedEvent<'a> {
    at_ns: u64,
    track: u64,
    what: TimedEventKind<'a>,
}

enum TimedEventKind<'a> {
    Begin(&'a ScopeSpan),
    End,
    Figure(f64),
    Overrun(&'a Overrun),
}

/// The names that packets refer to by number.
fn interned(capture: &Capture) -> InternedData {
    let string = |iid, name: &str| InternedString { iid: Some(iid), name: Some(name.to_owned()) };
    let args = Arg::ALL.into_iter().filter(|&arg| arg != Arg::None);
    InternedData {
        event_names: capture.scopes.iter().zip(1..).map(|(scope, iid)| string(iid, &scope.name)).collect(),
        debug_annotation_names: args
            .map(|arg| string(arg as u64, arg.name()))
            .chain([string(LABEL_IID, "name")])
            .collect(),
    }
}

/// A thread's scopes. A scope that was still open gets no end: Perfetto draws it to the end of the trace and marks it.
fn slices<'a>(spans: &'a [ScopeSpan], track: u64, events: &mut Vec<TimedEvent<'a>>) {
    let mut open: Vec<usize> = Vec::new();
    let end = |index: usize, events: &mut Vec<TimedEvent<'a>>| {
        let span = &spans[index];
        if !span.open {
            events.push(TimedEvent { at_ns: span.end_ns, track, what: TimedEventKind::End });
        }
    };
    for (index, span) in spans.iter().enumerate() {
        while open.last().copied() != span.parent {
            end(open.pop().expect("a span's parent began before it and is open"), events);
        }
        events.push(TimedEvent { at_ns: span.begin_ns, track, what: TimedEventKind::Begin(span) });
        open.push(index);
    }
    while let Some(index) = open.pop() {
        end(index, events);
    }
}

/// A thread's samples, each figure on its own track, as differences from one sample to the next.
fn figures(
    writer: &mut PacketWriter<'_, impl Write>,
    thread: &ThreadRecord,
    track: u64,
    events: &mut Vec<TimedEvent<'_>>,
) -> io::Result<()> {
    let mut by_kind: BTreeMap<SampleKind, Vec<&KernelSample>> = BTreeMap::new();
    for sample in &thread.samples {
        by_kind.entry(sample.what).or_default().push(sample);
    }
    for (what, samples) in by_kind {
        let uuid = track + 1 + what as u64;
        let is_time = matches!(what, SampleKind::RunNs | SampleKind::WaitNs | SampleKind::LockWaitNs);
        let (unit, unit_name) = if is_time {
            (None, Some("% of a core".into()))
        } else {
            (Some(CounterDescriptor::UNIT_COUNT), None)
        };
        let name = what.name().trim_end_matches("_ns").replace('_', " ");
        writer.track(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(track),
            name: Some(format!("{} {name}", thread.name)),
            counter: Some(CounterDescriptor { unit, unit_name }),
            ..TrackDescriptor::default()
        })?;
        for pair in samples.windows(2) {
            let passed_ns = pair[1].at_ns.saturating_sub(pair[0].at_ns);
            let rose = pair[1].value.saturating_sub(pair[0].value) as f64;
            if passed_ns == 0 {
                continue;
            }
            let value = if is_time { 100.0 * rose / passed_ns as f64 } else { rose };
            // A counter holds its value until the next one, so the value belongs to the beginning of its interval.
            events.push(TimedEvent {
                at_ns: pair[0].at_ns,
                track: uuid,
                what: TimedEventKind::Figure(value),
            });
        }
    }
    Ok(())
}

/// Writes packets one after the other.
struct PacketWriter<'a, W> {
    out: &'a mut W,
    packet: Vec<u8>,
}

impl<W: Write> PacketWriter<'_, W> {
    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.packet.clear();
        // A trace is a sequence of packets, so concatenated traces of one packet each are a trace.
        TraceFile { packet: vec![packet] }.encode(&mut self.packet).expect("a vector grows");
        self.out.write_all(&self.packet)
    }

    fn track(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket { data: Some(Data::TrackDescriptor(descriptor)), ..TracePacket::default() })
    }

    fn event(&mut self, capture: &Capture, event: &TimedEvent<'_>) -> io::Result<()> {
        let mut told = TrackEvent { track_uuid: Some(event.track), ..TrackEvent::default() };
        told.r#type = Some(match event.what {
            TimedEventKind::Begin(span) => {
                told.name_iid = Some(u64::from(span.scope) + 1);
                told.debug_annotations = annotations(capture, span);
                TrackEvent::SLICE_BEGIN
            }
            TimedEventKind::End => TrackEvent::SLICE_END,
            TimedEventKind::Figure(value) => {
                told.double_counter_value = Some(value);
                TrackEvent::COUNTER
            }
            TimedEventKind::Overrun(overrun) => {
                let name = scope_name(capture, overrun.scope);
                let (took, limit) = (overrun.took_ns as f64 / 1e6, overrun.limit_ns as f64 / 1e6);
                told.name = Some(format!("{name} took {took:.3} ms, limit {limit:.3} ms"));
                TrackEvent::INSTANT
            }
        });
        self.packet(TracePacket {
            timestamp: Some(event.at_ns),
            sequence_flags: Some(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE),
            data: Some(Data::TrackEvent(told)),
            ..TracePacket::default()
        })
    }
}

/// The argument of a slice, and the argument's name.
fn annotations(capture: &Capture, span: &ScopeSpan) -> Vec<DebugAnnotation> {
    let arg = capture.scopes.get(usize::from(span.scope)).map_or(Arg::None, |scope| scope.arg);
    if arg == Arg::None {
        return Vec::new();
    }
    let number =
        DebugAnnotation { name_iid: Some(arg as u64), uint_value: Some(span.arg), string_value: None };
    let name = label(capture, arg, span.arg).map(|name| DebugAnnotation {
        name_iid: Some(LABEL_IID),
        uint_value: None,
        string_value: Some(name.to_owned()),
    });
    std::iter::once(number).chain(name).collect()
}

#[cfg(test)]
mod tests;
