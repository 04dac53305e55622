use super::*;
use crate::builder::ProgramBuilder;
use crate::dialect::Dialect;
use crate::event::EventKind;
use crate::instance::{Instance, Scratch, SliceEnd};
use crate::instruction::Op;
use crate::kind::Kind;
use crate::library::Library;
use std::sync::Arc;

/// A host that has no function of its own.
#[derive(Default)]
struct Without {
    refused: Vec<&'static str>,
    allows: bool,
}

impl Host for Without {
    fn call(&mut self, _: u16, _: &mut Call<'_>) -> Outcome {
        panic!("no function of its own");
    }

    fn refuse(&mut self, function: &'static Function, call: &mut Call<'_>) -> Outcome {
        self.refused.push(function.name());
        let _ = call.argument();
        Outcome::Done(function.answer.clone())
    }

    fn allows(&self, _: &'static Function) -> bool {
        self.allows
    }

    fn delay(&self, function: &'static Function) -> u64 {
        u64::from(function.delay_ms)
    }

    fn end_state(&mut self) {}

    fn reset(&mut self) {}
}

/// A handler that calls a function with zeros, and how its slice ends.
fn call_without(name: &str, parameters: &[Kind], result: Kind, host: &mut Without) -> SliceEnd {
    let mut program = ProgramBuilder::new([7; 32], Dialect::OpenSim);
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let row = code.row(parameters);
    let to = code.register(result);
    code.call_library(name, &row, Some(to));
    code.op(Op::Return, []);
    code.finish();
    let program = program.finish(&Library::whole(&[])).expect("a program");
    let mut instance = Instance::new(Arc::new(program), 64 << 10, 1);
    instance.run(&mut Scratch::default(), host, 0, 1_000_000).end
}

#[test]
fn hosts_refuse_delay_and_forbid() {
    let mut host = Without { allows: true, ..Without::default() };
    assert_eq!(call_without("llGetAgentInfo", &[Kind::Key], Kind::Integer, &mut host), SliceEnd::Done);
    assert_eq!(host.refused, ["llGetAgentInfo"]);
    let texts = [Kind::Text, Kind::Text];
    assert_eq!(call_without("llXorBase64Strings", &texts, Kind::Text, &mut host), SliceEnd::Sleeps(300));
    assert_eq!(call_without("osRegexIsMatch", &texts, Kind::Integer, &mut host), SliceEnd::Done);
    host.allows = false;
    let end = call_without("osRegexIsMatch", &texts, Kind::Integer, &mut host);
    assert!(matches!(end, SliceEnd::Failed(failure) if failure.error == RunError::NotAllowed), "{end:?}");
    assert_eq!(call_without("osMax", &[Kind::Float, Kind::Float], Kind::Float, &mut host), SliceEnd::Done);
}
