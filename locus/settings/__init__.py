"""Settings of a run: defaults, valid ranges, and named profiles."""
