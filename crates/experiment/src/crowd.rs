//! `crowd`: thousands of moving avatars in one region. What they cost the server, and how fresh each of them is to the others.
//!
//! Two servers, one after the other. The first has limits as the targets name them (10 Hz, 128 KiB/s for a client, the nearest
//! 200 shown) and a region of 512 m with 10,000 boxes: a thousand walkers, then five thousand, then the same on a plaza of 128 m.
//! The second shows everybody to everybody without a limit, and leaves no movement out: a thousand walkers who are all sent
//! all.
//!
//! Observers write down what they are shown; it is laid beside a recording of the world ([`crate::freshness`]). The recording's
//! thread is no part of what the server costs: it runs for the experiment.

use crate::bots::{Bots, BotsReport};
use crate::budget::{self, Budget, Limit, budget};
use crate::child::Running;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::freshness::{self, BANDS_M, Freshness, Kind, Source, WrongFrom};
use crate::meter::{Sampler, Window, least};
use crate::server::Server;
use crate::{Experiment, Run, clock};
use bots::views::monotonic_ns;
use report::{Column, Section, Table};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "crowd",
    question: "What do thousands of moving avatars in one region cost, and how fresh are they to each other?",
    run,
    figures,
};

/// What a client may be sent at most in a second.
const CAP_BYTES_PER_S: f64 = 131_072.0;
/// Avatars that a client is shown.
const VISIBLE: u32 = 200;
/// Bytes and asked-for bits that are no limit.
pub(crate) const NO_CAP_BYTES_PER_S: u32 = 16_777_216;
pub(crate) const NO_THROTTLE_BITS_PER_S: &str = "134000000";
/// Bits that a client asks for who takes whatever the cap allows.
const THROTTLE_BITS_PER_S: &str = "1536000";

/// Threads that have their part in every tick, by how their names begin: from the world's step to the datagram.
const TICK_THREADS: [&str; 3] = ["world-", "replica", "shard-"];

/// How many there are of each kind.
struct Size {
    few: u32,
    many: u32,
    observers: u32,
    lossy: u32,
    arriving: u32,
    boxes: u32,
}

const SIZE: Size = Size { few: 1_000, many: 5_000, observers: 100, lossy: 40, arriving: 20, boxes: 10_000 };
const SIZE_QUICK: Size = Size { few: 12, many: 24, observers: 4, lossy: 4, arriving: 4, boxes: 200 };

/// How long is measured, quick or not.
const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_QUICK: Duration = Duration::from_secs(4);
/// A shorter one, where only the cost is looked at.
const WINDOW_COST: Duration = Duration::from_secs(40);
/// How long a crowd takes to spread out after it came, and to gather from the corners of the region.
const SPREAD: Duration = Duration::from_secs(20);
const GATHER: Duration = Duration::from_secs(100);
const GATHER_QUICK: Duration = Duration::from_secs(1);
/// How much longer than the window the world is recorded: readings wait for the server's next export.
const RECORD_LONGER: Duration = Duration::from_secs(20);
const RECORD_LONGER_QUICK: Duration = Duration::from_secs(8);
/// How long an observer arrives, and what it is shown is not judged.
const SETTLE: Duration = Duration::from_secs(10);
/// How long all clients may take until they have what stands around them.
const SCENERY_MAX: Duration = Duration::from_secs(120);

const BUDGETS: [Budget; 19] = [
    budget("circuits_lost", "circuits lost", "", Limit::AtMost(0.0)),
    budget("dilation_min", "lowest dilation", "", Limit::AtLeast(0.95)),
    budget(
        "cpu_ns_per_update_all_1000",
        "server CPU per delivered update, 1,000 all see all",
        "ns",
        Limit::AtMostOfL(40.0),
    ),
    budget("cpu_l_per_packet_all_1000", "server CPU per sent packet, same", "L", Limit::AtMost(0.4)),
    budget("server_cores_5000", "server, 5,000 all over the region", "cores", Limit::AtMostOfL(1.0)),
    budget("server_cores_5000_plaza", "server, 5,000 on a plaza", "cores", Limit::AtMostOfL(1.2)),
    budget("cost_ratio_5000_1000", "cost of a client among 5,000 ÷ among 1,000", "", Limit::AtMost(1.3)),
    budget("world_tick_ms_p99_5000", "world step, p99", "ms", Limit::AtMost(10.0)),
    budget("visible_count_5000", "avatars visible, p10 over scenes", "", Limit::AtLeast(195.0)),
    budget("near20_error_m_p95_5000", "position error of the nearest 20, p95", "m", Limit::AtMost(0.3)),
    budget("near20_age_ms_p99_5000", "age of the nearest 20, p99", "ms", Limit::AtMost(250.0)),
    budget("stop_error_m_p999", "error after stops with 5 % loss, p99.9", "m", Limit::AtMost(0.5)),
    budget("oldest_visible_s_5000", "oldest avatar of the visible set", "s", Limit::AtMost(5.0)),
    budget("arrival_near50_s_5000", "until the nearest 50 are shown", "s", Limit::AtMost(3.0)),
    budget("cap_ratio_p99", "bytes of a second ÷ cap, p99", "", Limit::AtMost(1.05)),
    budget("blocks_per_datagram", "avatars in a terse datagram", "", Limit::AtLeast(15.0)),
    budget("allocs_per_tick", "heap allocations per tick", "", Limit::AtMost(10.0)),
    budget("faults_per_tick", "page faults per tick", "", Limit::AtMost(1.0)),
    budget("client_kib", "memory of a client", "KiB", Limit::AtMost(57.0)),
];

