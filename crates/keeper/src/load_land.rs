//! Loads the land of a world from its rows. Damaged parts are replaced and reported.
//!
//! | damaged | replacement |
//! |---|---|
//! | a patch of the ground | the baked ground |
//! | a patch of the baked ground | the ground of the region's description |
//! | a parcel, or one that contradicts the others | a parcel of the estate's owner, of all squares that are left |
//! | the estate | the one that a new region gets |

use crate::land::{LandOnDisk, is_described};
use crate::rows::{
    RowError, SquareRuns, Versions, content_of, n_squares_of, read_estate, read_parcel, read_patch,
};
use ids::Uuid;
use link::{Estate, GroundPatch, LandState, PATCH_M, Parcel, ParcelNumber, StoredLand, Terrain};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use store::{LandKey, LandKind, LandRows, ObjectDamage, ObjectPart};

/// Initial land of a region without stored land, also the replacement of damaged rows.
#[derive(Clone, Debug)]
pub struct NewLand {
    /// The ground of the region's description.
    pub terrain: Arc<Terrain>,
    /// The estate.
    pub estate: Estate,
    /// Time, seconds since 1970.
    pub now_s: u64,
}

/// An unusable row of a region's land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedLand {
    /// Key of the row.
    pub key: LandKey,
    /// Name of the parcel, if it is readable.
    pub name: Option<Arc<str>>,
    /// Description of the damage.
    pub why: String,
}

/// Land of a region, with the information that the keeper needs.
#[derive(Debug)]
pub(crate) struct LoadedLand {
    pub(crate) land: StoredLand,
    pub(crate) damaged: Vec<DamagedLand>,
    pub(crate) disk: LandOnDisk,
}

/// Decodes the land of a region. `lost` are rows that the store found damaged, and `fresh` is the source of a parcel's id.
///
/// # Errors
/// The key of a row of another build, and the reason.
pub(crate) fn load_land(
    new: &NewLand,
    rows: &LandRows,
    lost: &[ObjectDamage],
    fresh: Uuid,
) -> Result<LoadedLand, (LandKey, RowError)> {
    let mut reader = LandReader::new(new.terrain.size_m());
    let lost = lost.iter().filter(|damage| damage.part == ObjectPart::Land);
    reader.lost.extend(lost.filter_map(|damage| LandKey::of_code(damage.object.0)));
    for (key, value) in rows.iter() {
        reader.disk.insert(key, Some(content_of(value)));
        if let Err(why) = reader.read(key, value, Versions::Recent) {
            if !why.is_damage() {
                return Err((key, why));
            }
            reader.lose(key, None, why.to_string());
        }
    }
    let (last, estate) =
        reader.estate.take().unwrap_or_else(|| (ParcelNumber::default(), new.estate.clone()));
    let (state, _) = reader.join_parcels(estate, new.now_s, fresh);
    let highest = state.parcels.last().map_or_else(ParcelNumber::default, |parcel| parcel.number);
    let (ground, baked) = reader.grounds(&new.terrain);
    reader.damaged.sort_by_key(|damaged| damaged.key);
    let land = StoredLand {
        last_number: if last == ParcelNumber::default() { highest } else { last },
        ground,
        baked,
        // The count starts above those of earlier starts, so that no stroke repeats the noise of an earlier stroke.
        n_noises: new.now_s << NOISES_PER_S_BITS,
        ..StoredLand::new(state, new.now_s)
    };
    Ok(LoadedLand { land, damaged: reader.damaged, disk: reader.disk })
}

