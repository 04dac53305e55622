//! Instructions: 64 bits each, an operation and three numbers of 16 bits.
//!
//! The operands of an operation have fixed meanings ([`Operand`]), so that a program is checked once, when it is read, and never again. Two operands
//! may together be one number of 32 bits. Numbers of operations are part of the format of programs: new ones are appended.
//!
//! Weights are fuel: 1 is about a nanosecond. The machine adds to the weight for work that grows with the length of strings or lists.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Meaning of a number in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Not used: zero.
    None,
    /// A register with an integer.
    Integer,
    /// A register with a float, or a component of a vector or a rotation.
    Float,
    /// A register with a string.
    Text,
    /// A register with a key.
    Key,
    /// A register with a list.
    List,
    /// A register with a vector.
    Vector,
    /// A register with a rotation.
    Rotation,
    /// A register with a string, a key or a list; all of an instruction, and its constant or global, are of one kind.
    Reference,
    /// A register with the result of the function in which the instruction stands.
    Result,
    /// A global with an integer.
    GlobalInteger,
    /// A global with a float, or a component.
    GlobalFloat,
    /// A global with a vector.
    GlobalVector,
    /// A global with a rotation.
    GlobalRotation,
    /// A global with a string, a key or a list.
    GlobalReference,
    /// An integer of 16 bits, with sign.
    Small,
    /// An integer of 32 bits: this number is its lower half, the next one the upper.
    Wide,
    /// The second half of the number before.
    High,
    /// Index of a float constant, 32 bits.
    ConstantFloat,
    /// Index of the first of three float constants, 32 bits.
    ConstantVector,
    /// Index of the first of four float constants, 32 bits.
    ConstantRotation,
    /// Index of an object among the constants, 32 bits.
    ConstantReference,
    /// Place of an instruction in the same function, 32 bits.
    Target,
    /// The first of the registers with arguments, in a row.
    Arguments,
    /// Index of a function; the next number is the register of its result.
    Function,
    /// Index of an import; the next number is the register of its result.
    Import,
    /// The register of a result, of the kind that the function before has; zero if it has none.
    CallResult,
    /// Index of a state.
    State,
}

