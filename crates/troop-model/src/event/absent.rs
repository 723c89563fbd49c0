//! What is not worth writing, because that it is missing says the same.

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
