#include "bindings/arguments.hpp"
#include "boxes/boxes.hpp"
#include "boxes/event_bounds.hpp"
#include "boxes/neighbourhoods.hpp"
#include "boxes/reachable_bounds.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

template <class T>
void bind_dtype(nb::module_& m) {
    m.def(
        "reachable_bounds",
        [](Rows<T> low, Rows<T> high, double bound_tolerance, double sum_tolerance,
           OutRows<T> lower, OutRows<T> upper, OutRows<T> max_bounds, int threads) {
            nb::gil_scoped_release release;
            return reachable_bounds(low.data(), high.data(), low.shape(0), axis_size(low, 1),
                                    bound_tolerance, sum_tolerance, lower.data(), upper.data(),
                                    max_bounds.data(), threads);
        },
        "low"_a, "high"_a, "bound_tolerance"_a, "sum_tolerance"_a, "lower"_a, "upper"_a,
        "max_bounds"_a, "threads"_a);

    m.def(
        "check_bounds",
        [](Rows<T> low, Rows<T> high, double bound_tolerance, double sum_tolerance,
           OutRows<T> max_bounds, OutFlags not_reachable, int threads) {
            nb::gil_scoped_release release;
            return check_bounds(low.data(), high.data(), low.shape(0), axis_size(low, 1),
                                bound_tolerance, sum_tolerance, max_bounds.data(),
                                reinterpret_cast<std::uint8_t*>(not_reachable.data()), threads);
        },
        "low"_a, "high"_a, "bound_tolerance"_a, "sum_tolerance"_a, "max_bounds"_a,
        "not_reachable"_a, "threads"_a);
}

}  // namespace

