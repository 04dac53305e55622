//! Figures of objects: GetObjectCost, ResourceCostSelected, GetObjectPhysicsData, AttachmentResources, and the event
//! ObjectPhysicsProperties.
//!
//! ```text
//! GetObjectCost         {object_ids} ─► {id: {resource_cost, linked_set_resource_cost, physics_cost, linked_set_physics_cost, …}}
//! ResourceCostSelected  {selected_roots} or {selected_prims} ─► {selected: {physics, streaming, simulation}}
//! GetObjectPhysicsData  {object_ids} ─► {id: {PhysicsShapeType, Density, Friction, Restitution, GravityMultiplier}}
//! AttachmentResources   ─► {attachments: [{location, objects}], summary}
//! ```
//!
//! Every prim costs one, whatever its shape. Scripts do not exist: memory and addresses of scripts are zero.

use ids::LocalId;
use prim::PrimPhysics;
use thiserror::Error;
use uuid::Uuid;
use wire::llsd::Llsd;

/// Objects in one call.
pub const FIGURES_MAX: usize = 1_024;
/// Resources of scripts, as clients name them.
const RESOURCES: [&str; 2] = ["memory", "urls"];

/// An object with the number of prims of its linkset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectCost {
    /// The object.
    pub object: Uuid,
    /// Prims of its linkset, itself included.
    pub n_prims: u16,
}

/// A worn linkset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WornObject {
    /// Its root.
    pub object: Uuid,
    /// Name.
    pub name: String,
    /// Owner.
    pub owner: Uuid,
    /// Number of the attachment point.
    pub point: u8,
}

/// Selected objects in a call of ResourceCostSelected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Whole linksets, by their roots.
    Roots(Vec<Uuid>),
    /// Single prims.
    Prims(Vec<Uuid>),
}

/// Reasons to refuse a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadFigureCall {
    /// No list of ids under the name that the call has.
    #[error("the field {0} is absent or no array of ids")]
    Field(&'static str),
    /// More objects than [`FIGURES_MAX`].
    #[error("{0} objects in one request, at most {max}", max = FIGURES_MAX)]
    TooMany(usize),
}

/// Reads the objects of GetObjectCost and GetObjectPhysicsData.
///
/// # Errors
/// [`BadFigureCall`].
pub fn read_object_ids(request: &Llsd) -> Result<Vec<Uuid>, BadFigureCall> {
    ids_of(request, "object_ids")
}

/// Reads the objects of ResourceCostSelected.
///
/// # Errors
/// [`BadFigureCall`].
pub fn read_selection(request: &Llsd) -> Result<Selection, BadFigureCall> {
    if request.get("selected_prims").is_undef() {
        ids_of(request, "selected_roots").map(Selection::Roots)
    } else {
        ids_of(request, "selected_prims").map(Selection::Prims)
    }
}

fn ids_of(request: &Llsd, field: &'static str) -> Result<Vec<Uuid>, BadFigureCall> {
    let Llsd::Array(ids) = request.get(field) else { return Err(BadFigureCall::Field(field)) };
    if ids.len() > FIGURES_MAX {
        return Err(BadFigureCall::TooMany(ids.len()));
    }
    ids.iter().map(|id| id.as_uuid().ok_or(BadFigureCall::Field(field))).collect()
}

/// Answers GetObjectCost.
#[must_use]
pub fn object_costs(objects: impl IntoIterator<Item = ObjectCost>) -> Llsd {
    Llsd::map(objects.into_iter().map(|ObjectCost { object, n_prims }| {
        let of_linkset = f64::from(n_prims);
        let costs = Llsd::map([
            ("resource_cost", Llsd::from(1.0)),
            ("linked_set_resource_cost", of_linkset.into()),
            ("physics_cost", 1.0.into()),
            ("linked_set_physics_cost", of_linkset.into()),
            ("resource_limiting_type", "legacy".into()),
        ]);
        (object.to_string(), costs)
    }))
}

/// Answers ResourceCostSelected for a number of prims.
#[must_use]
pub fn selected_cost(n_prims: u32) -> Llsd {
    let cost = f64::from(n_prims);
    let selected = ["physics", "streaming", "simulation"].map(|kind| (kind, Llsd::from(cost)));
    Llsd::map([("selected", Llsd::map(selected))])
}

/// Answers GetObjectPhysicsData.
#[must_use]
pub fn physics_data(objects: impl IntoIterator<Item = (Uuid, PrimPhysics)>) -> Llsd {
    let objects = objects.into_iter();
    Llsd::map(objects.map(|(object, physics)| (object.to_string(), Llsd::map(physics_fields(physics)))))
}

/// Body of the event ObjectPhysicsProperties.
#[must_use]
pub fn physics_properties(objects: impl IntoIterator<Item = (LocalId, PrimPhysics)>) -> Llsd {
    let rows = objects.into_iter().map(|(LocalId(id), physics)| {
        let id = ("LocalID", Llsd::Integer(id.cast_signed()));
        Llsd::map(std::iter::once(id).chain(physics_fields(physics)))
    });
    Llsd::map([("ObjectData", Llsd::Array(rows.collect()))])
}

