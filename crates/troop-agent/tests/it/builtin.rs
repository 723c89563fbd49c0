//! The built-in agent, with a model on loopback that says what it is told to.

mod model;
