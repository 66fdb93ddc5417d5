//! What wraps can do beside passing on.
