"""Small studies that chapters compute when they run."""
