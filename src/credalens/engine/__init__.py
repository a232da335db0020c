"""Score more rows than fit into memory, with Dask.

The rows of prediction files are divided into partitions. A worker scores one partition at a time
and writes its scores to one file, atomically. If a worker or the whole job is killed, only the
partitions in progress are lost.
"""
