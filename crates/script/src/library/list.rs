//! Functions of lists and of JSON.

use super::{Binding, bind};
use crate::instruction::Op;
use crate::value::Element;
use crate::{json, json_build, list_order, list_text};

pub(super) static BINDINGS: &[Binding] = &[
    bind("llGetListLength", |c| {
        let list = c.argument();
        Ok((c.list_at(list).len() as i32).into())
    }),
    bind("llList2Integer", |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(parse_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).integer(index, c.dialect()).into())
    }),
    bind("llList2Float", |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(parse_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).float(index, c.dialect()).into())
    }),
    bind("llList2String", |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(print_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).string(index, c.dialect()).into())
    }),
    bind("llList2Key", |c| {
        let (list, index) = (c.argument(), c.integer());
        Ok(c.list_at(list).key(index).into())
    }),
    bind("llList2Vector", |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(parse_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).vector(index, c.dialect()).into())
    }),
    bind("llList2Rot", |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(parse_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).rotation(index, c.dialect()).into())
    }),
    bind("llGetListEntryType", |c| {
        let (list, index) = (c.argument(), c.integer());
        Ok(c.list_at(list).entry_type(index, c.dialect()).into())
    }),
    bind("llList2List", |c| Ok(c.list()?.sub_list(c.integer(), c.integer()).into())),
    bind("llDeleteSubList", |c| Ok(c.list()?.without(c.integer(), c.integer()).into())),
    bind("llListInsertList", |c| Ok(c.list()?.insert_list(c.list()?, c.integer()).into())),
    bind("llListReplaceList", |c| Ok(c.list()?.replace_list(c.list()?, c.integer(), c.integer()).into())),
    bind("llList2ListStrided", |c| Ok(c.list()?.strided(c.integer(), c.integer(), c.integer()).into())),
    bind("llList2ListSlice", |c| {
        Ok(c.list()?.slice(c.integer(), c.integer(), c.integer(), c.integer()).into())
    }),
    bind("llListSort", |c| Ok(list_order::sort(c.list()?, c.integer(), 0, c.integer() != 0).into())),
    bind("llListSortStrided", |c| {
        Ok(list_order::sort(c.list()?, c.integer(), c.integer(), c.integer() != 0).into())
    }),
    bind("llListFindList", |c| {
        let (list, test) = (c.argument(), c.argument());
        Ok(list_order::find(c.list_at(list), c.list_at(test), c.dialect()).into())
    }),
    bind("llListFindListNext", |c| {
        let (list, test, instance) = (c.argument(), c.argument(), c.integer());
        Ok(list_order::find_next(c.list_at(list), c.list_at(test), instance, c.dialect()).into())
    }),
    bind("llListFindStrided", |c| {
        let (list, test) = (c.argument(), c.argument());
        let (start, end, stride) = (c.integer(), c.integer(), c.integer());
        let (list, test) = (c.list_at(list), c.list_at(test));
        Ok(list_order::find_strided(list, test, start, end, stride, 0, c.dialect()).into())
    }),
    bind("llListRandomize", |c| {
        let (list, stride) = (c.list()?, c.integer());
        Ok(list_order::randomize(list, stride, |below| c.draw_below(below)).into())
    }),
    bind("llListStatistics", |c| {
        let (operation, list) = (c.integer(), c.argument());
        Ok(list_order::statistics(operation, c.list_at(list), c.dialect()).into())
    }),
    bind("llDumpList2String", |c| {
        let (list, separator) = (c.argument(), c.argument());
        let separator = c.text_at(separator).as_str();
        Ok(list_text::dump(c.list_at(list), separator, c.room(), c.dialect())?.into())
    }),
    bind("llList2CSV", |c| {
        let list = c.argument();
        Ok(list_text::to_csv(c.list_at(list), c.dialect()).into())
    }),
    bind("llCSV2List", |c| Ok(list_text::from_csv(c.text().as_str(), c.room(), c.dialect())?.into())),
    bind("llParseString2List", |c| {
        let (text, separators, spacers) = (c.argument(), c.argument(), c.argument());
        let (separators, spacers) = (c.list_at(separators), c.list_at(spacers));
        Ok(list_text::parse(c.text_at(text), separators, spacers, false, c.room(), c.dialect())?.into())
    }),
    bind("llParseStringKeepNulls", |c| {
        let (text, separators, spacers) = (c.argument(), c.argument(), c.argument());
        let (separators, spacers) = (c.list_at(separators), c.list_at(spacers));
        Ok(list_text::parse(c.text_at(text), separators, spacers, true, c.room(), c.dialect())?.into())
    }),
    bind("llJsonGetValue", |c| {
        let (json, path) = (c.argument(), c.argument());
        Ok(json::get_value(c.text_at(json).as_str(), c.list_at(path)).into())
    }),
    bind("llJsonValueType", |c| {
        let (json, path) = (c.argument(), c.argument());
        Ok(json::value_type(c.text_at(json).as_str(), c.list_at(path)).into())
    }),
    bind("llJson2List", |c| Ok(json::to_list(c.text().as_str(), c.room(), c.dialect())?.into())),
    bind("llList2Json", |c| {
        let (kind, list) = (c.argument(), c.argument());
        Ok(json_build::from_list(c.text_at(kind).as_str(), c.list_at(list), c.dialect()).into())
    }),
    bind("llJsonSetValue", |c| {
        let (json, path, value) = (c.argument(), c.argument(), c.argument());
        let (json, value) = (c.text_at(json).as_str(), c.text_at(value).as_str());
        Ok(json_build::set_value(json, c.list_at(path), value, c.room(), c.dialect())?.into())
    }),
];

/// Fuel of an element's cast to a number, a vector or a rotation: a string is read as far as it goes.
fn parse_fuel(element: Option<&Element>) -> u32 {
    let n_chars = match element {
        Some(Element::Text(text)) => text.n_chars(),
        Some(Element::Key(key)) => key.bytes() / crate::Text::CHAR_BYTES,
        _ => 0,
    };
    u32::try_from(n_chars).unwrap_or(u32::MAX)
}

/// Fuel of an element's cast to a string: that of the instruction.
fn print_fuel(element: Option<&Element>) -> u32 {
    match element {
        Some(Element::Integer(_)) => Op::IntegerToText.weight(),
        Some(Element::Float(_)) => Op::FloatToText.weight(),
        Some(Element::Vector(_)) => Op::VectorToText.weight(),
        Some(Element::Rotation(_)) => Op::RotationToText.weight(),
        Some(Element::Text(_) | Element::Key(_)) | None => 0,
    }
}
