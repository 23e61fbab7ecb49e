"""Links to run a chapter online: the repository's address in, Binder and Colab links out."""

from __future__ import annotations

import re
from urllib.parse import quote

from locus.book.chapters import chapters


def links(address: str, branch: str, chapter: str) -> dict[str, str]:
    """Links that open a chapter: its source on Binder, and the executed notebook of the paper's run on Colab.

    Args:
        address: address of the repository on GitHub, like ``https://github.com/OWNER/NAME``.
        branch: branch or tag of the repository.
        chapter: name of the chapter, like ``01_digital_twin``.

    Raises:
        ValueError: the address has another form, or there is no such chapter.
    """
    found = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?", address)
    if not found:
        raise ValueError(f"Expected 'repository' like https://github.com/OWNER/NAME, got {address!r}")
    if chapter not in (names := [path.stem for path in chapters()]):
        raise ValueError(f"Expected 'chapter' in {names}, got {chapter!r}")
    home, ref = found.group(1), quote(branch, safe="")
    source, executed = f"notebooks/{chapter}.py", f"data/paper/notebooks/{chapter}.ipynb"
    return {
        "Binder": f"https://mybinder.org/v2/gh/{home}/{ref}?urlpath={quote(f'lab/tree/{source}', safe='')}",
        "Colab": f"https://colab.research.google.com/github/{home}/blob/{ref}/{executed}",
    }
