"""Draws the picture of the page `your own room` with the page's own code: `make readme`."""

import os
import re
import tempfile
from pathlib import Path

if __name__ == "__main__":
    book = Path(__file__).resolve().parent
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("room.geojson").write_bytes((book / "_static" / "room.geojson").read_bytes())
        for code in re.findall(r"```python\n(.*?)```", (book / "own_room.md").read_text(encoding="utf-8"), re.DOTALL):
            exec(code, names)
        (book / "_static" / "own_room.png").write_bytes(Path("map.png").read_bytes())
        os.chdir(book)
