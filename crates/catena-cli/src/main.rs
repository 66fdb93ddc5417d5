//! The catena command.
fn main() {}
