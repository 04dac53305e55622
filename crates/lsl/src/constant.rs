//! Values that are known before a script runs, and operators and casts between them.
//!
//! | rule | `sl` | `opensim` |
//! |---|---|---|
//! | integers | wrap at 32 bits, shift counts modulo 32, −2³¹ / −1 = −2³¹ | the same |
//! | literals, variables, components and elements | float32 | doubles |
//! | results of operators | doubles | doubles |
//! | float → integer | through float32; −2³¹ out of range | through the double; −2³¹ out of range |
//! | division by zero, quotients that are no number | no value: they stop the script | the same |
//!
//! A value that depends on more than these rules is not known: floats as text and text as floats, products and quotients with rotations, and the
//! truth of a rotation without a turn.

use crate::Dialect;
use crate::library::{Constant, ConstantValue};
use crate::operators::{BinaryOp, UnaryOp};
use crate::types::Type;
use std::sync::Arc;

/// Bytes that all joins and comparisons of a script go through at most: a row of `a + a` would double a text with each.
const WORK_MAX: usize = 1 << 22;

const NULL_KEY: &str = "00000000-0000-0000-0000-000000000000";

/// A value. The numbers in it are as its place has them: of 32 bits in `sl`, but for the result of an operator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Integer(i32),
    Float(f64),
    Text(Arc<str>),
    Key(Arc<str>),
    Vector([f64; 3]),
    Rotation([f64; 4]),
    List(Arc<[Self]>),
}

impl Value {
    /// The value of a variable without one.
    pub(crate) fn default_of(ty: Type) -> Option<Self> {
        Some(match ty {
            Type::Integer => Self::Integer(0),
            Type::Float => Self::Float(0.0),
            Type::String => Self::Text("".into()),
            Type::Key => Self::Key("".into()),
            Type::Vector => Self::Vector([0.0; 3]),
            Type::Rotation => Self::Rotation([0.0, 0.0, 0.0, 1.0]),
            Type::List => Self::List([].into()),
            Type::Void => return None,
        })
    }

    /// Its truth as a condition.
    pub(crate) fn truth(&self) -> Option<bool> {
        Some(match self {
            Self::Integer(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Key(text) => is_canonical(text) && &**text != NULL_KEY,
            Self::Vector(parts) => parts.iter().any(|&part| part != 0.0),
            Self::Rotation([x, y, z, s]) => {
                let is_turn = [x, y, z].iter().any(|&&part| part != 0.0);
                return (is_turn || ![0.0, 1.0].contains(s)).then_some(true);
            }
            Self::List(elements) => !elements.is_empty(),
        })
    }

    /// True for a divisor that stops the script.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Integer(value) => *value == 0,
            Self::Float(value) => *value == 0.0,
            _ => false,
        }
    }

    /// The component of a vector or a rotation.
    pub(crate) fn component(&self, name: &str) -> Option<Self> {
        let index = ["x", "y", "z", "s"].iter().position(|&one| one == name)?;
        let parts: &[f64] = match self {
            Self::Vector(parts) => parts,
            Self::Rotation(parts) => parts,
            _ => return None,
        };
        parts.get(index).map(|&part| Self::Float(part))
    }

    /// The number in an integer or a float.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(f64::from(*value)),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }
}

/// Computes with values, within a bound of work.
#[derive(Debug)]
pub(crate) struct Calculator {
    dialect: Dialect,
    /// Remainder of [`WORK_MAX`].
    work: usize,
}

impl Calculator {
    pub(crate) const fn new(dialect: Dialect) -> Self {
        Self { dialect, work: WORK_MAX }
    }

    /// A float as literals, variables, components and elements have it.
    pub(crate) fn stored(&self, value: f64) -> f64 {
        match self.dialect {
            Dialect::Sl => f64::from(value as f32),
            Dialect::Opensim => value,
        }
    }

    /// The value of a constant of the library.
    pub(crate) fn library(&self, constant: &Constant) -> Value {
        match &constant.value {
            ConstantValue::Integer(value) => Value::Integer(*value),
            ConstantValue::Float(value) => Value::Float(self.stored(*value)),
            ConstantValue::Text(text) if constant.ty == Type::Key => Value::Key(text.as_str().into()),
            ConstantValue::Text(text) => Value::Text(text.as_str().into()),
            ConstantValue::Vector(parts) => Value::Vector(parts.map(|part| self.stored(part))),
            ConstantValue::Rotation(parts) => Value::Rotation(parts.map(|part| self.stored(part))),
        }
    }

    /// A value as an element of a list.
    pub(crate) fn element(&self, value: Value) -> Value {
        match value {
            Value::Float(value) => Value::Float(self.stored(value)),
            value => value,
        }
    }

    /// A value in a variable of a type.
    pub(crate) fn variable(&mut self, value: &Value, ty: Type) -> Option<Value> {
        let value = self.cast(value, ty)?;
        Some(self.element(value))
    }

