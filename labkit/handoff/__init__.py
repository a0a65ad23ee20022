"""The record on disk: stores, what changed between two records, questions to one, and merging two."""
