//! Freshness of displayed scenes: observers' views (a file of `bots::views`) compared with the truth (a replayed recording of the
//! world), on the machine's monotonic clock.
//!
//! At every tick of the world each observer's scene is compared with it:
//!
//! - The *error* of an avatar is the distance between where the observer shows it, extrapolated along its received velocity as viewers
//!   do, and its true position at that moment. It contains the time that an update is under way.
//! - A displayed avatar is *wrong* while its error is above 0.05 m plus the server's dead-reckoning threshold of its band of distance,
//!   or its direction off by more than 2 degrees plus that threshold ([`WrongFrom`]). Nothing is forgiven for the time that an update
//!   is under way. The *age* of an avatar is how long it has been wrong; 0 when it is not. An avatar among the nearest 20 that is not
//!   shown is wrong.
//! - A *stop* is checked 1 s later at observers that have the avatar among their nearest 50, and 5 s later at others that display it.
//! - An observer has *arrived* when the 50 avatars nearest at its placement are displayed, or gone.

mod oldest;
mod scene;
mod steps;
mod truth;

#[cfg(test)]
mod tests;

use crate::error::ExperimentError;
use bots::views::{self, View, Views};
pub(crate) use oldest::Oldest;
use recording::{Recording, Replay};
use scene::ObservedScene;
use std::path::Path;
use std::time::Duration;
pub(crate) use steps::LinearHistogram;
use truth::Truth;

/// Metres and radians above which an error counts, on top of the dead-reckoning threshold.
pub(crate) const WRONG_M: f32 = 0.05;
const WRONG_RAD: f32 = 2.0 * std::f32::consts::PI / 180.0;
/// Size of the near set by which freshness, stops and arrivals are judged.
const NEAR: usize = 20;
const MIDDLE: usize = 50;
/// Metres up to which a band of distance reaches.
pub(crate) const BANDS_M: [f32; 3] = [12.0, 64.0, f32::INFINITY];

/// The errors above which an avatar is shown wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WrongFrom {
    /// Metres of position.
    pub(crate) error_m: f32,
    /// Radians of direction.
    pub(crate) turned_rad: f32,
}

impl WrongFrom {
    /// In a band of distance of the server's dead reckoning.
    pub(crate) const fn of_band(band: usize) -> Self {
        Self {
            error_m: WRONG_M + replicate::PLACE_M[band],
            turned_rad: WRONG_RAD + replicate::ROTATION_RAD[band],
        }
    }

    /// The limits of all bands, for captions.
    pub(crate) fn describe() -> String {
        let bands = ["the nearest 60 up to 64 m", "others up to 64 m, and the nearest 60 beyond", "the rest"];
        let limits = (0..replicate::BANDS).zip(bands).map(|(band, name)| {
            let Self { error_m, turned_rad } = Self::of_band(band);
            format!("{name}: {error_m:.2} m or {:.1}°", turned_rad.to_degrees())
        });
        format!(
            "An avatar is shown wrong while its error is above {WRONG_M} m or {:.0}° plus the dead-reckoning threshold: {}.",
            WRONG_RAD.to_degrees(),
            limits.collect::<Vec<_>>().join("; ")
        )
    }
}

/// The observers of one file.
pub(crate) struct ObserverFile<'a> {
    pub(crate) views: &'a Path,
    pub(crate) kind: ObserverKind,
}

/// Purpose of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObserverKind {
    /// Everything but stops and arrivals.
    Clear,
    /// Stops: their network loses datagrams.
    Lossy,
    /// Its arrival time is measured.
    Arriving,
}

/// Views of avatars at some distance.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    /// Milliseconds between two updates of an avatar.
    pub(crate) gap_ms: LinearHistogram,
    /// Millimetres.
    pub(crate) error_mm: LinearHistogram,
    /// Milliseconds.
    pub(crate) age_ms: LinearHistogram,
}

/// All that was found.
#[derive(Debug)]
pub(crate) struct Freshness {
    /// By [`BANDS_M`].
    pub(crate) bands: [Band; BANDS_M.len()],
    /// Of the nearest 20, millimetres.
    pub(crate) near_error_mm: LinearHistogram,
    /// Errors of moving, displayed avatars among the nearest 20, millimetres.
    pub(crate) moving_error_mm: LinearHistogram,
    /// Of the nearest 20, milliseconds.
    pub(crate) near_age_ms: LinearHistogram,
    /// The oldest of each scene that was compared, milliseconds.
    pub(crate) oldest_ms: LinearHistogram,
    /// The avatars that were wrong for the longest time.
    pub(crate) oldest: Oldest,
    /// Avatars shown in each scene that was compared, the own one not counted.
    pub(crate) visible: LinearHistogram,
    /// After stops, millimetres.
    pub(crate) stop_error_mm: LinearHistogram,
    /// Arrivals, milliseconds; those that did not end count as long as they were watched.
    pub(crate) arrival_ms: LinearHistogram,
    /// Times that one of the nearest 20 was not shown, of those in [`Self::near_age_ms`].
    pub(crate) n_missing: u64,
    /// Scenes that were compared.
    pub(crate) n_scenes: u64,
}

