"""Benchmarks: times as ratios to other implementations in the same run (``make bench``)."""
