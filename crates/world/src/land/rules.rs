//! Rights on land: one function, and a table as its test.
//!
//! ```text
//!                     operator  estate owner  manager  parcel owner  visitor
//! build               yes       yes           ¹        yes           ¹ CREATE_OBJECTS
//! let objects enter   yes       yes           ²        yes           ² ALLOW_OBJECT_ENTRY
//! run scripts         yes       yes           ³        yes           ³ ALLOW_OTHER_SCRIPTS
//! edit the ground     yes       yes           yes      ⁴             ALLOW_TERRAFORM, and ⁴ not BLOCK_TERRAFORM of the region
//! fly                 yes       yes           yes      ⁵             ALLOW_FLY, and ⁵ not BLOCK_FLY of the region
//! push                yes       yes           ⁶        yes           ⁶ without RESTRICT_PUSH of parcel and region
//! make sounds         yes       yes           ⁷        yes           ⁷ any sounds
//! set the parcel      yes       yes           yes      yes           no
//! divide and join     yes       yes           yes      ⁸             no; ⁸ ALLOW_PARCEL_CHANGES of the region
//! sell                yes       yes           yes      ⁹             no; ⁹ not BLOCK_LAND_RESELL of the region
//! give it up          yes       yes           no       yes           no
//! reclaim             yes       yes           yes      no            no
//! return objects      yes       yes           yes      yes           no
//! set the estate      yes       yes           yes      no            no
//! appoint managers    yes       yes           no       no            no
//! force an owner      yes       no            no       no            no
//! ```
//!
//! The rules are those of OpenSimulator, whose estate owners are operators of their regions by default; it leaves ⁴, ⁵, ⁸ and ⁹ to viewers. Groups have no
//! members yet, so that flags for groups allow nothing. Public land has no owner.

use link::{Estate, Parcel, ParcelFlags, RegionFlags};

/// Relation of a user to a parcel and its estate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandRole {
    /// The node, or an operator who has claimed an operator's rights.
    Operator,
    /// The owner of the estate.
    EstateOwner,
    /// A manager of the estate.
    EstateManager,
    /// The owner of the parcel.
    ParcelOwner,
    /// Any other user.
    Visitor,
}

/// A deed on land, by the right that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandDeed {
    /// To create objects.
    Build,
    /// To have an object enter from another parcel.
    EnterObjects,
    /// To run scripts.
    RunScripts,
    /// To change the ground.
    EditGround,
    /// To fly.
    Fly,
    /// To push other avatars by objects.
    Push,
    /// To make sounds that others hear.
    MakeSounds,
    /// To change settings and access lists of the parcel.
    SetParcel,
    /// To divide the parcel, or to join others to it.
    DivideAndJoin,
    /// To offer it for sale.
    Sell,
    /// To give it up.
    Release,
    /// To take it for the estate.
    Reclaim,
    /// To return objects of other owners.
    ReturnObjects,
    /// To change settings and lists of the estate.
    SetEstate,
    /// To change the list of managers.
    AppointManagers,
    /// To change an owner without a sale.
    ForceOwner,
}

