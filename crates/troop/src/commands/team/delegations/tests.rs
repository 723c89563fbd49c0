//! Short ids.

use super::short;

#[test]
fn ids_are_as_short_as_their_differences_allow() {
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(short(&ids(&[])), 8);
    assert_eq!(short(&ids(&["01a1e35d-441c", "12345678-441c"])), 8);
    assert_eq!(short(&ids(&["01a1e35d-441c", "01a1e35d-4420"])), 12);
}
