//! Constants have the values that the machine computes.

use super::run::{DIALECTS, handler, said};
use crate::operators::{self, BinaryOp};
use crate::types::Type;
use std::fmt::Write as _;

const OPERATORS: [BinaryOp; 18] = [
    BinaryOp::Add,
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::Divide,
    BinaryOp::Remainder,
    BinaryOp::Equal,
    BinaryOp::NotEqual,
    BinaryOp::Less,
    BinaryOp::LessEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterEqual,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::ShiftLeft,
    BinaryOp::ShiftRight,
];

const OPERANDS: [(Type, &str); 16] = [
    (Type::Integer, "0"),
    (Type::Integer, "1"),
    (Type::Integer, "-7"),
    (Type::Integer, "33"),
    (Type::Integer, "2147483647"),
    (Type::Integer, "-2147483648"),
    (Type::Float, "0.0"),
    (Type::Float, "0.1"),
    (Type::Float, "-2.5"),
    (Type::Float, "16777217.0"),
    (Type::Float, "1e30"),
    (Type::String, "\"\""),
    (Type::String, "\"ä\""),
    (Type::List, "[]"),
    (Type::List, "[1, 0.1]"),
    (Type::Vector, "<0.1, -2, 3>"),
];

/// Each pair of operands as constants and as variables, in one script.
#[test]
fn operators_have_the_same_results_for_constants_and_variables() {
    let mut statements = String::new();
    for (n, (ty, literal)) in OPERANDS.iter().enumerate() {
        let _ = write!(statements, "{ty} v{n} = {literal};");
    }
    let mut n_pairs = 0;
    for (left, &(left_type, left_literal)) in OPERANDS.iter().enumerate() {
        for (right, &(right_type, right_literal)) in OPERANDS.iter().enumerate() {
            for op in OPERATORS {
                let is_quotient = matches!(op, BinaryOp::Divide | BinaryOp::Remainder);
                let stops = is_quotient && ["0", "0.0"].contains(&right_literal);
                if stops || operators::binary(op, left_type, right_type).is_none() {
                    continue;
                }
                n_pairs += 1;
                let op = op.as_str();
                let _ = write!(
                    statements,
                    "if ((string)(({left_literal}) {op} ({right_literal})) != (string)(v{left} {op} v{right}))
                        llOwnerSay((string)(({left_literal}) {op} ({right_literal})) + \" {left} {op} {right} \" + (string)(v{left} {op} v{right}));"
                );
            }
        }
        for op in ["-", "!", "~"] {
            let exists = match left_type {
                Type::Integer => true,
                Type::Float | Type::Vector => op == "-",
                _ => false,
            };
            if exists {
                let _ = write!(
                    statements,
                    "if ((string)({op}({left_literal})) != (string)({op}v{left})) llOwnerSay(\"{op}v{left}\");"
                );
            }
        }
    }
    assert!(n_pairs > 900, "{n_pairs}");
    statements.push_str("llOwnerSay(\"end\");");
    for dialect in DIALECTS {
        assert_eq!(said(&handler("", &statements), dialect), ["end"]);
    }
}
