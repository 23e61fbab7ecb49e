"""Studies that chapters compute on the spot."""
