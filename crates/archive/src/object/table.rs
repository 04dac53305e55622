//! Elements that OpenSimulator's serializer knows, in the order in which it writes them.
//!
//! The numbers of elements and groups are part of the format of [`prim::Carried`] ([`super::kept`]): a number is never given to another element, and a
//! new element gets a new one, wherever it stands.

use Modelling::{Constant, Nested, Own, Shared};

/// The relation of an element to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modelling {
    /// No part of the model. It is written as it was read, or with OpenSimulator's default.
    Constant,
    /// An element with rules of its own: a shape, contents, a part.
    Nested,
    /// A value of its own.
    Own,
    /// A value that several elements make together, with the number of their group: they are kept as they were read while all of them are unchanged.
    Shared(u8),
}

/// A known element.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownElement {
    /// Its number, below 128.
    pub(super) id: u8,
    pub(super) name: &'static str,
    pub(super) kind: Modelling,
}

/// Known elements of another element.
#[derive(Debug)]
pub(super) struct ElementTable(&'static [KnownElement]);

impl ElementTable {
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The element at a place.
    pub(super) const fn at(&self, index: usize) -> KnownElement {
        self.0[index]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, KnownElement)> {
        self.0.iter().copied().enumerate()
    }

    /// Place of an element. The search begins behind the former one, since most documents have them in order.
    pub(super) fn find(&self, name: &str, from: usize) -> Option<usize> {
        let from = from.min(self.0.len());
        let (before, behind) = self.0.split_at(from);
        let is_it = |known: &KnownElement| known.name == name;
        behind.iter().position(is_it).map(|at| from + at).or_else(|| before.iter().position(is_it))
    }

    /// Place of the element with a number.
    pub(super) fn of_id(&self, id: u8) -> Option<usize> {
        // The numbers of the first edition are the places.
        let guess = usize::from(id);
        let is_it = |known: &KnownElement| known.id == id;
        if self.0.get(guess).is_some_and(is_it) { Some(guess) } else { self.0.iter().position(is_it) }
    }
}

const fn known(id: u8, name: &'static str, kind: Modelling) -> KnownElement {
    KnownElement { id, name, kind }
}

// Groups of a part.
const FLAGS: Modelling = Shared(0);
const CREATOR: Modelling = Shared(1);
const SIT_TARGET: Modelling = Shared(2);
const OWNER: Modelling = Shared(3);
const MASKS: Modelling = Shared(4);
const SOUND: Modelling = Shared(5);
const CREATED: Modelling = Shared(6);

/// Elements of a part.
pub(super) static PART: ElementTable = ElementTable(&[
    known(0, "AllowedDrop", FLAGS),
    known(1, "CreatorID", CREATOR),
    // The home and name of a creator of another grid belong to the id.
    known(2, "CreatorData", CREATOR),
    known(3, "FolderID", Own),
    known(4, "InventorySerial", Own),
    known(5, "TaskInventory", Nested),
    known(6, "UUID", Own),
    known(7, "LocalId", Own),
    known(8, "Name", Own),
    known(9, "Material", Own),
    known(10, "PassTouches", Constant),
    known(11, "PassCollisions", Constant),
    known(12, "RegionHandle", Constant),
    known(13, "ScriptAccessPin", Constant),
    known(14, "GroupPosition", Own),
    known(15, "OffsetPosition", Own),
    known(16, "RotationOffset", Own),
    known(17, "Velocity", Own),
    known(18, "AngularVelocity", Own),
    known(19, "Acceleration", Own),
    known(20, "Description", Own),
    known(21, "Color", Own),
    known(22, "Text", Own),
    known(23, "SitName", Own),
    known(24, "TouchName", Own),
    known(25, "LinkNum", Own),
    known(26, "ClickAction", Own),
    known(27, "Shape", Nested),
    known(28, "Scale", Own),
    known(29, "SitTargetOrientation", SIT_TARGET),
    known(30, "SitTargetPosition", SIT_TARGET),
    known(31, "SitTargetPositionLL", SIT_TARGET),
    known(32, "SitTargetOrientationLL", SIT_TARGET),
    known(33, "StandTarget", Constant),
    known(34, "ParentID", Own),
    known(35, "CreationDate", CREATED),
    known(36, "Category", Constant),
    known(37, "SalePrice", Own),
    known(38, "ObjectSaleType", Own),
    known(39, "OwnershipCost", Constant),
    known(40, "GroupID", Own),
    known(41, "OwnerID", OWNER),
    known(42, "LastOwnerID", Own),
    // The rezzer means nothing to another owner.
    known(43, "RezzerID", OWNER),
    known(44, "BaseMask", MASKS),
    known(45, "OwnerMask", MASKS),
    known(46, "GroupMask", MASKS),
    known(47, "EveryoneMask", MASKS),
    known(48, "NextOwnerMask", MASKS),
    known(49, "Flags", FLAGS),
    known(50, "CollisionSound", Constant),
    known(51, "CollisionSoundVolume", Constant),
    known(52, "MediaUrl", Own),
    known(53, "AttachedPos", Constant),
    known(54, "DynAttrs", Constant),
    known(55, "TextureAnimation", Own),
    known(56, "ParticleSystem", Own),
    known(57, "PayPrice0", Constant),
    known(58, "PayPrice1", Constant),
    known(59, "PayPrice2", Constant),
    known(60, "PayPrice3", Constant),
    known(61, "PayPrice4", Constant),
    known(62, "Buoyancy", Constant),
    known(63, "Force", Constant),
    known(64, "Torque", Constant),
    known(65, "VolumeDetectActive", FLAGS),
    known(66, "Vehicle", Constant),
    known(67, "PhysicsInertia", Constant),
    known(68, "RotationAxisLocks", Constant),
    known(69, "PhysicsShapeType", Own),
    known(70, "Density", Own),
    known(71, "Friction", Own),
    known(72, "Bounce", Own),
    known(73, "GravityModifier", Own),
    known(74, "CameraEyeOffset", Constant),
    known(75, "CameraAtOffset", Constant),
    known(76, "SoundID", SOUND),
    known(77, "SoundGain", SOUND),
    known(78, "SoundFlags", SOUND),
    known(79, "SoundRadius", SOUND),
    known(80, "SoundQueueing", Constant),
    known(81, "SOPAnims", Constant),
    known(82, "SitActRange", Constant),
    // This server's own, where OpenSimulator's form has no room; its reader skips elements that it does not know.
    known(83, CREATED_MICROSECONDS, CREATED),
    known(84, HAS_SIT_TARGET, SIT_TARGET),
]);

/// Time of creation in microseconds since 1970, if it is no whole second.
pub(super) const CREATED_MICROSECONDS: &str = "ThrongCreated";

/// True for a sit target in the middle of its prim, which OpenSimulator takes for none.
pub(super) const HAS_SIT_TARGET: &str = "ThrongSitTarget";

// Groups of a shape.
const CURVES: Modelling = Shared(0);
const EXTRA: Modelling = Shared(1);

/// Elements of a shape.
pub(super) static SHAPE: ElementTable = ElementTable(&[
    known(0, "ProfileCurve", CURVES),
    known(1, "TextureEntry", Own),
    known(2, "ExtraParams", EXTRA),
    known(3, "PathBegin", CURVES),
    known(4, "PathCurve", CURVES),
    known(5, "PathEnd", CURVES),
    known(6, "PathRadiusOffset", CURVES),
    known(7, "PathRevolutions", CURVES),
    known(8, "PathScaleX", CURVES),
    known(9, "PathScaleY", CURVES),
    known(10, "PathShearX", CURVES),
    known(11, "PathShearY", CURVES),
    known(12, "PathSkew", CURVES),
    known(13, "PathTaperX", CURVES),
    known(14, "PathTaperY", CURVES),
    known(15, "PathTwist", CURVES),
    known(16, "PathTwistBegin", CURVES),
    known(17, "PCode", Own),
    known(18, "ProfileBegin", CURVES),
    known(19, "ProfileEnd", CURVES),
    known(20, "ProfileHollow", CURVES),
    // Of older files, which have the size of a part here.
    known(21, "Scale", Constant),
    known(22, "State", Own),
    known(23, "LastAttachPoint", Constant),
    known(24, "ProfileShape", CURVES),
    known(25, "HollowShape", CURVES),
    known(26, "SculptTexture", EXTRA),
    known(27, "SculptType", EXTRA),
    known(28, "FlexiSoftness", EXTRA),
    known(29, "FlexiTension", EXTRA),
    known(30, "FlexiDrag", EXTRA),
    known(31, "FlexiGravity", EXTRA),
    known(32, "FlexiWind", EXTRA),
    known(33, "FlexiForceX", EXTRA),
    known(34, "FlexiForceY", EXTRA),
    known(35, "FlexiForceZ", EXTRA),
    known(36, "LightColorR", EXTRA),
    known(37, "LightColorG", EXTRA),
    known(38, "LightColorB", EXTRA),
    known(39, "LightColorA", EXTRA),
    known(40, "LightRadius", EXTRA),
    known(41, "LightCutoff", EXTRA),
    known(42, "LightFalloff", EXTRA),
    known(43, "LightIntensity", EXTRA),
    known(44, "FlexiEntry", EXTRA),
    known(45, "LightEntry", EXTRA),
    known(46, "SculptEntry", EXTRA),
    known(47, "Media", Own),
    known(48, "MatOvrd", Own),
]);

/// Elements of an item.
pub(super) static ITEM: ElementTable = ElementTable(&[
    known(0, "AssetID", Own),
    known(1, "BasePermissions", Own),
    known(2, "CreationDate", Own),
    known(3, "CreatorID", CREATOR),
    known(4, "CreatorData", CREATOR),
    known(5, "Description", Own),
    known(6, "EveryonePermissions", Own),
    known(7, "Flags", Own),
    known(8, "GroupID", Own),
    known(9, "GroupPermissions", Own),
    known(10, "InvType", Own),
    known(11, "ItemID", Own),
    known(12, "OldItemID", Constant),
    known(13, "LastOwnerID", Own),
    known(14, "Name", Own),
    known(15, "NextPermissions", Own),
    known(16, "OwnerID", Own),
    known(17, "CurrentPermissions", Own),
    known(18, "ParentID", Own),
    known(19, "ParentPartID", Own),
    known(20, "PermsGranter", Constant),
    known(21, "PermsMask", Constant),
    known(22, "Type", Own),
    known(23, "OwnerChanged", Constant),
    known(24, SALE_KIND, Own),
    known(25, SALE_PRICE, Own),
]);

/// Kind of an item's sale, which OpenSimulator does not write.
pub(super) const SALE_KIND: &str = "ThrongSaleKind";

/// Price of an item.
pub(super) const SALE_PRICE: &str = "ThrongSalePrice";

/// Elements of a linkset. The first one is called `SceneObjectPart` in one form and `RootPart` in the other.
pub(super) static GROUP: ElementTable = ElementTable(&[
    known(0, "SceneObjectPart", Nested),
    known(1, "OtherParts", Nested),
    known(2, "KeyframeMotion", Constant),
    known(3, "StartStr", Constant),
    known(4, "lnkstdt", Constant),
    known(5, "GroupScriptStates", Nested),
]);

/// Elements around a part: `RootPart` or `Part`.
pub(super) static WRAPPER: ElementTable = ElementTable(&[known(0, "SceneObjectPart", Nested)]);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_and_names_stand_for_one_element_each() {
        for table in [&PART, &SHAPE, &ITEM, &GROUP, &WRAPPER] {
            let ids: BTreeSet<u8> = table.iter().map(|(_, known)| known.id).collect();
            let names: BTreeSet<&str> = table.iter().map(|(_, known)| known.name).collect();
            assert_eq!((ids.len(), names.len()), (table.len(), table.len()));
            assert!(ids.last().is_some_and(|&id| id < 128));
            for (index, known) in table.iter() {
                assert_eq!(table.of_id(known.id), Some(index));
                for from in [0, index, index + 1, table.len() + 1] {
                    assert_eq!(table.find(known.name, from), Some(index));
                }
            }
            assert_eq!((table.find("Unknown", 0), table.of_id(127)), (None, None));
        }
    }

    /// Numbers of elements in data that was kept by the first edition.
    #[test]
    fn numbers_are_those_of_the_first_edition() {
        let numbers = |table: &ElementTable| table.iter().map(|(_, known)| known.id).collect::<Vec<u8>>();
        assert_eq!(numbers(&PART), (0..85).collect::<Vec<u8>>());
        assert_eq!(numbers(&SHAPE), (0..49).collect::<Vec<u8>>());
        assert_eq!(numbers(&ITEM), (0..26).collect::<Vec<u8>>());
        for (table, id, name) in [(&PART, 28, "Scale"), (&SHAPE, 47, "Media"), (&ITEM, 14, "Name")] {
            assert_eq!(table.of_id(id).map(|index| table.at(index).name), Some(name));
        }
    }
}
