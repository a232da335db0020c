#include "bindings/arguments.hpp"
#include "line/capacity_line.hpp"
#include "line/hull_line.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

using OptionalOut = std::optional<Out1>;

Line as_line(const Indices& order, const Vector& position) {
    return {order.data(), position.data(), axis_size(order, 0)};
}

LineDistance as_distance(bool kolmogorov) {
    return kolmogorov ? LineDistance::kolmogorov : LineDistance::wasserstein;
}

LineResults as_results(const OptionalOut& total, const OptionalOut& lower, const OptionalOut& upper,
                       const OptionalOut& gap, const OptionalOut& diameter) {
    return {data_or_null(total), data_or_null(lower), data_or_null(upper), data_or_null(gap),
            data_or_null(diameter)};
}

template <class T>
void bind_dtype(nb::module_& m) {
    m.def(
        "hull_line",
        [](Members<T> P, Indices order, Vector position, OptionalOut total, OptionalOut lower,
           OptionalOut upper, OptionalOut gap, std::optional<Out2> weights, OptionalOut decision,
           int threads) {
            nb::gil_scoped_release release;
            hull_line(P.data(), P.shape(0), axis_size(P, 1), as_line(order, position),
                      as_results(total, lower, upper, gap, {}),
                      {data_or_null(weights), data_or_null(decision)}, threads);
        },
        "members"_a, "order"_a, "position"_a, optional("total"), optional("lower"),
        optional("upper"), optional("gap"), optional("weights"), optional("decision"), "threads"_a);

    m.def(
        "tree_costs",
        [](Members<T> P, Indices order, Indices start, Indices stop, Vector length,
           View<double, 3> costs, int threads) {
            nb::gil_scoped_release release;
            const EdgeList edges{order.data(), start.data(), stop.data(), length.data(),
                                 axis_size(length, 0)};
            tree_costs(P.data(), P.shape(0) * P.shape(1), axis_size(P, 2), edges, costs.data(),
                       threads);
        },
        "members"_a, "order"_a, "start"_a, "stop"_a, "length"_a, "costs"_a, "threads"_a);
}

}  // namespace

// Ordered classes: hulls, and sets in float64, which are converted block by block.
void bind_line(nb::module_& m) {
    bind_dtype<double>(m);
    bind_dtype<float>(m);

    m.def(
        "box_line",
        [](bool kolmogorov, Rows<double> low, Rows<double> high, Indices order, Vector position,
           OptionalOut total, OptionalOut lower, OptionalOut upper, OptionalOut gap,
           OptionalOut diameter, int threads) {
            nb::gil_scoped_release release;
            box_line(as_distance(kolmogorov), low.data(), high.data(), low.shape(0),
                     as_line(order, position), as_results(total, lower, upper, gap, diameter),
                     threads);
        },
        "kolmogorov"_a, "low"_a, "high"_a, "order"_a, "position"_a, optional("total"),
        optional("lower"), optional("upper"), optional("gap"), optional("diameter"), "threads"_a);

    m.def(
        "neighbourhood_line",
        [](bool kolmogorov, bool is_ball, Rows<double> center, Vector size, Indices order,
           Vector position, OptionalOut total, OptionalOut lower, OptionalOut upper,
           OptionalOut gap, OptionalOut diameter, int threads) {
            nb::gil_scoped_release release;
            neighbourhood_line(as_distance(kolmogorov), is_ball, center.data(), size.data(),
                               center.shape(0), as_line(order, position),
                               as_results(total, lower, upper, gap, diameter), threads);
        },
        "kolmogorov"_a, "is_ball"_a, "center"_a, "size"_a, "order"_a, "position"_a,
        optional("total"), optional("lower"), optional("upper"), optional("gap"),
        optional("diameter"), "threads"_a);

    const auto bind_rows = [&](const char* name, auto kernel) {
        m.def(
            name,
            [kernel](bool kolmogorov, Rows<double> rows, Indices order, Vector position,
                     OptionalOut total, OptionalOut lower, OptionalOut upper, OptionalOut gap,
                     OptionalOut diameter, int threads) {
                nb::gil_scoped_release release;
                kernel(as_distance(kolmogorov), rows.data(), rows.shape(0),
                       as_line(order, position), as_results(total, lower, upper, gap, diameter),
                       threads);
            },
            "kolmogorov"_a, "rows"_a, "order"_a, "position"_a, optional("total"),
            optional("lower"), optional("upper"), optional("gap"), optional("diameter"),
            "threads"_a);
    };
    bind_rows("possibility_line", &possibility_line);
    bind_rows("events_line", &events_line);
}

}  // namespace credalens
