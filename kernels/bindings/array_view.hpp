// NumPy's arrays as the bindings take them: a pointer and a shape, read off the array itself. Through
// the protocols that other libraries share, each array would cost as much as a small closed form.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace credalens {

// An array of kAxes axes, C-contiguous; one of const T is only read.
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

template <class T>
constexpr int type_number() {
    using U = std::remove_const_t<T>;
    if (std::is_same_v<U, double>) return NPY_DOUBLE;
    if (std::is_same_v<U, float>) return NPY_FLOAT;
    if (std::is_same_v<U, bool>) return NPY_BOOL;
    if (std::is_same_v<U, std::uint8_t>) return NPY_UINT8;
    return std::is_same_v<U, std::int32_t> ? NPY_INT32 : NPY_INT64;
}

// Arrays are taken as they are, never a converted copy: an output would be lost.
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

// Room for the results of n instances: for each shape, which is that of the result of one, an array of
// one axis more, in double precision, and None for None.
inline nanobind::object allocate_outputs(npy_intp n, nanobind::sequence shapes) {
    namespace nb = nanobind;
    nb::list room;
    for (nb::handle shape : shapes) {
        if (shape.is_none()) {
            room.append(shape);
            continue;
        }
        npy_intp lengths[NPY_MAXDIMS] = {n};
        int axes = 1;
        for (nb::handle length : nb::cast<nb::tuple>(shape)) {
            if (axes == NPY_MAXDIMS) throw nb::value_error("too many axes");
            lengths[axes++] = nb::cast<npy_intp>(length);
        }
        nb::object made = nb::steal(PyArray_SimpleNew(axes, lengths, NPY_DOUBLE));
        if (!made.is_valid()) throw nb::python_error();
        room.append(made);
    }
    return room;
}

// Calls kernel(block, *results, *rest) if `block` is one of three axes that the kernels read as it is,
// in double precision and of at most so many bytes, and returns its answer and the results, for which
// it makes room; None if the block is another. In Python it would take as long as a small instance.
inline nanobind::object call_whole_array(nanobind::handle kernel, nanobind::handle block,
                                nanobind::sequence shapes, std::size_t most, nanobind::tuple rest) {
    namespace nb = nanobind;
    if (!is_view_of<const double, 3>(block.ptr())) return nb::none();
    auto* array = reinterpret_cast<PyArrayObject*>(block.ptr());
    if (PyArray_TYPE(array) != NPY_DOUBLE) return nb::none();  // results have the type of the block
    const auto bytes = static_cast<std::size_t>(PyArray_NBYTES(array));
    if (bytes == 0 || bytes > most) return nb::none();
    const nb::object room = allocate_outputs(PyArray_DIM(array, 0), shapes);
    constexpr std::size_t kMost = 16;
    PyObject* arguments[kMost] = {block.ptr()};
    const std::size_t results = nb::len(room), last = 1 + results + rest.size();
    if (last > kMost) throw nb::value_error("too many arguments");
    for (std::size_t i = 0; i < results; ++i)
        arguments[1 + i] = PyList_GET_ITEM(room.ptr(), static_cast<Py_ssize_t>(i));
    for (std::size_t i = 0; i < rest.size(); ++i)
        arguments[1 + results + i] = PyTuple_GET_ITEM(rest.ptr(), static_cast<Py_ssize_t>(i));
    const nb::object answer =
        nb::steal(PyObject_Vectorcall(kernel.ptr(), arguments, last, nullptr));
    if (!answer.is_valid()) throw nb::python_error();
    return nb::make_tuple(answer, room);
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

}  // namespace nanobind::detail
