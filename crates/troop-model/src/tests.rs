//! The tests of the rules: each drives a small team on a test bench.

mod bench;
mod commands;
mod facts;

mod access;
mod announcement;
mod board;
mod delegation;
mod dependency;
mod hints;
mod lease;
mod log;
mod mail;
mod matrix;
mod names;
mod needs;
mod permission;
mod proof;
mod property;
mod reserved;
mod results;
mod review;
mod snapshot;
mod starting;
mod supervision;
mod team;
mod team_md;
mod text;
mod usage;
mod work;
mod workspace;
mod written;
