"""Scores of more rows than one machine holds: a Dask engine over partitions of prediction files.

A partition is a stretch of rows that can be read by itself. Workers score one at a time and write
one file each, whole or not at all, so that a worker or the whole job may die at any time and
nothing is lost but what was being worked on.
"""
