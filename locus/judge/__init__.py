"""Judgement: how good posteriors are, with intervals over rooms."""
