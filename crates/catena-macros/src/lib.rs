//! The one attribute of catena: `#[middleware]`.

mod middleware;

use proc_macro::TokenStream;

/// Makes an `impl Middleware for …` block work: its methods may be `async`, and the list of its hooks is written from the methods that
/// are there. What is declared cannot differ from what is written, and forgetting the attribute does not compile.
///
/// Expanded code names the crate `::catena`. A crate that depends on `catena-core` directly writes `extern crate catena_core as catena;`
/// at its root.
#[proc_macro_attribute]
pub fn middleware(arguments: TokenStream, item: TokenStream) -> TokenStream {
    middleware::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
