//! Programs by chance: any instruction with operands of the right kinds, loops, jumps forward, calls of functions and of the library.

use super::host::{FUNCTIONS, Notes, library};
use crate::dialect::Dialect;
use crate::event::EventKind;
use crate::heap::Object;
use crate::instance::{Instance, Scratch};
use crate::instruction::{Instruction, Op, Operand};
use crate::key::Key;
use crate::kind::{Kind, Value};
use crate::library::{Import, pure_functions};
use crate::list::List;
use crate::program::{Function, Global, LineEntry, Place, Program, ProgramSource, State, object_kind};
use crate::random::Random;
use crate::value::{Rotation, Vector};
use crate::verify::verify;
use std::sync::Arc;

const KINDS: [Kind; 7] =
    [Kind::Integer, Kind::Float, Kind::Text, Kind::Key, Kind::List, Kind::Vector, Kind::Rotation];

/// Registers of each kind that instructions choose from.
const EACH: usize = 2;

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    verify(source(seed), &library()).expect("a program that fits")
}

/// A script in the middle of a handler, with a program of a seed: most seeds have one.
pub(crate) fn interrupted(memory: usize) -> Instance {
    let mut scripts = (0_u64..).map(|seed| {
        let mut script = Instance::new(Arc::new(program(seed)), memory, 1);
        script.run(&mut Scratch::default(), &mut Notes::default(), 0, 1);
        script
    });
    scripts.find(Instance::is_interrupted).expect("there are seeds without end")
}

/// The parts of a program of a seed.
pub(crate) fn source(seed: u64) -> ProgramSource {
    let random = Random::new(seed);
    let dialect = if seed.is_multiple_of(2) { Dialect::Sl } else { Dialect::OpenSim };
    let id = "01234567-89ab-cdef-0123-456789abcdef";
    let list: List =
        [1.into(), 0.5.into(), "a,b".into(), Key::from(id).into(), Vector::ZERO.into()].into_iter().collect();
    let objects = vec![
        Object::Text("hello".into()),
        Object::Text("ä,1,{\"a\":2}".into()),
        Object::Key(Key::from(id)),
        Object::Key(Key::from("no id")),
        Object::List(list),
        Object::List(List::default()),
    ];
    let globals = vec![
        Global::Plain(3.into()),
        Global::Plain(0.5.into()),
        Global::Constant(0),
        Global::Constant(2),
        Global::Constant(4),
        Global::Plain(Vector::new(1.0, 2.0, 3.0).into()),
        Global::Plain(Rotation::ZERO.into()),
        Global::Empty(Kind::List),
        Global::Empty(Kind::Text),
    ];
    let source = ProgramSource {
        hash: [seed as u8; 32],
        dialect,
        floats: vec![0.0, 1.0, -2.5, 0.1, 1e30, f64::NAN, -0.0, 3.0],
        objects,
        globals,
        imports: Vec::new(),
        functions: Vec::new(),
        states: Vec::new(),
    };
    let mut generator = Generator { random, source };
    for n in 0..3 {
        generator.add_function(&format!("f{n}"), None);
    }
    for name in ["default", "other"] {
        let mut handlers = Vec::new();
        for event in [EventKind::STATE_ENTRY, EventKind::STATE_EXIT, EventKind::TIMER, link_message()] {
            if event == EventKind::STATE_ENTRY || generator.chance(60) {
                handlers.push((event, generator.source.functions.len() as u16));
                generator.add_function(&format!("{name}.{}", event.name()), Some(event));
            }
        }
        handlers.sort_by_key(|(kind, _)| *kind);
        generator.source.states.push(State { name: name.to_owned(), handlers });
    }
    generator.source
}

/// An event with four arguments.
pub(crate) fn link_message() -> EventKind {
    EventKind::named("link_message").expect("an event")
}

struct Generator {
    random: Random,
    source: ProgramSource,
}

/// A function under construction.
struct Body {
    registers: Vec<Kind>,
    code: Vec<Instruction>,
}

impl Body {
    fn cell(&self, register: usize) -> u16 {
        Kind::cells_of(&self.registers[..register]) as u16
    }