    pub(crate) fn unary(&self, op: UnaryOp, value: &Value) -> Option<Value> {
        Some(match (op, value) {
            (UnaryOp::Negate, Value::Integer(value)) => Value::Integer(value.wrapping_neg()),
            (UnaryOp::Negate, Value::Float(value)) => Value::Float(-value),
            (UnaryOp::Negate, Value::Vector(parts)) => Value::Vector(parts.map(|part| -part)),
            (UnaryOp::Negate, Value::Rotation(parts)) => Value::Rotation(parts.map(|part| -part)),
            (UnaryOp::Not, Value::Integer(value)) => Value::Integer(i32::from(*value == 0)),
            (UnaryOp::BitNot, Value::Integer(value)) => Value::Integer(!value),
            _ => return None,
        })
    }

    /// The result of an operator; `None` as well for one that stops the script.
    pub(crate) fn binary(&mut self, op: BinaryOp, left: &Value, right: &Value) -> Option<Value> {
        use BinaryOp as Op;
        if let (Op::Divide | Op::Remainder, true) = (op, right.is_zero()) {
            return None;
        }
        match (op, left, right) {
            (_, Value::Integer(left), Value::Integer(right)) => {
                Some(Value::Integer(integers(op, *left, *right)))
            }
            (Op::Add, Value::List(_), _) | (Op::Add, _, Value::List(_)) => self.join_lists(left, right),
            (Op::Add, Value::Text(left), Value::Text(right)) => {
                self.spend(left.len() + right.len())?;
                Some(Value::Text(format!("{left}{right}").into()))
            }
            (Op::Equal, ..) => Some(Value::Integer(i32::from(self.are_equal(left, right)?))),
            (Op::NotEqual, Value::List(left), Value::List(right)) => {
                Some(Value::Integer(left.len() as i32 - right.len() as i32))
            }
            (Op::NotEqual, ..) => Some(Value::Integer(i32::from(!self.are_equal(left, right)?))),
            (_, Value::Vector(left), Value::Vector(right)) => self.vectors(op, *left, *right),
            (Op::Multiply, Value::Vector(parts), factor) | (Op::Multiply, factor, Value::Vector(parts)) => {
                let factor = factor.number()?;
                Some(self.vector(parts.map(|part| part * factor)))
            }
            (Op::Divide, Value::Vector(parts), divisor) => {
                let divisor = divisor.number()?;
                let quotients = parts.map(|part| part / divisor);
                (!quotients.iter().any(|part| part.is_nan())).then(|| self.vector(quotients))
            }
            (Op::Add, Value::Rotation(left), Value::Rotation(right)) => {
                Some(self.rotation(std::array::from_fn(|index| left[index] + right[index])))
            }
            (Op::Subtract, Value::Rotation(left), Value::Rotation(right)) => {
                Some(self.rotation(std::array::from_fn(|index| left[index] - right[index])))
            }
            _ => floats(op, left.number()?, right.number()?),
        }
    }

    /// A value of another type. A cast to its own type is the value.
    pub(crate) fn cast(&mut self, value: &Value, to: Type) -> Option<Value> {
        Some(match (value, to) {
            (Value::Integer(_), Type::Integer)
            | (Value::Float(_), Type::Float)
            | (Value::Text(_), Type::String)
            | (Value::Key(_), Type::Key)
            | (Value::Vector(_), Type::Vector)
            | (Value::Rotation(_), Type::Rotation)
            | (Value::List(_), Type::List) => value.clone(),
            (_, Type::List) => Value::List([self.element(value.clone())].into()),
            (Value::Integer(value), Type::Float) => Value::Float(f64::from(*value)),
            (Value::Float(value), Type::Integer) => Value::Integer(truncated(self.stored(*value))),
            (Value::Integer(value), Type::String) => Value::Text(value.to_string().into()),
            (Value::Text(text), Type::Integer) => {
                self.spend(text.len())?;
                Value::Integer(integer_of(text))
            }
            (Value::Text(text), Type::Key) => Value::Key(Arc::clone(text)),
            (Value::Key(text), Type::String) => Value::Text(Arc::clone(text)),
            (Value::List(elements), Type::String) => {
                self.spend(size_of_val(&**elements))?;
                let mut all = String::new();
                for element in elements.iter() {
                    match element {
                        Value::Integer(value) => all.push_str(&value.to_string()),
                        Value::Text(text) | Value::Key(text) => {
                            self.spend(text.len())?;
                            all.push_str(text);
                        }
                        _ => return None,
                    }
                }
                Value::Text(all.into())
            }
            _ => return None,
        })
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        let left = self.work.checked_sub(bytes);
        self.work = left.unwrap_or(0);
        left.map(|_| ())
    }

