//! Parcels as OpenSimulator writes them.

use super::*;
use proptest::prelude::*;

/// With elements that are not known here, and with a time that is no number, as in old archives.
const SAMPLE: &str = "<?xml version=\"1.0\" encoding=\"utf-16\"?><LandData><Area>65536</Area><AuctionID>0</AuctionID>\
    <AuthBuyerID>00000000-0000-0000-0000-000000000000</AuthBuyerID><Category>-1</Category><ClaimDate>1227000000</ClaimDate>\
    <ClaimPrice>5</ClaimPrice><GlobalID>d4ed352d-98c9-4b6a-9d5e-5d8a1b6f5b3a</GlobalID>\
    <GroupID>00000000-0000-0000-0000-000000000000</GroupID><IsGroupOwned>False</IsGroupOwned><Bitmap>//8B</Bitmap>\
    <Description>A &amp; B</Description><Flags>536870919</Flags><LandingType>1</LandingType><Name>Your Parcel</Name><Status>0</Status>\
    <LocalID>7</LocalID><MediaAutoScale>1</MediaAutoScale><MediaID>00000000-0000-0000-0000-000000000009</MediaID>\
    <MediaURL>http://a/?b&amp;c</MediaURL><MusicURL /><MediaType>text/html</MediaType><MediaDesc /><MediaH>480</MediaH><MediaW>640</MediaW>\
    <MediaLoop>True</MediaLoop><ObscureMOAP>true</ObscureMOAP><Novelty a=\"b\">kept</Novelty>\
    <OwnerID>00000000-0000-0000-0000-000000000003</OwnerID><ParcelAccessList><ParcelAccessEntry>\
    <AgentID>00000000-0000-0000-0000-000000000004</AgentID><Time>2009-01-01</Time><AccessList>2</AccessList></ParcelAccessEntry>\
    <ParcelAccessEntry><AgentID>00000000-0000-0000-0000-000000000005</AgentID><Time>1</Time><AccessList>1</AccessList><Why>x</Why>\
    </ParcelAccessEntry></ParcelAccessList><PassHours>1.5</PassHours><PassPrice>2</PassPrice><SalePrice>3</SalePrice>\
    <SnapshotID>00000000-0000-0000-0000-000000000006</SnapshotID><UserLocation>&lt;1, 2.5, 3&gt;</UserLocation>\
    <UserLookAt>&lt;0, 1, 0&gt;</UserLookAt><Dwell>0</Dwell><OtherCleanTime>20</OtherCleanTime><SeeAVs>0</SeeAVs><AnyAVSnds>1</AnyAVSnds>\
    <GrpAVSnds>0</GrpAVSnds><Environment>{'version':i1}</Environment></LandData>";

fn sample() -> ArchivedParcel {
    let ReadDocument { value, unread } = ArchivedParcel::read(SAMPLE.as_bytes()).unwrap();
    assert_eq!(unread, vec![]);
    value
}

/// Without the document, for comparisons.
fn bare(parcel: ArchivedParcel) -> ArchivedParcel {
    ArchivedParcel { source: DocumentSource::default(), ..parcel }
}

