//! What a backend can promise on this host.

use sandbox_spec::ContainmentLayer;
use serde::{Deserialize, Serialize};

/// Whether a layer holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "reason")]
pub enum LayerState {
    /// In force for every sandbox of this backend.
    InForce,
    /// Not to be had here, and why.
    Unavailable(String),
    /// The host offers it, and the backend does not use it (yet), and why.
    Unused(String),
}

/// One layer and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerReport {
    /// The layer.
    pub layer: ContainmentLayer,
    /// Whether it holds.
    #[serde(flatten)]
    pub state: LayerState,
}

impl LayerReport {
    /// Why the layer does not hold; `None` if it does.
    pub fn reason_against(&self) -> Option<&str> {
        match &self.state {
            LayerState::InForce => None,
            LayerState::Unavailable(reason) | LayerState::Unused(reason) => Some(reason),
        }
    }
}

/// What a backend can promise on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapabilityReport {
    /// The backend's name.
    pub backend: &'static str,
    /// Why it cannot run at all here. Empty if it can.
    pub obstacles: Vec<String>,
    /// Every containment layer, each once.
    pub layers: Vec<LayerReport>,
}

impl CapabilityReport {
    /// Whether a sandbox can be started.
    pub fn is_usable(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Whether this layer is in force.
    pub fn has(&self, layer: ContainmentLayer) -> bool {
        self.layers.iter().any(|it| it.layer == layer && it.state == LayerState::InForce)
    }
}
