#include "bindings/second_order.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "hull/min_norm_point.hpp"
#include "hull/pair_divergence.hpp"
#include "possibility/antitonic_regression.hpp"
#include "second_order/second_order.hpp"
#include "bindings/array_view.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

template <class T>
using Members = View<const T, 3>;
using Weights = View<const double, 2>;
using Out1 = View<double, 1>;
using Out2 = View<double, 2>;

auto array(const char* name) { return nb::arg(name); }
auto maybe(const char* name) { return nb::arg(name).none(); }

template <class Array>
auto data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

template <class Array>
SecondOrder outputs(const std::optional<Array>& total, const std::optional<Array>& aleatoric,
                    const std::optional<Array>& epistemic) {
    return {data_or_null(total), data_or_null(aleatoric), data_or_null(epistemic)};
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "second_order",
        [](Members<T> P, std::optional<Out1> total, std::optional<Out1> aleatoric,
           std::optional<Out1> epistemic, int threads, double tolerance, int loss,
           std::optional<Weights> weights) {
            nb::gil_scoped_release release;
            return second_order(static_cast<Loss>(loss), P.data(), data_or_null(weights),
                                P.shape(0), static_cast<int>(P.shape(1)),
                                static_cast<int>(P.shape(2)), outputs(total, aleatoric, epistemic),
                                threads, tolerance);
        },
        array("members"), maybe("total"), maybe("aleatoric"), maybe("epistemic"), "threads"_a,
        "tolerance"_a, "loss"_a, maybe("weights") = nb::none());

    m.def(
        "labelwise",
        [](Members<T> P, std::optional<Out2> total, std::optional<Out2> aleatoric,
           std::optional<Out2> epistemic, int threads, double tolerance, int loss,
           std::optional<Weights> weights) {
            nb::gil_scoped_release release;
            return labelwise(static_cast<Loss>(loss), P.data(), data_or_null(weights), P.shape(0),
                             static_cast<int>(P.shape(1)), static_cast<int>(P.shape(2)),
                             outputs(total, aleatoric, epistemic), threads, tolerance);
        },
        array("members"), maybe("total"), maybe("aleatoric"), maybe("epistemic"), "threads"_a,
        "tolerance"_a, "loss"_a, maybe("weights") = nb::none());

    m.def(
        "median_distance",
        [](Members<T> P, Out1 value, int threads, double tolerance,
           std::optional<Weights> weights) {
            nb::gil_scoped_release release;
            return median_distance(P.data(), data_or_null(weights), P.shape(0),
                                   static_cast<int>(P.shape(1)), static_cast<int>(P.shape(2)),
                                   value.data(), threads, tolerance);
        },
        array("members"), array("value"), "threads"_a, "tolerance"_a,
        maybe("weights") = nb::none());

    m.def(
        "min_norm_point",
        [](Members<T> P, Out1 value, Out1 gap, std::optional<Out2> weights,
           std::optional<Out2> point, int threads, double tolerance) {
            nb::gil_scoped_release release;
            return min_norm_point(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                                  static_cast<int>(P.shape(2)), value.data(), gap.data(),
                                  data_or_null(weights), data_or_null(point), threads, tolerance);
        },
        array("members"), array("value"), array("gap"), maybe("weights"), maybe("point"),
        "threads"_a, "tolerance"_a = -1.0);

    m.def(
        "pair_divergence",
        [](Members<T> P, Out1 value, int threads, double tolerance, int kind) {
            nb::gil_scoped_release release;
            return pair_divergence(static_cast<Divergence>(kind), P.data(), P.shape(0),
                                   static_cast<int>(P.shape(1)), static_cast<int>(P.shape(2)),
                                   value.data(), threads, tolerance);
        },
        array("members"), array("value"), "threads"_a, "tolerance"_a, "kind"_a);
}

}  // namespace

void bind_second_order(nb::module_& m) {
    if (_import_array() < 0) throw nb::python_error();  // the table of this source file
    bind<double>(m);
    bind<float>(m);
    m.def(
        "antitonic_regression",
        [](View<const double, 2> values, Out2 result, int threads) {
            nb::gil_scoped_release release;
            antitonic_regression(values.data(), values.shape(0),
                                  static_cast<int>(values.shape(1)), result.data(), threads);
        },
        array("values"), array("result"), "threads"_a);
}

}  // namespace credalens
