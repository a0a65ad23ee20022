"""Build hook: put ``data`` and ``notebooks`` into a wheel, and leave an editable install alone."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CopyFolders(BuildHookInterface):  # type: ignore[type-arg]
    """Copy the folders that a learner reads into ``labkit/_data``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Ask for the copies when the build is a real wheel."""
        if version != "editable":
            build_data["force_include"]["data"] = "labkit/_data"
            build_data["force_include"]["notebooks"] = "labkit/_data/notebooks"
