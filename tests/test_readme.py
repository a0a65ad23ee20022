"""The README: pictures that are there, small and described, and commands that exist."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pictures

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", TEXT))


def test_each_picture_is_described_small_and_made_by_the_script() -> None:
    assert sorted(SHOWN.values()) == sorted(f"notebooks/pictures/{name}.png" for name in pictures.PICTURES)
    assert {path.name for path in pictures.OUT.iterdir()} == {f"{name}.png" for name in pictures.PICTURES}
    for words, place in SHOWN.items():
        data = (ROOT / place).read_bytes()
        width, height = struct.unpack(">II", data[16:24])
        assert len(data) < pictures.LIMIT, place
        assert data[:4] == b"\x89PNG" and 600 <= width <= 1280 and 300 <= height <= 720, place
        assert len(words) > 80, place


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"[^!]\[[^\]]*\]\(([^)#]+)\)", TEXT):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_every_make_target_is_told_and_there() -> None:
    made = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))) - {"help"}
    assert set(re.findall(r"`make ([a-z]+)", TEXT)) == made
