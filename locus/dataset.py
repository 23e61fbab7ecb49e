"""Candidate libraries: a configuration and a split in, a Zarr store of every group's traced paths out.

A store is written block by block. A journal beside it notes each finished block with the checksums of its files: a
killed build goes on where it was, and a damaged file is found and made again.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from distributed import Client
from numpy.typing import NDArray
from tqdm import tqdm

from locus import cluster, groups, layout
from locus.config import Config, Radio, TwinOptions
from locus.journal import Journal, StoreError, exclusive
from locus.run import Run, versions
from locus.twin import Twin, base, make_twin

FREE_DISK = 1.2
"""Room that must be free before a build starts, as a multiple of what the store can take at most."""

# Stored as is; what follows from these (snr_db, valid) is computed when a store is opened.
_VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "rx_x": (("group",), "float64"),
    "rx_y": (("group",), "float64"),
    "rx_heading": (("group",), "float64"),
    "x": (("group", "candidate"), "float64"),
    "y": (("group", "candidate"), "float64"),
    "aoa": (("group", "candidate", "path"), "float32"),
    "delay": (("group", "candidate", "path"), "float64"),
    "gain": (("group", "candidate", "path"), "complex64"),
    "order": (("group", "candidate", "path"), "int8"),
}


def trace_group(config: Config, split: str, index: int) -> xr.Dataset:
    """Traced paths of one group, made again on the spot, with the same bits as in the store."""
    group = groups.draw(config, split, index)
    paths = _twin(groups.backend(config, split), config.radio, config.twin).trace(*group)
    for name in ("aoa", "delay", "gain", "order"):
        paths[name] = paths[name].astype(_VARIABLES[name][1])
    paths["snr_db"] = base.snr_db(paths.gain, config.radio)
    return paths


@functools.lru_cache(maxsize=2)
def _twin(name: str, radio: Radio, options: TwinOptions) -> Twin:
    """One twin a process: Sionna's solver and its kernels are made once."""
    return make_twin(name, radio, options)


def trace_block(block: int, config: dict[str, Any], split: str) -> dict[str, NDArray[Any]]:
    """Arrays of one block of groups: what a worker does."""
    settings = Config.from_dict(config)
    start, stop = _bounds(settings, split, block)
    traced = [trace_group(settings, split, index) for index in range(start, stop)]
    return {name: np.stack([one[name].values for one in traced]).astype(kind) for name, (_, kind) in _VARIABLES.items()}


def _bounds(config: Config, split: str, block: int) -> tuple[int, int]:
    """First group of a block and the one after its last."""
    size = config.storage.block
    return block * size, min((block + 1) * size, groups.num_groups(config, split))