/// Figures without a budget.
const OTHERS: [&str; 13] = [
    "rate_held",
    "near20_wrong_above_m",
    "near20_wrong_above_deg",
    "bots",
    "server_cores_1000",
    "server_cores_all_1000",
    "updates_all_1000",
    "packets_all_1000",
    "packets_per_client_5000",
    "bytes_per_client_5000",
    "recording_cores",
    "bots_cores_5000",
    "scenes_compared",
];

fn figures() -> Vec<String> {
    let names = BUDGETS.iter().map(|budget| budget.figure).chain(OTHERS);
    names.map(str::to_owned).collect()
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let size = run.pick(&SIZE, &SIZE_QUICK);
    let mut findings = Findings::default();
    findings.figure("bots", size.many.into());
    let capped = capped(run, size, &mut findings)?;
    all_see_all(run, size, &mut findings)?;
    budget::judge(run, &BUDGETS, &mut findings);
    findings.sections.push(capped);
    Ok(findings)
}

/// A crowd's processes: most only walk, some look.
struct Crowd {
    fillers: Bots,
    observers: Bots,
    lossy: Bots,
}

impl Crowd {
    fn start(run: &Run, server: &Server, size: &Size) -> Result<Self, ExperimentError> {
        let start = |name: &str, count: u32, options: &[&str]| {
            let mut all = vec!["--behavior", "walk", "--last-name", name, "--throttle", THROTTLE_BITS_PER_S];
            all.extend(options);
            Bots::start(run, server, name, count, &all)
        };
        let (clear, lossy) = (views(run, "observers"), views(run, "lossy"));
        let (clear, lossy) = (clear.display().to_string(), lossy.display().to_string());
        let (n_clear, n_lossy) = (size.observers.to_string(), size.lossy.to_string());
        Ok(Self {
            fillers: start("fillers", size.many - size.observers - size.lossy - size.arriving, &[])?,
            observers: start("observers", size.observers, &["--observers", &n_clear, "--views", &clear])?,
            lossy: start(
                "lossy",
                size.lossy,
                &["--observers", &n_lossy, "--views", &lossy, "--loss", "0.05"],
            )?,
        })
    }

    /// Observers first, then others until there are so many.
    fn enter(&mut self, size: &Size, count: u32) -> Result<(), ExperimentError> {
        self.observers.command(&format!("enter {}", size.observers))?;
        self.lossy.command(&format!("enter {}", size.lossy))?;
        self.fillers.command(&format!("enter {}", count - size.observers - size.lossy)).map(drop)
    }

    fn command(&mut self, text: &str) -> Result<(), ExperimentError> {
        for bots in [&mut self.fillers, &mut self.observers, &mut self.lossy] {
            bots.command(text)?;
        }
        Ok(())
    }

    fn leave(self) -> Result<Vec<BotsReport>, ExperimentError> {
        [self.fillers, self.observers, self.lossy].into_iter().map(Bots::leave).collect()
    }
}

fn views(run: &Run, name: &str) -> PathBuf {
    run.out.join(format!("{name}.views"))
}

/// Waits until every client has what stands around it: sending that is no part of a steady crowd.
pub(crate) fn await_scenery(
    server: &Server,
    clients: u32,
    findings: &mut Findings,
) -> Result<(), ExperimentError> {
    let ends_at = clock::now() + SCENERY_MAX;
    while clock::now() < ends_at {
        if server.metrics()?.sum("throng_sceneries_filled_total") >= f64::from(clients) {
            return Ok(());
        }
        clock::wait(Duration::from_millis(500));
    }
    findings.failures.push(format!(
        "a window of {clients} began before all of them had what stands around them: {} s were not enough",
        SCENERY_MAX.as_secs()
    ));
    Ok(())
}

