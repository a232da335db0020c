// NumPy arrays as arguments of bindings: a pointer and a shape, read from the array object. The
// buffer protocol and DLPack would take, for each array, as long as a closed form of a small
// instance.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL credalens_array_api
#if !defined(CREDALENS_IMPORTS_ARRAY_API)  // only module.cpp defines the table of the NumPy C API
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace credalens {

// A C-contiguous array of kAxes axes; one of const T is only read.
template <class T, int kAxes>
class View {
public:
    View() = default;
    explicit View(PyArrayObject* array)
        : data_(static_cast<T*>(PyArray_DATA(array))), shape_(PyArray_DIMS(array)) {}

    T* data() const { return data_; }
    std::size_t shape(int axis) const { return static_cast<std::size_t>(shape_[axis]); }

private:
    T* data_ = nullptr;
    const npy_intp* shape_ = nullptr;
};

// Instances (n, M, K) of which the entries (m, y) of consecutive instances are consecutive in memory,
// with any strides of members and classes. It is only read.
template <class T>
class PlanesView {
public:
    PlanesView() = default;
    explicit PlanesView(PyArrayObject* array) : array_(array) {}

    const T* data() const { return static_cast<const T*>(PyArray_DATA(array_)); }
    std::size_t shape(int axis) const { return static_cast<std::size_t>(PyArray_DIM(array_, axis)); }
    std::ptrdiff_t stride(int axis) const {
        return PyArray_STRIDE(array_, axis) / static_cast<std::ptrdiff_t>(sizeof(T));
    }

private:
    PyArrayObject* array_ = nullptr;
};

template <class T>
constexpr int type_number() {
    using U = std::remove_const_t<T>;
    if (std::is_same_v<U, double>) return NPY_DOUBLE;
    if (std::is_same_v<U, float>) return NPY_FLOAT;
    if (std::is_same_v<U, bool>) return NPY_BOOL;
    if (std::is_same_v<U, std::uint8_t>) return NPY_UINT8;
    return std::is_same_v<U, std::int32_t> ? NPY_INT32 : NPY_INT64;
}

// Arrays are never converted: results that are written to a copy would be lost.
template <class T, int kAxes>
bool is_view_of(PyObject* object) {
    if (!PyArray_Check(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const int type = PyArray_TYPE(array), wanted = type_number<T>();
    return PyArray_NDIM(array) == kAxes &&
           (type == wanted || PyArray_EquivTypenums(type, wanted)) &&
           PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) &&
           PyArray_ISNOTSWAPPED(array) && (std::is_const_v<T> || PyArray_ISWRITEABLE(array));
}

template <class T>
bool is_planes_view(PyObject* object) {
    if (!PyArray_Check(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const npy_intp unit = sizeof(T);
    return PyArray_NDIM(array) == 3 && PyArray_TYPE(array) == type_number<T>() &&
           PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array) &&
           PyArray_STRIDE(array, 0) == unit && PyArray_STRIDE(array, 1) % unit == 0 &&
           PyArray_STRIDE(array, 2) % unit == 0;
}

}  // namespace credalens

namespace nanobind::detail {

template <class T, int kAxes>
struct type_caster<credalens::View<T, kAxes>> {
    using Array = credalens::View<T, kAxes>;
    NB_TYPE_CASTER(Array, const_name("numpy.ndarray"))

    bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
        if (!credalens::is_view_of<T, kAxes>(source.ptr())) return false;
        value = Array(reinterpret_cast<PyArrayObject*>(source.ptr()));
        return true;
    }
};

template <class T>
struct type_caster<credalens::PlanesView<T>> {
    using Array = credalens::PlanesView<T>;
    NB_TYPE_CASTER(Array, const_name("numpy.ndarray"))

    bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
        if (!credalens::is_planes_view<T>(source.ptr())) return false;
        value = Array(reinterpret_cast<PyArrayObject*>(source.ptr()));
        return true;
    }
};

}  // namespace nanobind::detail
