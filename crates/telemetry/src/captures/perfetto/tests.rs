//! Traces written by this module, decoded with Perfetto's own schema.

use super::*;
use crate::captures::testing;
use perfetto_protos::trace::Trace;
use perfetto_protos::trace_packet::TracePacket;
use perfetto_protos::trace_packet::trace_packet::Data;
use perfetto_protos::track_event::TrackEvent;
use perfetto_protos::track_event::track_event::{Counter_value_field, Name_field, Type};
use protobuf::Message as _;

fn decoded(capture: &Capture, cause: &CaptureCause) -> Vec<TracePacket> {
    let origin = Origin { pid: 4711, process: "throng".into(), unix_ns: 1_700_000_000_000_000_000 };
    let mut bytes = Vec::new();
    write(capture, cause, &origin, &mut bytes).unwrap();
    let trace = Trace::parse_from_bytes(&bytes).unwrap();
    assert!(trace.special_fields.unknown_fields().iter().next().is_none());
    trace.packet
}

fn event(packet: &TracePacket) -> Option<(u64, &TrackEvent)> {
    match packet.data.as_ref()? {
        Data::TrackEvent(event) => {
            assert_eq!(packet.special_fields.unknown_fields().iter().count(), 0);
            assert_eq!(event.special_fields.unknown_fields().iter().count(), 0);
            Some((packet.timestamp(), event))
        }
        _ => None,
    }
}

/// The interned names, by number.
fn names(packets: &[TracePacket]) -> BTreeMap<u64, String> {
    let interned = &packets[0].interned_data;
    interned.event_names.iter().map(|name| (name.iid(), name.name().to_owned())).collect()
}

fn name_of(event: &TrackEvent, names: &BTreeMap<u64, String>) -> String {
    match event.name_field.as_ref().expect("a slice has a name") {
        Name_field::NameIid(iid) => names[iid].clone(),
        Name_field::Name(name) => name.clone(),
        _ => panic!("a name of another kind"),
    }
}

/// Plays a thread's track: every slice as (name, begin, end), in order of their ends. Fails unless slices nest and
/// times rise.
fn played(packets: &[TracePacket], track: u64) -> Vec<(String, u64, u64)> {
    let names = names(packets);
    let mut open: Vec<(String, u64)> = Vec::new();
    let mut ended = Vec::new();
    let mut now = 0;
    for (at_ns, event) in packets.iter().filter_map(event).filter(|(_, event)| event.track_uuid() == track) {
        assert!(at_ns >= now, "{at_ns} comes after {now}");
        now = at_ns;
        match event.type_() {
            Type::TYPE_SLICE_BEGIN => open.push((name_of(event, &names), at_ns)),
            Type::TYPE_SLICE_END => {
                let (name, begin_ns) = open.pop().expect("a slice that ends has begun");
                ended.push((name, begin_ns, at_ns));
            }
            other => panic!("{other:?} on a thread's track"),
        }
    }
    assert!(open.is_empty(), "{open:?} did not end");
    ended
}

fn descriptors(packets: &[TracePacket]) -> Vec<&perfetto_protos::track_descriptor::TrackDescriptor> {
    packets
        .iter()
        .filter_map(|packet| match packet.data.as_ref()? {
            Data::TrackDescriptor(descriptor) => Some(descriptor),
            _ => None,
        })
        .collect()
}

#[test]
fn process_and_threads_are_there_by_number_and_name() {
    let capture = testing::slow_movement();
    let packets = decoded(&capture, &CaptureCause::Operator);
    let tracks = descriptors(&packets);
    let process = tracks.iter().find(|track| track.process.is_some()).unwrap();
    assert_eq!((process.process.pid(), process.process.process_name()), (4711, "throng"));
    let threads: Vec<(i32, i32, &str, bool)> = tracks
        .iter()
        .filter_map(|track| Some((track.thread.as_ref()?, track.parent_uuid() == process.uuid())))
        .map(|(thread, inside)| (thread.pid(), thread.tid(), thread.thread_name(), inside))
        .collect();
    let expected: Vec<(i32, i32, &str, bool)> = capture
        .threads
        .iter()
        .map(|thread| (4711, i32::try_from(thread.tid).unwrap(), thread.name.as_str(), true))
        .collect();
    assert_eq!(threads, expected);
    let mut ids: Vec<u64> = tracks.iter().map(|track| track.uuid()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), tracks.len(), "two tracks have one number");
}

