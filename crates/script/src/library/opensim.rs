//! Functions that only OpenSimulator has.

use super::{Binding, bind};
use crate::value::Vector;
use crate::{hash, key, opensim_list, opensim_numbers as numbers, opensim_text as text, pattern};

pub(super) static BINDINGS: &[Binding] = &[
    bind("osAngleBetween", |c| Ok(numbers::angle_between(c.vector(), c.vector()).into())),
    bind("osApproxEquals", |c| {
        let (left, right, margin) = (c.vector(), c.vector(), c.float());
        Ok(numbers::is_near(left, right, margin).into())
    }),
    bind("osIsNotValidNumber", |c| Ok(numbers::fault_of(c.float()).into())),
    bind("osMax", |c| Ok(numbers::max(c.float(), c.float()).into())),
    bind("osMin", |c| Ok(numbers::min(c.float(), c.float()).into())),
    bind("osRound", |c| Ok(numbers::round(c.float(), c.integer()).into())),
    bind("osSlerp", |c| Ok(numbers::slerp(c.rotation(), c.rotation(), c.float()).into())),
    bind("osTemperature2sRGB", |c| Ok(numbers::colour_of_temperature(c.float()).into())),
    bind("osVecMagSquare", |c| Ok(numbers::square(c.vector()).into())),
    bind("osVecDistSquare", |c| {
        let (left, right) = (c.vector(), c.vector());
        Ok(numbers::square(Vector::new(left.x - right.x, left.y - right.y, left.z - right.z)).into())
    }),
    bind("osIsUUID", |c| Ok(key::is_id(c.text().as_str()).into())),
    bind("osFormatString", |c| {
        let (pattern, list) = (c.argument(), c.argument());
        let pattern = c.text_at(pattern).as_str();
        Ok(text::fill(pattern, c.list_at(list), c.room(), c.dialect())?.into())
    }),
    bind("osStringStartsWith", |c| Ok(text::starts_with(&c.text(), &c.text(), c.integer() != 0).into())),
    bind("osStringEndsWith", |c| Ok(text::ends_with(&c.text(), &c.text(), c.integer() != 0).into())),
    bind("osStringIndexOf", |c| Ok(text::index_of(&c.text(), &c.text(), c.integer() != 0).into())),
    bind("osStringLastIndexOf", |c| {
        let (text, value) = (c.text(), c.text());
        let (start, count, ignores_case) = (c.integer(), c.integer(), c.integer() != 0);
        Ok(text::last_index_of(&text, &value, start, count, ignores_case).into())
    }),
    bind("osStringRemove", |c| Ok(text::remove(&c.text(), c.integer(), c.integer()).into())),
    bind("osStringReplace", |c| Ok(text::replace(&c.text(), &c.text(), &c.text(), c.room())?.into())),
    bind("osStringSubString", |c| Ok(text::sub_string(&c.text(), c.integer(), c.integer()).into())),
    bind("osUnixTimeToTimestamp", |c| Ok(text::timestamp(c.integer()).into())),
    bind("osSHA256", |c| Ok(hash::sha256_string(c.text().as_str()).into())),
    bind("osListFindListNext", |c| {
        let (list, test) = (c.argument(), c.argument());
        let (start, end, instance) = (c.integer(), c.integer(), c.integer());
        let (list, test) = (c.list_at(list), c.list_at(test));
        Ok(opensim_list::find_next(list, test, start, end, instance).into())
    }),
    bind("osOldList2ListStrided", |c| {
        Ok(opensim_list::old_strided(&c.list()?, c.integer(), c.integer(), c.integer()).into())
    }),
    bind("osRegexIsMatch", |c| {
        let (text, pattern) = (c.text(), c.text());
        let mut fuel = 0;
        let is_match = pattern::is_match(&text, pattern.as_str(), &mut fuel);
        c.spend(fuel);
        Ok(is_match?.into())
    }),
    bind("osMatchString", |c| {
        let (text, pattern, start) = (c.text(), c.text(), c.integer());
        let mut fuel = 0;
        let search = pattern::Search { text: &text, pattern: pattern.as_str(), start };
        let found = pattern::matches(&search, c.room(), &mut fuel);
        c.spend(fuel);
        Ok(found?.into())
    }),
    bind("osReplaceString", |c| {
        let (text, pattern, by) = (c.text(), c.text(), c.text());
        let (count, start) = (c.integer(), c.integer());
        let mut fuel = 0;
        let search = pattern::Search { text: &text, pattern: pattern.as_str(), start };
        let replaced = pattern::replace(&search, by.as_str(), count, c.room(), &mut fuel);
        c.spend(fuel);
        Ok(replaced?.into())
    }),
];
