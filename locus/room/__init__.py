"""Rooms: walls, obstacles and their materials, and errors of a floor plan."""
