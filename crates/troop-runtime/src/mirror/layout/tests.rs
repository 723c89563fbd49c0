//! What files say.
