"""GeoJSON of rooms: a file or its contents in, polygons with their properties out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from shapely import Polygon

from locus.settings.untrusted import parse_json, read_text, short

MAX_JSON_BYTES = 2**23
"""Maximum size of a GeoJSON file; :mod:`locus.capture.files` admits less."""


def read_json(path: Path) -> Any:
    """Contents of a JSON file; raises a ValueError that names the file if it is not valid JSON."""
    text = read_text(path, MAX_JSON_BYTES, "GeoJSON")
    try:
        return parse_json(text)
    except ValueError as error:
        raise ValueError(f"Expected GeoJSON in {path}, {error}") from error


def features(collection: Any) -> Iterator[tuple[int, Polygon, dict[str, Any]]]:
    """Index, polygon and properties of each feature."""
    if not isinstance(collection, dict) or not isinstance(collection.get("features"), list):
        raise ValueError("Expected a GeoJSON FeatureCollection, got JSON without a list of 'features'")
    for i, feature in enumerate(collection["features"]):
        geometry = feature.get("geometry") if isinstance(feature, dict) else None
        if not isinstance(geometry, dict) or geometry.get("type") != "Polygon":
            raise ValueError(f"Expected a Polygon in feature {i}, got {short(geometry)}")
        try:
            with np.errstate(invalid="ignore"):  # Layout rejects NaN with a clearer message
                polygon = shapely.geometry.shape(geometry)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, shapely.GEOSException) as error:
            raise ValueError(
                f"Expected rings of at least three points (x, y) in feature {i}, got {short(geometry)}"
            ) from error
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise ValueError(f"Expected 'properties' of feature {i} as a JSON object, got {short(properties)}")
        yield i, polygon, properties