macro_rules! operations {
    ($($(#[doc = $doc:literal])* $name:ident($a:ident, $b:ident, $c:ident) = $weight:literal;)*) => {
        /// Operation of an instruction. `a`, `b` and `c` are its operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])* $name,)* }

        impl Op {
            /// All operations, by their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The meanings of its operands.
            #[must_use]
            pub const fn operands(self) -> [Operand; 3] {
                match self { $(Self::$name => [Operand::$a, Operand::$b, Operand::$c],)* }
            }

            /// Its fuel, without what grows with lengths.
            #[must_use]
            pub const fn weight(self) -> u32 {
                match self { $(Self::$name => $weight,)* }
            }
        }

    };
}

operations! {
    /// `a = b`
    CopyInteger(Integer, Integer, None) = 1;
    /// `a = b`, all bits.
    CopyFloat(Float, Float, None) = 1;
    /// `a = b`
    CopyVector(Vector, Vector, None) = 2;
    /// `a = b`
    CopyRotation(Rotation, Rotation, None) = 2;
    /// `a = b`; one object with one more reference.
    CopyReference(Reference, Reference, None) = 4;
    /// `a = b`; `b` is empty afterwards.
    MoveReference(Reference, Reference, None) = 3;
    /// `a` is empty afterwards.
    ClearReference(Reference, None, None) = 2;
    /// `a` = a number of 32 bits.
    LoadInteger(Integer, Wide, High) = 1;
    /// `a` = a constant.
    LoadFloat(Float, ConstantFloat, High) = 1;
    /// `a` = a constant.
    LoadVector(Vector, ConstantVector, High) = 2;
    /// `a` = a constant.
    LoadRotation(Rotation, ConstantRotation, High) = 2;
    /// `a` = a constant of the program, which takes no memory of the script.
    LoadReference(Reference, ConstantReference, High) = 3;
    /// `a` = global `b`
    GetInteger(Integer, GlobalInteger, None) = 1;
    /// `a` = global `b`
    GetFloat(Float, GlobalFloat, None) = 1;
    /// `a` = global `b`
    GetVector(Vector, GlobalVector, None) = 2;
    /// `a` = global `b`
    GetRotation(Rotation, GlobalRotation, None) = 2;
    /// `a` = global `b`; one object with one more reference.
    GetReference(Reference, GlobalReference, None) = 4;
    /// `a` = global `b`, which is empty afterwards: its list can be changed in place.
    TakeReference(Reference, GlobalReference, None) = 3;
    /// Global `b` = `a`
    SetInteger(Integer, GlobalInteger, None) = 1;
    /// Global `b` = `a`, all bits: rounded before by `RoundFloat`.
    SetFloat(Float, GlobalFloat, None) = 1;
    /// Global `b` = `a`
    SetVector(Vector, GlobalVector, None) = 2;
    /// Global `b` = `a`
    SetRotation(Rotation, GlobalRotation, None) = 2;
    /// Global `b` = `a`; one object with one more reference.
    SetReference(Reference, GlobalReference, None) = 4;
    /// Global `b` = `a`, which is empty afterwards.
    PutReference(Reference, GlobalReference, None) = 3;

    /// `a = b + c`
    AddInteger(Integer, Integer, Integer) = 1;
    /// `a = b - c`
    SubtractInteger(Integer, Integer, Integer) = 1;
    /// `a = b * c`
    MultiplyInteger(Integer, Integer, Integer) = 1;
    /// `a = b / c`
    DivideInteger(Integer, Integer, Integer) = 4;
    /// `a = b % c`
    RemainderInteger(Integer, Integer, Integer) = 4;
    /// `a = b + small`
    AddSmall(Integer, Integer, Small) = 1;
    /// `a = b & c`
    AndInteger(Integer, Integer, Integer) = 1;
    /// `a = b | c`
    OrInteger(Integer, Integer, Integer) = 1;
    /// `a = b ^ c`
    XorInteger(Integer, Integer, Integer) = 1;
    /// `a = b << c`
    ShiftLeft(Integer, Integer, Integer) = 1;
    /// `a = b >> c`
    ShiftRight(Integer, Integer, Integer) = 1;
    /// `a = -b`
    NegateInteger(Integer, Integer, None) = 1;
    /// `a = ~b`
    Complement(Integer, Integer, None) = 1;
    /// `a = !b`
    Not(Integer, Integer, None) = 1;
    /// `a = b && c`; both have been evaluated.
    Both(Integer, Integer, Integer) = 1;
    /// `a = b || c`; both have been evaluated.
    Either(Integer, Integer, Integer) = 1;
    /// `a = b == c`
    EqualInteger(Integer, Integer, Integer) = 1;
    /// `a = b != c`
    UnequalInteger(Integer, Integer, Integer) = 1;
    /// `a = b < c`; `b > c` is the same with exchanged registers.
    LessInteger(Integer, Integer, Integer) = 1;
    /// `a = b <= c`
    LessOrEqualInteger(Integer, Integer, Integer) = 1;

    /// `a = b + c`, in doubles.
    AddFloat(Float, Float, Float) = 1;
    /// `a = b - c`
    SubtractFloat(Float, Float, Float) = 1;
    /// `a = b * c`
    MultiplyFloat(Float, Float, Float) = 1;
    /// `a = b / c`
    DivideFloat(Float, Float, Float) = 4;
    /// `a = -b`
    NegateFloat(Float, Float, None) = 1;
    /// `a = b` as a variable keeps it: float32 in `sl`.
    RoundFloat(Float, Float, None) = 2;
    /// `a = b == c`
    EqualFloat(Integer, Float, Float) = 1;
    /// `a = b != c`
    UnequalFloat(Integer, Float, Float) = 1;
    /// `a = b < c`
    LessFloat(Integer, Float, Float) = 1;
    /// `a = b <= c`
    LessOrEqualFloat(Integer, Float, Float) = 1;
    /// `a = b`, a double.
    IntegerToFloat(Float, Integer, None) = 1;
    /// `a = (integer)b`
    FloatToInteger(Integer, Float, None) = 2;
    /// `a = b *= c`, truncated.
    MultiplyIntegerByFloat(Integer, Integer, Float) = 3;

    /// `a = b + c`
    AddVector(Vector, Vector, Vector) = 5;
    /// `a = b - c`
    SubtractVector(Vector, Vector, Vector) = 5;
    /// `a = b * c`
    ScaleVector(Vector, Vector, Float) = 5;
    /// `a = b / c`
    DivideVector(Vector, Vector, Float) = 9;
    /// `a = -b`
    NegateVector(Vector, Vector, None) = 3;
    /// `a = b * c`, the scalar product.
    DotVector(Float, Vector, Vector) = 4;
    /// `a = b % c`, the vector product.
    CrossVector(Vector, Vector, Vector) = 7;
    /// `a = b == c`
    EqualVector(Integer, Vector, Vector) = 3;
    /// `a = b != c`
    UnequalVector(Integer, Vector, Vector) = 3;
    /// `a = b * c`
    RotateVector(Vector, Vector, Rotation) = 12;
    /// `a = b / c`
    RotateVectorBack(Vector, Vector, Rotation) = 12;
    /// `a = b + c`
    AddRotation(Rotation, Rotation, Rotation) = 6;
    /// `a = b - c`
    SubtractRotation(Rotation, Rotation, Rotation) = 6;
    /// `a = b * c`
    MultiplyRotation(Rotation, Rotation, Rotation) = 16;
    /// `a = b / c`
    DivideRotation(Rotation, Rotation, Rotation) = 16;
    /// `a = -b`
    NegateRotation(Rotation, Rotation, None) = 3;
    /// `a = b == c`
    EqualRotation(Integer, Rotation, Rotation) = 4;
    /// `a = b != c`
    UnequalRotation(Integer, Rotation, Rotation) = 4;

    /// `a = b + c`
    ConcatText(Text, Text, Text) = 40;
    /// `a = b == c`
    EqualText(Integer, Text, Text) = 6;
    /// `a = b != c`: 1 if they differ.
    UnequalText(Integer, Text, Text) = 6;
    /// `a = b == c`
    EqualKey(Integer, Key, Key) = 6;
    /// `a = b != c`
    UnequalKey(Integer, Key, Key) = 6;
    /// `a = b == c`: equal lengths.
    EqualList(Integer, List, List) = 4;
    /// `a = b != c`: the difference of lengths.
    UnequalList(Integer, List, List) = 4;
    /// `a = b + c`
    ConcatList(List, List, List) = 50;
    /// `a += b`, in place if `a` has the only reference.
    AppendList(List, List, None) = 40;
    /// The number of elements.
    ListLength(Integer, List, None) = 3;
    /// `a += b`, in place if `a` has the only reference. So do the others.
    PushInteger(List, Integer, None) = 16;
    /// `a += b`, rounded as a variable.
    PushFloat(List, Float, None) = 16;
    /// `a += b`
    PushText(List, Text, None) = 22;
    /// `a += b`
    PushKey(List, Key, None) = 22;
    /// `a += b`
    PushVector(List, Vector, None) = 18;
    /// `a += b`
    PushRotation(List, Rotation, None) = 35;

    /// `a = (string)b`
    IntegerToText(Text, Integer, None) = 70;
    /// `a = (string)b`
    FloatToText(Text, Float, None) = 200;
    /// `a = (string)b`
    VectorToText(Text, Vector, None) = 600;
    /// `a = (string)b`
    RotationToText(Text, Rotation, None) = 800;
    /// `a = (string)b`
    KeyToText(Text, Key, None) = 60;
    /// `a = (string)b`
    ListToText(Text, List, None) = 50;
    /// `a = (integer)b`
    TextToInteger(Integer, Text, None) = 20;
    /// `a = (float)b`
    TextToFloat(Float, Text, None) = 40;
    /// `a = (vector)b`
    TextToVector(Vector, Text, None) = 120;
    /// `a = (rotation)b`
    TextToRotation(Rotation, Text, None) = 150;
    /// `a = (key)b`
    TextToKey(Key, Text, None) = 50;
    /// `a` = `b` as a condition.
    TestFloat(Integer, Float, None) = 1;
    /// `a` = `b` as a condition.
    TestText(Integer, Text, None) = 3;
    /// `a` = `b` as a condition.
    TestKey(Integer, Key, None) = 4;
    /// `a` = `b` as a condition.
    TestList(Integer, List, None) = 3;
    /// `a` = `b` as a condition.
    TestVector(Integer, Vector, None) = 2;
    /// `a` = `b` as a condition.
    TestRotation(Integer, Rotation, None) = 2;

    /// Continues at a place.
    Jump(Target, High, None) = 1;
    /// Continues at a place if `a` is not zero.
    JumpIf(Integer, Target, High) = 1;
    /// Continues at a place if `a` is zero.
    JumpIfNot(Integer, Target, High) = 1;
    /// Calls a function. Its arguments are in a row from `a` on; references among them are moved.
    Call(Arguments, Function, CallResult) = 12;
    /// Calls a function of the library. Its arguments are in a row from `a` on; references among them are empty afterwards.
    CallImport(Arguments, Import, CallResult) = 10;
    /// Ends a function without a result.
    Return(None, None, None) = 8;
    /// Ends a function with a result; a reference is moved.
    ReturnValue(Result, None, None) = 8;
    /// Ends the event with a change of state; like `Return` if the state is the current one.
    ChangeState(State, None, None) = 20;
    /// Stops the script: the value of an assignment that has none is used.
    FailNoValue(None, None, None) = 1;
}

impl Serialize for Op {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        let found = Self::ALL.get(usize::from(number)).copied();
        found.ok_or_else(|| D::Error::custom("an operation that does not exist"))
    }
}

/// An operation with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// The first operand.
    pub a: u16,
    /// The second operand.
    pub b: u16,
    /// The third operand.
    pub c: u16,
}