// Boxes, contamination classes and balls. Except for validation, only float64: the sets convert
// block by block.
void bind_boxes(nb::module_& m) {
    bind_dtype<double>(m);
    bind_dtype<float>(m);

    m.def(
        "box_widths",
        [](Rows<double> low, Rows<double> high, Out2 widths, Out1 lower_sum, Out1 upper_sum,
           int threads) {
            nb::gil_scoped_release release;
            box_widths(low.data(), high.data(), low.shape(0), axis_size(low, 1), widths.data(),
                       lower_sum.data(), upper_sum.data(), threads);
        },
        "low"_a, "high"_a, "widths"_a, "lower_sum"_a, "upper_sum"_a, "threads"_a);

    m.def(
        "box_minimax",
        [](Rows<double> low, Rows<double> high, Out1 value, int threads) {
            nb::gil_scoped_release release;
            box_minimax(low.data(), high.data(), low.shape(0), axis_size(low, 1), value.data(),
                        threads);
        },
        "low"_a, "high"_a, "value"_a, "threads"_a);

    m.def(
        "event_bounds",
        [](Vector mass, Vector rest, Vector radius, bool upper, Out1 bound, int threads) {
            nb::gil_scoped_release release;
            event_bounds(mass.data(), rest.data(), radius.data(), mass.shape(0), upper,
                         bound.data(), threads);
        },
        "mass"_a, "rest"_a, "radius"_a, "upper"_a, "bound"_a, "threads"_a);

    m.def(
        "box_tv",
        [](Rows<double> low, Rows<double> high, Out1 total, Out1 lower, Out1 upper, int threads) {
            nb::gil_scoped_release release;
            box_tv(low.data(), high.data(), low.shape(0), axis_size(low, 1), total.data(),
                   lower.data(), upper.data(), threads);
        },
        "low"_a, "high"_a, "total"_a, "lower"_a, "upper"_a, "threads"_a);

    m.def(
        "box_diameter",
        [](Rows<double> low, Rows<double> high, Out1 least, Out1 most, int threads) {
            nb::gil_scoped_release release;
            box_diameter(low.data(), high.data(), low.shape(0), axis_size(low, 1), least.data(),
                         most.data(), threads);
        },
        "low"_a, "high"_a, "least"_a, "most"_a, "threads"_a);

    m.def(
        "box_hartley",
        [](Rows<double> low, Rows<double> high, Out1 value, Vector size_weights, int threads) {
            nb::gil_scoped_release release;
            box_hartley(low.data(), high.data(), low.shape(0), axis_size(low, 1),
                        size_weights.data(), value.data(), threads);
        },
        "low"_a, "high"_a, "value"_a, "size_weights"_a, "threads"_a);

    m.def(
        "neighbourhood_tv",
        [](Rows<double> center, Vector size, Out1 total, Out1 lower, std::optional<Out1> upper,
           bool ball, int threads) {
            nb::gil_scoped_release release;
            neighbourhood_tv(ball ? Neighbourhood::ball : Neighbourhood::contamination,
                             center.data(), size.data(), center.shape(0), axis_size(center, 1),
                             total.data(), lower.data(), data_or_null(upper), threads);
        },
        "center"_a, "size"_a, "total"_a, "lower"_a, optional("upper"), "ball"_a, "threads"_a);

    m.def(
        "ball_diameter",
        [](Rows<double> center, Vector radius, Out1 least, Out1 most, int threads) {
            nb::gil_scoped_release release;
            ball_diameter(center.data(), radius.data(), center.shape(0), axis_size(center, 1),
                          least.data(), most.data(), threads);
        },
        "center"_a, "radius"_a, "least"_a, "most"_a, "threads"_a);

    m.def(
        "ball_hartley",
        [](Rows<double> center, Vector radius, Out1 value, Vector size_weights, int threads) {
            nb::gil_scoped_release release;
            ball_hartley(center.data(), radius.data(), center.shape(0), axis_size(center, 1),
                         size_weights.data(), value.data(), threads);
        },
        "center"_a, "radius"_a, "value"_a, "size_weights"_a, "threads"_a);

    m.def(
        "box_max_entropy",
        [](Rows<double> low, Rows<double> high, Out1 value, std::optional<Out2> distribution,
           int threads) {
            nb::gil_scoped_release release;
            box_max_entropy(low.data(), high.data(), low.shape(0), axis_size(low, 1), value.data(),
                            data_or_null(distribution), threads);
        },
        "low"_a, "high"_a, "value"_a, optional("distribution"), "threads"_a);

    m.def(
        "box_min_entropy",
        [](Rows<double> low, Rows<double> high, std::int64_t max_nodes, Out1 value, Out1 error,
           std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            box_min_entropy(low.data(), high.data(), low.shape(0), axis_size(low, 1), max_nodes,
                            value.data(), error.data(), data_or_null(distribution), threads);
        },
        "low"_a, "high"_a, "max_nodes"_a, "value"_a, "error"_a, optional("distribution"),
        "threads"_a);

    m.def(
        "ball_minimax",
        [](Rows<double> center, Vector radius, Out1 value, int threads) {
            nb::gil_scoped_release release;
            ball_minimax(center.data(), radius.data(), center.shape(0), axis_size(center, 1),
                         value.data(), threads);
        },
        "center"_a, "radius"_a, "value"_a, "threads"_a);

    m.def(
        "ball_lower_sum",
        [](Rows<double> center, Vector radius, Out1 value, int threads) {
            nb::gil_scoped_release release;
            ball_lower_sum(center.data(), radius.data(), center.shape(0), axis_size(center, 1),
                           value.data(), threads);
        },
        "center"_a, "radius"_a, "value"_a, "threads"_a);

    m.def(
        "neighbourhood_entropy",
        [](bool ball, bool upper, Rows<double> center, Vector size, Out1 value,
           std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            neighbourhood_entropy(ball ? Neighbourhood::ball : Neighbourhood::contamination, upper,
                                  center.data(), size.data(), center.shape(0), axis_size(center, 1),
                                  value.data(), data_or_null(distribution), threads);
        },
        "ball"_a, "upper"_a, "center"_a, "size"_a, "value"_a, optional("distribution"),
        "threads"_a);
}

}  // namespace credalens
