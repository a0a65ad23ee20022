"""Build hook: put ``data`` and ``notebooks`` into a wheel, and leave an editable install alone.

With ``LABKIT_WHEEL_NOTEBOOKS=no`` the notebooks stay out: a bundle has them beside the wheel.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CopyFolders(BuildHookInterface):  # type: ignore[type-arg]
    """Copy the folders that a learner reads into ``labkit/_data``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Ask for the copies when the build is a real wheel."""
        if version == "editable":
            return
        build_data["force_include"]["data"] = "labkit/_data"
        if os.environ.get("LABKIT_WHEEL_NOTEBOOKS") != "no":
            build_data["force_include"]["notebooks"] = "labkit/_data/notebooks"
