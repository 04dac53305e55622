//! Parameters of statements and cells of rows: five kinds of values, the same in both engines.
//!
//! | here | SQLite | PostgreSQL | used for |
//! |---|---|---|---|
//! | `Integer` | `INTEGER` | `BIGINT` | counts, seconds since 1970, bits of unsigned numbers, flags as 0 and 1 |
//! | `Real` | `REAL` | `DOUBLE PRECISION` | metres |
//! | `Text` | `TEXT` | `TEXT COLLATE "C"` | names; ordered by bytes |
//! | `Blob` | `BLOB` | `BYTEA` | ids (16 bytes, most significant first) and states |

use super::EngineError;
use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

/// A parameter of a statement, or a cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// Parameters of a statement, from values or references to them.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::engine::Parameter::as_value(&$value)),*] };
}
pub(crate) use values;

/// A type that a parameter can be made of.
pub(crate) trait Parameter {
    fn as_value(&self) -> Value<'_>;
}

/// A type that a cell can be read as.
pub(crate) trait ColumnValue: Sized {
    /// `None` when the cell holds something else.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

macro_rules! parameters {
    ($($Type:ty, $this:ident => $value:expr;)*) => { $(
        impl Parameter for $Type {
            fn as_value(&self) -> Value<'_> {
                let $this = self;
                $value
            }
        }
    )* };
}

parameters! {
    bool, this => Value::Integer((*this).into());
    f32, this => Value::Real((*this).into());
    str, this => Value::Text(this);
    String, this => Value::Text(this);
    [u8], this => Value::Blob(this);
    Vec<u8>, this => Value::Blob(this);
    Uuid, this => Value::Blob(this.as_bytes());
}

impl<const N: usize> Parameter for [u8; N] {
    fn as_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl<T: Parameter> Parameter for Option<T> {
    fn as_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, Parameter::as_value)
    }
}

impl<T: Parameter + ?Sized> Parameter for &T {
    fn as_value(&self) -> Value<'_> {
        (**self).as_value()
    }
}

macro_rules! integers {
    ($($Type:ty),*) => { $(
        impl Parameter for $Type {
            fn as_value(&self) -> Value<'_> {
                Value::Integer(i64::from(*self))
            }
        }

        impl ColumnValue for $Type {
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::Integer(n) => Self::try_from(n).ok(),
                    _ => None,
                }
            }
        }
    )* };
}

integers!(i8, u8, i32, u32, i64);

impl ColumnValue for bool {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Integer(n @ 0..=1) => Some(n == 1),
            _ => None,
        }
    }
}

impl ColumnValue for f32 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            // Written from 32 bits: another number of 64 bits is damage that rounding would hide.
            Value::Real(n) => Some(n as Self).filter(|short| f64::from(*short).to_bits() == n.to_bits()),
            _ => None,
        }
    }
}

impl ColumnValue for String {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl ColumnValue for Vec<u8> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Blob(bytes) => Some(bytes.to_vec()),
            _ => None,
        }
    }
}

impl<const N: usize> ColumnValue for [u8; N] {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Blob(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl ColumnValue for Uuid {
    fn from_value(value: Value<'_>) -> Option<Self> {
        <[u8; 16]>::from_value(value).map(Self::from_bytes)
    }
}

impl<T: ColumnValue> ColumnValue for Option<T> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, ValueRef};
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Integer(n) => ValueRef::Integer(n),
            Self::Real(n) => ValueRef::Real(n),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match (*self, kind) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Integer(n), &Type::INT8) => n.to_sql(kind, out),
            (Self::Real(n), &Type::FLOAT8) => n.to_sql(kind, out),
            (Self::Text(text), &Type::TEXT) => text.to_sql(kind, out),
            (Self::Blob(bytes), &Type::BYTEA) => bytes.to_sql(kind, out),
            _ => Err(format!("the statement takes a {kind} here").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One row of an answer.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// A cell, by its number from 0.
    pub(crate) fn value(&self, at: usize) -> Result<Value<'_>, EngineError> {
        match self {
            Self::Sqlite(row) => {
                use rusqlite::types::ValueRef;
                Ok(match row.get_ref(at)? {
                    ValueRef::Null => Value::Null,
                    ValueRef::Integer(n) => Value::Integer(n),
                    ValueRef::Real(n) => Value::Real(n),
                    ValueRef::Text(text) => {
                        Value::Text(std::str::from_utf8(text).map_err(|_| EngineError::cell(at, "UTF-8"))?)
                    }
                    ValueRef::Blob(bytes) => Value::Blob(bytes),
                })
            }
            Self::Postgres(row) => {
                let kind = row.columns().get(at).ok_or_else(|| EngineError::cell(at, "a column"))?.type_();
                let value = match *kind {
                    Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map(Value::Integer),
                    Type::FLOAT8 => row.try_get::<_, Option<f64>>(at)?.map(Value::Real),
                    Type::TEXT => row.try_get::<_, Option<&str>>(at)?.map(Value::Text),
                    Type::BYTEA => row.try_get::<_, Option<&[u8]>>(at)?.map(Value::Blob),
                    _ => return Err(EngineError::cell(at, "a kind that the store uses")),
                };
                Ok(value.unwrap_or(Value::Null))
            }
        }
    }

    /// A cell as a value of this type.
    pub(crate) fn get<T: ColumnValue>(&self, at: usize) -> Result<T, EngineError> {
        T::from_value(self.value(at)?).ok_or_else(|| EngineError::cell(at, std::any::type_name::<T>()))
    }
}