@dataclass(frozen=True)
class Library:
    """The candidate library of one split of a run."""

    run: Run
    split: str

    def __post_init__(self) -> None:
        groups.check_split(self.split)

    @property
    def path(self) -> Path:
        """Folder of the Zarr store."""
        return self.run.path / "candidates" / f"{self.split}.zarr"

    @property
    def _journal(self) -> Journal:
        return Journal(self.path)

    @property
    def num_blocks(self) -> int:
        """Blocks of a finished store."""
        return -(-groups.num_groups(self.run.config, self.split) // self.run.config.storage.block)

    @property
    def max_bytes(self) -> int:
        """Bytes of the store before compression."""
        return sum(int(np.prod(self._shape(name))) * np.dtype(kind).itemsize for name, (_, kind) in _VARIABLES.items())

    def recipe(self) -> dict[str, Any]:
        """All that the stored numbers depend on."""
        config = self.run.config
        twin = dataclasses.asdict(config.twin)
        name = groups.backend(config, self.split)
        for key in ("train", "evaluation") + (("num_rays", "table_size") if name == "image" else ()):
            del twin[key]
        return {
            "split": self.split,
            "seed": config.seed,
            "num_groups": groups.num_groups(config, self.split),
            "num_candidates": groups.num_candidates(config, self.split),
            "block": config.storage.block,
            "backend": name,
            "room": json.loads(json.dumps(dataclasses.asdict(config.room))),
            "radio": dataclasses.asdict(config.radio),
            "twin": twin,
            "recipes": {"layout": layout.RECIPE, "twin": base.RECIPE},
        }

    def hash(self) -> str:
        """Short name of the recipe: equal for stores that hold the same numbers."""
        return hashlib.sha256(json.dumps(self.recipe(), sort_keys=True).encode()).hexdigest()[:16]

    def todo(self) -> list[int]:
        """Blocks that are not finished, or whose files were damaged since."""
        if not self.path.exists():
            return list(range(self.num_blocks))
        self._check_recipe()
        finished = self._journal.finished().keys() - self._journal.damaged().keys()
        return [block for block in range(self.num_blocks) if block not in finished]

    def build(self, workers: Callable[[], Client]) -> None:
        """Compute what is missing and write it here; ``workers`` gives the Dask client when there is work.

        Raises:
            StoreError: another process builds this store, it holds something else, or the disk is too small.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(self.path):
            todo = self.todo()
            for block, name in self._journal.damaged().items():
                print(f"{self.split}: block {block} is damaged ({name}); it is made again", flush=True)
            if not todo:
                print(f"{self.split}: all {self.num_blocks} blocks are there", flush=True)
                return
            self._check_disk(len(todo))
            if not self.path.exists():
                self._create()
            self._journal.clean()
            config = self.run.config
            done = groups.num_groups(config, self.split) - self._count(todo)
            with tqdm(total=done + self._count(todo), initial=done, desc=self.split, unit="group") as bar:
                for block, arrays in cluster.each(workers(), trace_block, todo, config.to_dict(), self.split):
                    self._write(block, arrays)
                    bar.update(self._count([block]))

    def open(self) -> xr.Dataset:
        """The finished library, lazily: (group, candidate, path), with ``snr_db`` and ``valid``.

        Raises:
            StoreError: it is not there, not finished, or was made with other settings.
        """
        command = f"`locus build {self.split}`"
        if not self.path.exists():
            raise StoreError(f"Expected the library {self.split} in run {self.run.name}, got none; {command} makes it")
        self._check_recipe()
        finished = len(self._journal.finished())
        if finished < self.num_blocks:
            raise StoreError(f"Expected {self.num_blocks} blocks of {self.split}, got {finished}; {command} goes on")
        data: xr.Dataset = xr.open_zarr(self.path, consolidated=False)
        data["snr_db"] = base.snr_db(data.gain, self.run.config.radio)
        data["valid"] = (data.order >= 0).assign_attrs(base.ATTRIBUTES["valid"])
        return data.set_coords(["x", "y", "rx_x", "rx_y", "rx_heading"])

    def estimate_seconds(self, num_workers: int, num_groups: int = 5) -> float:
        """Time for what is missing, from a few groups traced here."""
        config = self.run.config
        left = self._count(self.todo())
        trace_group(config, self.split, 0)  # compiles
        start = time.perf_counter()
        for index in range(num_groups):
            trace_group(config, self.split, index)
        return left * (time.perf_counter() - start) / num_groups / num_workers

    def _shape(self, name: str) -> tuple[int, ...]:
        config = self.run.config
        sizes = {
            "group": groups.num_groups(config, self.split),
            "candidate": groups.num_candidates(config, self.split),
            "path": config.twin.max_paths,
        }
        return tuple(sizes[dim] for dim in _VARIABLES[name][0])

    def _count(self, blocks: list[int]) -> int:
        """Groups in these blocks."""
        bounds = (_bounds(self.run.config, self.split, block) for block in blocks)
        return sum(stop - start for start, stop in bounds)

    def _create(self) -> None:
        """Lay out an empty store to the side and move it into place."""
        scratch = self.path.with_name(f".{self.path.name}")
        shutil.rmtree(scratch, ignore_errors=True)
        root = zarr.open_group(scratch, mode="w")
        for name, (dims, kind) in _VARIABLES.items():
            shape = self._shape(name)
            chunks = (min(self.run.config.storage.block, shape[0]), *shape[1:])
            array = root.create_array(name, shape=shape, chunks=chunks, dtype=kind, dimension_names=dims)
            array.attrs.update(base.ATTRIBUTES[name])
        root.attrs.update({"recipe": self.recipe(), "hash": self.hash(), "config": self.run.config.to_dict()})
        root.attrs["versions"] = versions()
        self._journal.start()
        scratch.rename(self.path)

    def _write(self, block: int, arrays: dict[str, NDArray[Any]]) -> None:
        start, stop = _bounds(self.run.config, self.split, block)
        root = zarr.open_group(self.path, mode="r+")
        for name, values in arrays.items():
            root[name][start:stop] = values
        chunks = {name: "/".join(["c", str(block), *["0"] * (values.ndim - 1)]) for name, values in arrays.items()}
        self._journal.note(block, [self.path / name / chunk for name, chunk in chunks.items()])

    def _check_recipe(self) -> None:
        stored = zarr.open_group(self.path, mode="r").attrs["recipe"]
        differences = list(_differences(stored, self.recipe()))
        if differences:
            raise StoreError(
                f"Expected {self.path.name} of run {self.run.name} as asked for, got another: "
                f"{'; '.join(differences)}. "
                f"Use another run, or remove {self.path}"
            )

    def _check_disk(self, num_blocks: int) -> None:
        needed = FREE_DISK * self.max_bytes * num_blocks / self.num_blocks
        free = shutil.disk_usage(self.path.parent).free
        if free < needed:
            raise StoreError(
                f"Expected {needed / 2**30:.1f} GiB of free disk for {self.split}, got {free / 2**30:.1f}; "
                "free some, or set LOCUS_DATA to a larger disk"
            )


def build(libraries: list[Library], num_workers: int | None = None, scheduler: str | None = None) -> None:
    """Build several libraries, on local processes (one a core if missing) or on the Dask scheduler at an address."""
    with ExitStack() as stack:
        workers = functools.cache(lambda: stack.enter_context(cluster.connect(num_workers, scheduler)))
        for library in libraries:
            library.build(workers)


def _differences(stored: Any, asked: Any, prefix: str = "") -> Iterator[str]:
    """Where two nested dictionaries differ, in words."""
    if isinstance(stored, dict) and isinstance(asked, dict):
        for key in sorted(stored.keys() | asked.keys()):
            yield from _differences(stored.get(key), asked.get(key), f"{prefix}.{key}" if prefix else key)
    elif stored != asked:
        yield f"{prefix} is {stored!r} in the store and {asked!r} in the settings"
