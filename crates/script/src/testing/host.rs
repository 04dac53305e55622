//! A host that notes the calls of a script.

use crate::call::Call;
use crate::host::{Host, Outcome};
use crate::instance::{Instance, Scratch, SliceEnd};
use crate::kind::Kind::{Float, Integer, List, Text};
use crate::library::{Library, Signature, Work};

const WORK: Work = Work::Flat(10);

/// Functions of the host.
pub(crate) static FUNCTIONS: &[Signature] = &[
    Signature { name: "llOwnerSay", parameters: &[Text], result: None, work: WORK },
    Signature { name: "llSleep", parameters: &[Float], result: None, work: WORK },
    Signature { name: "llResetScript", parameters: &[], result: None, work: WORK },
    Signature { name: "llSetTimerEvent", parameters: &[Float], result: None, work: WORK },
    Signature { name: "llGetWord", parameters: &[Integer], result: Some(Text), work: WORK },
    Signature { name: "llSayList", parameters: &[List, Integer], result: Some(Integer), work: WORK },
    Signature { name: "llSayBits", parameters: &[List, Integer], result: Some(Integer), work: WORK },
    Signature { name: "llLie", parameters: &[], result: Some(Integer), work: WORK },
    Signature { name: "llPanic", parameters: &[], result: None, work: WORK },
];

/// Notes what a script says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Notes {
    pub(crate) said: Vec<String>,
    pub(crate) n_ended: u32,
    pub(crate) n_reset: u32,
    pub(crate) tick: u64,
}

impl Host for Notes {
    fn call(&mut self, function: u16, call: &mut Call<'_>) -> Outcome {
        match FUNCTIONS[usize::from(function)].name {
            "llOwnerSay" => {
                self.said.push(call.text().as_str().to_owned());
                Outcome::Done(None)
            }
            "llSleep" => Outcome::Sleep { result: None, ticks: call.float() as u64 },
            "llResetScript" => Outcome::Reset,
            "llSetTimerEvent" => {
                let period = call.float() as u64;
                call.clock().set_timer(period, self.tick);
                Outcome::Done(None)
            }
            "llGetWord" => Outcome::value(["zero", "", "äé"][call.integer().rem_euclid(3) as usize]),
            "llSayList" => {
                let (list, sign) = (call.argument(), call.integer());
                let list = call.list_at(list);
                self.said.push(format!("{sign} {:?}", list.as_slice()));
                Outcome::value(list.len() as i32)
            }
            "llSayBits" => {
                let list = call.argument();
                let bits = call.list_at(list).rotation(0, call.dialect()).x.to_bits();
                self.said.push(format!("{bits:x}"));
                Outcome::value(0)
            }
            "llLie" => Outcome::value("no integer"),
            "llPanic" => panic!("a fault of the host"),
            other => panic!("{other}"),
        }
    }

    fn allows(&self, _: &'static crate::table::Function) -> bool {
        true
    }

    fn end_state(&mut self) {
        self.n_ended += 1;
    }

    fn reset(&mut self) {
        self.n_reset += 1;
    }
}

pub(crate) fn library() -> Library {
    Library::new(FUNCTIONS)
}

/// Runs a script until it has nothing to do at a tick.
pub(crate) fn run_all(instance: &mut Instance, notes: &mut Notes, tick: u64) -> SliceEnd {
    let mut scratch = Scratch::default();
    notes.tick = tick;
    for _ in 0..100_000 {
        let slice = instance.run(&mut scratch, notes, tick, 1_000);
        match slice.end {
            SliceEnd::Done | SliceEnd::Spent => {}
            end => return end,
        }
    }
    panic!("a script without an end");
}

/// Words of a script that begins.
pub(crate) fn said(program: crate::Program) -> (Vec<String>, Instance) {
    let mut instance = Instance::new(std::sync::Arc::new(program), 64 << 10, 1);
    let mut notes = Notes::default();
    run_all(&mut instance, &mut notes, 0);
    (notes.said, instance)
}
