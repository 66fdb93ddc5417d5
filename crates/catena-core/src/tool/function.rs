//! Tools from functions.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Tool, ToolContext, ToolError, ToolOutcome, ToolOutput, ToolSpec};

/// A tool from an async function; its input's schema comes from the function's type.
///
/// ```
/// # use catena_core::tool::{tool_fn, ToolError};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: i64,
///     /// The second number.
///     b: i64,
/// }
/// let add = tool_fn("add", "Adds two numbers.", |input: Add, _context| async move {
///     input.a.checked_add(input.b).map(|sum| sum.to_string()).ok_or(ToolError::new("the sum is too large"))
/// }).configure(|spec| spec.read_only());
/// ```
pub fn tool_fn<I, F, Fut, O>(name: impl Into<String>, description: impl Into<String>, f: F) -> FnTool
where
    I: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(I, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = O> + Send + 'static,
    O: IntoToolOutcome + 'static,
{
    let schema = schemars::schema_for!(I).to_value();
    json_tool(ToolSpec::new(name, description, schema), move |input, context| {
        // The schema let it pass, so what fails here is a difference between schema and type; the model can still act on it.
        let work = serde_json::from_value::<I>(input).map(|input| f(input, context));
        async move {
            match work {
                Ok(work) => work.await.into_tool_outcome(),
                Err(error) => Err(ToolError::new(format!("the input does not fit: {error}"))
                    .kind("invalid_input")
                    .permanent()),
            }
        }
    })
}

/// A tool from an async function over JSON, for inputs whose schema is known only at run time.
pub fn json_tool<F, Fut, O>(spec: ToolSpec, f: F) -> FnTool
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = O> + Send + 'static,
    O: IntoToolOutcome + 'static,
{
    let f = Arc::new(f);
    FnTool {
        spec,
        f: Box::new(move |input, context| {
            let f = f.clone();
            Box::pin(async move { f(input, context).await.into_tool_outcome() })
        }),
    }
}

type BoxedFn = Box<dyn Fn(Value, ToolContext) -> BoxFuture<'static, Result<ToolOutcome, ToolError>> + Send + Sync>;

/// See [`tool_fn`] and [`json_tool`].
pub struct FnTool {
    spec: ToolSpec,
    f: BoxedFn,
}

impl FnTool {
    /// Changes the marks of the specification.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }
}

#[async_trait]
impl Tool for FnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: ToolContext, input: Value) -> Result<ToolOutcome, ToolError> {
        (self.f)(input, context).await
    }
}

/// What a tool's function may return.
pub trait IntoToolOutcome {
    /// The outcome of the call.
    ///
    /// # Errors
    /// The call's failure.
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError>;
}

impl IntoToolOutcome for String {
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError> {
        Ok(ToolOutput::text(self).into())
    }
}

impl IntoToolOutcome for &'static str {
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError> {
        Ok(ToolOutput::text(self).into())
    }
}

impl IntoToolOutcome for () {
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError> {
        Ok(ToolOutput::text("").into())
    }
}

impl IntoToolOutcome for ToolOutput {
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError> {
        Ok(self.into())
    }
}

impl IntoToolOutcome for ToolOutcome {
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError> {
        Ok(self)
    }
}

impl IntoToolOutcome for Value {
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError> {
        Ok(ToolOutput::text(self.to_string()).into())
    }
}

/// Anything that serde can write, as JSON text.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoToolOutcome for Json<T> {
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError> {
        Ok(ToolOutput::text(serde_json::to_string(&self.0)?).into())
    }
}

impl<T: IntoToolOutcome, E: Into<ToolError>> IntoToolOutcome for Result<T, E> {
    fn into_tool_outcome(self) -> Result<ToolOutcome, ToolError> {
        self.map_err(Into::into)?.into_tool_outcome()
    }
}