    fn add(&mut self, kind: Kind) -> u16 {
        self.registers.push(kind);
        self.cell(self.registers.len() - 1)
    }
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.random.below(n as u32) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn add_function(&mut self, name: &str, event: Option<EventKind>) {
        let n_parameters = self.below(4);
        let parameters: Vec<Kind> = match event {
            Some(event) => event.parameters().to_vec(),
            None => (0..n_parameters).map(|_| KINDS[self.below(KINDS.len())]).collect(),
        };
        let result =
            if event.is_none() && self.chance(70) { Some(KINDS[self.below(KINDS.len())]) } else { None };
        let mut body = Body { registers: parameters.clone(), code: Vec::new() };
        for kind in KINDS {
            body.registers.extend([kind; EACH]);
        }
        self.block(&mut body, if event.is_some() { 2 } else { 1 });
        match result {
            None => body.code.push(Instruction { op: Op::Return, a: 0, b: 0, c: 0 }),
            Some(kind) => {
                let a = self.pick(&body, kind);
                body.code.push(Instruction { op: Op::ReturnValue, a, b: 0, c: 0 });
            }
        }
        let lines = (0..body.code.len() as u32)
            .map(|from| LineEntry { from, place: Place { line: from + 1, column: 1 } })
            .collect();
        self.source.functions.push(Function {
            name: name.to_owned(),
            registers: body.registers,
            n_parameters: parameters.len() as u16,
            result,
            code: body.code,
            lines,
        });
    }

    fn block(&mut self, body: &mut Body, depth: usize) {
        for _ in 0..2 + self.below(8) {
            match self.below(12) {
                0 | 1 if depth > 0 => {
                    let counter = body.add(Kind::Integer);
                    let n_rounds = 1 + self.below(4) as u32;
                    body.code.push(Instruction::wide(Op::LoadInteger, counter, n_rounds));
                    let start = body.code.len() as u32;
                    self.block(body, depth - 1);
                    let minus_1 = (-1_i16).cast_unsigned();
                    body.code.push(Instruction { op: Op::AddSmall, a: counter, b: counter, c: minus_1 });
                    body.code.push(Instruction::wide(Op::JumpIf, counter, start));
                }
                2 if depth > 0 => {
                    let condition = self.pick(body, Kind::Integer);
                    let op = if self.chance(50) { Op::JumpIf } else { Op::JumpIfNot };
                    let jump = body.code.len();
                    body.code.push(Instruction::wide(op, condition, 0));
                    self.block(body, depth - 1);
                    body.code[jump] = Instruction::wide(op, condition, body.code.len() as u32);
                }
                3 if !self.source.functions.is_empty() => self.call(body),
                4 | 5 => self.call_library(body),
                _ => self.instruction(body),
            }
        }
    }

    /// The cell of a register among those that instructions choose from, or of a parameter.
    fn pick(&mut self, body: &Body, kind: Kind) -> u16 {
        let all: Vec<usize> =
            body.registers.iter().enumerate().filter(|(_, other)| **other == kind).map(|(n, _)| n).collect();
        let n_free = all.len().min(EACH);
        let register = all[self.below(n_free)];
        body.cell(register)
    }

    fn pick_float(&mut self, body: &Body) -> u16 {
        match self.below(8) {
            0 => self.pick(body, Kind::Vector) + self.below(3) as u16,
            1 => self.pick(body, Kind::Rotation) + self.below(4) as u16,
            _ => self.pick(body, Kind::Float),
        }
    }

    fn pick_global(&mut self, kind: Kind) -> u16 {
        let kinds: Vec<Kind> =
            self.source.globals.iter().map(|global| global.kind(&self.source.objects)).collect();
        let all: Vec<usize> = (0..kinds.len()).filter(|&n| kinds[n] == kind).collect();
        let n = all[self.below(all.len())];
        Kind::cells_of(&kinds[..n]) as u16
    }

    fn pick_function(&mut self) -> usize {
        let n = self.source.functions.len().min(3);
        self.below(n)
    }

    fn call(&mut self, body: &mut Body) {
        let n = self.pick_function();
        let function = &self.source.functions[n];
        let (parameters, result) = (function.parameters().to_vec(), function.result);
        let a = self.arguments(body, &parameters);
        let c = result.map_or(0, |kind| self.pick(body, kind));
        body.code.push(Instruction { op: Op::Call, a, b: n as u16, c });
    }

    fn call_library(&mut self, body: &mut Body) {
        let pure: Vec<_> = pure_functions().map(|pure| &pure.function.signature).collect();
        let signature = match self.below(10) {
            0 | 1 => &FUNCTIONS[0],
            2 => &FUNCTIONS[4],
            3 => &FUNCTIONS[5],
            4 if self.chance(20) => &FUNCTIONS[self.below(4)],
            _ => pure[self.below(pure.len())],
        };
        let import = Import {
            name: signature.name.to_owned(),
            parameters: signature.parameters.to_vec(),
            result: signature.result,
        };
        let found = self.source.imports.iter().position(|other| *other == import);
        let b = found.unwrap_or_else(|| {
            self.source.imports.push(import);
            self.source.imports.len() - 1
        });
        let a = self.arguments(body, signature.parameters);
        let c = signature.result.map_or(0, |kind| self.pick(body, kind));
        body.code.push(Instruction { op: Op::CallImport, a, b: b as u16, c });
    }