/// Decodes the land of a region file, of which nothing is replaced: every patch of the ground, and those of the baked ground that differ from it. Both
/// are whole in the result.
///
/// # Errors
/// The key of a row and the reason.
pub(crate) fn read_whole_land(size_m: u32, rows: &LandRows) -> Result<StoredLand, (LandKey, String)> {
    let mut reader = LandReader::new(size_m);
    for (key, value) in rows.iter() {
        reader.read(key, value, Versions::All).map_err(|why| (key, why.to_string()))?;
    }
    let (last_number, estate) = reader.estate.take().ok_or_else(|| (ESTATE, "it is missing".to_owned()))?;
    let (state, n_left) = reader.join_parcels(estate, 0, Uuid::nil());
    if let Some(DamagedLand { key, why, .. }) = reader.damaged.pop() {
        return Err((key, why));
    }
    if n_left > 0 {
        return Err((ESTATE, format!("{n_left} squares are of no parcel")));
    }
    let LandReader { ground, mut baked, .. } = reader;
    let n_patches = count_patches(size_m);
    if let Some(number) = (0..n_patches).find(|number| !ground.contains_key(number)) {
        return Err((LandKey::new(LandKind::Ground, number), "it is missing".to_owned()));
    }
    ground.iter().for_each(|(number, patch)| {
        baked.entry(*number).or_insert_with(|| patch.clone());
    });
    let (ground, baked) = (ground.into_values().collect(), baked.into_values().collect());
    Ok(StoredLand { last_number, ground, baked, ..StoredLand::new(state, 0) })
}

/// Patches of a region of this width.
pub(crate) const fn count_patches(size_m: u32) -> u16 {
    // 4,096 at most.
    ((size_m / PATCH_M) * (size_m / PATCH_M)) as u16
}

const ESTATE: LandKey = LandKey::new(LandKind::Estate, 0);

/// log2 of the strokes of noise a second for which the count of a start leaves room: it begins at seconds since 1970 × 2^20.
const NOISES_PER_S_BITS: u32 = 20;

/// Land under way.
struct LandReader {
    size_m: u32,
    estate: Option<(ParcelNumber, Estate)>,
    parcels: BTreeMap<ParcelNumber, (Parcel, SquareRuns)>,
    ground: BTreeMap<u16, GroundPatch>,
    baked: BTreeMap<u16, GroundPatch>,
    /// Unusable rows.
    lost: BTreeSet<LandKey>,
    damaged: Vec<DamagedLand>,
    disk: LandOnDisk,
}

impl LandReader {
    const fn new(size_m: u32) -> Self {
        Self {
            size_m,
            estate: None,
            parcels: BTreeMap::new(),
            ground: BTreeMap::new(),
            baked: BTreeMap::new(),
            lost: BTreeSet::new(),
            damaged: Vec::new(),
            disk: LandOnDisk::new(),
        }
    }

    fn read(&mut self, key: LandKey, value: &[u8], versions: Versions) -> Result<(), RowError> {
        let LandKey { kind, number } = key;
        match kind {
            LandKind::Estate => self.estate = Some(read_estate(value, versions)?),
            LandKind::Parcel => {
                let number = ParcelNumber(number);
                let parcel = read_parcel(value, versions, number, self.size_m)?;
                self.parcels.insert(number, parcel);
            }
            LandKind::Ground => {
                self.ground.insert(number, read_patch(value, versions, number, self.size_m)?);
            }
            LandKind::Baked => {
                self.baked.insert(number, read_patch(value, versions, number, self.size_m)?);
            }
        }
        Ok(())
    }

    /// Records an unusable row.
    fn lose(&mut self, key: LandKey, name: Option<Arc<str>>, why: String) {
        self.lost.insert(key);
        self.disk.insert(key, None);
        self.damaged.push(DamagedLand { key, name, why });
    }