fn capped(run: &Run, size: &Size, findings: &mut Findings) -> Result<Section, ExperimentError> {
    let settings = format!(
        "size_m = 512\nboxes = {}\n\n[gateway]\nclient_bytes_per_s = {CAP_BYTES_PER_S}\nsend_hz = 10\nvisible_max = {VISIBLE}\n",
        size.boxes
    );
    let server = Server::start_with(run, "server", "", &settings)?;
    let sampler = Sampler::start(server.pid())?;
    let mut crowd = Crowd::start(run, &server, size)?;

    crowd.enter(size, size.few)?;
    await_scenery(&server, size.few, findings)?;
    clock::wait(run.pick(SPREAD, Duration::ZERO));
    let few = Window::of(&server, run.pick(WINDOW_COST, WINDOW_QUICK))?;

    crowd.enter(size, size.many - size.arriving)?;
    await_scenery(&server, size.many - size.arriving, findings)?;
    clock::wait(run.pick(SPREAD, Duration::ZERO));
    let world = run.out.join("world.recording");
    match fs::remove_file(&world) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(ExperimentError::File { path: world, source: error });
        }
        _ => {}
    }
    let window = run.pick(WINDOW, WINDOW_QUICK);
    let mut recording: Running =
        server.record(run, (window + run.pick(RECORD_LONGER, RECORD_LONGER_QUICK)).as_secs(), &world)?;
    // Its first step may come a moment later.
    clock::wait(Duration::from_secs(1));
    let arriving_views = views(run, "arriving");
    let (path, n_arriving) = (arriving_views.display().to_string(), size.arriving.to_string());
    let options =
        ["--behavior", "walk", "--last-name", "arriving", "--observers", &n_arriving, "--views", &path];
    let mut arriving = Bots::start(run, &server, "arriving", size.arriving, &options)?;
    crowd.command("mark")?;
    let begin_ns = monotonic_ns();
    arriving.command(&format!("enter {}", size.arriving))?;
    if run.quick {
        // In seconds nobody may come to rest by themselves, and stops are to be measured.
        crowd.command("behavior stand")?;
    }
    let many = Window::of(&server, window)?;
    let end_ns = monotonic_ns();
    server.keep_metrics()?;
    let mut reports = Vec::new();
    crowd.command("behavior plaza")?;
    reports.push(arriving.leave()?);
    clock::wait(run.pick(GATHER, GATHER_QUICK));
    let status = recording.wait()?;
    if !status.success() {
        return Err(recording.error(format!("ended with {status}")));
    }
    let plaza = Window::of(&server, run.pick(WINDOW_COST, WINDOW_QUICK))?;
    reports.extend(crowd.leave()?);
    let samples = sampler.finish();
    server.stop()?;

    let sources = [
        Source { views: &views(run, "observers"), kind: Kind::Clear },
        Source { views: &views(run, "lossy"), kind: Kind::Lossy },
        Source { views: &arriving_views, kind: Kind::Arriving },
    ];
    let fresh =
        freshness::measure(&world, &sources, begin_ns..end_ns, run.pick(SETTLE, Duration::ZERO), None)?;
    for path in [&world, &views(run, "observers"), &views(run, "lossy"), &arriving_views] {
        // They are hundreds of megabytes, and everything that is wanted of them is in the report.
        let _ = fs::remove_file(path);
    }
    costs(size, &few, &many, &plaza, findings);
    of_bots(&reports, findings);
    let section = of_freshness(&fresh, findings);
    findings.usage("server", "The server over the run", &samples);
    Ok(section)
}

