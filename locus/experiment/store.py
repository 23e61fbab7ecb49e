"""Stores: blocks of groups computed by Dask workers in, a Zarr store that survives kills and damage out.

A store is written block by block. A journal beside it notes each finished block with the checksums of its files: a
killed build goes on where it was, and a damaged file is found and made again.
"""

from __future__ import annotations

import functools
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray as xr
import zarr
from distributed import Client
from numpy.typing import NDArray
from tqdm import tqdm

from locus.experiment import case, cluster
from locus.experiment.journal import Journal, StoreError, exclusive
from locus.experiment.run import Run, fingerprint, versions
from locus.settings.config import Config
from locus.settings.recording import unrecorded

FREE_DISK = 1.2
"""Room that must be free before a build starts, as a multiple of what the store can take at most."""

Arrays = dict[str, NDArray[Any]]


def bounds(config: Config, split: str, block: int) -> tuple[int, int]:
    """First group of a block and the one after its last."""
    size = config.storage.block
    return block * size, min((block + 1) * size, case.num_groups(config, split))


@dataclass(frozen=True)
class Store(ABC):
    """One split of a run, kept as a Zarr store. Subclasses say what is in it and who computes it."""

    run: Run
    split: str

    folder: ClassVar[str]
    """Folder of the run that these stores are in."""
    command: ClassVar[str]
    """Command that builds one, ``{split}`` in it being the split."""
    variables: ClassVar[dict[str, tuple[tuple[str, ...], str, dict[str, str]]]]
    """Dimensions, type and attributes of each stored array; the first dimension is ``group``."""
    title: ClassVar[str]
    """What it holds, in words, ``{split}`` in it being the split."""

    def __post_init__(self) -> None:
        case.check_split(self.split)

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """All that the stored numbers depend on, ready for JSON."""

    def recipe(self) -> dict[str, Any]:
        """What the store on disk depends on: its numbers, and how they are cut."""
        return {**self.numbers(), "block": self.run.config.storage.block}

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Length of every dimension."""

    @abstractmethod
    def work(self, block: int) -> tuple[Callable[..., Arrays], tuple[Any, ...]]:
        """Function and arguments with which a worker computes a block."""

    @property
    def path(self) -> Path:
        """Folder of the Zarr store."""
        return self.run.path / self.folder / f"{self.split}.zarr"

    @property
    def _journal(self) -> Journal:
        return Journal(self.path)

    @property
    def num_blocks(self) -> int:
        """Blocks of a finished store."""
        return -(-case.num_groups(self.run.config, self.split) // self.run.config.storage.block)

    @property
    def max_bytes(self) -> int:
        """Bytes of the store before compression."""
        kinds = {name: np.dtype(kind).itemsize for name, (_, kind, _) in self.variables.items()}
        return sum(int(np.prod(self._shape(name))) * size for name, size in kinds.items())

    @unrecorded()
    def hash(self) -> str:
        """Short name of the recipe: equal for stores that hold the same numbers."""
        return fingerprint(self.recipe())

    def todo(self) -> list[int]:
        """Blocks that are not finished, or whose files were damaged since."""
        if not self.path.exists():
            return list(range(self.num_blocks))
        self._check_recipe()
        finished = self._journal.finished().keys() - self._journal.damaged().keys()
        return [block for block in range(self.num_blocks) if block not in finished]

    def build(self, workers: Callable[[], Client | None]) -> None:
        """Compute what is missing and write it here; ``workers`` gives the Dask client, if any, when there is work.

        Raises:
            StoreError: another process builds this store, it holds something else, or the disk is too small.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        title = self.title.format(split=self.split)
        with exclusive(self.path):
            todo = self.todo()
            for block, name in self._journal.damaged().items():
                print(f"{title}: block {block} is damaged ({name}); it is made again", flush=True)
            if not todo:
                print(f"{title}: all {self.num_blocks} blocks are there", flush=True)
                return
            self._check_disk(len(todo))
            if not self.path.exists():
                self._create()
            self._journal.clean()
            done = self.count(set(range(self.num_blocks)) - set(todo))
            with tqdm(total=done + self.count(todo), initial=done, desc=title, unit="group") as bar:
                for block, arrays in cluster.each(workers(), self.work, todo):
                    self._write(block, arrays)
                    bar.update(self.count([block]))

    def remove(self) -> None:
        """Remove the store: out of the way first, so that a kill leaves nothing that looks like one."""
        with exclusive(self.path):
            aside = self.path.with_name(f".{self.path.name}.old")
            shutil.rmtree(aside, ignore_errors=True)
            self.path.rename(aside)
            shutil.rmtree(aside)

    def adopt(self) -> bool:
        """Take over the same store of another run, if there is a finished one; nothing is computed or copied twice."""
        for other in sorted(self.run.path.parent.glob(f"*/{self.folder}/{self.path.name}")):
            same = other != self.path and _attributes(other).get("hash") == self.hash()
            if same and len(Journal(other).finished()) == self.num_blocks:
                scratch = self.path.with_name(f".{self.path.name}")
                shutil.rmtree(scratch, ignore_errors=True)
                shutil.copytree(other, scratch, copy_function=os.link)
                shutil.copy(Journal(other).path, self._journal.path)
                scratch.rename(self.path)
                return True
        return False

    def open(self) -> xr.Dataset:
        """The finished store, lazily.

        Raises:
            StoreError: it is not there, not finished, or was made with other settings.
        """
        command = f"`{self.command.format(split=self.split)}`"
        if not self.path.exists():
            raise StoreError(
                f"Expected the {self.folder} of {self.split} in run {self.run.name}, got none; {command} makes it"
            )
        self._check_recipe()
        finished = len(self._journal.finished())
        if finished < self.num_blocks:
            raise StoreError(
                f"Expected {self.num_blocks} blocks of {self.split} {self.folder}, got {finished}; {command} goes on"
            )
        data: xr.Dataset = xr.open_zarr(self.path, consolidated=False)
        return data

    def count(self, blocks: Iterable[int]) -> int:
        """Groups in these blocks."""
        spans = (bounds(self.run.config, self.split, block) for block in blocks)
        return sum(stop - start for start, stop in spans)

    def _shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.sizes()[dim] for dim in self.variables[name][0])

    def _create(self) -> None:
        """Lay out an empty store to the side and move it into place."""
        scratch = self.path.with_name(f".{self.path.name}")
        shutil.rmtree(scratch, ignore_errors=True)
        root = zarr.open_group(scratch, mode="w")
        for name, (dims, kind, attributes) in self.variables.items():
            shape = self._shape(name)
            chunks = (min(self.run.config.storage.block, shape[0]), *shape[1:])
            array = root.create_array(name, shape=shape, chunks=chunks, dtype=kind, dimension_names=dims)
            array.attrs.update(attributes)
        root.attrs.update({"recipe": self.recipe(), "hash": self.hash(), "config": self.run.config.to_dict()})
        root.attrs["versions"] = versions()
        self._journal.start()
        scratch.rename(self.path)

    def _write(self, block: int, arrays: dict[str, NDArray[Any]]) -> None:
        start, stop = bounds(self.run.config, self.split, block)
        root = zarr.open_group(self.path, mode="r+")
        for name, values in arrays.items():
            root[name][start:stop] = values
        chunks = {name: "/".join(["c", str(block), *["0"] * (values.ndim - 1)]) for name, values in arrays.items()}
        self._journal.note(block, [self.path / name / chunk for name, chunk in chunks.items()])

    def _check_recipe(self) -> None:
        stored = _attributes(self.path).get("recipe")
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


def build(stores: Sequence[Store], num_workers: int | None = None, scheduler: str | None = None) -> None:
    """Build several stores, on local processes (one a core if missing) or on the Dask scheduler at an address."""
    with ExitStack() as stack:
        workers = functools.cache(lambda: stack.enter_context(cluster.connect(num_workers, scheduler)))
        for store in stores:
            store.build(workers)


def _attributes(path: Path) -> dict[str, Any]:
    """Attributes of a store; none if it is damaged."""
    try:
        return dict(zarr.open_group(path, mode="r").attrs)
    except (FileNotFoundError, ValueError):
        return {}


def _differences(stored: Any, asked: Any, prefix: str = "") -> Iterator[str]:
    """Where two nested dictionaries differ, in words."""
    if isinstance(stored, dict) and isinstance(asked, dict):
        for key in sorted(stored.keys() | asked.keys()):
            yield from _differences(stored.get(key), asked.get(key), f"{prefix}.{key}" if prefix else key)
    elif stored != asked:
        yield f"{prefix} is {stored!r} in the store and {asked!r} in the settings"
