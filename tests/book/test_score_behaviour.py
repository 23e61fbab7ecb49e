"""Studies in the chapters, on scores and maps with known answers."""

import numpy as np
import pytest
import xarray as xr

from locus.book.figures.score_figures import fairness
from locus.book.paper import printed
from locus.book.studies.score_behaviour import islands, sampled_normaliser
from locus.settings.config import Training


def test_a_flat_score_needs_no_candidates(rng: np.random.Generator) -> None:
    study = sampled_normaliser(np.full((1, 100), 3.0), np.array([3.0]), [2, 50], rng, 40)
    np.testing.assert_allclose(study.log_ratio, 0, atol=1e-12)
    np.testing.assert_allclose(study.loss, 0, atol=1e-12)
    assert float(study["share"][0]) == pytest.approx(1)


def test_a_spot_is_missed_by_short_lists(rng: np.random.Generator) -> None:
    pool = np.full((1, 10_000), -50.0)
    pool[0, :100] = 0  # 1 % of the room
    study = sampled_normaliser(pool, np.array([0.0]), [10, 10_000], rng)
    assert float(study["share"][0]) == pytest.approx(0.01)
    short, long = study.sel(quantile=0.5).isel(snapshot=0).transpose("size").log_ratio
    assert short < -10
    assert abs(float(long)) < 0.05
    # Nine in ten short lists have only the truth in the spot: the lowest possible loss
    assert float(study.loss.sel(size=10, quantile=0.5)[0]) == pytest.approx(-np.log(10))
    assert float(study.loss.sel(size=10_000, quantile=0.5)[0]) == pytest.approx(-np.log(100), abs=0.1)


def test_spread_follows_the_share(rng: np.random.Generator) -> None:
    pool = np.where(np.arange(10_000) < 2000, 0.0, -np.inf)[np.newaxis]
    study = sampled_normaliser(pool, np.zeros(1), [500], rng, 4000)
    half = float(study.log_ratio.sel(quantile=0.95).item() - study.log_ratio.sel(quantile=0.05).item()) / 2
    assert half == pytest.approx(1.645 * np.sqrt((1 / 0.2 - 1) / 500), rel=0.1)


def test_a_list_of_one_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"Expected 'sizes' of at least 2, got \[1, 5\]"):
        sampled_normaliser(np.zeros((1, 10)), np.zeros(1), [1, 5], rng)


def test_islands_are_counted_and_measured() -> None:
    x, y = (part.ravel() for part in np.meshgrid(np.arange(10.0), np.arange(10.0), indexing="ij"))
    inside = ((x < 2) & (y < 2)) | ((x == 7) & (y == 7)) | ((x == 8) & (y == 8))  # the last two touch at a corner
    logs = xr.DataArray(
        np.log(np.where(inside, 1 / inside.sum(), 1e-9)),
        dims="candidate",
        coords={"x": ("candidate", x), "y": ("candidate", y)},
    )
    assert islands(logs, 1.0, 0.999) == pytest.approx([4, 2], abs=0.05)


def test_a_weak_baseline_is_called_weak() -> None:
    names = ["gauss_cart", "gauss_polar", "gmm_cart"]
    coordinates = {"method": names, "evaluation": ["grid", "random"]}
    table = xr.Dataset({"loss": (("method", "evaluation"), [[-0.5, -0.5], [-0.4, -0.4], [-0.9, 0.1]])}, coordinates)
    curves = {}
    for encoding, validation in (("plain", -0.4), ("turned", -0.6)):
        columns = {"train": np.full((3, 1), -0.45), "validation": np.full((3, 1), validation)}
        curves[encoding] = xr.Dataset(
            {name: (("method", "epoch"), values) for name, values in columns.items()}
            | {"best_epoch": ("method", [1] * 3)},
            {"method": [f"{name}.{encoding}" for name in names], "epoch": [1]},
        )
    text = fairness(table, curves, printed(), Training())
    assert text.startswith("In this run not all")
    assert "L = 0.10 nats on Eval Random (the paper: -0.51). **Worse by 0.61 nats**: it reaches -0.45" in text
    assert "loses 0.55 from there" in text
    assert text.count("Worse") == 1
    table.loss.loc[{"method": "gmm_cart", "evaluation": "random"}] = -0.6
    better = fairness(table, curves, printed(), Training())
    assert better.startswith("None of the three")
    assert better.count("Worse") == 0
