"""ReLU networks as a bounding oracle: planes above their margins over a box of changes (CROWN, DeepPoly)."""
