//! Fitting scripted models over real HTTP.

mod demos;
mod endpoints;
mod limits;
