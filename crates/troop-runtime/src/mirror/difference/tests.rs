//! What changes of files mean.
