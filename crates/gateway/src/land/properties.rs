//! ParcelProperties: everything that a client knows of a parcel, an event of its queue.

use super::prims::{ParcelPrims, prims_on};
use super::region::region_flags;
use crate::places::Place;
use glam::Vec3;
use ids::Uuid;
use link::{
    Estate, Landing, LandingKind, Parcel, ParcelFlags, ParcelNumber, ParcelSettings, RegionFlags, SQUARE_M,
};
use replicate::Replica;
use replicate::land::LandReplica;
use wire::llsd::Llsd;

/// Number of the one parcel of a world that is not built on.
const BARE_NUMBER: ParcelNumber = ParcelNumber(1);
/// Version of an environment that is not set.
const NO_ENVIRONMENT: i32 = -1;
/// Upper border of every parcel, metres.
const CEILING_M: f32 = 4_096.0;

/// Result of a request, with its code in the event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum RequestResult {
    /// There is no such parcel.
    Missing = -1,
    /// All of what was asked for is one parcel.
    #[default]
    One = 0,
    /// It is several; this is the one in the south-west.
    Several = 1,
}

/// Request that the event answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Echoed. Viewers give the negative ones meanings of their own.
    pub(crate) sequence_id: i32,
    /// The viewer's selection becomes the whole parcel.
    pub(crate) is_snapped: bool,
    pub(crate) result: RequestResult,
}

/// A parcel with what surrounds it.
#[derive(Debug)]
pub(crate) struct ParcelProperties<'a> {
    place: &'a Place,
    replica: &'a Replica,
    parcel: &'a Parcel,
    prims: ParcelPrims,
    /// Users in the region.
    population: u32,
    selection: Selection,
}

/// The parcel of a world that is not built on: the whole region, without an owner.
pub(crate) fn bare_parcel(place: &Place) -> Parcel {
    let ground = place.ground();
    let side = ground.size_m / SQUARE_M;
    let flags = ParcelFlags::ALLOW_FLY
        .union(ParcelFlags::ALLOW_OTHER_SCRIPTS)
        .union(ParcelFlags::ALLOW_LANDMARK)
        .union(ParcelFlags::ALLOW_GROUP_SCRIPTS);
    let middle_m = ground.size_m as f32 / 2.0;
    let at = Vec3::new(middle_m, middle_m, ground.landing.z);
    let landing = Landing { kind: LandingKind::Anywhere, at, look_at: Vec3::X };
    let settings = ParcelSettings { flags, landing, ..ParcelSettings::new(place.name()) };
    Parcel { n_squares: side * side, settings, ..Parcel::new(BARE_NUMBER, place.parcel_id, None, 0) }
}

impl<'a> ParcelProperties<'a> {
    /// A parcel of the replica, or of a world that is not built on.
    pub(crate) fn new(
        place: &'a Place,
        replica: &'a Replica,
        parcel: &'a Parcel,
        selection: Selection,
    ) -> Self {
        let (prims, population) = (prims_on(place, replica, parcel), replica.n_entities() as u32);
        Self { place, replica, parcel, prims, population, selection }
    }

    /// The same with another number of users, of a hub that knows of those who are on their way.
    pub(crate) const fn with_population(mut self, population: u32) -> Self {
        self.population = population;
        self
    }

    /// The body of the event.
    pub(crate) fn to_llsd(&self) -> Llsd {
        let flags = region_flags(self.place, self.replica);
        let environment = block([
            ("ParcelEnvironmentVersion", self.environment_version().into()),
            ("RegionAllowEnvironmentOverride", true.into()),
        ]);
        let access = RegionFlags(flags).any(RegionFlags::ALLOW_PARCEL_ACCESS) || self.land().is_none();
        Llsd::map([
            ("ParcelData", Llsd::Array(vec![Llsd::map(self.fields(flags))])),
            ("MediaData", self.media()),
            ("AgeVerificationBlock", block([("RegionDenyAgeUnverified", false.into())])),
            ("RegionAllowAccessBlock", block([("RegionAllowAccessOverride", access.into())])),
            ("ParcelEnvironmentBlock", environment),
        ])
    }

