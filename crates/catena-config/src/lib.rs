//! From one TOML file to agents: parse, check, build.