/// True if a user of this role may do it on a parcel of the estate.
#[must_use]
pub fn land_allows(deed: LandDeed, role: LandRole, parcel: &Parcel, estate: &Estate) -> bool {
    let is_set = |flag: ParcelFlags| parcel.settings.flags.any(flag);
    let is_rule = |flag: RegionFlags| estate.region.flags.any(flag);
    let is_estate = matches!(role, LandRole::EstateOwner | LandRole::EstateManager);
    let owns = matches!(role, LandRole::EstateOwner | LandRole::ParcelOwner);
    if role == LandRole::Operator {
        return true;
    }
    match deed {
        LandDeed::Build => owns || is_set(ParcelFlags::CREATE_OBJECTS),
        LandDeed::EnterObjects => owns || is_set(ParcelFlags::ALLOW_OBJECT_ENTRY),
        LandDeed::RunScripts => owns || is_set(ParcelFlags::ALLOW_OTHER_SCRIPTS),
        LandDeed::EditGround => {
            is_estate
                || !is_rule(RegionFlags::BLOCK_TERRAFORM) && (owns || is_set(ParcelFlags::ALLOW_TERRAFORM))
        }
        LandDeed::Fly => {
            is_estate || !is_rule(RegionFlags::BLOCK_FLY) && (owns || is_set(ParcelFlags::ALLOW_FLY))
        }
        LandDeed::Push => owns || !is_set(ParcelFlags::RESTRICT_PUSH) && !is_rule(RegionFlags::RESTRICT_PUSH),
        LandDeed::MakeSounds => owns || parcel.settings.has_any_sounds,
        LandDeed::SetParcel | LandDeed::ReturnObjects => is_estate || owns,
        LandDeed::DivideAndJoin => is_estate || owns && is_rule(RegionFlags::ALLOW_PARCEL_CHANGES),
        LandDeed::Sell => is_estate || owns && !is_rule(RegionFlags::BLOCK_LAND_RESELL),
        LandDeed::Release => owns,
        LandDeed::Reclaim | LandDeed::SetEstate => is_estate,
        LandDeed::AppointManagers => role == LandRole::EstateOwner,
        LandDeed::ForceOwner => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{AgentId, Uuid};
    use link::ParcelNumber;

    const ROLES: [LandRole; 5] = [
        LandRole::Operator,
        LandRole::EstateOwner,
        LandRole::EstateManager,
        LandRole::ParcelOwner,
        LandRole::Visitor,
    ];

    /// Rights with no flag set on parcel and region, then with the flag that allows (or forbids) it, then with both parcel's and region's.
    /// A row has a letter for each role: y or n.
    const TABLE: [(LandDeed, u32, u32, &str); 37] = [
        (LandDeed::Build, 0, 0, "yynyn"),
        (LandDeed::Build, 1 << 6, 0, "yyyyy"),
        (LandDeed::Build, 1 << 26, 0, "yynyn"),
        (LandDeed::EnterObjects, 0, 0, "yynyn"),
        (LandDeed::EnterObjects, 1 << 27, 0, "yyyyy"),
        (LandDeed::EnterObjects, 1 << 28, 0, "yynyn"),
        (LandDeed::RunScripts, 0, 0, "yynyn"),
        (LandDeed::RunScripts, 1 << 1, 0, "yyyyy"),
        (LandDeed::EditGround, 0, 0, "yyyyn"),
        (LandDeed::EditGround, 1 << 4, 0, "yyyyy"),
        (LandDeed::EditGround, 0, 1 << 6, "yyynn"),
        (LandDeed::EditGround, 1 << 4, 1 << 6, "yyynn"),
        (LandDeed::Fly, 0, 0, "yyyyn"),
        (LandDeed::Fly, 1, 0, "yyyyy"),
        (LandDeed::Fly, 0, 1 << 19, "yyynn"),
        (LandDeed::Fly, 1, 1 << 19, "yyynn"),
        (LandDeed::Push, 0, 0, "yyyyy"),
        (LandDeed::Push, 1 << 21, 0, "yynyn"),
        (LandDeed::Push, 0, 1 << 22, "yynyn"),
        (LandDeed::SetParcel, 0, 0, "yyyyn"),
        (LandDeed::SetParcel, u32::MAX, u32::MAX, "yyyyn"),
        (LandDeed::DivideAndJoin, 0, 0, "yyynn"),
        (LandDeed::DivideAndJoin, 0, 1 << 26, "yyyyn"),
        (LandDeed::Sell, 0, 0, "yyyyn"),
        (LandDeed::Sell, 0, 1 << 7, "yyynn"),
        (LandDeed::Release, 0, 0, "yynyn"),
        (LandDeed::Release, u32::MAX, u32::MAX, "yynyn"),
        (LandDeed::Reclaim, 0, 0, "yyynn"),
        (LandDeed::Reclaim, u32::MAX, u32::MAX, "yyynn"),
        (LandDeed::ReturnObjects, 0, 0, "yyyyn"),
        (LandDeed::ReturnObjects, u32::MAX, u32::MAX, "yyyyn"),
        (LandDeed::SetEstate, 0, 0, "yyynn"),
        (LandDeed::SetEstate, u32::MAX, u32::MAX, "yyynn"),
        (LandDeed::AppointManagers, 0, 0, "yynnn"),
        (LandDeed::AppointManagers, u32::MAX, u32::MAX, "yynnn"),
        (LandDeed::ForceOwner, 0, 0, "ynnnn"),
        (LandDeed::ForceOwner, u32::MAX, u32::MAX, "ynnnn"),
    ];

    fn parcel(flags: u32) -> Parcel {
        let mut parcel =
            Parcel::new(ParcelNumber(1), Uuid::from_u128(2), Some(AgentId(Uuid::from_u128(3))), 0);
        parcel.settings.flags = ParcelFlags(flags);
        parcel
    }

    fn estate(flags: u32) -> Estate {
        let mut estate = Estate::new("Hills", None, 20.0);
        estate.region.flags = RegionFlags(flags);
        estate
    }

    #[test]
    fn rights_are_those_of_the_table() {
        for (deed, of_parcel, of_region, row) in TABLE {
            for (role, letter) in ROLES.into_iter().zip(row.chars()) {
                let is_allowed = land_allows(deed, role, &parcel(of_parcel), &estate(of_region));
                assert_eq!(
                    is_allowed,
                    letter == 'y',
                    "{deed:?} by {role:?}, flags {of_parcel:x}, {of_region:x}"
                );
            }
        }
    }

    #[test]
    fn sounds_follow_their_own_setting() {
        for (has_any_sounds, row) in [(false, "yynyn"), (true, "yyyyy")] {
            let mut parcel = parcel(u32::MAX);
            parcel.settings.has_any_sounds = has_any_sounds;
            for (role, letter) in ROLES.into_iter().zip(row.chars()) {
                assert_eq!(
                    land_allows(LandDeed::MakeSounds, role, &parcel, &estate(0)),
                    letter == 'y',
                    "{role:?}"
                );
            }
        }
    }

    #[test]
    fn flags_take_no_right_from_operators_and_give_none_that_only_roles_have() {
        let by_roles = [
            LandDeed::SetParcel,
            LandDeed::Release,
            LandDeed::Reclaim,
            LandDeed::ReturnObjects,
            LandDeed::SetEstate,
            LandDeed::AppointManagers,
            LandDeed::ForceOwner,
        ];
        for bit in 0..32 {
            let (parcel, estate) = (parcel(1 << bit), estate(1 << bit));
            for (deed, ..) in TABLE {
                assert!(land_allows(deed, LandRole::Operator, &parcel, &estate), "{deed:?}");
            }
            for deed in by_roles {
                assert!(!land_allows(deed, LandRole::Visitor, &parcel, &estate), "{deed:?}, bit {bit}");
            }
        }
    }
}
