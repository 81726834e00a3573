//! The command as a person meets it: whole transcripts, real processes, real sockets.

mod config;
mod doctor;
mod fit;
mod help;
mod lines;
mod parse;
mod run;
mod serve;
mod trace;
