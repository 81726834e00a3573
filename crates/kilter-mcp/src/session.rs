//! What a session keeps. Only the protocol's older era has sessions; in the newer one every call stands alone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::surface::Surface;
use crate::table::ToolId;

/// One session.
#[derive(Debug)]
pub struct Session {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    surface: Surface,
    switched: bool,
    generation: u64,
    listed: BTreeSet<ToolId>,
    window: Window,
}

/// What the caller said of its model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// Size of its window, in tokens.
    pub tokens: Option<u64>,
    /// A label; decides nothing.
    pub model: Option<String>,
}

/// Smallest and largest default bound of a reply, in tokens.
const BUDGET: (u64, u64) = (512, 16_384);

/// A fifth of a window, within bounds: what a reply may take by default.
pub fn budget(window: u64) -> u64 {
    ((window + 2) / 5).clamp(BUDGET.0, BUDGET.1)
}

impl Session {
    /// A session that begins with a surface.
    pub fn new(surface: Surface) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                surface,
                switched: false,
                generation: 0,
                listed: BTreeSet::new(),
                window: Window::default(),
            }),
        })
    }

    fn with<T>(&self, read: impl FnOnce(&mut State) -> T) -> T {
        read(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Its surface now.
    pub fn surface(&self) -> Surface {
        self.with(|s| s.surface)
    }

    /// How often the surface changed.
    pub fn generation(&self) -> u64 {
        self.with(|s| s.generation)
    }

    /// Changes the surface; whether that changed anything.
    pub fn switch(&self, to: Surface) -> bool {
        self.with(|s| {
            let changes = s.surface != to;
            if changes {
                s.surface = to;
                s.switched = true;
                s.generation += 1;
            }
            changes
        })
    }

    /// Whether the surface was changed by a call. Then the tool that changes it stays listed: else there were no way
    /// back.
    pub fn switched(&self) -> bool {
        self.with(|s| s.switched)
    }

    /// Notes that tools were listed.
    pub fn list(&self, tools: impl IntoIterator<Item = ToolId>) {
        self.with(|s| s.listed.extend(tools));
    }

    /// Whether a tool was ever listed. Many clients keep an old list.
    pub fn ever_listed(&self, tool: ToolId) -> bool {
        self.with(|s| s.listed.contains(&tool))
    }

    /// What was said of the model.
    pub fn window(&self) -> Window {
        self.with(|s| s.window.clone())
    }

    /// Says something of the model.
    pub fn set_window(&self, window: Window) {
        self.with(|s| s.window = window);
    }
}
