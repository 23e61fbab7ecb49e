"""The estimator against the same greedy fit with SciPy's Levenberg-Marquardt, from the same initial values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from record import record
from scipy.optimize import least_squares

from locus.experiment.case import Case
from locus.receiver import estimator
from locus.receiver import fit_numpy as fitting
from locus.settings.profiles import load_config

CONFIG = load_config("paper")
NUM_GROUPS, NUM_SLOW = 40, 400


def refine_with_scipy(channel: np.ndarray, state: Any, _: int) -> Any:
    """Replacement for `fit_numpy.refine`: one snapshot at a time, written in the obvious way."""
    _, n, m = channel.shape
    num_paths = state.gain.shape[1]
    k, a = np.arange(n)[:, None] - (n - 1) / 2, np.arange(m)[:, None] - (m - 1) / 2
    rows = []
    for measured, *start in zip(channel, *state[:3], strict=True):

        def misfit(x: np.ndarray, measured: np.ndarray = measured) -> np.ndarray:
            delay, angle, real, imaginary = x.reshape(4, num_paths)
            model = (np.exp(-1j * k * delay) * (real + 1j * imaginary)) @ np.exp(-1j * a * angle).T
            return (measured - model).ravel().view(float)

        delay, angle, gain = start
        solution = least_squares(misfit, np.concatenate([delay, angle, gain.real, gain.imag]), method="lm")
        rows.append((*solution.x.reshape(4, num_paths), 2 * solution.cost))
    delay, angle, real, imaginary, cost = (np.array(column) for column in zip(*rows, strict=True))
    return fitting.State(delay, angle, real + 1j * imaginary, cost)


def fit(channel: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds that the fit takes, and the squared residual of each snapshot in units of the noise variance."""
    level = estimator.threshold(CONFIG.estimator, CONFIG.radio) * channel[0].size
    start = time.perf_counter()
    found = fitting.fit(channel, CONFIG.estimator, level)
    seconds = time.perf_counter() - start
    state = fitting.State(found.delay, found.angle, found.gain, np.zeros(len(channel)))
    return seconds, fitting.power(channel - fitting.model(state, *channel.shape[1:])).sum(axis=(1, 2))


@contextmanager
def timed(name: str, total: dict[str, float]) -> Iterator[None]:
    """Accumulate the time spent in a function of the estimator."""
    original: Callable[..., Any] = getattr(fitting, name)

    def measured(*arguments: Any) -> Any:
        start = time.perf_counter()
        result = original(*arguments)
        total[name] = total.get(name, 0.0) + time.perf_counter() - start
        return result

    with patch.object(fitting, name, measured):
        yield


def main() -> None:
    iq = np.concatenate([Case(CONFIG, "test", index).snapshots.iq.values for index in range(NUM_GROUPS)])
    channel = estimator.despread(iq, CONFIG.radio)
    fit(channel)
    seconds, cost = fit(channel)
    parts: dict[str, float] = {}
    with timed("propose", parts), timed("refine", parts):
        whole, _ = fit(channel)
    shares = {name: value / whole for name, value in parts.items()}
    with patch.object(fitting, "refine", refine_with_scipy):
        slow, slow_cost = fit(channel[:NUM_SLOW])
    excess = cost[:NUM_SLOW] - slow_cost
    rate, slow_rate = len(channel) / seconds, NUM_SLOW / slow
    results = {
        "snapshots_per_second": rate,
        "scipy_snapshots_per_second": slow_rate,
        "times_as_fast": rate / slow_rate,
        "share_with_excess_below_half": float(np.mean(excess <= 0.5)),
        "largest_excess": float(excess.max()),
        "shares_of_time": shares,
        "minutes_for_140000": 140_000 / rate / 60,
    }
    print(f"estimator: {rate:.0f} snapshots per second, SciPy {slow_rate:.1f}: {rate / slow_rate:.0f} times as fast")
    print(f"estimator: the paper's 140,000 snapshots take {results['minutes_for_140000']:.1f} minutes")
    share = 100 * results["share_with_excess_below_half"]
    print(f"estimator: excess cost at most 0.5 noise variances on {share:.1f} % of the snapshots")
    print(
        "estimator: fractions of the time:", ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    )
    record("estimator", results)


if __name__ == "__main__":
    main()
