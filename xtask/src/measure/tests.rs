//! Measuring a small crate.

use std::path::Path;

use super::{Measurements, is_test, scan};

fn measured(file: &str, text: &str) -> Measurements {
    let mut found = Measurements::default();
    scan::file(file, text, &mut found).unwrap();
    found
}

fn product(text: &str) -> Measurements {
    measured("crates/small/src/lib.rs", text)
}

fn lines(findings: &[super::Finding]) -> Vec<String> {
    findings.iter().map(|it| format!("{} {}", it.at.line, it.name)).collect()
}

#[test]
fn a_name_that_two_types_have_is_counted() {
    let mut found = product("struct One; mod inner { enum Two {} }\nfn f() { struct One; }");
    scan::file("crates/other/src/lib.rs", "trait Two {} type Error = ();", &mut found).unwrap();
    scan::file("crates/third/src/lib.rs", "enum Error {}", &mut found).unwrap();
    let names: Vec<_> = found.repeated_names().into_iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, ["One", "Two"], "`Error` may be repeated");
    assert_eq!(found.repeated_percent().round(), 67.0, "two of three");
}

#[test]
fn methods_are_counted_over_all_blocks_of_a_crate() {
    let mut found = product("struct A { x: u8, y: u8 }\nimpl A { fn a(&self) {} fn b() {} }");
    let text = "impl Clone for A { fn clone(&self) -> A { A } }\nimpl<T> B<T> { fn a() {} }";
    scan::file("crates/small/src/more.rs", text, &mut found).unwrap();
    scan::file("crates/other/src/lib.rs", "impl A { fn other() {} }", &mut found).unwrap();
    let counts: Vec<_> = found.methods_over(0).iter().map(|it| (it.count, &*it.name)).collect();
    assert_eq!(counts, [(3, "A"), (1, "A"), (1, "B")]);
    assert_eq!(found.fields_over(1).len(), 1);
}

#[test]
fn multi_lets_are_counted_and_destructuring_is_not() {
    let text = "fn f() {
        let (a, b) = (1, 2);
        let (c, d): (u8, u8) = (1, 2);
        let (e, f) = g();
        let (Some(i), Some(j)) = (e, f) else { return };
        let h = (1, 2);
    }";
    assert_eq!(lines(&product(text).multi_lets), ["2 let", "3 let"]);
}

#[test]
fn tuple_parameters_are_counted_unless_a_trait_prescribes_them() {
    let text = "fn a((x, y): (u8, u8)) {}
        fn b(pair: &(u8, u8)) {}
        fn c(f: impl Fn((u8, u8))) -> (u8, u8) { f((1, 2)) }
        trait T { fn d(pair: (u8, u8)); }
        impl From<(u8, u8)> for A { fn from(pair: (u8, u8)) -> Self { A } }";
    assert_eq!(lines(&product(text).tuple_parameters), ["1 a", "2 b", "4 d"]);
}

#[test]
fn a_predicate_must_change_nothing_and_return_a_bool() {
    let text = "impl A {
        fn is_good(&self) -> bool { true }
        fn is_changing(&mut self) -> bool { true }
        fn has_no_answer(&self) {}
        async fn may_fail(&self) -> Result<bool> { Ok(true) }
        fn can_change_others(other: &mut B) -> bool { true }
        fn island(&mut self) {}
    }";
    let expected = ["3 is_changing", "4 has_no_answer", "6 can_change_others"];
    assert_eq!(lines(&product(text).predicates), expected);
}

#[test]
fn troop_app_neither_prints_nor_reads_arguments_nor_exits() {
    let text = "use std::{io::{self, Read}, process::ExitCode};
        fn f() {
            println!(\"x\");
            io::stdout();
            std::env::args();
            std::process::exit(1);
            std::env::vars_os();
            log_print();
        }";
    let found = measured("crates/troop-app/src/lib.rs", text);
    let expected = [
        "1 std::process::ExitCode",
        "3 println",
        "4 io::stdout",
        "5 std::env::args",
        "6 std::process::exit",
    ];
    assert_eq!(lines(&found.surface_in_app), expected);
    assert_eq!(product(text).surface_in_app.len(), 0, "other crates may");
}

#[test]
fn troop_app_does_not_say_which_options_to_type() {
    let text = "/// As `--member` does.
        fn f() {
            g(\"say `--member NAME`\");
            format!(\"say {}\", h(\"or `--agent {x}`\"));
            command.word(\"--follow\");
        }";
    let found = measured("crates/troop-app/src/lib.rs", text);
    let what = "an option as text instead of a `HintOption`";
    assert_eq!(lines(&found.surface_in_app), [format!("3 {what}"), format!("4 {what}")]);
    assert_eq!(product(text).surface_in_app.len(), 0, "other crates may");
}

#[test]
fn tests_are_not_measured() {
    let text = "#[cfg(test)] mod tests { struct A; fn f() { let (a, b) = (1, 2); } }
        impl B { #[cfg(test)] fn is_wrong(&mut self) {} }";
    let found = product(text);
    assert_eq!((found.types.len(), found.multi_lets.len(), found.predicates.len()), (0, 0, 0));
    for (path, is_for_tests) in [
        ("crates/troop/tests/it/main.rs", true),
        ("crates/troop/src/cli/tests.rs", true),
        ("crates/troop-testkit/src/lib.rs", true),
        ("crates/troop/src/cli.rs", false),
    ] {
        assert_eq!(is_test(Path::new(path)), is_for_tests, "{path}");
    }
}
