//! Runs a hook so that its failure stays its own: panics are caught, and time is limited.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;

use crate::error::{Error, Result};

/// Awaits a future that may panic or take too long. `what` names it in errors.
///
/// The timer is made only when the future is not ready at once: most hooks are.
pub(crate) async fn protect<T>(
    what: impl FnOnce() -> String,
    limit: Option<Duration>,
    future: BoxFuture<'_, Result<T>>,
) -> Result<T> {
    match (Protected {
        future,
        limit,
        sleep: None,
    })
    .await
    {
        Ok(result) => result,
        Err(Fault::Panic(payload)) => {
            let what = what();
            tracing::error!(what, panic = panic_text(&*payload), "caught a panic");
            Err(Error::Panic(what))
        }
        Err(Fault::Timeout(limit)) => Err(Error::Timeout { what: what(), limit }),
    }
}

struct Protected<'a, T> {
    future: BoxFuture<'a, T>,
    limit: Option<Duration>,
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
}

enum Fault {
    Panic(Box<dyn Any + Send>),
    Timeout(Duration),
}

impl<T> Future for Protected<'_, T> {
    type Output = Result<T, Fault>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // What the future borrowed mutably is thrown away after a panic: hooks work on copies.
        match catch_unwind(AssertUnwindSafe(|| this.future.as_mut().poll(cx))) {
            Err(payload) => return Poll::Ready(Err(Fault::Panic(payload))),
            Ok(Poll::Ready(value)) => return Poll::Ready(Ok(value)),
            Ok(Poll::Pending) => {}
        }
        let Some(limit) = this.limit else { return Poll::Pending };
        let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        sleep.as_mut().poll(cx).map(|()| Err(Fault::Timeout(limit)))
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "(no text)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(limit: Duration, future: BoxFuture<'_, Result<u32>>) -> Result<u32> {
        protect(|| "hook".to_owned(), Some(limit), future).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_hook_that_never_returns_is_given_up() {
        let error = run(Duration::from_secs(5), Box::pin(std::future::pending()))
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "hook took longer than 5s");
    }

    #[tokio::test]
    async fn a_panic_is_an_error_without_its_text() {
        let error = run(Duration::from_secs(5), Box::pin(async { panic!("secret") }))
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "hook panicked");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_hook_within_its_limit_passes() {
        let slow = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(7)
        };
        assert_eq!(run(Duration::from_secs(5), Box::pin(slow)).await.unwrap(), 7);
    }
}