    /// A row of registers with arguments.
    fn arguments(&mut self, body: &mut Body, parameters: &[Kind]) -> u16 {
        let mut first = None;
        let mut copies = Vec::new();
        for &kind in parameters {
            let from = self.pick(body, kind);
            let op = match kind {
                Kind::Integer => Op::CopyInteger,
                Kind::Float => Op::RoundFloat,
                Kind::Vector => Op::CopyVector,
                Kind::Rotation => Op::CopyRotation,
                _ if self.chance(50) => Op::MoveReference,
                _ => Op::CopyReference,
            };
            let a = body.add(kind);
            first.get_or_insert(a);
            copies.push(Instruction { op, a, b: from, c: 0 });
        }
        body.code.extend(copies);
        first.unwrap_or(0)
    }

    /// Any instruction but jumps, calls and ends; seldom one that may stop the script.
    fn instruction(&mut self, body: &mut Body) {
        let op = loop {
            let op = Op::ALL[self.below(Op::ALL.len())];
            let is_control = matches!(
                op,
                Op::Jump
                    | Op::JumpIf
                    | Op::JumpIfNot
                    | Op::Call
                    | Op::CallImport
                    | Op::Return
                    | Op::ReturnValue
            );
            let is_risky = matches!(
                op,
                Op::DivideInteger
                    | Op::RemainderInteger
                    | Op::DivideFloat
                    | Op::DivideVector
                    | Op::FailNoValue
                    | Op::ChangeState
            );
            if !is_control && (!is_risky || self.chance(10)) {
                break op;
            }
        };
        let reference = [Kind::Text, Kind::Key, Kind::List][self.below(3)];
        let mut numbers = [0_u16; 3];
        for (n, operand) in op.operands().into_iter().enumerate() {
            numbers[n] = match operand {
                Operand::Integer => self.pick(body, Kind::Integer),
                Operand::Float => self.pick_float(body),
                Operand::Text => self.pick(body, Kind::Text),
                Operand::Key => self.pick(body, Kind::Key),
                Operand::List => self.pick(body, Kind::List),
                Operand::Vector => self.pick(body, Kind::Vector),
                Operand::Rotation => self.pick(body, Kind::Rotation),
                Operand::Reference => self.pick(body, reference),
                Operand::GlobalInteger => self.pick_global(Kind::Integer),
                Operand::GlobalFloat => self.pick_global(Kind::Float),
                Operand::GlobalVector => self.pick_global(Kind::Vector),
                Operand::GlobalRotation => self.pick_global(Kind::Rotation),
                Operand::GlobalReference => self.pick_global(reference),
                Operand::Small | Operand::Wide => self.below(1 << 16) as u16,
                Operand::ConstantFloat | Operand::ConstantVector | Operand::ConstantRotation => {
                    self.below(5) as u16
                }
                Operand::ConstantReference => {
                    let kinds: Vec<usize> = (0..self.source.objects.len())
                        .filter(|&n| object_kind(&self.source.objects[n]) == reference)
                        .collect();
                    kinds[self.below(kinds.len())] as u16
                }
                Operand::State => self.below(2) as u16,
                _ => 0,
            };
        }
        let [a, b, c] = numbers;
        body.code.push(Instruction { op, a, b, c });
    }
}

/// Arguments of [`link_message`].
pub(crate) fn message(seed: u64) -> Vec<Value> {
    let mut random = Random::new(seed);
    let number = random.bits() as i32;
    vec![1.into(), number.into(), "message".into(), Key::from(if number > 0 { "" } else { "k" }).into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Instance, Scratch, SliceEnd};
    use crate::testing::host::Notes;
    use std::sync::Arc;

    #[test]
    fn programs_have_all_instructions_and_mostly_end() {
        let mut ops = vec![0; Op::ALL.len()];
        let mut ends = [0; 4];
        let mut n_said = 0;
        for seed in 0..300 {
            let program = program(seed);
            for function in program.functions() {
                function.code.iter().for_each(|instruction| ops[instruction.op as usize] += 1);
            }
            let mut script = Instance::new(Arc::new(program), 64 << 10, seed);
            let mut notes = Notes::default();
            let slice = script.run(&mut Scratch::default(), &mut notes, 0, 100_000);
            n_said += notes.said.len();
            ends[match slice.end {
                SliceEnd::Done => 0,
                SliceEnd::Failed(_) => 1,
                SliceEnd::Spent | SliceEnd::Sleeps(_) => 2,
                SliceEnd::Idle => 3,
            }] += 1;
        }
        let missing: Vec<Op> = Op::ALL.iter().copied().filter(|op| ops[*op as usize] == 0).collect();
        assert_eq!(missing, [Op::Jump]);
        assert!(ends[0] > 150 && ends[1] > 10 && n_said > 300, "{ends:?} {n_said}");
    }
}
