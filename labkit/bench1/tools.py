"""The agent's five tools, over a real folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from labkit.bench1.tree import parse
from labkit.errors import InputError

__all__ = ["NAMES", "Tools"]

NAMES = ("list", "grep", "read", "edit", "check")
"""list(): all paths; grep(text): lines that hold it; read(path); edit(path, old, new): old must stand there once;
check(): which files do not parse. No tool says which sites are left: that is the agent's work."""


@lru_cache(maxsize=4_096)
def _broken(text: str) -> bool:
    return bool(parse(text).root_node.has_error)


class Tools:
    """List, grep, read, edit and check the files of one folder.

    Parameters
    ----------
    folder : Path
        Nothing outside it can be read or changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def call(self, tool: str, **given: str) -> str:
        """Call a tool by name; what goes wrong is an answer, as a model would get it."""
        if tool not in NAMES:
            return f"Error: there is no tool {tool!r}: use {', '.join(NAMES)}"
        try:
            return str(getattr(self, tool)(**given))
        except OSError as error:  # in words of the service: where its folder lies is nobody's business
            return f"Error: {given.get('path')} cannot be used ({error.strerror}): give a path of list()"
        except (TypeError, ValueError) as error:
            return f"Error: {error}"

    def files(self) -> dict[str, str]:
        """Text by path, as it stands on disk."""
        paths = sorted(p for p in self.folder.rglob("*.ts") if p.is_file())
        return {p.relative_to(self.folder).as_posix(): p.read_text(encoding="utf-8") for p in paths}

    def list(self) -> str:
        """All paths, one a line."""
        return "\n".join(self.files())

    def grep(self, text: str) -> str:
        """Lines that hold a text, as ``path:line: content``."""
        found = [
            f"{path}:{number}: {line.strip()}"
            for path, content in self.files().items()
            for number, line in enumerate(content.split("\n"), 1)
            if text in line
        ]
        return "\n".join(found) or "no match"

    def read(self, path: str) -> str:
        """A file, whole."""
        return self._inside(path).read_text(encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace a text that stands exactly once in a file."""
        file = self._inside(path)
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1 or not old:
            raise InputError(f"the old text stands {text.count(old)} times in {path}: give one that stands there once")
        file.write_text(text.replace(old, new), encoding="utf-8", newline="\n")
        return f"edited {path}"

    def check(self) -> str:
        """One line a file: whether it parses."""
        lines = [f"{'FAIL' if _broken(text) else 'ok'} {path}" for path, text in self.files().items()]
        return "\n".join([*lines, f"{sum(line.startswith('ok') for line in lines)} of {len(lines)} files parse"])

    def _inside(self, path: str) -> Path:
        file = (self.folder / path).resolve()
        if not file.is_relative_to(self.folder):
            raise InputError(f"{path} is outside the service: give a path of list()")
        return file