#[test]
fn every_value_is_read() {
    let parcel = sample();
    let id = Uuid::from_u128;
    assert_eq!((parcel.area_m2, parcel.category), (65_536, -1));
    assert_eq!((parcel.claimed_s, parcel.claim_price), (1_227_000_000, 5));
    assert_eq!(parcel.id.to_string(), "d4ed352d-98c9-4b6a-9d5e-5d8a1b6f5b3a");
    assert_eq!((&*parcel.bitmap, parcel.n_squares()), (&[255, 255, 1][..], 17));
    assert_eq!((&*parcel.name, &*parcel.description, parcel.flags), ("Your Parcel", "A & B", 536_870_919));
    assert_eq!((parcel.landing_type, parcel.local_id, parcel.owner, parcel.snapshot), (1, 7, id(3), id(6)));
    let media = ArchivedMedia {
        texture: id(9),
        url: "http://a/?b&c".to_owned(),
        mime_type: "text/html".to_owned(),
        description: String::new(),
        height_px: 480,
        width_px: 640,
        auto_scale: 1,
        is_looped: true,
        is_obscured: true,
    };
    assert_eq!(parcel.media, media);
    let banned =
        ParcelAccess { agent: id(4), expires_s: 0, flags: 2, unknown: "<Time>2009-01-01</Time>".into() };
    let allowed = ParcelAccess { agent: id(5), expires_s: 1, flags: 1, unknown: "<Why>x</Why>".into() };
    assert_eq!(parcel.access, [banned, allowed]);
    assert_eq!((parcel.pass_hours, parcel.pass_price, parcel.sale_price), (1.5, 2, 3));
    assert_eq!((parcel.landing_at, parcel.landing_look), ([1.0, 2.5, 3.0], [0.0, 1.0, 0.0]));
    assert_eq!((parcel.autoreturn_min, parcel.sees_avatars, parcel.hears_avatars), (20, false, true));
    assert_eq!((parcel.hears_group, parcel.environment.as_deref()), (false, Some("{'version':i1}")));
}

#[test]
fn an_unchanged_parcel_is_written_as_it_was_read() {
    assert_eq!(sample().write(), SAMPLE);
}

#[test]
fn changes_leave_the_rest_as_it_was() {
    let mut parcel = sample();
    parcel.name = "Mine".to_owned();
    assert_eq!(parcel.write(), SAMPLE.replace("Your Parcel", "Mine"));
    parcel.access.remove(0);
    let text = parcel.write();
    assert!(text.contains("<Novelty a=\"b\">kept</Novelty>") && text.contains("<Why>x</Why>"), "{text}");
    assert_eq!(bare(ArchivedParcel::read(text.as_bytes()).unwrap().value), bare(parcel));
}

#[test]
fn a_new_parcel_has_every_element_of_opensimulator() {
    let parcel = bare(sample());
    let text = parcel.write();
    for field in FIELDS {
        assert!(text.contains(&format!("<{}", field.name)), "{}", field.name);
    }
    let again = ArchivedParcel::read(text.as_bytes()).unwrap();
    assert_eq!(again.unread, vec![]);
    assert_eq!(bare(again.value), parcel);
    let least = ArchivedParcel::default().write();
    assert!(!least.contains("<Environment"), "{least}");
    assert!(least.contains("<ParcelAccessList />") && least.contains("<Bitmap />"), "{least}");
}

#[test]
fn lists_and_bitmaps_that_cannot_be_read_are_named() {
    let large = BASE64_STANDARD.encode(vec![0; BITMAP_BYTES_MAX + 1]);
    let access = |entries: &str| format!("<ParcelAccessList>{entries}</ParcelAccessList>");
    for (element, name) in [
        ("<Bitmap>!</Bitmap>", "Bitmap"),
        (&format!("<Bitmap>{large}</Bitmap>"), "Bitmap"),
        ("<ParcelAccessList><Other/></ParcelAccessList>", "ParcelAccessList"),
        (&access("<ParcelAccessEntry><AgentID>x</AgentID></ParcelAccessEntry>"), "ParcelAccessList"),
        (&access(&"<ParcelAccessEntry/>".repeat(5_000)), "ParcelAccessList"),
        ("<UserLocation>&lt;1, 2, NaN&gt;</UserLocation>", "UserLocation"),
    ] {
        let text = format!("<LandData>{element}</LandData>");
        let read = ArchivedParcel::read(text.as_bytes()).unwrap();
        assert_eq!(read.unread.iter().map(|unread| &*unread.element).collect::<Vec<_>>(), [name]);
        assert_eq!(read.value.write(), text);
    }
    let spaced = ArchivedParcel::read(b"<LandData><Bitmap> //\n8B </Bitmap></LandData>").unwrap();
    assert_eq!(spaced.value.bitmap, [255, 255, 1]);
}

proptest! {
    #[test]
    fn damaged_parcels_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(read) = ArchivedParcel::read(&bytes) {
            prop_assert_eq!(read.value.write().into_bytes(), bytes);
        }
    }
}