    /// Returns the parcels without contradictions, with a parcel of the estate's owner for the remaining squares, and the number of these squares.
    fn join_parcels(&mut self, estate: Estate, now_s: u64, fresh: Uuid) -> (LandState, u32) {
        let mut map = SquareMap::new(self.size_m);
        let mut parcels: BTreeMap<ParcelNumber, Parcel> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for (number, (parcel, squares)) in std::mem::take(&mut self.parcels) {
            let why = if ids.contains(&parcel.id) {
                Some("another parcel has the same id")
            } else if parcels.len() == ParcelNumber::COUNT_MAX {
                Some("the region has more parcels than it can have")
            } else if map.is_any_taken(&squares) {
                Some("squares of it are those of another parcel")
            } else {
                None
            };
            if let Some(why) = why {
                let name = Arc::clone(&parcel.settings.name);
                self.lose(LandKey::new(LandKind::Parcel, number.0), Some(name), why.to_owned());
                continue;
            }
            map.give(&squares, number);
            ids.insert(parcel.id);
            parcels.insert(number, parcel);
        }
        let n_left = map.n_left();
        if n_left > 0 {
            let number = self.number_for_rest(&parcels);
            map.give_rest(number);
            let rest = parcels
                .entry(number)
                .or_insert_with(|| Parcel::new(number, id_of_rest(fresh, &ids), estate.owner, now_s));
            rest.n_squares += n_left;
        }
        let state = LandState {
            parcels: parcels.into_values().map(Arc::new).collect(),
            squares: map.squares.into(),
            estate: Arc::new(estate),
        };
        (state, n_left)
    }

    /// Number of the parcel for the remaining squares: the lowest number of a lost parcel, else a new number. If no further parcel fits, the first
    /// parcel gets the squares.
    fn number_for_rest(&self, parcels: &BTreeMap<ParcelNumber, Parcel>) -> ParcelNumber {
        let is_free = |number: &ParcelNumber| number.0 > 0 && !parcels.contains_key(number);
        let lost = self.lost.iter().filter(|key| key.kind == LandKind::Parcel);
        let lost = lost.map(|key| ParcelNumber(key.number)).find(is_free);
        match parcels.first_key_value() {
            Some((first, _)) if parcels.len() == ParcelNumber::COUNT_MAX => *first,
            _ => lost.or_else(|| (1..).map(ParcelNumber).find(is_free)).expect("more numbers than parcels"),
        }
    }

    /// Patches of the ground and of the baked ground that differ from the described ground.
    fn grounds(&mut self, described: &Terrain) -> (Vec<GroundPatch>, Vec<GroundPatch>) {
        let Self { ground, baked, lost, .. } = self;
        for number in lost.iter().filter(|key| key.kind == LandKind::Ground).map(|key| key.number) {
            if let Some(patch) = baked.get(&number) {
                ground.insert(number, patch.clone());
            }
        }
        let [ground, baked] = [ground, baked].map(|patches| {
            let patches = std::mem::take(patches).into_values();
            patches.filter(|patch| !is_described(described, patch)).collect()
        });
        (ground, baked)
    }
}

/// Id of the parcel for the remaining squares, distinct from the ids of all other parcels.
fn id_of_rest(fresh: Uuid, others: &BTreeSet<Uuid>) -> Uuid {
    let ids = (1..).map(|n| Uuid::from_u128(fresh.as_u128().wrapping_add(n)));
    let mut unused = ids.filter(|id| !id.is_nil() && !others.contains(id));
    unused.next().expect("more ids than parcels")
}

/// The parcel of each square, row by row from the south-west; number 0 for none yet.
struct SquareMap {
    squares: Vec<ParcelNumber>,
}

impl SquareMap {
    fn new(size_m: u32) -> Self {
        Self { squares: vec![ParcelNumber::default(); n_squares_of(size_m) as usize] }
    }

    fn is_any_taken(&self, runs: &[Range<u32>]) -> bool {
        let is_taken = |number: &ParcelNumber| *number != ParcelNumber::default();
        runs.iter().any(|run| self.squares[run.start as usize..run.end as usize].iter().any(is_taken))
    }

    fn give(&mut self, runs: &[Range<u32>], to: ParcelNumber) {
        for run in runs {
            self.squares[run.start as usize..run.end as usize].fill(to);
        }
    }

    /// Squares without a parcel.
    fn n_left(&self) -> u32 {
        let left = self.squares.iter().filter(|number| **number == ParcelNumber::default());
        // 65,536 at most.
        left.count() as u32
    }

    fn give_rest(&mut self, to: ParcelNumber) {
        let left = self.squares.iter_mut().filter(|number| **number == ParcelNumber::default());
        left.for_each(|number| *number = to);
    }
}

#[cfg(test)]
mod tests;
