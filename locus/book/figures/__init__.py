"""Figures of the chapters."""
