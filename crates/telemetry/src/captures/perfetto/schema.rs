//! Messages of Perfetto's trace format, restricted to the fields written here.
//!
//! Numbers and names are those of `protos/perfetto/trace/` in Perfetto's source. The tests decode our output with the whole
//! schema, generated from there, so a wrong number fails. Perfetto documents each message and field in the `.proto` files.

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TraceFile {
    #[prost(message, repeated, tag = "1")]
    pub(crate) packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub(crate) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(crate) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, boxed, tag = "12")]
    pub(crate) interned_data: Option<Box<InternedData>>,
    #[prost(uint32, optional, tag = "13")]
    pub(crate) sequence_flags: Option<u32>,
    #[prost(oneof = "Data", tags = "6, 11, 60")]
    pub(crate) data: Option<Data>,
}

impl TracePacket {
    /// Names interned before are void from this packet on.
    pub(crate) const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
    /// The packet refers to interned names.
    pub(crate) const SEQ_NEEDS_INCREMENTAL_STATE: u32 = 2;
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Data {
    #[prost(message, tag = "6")]
    ClockSnapshot(ClockSnapshot),
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(crate) clocks: Vec<SnapshotClock>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotClock {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) timestamp: Option<u64>,
}

impl SnapshotClock {
    pub(crate) const REALTIME: u32 = 1;
    pub(crate) const MONOTONIC: u32 = 3;
    /// Default clock of packets' timestamps.
    pub(crate) const BOOTTIME: u32 = 6;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(crate) process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub(crate) thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(crate) counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub(crate) pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub(crate) process_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub(crate) pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub(crate) thread_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CounterDescriptor {
    #[prost(int32, optional, tag = "3")]
    pub(crate) unit: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub(crate) unit_name: Option<String>,
}

impl CounterDescriptor {
    pub(crate) const UNIT_COUNT: i32 = 2;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(crate) debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    pub(crate) r#type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub(crate) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(crate) track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    pub(crate) name: Option<String>,
    #[prost(double, optional, tag = "44")]
    pub(crate) double_counter_value: Option<f64>,
}

impl TrackEvent {
    pub(crate) const SLICE_BEGIN: i32 = 1;
    pub(crate) const SLICE_END: i32 = 2;
    pub(crate) const INSTANT: i32 = 3;
    pub(crate) const COUNTER: i32 = 4;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub(crate) uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    pub(crate) string_value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(crate) event_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) debug_annotation_names: Vec<InternedString>,
}

/// `EventName` and `DebugAnnotationName`, which have equal fields.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InternedString {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
}
