//! Tunables of a running server: keys of the configuration that take effect at once, and the limits of scopes.
//!
//! `POST /v1/tune` sets one; it lasts until the server ends, or, if the operator keeps it, is written to `DATA/tuning.toml`, which the
//! next start applies on top of the configuration.

use super::{AgentUpdateFilter, CapturesSection, Config, Gateway, Key, KeyKind, ObjectsSection};

use data_dir::{DataDir, DataDirError};
use figment::value::Value;
use gateway::shard::{FilterMode, Packing, Sending};
use operator_api::{Tunable, Tuner};
use region_threads::keepers::ObjectTunables;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use telemetry::captures::{CaptureLimits, Saver, Trigger};
use telemetry::recorder::Recorder;

const FILTER: &str = "gateway.agent_update_filter";
/// Keys of section `gateway` on pace and packing, in the order of [`Tunables::sending`].
const SENDING: [&str; 8] = [
    "terse_per_datagram",
    "full_per_datagram",
    "objects_per_datagram",
    "datagram_bytes",
    "send_hz",
    "reuse_buffers",
    "object_share",
    "plain_cache",
];
/// Keys on objects, in the order of [`Tunables::objects`].
const OBJECTS: [&str; 7] = [
    "objects.rez_per_s",
    "objects.temporary_s",
    "objects.link_max",
    "objects.cache_after_s",
    "store.refuse_edits_after_s",
    "store.save_ms",
    "store.moving_bytes_per_s",
];
const MEMORY: &str = "gateway.memory_max_mib";
const LOAD: &str = "instances.load_max_percent";
const HORIZON: &str = "recorder.horizon_s";
/// Prefix and suffix of the keys of scopes' limits; the scope's name stands between.
const LIMIT: (&str, &str) = ("recorder.limit.", "_us");
/// File of the values that survive a restart.
const FILE: &str = "tuning.toml";
/// Maximum number of limits of scopes that have not been entered yet; more are refused. The recorder's table has as many places.
const AWAITED_MAX: usize = 512;
/// Longest limit of a scope: an hour.
const LIMIT_US_MAX: i128 = 3_600_000_000;

const FILTERS: [FilterMode; 3] = [FilterMode::Off, FilterMode::Equality, FilterMode::Significance];

/// Reasons for which values kept by earlier runs are not applied.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// The file.
    #[error("{FILE} in the data directory cannot be read; mend it or remove it")]
    Unreadable(#[source] std::io::Error),
    /// Its form.
    #[error("{FILE} in the data directory is no TOML; mend it or remove it: {0}")]
    Malformed(String),
    /// One of its values.
    #[error("`{key}` = {value} ({FILE} in the data directory): {why}")]
    Value {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The allowed values.
        why: String,
    },
}

/// Everything that may change.
#[derive(Debug)]
pub(crate) struct Tunables {
    /// A [`FilterMode`] by its place in [`FILTERS`]; threads look at it at every turn.
    filter: AtomicU8,
    /// Values of the keys in [`SENDING`], which shards read at every turn; flags are 0 and 1.
    sending: [AtomicU32; SENDING.len()],
    /// Values of the keys in [`OBJECTS`].
    objects: [AtomicU32; OBJECTS.len()],
    /// 0: as the control group says.
    memory_max_mib: AtomicU32,
    instances_load_max_percent: AtomicU32,
    recorder: Recorder,
    captures: Mutex<BTreeMap<Trigger, CaptureLimits>>,
    /// Limits of scopes by name that have not been entered yet.
    awaited: Mutex<BTreeMap<String, Option<Duration>>>,
    /// Resident bytes of the server before the first visitor; 0 until that is known.
    empty_bytes: AtomicU64,
    /// Contents of the file.
    kept: Mutex<BTreeMap<String, toml::Value>>,
}

