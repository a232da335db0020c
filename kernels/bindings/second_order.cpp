#include "bindings/arguments.hpp"
#include "possibility/antitonic_regression.hpp"
#include "possibility/contours.hpp"
#include "second_order/second_order.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

template <class Array>
SecondOrder outputs(const std::optional<Array>& total, const std::optional<Array>& aleatoric,
                    const std::optional<Array>& epistemic) {
    return {data_or_null(total), data_or_null(aleatoric), data_or_null(epistemic)};
}

template <class T>
void bind_dtype(nb::module_& m) {
    m.def(
        "second_order",
        [](Members<T> P, std::optional<Out1> total, std::optional<Out1> aleatoric,
           std::optional<Out1> epistemic, int threads, double tolerance, int loss,
           std::optional<Rows<double>> weights) {
            nb::gil_scoped_release release;
            return second_order(static_cast<Loss>(loss), P.data(), data_or_null(weights),
                                P.shape(0), axis_size(P, 1), axis_size(P, 2),
                                outputs(total, aleatoric, epistemic), threads, tolerance);
        },
        "members"_a, optional("total"), optional("aleatoric"), optional("epistemic"), "threads"_a,
        "tolerance"_a, "loss"_a, optional("weights") = nb::none());

    m.def(
        "labelwise",
        [](Members<T> P, std::optional<Out2> total, std::optional<Out2> aleatoric,
           std::optional<Out2> epistemic, int threads, double tolerance, int loss,
           std::optional<Rows<double>> weights) {
            nb::gil_scoped_release release;
            return labelwise(static_cast<Loss>(loss), P.data(), data_or_null(weights), P.shape(0),
                             axis_size(P, 1), axis_size(P, 2), outputs(total, aleatoric, epistemic),
                             threads, tolerance);
        },
        "members"_a, optional("total"), optional("aleatoric"), optional("epistemic"), "threads"_a,
        "tolerance"_a, "loss"_a, optional("weights") = nb::none());

    m.def(
        "median_distance",
        [](Members<T> P, Out1 value, int threads, double tolerance,
           std::optional<Rows<double>> weights) {
            nb::gil_scoped_release release;
            return median_distance(P.data(), data_or_null(weights), P.shape(0), axis_size(P, 1),
                                   axis_size(P, 2), value.data(), threads, tolerance);
        },
        "members"_a, "value"_a, "threads"_a, "tolerance"_a, optional("weights") = nb::none());
}

}  // namespace

// Second-order measures and possibilities.
void bind_second_order(nb::module_& m) {
    bind_dtype<double>(m);
    bind_dtype<float>(m);

    m.def(
        "antitonic_regression",
        [](View<const double, 2> values, Out2 result, int threads) {
            nb::gil_scoped_release release;
            antitonic_regression(values.data(), values.shape(0), axis_size(values, 1),
                                 result.data(), threads);
        },
        "values"_a, "result"_a, "threads"_a);

    m.def(
        "contour_tv",
        [](Rows<double> contour, Out1 total, Out1 upper, int threads) {
            nb::gil_scoped_release release;
            contour_tv(contour.data(), contour.shape(0), axis_size(contour, 1), total.data(),
                       upper.data(), threads);
        },
        "contour"_a, "total"_a, "upper"_a, "threads"_a);

    m.def(
        "contour_hartley",
        [](Rows<double> contour, Out1 value, int threads) {
            nb::gil_scoped_release release;
            contour_hartley(contour.data(), contour.shape(0), axis_size(contour, 1), value.data(),
                            threads);
        },
        "contour"_a, "value"_a, "threads"_a);

    m.def(
        "contour_max_entropy",
        [](Rows<double> contour, Out1 value, int threads) {
            nb::gil_scoped_release release;
            contour_max_entropy(contour.data(), contour.shape(0), axis_size(contour, 1),
                                value.data(), threads);
        },
        "contour"_a, "value"_a, "threads"_a);
}

}  // namespace credalens
