"""Scores: whatever turns traced and observed paths into a posterior over the candidates."""
