//! Scans one source file.

use anyhow::Result;
use syn::{
    Attribute, Expr, FnArg, ImplItem, Item, Local, Pat, Path, ReceiverKind, ReturnType, Signature,
    Type, UseTree,
    visit::{self, Visit},
};

use proc_macro2::{TokenStream, TokenTree};

use super::{Finding, Measurements, Members, SourceLine};

/// The beginnings of the names of predicates.
const PREDICATES: [&str; 9] =
    ["is_", "has_", "may_", "can_", "was_", "will_", "should_", "needs_", "wants_"];

/// What only surfaces do: print, read arguments and end the process.
const SURFACE: [&str; 12] = [
    "print",
    "println",
    "eprint",
    "eprintln",
    "io::stdout",
    "io::stderr",
    "io::Stdout",
    "io::Stderr",
    "env::args",
    "env::args_os",
    "process::exit",
    "process::ExitCode",
];

const APP: &str = "troop-app";

/// How an option of a command line begins in a text for people.
const TYPED_OPTION: &str = "`--";

pub(super) fn file(file: &str, text: &str, found: &mut Measurements) -> Result<()> {
    let package = package(file);
    *found.lines.entry(package.to_owned()).or_default() += text.lines().count();
    let syntax = syn::parse_file(text)?;
    Scan { file, package, found }.visit_file(&syntax);
    Ok(())
}

/// The folder of the crate that a file belongs to.
fn package(file: &str) -> &str {
    let mut parts = file.split('/');
    match parts.next() {
        Some("crates") => parts.next().unwrap_or_default(),
        other => other.unwrap_or_default(),
    }
}

struct Scan<'a> {
    file: &'a str,
    package: &'a str,
    found: &'a mut Measurements,
}