impl Tunables {
    /// As the configuration has it.
    pub(crate) fn new(config: &Config, recorder: Recorder) -> Self {
        let gateway = &config.gateway;
        let sending = [
            gateway.terse_per_datagram,
            gateway.full_per_datagram,
            gateway.objects_per_datagram,
            gateway.datagram_bytes,
            gateway.send_hz,
            gateway.reuse_buffers.into(),
            gateway.object_share,
            gateway.plain_cache.into(),
        ];
        let ObjectsSection { rez_per_s, temporary_s, link_max, cache_after_s } = config.objects;
        let store = &config.store;
        let (refuse_after_s, save_ms) = (store.refuse_edits_after_s, store.save_ms);
        let moving = store.moving_bytes_per_s;
        let objects = [rez_per_s, temporary_s, link_max, cache_after_s, refuse_after_s, save_ms, moving];
        let tunables = Self {
            filter: AtomicU8::new(0),
            sending: sending.map(AtomicU32::new),
            objects: objects.map(AtomicU32::new),
            memory_max_mib: AtomicU32::new(gateway.memory_max_mib),
            instances_load_max_percent: AtomicU32::new(config.instances.load_max_percent),
            recorder,
            captures: Mutex::new(config.captures.limits()),
            awaited: Mutex::default(),
            empty_bytes: AtomicU64::new(0),
            kept: Mutex::default(),
        };
        tunables.set_filter(config.gateway.agent_update_filter);
        tunables
    }

    /// Applies values kept by earlier runs. An unknown key is skipped with a line in the log.
    ///
    /// # Errors
    /// If the file cannot be read, or has an invalid value.
    pub(crate) fn restore(&self, data: &DataDir) -> Result<(), TuningError> {
        let text = match data.read(FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(TuningError::Unreadable(error)),
        };
        let values: BTreeMap<String, toml::Value> =
            toml::from_str(&text).map_err(|error| TuningError::Malformed(error.to_string()))?;
        for (key, value) in &values {
            let json = serde_json::to_value(value).expect("TOML becomes JSON");
            if scope_of(key).is_none() && settable(key).is_none() {
                tracing::warn!(key, value = %json, FILE, "not tuned: this version has no such key");
                continue;
            }
            self.tune(key, &json).map_err(|why| TuningError::Value {
                key: key.clone(),
                value: json.to_string(),
                why,
            })?;
            tracing::info!(key, value = %json, FILE, "tuned");
        }
        *lock(&self.kept) = values;
        Ok(())
    }

    /// Sets one key.
    ///
    /// # Errors
    /// A sentence for the operator, when the key cannot be set at run time or the value is not one of its values.
    pub(crate) fn tune(&self, key: &str, value: &serde_json::Value) -> Result<(), String> {
        if let Some(scope) = scope_of(key) {
            return self.set_limit(scope, value);
        }
        let known = settable(key).ok_or_else(|| format!("{key:?} cannot be set while the server runs."))?;
        let value = Value::serialize(value).map_err(|error| error.to_string())?;
        if !known.kind.allows(&value) {
            return Err(format!("{key} must be {}.", known.kind));
        }
        if let Some(place) = place_in_sending(key) {
            let value = value.to_bool().map_or_else(|| whole(&value), u64::from);
            self.sending[place].store(value as u32, Ordering::Relaxed);
            return Ok(());
        }
        if let Some(place) = OBJECTS.iter().position(|&known| known == key) {
            self.objects[place].store(whole(&value) as u32, Ordering::Relaxed);
            return Ok(());
        }
        match key {
            FILTER => self.set_filter(value.deserialize().expect("an allowed word")),
            MEMORY => self.memory_max_mib.store(whole(&value) as u32, Ordering::Relaxed),
            LOAD => self.instances_load_max_percent.store(whole(&value) as u32, Ordering::Relaxed),
            HORIZON => self.recorder.set_horizon(Duration::from_secs(whole(&value))),
            _ => self.set_captures(known.name, whole(&value)),
        }
        Ok(())
    }

    /// Sets a key for the next starts too.
    ///
    /// # Errors
    /// As [`tune`](Self::tune), and when the next start would refuse the value. When the file cannot be written; the key is set then all the
    /// same.
    pub(crate) fn tune_for_good(
        &self,
        key: &str,
        value: &serde_json::Value,
        data: &DataDir,
    ) -> Result<(), String> {
        if key == MEMORY {
            self.check_next_start(value)?;
        }
        self.tune(key, value)?;
        let value = toml::Value::try_from(value).map_err(|error| error.to_string())?;
        let mut kept = lock(&self.kept);
        kept.insert(key.to_owned(), value);
        let text = toml::to_string(&*kept).expect("keys and values become TOML");
        let written = data.replace(FILE, &text);
        written.map_err(|error| format!("{key} is set, but not for the next start: {}.", with_cause(&error)))
    }

    /// Records the memory of the server before the first visitor.
    pub(crate) fn note_empty_server(&self, resident_bytes: u64) {
        self.empty_bytes.store(resident_bytes, Ordering::Relaxed);
    }