fn all_see_all(run: &Run, size: &Size, findings: &mut Findings) -> Result<(), ExperimentError> {
    let settings = format!(
        "size_m = 512\nboxes = {}\n\n[gateway]\nclient_bytes_per_s = {NO_CAP_BYTES_PER_S}\nsend_hz = 10\nvisible_max = 0\n\
         dead_reckoning = false\n",
        size.boxes
    );
    let server = Server::start_with(run, "server-all", "", &settings)?;
    let sampler = Sampler::start(server.pid())?;
    let options = ["--behavior", "walk", "--last-name", "all", "--throttle", NO_THROTTLE_BITS_PER_S];
    let mut bots = Bots::start(run, &server, "all", size.few, &options)?;
    bots.command(&format!("enter {}", size.few))?;
    await_scenery(&server, size.few, findings)?;
    clock::wait(run.pick(SPREAD, Duration::ZERO));
    let window = Window::of(&server, run.pick(WINDOW_COST, WINDOW_QUICK))?;
    let report = bots.leave()?;
    let samples = sampler.finish();
    server.stop()?;

    let (cpu, updates) = (window.cpu_s_per_s(), window.rate("throng_terse_sent_total"));
    let packets = window.rate_with("throng_datagrams_total", "outcome", "sent");
    findings.figure("server_cores_all_1000", cpu);
    findings.figure("updates_all_1000", updates);
    findings.figure("packets_all_1000", packets);
    findings.figure("cpu_ns_per_update_all_1000", cpu / updates * 1e9);
    findings.figure("cpu_l_per_packet_all_1000", cpu / packets * 1e6 / run.l_us);
    if report.circuits_lost > 0 {
        findings.failures.push(format!("{} circuits were lost while all saw all", report.circuits_lost));
    }
    findings.usage("server_all", "The server while all see all", &samples);
    Ok(())
}

/// Without the thread that writes the recording.
fn cores(window: &Window) -> f64 {
    window.cpu_s_per_s() - window.cpu_s_per_s_of("recording")
}

fn costs(size: &Size, few: &Window, many: &Window, plaza: &Window, findings: &mut Findings) {
    let per_client = |window: &Window, clients: u32| cores(window) / f64::from(clients);
    let datagrams = |window: &Window, outcome| window.rate_with("throng_datagrams_total", "outcome", outcome);
    findings.figure("server_cores_1000", cores(few));
    findings.figure("server_cores_5000", cores(many));
    findings.figure("server_cores_5000_plaza", cores(plaza));
    findings.figure("recording_cores", many.cpu_s_per_s_of("recording"));
    findings.figure("cost_ratio_5000_1000", per_client(many, size.many) / per_client(few, size.few));
    let tick = many.end.metrics.percentile_since(&many.begin.metrics, "throng_world_tick_seconds", 0.99);
    findings.figure("world_tick_ms_p99_5000", tick * 1e3);
    let windows = [few, many, plaza];
    findings.figure("dilation_min", windows.map(Window::least_dilation).into_iter().fold(1.0, least));
    findings.figure("rate_held", windows.map(Window::rate_held).into_iter().fold(1.0, least));
    let per_tick = |name| {
        let of_tick = TICK_THREADS.iter().map(|prefix| plaza.rate_of_threads(name, prefix));
        of_tick.sum::<f64>() / plaza.rate("throng_world_tick_seconds_count")
    };
    findings.figure("allocs_per_tick", per_tick("throng_thread_allocations_total"));
    findings.figure("faults_per_tick", per_tick("throng_thread_page_faults_total"));
    let rss = |window: &Window| window.end.usage.rss_bytes as f64 / 1024.0;
    findings.figure("client_kib", (rss(many) - rss(few)) / f64::from(size.many - size.few));
    findings.figure("packets_per_client_5000", datagrams(many, "sent") / f64::from(size.many));
    let bytes = many.rate_with("throng_datagram_bytes_total", "outcome", "sent");
    findings.figure("bytes_per_client_5000", bytes / f64::from(size.many));
    findings.figure(
        "blocks_per_datagram",
        many.rate("throng_terse_sent_total") / many.rate("throng_terse_datagrams_total"),
    );

    let mut table = Table::new(vec![
        Column::text("crowd"),
        Column::number("server", "cores"),
        Column::number("a client", "µs/s"),
        Column::number("packets to a client", "1/s"),
        Column::number("packets from a client", "1/s"),
        Column::number("bytes to a client", "1/s"),
        Column::number("movements", "1/s and client"),
        Column::number("memory", "MiB"),
    ]);
    for (name, window, clients) in [
        ("few, all over", few, size.few),
        ("many, all over", many, size.many),
        ("many, plaza", plaza, size.many),
    ] {
        let each = f64::from(clients);
        table.row(vec![
            format!("{clients} ({name})").as_str().into(),
            cores(window).into(),
            (cores(window) / each * 1e6).into(),
            (datagrams(window, "sent") / each).into(),
            (datagrams(window, "received") / each).into(),
            (window.rate_with("throng_datagram_bytes_total", "outcome", "sent") / each).into(),
            (window.rate("throng_terse_sent_total") / each).into(),
            (rss(window) / 1024.0).into(),
        ]);
    }
    findings.sections.push(Section::new("What crowds cost").table(table));
}