fn physics_fields(physics: PrimPhysics) -> [(&'static str, Llsd); 5] {
    let PrimPhysics { shape, density, friction, restitution, gravity } = physics;
    [
        ("PhysicsShapeType", Llsd::Integer(shape as i32)),
        ("Density", Llsd::Real(density.into())),
        ("Friction", Llsd::Real(friction.into())),
        ("Restitution", Llsd::Real(restitution.into())),
        ("GravityMultiplier", Llsd::Real(gravity.into())),
    ]
}

/// Amounts that scripts of a user use and may use.
fn resource_summary() -> Llsd {
    let amounts = || {
        let amount = |kind: &str| Llsd::map([("type", Llsd::from(kind)), ("amount", 0.into())]);
        Llsd::Array(RESOURCES.map(amount).into())
    };
    Llsd::map([("available", amounts()), ("used", amounts())])
}

/// Answers AttachmentResources.
#[must_use]
pub fn attachment_resources(worn: &[WornObject]) -> Llsd {
    let attachments = worn.iter().map(|object| {
        let WornObject { object, name, owner, point } = object;
        let row = Llsd::map([
            ("id", Llsd::from(*object)),
            ("name", name.as_str().into()),
            ("owner_id", (*owner).into()),
            ("is_group_owned", false.into()),
            ("resources", no_resources()),
        ]);
        Llsd::map([
            ("location", Llsd::from(format!("Attachment point {point}"))),
            ("objects", Llsd::Array(vec![row])),
        ])
    });
    Llsd::map([("attachments", Llsd::Array(attachments.collect())), ("summary", resource_summary())])
}

fn no_resources() -> Llsd {
    Llsd::map(RESOURCES.map(|kind| (kind, Llsd::from(0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prim::PhysicsShape;

    const OBJECT: Uuid = Uuid::from_u128(7);

    #[test]
    fn an_object_costs_its_prims() {
        let answer = object_costs([ObjectCost { object: OBJECT, n_prims: 3 }]);
        let costs = answer.get(&OBJECT.to_string());
        assert_eq!(costs.get("resource_cost").as_f64(), Some(1.0));
        assert_eq!(costs.get("linked_set_resource_cost").as_f64(), Some(3.0));
        let selected = selected_cost(5);
        assert_eq!(selected.get("selected").get("physics").as_f64(), Some(5.0));
        assert_eq!(object_costs([]), Llsd::map::<&str>([]));
    }

    #[test]
    fn matter_has_the_same_names_in_answer_and_event() {
        let physics = PrimPhysics { shape: PhysicsShape::Convex, density: 500.0, ..PrimPhysics::default() };
        let answer = physics_data([(OBJECT, physics)]);
        let event = physics_properties([(LocalId(77), physics)]);
        let (fields, row) = (answer.get(&OBJECT.to_string()), event.get("ObjectData").at(0));
        for key in ["PhysicsShapeType", "Density", "Friction", "Restitution", "GravityMultiplier"] {
            assert!(!fields.get(key).is_undef(), "{key}");
            assert_eq!(fields.get(key), row.get(key), "{key}");
        }
        assert_eq!(row.get("LocalID").as_i32(), Some(77));
        assert_eq!(row.get("PhysicsShapeType").as_i32(), Some(2));
    }

    #[test]
    fn objects_are_named_by_ids_up_to_a_bound() {
        let ids = |field: &str, n: usize| Llsd::map([(field, Llsd::Array(vec![OBJECT.into(); n]))]);
        assert_eq!(read_object_ids(&ids("object_ids", 2)), Ok(vec![OBJECT; 2]));
        assert_eq!(read_object_ids(&ids("object_ids", 1_025)), Err(BadFigureCall::TooMany(1_025)));
        assert_eq!(read_object_ids(&Llsd::Undef), Err(BadFigureCall::Field("object_ids")));
        assert_eq!(read_selection(&ids("selected_roots", 1)), Ok(Selection::Roots(vec![OBJECT])));
        assert_eq!(read_selection(&ids("selected_prims", 1)), Ok(Selection::Prims(vec![OBJECT])));
        assert_eq!(read_selection(&Llsd::Undef), Err(BadFigureCall::Field("selected_roots")));
    }

    #[test]
    fn scripts_use_nothing() {
        let worn = WornObject { object: OBJECT, name: "Hat".into(), owner: OBJECT, point: 2 };
        let answer = attachment_resources(&[worn]);
        let row = answer.get("attachments").at(0).get("objects").at(0);
        assert_eq!(row.get("name").as_str(), Some("Hat"));
        assert_eq!(row.get("resources").get("memory").as_i32(), Some(0));
        assert_eq!(answer.get("summary"), &resource_summary());
    }
}