    /// Refuses a limit of memory with which the server would not start.
    fn check_next_start(&self, value: &serde_json::Value) -> Result<(), String> {
        let empty = self.empty_bytes.load(Ordering::Relaxed);
        match value.as_u64() {
            Some(mib @ 1..) if !is_enough_memory(mib.saturating_mul(1 << 20), empty) => {
                let empty_mib = empty.div_ceil(1 << 20);
                Err(format!(
                    "{MEMORY} = {mib} would keep the server from starting: it took {empty_mib} MiB without visitors, and needs more than ten ninths of that."
                ))
            }
            _ => Ok(()),
        }
    }

    /// All keys with their values. Of scopes that have not been entered yet, only those with a limit.
    pub(crate) fn list(&self) -> Vec<Tunable> {
        let filter = AgentUpdateFilter::from(self.filter());
        let mut values = vec![
            (FILTER.to_owned(), serde_json::to_value(filter).expect("a word becomes JSON")),
            (HORIZON.to_owned(), self.recorder.horizon().as_secs().into()),
            (MEMORY.to_owned(), self.memory_max_mib.load(Ordering::Relaxed).into()),
            (LOAD.to_owned(), self.instances_load_max_percent().into()),
        ];
        for (trigger, limits) in &*lock(&self.captures) {
            let key = |what: &str| format!("captures.{trigger}_{what}");
            values.push((key("quota_mib"), (limits.quota_bytes >> 20).into()));
            values.push((key("interval_s"), limits.interval.as_secs().into()));
        }
        for (name, value) in SENDING.iter().zip(&self.sending) {
            let value = value.load(Ordering::Relaxed);
            let key = format!("{}.{name}", Gateway::SECTION.name);
            let is_flag = settable(&key).is_some_and(|known| known.kind == KeyKind::Flag);
            values.push((key, if is_flag { (value != 0).into() } else { value.into() }));
        }
        for (&key, value) in OBJECTS.iter().zip(&self.objects) {
            values.push((key.to_owned(), value.load(Ordering::Relaxed).into()));
        }
        values.retain(|(key, _)| settable(key).is_some());
        let limit_key = |scope: &str| format!("{}{scope}{}", LIMIT.0, LIMIT.1);
        for scope in self.recorder.capture(Duration::ZERO).scopes {
            values.push((limit_key(&scope.name), (scope.limit_ns.unwrap_or_default() / 1_000).into()));
        }
        for (scope, limit) in &*lock(&self.awaited) {
            let limit_us = limit.unwrap_or_default().as_micros() as u64;
            values.push((limit_key(scope), limit_us.into()));
        }
        let kept = lock(&self.kept);
        let mut tunables: Vec<Tunable> = values
            .into_iter()
            .map(|(key, value)| Tunable { kept: kept.contains_key(&key), key, value })
            .collect();
        tunables.sort_by(|a, b| a.key.cmp(&b.key));
        tunables
    }

    pub(crate) fn filter(&self) -> FilterMode {
        FILTERS[usize::from(self.filter.load(Ordering::Relaxed))]
    }

    pub(crate) fn sending(&self) -> Sending {
        let [terse, full, objects, bytes, hz, reuses, object_percent, plain_cache] =
            self.sending.each_ref().map(|value| value.load(Ordering::Relaxed));
        let packing = Packing {
            terse: terse as usize,
            full: full as usize,
            objects: objects as usize,
            bytes: bytes as usize,
            plain_cache: plain_cache != 0,
        };
        Sending { packing, hz, reuses_buffers: reuses != 0, object_percent }
    }

    /// Bounds of objects, and times of their saves and caches.
    pub(crate) fn objects(&self) -> ObjectTunables {
        let [rez_per_s, temporary_s, link_max, cache_after_s, refuse_edits_after_s, save_ms, moving] =
            self.objects.each_ref().map(|value| value.load(Ordering::Relaxed));
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        ObjectTunables {
            rez_per_s,
            temporary_s,
            link_max,
            cache_after: seconds(cache_after_s),
            refuse_edits_after: (refuse_edits_after_s > 0).then(|| seconds(refuse_edits_after_s)),
            save: Duration::from_millis(save_ms.into()),
            moving_bytes_per_s: moving.into(),
        }
    }

