//! Objects of archives as linksets: ids, owners, places, and objects that are too large for one.

use super::*;
use crate::region::{PlacingOptions, group_of};
use crate::testing::*;
use archive::object::{WriteOptions, XmlForm, read_object, write_group};
use archive::xml::XmlLimits;
use link::VersionedBody;
use proptest::prelude::*;

const KNOWN: u128 = 1;
const DEFAULT: u128 = 9;

fn converter_with(rule: IdRule, options: PlacingOptions) -> LinksetConverter<'static> {
    let default_user = agent(DEFAULT);
    let accounts = AccountRules { is_known: &|account| account == agent(KNOWN), default_user };
    let placing = Placing::new(options, (256, 256), 256);
    LinksetConverter::new(placing, accounts, RenewedIds::new(rule, [5; 32]), Some(id(70)))
}

fn converter(rule: IdRule) -> LinksetConverter<'static> {
    converter_with(rule, PlacingOptions::default())
}

fn at(x: f32, y: f32) -> Vec3 {
    Vec3::new(x, y, 30.0)
}

#[test]
fn an_object_gets_ids_and_known_accounts_throughout() {
    let unknown = |body: &mut Body| {
        let ownership = Ownership { owner: agent(3), creator: agent(4), ..*body.ownership };
        body.ownership = Arc::new(ownership);
        body.contents = notecards(&[50, 51], agent(3));
    };
    let object = group(with(part(70, at(10.0, 20.0)), unknown), vec![part(71, Vec3::X)]);
    let mut renewing = converter(IdRule::Renew);
    let linksets = renewing.convert(object.clone());
    let [InsertedLinkset { prims }] = &linksets[..] else { panic!("{linksets:?}") };
    let [(root_place, root), (part_place, other)] = &prims[..] else { panic!("{prims:?}") };
    assert_eq!((root_place.motion.position, part_place.motion.position), (at(10.0, 20.0), Vec3::X));
    assert_eq!((root_place.link_number, part_place.link_number), (0, 1));
    assert!(root.id != id(70) && other.id != id(71) && root.id != other.id);
    let Ownership { creator, owner, last_owner, .. } = *root.ownership;
    assert_eq!((creator, owner, last_owner), (agent(DEFAULT), agent(DEFAULT), agent(KNOWN)));
    assert_eq!(other.ownership.owner, agent(DEFAULT), "an object has one owner");
    let items = &root.contents.as_ref().expect("contents").items;
    for item in items {
        let Ownership { owner, group, .. } = item.ownership;
        assert!(owner == agent(DEFAULT) && group.is_nil() && ![id(50), id(51)].contains(&item.id));
    }
    assert_ne!(items[0].id, items[1].id);
    let found = renewing.telehub().expect("it is among the objects");
    assert_eq!((found.object, &*found.name, found.position), (root.id, "Box 70", at(10.0, 20.0)));
    assert_eq!(renewing.totals(), (1, 2));
    assert_eq!(renewing.findings().n_total(), 1, "{:?}", renewing.findings());

    let kept = converter(IdRule::Keep).convert(object);
    let ids: Vec<Uuid> = kept[0].prims.iter().map(|(_, body)| body.id).collect();
    assert_eq!(ids, [id(70), id(71)]);
    let items = &kept[0].prims[0].1.contents.as_ref().expect("contents").items;
    assert_eq!(items.iter().map(|item| item.id).collect::<Vec<_>>(), [id(50), id(51)]);
}

#[test]
fn creators_of_other_grids_are_kept() {
    let home = |_: AgentId| Some("http://grid.example/;Ada Lovelace".to_owned());
    let options = WriteOptions { form: XmlForm::Xml2, creators: Some(&home) };
    let foreign = with(part(1, at(1.0, 1.0)), |body| {
        Arc::make_mut(&mut body.ownership).creator = agent(44);
        body.contents = notecards(&[50], agent(44));
    });
    let text = write_group(&group(foreign, vec![]), &options);
    let read = read_object(text.as_bytes(), &XmlLimits::OBJECT).expect("an object").object;
    let read = read.into_groups().remove(0).group;
    let linksets = converter(IdRule::Renew).convert(read);
    let body = &linksets[0].prims[0].1;
    assert_eq!(body.ownership.creator, agent(44));
    assert_eq!(body.contents.as_ref().expect("contents").items[0].ownership.creator, agent(44));
}

