"""The receiver: simulated IQ snapshots, and estimation of the multipath from them."""
