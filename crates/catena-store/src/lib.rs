//! Where catena keeps threads: SQLite.
