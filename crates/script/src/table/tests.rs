use super::*;
use crate::kind::Kind;
use crate::signature::Work;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn all_functions_are_listed_once_in_each_dialect() {
    let n_named = |start| functions().iter().filter(|function| function.name().starts_with(start)).count();
    // Two functions have another form in each dialect.
    assert_eq!((n_named("ll"), n_named("os"), n_named("ls")), (526 + 2, 255, 4));
    assert_eq!(functions().len(), 526 + 2 + 255 + 4);
    let names: BTreeSet<&str> = functions().iter().map(Function::name).collect();
    for name in names {
        let forms: Vec<_> = named(name).map(|form| form.only).collect();
        match forms[..] {
            [_] => {}
            [Some(one), Some(other)] => assert_ne!(one, other, "{name}"),
            _ => panic!("{name}: {forms:?}"),
        }
        for form in named(name) {
            let dialect = form.only.unwrap_or(Dialect::Sl);
            assert_eq!(function(name, dialect), Some(form));
        }
    }
    assert_eq!(named("llNothing").count(), 0);
    assert_eq!(function("osMax", Dialect::Sl), None);
}

#[test]
fn lines_and_flags_are_read() {
    let of = |name| function(name, Dialect::OpenSim).expect(name);
    let abs = of("llAbs");
    assert_eq!((abs.signature.parameters, abs.signature.result), (&[Kind::Integer][..], Some(Kind::Integer)));
    assert_eq!((&abs.parameters[..], abs.area, abs.service), (&["val"][..], "Mathematics", Service::Pure));
    assert_eq!((abs.energy, abs.delay_ms, abs.threat, abs.is_plain()), (10.0, 0, Threat::None, true));
    let say = of("llSay");
    assert_eq!((say.signature.result, &say.answer, say.service), (None, &None, Service::World));
    assert_eq!(say.parameters, ["channel", "msg"]);
    assert_eq!(of("llSetPrimitiveParams").delay_ms, 200);
    assert_eq!(of("llSound").instead, Some("llPlaySound"));
    assert!(of("llCloud").is_deprecated && of("llCloud").instead.is_none() && !say.is_deprecated);
    assert_eq!(of("llGodLikeRezObject").needs, [Need::God]);
    assert_eq!(of("llTakeControls").needs, [Need::Controls]);
    assert_eq!(of("osConsoleCommand").threat, Threat::Severe);
    assert_eq!(of("llRezObject").energy, 200.0);
    assert_eq!(of("llToUpper").signature.work, Work::Linear { base: 80, per_64_bytes: 100 });
    assert_eq!(of("llParseString2List").signature.work, Work::Product { base: 150, per_64_bytes: 100 });
    assert_eq!(of("llSetPrimMediaParams").answer, Some(Value::Integer(1_004)));
    assert_eq!(of("llRequestURL").answer, Some(Value::Key(crate::Key::NULL)));
    assert_eq!(of("llRequestURL").denial, Some(Denial::Url));
    assert_eq!(of("llGetLinkMedia").answer, Some(Value::zero(Kind::List)));
}

#[test]
fn answers_have_the_kinds_of_results_and_flags_fit_together() {
    let names: BTreeSet<&str> = functions().iter().map(Function::name).collect();
    for function in functions() {
        let name = function.name();
        assert_eq!(function.answer.as_ref().map(Value::kind), function.signature.result, "{name}");
        assert_eq!(function.parameters.len(), function.signature.parameters.len(), "{name}");
        assert!(!function.area.is_empty(), "{name}");
        assert!(function.instead.is_none_or(|instead| names.contains(instead)), "{name}");
        assert!(function.threat == Threat::None || name.starts_with("os"), "{name}");
        assert!(function.denial.is_none() || matches!(function.service, Service::Later(_)), "{name}");
        assert!(name.starts_with("ll") || function.only == Some(Dialect::OpenSim), "{name}");
    }
}

#[test]
fn names_of_rights_and_levels_are_unique() {
    let needs: BTreeSet<&str> = Need::ALL.into_iter().map(Need::as_str).collect();
    assert_eq!(needs.len(), Need::ALL.len());
    for level in Threat::ALL {
        assert_eq!(Threat::named(level.as_str()), Some(level));
    }
    assert!(Threat::ALL.is_sorted());
    assert_eq!(Threat::named("extreme"), None);
    let denials: BTreeSet<&str> = Denial::ALL.into_iter().map(Denial::as_str).collect();
    assert_eq!(denials.len(), Denial::ALL.len());
}

/// Compares types and delays with the definitions of Second Life, where a copy of them lies beside the clone.
#[test]
fn types_and_delays_are_those_of_the_definitions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/lsl_definitions.yaml");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let functions = text.split("\nfunctions:\n").nth(1).expect("a list of functions");
    // Name → seconds of sleep, result. A second value of sleep is that of scripts of today.
    let mut defined: BTreeMap<&str, (Option<f64>, &str)> = BTreeMap::new();
    let mut name = "";
    let seconds = |text: &str| text.trim().parse::<f64>().expect("seconds");
    for line in functions.lines() {
        if line.starts_with("  ll") && line.ends_with(':') {
            name = line.trim().trim_end_matches(':');
            defined.insert(name, (None, ""));
        } else if let Some(sleep) = line.strip_prefix("    mono-sleep: ") {
            defined.entry(name).or_default().0 = Some(seconds(sleep));
        } else if let Some(sleep) = line.strip_prefix("    sleep: ") {
            defined.entry(name).or_default().0.get_or_insert_with(|| seconds(sleep));
        } else if let Some(result) = line.strip_prefix("    return: ") {
            defined.entry(name).or_default().1 = result.trim();
        } else if !line.is_empty() && !line.starts_with([' ', '#']) {
            break;
        }
    }
    assert_eq!(defined.len(), 526);
    for (name, (sleep, result)) in defined {
        let function = function(name, Dialect::Sl).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(function.delay_ms, (sleep.unwrap_or(0.0) * 1_000.0).round() as u32, "{name}");
        let kind = match result {
            "void" => None,
            "integer" => Some(Kind::Integer),
            "float" => Some(Kind::Float),
            "string" => Some(Kind::Text),
            "key" => Some(Kind::Key),
            "list" => Some(Kind::List),
            "vector" => Some(Kind::Vector),
            _ => Some(Kind::Rotation),
        };
        assert_eq!(function.signature.result, kind, "{name}");
    }
}
