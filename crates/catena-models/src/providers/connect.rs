//! From a specification to a model.

use std::sync::Arc;

use catena_core::model::Model;
use rig_core::wire::Secret;
use rig_reqwest::reqwest::Url;

use super::dialect::{self, Known};
use super::http::Http;
use super::model::{Parts, ProviderModel};
use super::wire::Wire;
use super::{ProviderError, ProviderSpec, profile};

/// Connects a model. Nothing is sent before its first call.
///
/// `env` reads one environment variable; the key is taken from there and appears nowhere else.
///
/// # Errors
/// A [`ProviderError`] that says what to change.
pub fn connect(spec: &ProviderSpec, env: &dyn Fn(&str) -> Option<String>) -> Result<Arc<dyn Model>, ProviderError> {
    let (provider, model) = spec.parts()?;
    let row = dialect::find(provider)?;
    let key = key(row, spec, env)?;
    let base_url = base_url(row, spec)?;
    let http = Http::new(spec, &base_url)?;
    let wire = Wire::new(row, model, base_url.as_str(), key.clone(), &http);
    let profile = profile::of(row, spec, model);
    Ok(Arc::new(ProviderModel::new(Parts {
        name: format!("{}:{model}", row.name),
        row,
        model: model.to_owned(),
        profile,
        wire,
        http,
        key,
        extra: spec.extra.clone(),
        prefill: spec.prefill,
    })))
}

fn key(
    row: &'static Known,
    spec: &ProviderSpec,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Secret, ProviderError> {
    let variables: Vec<String> = match &spec.api_key_env {
        Some(named) => vec![named.clone()],
        None => row.keys.iter().map(|name| (*name).to_owned()).collect(),
    };
    // A variable that holds only blanks is one that somebody meant to fill.
    let found = variables
        .iter()
        .filter_map(|name| env(name))
        .map(|key| key.trim().to_owned())
        .find(|key| !key.is_empty());
    match found {
        Some(key) => Ok(key.into()),
        // A variable that was named on purpose must be there, even where a key is optional.
        None if row.key_optional && spec.api_key_env.is_none() => Ok(Secret::default()),
        None => Err(ProviderError::MissingKey {
            provider: row.name,
            variables,
        }),
    }
}

fn base_url(row: &'static Known, spec: &ProviderSpec) -> Result<Url, ProviderError> {
    let text = spec
        .base_url
        .as_deref()
        .or(row.base_url)
        .ok_or(ProviderError::MissingBaseUrl(row.name))?;
    let wrong = |reason: &str| ProviderError::BaseUrl {
        model: spec.model.clone(),
        reason: reason.to_owned(),
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("it must begin with `http://` or `https://` and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it must not hold a user name or a password; use `api_key_env`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it must not have a query or a fragment"));
    }
    Ok(url)
}
