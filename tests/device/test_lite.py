"""LiteRT files against torch: the same scores in single precision, nearly the same posteriors in fewer bits."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

import locus
from locus.experiment.case import Case
from locus.experiment.export import arrays, divergence
from locus.score.lite import LiteScorer, load_lite
from locus.score.lite_convert import KINDS, equalised, weight_bytes
from locus.score.lite_file import read_header
from locus.score.pairwise import PairNetwork
from locus.settings.checksums import checksum
from locus.settings.config import Config, Radio

WEIGHTS = Path(__file__).resolve().parents[2] / "data/paper/models/locus_dt.safetensors"
MOST = {"float32": 1e-8, "float16": 1e-3, "int8": 0.1, "int16": 0.03}
"""Divergence [nat] from torch. Over these four rooms 1e-12, 4e-6, .063 and .011 were seen."""


def steps(scorer: LiteScorer, part: str, name: str) -> tuple[float, int]:
    """Scale and zero of an input or output of a part."""
    runner = scorer._runners[part]
    return {**runner.get_input_details(), **runner.get_output_details()}[name]["quantization"]


def inputs(network: PairNetwork, case: Case) -> tuple[np.ndarray, np.ndarray]:
    return network.candidates(case.paths), network.conditions(case.paths, case.observed)


def test_scores_in_single_precision_are_those_of_torch(
    network: PairNetwork, files: dict[str, Path], cases: list[Case]
) -> None:
    scorer = load_lite(files["float32"])[0]
    for case in cases:
        candidates, conditions = inputs(network, case)
        with torch.no_grad():
            expected = network(torch.from_numpy(candidates), torch.from_numpy(conditions)).numpy()
        size = np.abs(expected).max()
        np.testing.assert_allclose(scorer.scores(candidates, conditions), expected, rtol=1e-5, atol=1e-5 * size)


@pytest.mark.parametrize("kind", KINDS)
def test_posteriors_stay_near_those_of_torch(
    network: PairNetwork, files: dict[str, Path], cases: list[Case], kind: str
) -> None:
    assert divergence(load_lite(files[kind])[0], network, cases) < MOST[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_posterior_is_labelled_like_that_of_torch(
    network: PairNetwork, files: dict[str, Path], cases: list[Case], kind: str
) -> None:
    scorer = locus.load_scorer(str(files[kind]))
    paths, observed = cases[0].paths, cases[0].observed
    prior = np.arange(paths.sizes["candidate"])
    for seen in (observed, observed.isel(snapshot=0)):
        found, expected = (one.posterior(paths, seen, prior) for one in (scorer, network))
        xr.testing.assert_identical(found.copy(data=expected.values), expected)
        np.testing.assert_allclose(found.sum("candidate"), 1)
        assert float(found.isel(candidate=0).max()) == 0


def test_files_carry_what_is_needed_to_use_them(network: PairNetwork, files: dict[str, Path]) -> None:
    for kind, path in files.items():
        header = read_header(path.read_bytes(), path.name)
        assert (header["method"], header["quantise"]) == ("locus_dt", kind)
        assert header["weights_sha256"] == checksum(WEIGHTS)
        config = Config.from_dict(header["config"])
        assert (config.radio, config.features) == (Radio(), network.options.features)
        assert load_lite(path)[0].options == network.options


def test_weights_take_the_bytes_that_their_types_take(network: PairNetwork, files: dict[str, Path]) -> None:
    sizes = {name: values.size for name, values in arrays(network).items()}
    biases = sum(size for name, size in sizes.items() if "bias" in name)
    others = sum(sizes.values()) - biases
    assert biases + others == 3425
    expected = {
        "float32": 4 * (others + biases),
        "float16": 2 * (others + biases),
        "int8": others + 4 * biases,
        "int16": others + 8 * biases,
    }
    for kind, path in files.items():
        assert 0 <= weight_bytes(path.read_bytes()) - expected[kind] <= 32  # constants like the axis of a squeeze


@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_integers_pass_between_the_parts_as_they_are(files: dict[str, Path], kind: str) -> None:
    """Both ends of a half have the same steps, so a device copies bytes from one part to the next."""
    scorer = load_lite(files[kind])[0]
    for part, name in (("candidates", "halves"), ("snapshot", "half")):
        (scale, zero), (other, zero_there) = steps(scorer, part, name), steps(scorer, "pairs", name)
        assert scale == pytest.approx(other, rel=1e-6)
        assert zero == zero_there


def test_an_integer_file_computes_with_integers_only(files: dict[str, Path]) -> None:
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.tools import flatbuffer_utils

    names = {value: name for name, value in vars(schema.BuiltinOperator).items() if not name.startswith("_")}
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(files["int8"].read_bytes()))
    kinds = {tensor.type for graph in model.subgraphs for tensor in graph.tensors}
    assert kinds == {schema.TensorType.INT8, schema.TensorType.INT32}
    operations = {names[one.builtinCode] for one in model.operatorCodes}
    assert operations <= {"FULLY_CONNECTED", "ADD", "SQUEEZE", "RESHAPE"}


def test_equalised_hidden_units_leave_the_scores_alone(network: PairNetwork, cases: list[Case]) -> None:
    rooms = [inputs(network, case) for case in cases]
    new = PairNetwork(network.options).double()
    new.load_state_dict({name: torch.from_numpy(values) for name, values in equalised(arrays(network), rooms).items()})
    for room in rooms:
        tensors = [torch.from_numpy(part).double() for part in room]
        with torch.no_grad():
            found, expected = (one(*tensors) for one in (new, network.double()))
        network.float()
        np.testing.assert_allclose(found, expected, atol=1e-4)  # weights are rounded to single precision


@pytest.mark.parametrize("changes", [{"num_paths": 3}, {"size": 50.0}])
def test_other_sizes_are_exported_as_well(tmp_path: Path, changes: dict[str, object]) -> None:
    from locus.experiment.export import export
    from locus.score.weight_files import make_method, save_method
    from locus.settings.profiles import load_config

    options = dataclasses.replace(PairNetwork().options, **changes)
    config = load_config("smoke", {"room.size": options.size, "estimator.num_paths": options.num_paths})
    save_method(
        tmp_path / "own.safetensors",
        make_method("locus_dt", options, 1),
        {"hash": "none", "config": config.to_dict()},
    )
    done = export(tmp_path / "own.tflite", str(tmp_path / "own.safetensors"), quantise="float32")
    assert done.lost < 1e-8
    assert load_lite(done.path)[0].options == options


def test_only_pairwise_networks_are_exported(tmp_path: Path) -> None:
    from locus.experiment.export import export

    for method in ("gauss_cart", "gauss_polar", "gmm_cart"):
        with pytest.raises(ValueError, match=f"^Expected a pairwise network .* got '{method}'$"):
            export(tmp_path / "a.tflite", str(WEIGHTS.with_name(f"{method}.safetensors")))
    assert not list(tmp_path.iterdir())


def test_the_scorer_imports_neither_torch_nor_tensorflow(files: dict[str, Path]) -> None:
    program = (
        "import json, sys; from pathlib import Path; from locus.score.lite import load_lite;"
        "scorer, header = load_lite(Path(sys.argv[1])); import numpy as np;"
        "print(json.dumps([scorer.scores(np.ones((2, 18), 'f4'), np.ones((1, 18), 'f4')).shape,"
        "[one for one in ('torch', 'tensorflow', 'keras', 'sionna') if one in sys.modules]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(files["int8"])], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[1, 2], []]
    assert done.stderr == ""