fn of_bots(reports: &[BotsReport], findings: &mut Findings) {
    let lost: u32 = reports.iter().map(|report| report.circuits_lost + report.logins_failed).sum();
    findings.figure("circuits_lost", lost.into());
    let bytes = reports.iter().filter_map(|report| report.second_bytes_p99).reduce(f64::max);
    findings.figure("cap_ratio_p99", bytes.unwrap_or(f64::NAN) / CAP_BYTES_PER_S);
    let cores = reports.iter().map(|report| report.bots_cpu_s / report.window_s).sum();
    findings.figure("bots_cores_5000", cores);
    let missed: u64 = reports.iter().map(|report| report.datagrams_lost_locally).sum();
    if missed > 0 {
        findings
            .failures
            .push(format!("{missed} datagrams were lost on the bots' side, which is no part of the network"));
    }
}

fn of_freshness(fresh: &Freshness, findings: &mut Findings) -> Section {
    findings.figure("scenes_compared", fresh.n_scenes as f64);
    findings.figure("visible_count_5000", fresh.visible.percentile(0.1));
    findings.figure("near20_error_m_p95_5000", fresh.near_error_mm.percentile(0.95) / 1e3);
    findings.figure("near20_age_ms_p99_5000", fresh.near_age_ms.percentile(0.99));
    let nearest = WrongFrom::of_band(0);
    findings.figure("near20_wrong_above_m", nearest.error_m.into());
    findings.figure("near20_wrong_above_deg", nearest.turned_rad.to_degrees().into());
    findings.figure("stop_error_m_p999", fresh.stop_error_mm.percentile(0.999) / 1e3);
    findings.figure("oldest_visible_s_5000", fresh.oldest_ms.percentile(1.0) / 1e3);
    findings.figure("arrival_near50_s_5000", fresh.arrival_ms.percentile(1.0) / 1e3);
    let mut table = Table::new(vec![
        Column::text("avatars"),
        Column::number("update gap p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("error p50", "m"),
        Column::number("p95", "m"),
        Column::number("p99", "m"),
        Column::number("age p95", "ms"),
        Column::number("p99", "ms"),
        Column::number("samples", ""),
    ])
    .caption(&format!(
        "What observers among the many were shown, beside what was true at the same moment. {}",
        WrongFrom::describe()
    ));
    let mut from_m = 0.0;
    for (band, reach_m) in fresh.bands.iter().zip(BANDS_M) {
        let name = if reach_m.is_finite() {
            format!("{from_m}–{reach_m} m")
        } else {
            format!("beyond {from_m} m")
        };
        from_m = reach_m;
        table.row(vec![
            name.as_str().into(),
            band.gap_ms.percentile(0.5).into(),
            band.gap_ms.percentile(0.99).into(),
            (band.error_mm.percentile(0.5) / 1e3).into(),
            (band.error_mm.percentile(0.95) / 1e3).into(),
            (band.error_mm.percentile(0.99) / 1e3).into(),
            band.age_ms.percentile(0.95).into(),
            band.age_ms.percentile(0.99).into(),
            (band.error_mm.len() as f64).into(),
        ]);
    }
    table.row(vec![
        "the nearest 20".into(),
        f64::NAN.into(),
        f64::NAN.into(),
        (fresh.near_error_mm.percentile(0.5) / 1e3).into(),
        (fresh.near_error_mm.percentile(0.95) / 1e3).into(),
        (fresh.near_error_mm.percentile(0.99) / 1e3).into(),
        fresh.near_age_ms.percentile(0.95).into(),
        fresh.near_age_ms.percentile(0.99).into(),
        (fresh.near_error_mm.len() as f64).into(),
    ]);
    Section::new("Freshness").table(table).table(oldest(fresh))
}

/// What was the matter with those who were shown wrong for the longest time.
fn oldest(fresh: &Freshness) -> Table {
    let mut table = Table::new(vec![
        Column::number("wrong for", "s"),
        Column::number("distance", "m"),
        Column::number("error", "m"),
        Column::number("turned", "°"),
        Column::number("not told for", "s"),
        Column::number("told", "m/s"),
        Column::number("went", "m/s"),
    ])
    .caption("Those who were shown wrong for the longest time, as of the last look at which they were.");
    for old in fresh.oldest.sorted() {
        let row = [
            old.age_ns as f64 / 1e9,
            old.far_m.into(),
            old.error_m.into(),
            old.turned_deg.into(),
            old.untold_ns as f64 / 1e9,
            old.told_m_per_s.into(),
            old.went_m_per_s.into(),
        ];
        table.row(row.map(Into::into).into());
    }
    table
}
