"""The pictures of the README are what the terminal UI looks like now."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"


def test_the_pictures_of_the_readme_are_fresh(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PICTURES / "make.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("campaign.svg", "live.svg"):
        drawn = (tmp_path / name).read_bytes()
        assert drawn == (PICTURES / name).read_bytes(), "make pictures draws them anew"
        assert len(drawn) < 150_000
        assert f"](docs/pictures/{name})" in readme
