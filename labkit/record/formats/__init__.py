"""One file a format. A module has ``NAME``, ``matches(path) -> bool`` and ``read(path) -> Trace``."""
