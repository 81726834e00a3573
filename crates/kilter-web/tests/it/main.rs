//! Everything that kilter-web promises, one module per subject.

mod address;
