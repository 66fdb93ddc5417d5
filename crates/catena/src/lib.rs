//! An agent runtime whose every behaviour is middleware.
