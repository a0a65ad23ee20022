"""``start``: the first line of a notebook. Silent when all is well."""

from __future__ import annotations

from labkit.doctor import checks
from labkit.files import load_data
from labkit.price.prices import stale

__all__ = ["start"]


def start(notebook: str) -> None:
    """Look whether the notebook can run; print one line if something has to be done first.

    Parameters
    ----------
    notebook : str
        For example ``"02"``.

    Examples
    --------
    >>> start("02")
    """
    wrong = next((check for check in checks() if not check.ok), None)
    if wrong is not None:
        print(f"Before {notebook}: {wrong.name}: {wrong.found}. To mend it: {wrong.fix}.")
        return
    old = stale()
    if old:
        dates = ", ".join(f"{name} of {load_data(name)['as_of']}" for name in old)
        print(f"Prices and rules may have changed: {dates} is older than 120 days. To renew: git pull.")
