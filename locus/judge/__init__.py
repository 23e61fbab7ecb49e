"""Evaluation metrics of posteriors, with bootstrap intervals over rooms."""
