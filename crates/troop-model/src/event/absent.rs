//! Values that are left out of JSON because a missing field means the same.

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
