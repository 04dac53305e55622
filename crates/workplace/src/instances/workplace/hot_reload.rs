//! Hot reload of templates: new instances use the new files, and running ones change to them.
//!
//! A long task reads the files. A running world finds a [`CastReload`] beside its inbox and makes it between two steps, worlds of a
//! template one after the other; an idle one makes it at its next step, and a suspended one is resumed with the current files. A world
//! under construction meanwhile is checked once it has an inbox. No step frees former casts and changes: they are kept here until this
//! is their last owner, which the `instances` thread checks periodically, and then dropped where former worlds are.

use super::InstanceWorkplace;
use crate::inboxes::Waiting;
use crate::instances::Instances;
use crate::instances::catalog::{Template, WorldCatalog};
use crate::instances::mail::InstanceMail;
use crate::instances::script::ScriptDisk;
use crate::lock_order::{RELOAD, RETIRED};
use crate::long::{self, LongFailure};
use host::registry::InstanceRefusal;
use host::script::{ScriptProblems, reload_cast};
use ids::WorldId;
use schedule::long::{LongContext, LongTasks};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use telemetry::Held;
use thiserror::Error;
use world::{CastReload, CastReloadRefusal, NpcCast};

/// Approximate time to read the files of a template whose navmesh exists.
const READ_ESTIMATE: Duration = Duration::from_millis(20);

/// Result of reloading a template.
#[derive(Debug)]
pub struct Reloaded {
    /// Its name, as it is configured.
    pub template: String,
    /// Cast of new instances.
    pub cast: Arc<NpcCast>,
    /// True if the files differ from before.
    pub has_changed: bool,
    /// Instances that go over to it within a second of being awake. Even if nothing has changed: those that should have before, and did not.
    pub n_adopting: usize,
    /// Instances that keep their cast.
    pub n_keeping: usize,
    /// The reason.
    pub why: Option<CastReloadRefusal>,
}