    /// Memory that the process may have, if the operator has said.
    pub(crate) fn memory_max_bytes(&self) -> Option<u64> {
        let mib = self.memory_max_mib.load(Ordering::Relaxed);
        (mib > 0).then_some(u64::from(mib) << 20)
    }

    /// Maximum share of the workers' time that worlds may need for further instances to be resumed; 0 is without limit.
    pub(crate) fn instances_load_max_percent(&self) -> u32 {
        self.instances_load_max_percent.load(Ordering::Relaxed)
    }

    /// Gives the saver its limits, and scopes theirs that were entered since the limit was set. For the recorder's
    /// thread, now and then.
    pub(crate) fn refresh(&self, saver: &mut Saver) {
        for (&trigger, &limits) in &*lock(&self.captures) {
            saver.set_limits(trigger, limits);
        }
        lock(&self.awaited).retain(|scope, limit| !self.recorder.set_limit(scope, *limit));
    }

    fn set_filter(&self, filter: AgentUpdateFilter) {
        let mode = FilterMode::from(filter);
        let place = FILTERS.iter().position(|&known| known == mode).expect("every mode is in the list");
        self.filter.store(u8::try_from(place).expect("a short list"), Ordering::Relaxed);
    }

    fn set_captures(&self, name: &str, value: u64) {
        let (trigger, what) = name.split_once('_').expect("keys of captures begin with their trigger");
        let trigger: Trigger = trigger.parse().expect("keys of captures begin with their trigger");
        let mut captures = lock(&self.captures);
        let limits = captures.get_mut(&trigger).expect("every trigger has limits");
        match what {
            "quota_mib" => limits.quota_bytes = value << 20,
            "interval_s" => limits.interval = Duration::from_secs(value),
            other => unreachable!("captures have no key {other}"),
        }
    }

    fn set_limit(&self, scope: &str, value: &serde_json::Value) -> Result<(), String> {
        let limit_us = value.as_u64().filter(|&us| i128::from(us) <= LIMIT_US_MAX).ok_or_else(|| {
            format!("The limit of a scope must be a whole number from 0 to {LIMIT_US_MAX}; 0 is none.")
        })?;
        let limit = (limit_us > 0).then(|| Duration::from_micros(limit_us));
        if !self.recorder.set_limit(scope, limit) {
            let mut awaited = lock(&self.awaited);
            if awaited.len() >= AWAITED_MAX {
                return Err("Too many scopes have limits that were never entered.".into());
            }
            awaited.insert(scope.to_owned(), limit);
        }
        Ok(())
    }
}

/// True if a limit leaves an empty server of this size room for visitors: logins are refused from 90 % of it on.
pub(crate) const fn is_enough_memory(limit_bytes: u64, empty_bytes: u64) -> bool {
    empty_bytes < limit_bytes / 10 * 9
}

/// The tunables with the directory in which they are kept.
pub(crate) struct KeptTuner {
    pub(crate) tunables: Arc<Tunables>,
    pub(crate) data: Arc<DataDir>,
}

impl Tuner for KeptTuner {
    fn list(&self) -> Vec<Tunable> {
        self.tunables.list()
    }

    fn set(&self, key: &str, value: &serde_json::Value, persist: bool) -> Result<(), String> {
        if persist {
            self.tunables.tune_for_good(key, value, &self.data)
        } else {
            self.tunables.tune(key, value)
        }
    }
}

/// The key of the configuration that this is, if it can be set while the server runs.
fn settable(key: &str) -> Option<&'static Key> {
    let (section, name) = key.split_once('.')?;
    let now = matches!(key, FILTER | HORIZON | LOAD | MEMORY)
        || place_in_sending(key).is_some()
        || OBJECTS.contains(&key)
        || section == CapturesSection::SECTION.name;
    let section = Config::SECTIONS.into_iter().find(|known| now && known.name == section)?;
    section.keys.iter().find(|known| known.name == name)
}

/// Index of a key in [`SENDING`].
fn place_in_sending(key: &str) -> Option<usize> {
    let (section, name) = key.split_once('.')?;
    (section == Gateway::SECTION.name).then(|| SENDING.iter().position(|&known| known == name))?
}

/// The scope whose limit this key sets.
fn scope_of(key: &str) -> Option<&str> {
    key.strip_prefix(LIMIT.0)?.strip_suffix(LIMIT.1).filter(|scope| !scope.is_empty())
}