impl Scan<'_> {
    fn at(&self, span: proc_macro2::Span) -> SourceLine {
        SourceLine { file: self.file.to_owned(), line: span.start().line }
    }

    fn finding(&self, name: impl Into<String>, span: proc_macro2::Span) -> Finding {
        Finding { name: name.into(), at: self.at(span) }
    }

    fn name_type(&mut self, name: &syn::Ident) {
        let at = self.at(name.span());
        self.found.types.entry(name.to_string()).or_default().push(at);
    }

    /// Counts a function, unless a trait prescribes its signature.
    fn declared(&mut self, signature: &Signature) {
        let name = signature.ident.to_string();
        let finding = self.finding(name.as_str(), signature.ident.span());
        if signature.inputs.iter().any(is_tuple) {
            self.found.tuple_parameters.push(finding.clone());
        }
        let is_predicate = PREDICATES.iter().any(|word| name.starts_with(word));
        if is_predicate && (signature.inputs.iter().any(is_changed) || !answers(&signature.output))
        {
            self.found.predicates.push(finding);
        }
    }

    fn mentioned(&mut self, path: &str, span: proc_macro2::Span) {
        let is_of_a_surface = SURFACE.iter().any(|it| {
            let before = path.strip_suffix(it);
            before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
        });
        if self.package == APP && is_of_a_surface {
            let finding = self.finding(path, span);
            self.found.surface_in_app.push(finding);
        }
    }

    /// A text must not say what to type: only the command line knows how options are typed.
    fn wrote(&mut self, text: &str, span: proc_macro2::Span) {
        if self.package == APP && text.contains(TYPED_OPTION) {
            let finding = self.finding("an option as text instead of a `HintOption`", span);
            self.found.surface_in_app.push(finding);
        }
    }

    /// The arguments of a macro are no syntax yet.
    fn wrote_in_macro(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.wrote_in_macro(group.stream()),
                TokenTree::Literal(literal) => self.wrote(&literal.to_string(), literal.span()),
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    fn imported(&mut self, before: &str, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                self.imported(&format!("{before}{}::", path.ident), &path.tree);
            }
            UseTree::Name(name) => {
                self.mentioned(&format!("{before}{}", name.ident), name.ident.span());
            }
            UseTree::Rename(name) => {
                self.mentioned(&format!("{before}{}", name.ident), name.ident.span());
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.imported(before, tree));
            }
            UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "other items name no types")]
        match item {
            Item::Struct(item) => {
                self.name_type(&item.ident);
                let at = self.at(item.ident.span());
                let name = item.ident.to_string();
                self.found.fields.push(Members { name, at, count: item.fields.len() });
            }
            Item::Enum(item) => self.name_type(&item.ident),
            Item::Union(item) => self.name_type(&item.ident),
            Item::Trait(item) => self.name_type(&item.ident),
            Item::Type(item) => self.name_type(&item.ident),
            Item::Fn(item) => self.declared(&item.sig),
            Item::Use(item) => self.imported("", &item.tree),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let methods = item.items.iter().filter_map(|it| {
            let ImplItem::Fn(method) = it else { return None };
            (!is_for_tests(&method.attrs)).then_some(&method.sig)
        });
        let methods: Vec<_> = methods.collect();
        if let Some(name) = type_name(&item.self_ty) {
            let at = self.at(item.impl_token.span);
            let key = (self.package.to_owned(), name.clone());
            let all = self.found.methods.entry(key);
            all.or_insert_with(|| Members { name, at, count: 0 }).count += methods.len();
        }
        if item.trait_.is_none() {
            methods.into_iter().for_each(|method| self.declared(method));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, method: &'ast syn::TraitItemFn) {
        self.declared(&method.sig);
        visit::visit_trait_item_fn(self, method);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        // A `let … else` matches several values at once, which separate `let`s cannot.
        let init = local.init.as_ref().filter(|init| init.diverge.is_none());
        let right = init.map(|init| &*init.expr);
        if let (Pat::Tuple(_), Some(Expr::Tuple(_))) = (untyped(&local.pat), right) {
            let finding = self.finding("let", local.let_token.span);
            self.found.multi_lets.push(finding);
        }
        visit::visit_local(self, local);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {
        // Comments on items are attributes, too.
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.wrote(&text.value(), text.span());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.wrote_in_macro(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let segments: Vec<_> = path.segments.iter().map(|it| it.ident.to_string()).collect();
        if let Some(last) = path.segments.last() {
            self.mentioned(&segments.join("::"), last.ident.span());
        }
        visit::visit_path(self, path);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    #[expect(clippy::wildcard_enum_match_arm, reason = "other items are not only for tests")]
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item has `#[cfg(test)]`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|it| it == "test")
    })
}

/// The name of the type that an `impl` is for.
fn type_name(ty: &Type) -> Option<String> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "other types have no name")]
    match ty {
        Type::Path(path) => path.path.segments.last().map(|it| it.ident.to_string()),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => None,
    }
}

fn untyped(pattern: &Pat) -> &Pat {
    if let Pat::Type(typed) = pattern { &typed.pat } else { pattern }
}

fn is_tuple(argument: &FnArg) -> bool {
    let FnArg::Typed(typed) = argument else { return false };
    let mut ty = &*typed.ty;
    while let Type::Reference(reference) = ty {
        ty = &reference.elem;
    }
    matches!(ty, Type::Tuple(_)) || matches!(&*typed.pat, Pat::Tuple(_))
}

/// Whether a function may change this argument.
fn is_changed(argument: &FnArg) -> bool {
    match argument {
        FnArg::Receiver(receiver) => {
            matches!(receiver.kind, ReceiverKind::Reference(_, _, Some(_)))
        }
        FnArg::Typed(typed) => {
            matches!(&*typed.ty, Type::Reference(reference) if reference.mutability.is_some())
        }
    }
}

/// Whether a function returns a `bool`, maybe in a `Result` or an `Option`.
fn answers(output: &ReturnType) -> bool {
    struct Bool(bool);
    impl Visit<'_> for Bool {
        fn visit_path(&mut self, path: &Path) {
            self.0 |= path.is_ident("bool");
            visit::visit_path(self, path);
        }
    }
    let mut found = Bool(false);
    found.visit_return_type(output);
    found.0
}
