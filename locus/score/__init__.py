"""Scores: LOCUS-DT, the baselines, the path set, walks and the ideal limits, all giving a posterior over candidates."""