    fn land(&self) -> Option<&LandReplica> {
        self.replica.land()
    }

    fn estate(&self) -> Option<&Estate> {
        self.land()?.estate().map(|(estate, _)| &**estate)
    }

    fn environment_version(&self) -> i32 {
        self.parcel.environment.as_ref().map_or(NO_ENVIRONMENT, |environment| environment.version)
    }

    /// Factor of the capacity, prims that users may have on the parcel, and in the region.
    fn capacity(&self) -> (f32, u32, u32) {
        let ground = self.place.ground();
        let bonus = self.estate().map_or(1.0, |estate| estate.region.object_bonus);
        let side = ground.size_m / SQUARE_M;
        let share = f64::from(self.parcel.n_squares) / (f64::from(side) * f64::from(side));
        let max_objects = self.place.scene.max_objects;
        let of_parcel = (f64::from(max_objects) * share * f64::from(bonus)).round() as u32;
        (bonus, of_parcel.min(max_objects), max_objects)
    }

    fn fields(&self, region_flags: u32) -> Vec<(&'static str, Llsd)> {
        let (parcel, settings) = (self.parcel, &self.parcel.settings);
        let (bitmap, [west_south, east_north]) = self.squares();
        let (bonus, capacity, region_capacity) = self.capacity();
        let n_static = self.place.ground().n_objects();
        let in_region = n_static + self.replica.objects().len() as u32;
        // Without land there are no squares to count on.
        let on_bare = if self.land().is_none() { n_static } else { 0 };
        vec![
            ("AABBMax", east_north.into()),
            ("AABBMin", west_south.into()),
            ("AnyAVSounds", settings.has_any_sounds.into()),
            ("Area", number(parcel.area_m2())),
            ("AuctionID", Llsd::from_u32(0)),
            ("AuthBuyerID", settings.sale.buyer.into()),
            ("Bitmap", Llsd::Binary(bitmap)),
            ("Category", i32::from(settings.category).into()),
            ("ClaimDate", i32::try_from(parcel.claimed_s).unwrap_or(i32::MAX).into()),
            ("ClaimPrice", 0.into()),
            ("Desc", Llsd::from(&*settings.description)),
            ("GroupAVSounds", settings.has_group_sounds.into()),
            ("GroupID", settings.group.into()),
            ("GroupPrims", number(self.prims.of_group)),
            ("IsGroupOwned", false.into()),
            ("LandingType", (settings.landing.kind as i32).into()),
            ("LocalID", i32::from(parcel.number.0).into()),
            ("MaxPrims", number(capacity + self.prims.fixed + on_bare)),
            ("MediaAutoScale", settings.media.is_scaled.into()),
            ("MediaID", settings.media.texture.into()),
            ("MediaURL", Llsd::from(&*settings.media.url)),
            ("MusicURL", Llsd::from(&*settings.media.music_url)),
            ("Name", Llsd::from(&*settings.name)),
            ("ObscureMOAP", settings.media.is_hidden_outside.into()),
            ("OtherCleanTime", number(parcel.auto_return_min)),
            ("OtherCount", 0.into()),
            ("OtherPrims", number(self.prims.of_others + on_bare)),
            ("OwnerID", parcel.owner.map_or(Uuid::nil(), |owner| owner.0).into()),
            ("OwnerPrims", number(self.prims.of_owner)),
            ("ParcelFlags", Llsd::from_u32(settings.flags.0)),
            ("ParcelPrimBonus", f64::from(bonus).into()),
            ("PassHours", f64::from(settings.pass.hours).into()),
            ("PassPrice", number(settings.pass.price)),
            ("Privacy", (!settings.shows_avatars).into()),
            ("PublicCount", number(self.population)),
            ("RegionDenyAnonymous", false.into()),
            ("RegionDenyIdentified", false.into()),
            ("RegionDenyTransacted", false.into()),
            ("RegionPushOverride", RegionFlags(region_flags).any(RegionFlags::RESTRICT_PUSH).into()),
            ("RentPrice", 0.into()),
            ("RequestResult", (self.selection.result as i32).into()),
            ("SalePrice", number(settings.sale.price)),
            ("SeeAVs", settings.shows_avatars.into()),
            ("SelectedPrims", 0.into()),
            ("SelfCount", 0.into()),
            ("SequenceID", self.selection.sequence_id.into()),
            ("SimWideMaxPrims", number(region_capacity + self.prims.fixed_on_owners_land + on_bare)),
            ("SimWideTotalPrims", number(self.prims.on_owners_land.max(self.bare_total(in_region)))),
            ("SnapSelection", self.selection.is_snapped.into()),
            ("SnapshotID", settings.snapshot.into()),
            ("Status", 0.into()),
            ("TotalPrims", number(self.prims.total() + on_bare)),
            ("UserLocation", settings.landing.at.into()),
            ("UserLookAt", settings.landing.look_at.into()),
        ]
    }