#[test]
fn every_slice_is_there_nested_with_rising_times_under_its_name() {
    let capture = testing::slow_movement();
    let packets = decoded(&capture, &testing::overrun_of_slow_movement());
    for (thread, n) in capture.threads.iter().zip(1..) {
        let mut expected: Vec<(String, u64, u64)> = thread
            .slices
            .iter()
            .map(|slice| (scope_name(&capture, slice.scope).to_owned(), slice.begin_ns, slice.end_ns))
            .collect();
        let mut played = played(&packets, n * THREAD_TRACKS);
        expected.sort();
        played.sort();
        assert_eq!(played, expected, "{}", thread.name);
    }
}

#[test]
fn packets_with_times_are_in_order_of_time() {
    let packets = decoded(&testing::slow_movement(), &testing::overrun_of_slow_movement());
    let times: Vec<u64> = packets.iter().filter_map(event).map(|(at_ns, _)| at_ns).collect();
    assert!(times.is_sorted() && times.len() > 10);
}

#[test]
fn numbers_and_their_labels_are_annotations() {
    let packets = decoded(&testing::slow_movement(), &CaptureCause::Operator);
    let annotation_names: BTreeMap<u64, &str> = packets[0]
        .interned_data
        .debug_annotation_names
        .iter()
        .map(|name| (name.iid(), name.name()))
        .collect();
    let names = names(&packets);
    let frame = packets
        .iter()
        .filter_map(event)
        .find(|(_, event)| event.name_field.is_some() && name_of(event, &names) == "world.frame")
        .unwrap()
        .1;
    let said: Vec<(&str, u64, &str)> = frame
        .debug_annotations
        .iter()
        .map(|note| (annotation_names[&note.name_iid()], note.uint_value(), note.string_value()))
        .collect();
    assert_eq!(said, [("world", 0, ""), ("name", 0, "Harbour")]);
}

#[test]
fn the_triggering_overrun_is_marked_under_its_thread() {
    let packets = decoded(&testing::slow_movement(), &testing::overrun_of_slow_movement());
    let marks: Vec<(u64, String)> = packets
        .iter()
        .filter_map(event)
        .filter(|(_, event)| event.type_() == Type::TYPE_INSTANT)
        .map(|(at_ns, event)| (at_ns, name_of(event, &BTreeMap::new())))
        .collect();
    let CaptureCause::Overrun(overrun) = testing::overrun_of_slow_movement() else { unreachable!() };
    assert_eq!(marks, [(overrun.at_ns, "world.movement took 40.000 ms, limit 20.000 ms".to_owned())]);
}

#[test]
fn the_kernel_s_figures_are_counters_of_what_happened_between_samples() {
    let sample = |at_ns, what, value| KernelSample { at_ns, what, value };
    let thread = ThreadRecord {
        name: "shard-0".into(),
        tid: 7,
        samples: vec![
            sample(1_000, SampleKind::RunNs, 500),
            sample(1_000, SampleKind::MinorFaults, 3),
            sample(2_000, SampleKind::RunNs, 750),
            sample(2_000, SampleKind::MinorFaults, 10),
            sample(3_000, SampleKind::RunNs, 1_750),
        ],
        ..ThreadRecord::default()
    };
    let capture = Capture { end_ns: 4_000, threads: vec![thread], ..Capture::default() };
    let packets = decoded(&capture, &CaptureCause::Operator);
    let counters: BTreeMap<u64, String> = descriptors(&packets)
        .into_iter()
        .filter(|track| track.counter.is_some())
        .map(|track| (track.uuid(), track.name().to_owned()))
        .collect();
    let values: Vec<(&str, u64, f64)> = packets
        .iter()
        .filter_map(event)
        .map(|(at_ns, event)| match event.counter_value_field {
            Some(Counter_value_field::DoubleCounterValue(value)) => {
                (counters[&event.track_uuid()].as_str(), at_ns, value)
            }
            _ => panic!("not a counter"),
        })
        .collect();
    assert_eq!(
        values,
        [("shard-0 run", 1_000, 25.0), ("shard-0 minor faults", 1_000, 7.0), ("shard-0 run", 2_000, 100.0)]
    );
}

#[test]
fn a_scope_that_was_still_open_begins_and_does_not_end() {
    let mut capture = testing::slow_movement();
    capture.threads[0].open.push(crate::recorder::OpenScope {
        scope: 0,
        begin_ns: capture.end_ns - 5,
        arg: 0,
    });
    let packets = decoded(&capture, &CaptureCause::Operator);
    let of_kind = |kind| packets.iter().filter_map(event).filter(|(_, event)| event.type_() == kind).count();
    assert_eq!(of_kind(Type::TYPE_SLICE_BEGIN), of_kind(Type::TYPE_SLICE_END) + 1);
}
