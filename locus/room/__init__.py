"""Rooms: walls and obstacles, what they are made of, and what a plan of them gets wrong."""
