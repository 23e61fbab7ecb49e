"""Scores: LOCUS-DT, the baselines and the Bayes limit, all giving a posterior over the candidates."""
