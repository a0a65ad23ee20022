"""BENCH-1: a migration with a checker, to find where a budgeted context wins, ties or loses."""