impl Freshness {
    /// Nothing found yet.
    pub(crate) fn new() -> Self {
        let ms = || LinearHistogram::new(1.0, 120_000);
        let mm = || LinearHistogram::new(1.0, 100_000);
        let band = || Band { gap_ms: ms(), error_mm: mm(), age_ms: ms() };
        Self {
            bands: std::array::from_fn(|_| band()),
            near_error_mm: mm(),
            moving_error_mm: mm(),
            near_age_ms: ms(),
            oldest_ms: ms(),
            oldest: Oldest::default(),
            visible: LinearHistogram::new(1.0, 20_000),
            stop_error_mm: mm(),
            arrival_ms: ms(),
            n_missing: 0,
            n_scenes: 0,
        }
    }
}

/// Compares all observers with the world, from one moment on the monotonic clock to another. For `settle` after its placement an
/// observer is only watched arriving. Avatars with the last name `judged` are compared, or all; the nearest 20 are the nearest of them.
pub(crate) fn measure(
    world: &Path,
    sources: &[ObserverFile<'_>],
    window_ns: std::ops::Range<u64>,
    settle: Duration,
    judged: Option<&str>,
) -> Result<Freshness, ExperimentError> {
    let failed = |reason: String| ExperimentError::Freshness { reason };
    let mut recording = Recording::open(world).map_err(|error| failed(error.to_string()))?;
    let zero_ns = recording.about().clock_zero_ns;
    let mut replay = Replay::new(&recording).map_err(|error| failed(error.to_string()))?;
    let mut truth = Truth::new(replay.world().avatars(), judged);
    let mut streams = Vec::new();
    for source in sources {
        let views =
            views::open(source.views).map_err(|error| failed(format!("{error}: {}", error.source)))?;
        streams.push(Stream { kind: source.kind, views: ViewMerge::new(views), scenes: Vec::new() });
    }
    let mut found = Freshness::new();
    let steps = recording.steps().map_err(|error| failed(error.to_string()))?;
    for step in steps {
        let step = step.map_err(|error| failed(error.to_string()))?;
        let (now_ns, state_hash) = (zero_ns + step.at.0, step.state_hash);
        let frame = replay.step(step);
        if state_hash.is_some_and(|hash| hash != frame.state_hash) {
            return Err(failed("the replayed world differs from the recorded one".to_owned()));
        }
        truth.apply(now_ns, frame);
        for stream in &mut streams {
            stream.follow(now_ns, &truth, &mut found, &window_ns);
            if window_ns.contains(&now_ns) {
                stream.compare(now_ns, settle.as_nanos() as u64, &truth, &mut found);
            }
        }
    }
    for scene in streams.iter_mut().flat_map(|stream| &mut stream.scenes) {
        scene.end(window_ns.end, &mut found);
    }
    Ok(found)
}

/// The views of one file on their way into scenes.
struct Stream {
    kind: ObserverKind,
    views: ViewMerge,
    /// By observer.
    scenes: Vec<ObservedScene>,
}

/// Views with the next one in sight.
struct ViewMerge {
    zero_ns: u64,
    views: std::iter::Peekable<Views>,
}

impl ViewMerge {
    fn new(views: Views) -> Self {
        Self { zero_ns: views.clock_zero_ns, views: views.peekable() }
    }

    fn next_until(&mut self, now_ns: u64) -> Option<(u64, View)> {
        let zero_ns = self.zero_ns;
        let view = self.views.next_if(|view| zero_ns + view.at.0 <= now_ns)?;
        Some((zero_ns + view.at.0, view))
    }
}

impl Stream {
    fn follow(
        &mut self,
        now_ns: u64,
        truth: &Truth,
        found: &mut Freshness,
        window_ns: &std::ops::Range<u64>,
    ) {
        while let Some((at_ns, view)) = self.views.next_until(now_ns) {
            let observer = view.observer as usize;
            if self.scenes.len() <= observer {
                self.scenes.resize_with(observer + 1, ObservedScene::default);
            }
            let gaps =
                (self.kind == ObserverKind::Clear && window_ns.contains(&at_ns)).then_some(&mut found.bands);
            self.scenes[observer].see(at_ns, &view.what, truth, gaps);
        }
    }

    fn compare(&mut self, now_ns: u64, settle_ns: u64, truth: &Truth, found: &mut Freshness) {
        for scene in &mut self.scenes {
            let is_settled = scene.placed_ns() + settle_ns <= now_ns;
            match self.kind {
                ObserverKind::Arriving => scene.watch_arrival(truth, found),
                ObserverKind::Clear | ObserverKind::Lossy if !is_settled => {}
                ObserverKind::Clear => scene.compare(now_ns, truth, found),
                ObserverKind::Lossy => scene.check_stops(now_ns, truth, found),
            }
        }
    }
}
