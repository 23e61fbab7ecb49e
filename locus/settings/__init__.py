"""Settings: what a run may vary, with defaults, ranges and names for useful sets of them."""
