"""The pairwise network against the paper's plain one, and properties of a posterior."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr
from torch import Tensor, nn

import locus
from locus.score.features import features
from locus.score.method import Method, MethodOptions, normalise
from locus.score.pairwise import PairNetwork
from locus.score.weight_files import make_method


@pytest.fixture(scope="module")
def network() -> PairNetwork:
    torch.manual_seed(0)
    return PairNetwork()


@pytest.fixture(scope="module")
def scene(image: locus.Twin) -> tuple[xr.Dataset, xr.Dataset]:
    """Traced paths of 40 candidates, and estimates of two snapshots."""
    rng = np.random.default_rng(3)
    layout = locus.Layout.random(rng)
    paths = image.trace(layout, locus.Pose.random(layout, rng), layout.sample(40, rng))
    heard = np.flatnonzero(paths.valid.any("path"))[:2]
    snapshots = locus.observe(paths.isel(candidate=heard).rename(candidate="snapshot"), [rng, rng])
    return paths, locus.estimate(snapshots)


def concatenated(network: PairNetwork) -> nn.Sequential:
    """The network as in the paper: 36 features of a pair in, one score out."""
    first = nn.Linear(36, 64)
    first.weight.data, first.bias.data = torch.cat([network.twin, network.observation], 1).data, network.bias.data
    return nn.Sequential(first, nn.ReLU(), network.hidden, nn.ReLU(), network.last)


def plain_scores(network: PairNetwork, candidates: Tensor, conditions: Tensor) -> Tensor:
    pairs = torch.cat(torch.broadcast_tensors(candidates[None, :, :], conditions[:, None, :]), -1)
    return concatenated(network)(pairs)[..., 0]


def test_it_has_3425_parameters(network: PairNetwork) -> None:
    assert sum(parameter.numel() for parameter in network.parameters()) == 3425


def test_it_equals_the_plain_network_of_36_concatenated_features(
    network: PairNetwork, scene: tuple[xr.Dataset, xr.Dataset]
) -> None:
    paths, observed = scene
    candidates, conditions = (torch.from_numpy(features(side)) for side in (paths, observed))
    with torch.no_grad():
        ours, plain = network(candidates, conditions), plain_scores(network, candidates, conditions)
    torch.testing.assert_close(ours, plain, rtol=0, atol=1e-5)
    assert ours.std() > 1e-3, "scores that do not differ show nothing"


def test_fused_scores_are_torchs(network: PairNetwork) -> None:
    """Without gradients, scores are computed by the fused kernel, for one or several groups."""
    rng = torch.Generator().manual_seed(2)
    candidates, conditions = torch.rand(3, 500, 18, generator=rng), torch.rand(3, 4, 18, generator=rng)
    plain = network(candidates, conditions).detach()
    with torch.no_grad():
        torch.testing.assert_close(network(candidates, conditions), plain, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(network(candidates[1], conditions[1]), plain[1], rtol=1e-5, atol=1e-6)


def test_starting_weights_are_those_of_a_linear_layer_of_36() -> None:
    """Not those of two layers with 18 inputs each, whose range would be wider."""
    twin = torch.cat([PairNetwork().twin.ravel() for _ in range(20)])
    assert twin.abs().max() <= 1 / 6
    assert twin.abs().max() > 0.99 / 6


@pytest.mark.parametrize(("all_candidates", "num_candidates"), [(True, 30), (False, 30), (False, 500)])
def test_the_fused_loss_and_its_gradients_are_torchs(
    network: PairNetwork, all_candidates: bool, num_candidates: int
) -> None:
    rng = torch.Generator().manual_seed(1)
    groups, snapshots = 3, 4
    candidates = torch.rand(groups, num_candidates, 18, generator=rng)
    conditions = torch.rand(groups, snapshots, 18, generator=rng)
    dropped = torch.randint(num_candidates, (groups, snapshots), generator=rng)
    truths = (
        torch.gather(candidates, 1, dropped[..., None].expand(-1, -1, 18))
        if all_candidates
        else torch.rand(groups, snapshots, 18, generator=rng)
    )
    scale = 30.0  # of the last layer, so that a few candidates get most of the mass
    found = []
    for loss in (network.loss, lambda *inputs: Method.loss(network, *inputs)):
        network.zero_grad()
        network.last.weight.data *= scale
        value = loss(candidates, truths, conditions, dropped)
        value.backward()
        network.last.weight.data /= scale
        found.append((value.detach(), {name: p.grad for name, p in network.named_parameters()}))
    (fused, fused_gradients), (plain, plain_gradients) = found
    torch.testing.assert_close(fused, plain, rtol=1e-5, atol=1e-6)
    for name, gradient in plain_gradients.items():
        if name == "last.bias":  # shifts all scores alike
            assert fused_gradients[name] is None
            assert gradient.abs().max() < 1e-6
        else:
            torch.testing.assert_close(fused_gradients[name], gradient, rtol=1e-4, atol=1e-6)


def test_the_loss_over_all_candidates_is_eq_17(network: PairNetwork, scene: tuple[xr.Dataset, xr.Dataset]) -> None:
    paths, observed = scene
    candidates, conditions = torch.from_numpy(features(paths))[None], torch.from_numpy(features(observed))[None]
    truth = torch.tensor([[7, 30]])
    expected = nn.functional.cross_entropy(plain_scores(network, candidates[0], conditions[0]), truth[0])
    torch.testing.assert_close(network.loss(candidates, candidates[:, truth[0]], conditions, truth), expected)


@pytest.mark.parametrize("name", ["locus_dt", "gauss_cart", "gauss_polar", "gmm_cart"])
class TestPosterior:
    def test_it_sums_to_one_and_is_labelled(self, name: str, scene: tuple[xr.Dataset, xr.Dataset]) -> None:
        paths, observed = scene
        posterior = make_method(name, MethodOptions()).posterior(paths, observed)
        assert posterior.dims == ("snapshot", "candidate")
        np.testing.assert_allclose(posterior.sum("candidate"), 1)
        np.testing.assert_array_equal(posterior.x, paths.x)
        np.testing.assert_array_equal(posterior.y, paths.y)
        one = make_method(name, MethodOptions()).posterior(paths, observed.isel(snapshot=1))
        assert one.dims == ("candidate",)
        np.testing.assert_allclose(one, posterior.isel(snapshot=1), rtol=1e-4)

    def test_it_permutes_with_the_candidates(self, name: str, scene: tuple[xr.Dataset, xr.Dataset]) -> None:
        paths, observed = scene
        method, order = make_method(name, MethodOptions()), np.random.default_rng(0).permutation(40)
        permuted = method.posterior(paths.isel(candidate=order), observed)
        np.testing.assert_allclose(permuted, method.posterior(paths, observed)[:, order], rtol=1e-4)

    def test_padding_does_not_matter(self, name: str, scene: tuple[xr.Dataset, xr.Dataset]) -> None:
        paths, observed = scene
        method = make_method(name, MethodOptions())
        wide = [side.pad(path=(0, 3), constant_values=0).assign(valid=side.valid.pad(path=(0, 3))) for side in scene]
        wide = [side.assign(valid=side.valid.fillna(0).astype(bool)) for side in wide]
        np.testing.assert_allclose(method.posterior(*wide), method.posterior(paths, observed), rtol=1e-5)

    def test_a_prior_weighs_the_candidates(self, name: str, scene: tuple[xr.Dataset, xr.Dataset]) -> None:
        paths, observed = scene
        method, prior = make_method(name, MethodOptions()), np.arange(40.0)
        weighted, uniform = method.posterior(paths, observed, prior), method.posterior(paths, observed)
        np.testing.assert_allclose(weighted, uniform * prior / (uniform * prior).sum("candidate"), atol=1e-9)
        np.testing.assert_allclose(method.posterior(paths, observed, np.full(40, 5.0)), uniform, rtol=1e-6)
        assert (weighted[:, 0] == 0).all()


def test_scores_of_ten_thousand_are_no_trouble() -> None:
    scores = np.array([[1e4, 1e4 - 1, -1e4], [-1e4, -1e4, -1e4]], dtype=np.float32)
    logs = normalise(scores)
    np.testing.assert_allclose(np.exp(logs).sum(-1), 1)
    np.testing.assert_allclose(logs[0, :2], np.log([1 / (1 + np.exp(-1)), 1 / (1 + np.e)]))
    np.testing.assert_allclose(logs[1], -np.log(3))
    assert logs[0, 2] == pytest.approx(-2e4, abs=1)


@pytest.mark.parametrize("prior", [np.ones(3), [-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0], [[1.0, 1.0]]])
def test_an_invalid_prior_is_refused(prior: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"Expected 'prior'.*got"):
        normalise(np.zeros((1, 2), dtype=np.float32), prior)


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Expected 'encoding' in \['plain'\], got 'turned'"):
        make_method("locus_dt", MethodOptions(encoding="turned"))
