"""Kernels that read images with channels first, compared with those that read rows.

These tests also run under AddressSanitizer and UBSan, so that an access outside a row is seen.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credalens import _kernels

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
TOLERANCE = 1e-6


def images(n, M, K, dtype, seed=0):
    """Return planes (M, K, n), some of members that agree and some with zeros."""
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.full(K, 0.5), (n, M))
    members[::3] = members[::3, :1]
    members[1::7] = np.eye(K)[rng.integers(K, size=members[1::7].shape[:2])]
    return np.ascontiguousarray(members.transpose(1, 2, 0).astype(dtype))


def of_planes(planes, epistemic=True, threads=2, tolerance=TOLERANCE):
    found = [np.full(planes.shape[2], np.nan, planes.dtype) for _ in range(5)]
    found[3] = found[3] if epistemic else None
    view = planes.transpose(2, 0, 1)
    return found, _kernels.tv_planes(view, *found, threads, tolerance)


def of_rows(planes):
    rows = np.ascontiguousarray(planes.transpose(2, 0, 1))
    found = [np.full(len(rows), np.nan) for _ in range(5)]
    assert _kernels.tv_uncertainty(rows, *found, 1, TOLERANCE) == -1
    return [x.astype(planes.dtype) for x in found]


@dtypes
@pytest.mark.parametrize("M", [1, 2, 5, 16])
@pytest.mark.parametrize("K", [1, 2, 3, 4, 9, 16])
def test_images_have_the_bits_of_rows(M, K, dtype):
    for n in (1, 7, 8, 513, 5000):
        planes = images(n, M, K, dtype)
        wanted = of_rows(planes)
        found, invalid = of_planes(planes)
        assert invalid == -1
        for one, other in zip(found, wanted, strict=True):
            assert_array_equal(one, other)
        found, _ = of_planes(planes, epistemic=False, threads=1)
        assert_array_equal(found[2], wanted[2])


@dtypes
def test_strides_of_members_and_classes(dtype):
    planes = images(300, 4, 3, dtype)
    wide = np.full((8, 5, 310), 7, dtype)
    wide[::-2, 1:4, 5:305] = planes
    found, invalid = of_planes(wide[::-2, 1:4, 5:305])
    assert invalid == -1
    for one, other in zip(found, of_rows(planes), strict=True):
        assert_array_equal(one, other)


@dtypes
@pytest.mark.parametrize("M", [3, 5])
@pytest.mark.parametrize("value", [np.nan, -0.1, 0.9, np.inf, -np.inf])
def test_the_first_invalid_instance_is_found(M, value, dtype):
    for at in (0, 5, 511, 9998):
        planes = images(9999, M, 3, dtype)
        planes[M - 1, 1, at] = value
        planes[0, 0, 9998] = value
        assert of_planes(planes)[1] == at
        assert of_planes(planes, threads=1)[1] == at
        assert of_planes(planes, tolerance=-1.0)[1] == -1


@dtypes
@pytest.mark.parametrize(("n", "M", "K"), [(1, 1, 1), (9, 3, 2), (4099, 5, 3), (33, 70, 40)])
def test_instances_are_gathered(n, M, K, dtype):
    planes = np.random.default_rng(0).random((M, K, n)).astype(dtype)
    for threads in (1, 2):
        out = np.full((n, M, K), np.nan, dtype)
        _kernels.gather_instances(planes.transpose(2, 0, 1), out, threads)
        assert_array_equal(out, planes.transpose(2, 0, 1))


def test_arguments_that_do_not_fit():
    planes = images(10, 2, 3, np.float32).transpose(2, 0, 1)
    with pytest.raises(ValueError, match="same shape"):
        _kernels.gather_instances(planes, np.empty((10, 2, 4), np.float32), 1)
    with pytest.raises(TypeError):  # rows
        _kernels.gather_instances(np.ascontiguousarray(planes), np.empty((10, 2, 3)), 1)
    large = images(10, 17, 2, np.float32)
    with pytest.raises(ValueError, match="too many"):
        of_planes(large)