    fn join_lists(&mut self, left: &Value, right: &Value) -> Option<Value> {
        let sides = [left, right].map(|side| match side {
            Value::List(elements) => Arc::clone(elements),
            value => [self.element(value.clone())].into(),
        });
        let [left, right] = &sides;
        self.spend(size_of_val(&**left) + size_of_val(&**right))?;
        Some(Value::List(left.iter().chain(right.iter()).cloned().collect()))
    }

    /// Lists are equal if they have one length.
    fn are_equal(&mut self, left: &Value, right: &Value) -> Option<bool> {
        Some(match (left, right) {
            (Value::Text(left) | Value::Key(left), Value::Text(right) | Value::Key(right)) => {
                self.spend(left.len().min(right.len()))?;
                left == right
            }
            (Value::List(left), Value::List(right)) => left.len() == right.len(),
            (Value::Vector(left), Value::Vector(right)) => left == right,
            (Value::Rotation(left), Value::Rotation(right)) => left == right,
            _ => left.number()? == right.number()?,
        })
    }

    fn vectors(&self, op: BinaryOp, left: [f64; 3], right: [f64; 3]) -> Option<Value> {
        let [[x, y, z], [u, v, w]] = [left, right];
        Some(match op {
            BinaryOp::Add => self.vector([x + u, y + v, z + w]),
            BinaryOp::Subtract => self.vector([x - u, y - v, z - w]),
            BinaryOp::Multiply => Value::Float(x * u + y * v + z * w),
            BinaryOp::Remainder => self.vector([y * w - z * v, z * u - x * w, x * v - y * u]),
            _ => return None,
        })
    }

    fn vector(&self, parts: [f64; 3]) -> Value {
        Value::Vector(parts.map(|part| self.stored(part)))
    }

    fn rotation(&self, parts: [f64; 4]) -> Value {
        Value::Rotation(parts.map(|part| self.stored(part)))
    }
}

/// The divisor is not zero.
fn integers(op: BinaryOp, left: i32, right: i32) -> i32 {
    match op {
        BinaryOp::Add => left.wrapping_add(right),
        BinaryOp::Subtract => left.wrapping_sub(right),
        BinaryOp::Multiply => left.wrapping_mul(right),
        BinaryOp::Divide => left.wrapping_div(right),
        BinaryOp::Remainder => left.wrapping_rem(right),
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitOr => left | right,
        BinaryOp::BitXor => left ^ right,
        // Both count modulo 32.
        BinaryOp::ShiftLeft => left.wrapping_shl(right.cast_unsigned()),
        BinaryOp::ShiftRight => left.wrapping_shr(right.cast_unsigned()),
        BinaryOp::And => i32::from(left != 0 && right != 0),
        BinaryOp::Or => i32::from(left != 0 || right != 0),
        BinaryOp::Equal => i32::from(left == right),
        BinaryOp::NotEqual => i32::from(left != right),
        BinaryOp::Less => i32::from(left < right),
        BinaryOp::LessEqual => i32::from(left <= right),
        BinaryOp::Greater => i32::from(left > right),
        BinaryOp::GreaterEqual => i32::from(left >= right),
    }
}

/// The divisor is not zero.
fn floats(op: BinaryOp, left: f64, right: f64) -> Option<Value> {
    let holds = match op {
        BinaryOp::Add => return Some(Value::Float(left + right)),
        BinaryOp::Subtract => return Some(Value::Float(left - right)),
        BinaryOp::Multiply => return Some(Value::Float(left * right)),
        BinaryOp::Divide => {
            let quotient = left / right;
            return (!quotient.is_nan()).then_some(Value::Float(quotient));
        }
        BinaryOp::Less => left < right,
        BinaryOp::LessEqual => left <= right,
        BinaryOp::Greater => left > right,
        BinaryOp::GreaterEqual => left >= right,
        _ => return None,
    };
    Some(Value::Integer(i32::from(holds)))
}

fn truncated(value: f64) -> i32 {
    let whole = value.trunc();
    let is_in_range = whole >= f64::from(i32::MIN) && whole <= f64::from(i32::MAX);
    if is_in_range { whole as i32 } else { i32::MIN }
}

/// The decimal or hexadecimal number at the beginning of a text, behind white space: wrapped up to ±(2³² − 1), −1 beyond.
fn integer_of(text: &str) -> i32 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((digits, 10), |digits| (digits, 16));
    let mut value = 0_u64;
    for digit in digits.chars().map_while(|letter| letter.to_digit(radix)) {
        value = value * u64::from(radix) + u64::from(digit);
        if value > u64::from(u32::MAX) {
            return -1;
        }
    }
    let value = (value as u32).cast_signed();
    if is_negative { value.wrapping_neg() } else { value }
}

/// True for 8-4-4-4-12 hexadecimal digits.
fn is_canonical(text: &str) -> bool {
    text.len() == NULL_KEY.len()
        && text.bytes().zip(NULL_KEY.bytes()).all(|(byte, null)| match null {
            b'-' => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests;
