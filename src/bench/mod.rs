//! Measurements of the shipped program on given data: `ergo bench`.

pub mod guard;
