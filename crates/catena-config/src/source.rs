//! A text, its lines and columns.
