//! The one attribute of catena: #[middleware].