fn whole(value: &Value) -> u64 {
    value.to_u128().and_then(|n| u64::try_from(n).ok()).expect("a whole number in its range")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_cause(error: &DataDirError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use telemetry::Metrics;
    use telemetry::captures::{CaptureMetrics, CaptureStore};
    use telemetry::recorder::{RecorderConfig, Scope};

    fn tunables() -> Tunables {
        Tunables::new(&Config::default(), Recorder::off())
    }

    #[test]
    fn the_filter_is_set_by_the_values_of_its_key_and_nothing_else() {
        let tunables = tunables();
        assert_eq!(tunables.filter(), FilterMode::Significance);
        tunables.tune(FILTER, &json!("off")).unwrap();
        assert_eq!(tunables.filter(), FilterMode::Off);
        for wrong in [json!("on"), json!(1), json!(null)] {
            let why = tunables.tune(FILTER, &wrong).unwrap_err();
            assert!(why.contains("must be \"off\", \"equality\" or \"significance\""), "{why}");
        }
        assert_eq!(tunables.filter(), FilterMode::Off);
        for fixed in ["gateway.shards", "captures.noise_quota_mib", "", "recorder.limit._us"] {
            assert!(tunables.tune(fixed, &json!(2)).unwrap_err().contains(fixed), "{fixed}");
        }
    }

    #[test]
    fn sending_to_clients_is_set_key_by_key() {
        let tunables = tunables();
        assert_eq!(tunables.sending().hz, Config::default().gateway.send_hz);
        assert_eq!(tunables.sending().packing.terse_blocks(), Packing::default().terse_blocks());
        let values =
            [json!(1), json!(2), json!(3), json!(400), json!(5), json!(false), json!(40), json!(true)];
        for (key, value) in SENDING.iter().zip(values) {
            let key = format!("gateway.{key}");
            tunables.tune(&key, &value).unwrap();
            assert_eq!(
                tunables.list().into_iter().find(|one| one.key == key).map(|one| one.value),
                Some(value)
            );
        }
        let packing = Packing { terse: 1, full: 2, objects: 3, bytes: 400, plain_cache: true };
        assert_eq!(tunables.sending(), Sending { packing, hz: 5, reuses_buffers: false, object_percent: 40 });
        for (key, wrong) in
            [("datagram_bytes", json!(1_500)), ("send_hz", json!(0)), ("reuse_buffers", json!(1))]
        {
            assert!(tunables.tune(&format!("gateway.{key}"), &wrong).is_err(), "{key}");
        }
    }

    #[test]
    fn bounds_of_objects_are_set_key_by_key() {
        let tunables = tunables();
        let config = Config::default();
        assert_eq!(tunables.objects().rez_per_s, config.objects.rez_per_s);
        for (key, value) in OBJECTS.iter().zip([7, 8, 9, 10, 0, 11, 2_048]) {
            tunables.tune(key, &json!(value)).unwrap();
            let listed = tunables.list().into_iter().find(|one| one.key == *key);
            assert_eq!(listed.map(|one| one.value), Some(json!(value)), "{key}");
        }
        let expected = ObjectTunables {
            rez_per_s: 7,
            temporary_s: 8,
            link_max: 9,
            cache_after: Duration::from_secs(10),
            refuse_edits_after: None,
            save: Duration::from_millis(11),
            moving_bytes_per_s: 2_048,
        };
        assert_eq!(tunables.objects(), expected);
        for (key, wrong) in [("objects.link_max", 257), ("objects.temporary_s", 0)] {
            assert!(tunables.tune(key, &json!(wrong)).is_err(), "{key}");
        }
    }

    #[test]
    fn the_memory_allowed_is_a_number_or_the_control_groups() {
        let tunables = tunables();
        assert_eq!(tunables.memory_max_bytes(), None);
        tunables.tune(MEMORY, &json!(3)).unwrap();
        assert_eq!(tunables.memory_max_bytes(), Some(3 << 20));
        tunables.tune(MEMORY, &json!(0)).unwrap();
        assert_eq!(tunables.memory_max_bytes(), None);
        assert!(tunables.tune(MEMORY, &json!("much")).is_err());
    }

    #[test]
    fn quotas_and_intervals_reach_the_saver() {
        let tunables = tunables();
        let mut saver =
            Saver::new(CaptureStore::new("/nowhere".into()), CaptureMetrics::new(&Metrics::new()));
        tunables.tune("captures.frame_quota_mib", &json!(3)).unwrap();
        tunables.tune("captures.frame_interval_s", &json!(77)).unwrap();
        tunables.refresh(&mut saver);
        let limits = CaptureLimits { quota_bytes: 3 << 20, interval: Duration::from_secs(77) };
        assert_eq!(saver.limits(Trigger::Frame), limits);
        assert_ne!(saver.limits(Trigger::System), limits);
        assert!(tunables.tune("captures.frame_quota_mib", &json!(-1)).is_err());
    }

    #[test]
    fn a_limit_waits_for_a_scope_without_an_entry() {
        static LATER: Scope = Scope::new("test.tuned_later");
        let recorder = Recorder::start(RecorderConfig::default()).unwrap();
        let tunables = Tunables::new(&Config::default(), recorder);
        let mut saver =
            Saver::new(CaptureStore::new("/nowhere".into()), CaptureMetrics::new(&Metrics::new()));
        tunables.tune("recorder.limit.test.tuned_later_us", &json!(1_500)).unwrap();
        tunables.refresh(&mut saver);
        let limit = || {
            let scopes = recorder.capture(Duration::ZERO).scopes;
            scopes.into_iter().find(|scope| scope.name == LATER.name()).and_then(|scope| scope.limit_ns)
        };
        assert_eq!(limit(), None);
        std::thread::spawn(move || {
            recorder.thread("t").install();
            drop(LATER.enter(0));
        })
        .join()
        .unwrap();
        tunables.refresh(&mut saver);
        assert_eq!(limit(), Some(1_500_000));
        let listed = tunables.list();
        let one = listed.iter().find(|one| one.key == "recorder.limit.test.tuned_later_us").unwrap();
        assert_eq!((&one.value, one.kept), (&json!(1_500), false));
        tunables.tune("recorder.limit.test.tuned_later_us", &json!(0)).unwrap();
        assert_eq!(limit(), None);
    }

    #[test]
    fn persisted_values_are_there_at_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        let before = tunables();
        before.tune_for_good(FILTER, &json!("equality"), &data).unwrap();
        before.tune_for_good("captures.scope_interval_s", &json!(60), &data).unwrap();
        before.tune("captures.frame_interval_s", &json!(90)).unwrap();
        assert!(before.tune_for_good(FILTER, &json!("on"), &data).is_err());

        let after = tunables();
        after.restore(&data).unwrap();
        assert_eq!(after.filter(), FilterMode::Equality);
        let kept: Vec<String> = after.list().into_iter().filter(|one| one.kept).map(|one| one.key).collect();
        assert_eq!(kept, ["captures.scope_interval_s", FILTER]);
        let limits = lock(&after.captures);
        assert_eq!(limits[&Trigger::Scope].interval, Duration::from_secs(60));
        assert_eq!(limits[&Trigger::Frame], Config::default().captures.limits()[&Trigger::Frame]);
    }

    #[test]
    fn a_limit_of_memory_that_the_next_start_would_refuse_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        let tunables = tunables();
        tunables.note_empty_server(60 << 20);
        let refused = tunables.tune_for_good(MEMORY, &json!(4), &data).unwrap_err();
        assert!(refused.contains("would keep the server from starting"), "{refused}");
        assert_eq!(tunables.memory_max_bytes(), None, "nor is it set");
        tunables.tune(MEMORY, &json!(4)).unwrap();
        assert_eq!(tunables.memory_max_bytes(), Some(4 << 20), "until the server ends it may be");
        tunables.tune_for_good(MEMORY, &json!(0), &data).unwrap();
        tunables.tune_for_good(MEMORY, &json!(100), &data).unwrap();
    }

    #[test]
    fn a_file_with_keys_of_another_version_is_no_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        data.replace(FILE, "\"gateway.gone\" = 3\n\"gateway.agent_update_filter\" = \"off\"\n").unwrap();
        let after = tunables();
        after.restore(&data).unwrap();
        assert_eq!(after.filter(), FilterMode::Off);
    }

    #[test]
    fn a_broken_file_is_refused_with_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        for (text, expected) in [
            ("= what?", "tuning.toml in the data directory is no TOML"),
            (
                "\"gateway.send_hz\" = 1000",
                "`gateway.send_hz` = 1000 (tuning.toml in the data directory): gateway.send_hz must be",
            ),
            ("\"recorder.limit.shard.client_us\" = -1", "`recorder.limit.shard.client_us` = -1"),
        ] {
            data.replace(FILE, text).unwrap();
            let refused = tunables().restore(&data).unwrap_err().to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
