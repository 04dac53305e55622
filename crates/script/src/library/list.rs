//! Functions of lists and of JSON.

use super::{PureFunction, Work, pure};
use crate::instruction::Op;
use crate::kind::Kind::{Float, Integer, Key, List, Rotation, Text, Vector};
use crate::value::Element;
use crate::{json, json_build, list_order, list_text};

/// Reads of one element, beside the cast of a string.
const READ: Work = Work::Flat(15);
/// Reads of one element as a string, beside the cast of a number.
const STRING: Work = Work::Flat(60);
/// Moves of elements.
const MOVE: Work = Work::Linear { base: 60, per_64_bytes: 30 };
/// Comparisons of elements, as many as their number times its logarithm.
const SORT: Work = Work::Linear { base: 150, per_64_bytes: 400 };
/// Strings of elements, or elements of strings.
const PRINT: Work = Work::Linear { base: 100, per_64_bytes: 400 };
/// Comparisons of elements, as many as both lists have.
const SEARCH: Work = Work::Linear { base: 40, per_64_bytes: 20 };
/// Looks for each of several strings.
const SPLIT: Work = Work::Product { base: 150, per_64_bytes: 100 };

pub(super) static FUNCTIONS: &[PureFunction] = &[
    pure("llGetListLength", &[List], Integer, Work::Flat(5), |c| {
        let list = c.argument();
        Ok((c.list_at(list).len() as i32).into())
    }),
    pure("llList2Integer", &[List, Integer], Integer, READ, |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(parse_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).integer(index, c.dialect()).into())
    }),
    pure("llList2Float", &[List, Integer], Float, READ, |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(parse_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).float(index, c.dialect()).into())
    }),
    pure("llList2String", &[List, Integer], Text, STRING, |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(print_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).string(index, c.dialect()).into())
    }),
    pure("llList2Key", &[List, Integer], Key, STRING, |c| {
        let (list, index) = (c.argument(), c.integer());
        Ok(c.list_at(list).key(index).into())
    }),
    pure("llList2Vector", &[List, Integer], Vector, READ, |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(parse_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).vector(index, c.dialect()).into())
    }),
    pure("llList2Rot", &[List, Integer], Rotation, READ, |c| {
        let (list, index) = (c.argument(), c.integer());
        c.spend(parse_fuel(c.list_at(list).get(index)));
        Ok(c.list_at(list).rotation(index, c.dialect()).into())
    }),
    pure("llGetListEntryType", &[List, Integer], Integer, READ, |c| {
        let (list, index) = (c.argument(), c.integer());
        Ok(c.list_at(list).entry_type(index, c.dialect()).into())
    }),
    pure("llList2List", &[List, Integer, Integer], List, MOVE, |c| {
        Ok(c.list()?.sub_list(c.integer(), c.integer()).into())
    }),
    pure("llDeleteSubList", &[List, Integer, Integer], List, MOVE, |c| {
        Ok(c.list()?.without(c.integer(), c.integer()).into())
    }),
    pure("llListInsertList", &[List, List, Integer], List, MOVE, |c| {
        Ok(c.list()?.insert_list(c.list()?, c.integer()).into())
    }),
    pure("llListReplaceList", &[List, List, Integer, Integer], List, MOVE, |c| {
        Ok(c.list()?.replace_list(c.list()?, c.integer(), c.integer()).into())
    }),
    pure("llList2ListStrided", &[List, Integer, Integer, Integer], List, MOVE, |c| {
        Ok(c.list()?.strided(c.integer(), c.integer(), c.integer()).into())
    }),
    pure("llList2ListSlice", &[List, Integer, Integer, Integer, Integer], List, MOVE, |c| {
        Ok(c.list()?.slice(c.integer(), c.integer(), c.integer(), c.integer()).into())
    }),
    pure("llListSort", &[List, Integer, Integer], List, SORT, |c| {
        Ok(list_order::sort(c.list()?, c.integer(), 0, c.integer() != 0).into())
    }),
    pure("llListSortStrided", &[List, Integer, Integer, Integer], List, SORT, |c| {
        Ok(list_order::sort(c.list()?, c.integer(), c.integer(), c.integer() != 0).into())
    }),
    pure("llListFindList", &[List, List], Integer, SEARCH, |c| {
        let (list, test) = (c.argument(), c.argument());
        Ok(list_order::find(c.list_at(list), c.list_at(test), c.dialect()).into())
    }),
    pure("llListFindListNext", &[List, List, Integer], Integer, SEARCH, |c| {
        let (list, test, instance) = (c.argument(), c.argument(), c.integer());
        Ok(list_order::find_next(c.list_at(list), c.list_at(test), instance, c.dialect()).into())
    }),
    pure("llListFindStrided", &[List, List, Integer, Integer, Integer], Integer, SEARCH, |c| {
        let (list, test) = (c.argument(), c.argument());
        let (start, end, stride) = (c.integer(), c.integer(), c.integer());
        let (list, test) = (c.list_at(list), c.list_at(test));
        Ok(list_order::find_strided(list, test, start, end, stride, 0, c.dialect()).into())
    }),
    pure("llListRandomize", &[List, Integer], List, MOVE, |c| {
        let (list, stride) = (c.list()?, c.integer());
        Ok(list_order::randomize(list, stride, |below| c.draw_below(below)).into())
    }),
    pure("llListStatistics", &[Integer, List], Float, SORT, |c| {
        let (operation, list) = (c.integer(), c.argument());
        Ok(list_order::statistics(operation, c.list_at(list), c.dialect()).into())
    }),
    pure("llDumpList2String", &[List, Text], Text, PRINT, |c| {
        let (list, separator) = (c.argument(), c.argument());
        let separator = c.text_at(separator).as_str();
        Ok(list_text::dump(c.list_at(list), separator, c.room(), c.dialect())?.into())
    }),
    pure("llList2CSV", &[List], Text, PRINT, |c| {
        let list = c.argument();
        Ok(list_text::to_csv(c.list_at(list), c.dialect()).into())
    }),
    pure("llCSV2List", &[Text], List, PRINT, |c| {
        Ok(list_text::from_csv(c.text().as_str(), c.room(), c.dialect())?.into())
    }),
    pure("llParseString2List", &[Text, List, List], List, SPLIT, |c| {
        let (text, separators, spacers) = (c.argument(), c.argument(), c.argument());
        let (separators, spacers) = (c.list_at(separators), c.list_at(spacers));
        Ok(list_text::parse(c.text_at(text), separators, spacers, false, c.room(), c.dialect())?.into())
    }),
    pure("llParseStringKeepNulls", &[Text, List, List], List, SPLIT, |c| {
        let (text, separators, spacers) = (c.argument(), c.argument(), c.argument());
        let (separators, spacers) = (c.list_at(separators), c.list_at(spacers));
        Ok(list_text::parse(c.text_at(text), separators, spacers, true, c.room(), c.dialect())?.into())
    }),
    pure("llJsonGetValue", &[Text, List], Text, PRINT, |c| {
        let (json, path) = (c.argument(), c.argument());
        Ok(json::get_value(c.text_at(json).as_str(), c.list_at(path)).into())
    }),
    pure("llJsonValueType", &[Text, List], Text, PRINT, |c| {
        let (json, path) = (c.argument(), c.argument());
        Ok(json::value_type(c.text_at(json).as_str(), c.list_at(path)).into())
    }),
    pure("llJson2List", &[Text], List, PRINT, |c| {
        Ok(json::to_list(c.text().as_str(), c.room(), c.dialect())?.into())
    }),
    pure("llList2Json", &[Text, List], Text, PRINT, |c| {
        let (kind, list) = (c.argument(), c.argument());
        Ok(json_build::from_list(c.text_at(kind).as_str(), c.list_at(list), c.dialect()).into())
    }),
    pure("llJsonSetValue", &[Text, List, Text], Text, PRINT, |c| {
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