/// Reasons for which a template keeps its former cast.
#[derive(Debug, Error)]
pub enum ReloadRefusal {
    /// There is no such template, or the driver has ended.
    #[error(transparent)]
    Instance(#[from] InstanceRefusal),
    /// The template has no script.
    #[error("Instances of {0:?} have no NPCs: the template has no `npcs`.")]
    Nobody(String),
    /// Its files are wrong.
    #[error("{0}")]
    Wrong(ScriptProblems),
    /// They were not read.
    #[error(transparent)]
    Long(#[from] LongFailure),
}

/// State of reloads beside the catalog.
#[derive(Debug, Default)]
pub(in crate::instances) struct HotReload {
    /// One is reloaded at a time.
    reload: Mutex<()>,
    retired: Mutex<Retired>,
}

impl HotReload {
    fn lock_retired(&self) -> Held<MutexGuard<'_, Retired>> {
        RETIRED.hold(|| self.retired.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Former casts and changes, until this is their last owner.
#[derive(Debug, Default)]
struct Retired {
    casts: Vec<Arc<NpcCast>>,
    reloads: Vec<Arc<CastReload>>,
}

impl Retired {
    fn keep(&mut self, changes: Changes) {
        self.reloads.extend(changes.known.into_iter().filter_map(|(_, reload)| reload.ok()));
    }
}

impl Instances {
    /// Reads a template's files again.
    pub fn reload(&self, template: &str) -> Result<Reloaded, ReloadRefusal> {
        let reloaded = self.workplace.reload(template, &self.long)?;
        let facts = self.workplace.catalog().template(&reloaded.template).map(Template::facts);
        if let Some(facts) = facts {
            // Instances whose states did not fit may fit now. Only fails once the driver has ended.
            let _ = self.mail.send(InstanceMail::TemplateChanged(facts));
        }
        Ok(reloaded)
    }
}

impl InstanceWorkplace {
    fn reload(&self, name: &str, long: &LongTasks) -> Result<Reloaded, ReloadRefusal> {
        let _one = RELOAD.hold(|| self.hot_reload.reload.lock().unwrap_or_else(PoisonError::into_inner));
        let template = {
            let catalog = self.catalog();
            let known = || catalog.templates.iter().map(|one| &*one.name).collect::<Vec<_>>().join(", ");
            let unknown = || InstanceRefusal::NoTemplate { wanted: name.to_owned(), known: known() };
            catalog.template(name).ok_or_else(unknown)?.clone()
        };
        let (Some(path), Some(from)) = (template.script, template.cast) else {
            return Err(ReloadRefusal::Nobody(template.name.to_string()));
        };
        let spec = (long::BUILD_TEMPLATE, template.name.to_string(), READ_ESTIMATE);
        let (terrain, former) = (Arc::clone(&template.ground.terrain), Arc::clone(&from));
        let read = move |_: &LongContext| reload_cast(&ScriptDisk, &path, &terrain, &former);
        let cast = long::run(long, spec, read)?.map_err(ReloadRefusal::Wrong)?;
        let mut reloaded = Reloaded {
            template: template.name.to_string(),
            has_changed: cast.fingerprint() != from.fingerprint(),
            cast: Arc::new(cast),
            n_adopting: 0,
            n_keeping: 0,
            why: None,
        };
        if !reloaded.has_changed {
            reloaded.cast = from;
        }
        self.cast_anew(&mut reloaded);
        tracing::info!(
            template = %reloaded.template, changed = reloaded.has_changed, adopting = reloaded.n_adopting,
            keeping = reloaded.n_keeping, "a template's files were read again"
        );
        Ok(reloaded)
    }

    /// Gives the cast to the template and to its instances, where they differ. Instances that have given it up keep their former cast.
    fn cast_anew(&self, reloaded: &mut Reloaded) {
        let cast = Arc::clone(&reloaded.cast);
        let mut changes = Changes::to(&cast);
        for waiting in self.inboxes_of(&reloaded.template) {
            changes.prepare(&waiting);
        }
        let mut retired = Retired::default();
        let mut catalog = self.catalog();
        if reloaded.has_changed {
            retired.casts.extend(catalog.cast_template(&reloaded.template, &cast));
        }
        for (world, stepped) in catalog.of_template(&reloaded.template) {
            let reverted_from = stepped.journal_buffer.reverted_from();
            let waiting = self.pool.waiting(world).filter(|waiting| !waiting.has_cast(&cast));
            let Some(waiting) = waiting.filter(|_| reverted_from != Some(cast.fingerprint())) else {
                continue;
            };
            match waiting.replace_reload(|from| changes.from(from)) {
                Ok(given_up) => {
                    retired.casts.extend(given_up);
                    reloaded.n_adopting += 1;
                }
                Err(why) => {
                    reloaded.n_keeping += 1;
                    reloaded.why = Some(why);
                }
            }
        }
        drop(catalog);
        retired.keep(changes);
        self.retire(retired);
    }

    /// Keeps former casts and changes until nothing else refers to them.
    fn retire(&self, more: Retired) {
        let mut retired = self.hot_reload.lock_retired();
        retired.casts.extend(more.casts);
        retired.reloads.extend(more.reloads);
    }

    /// Inboxes of a template's instances in the pool.
    fn inboxes_of(&self, template: &str) -> Vec<Arc<Waiting>> {
        self.catalog().of_template(template).filter_map(|(world, _)| self.pool.waiting(world)).collect()
    }

    /// Gives a world that has just come into the pool the changes of its template since it was begun. Every later change of the
    /// template, made with the catalog locked as here, finds the world.
    pub(in crate::instances) fn catch_up(&self, world: WorldId) {
        let behind = self.behind(&self.catalog(), world);
        let Some((cast, waiting)) = behind else { return };
        let mut changes = Changes::to(&cast);
        changes.prepare(&waiting);
        let catalog = self.catalog();
        let Some((cast, waiting)) = self.behind(&catalog, world) else { return };
        if !Arc::ptr_eq(&changes.to, &cast) {
            changes = Changes::to(&cast);
        }
        let mut retired = Retired::default();
        match waiting.replace_reload(|from| changes.from(from)) {
            Ok(given_up) => retired.casts.extend(given_up),
            Err(why) => {
                tracing::info!(world = world.0, %why, "an instance begins as its template was a moment ago")
            }
        }
        drop(catalog);
        retired.keep(changes);
        self.retire(retired);
    }

    /// The cast of a world's template that the world lacks and is to get.
    fn behind(&self, catalog: &WorldCatalog, world: WorldId) -> Option<(Arc<NpcCast>, Arc<Waiting>)> {
        let stepped = catalog.stepped.get(&world).filter(|one| !catalog.reverted.contains_key(&one.id))?;
        let cast = catalog.template(&stepped.template)?.cast.clone()?;
        let waiting = self.pool.waiting(world).filter(|waiting| !waiting.has_cast(&cast))?;
        Some((cast, waiting))
    }

    /// Drops casts without a world. Free of cost while there are none.
    pub(in crate::instances) fn dispose_casts(&self) {
        let mut retired = self.hot_reload.lock_retired();
        // These hold casts, which become unneeded once these are dropped.
        let reloads = unneeded(&mut retired.reloads);
        retired.casts.sort_unstable_by_key(|cast| Arc::as_ptr(cast).addr());
        retired.casts.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let casts = unneeded(&mut retired.casts);
        drop(retired);
        if !reloads.is_empty() || !casts.is_empty() {
            self.pool.dispose(Box::new((reloads, casts)));
        }
    }
}

/// Removes those without another owner.
fn unneeded<T>(of: &mut Vec<Arc<T>>) -> Vec<Arc<T>> {
    of.extract_if(.., |one| Arc::strong_count(one) == 1).collect()
}

type Change = Result<Arc<CastReload>, CastReloadRefusal>;

/// The ways to one cast from those that instances have: mostly all have the same.
struct Changes {
    to: Arc<NpcCast>,
    known: Vec<(Arc<NpcCast>, Change)>,
}

impl Changes {
    fn to(cast: &Arc<NpcCast>) -> Self {
        Self { to: Arc::clone(cast), known: Vec::new() }
    }

    /// Compares the cast of the world behind an inbox, if necessary: before anything is locked, since it takes long.
    fn prepare(&mut self, waiting: &Waiting) {
        let is_behind = !waiting.has_cast(&self.to);
        if let Some(from) = waiting.goes_over_from().filter(|_| is_behind) {
            let _ = self.from(&from);
        }
    }

    /// The change, which is known unless the world has become another one since it was prepared.
    fn from(&mut self, from: &Arc<NpcCast>) -> Change {
        if let Some((_, known)) = self.known.iter().find(|(known, _)| Arc::ptr_eq(known, from)) {
            return known.clone();
        }
        let reload = CastReload::new(Arc::clone(from), Arc::clone(&self.to)).map(Arc::new);
        self.known.push((Arc::clone(from), reload.clone()));
        reload
    }
}

impl WorldCatalog {
    /// Gives a template another cast, for later instances; returns the former one. Visitors of these get the new cast's damage setting.
    fn cast_template(&mut self, name: &str, cast: &Arc<NpcCast>) -> Option<Arc<NpcCast>> {
        // A cast that was given up before says nothing of this one.
        self.reverted.retain(|_, reverted| !reverted.template.eq_ignore_ascii_case(name));
        let template = self.template_mut(name)?;
        if template.ground.damage != cast.has_damage() {
            Arc::make_mut(&mut template.ground).damage = cast.has_damage();
        }
        template.cast.replace(Arc::clone(cast))
    }
}