    /// Prims of the region, if it is one parcel without land.
    fn bare_total(&self, in_region: u32) -> u32 {
        if self.land().is_none() { in_region } else { 0 }
    }

    fn media(&self) -> Llsd {
        let media = &self.parcel.settings.media;
        block([
            ("MediaDesc", Llsd::from(&*media.description)),
            ("MediaHeight", i32::from(media.height).into()),
            ("MediaLoop", i32::from(media.is_looped).into()),
            ("MediaType", Llsd::from(&*media.mime_type)),
            ("MediaWidth", i32::from(media.width).into()),
            ("ObscureMedia", false.into()),
            ("ObscureMusic", false.into()),
        ])
    }

    /// Its squares as a bitmap of the region, lowest bit first, and the corners of their rectangle in metres.
    fn squares(&self) -> (Vec<u8>, [Vec3; 2]) {
        let side = (self.place.ground().size_m / SQUARE_M) as usize;
        let far = side as f32 * SQUARE_M as f32;
        let Some(land) = self.land() else {
            let corners = [Vec3::ZERO, Vec3::new(far, far, CEILING_M)];
            return (vec![0xFF; side * side / 8], corners);
        };
        let mut bitmap = vec![0_u8; side * side / 8];
        let (mut least, mut most) = (Vec3::new(far, far, 0.0), Vec3::new(0.0, 0.0, CEILING_M));
        let own = land.squares().iter().enumerate().filter(|(_, number)| **number == self.parcel.number);
        for (index, _) in own {
            bitmap[index / 8] |= 1 << (index % 8);
            let corner = Vec3::new((index % side) as f32, (index / side) as f32, 0.0) * SQUARE_M as f32;
            least = least.min(corner);
            most = most.max(corner + Vec3::new(SQUARE_M as f32, SQUARE_M as f32, 0.0));
        }
        // Without squares there is no rectangle.
        (bitmap, if least.x < most.x { [least, most] } else { [Vec3::ZERO; 2] })
    }
}

/// The answer to a request for a parcel that is not there: all fields, since some clients read them before the result.
pub(crate) fn missing_parcel(place: &Place, replica: &Replica, sequence_id: i32) -> Llsd {
    let bare = Parcel::new(ParcelNumber::default(), Uuid::nil(), None, 0);
    let parcel = Parcel { settings: ParcelSettings::new(""), ..bare };
    let selection = Selection { sequence_id, result: RequestResult::Missing, ..Selection::default() };
    ParcelProperties::new(place, replica, &parcel, selection).to_llsd()
}

/// A number as events have it.
fn number(value: u32) -> Llsd {
    i32::try_from(value).unwrap_or(i32::MAX).into()
}

/// A block that stands once, as events have it.
fn block<'a>(fields: impl IntoIterator<Item = (&'a str, Llsd)>) -> Llsd {
    Llsd::Array(vec![Llsd::map(fields)])
}
