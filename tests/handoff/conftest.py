"""Artifacts that the tests of the store share."""

from __future__ import annotations

import pytest

from labkit.ladder.artifact import Artifact, Open


@pytest.fixture
def first() -> Artifact:
    return Artifact("Fix the total.", "Fix the total.", open=(Open("add a test", request=2),))
