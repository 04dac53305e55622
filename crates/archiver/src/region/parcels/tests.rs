//! Parcels of archives in regions of the same and another size, beside others, and back.

use super::super::placing::PlacingOptions;
use super::super::written_parcels::archived_parcel;
use super::*;
use crate::IdRule;
use crate::testing::{agent, id};
use archive::oar::{ArchivedMedia, ParcelAccess};
use proptest::prelude::*;

const KNOWN: u128 = 1;
const ESTATE_OWNER: u128 = 5;

fn rules_for(options: PlacingOptions, archive_m: u32, region_m: u32) -> ParcelRules<'static> {
    ParcelRules {
        placing: Placing::new(options, (archive_m, archive_m), region_m),
        accounts: AccountRules { is_known: &|account| account == agent(KNOWN), default_user: agent(9) },
        estate_owner: Some(agent(ESTATE_OWNER)),
        region_m,
        now_s: 77,
    }
}

fn rules() -> ParcelRules<'static> {
    rules_for(PlacingOptions::default(), 256, 256)
}

fn load(
    archived: &[ArchivedParcel],
    former: Option<&ReplacedParcels>,
    rules: &ParcelRules<'_>,
    ids: IdRule,
) -> LoadedParcels {
    parcels_of(archived, former, rules, &mut RenewedIds::new(ids, [3; 32])).unwrap()
}

/// A parcel with these squares of an archive of 256 m.
fn parcel(n: u128, covers: impl Fn(u32, u32) -> bool) -> ArchivedParcel {
    let mut bitmap = vec![0; 512];
    for n in (0..4_096_u32).filter(|n| covers(n % 64, n / 64)) {
        bitmap[n as usize / 8] |= 1 << (n % 8);
    }
    ArchivedParcel {
        id: id(n),
        local_id: n as i32,
        name: format!("Parcel {n}"),
        owner: agent(KNOWN).0,
        bitmap,
        ..ArchivedParcel::default()
    }
}

fn number_at(replaced: &ReplacedParcels, column: usize, row: usize) -> u16 {
    let side = replaced.squares.len().isqrt();
    replaced.squares[row * side + column].0
}

/// Checks that a world would take them.
fn check(replaced: &ReplacedParcels, region_m: u32) {
    let mut n_squares: BTreeMap<ParcelNumber, u32> = BTreeMap::new();
    replaced.squares.iter().for_each(|number| *n_squares.entry(*number).or_default() += 1);
    let of_parcels = replaced.parcels.iter().map(|parcel| (parcel.number, parcel.n_squares)).collect();
    assert_eq!(n_squares, of_parcels);
    assert!(replaced.parcels.is_sorted_by_key(|parcel| parcel.number));
    assert!(replaced.parcels.iter().all(|parcel| parcel.is_sound(region_m)));
    let ids: BTreeSet<Uuid> = replaced.parcels.iter().map(|parcel| parcel.id).collect();
    assert_eq!(ids.len(), replaced.parcels.len());
}

#[test]
fn a_stated_size_takes_no_memory() {
    let rules = rules_for(PlacingOptions::default(), 65_536, 256);
    let squares = archived_squares(&[parcel(7, |x, y| (x, y) == (3, 0))], &rules);
    assert_eq!(squares.iter().position(Option::is_some), Some(3));
    assert!(archived_squares(&[], &rules).iter().all(Option::is_none));
}

#[test]
fn parcels_keep_ids_and_numbers_and_the_rest_is_the_estates() {
    let all = [parcel(7, |x, _| x < 32), parcel(3, |x, y| x >= 32 && y < 10), parcel(4, |_, _| false)];
    let LoadedParcels { replaced, loaded } = load(&all, None, &rules(), IdRule::Keep);
    check(&replaced, 256);
    assert_eq!(loaded, [(0, id(7)), (1, id(3))], "one covers nothing");
    assert_eq!([(0, 0), (40, 0)].map(|(x, y)| number_at(&replaced, x, y)), [7, 3]);
    let rest = replaced.parcels.iter().find(|parcel| parcel.number.0 == number_at(&replaced, 40, 40));
    let rest = rest.expect("each square has a parcel");
    assert_eq!((rest.owner, rest.n_squares), (Some(agent(ESTATE_OWNER)), 32 * 54));
    assert_eq!(replaced.parcels.len(), 3);
}

#[test]
fn unknown_owners_and_groups_become_the_estates_owner_and_unknown_guests_nothing() {
    let entry = |n, flags| {
        let agent = agent(n).0;
        ParcelAccess { agent, flags, expires_s: -4, ..ParcelAccess::default() }
    };
    let archived = ArchivedParcel {
        owner: agent(2).0,
        group: id(6),
        access: vec![entry(KNOWN, 1), entry(2, 1), entry(KNOWN, 2), entry(KNOWN, 1)],
        autoreturn_min: i32::MAX,
        claimed_s: -1,
        ..parcel(1, |_, _| true)
    };
    let known = parcel_of(&archived, ParcelNumber(1), &rules());
    assert_eq!(known.owner, Some(agent(ESTATE_OWNER)));
    let guests = [AccessEntry { agent: agent(KNOWN), expires_s: 0 }];
    assert_eq!((&known.allowed[..], &known.banned[..]), (&guests[..], &guests[..]));
    assert_eq!((known.claimed_s, known.settings.group), (0, Uuid::nil()));
    assert_eq!(known.auto_return_min, Parcel::AUTO_RETURN_MAX_MIN);
    let of_group = ArchivedParcel { owner: agent(KNOWN).0, is_group_owned: true, ..archived };
    assert_eq!(parcel_of(&of_group, ParcelNumber(1), &rules()).owner, Some(agent(ESTATE_OWNER)));
}

