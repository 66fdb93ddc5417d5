//! Models: the trait, what is asked, what comes back.
//!
//! A model turns a [`ModelRequest`] into a stream of [`ModelDelta`]s. There is no second, unstreamed way: callers who want only the end
//! fold the stream with [`Fold`], as the loop does.

mod delta;
mod error;
mod filter;
mod profile;
mod request;
mod usage;

pub use delta::{Fold, ModelDelta};
pub use error::{ModelError, ModelErrorKind};
pub use filter::{DeltaFilter, StreamFilter, filtered};
pub use profile::{ModelProfile, NativeOutput, ReasoningReplay};
pub use request::{ModelRequest, ModelResponse, ModelSettings, ToolChoice};
pub use usage::{StopReason, Usage};

use async_trait::async_trait;
use futures::stream::BoxStream;

/// What a model call yields: deltas, the last of which is [`ModelDelta::End`].
///
/// A stream that ends without `End` was cut; [`Fold::finish`] reports it as [`ModelErrorKind::Truncated`].
pub type ModelStream = BoxStream<'static, Result<ModelDelta, ModelError>>;

/// Something that answers conversations.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// `provider:model`, such as `openai:gpt-5-mini`.
    fn name(&self) -> &str;

    /// What the model can do and how large its window is.
    fn profile(&self) -> &ModelProfile;

    /// Starts one call.
    ///
    /// # Errors
    /// A [`ModelError`] if the call cannot be started; later failures are items of the stream.
    ///
    /// # Cancel safety
    /// Dropping the future or the stream ends the call. A provider may have counted its tokens all the same.
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError>;
}

/// A shared model is a model.
#[async_trait]
impl<M: Model + ?Sized> Model for std::sync::Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn profile(&self) -> &ModelProfile {
        (**self).profile()
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        (**self).stream(request).await
    }
}
