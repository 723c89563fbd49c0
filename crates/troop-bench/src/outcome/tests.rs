//! Percentiles and medians.

use super::{median, of_hundred};

fn up_to(n: u32) -> Vec<f64> {
    (1..=n).rev().map(f64::from).collect()
}

#[test]
fn a_percentile_is_the_value_that_this_share_does_not_exceed() {
    assert_eq!(of_hundred(99, up_to(100)), 99.0);
    assert_eq!(of_hundred(99, up_to(1_000)), 990.0);
    assert_eq!(of_hundred(99, up_to(3)), 3.0);
    assert_eq!(of_hundred(99, Vec::new()), 0.0);
}

#[test]
fn half_are_not_above_the_median() {
    assert_eq!(median(up_to(1)), 1.0);
    assert_eq!(median(up_to(7)), 4.0);
    assert_eq!(median(up_to(100)), 50.0);
}