#[test]
fn large_objects_become_several_at_the_same_places() {
    let others = (1..600).map(|n| part(n, Vec3::new(n as f32 * 0.1, 0.0, 0.0))).collect();
    let mut converter = converter(IdRule::Keep);
    let mut root = part(1_000, at(100.0, 100.0));
    root.place.rotation = Quat::from_rotation_z(1.0);
    let linksets = converter.convert(group(root, others));
    let sizes: Vec<usize> = linksets.iter().map(|linkset| linkset.prims.len()).collect();
    assert_eq!((sizes, converter.totals()), (vec![256, 256, 88], (1, 600)));
    for linkset in &linksets {
        let root = linkset.prims[0].0.motion;
        for (place, body) in &linkset.prims[1..] {
            let there = root.position + root.rotation * place.motion.position;
            let offset = Vec3::new(body.id.as_u128() as f32 * 0.1, 0.0, 0.0);
            let expected = at(100.0, 100.0) + Quat::from_rotation_z(1.0) * offset;
            assert!(there.abs_diff_eq(expected, 1e-3), "{there} {expected}");
        }
    }
    let far = group(part(1, at(1.0, 1.0)), vec![part(2, Vec3::new(0.0, 0.0, 300.0)), part(3, Vec3::X)]);
    let linksets = converter.convert(far);
    assert_eq!(linksets.iter().map(|it| it.prims.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(linksets[1].prims[0].0.motion.position, Vec3::new(1.0, 1.0, 330.0));
}

#[test]
fn objects_without_a_place_are_left_out_and_named() {
    let displacement = Vec3::new(100.0, 0.0, 0.0);
    let options = PlacingOptions { displacement, ..PlacingOptions::default() };
    let mut moved = converter_with(IdRule::Keep, options);
    let convert = |converter: &mut LinksetConverter<'_>, position| {
        converter.convert(group(part(1, position), vec![])).len()
    };
    assert_eq!([100.0, 200.0].map(|x| convert(&mut moved, at(x, 10.0))), [1, 0]);
    assert_eq!((moved.totals(), moved.findings().n_total()), ((1, 1), 1));
    let mut still = converter(IdRule::Keep);
    assert_eq!([at(-5.0, 10.0), Vec3::NAN].map(|position| convert(&mut still, position)), [1, 0]);
    let whys: Vec<&str> = still.findings().listed().iter().map(|finding| &*finding.why).collect();
    assert!(whys[0].contains("border") && whys[1].contains("no number"), "{whys:?}");
}

proptest! {
    /// An object that is loaded with its ids and saved again is the same.
    #[test]
    fn objects_are_saved_as_they_were_loaded(
        n_others in 0..6_usize,
        x in 0.0..256.0_f32,
        turn in -3.0..3.0_f32,
        length in prop_oneof![Just(1.0_f32), 0.999_992..1.000_008_f32],
        flags in prop_oneof![Just(0), Just(PrimFlags::PHANTOM.0), Just(PrimFlags::ALLOW_DROP.0)],
    ) {
        let rotation = Quat::from_rotation_z(turn) * length;
        let other = |n: usize| {
            let mut other = part(n as u128 + 2, Vec3::splat(n as f32 + x / 2.0));
            other.place.rotation = rotation * Quat::from_rotation_x(n as f32);
            other
        };
        let others = (0..n_others).map(other).collect();
        let mut root = part(1, at(x, 7.0));
        (root.place.rotation, root.flags) = (rotation, flags);
        let root = with(root, |body| body.contents = notecards(&[50], agent(KNOWN)));
        let options = WriteOptions::default();
        let first = write_group(&group(root, others), &options);
        let read = |text: &str| {
            let object = read_object(text.as_bytes(), &XmlLimits::OBJECT).expect("an object").object;
            object.into_groups().remove(0).group
        };
        let load = |text: &str| {
            let linksets = converter(IdRule::Keep).convert(read(text));
            let prims: Vec<_> = linksets[0]
                .prims
                .iter()
                .map(|(place, body)| (*place, VersionedBody { version: 1, body: Arc::clone(body) }))
                .collect();
            write_group(&group_of(&prims).expect("a root"), &options)
        };
        // Groups of items are not known.
        let second = load(&first);
        prop_assert_eq!(load(&second), &second[..]);
        let places = |text: &str| {
            let SceneGroup { root, others } = read(text);
            others.iter().chain([&root]).map(|part| part.place).collect::<Vec<_>>()
        };
        prop_assert_eq!(places(&second), places(&first), "to the last digit");
    }
}