impl Instruction {
    /// An instruction with a number of 32 bits behind its first operand.
    #[must_use]
    pub const fn wide(op: Op, a: u16, number: u32) -> Self {
        Self { op, a, b: number as u16, c: (number >> 16) as u16 }
    }

    /// A jump without a condition.
    #[must_use]
    pub const fn jump(target: u32) -> Self {
        Self { op: Op::Jump, a: target as u16, b: (target >> 16) as u16, c: 0 }
    }

    /// The number of 32 bits in the second and third operand.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.b as u32 | (self.c as u32) << 16
    }

    /// The number of 32 bits in the first and second operand.
    #[must_use]
    pub const fn jump_target(self) -> u32 {
        self.a as u32 | (self.b as u32) << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_take_8_bytes() {
        assert_eq!(size_of::<Instruction>(), 8);
    }

    #[test]
    fn wide_numbers_are_kept() {
        for number in [0, 1, 0xFFFF, 0x1_0000, u32::MAX] {
            assert_eq!(Instruction::wide(Op::LoadInteger, 7, number).number(), number);
            assert_eq!(Instruction::jump(number).jump_target(), number);
        }
    }

    #[test]
    fn operations_have_their_place_as_number() {
        for (number, op) in Op::ALL.iter().enumerate() {
            assert_eq!(*op as usize, number);
            assert!(op.weight() > 0);
            let bytes = postcard::to_stdvec(op).expect("plain data");
            assert_eq!(postcard::from_bytes::<Op>(&bytes), Ok(*op));
        }
        assert!(postcard::from_bytes::<Op>(&[Op::ALL.len() as u8]).is_err());
    }

    /// Numbers in stored programs: a change of the order would change their meaning.
    #[test]
    fn numbers_of_operations_are_fixed() {
        for (op, number) in [
            (Op::CopyInteger, 0),
            (Op::GetInteger, 12),
            (Op::AddInteger, 24),
            (Op::AddFloat, 44),
            (Op::AddVector, 57),
            (Op::ConcatText, 75),
            (Op::IntegerToText, 91),
            (Op::Jump, 108),
            (Op::FailNoValue, 116),
        ] {
            assert_eq!(op as u8, number, "{op:?}");
        }
    }
}
