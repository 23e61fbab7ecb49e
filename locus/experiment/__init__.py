"""The experiment: what a run draws, traces, trains and evaluates, and how it is kept."""
