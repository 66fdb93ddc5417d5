//! Expansion of `#[middleware]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, ImplItem, Item, ItemImpl, ItemTrait, LitStr, Result, TraitItem};

/// The methods that are hooks; the order is that of a run.
const HOOKS: [&str; 10] = [
    "tools",
    "before_agent",
    "before_model",
    "wrap_model_call",
    "after_model",
    "before_tool_call",
    "wrap_tool_call",
    "after_tool_call",
    "after_agent",
    "observe",
];

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(arguments, "#[middleware] takes no arguments"));
    }
    match syn::parse2::<Item>(item)? {
        Item::Impl(block) => expand_impl(block),
        Item::Trait(definition) => Ok(expand_trait(definition)),
        other => Err(Error::new_spanned(
            other,
            "#[middleware] goes on `impl Middleware for …`",
        )),
    }
}

fn expand_impl(mut block: ItemImpl) -> Result<TokenStream> {
    if block.trait_.is_none() {
        return Err(Error::new_spanned(
            block.self_ty,
            "#[middleware] goes on `impl Middleware for …`, not on inherent methods",
        ));
    }
    let names: Vec<String> = block
        .items
        .iter()
        .filter_map(|item| match item {
            ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
            _ => None,
        })
        .collect();
    if names.iter().any(|name| name == "hooks") {
        return Err(Error::new(
            Span::call_site(),
            "`hooks` is written by #[middleware]; remove yours",
        ));
    }
    let hooks = HOOKS
        .iter()
        .filter(|hook| names.iter().any(|name| name == *hook))
        .map(|hook| LitStr::new(hook, Span::call_site()));
    block.items.push(syn::parse_quote! {
        fn hooks(&self) -> &'static [&'static str] {
            &[#(#hooks),*]
        }
    });
    Ok(with_async(&block))
}

/// The trait itself: only its async methods need help, `hooks` is written out in it.
fn expand_trait(definition: ItemTrait) -> TokenStream {
    debug_assert!(
        definition
            .items
            .iter()
            .any(|item| matches!(item, TraitItem::Fn(f) if f.sig.ident == "hooks"))
    );
    with_async(&definition)
}

fn with_async(item: &impl ToTokens) -> TokenStream {
    quote! {
        #[::catena::__private::async_trait]
        #item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(item: TokenStream) -> String {
        expand(TokenStream::new(), item).unwrap().to_string()
    }

    #[test]
    fn the_hooks_are_the_methods_that_are_there() {
        let text = expanded(quote! {
            impl Middleware for Nothing {
                fn name(&self) -> &str { "nothing" }
                async fn after_agent(&self) {}
                async fn before_model(&self) {}
            }
        });
        assert!(text.contains(r#"& ["before_model" , "after_agent"]"#), "{text}");
    }

    #[test]
    fn own_hooks_are_refused() {
        let error = expand(
            TokenStream::new(),
            quote! { impl Middleware for X { fn hooks(&self) {} } },
        )
        .unwrap_err();
        assert!(error.to_string().contains("remove yours"));
    }

    #[test]
    fn other_items_are_refused() {
        assert!(expand(TokenStream::new(), quote! { struct X; }).is_err());
        assert!(expand(TokenStream::new(), quote! { impl X { fn name(&self) {} } }).is_err());
    }
}