#[test]
fn added_parcels_take_the_squares_of_former_ones() {
    let former = load(&[parcel(1, |_, _| true)], None, &rules(), IdRule::Keep).replaced;
    let all = [parcel(1, |x, y| x < 8 && y < 8)];
    let added = load(&all, Some(&former), &rules(), IdRule::Renew);
    check(&added.replaced, 256);
    assert_eq!([(0, 0), (9, 9)].map(|(x, y)| number_at(&added.replaced, x, y)), [2, 1]);
    assert!(added.loaded[0].1 != id(1) && added.replaced.parcels.len() == 2);
    let all = [parcel(9, |_, _| true)];
    let covered = load(&all, Some(&former), &rules(), IdRule::Keep);
    check(&covered.replaced, 256);
    assert_eq!(covered.replaced.parcels.len(), 1, "the former one has no square left");
}

#[test]
fn parcels_are_turned_moved_and_cut_with_their_region() {
    let quarter = PlacingOptions { rotation_deg: 90.0, ..PlacingOptions::default() };
    let all = [parcel(7, |x, y| x < 4 && y < 4)];
    let turned = load(&all, None, &rules_for(quarter, 256, 256), IdRule::Keep).replaced;
    assert_eq!([(63, 0), (0, 0)].map(|(x, y)| number_at(&turned, x, y)), [7, 1]);
    let larger = rules_for(PlacingOptions::default(), 256, 512);
    let larger = load(&all, None, &larger, IdRule::Keep).replaced;
    check(&larger, 512);
    assert_eq!([(3, 3), (4, 3), (127, 127)].map(|(x, y)| number_at(&larger, x, y)), [7, 1, 1]);
    let far = PlacingOptions { displacement: Vec3::new(600.0, 0.0, 0.0), ..PlacingOptions::default() };
    let none = load(&all, None, &rules_for(far, 256, 256), IdRule::Keep);
    assert!(none.loaded.is_empty());
    check(&none.replaced, 256);
}

#[test]
fn a_landing_point_on_another_parcel_is_dropped() {
    let landing =
        |x: f32| ArchivedParcel { landing_type: 1, landing_at: [x, 10.0, 25.0], ..parcel(1, |x, _| x < 32) };
    for (x, kind) in [(10.0, LandingKind::Point), (200.0, LandingKind::Anywhere)] {
        let loaded = load(&[landing(x)], None, &rules(), IdRule::Keep);
        assert_eq!(loaded.replaced.parcels[0].settings.landing.kind, kind, "{x}");
    }
}

/// The document of another program, with values that are not modelled.
fn document() -> String {
    let archived = ArchivedParcel {
        description: "<b>".to_owned(),
        area_m2: 65_536,
        auction: 3,
        category: 2,
        flags: u32::MAX,
        status: 1,
        media: ArchivedMedia { url: "http://a/".to_owned(), auto_scale: 1, ..ArchivedMedia::default() },
        access: vec![ParcelAccess { agent: agent(8).0, flags: 1, ..ParcelAccess::default() }],
        pass_hours: 1.1,
        sale_price: -1,
        dwell: 7.5,
        landing_at: [1.5, 2.5, 20.1],
        environment: Some("{'flags':i0}".to_owned()),
        ..parcel(1, |_, _| true)
    };
    archived.write().replace("</LandData>", "<Novelty>kept</Novelty></LandData>")
}

fn read(document: &str) -> ArchivedParcel {
    ArchivedParcel::read(document.as_bytes()).unwrap().value
}

#[test]
fn parcels_that_did_not_change_are_written_as_they_were() {
    let source = document();
    let loaded = load(&[read(&source)], None, &rules(), IdRule::Keep).replaced;
    let write =
        |parcel: &Parcel| archived_parcel(parcel, &loaded.squares, Some(read(&source)), &rules()).write();
    assert_eq!(write(&loaded.parcels[0]), source);
    let mut changed = Parcel::clone(&loaded.parcels[0]);
    (changed.settings.name, changed.owner) = ("Meadow".into(), Some(agent(ESTATE_OWNER)));
    let [former_owner, owner] = [KNOWN, ESTATE_OWNER].map(|n| format!("<OwnerID>{}", id(n)));
    let expected = source.replace("Parcel 1", "Meadow").replace(&former_owner, &owner);
    assert_eq!(write(&changed), expected);
}

proptest! {
    #[test]
    fn parcels_without_a_source_come_back(
        flags in any::<u32>(),
        (category, price) in (0..14_u8, 0..i32::MAX),
        (width, height) in (any::<u16>(), any::<u16>()),
        auto_return_min in 0..Parcel::AUTO_RETURN_MAX_MIN,
        name in "[a-z]{0,20}",
    ) {
        let mut parcel = Parcel::new(ParcelNumber(4), id(4), Some(agent(KNOWN)), 12);
        parcel.auto_return_min = auto_return_min;
        parcel.n_squares = 4_096;
        parcel.allowed = [AccessEntry { agent: agent(KNOWN), expires_s: 9 }].into();
        let mut settings = ParcelSettings::new(&name);
        (settings.flags, settings.category) = (ParcelFlags(flags), category);
        settings.sale.price = price.unsigned_abs();
        (settings.media.width, settings.media.height) = (width, height);
        parcel.settings = settings.bounded(256).unwrap();
        let squares = vec![ParcelNumber(4); 4_096];
        let text = archived_parcel(&parcel, &squares, None, &rules()).write();
        let again = load(&[read(&text)], None, &rules(), IdRule::Keep).replaced;
        prop_assert_eq!(&*again.parcels[0], &parcel);
    }
}
