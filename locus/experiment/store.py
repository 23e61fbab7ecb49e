"""Stores: blocks of groups computed by Dask workers, in; a Zarr store that survives kills and damage, out.

A store is written block by block. A journal beside it records each finished block with the checksums of its files, so
that a killed build resumes where it stopped, and a damaged file is detected and its block recomputed.
"""

from __future__ import annotations

import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from tqdm import tqdm

from locus.experiment import cluster, splits
from locus.experiment.artifact import Artifact, Workers, here
from locus.experiment.journal import Journal, StoreError, exclusive
from locus.experiment.run import Run, versions
from locus.settings.config import Config
from locus.settings.units import size

FREE_DISK = 1.2
"""Free disk space required before a build starts, as a multiple of the largest size the store can reach."""

Arrays = dict[str, NDArray[Any]]


def block_span(config: Config, split: str, block: int) -> tuple[int, int]:
    """Half-open range of the groups of a block: first group, last group + 1."""
    size = config.storage.block
    return block * size, min((block + 1) * size, splits.num_groups(config, split))


@dataclass(frozen=True)
class Store(Artifact):
    """One split of a run in a Zarr store. Subclasses define its variables and the function that computes a block."""

    run: Run
    split: str

    folder: ClassVar[str]
    """Subfolder of the run."""
    command: ClassVar[str]
    """Command that builds the store; ``{split}`` stands for the split."""
    variables: ClassVar[dict[str, tuple[tuple[str, ...], str, dict[str, str]]]]
    """Dimensions, data type and attributes of each stored array; the first dimension is ``group``."""
    title: ClassVar[str]
    """Short description for progress bars; ``{split}`` stands for the split."""

    def __post_init__(self) -> None:
        splits.check_split(self.split)

    @property
    def is_store(self) -> bool:
        """Always: a store is needed only to make weights and results."""
        return True

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Length of every dimension."""

    @abstractmethod
    def work(self, block: int) -> tuple[Callable[..., Arrays], tuple[Any, ...]]:
        """Function, and its arguments, that a worker calls to compute a block."""

    @property
    def name(self) -> str:
        """Path relative to the run's folder, without suffix."""
        return f"{self.folder}/{self.split}"

    @property
    def path(self) -> Path:
        """Folder of the Zarr store."""
        return self.run.path / f"{self.name}.zarr"

    @property
    def files(self) -> list[Path]:
        """The journal, which holds the checksums of all other files."""
        return [self._journal.path]

    @property
    def _journal(self) -> Journal:
        return Journal(self.path)

    @property
    def num_blocks(self) -> int:
        """Number of blocks of the finished store."""
        return -(-splits.num_groups(self.run.config, self.split) // self.run.config.storage.block)

    @property
    def max_bytes(self) -> int:
        """Size of the store before compression [bytes]."""
        kinds = {name: np.dtype(kind).itemsize for name, (_, kind, _) in self.variables.items()}
        return sum(int(np.prod(self._shape(name))) * size for name, size in kinds.items())

    def todo(self) -> list[int]:
        """Numbers of the blocks that are unfinished or damaged.

        Raises:
            StoreError: the store was built with other settings.
        """
        if not self.path.exists():
            return list(range(self.num_blocks))
        self._check_recipe()
        finished = self._journal.finished().keys() - self._journal.damaged().keys()
        return [block for block in range(self.num_blocks) if block not in finished]

    def fresh(self) -> bool:
        """Whether it is finished, undamaged, and matches the current recipe."""
        try:
            return self.path.exists() and not self.todo() and self._journal.damaged_metadata() is None
        except StoreError:
            return False

    def damaged(self) -> list[str]:
        """Always empty: :meth:`build` reports damage block by block."""
        return []

    def make(self, workers: Workers = here) -> None:
        """Build it, or copy it from another run that has it; a store built with other settings is removed first."""
        try:
            self.todo()
        except StoreError as error:
            print(f"Rebuilding {self.path.name}: {error}", flush=True)
            self.remove()
        if self.path.exists() or not self.adopt():
            self.build(workers)

    def build(self, workers: Workers = here) -> None:
        """Compute and write the missing and damaged blocks.

        Raises:
            StoreError: another process is building this store, it has other settings, or the disk is too small.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        title = self.title.format(split=self.split)
        with exclusive(self.path):
            todo = self.todo()
            for block, name in self._journal.damaged().items():
                print(f"{title}: block {block} is damaged ({name}); computing it again", flush=True)
            if self.path.exists() and (broken := self._journal.damaged_metadata()):
                print(f"{title}: {broken} is damaged; writing it again", flush=True)
                self._restore_metadata()
            if not todo:
                print(f"{title}: all {self.num_blocks} blocks are finished", flush=True)
                return
            self._check_disk(len(todo))
            if not self.path.exists():
                self._create()
            self._journal.clean()
            shutil.rmtree(self.path.with_name(f".{self.path.name}.old"), ignore_errors=True)  # of a killed removal
            done = self.count(set(range(self.num_blocks)) - set(todo))
            with tqdm(total=done + self.count(todo), initial=done, desc=title, unit="group") as bar:
                for block, arrays in cluster.each(workers(), self.work, todo):
                    self._write(block, arrays)
                    bar.update(self.count([block]))

    def remove(self) -> None:
        """Remove the store. It is renamed first, so that a kill never leaves half a store under its name."""
        with exclusive(self.path):
            aside = self.path.with_name(f".{self.path.name}.old")
            shutil.rmtree(aside, ignore_errors=True)
            self.path.rename(aside)
            self._journal.path.unlink(missing_ok=True)
            shutil.rmtree(aside)

    def adopt(self) -> bool:
        """Copy the same store from another run; return whether a finished, undamaged one was found."""
        for other in sorted(self.run.path.parent.glob(f"*/{self.folder}/{self.path.name}")):
            journal = Journal(other)
            if other == self.path or journal.recipe != self.hash() or len(journal.finished()) < self.num_blocks:
                continue
            if journal.damaged() or journal.damaged_metadata():
                print(f"{other.parents[1].name}/{self.name} is damaged; not copying it", flush=True)
                continue
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with exclusive(self.path):
                shutil.rmtree(self._scratch, ignore_errors=True)
                shutil.copytree(other, self._scratch)
                shutil.copyfile(journal.path, self._journal.path)
                self._scratch.rename(self.path)
            return True
        return False

    def open(self) -> xr.Dataset:
        """Open the finished store lazily.

        Raises:
            StoreError: the store is missing, unfinished, damaged, or was built with other settings.
        """
        command = f"`{self.command.format(split=self.split)}`"
        if not self.path.exists():
            raise StoreError(
                f"Expected the {self.folder} of {self.split} in run {self.run.name}, got none; {command} builds it"
            )
        self._check_recipe()
        finished = len(self._journal.finished())
        if finished < self.num_blocks:
            raise StoreError(
                f"Expected {self.num_blocks} blocks of {self.split} {self.folder}, got {finished}; {command} resumes"
            )
        broken = [*self._journal.damaged().values(), *filter(None, [self._journal.damaged_metadata()])]
        if broken:
            raise StoreError(
                f"Expected {self.path.name} of run {self.run.name} to match its checksums, got {broken[0]} damaged; "
                f"{command} repairs it"
            )
        data: xr.Dataset = xr.open_zarr(self.path, consolidated=False)
        return data

    def count(self, blocks: Iterable[int]) -> int:
        """Number of groups in these blocks."""
        spans = (block_span(self.run.config, self.split, block) for block in blocks)
        return sum(stop - start for start, stop in spans)

    def _shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.sizes()[dim] for dim in self.variables[name][0])

    def _skeleton(self) -> Path:
        """Create an empty store in the scratch folder and return its path."""
        scratch = self._scratch
        shutil.rmtree(scratch, ignore_errors=True)
        root = zarr.open_group(scratch, mode="w")
        for name, (dims, kind, attributes) in self.variables.items():
            shape = self._shape(name)
            chunks = (min(self.run.config.storage.block, shape[0]), *shape[1:])
            array = root.create_array(name, shape=shape, chunks=chunks, dtype=kind, dimension_names=dims)
            array.attrs.update(attributes)
        root.attrs.update({"recipe": self.recipe(), "hash": self.hash(), "config": self.run.config.to_dict()})
        root.attrs["versions"] = versions()
        return scratch

    @property
    def _scratch(self) -> Path:
        return self.path.with_name(f".{self.path.name}")

    def _create(self) -> None:
        """Create an empty store in the scratch folder and move it into place."""
        skeleton = self._skeleton()
        self._journal.start()
        self._journal.note_metadata(self.hash(), skeleton)
        skeleton.rename(self.path)

    def _restore_metadata(self) -> None:
        """Rewrite all ``zarr.json`` files, which follow from the settings."""
        skeleton = self._skeleton()
        self._journal.note_metadata(self.hash(), skeleton)
        for file in skeleton.rglob("zarr.json"):
            file.replace(self.path / file.relative_to(skeleton))
        shutil.rmtree(skeleton)

    def _write(self, block: int, arrays: dict[str, NDArray[Any]]) -> None:
        start, stop = block_span(self.run.config, self.split, block)
        root = zarr.open_group(self.path, mode="r+")
        for name, values in arrays.items():
            root[name][start:stop] = values
        chunks = {name: "/".join(["c", str(block), *["0"] * (values.ndim - 1)]) for name, values in arrays.items()}
        self._journal.note(block, [self.path / name / chunk for name, chunk in chunks.items()])

    def _check_recipe(self) -> None:
        if self._journal.recipe == self.hash():
            return
        stored = _attributes(self.path).get("recipe")
        differences = "; ".join(_differences(stored, self.recipe())) if stored else ""
        raise StoreError(
            f"Expected {self.path.name} of run {self.run.name} with the current settings, got another: "
            f"{differences or 'its journal is missing or damaged'}; use another run, or remove {self.path}"
        )

    def _check_disk(self, num_blocks: int) -> None:
        needed = FREE_DISK * self.max_bytes * num_blocks / self.num_blocks
        free = shutil.disk_usage(self.path.parent).free
        if free < needed:
            raise StoreError(
                f"Expected {size(needed)} of free disk for {self.split}, got {size(free)}; "
                "free some, or set LOCUS_DATA to a folder on a larger disk"
            )


def _attributes(path: Path) -> dict[str, Any]:
    """Attributes of a store; empty if they cannot be read."""
    try:
        return dict(zarr.open_group(path, mode="r").attrs)
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _differences(stored: Any, asked: Any, prefix: str = "") -> Iterator[str]:
    """Describe where two nested dictionaries differ, one line per entry."""
    if isinstance(stored, dict) and isinstance(asked, dict):
        for key in sorted(stored.keys() | asked.keys()):
            yield from _differences(stored.get(key), asked.get(key), f"{prefix}.{key}" if prefix else key)
    elif stored != asked:
        yield f"{prefix} is {stored!r} in the store and {asked!r} in the settings"
