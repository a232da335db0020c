#include "bindings/arguments.hpp"
#include "events/capacities.hpp"
#include "events/hartley.hpp"
#include "events/lower_probabilities.hpp"
#include "events/weighted_events.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

// The number of classes of so many events.
int classes_of(std::size_t events) {
    int K = 0;
    while (events >>= 1) ++K;
    return K;
}

template <class T>
void bind_dtype(nb::module_& m) {
    m.def(
        "hartley_exact",
        [](Members<T> P, Vector w, Out1 value, int threads) {
            nb::gil_scoped_release release;
            hartley_exact(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2), w.data(),
                          value.data(), threads);
        },
        "members"_a, "w"_a, "value"_a, "threads"_a);

    m.def(
        "hartley_sample",
        [](Members<T> P, Vector log_v, std::uint64_t seed, std::int64_t n_pairs, double rtol,
           double atol, std::int64_t max_pairs, Out1 value, Out1 error, int threads) {
            nb::gil_scoped_release release;
            hartley_sample(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2), log_v.data(),
                           seed, n_pairs, rtol, atol, max_pairs, value.data(), error.data(),
                           threads);
        },
        "members"_a, "log_v"_a, "seed"_a, "n_pairs"_a, "rtol"_a, "atol"_a, "max_pairs"_a, "value"_a,
        "error"_a, "threads"_a);

    m.def(
        "hartley_vjp",
        [](Members<T> P, Vector w, Vector cotangent, View<T, 3> gradient, int threads) {
            nb::gil_scoped_release release;
            hartley_vjp(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2), w.data(),
                        cotangent.data(), gradient.data(), threads);
        },
        "members"_a, "w"_a, "cotangent"_a, "gradient"_a, "threads"_a);

    m.def(
        "lower_probabilities",
        [](Members<T> P, Out2 values, int threads) {
            nb::gil_scoped_release release;
            lower_probabilities(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2),
                                values.data(), threads);
        },
        "members"_a, "values"_a, "threads"_a);

    m.def(
        "check_capacities",
        [](Rows<T> values, double tolerance, double limit, OutFlags two_monotone, int threads) {
            nb::gil_scoped_release release;
            return check_capacities(values.data(), values.shape(0), classes_of(values.shape(1)),
                                    tolerance, limit,
                                    reinterpret_cast<std::uint8_t*>(two_monotone.data()), threads);
        },
        "values"_a, "tolerance"_a, "limit"_a, "two_monotone"_a, "threads"_a);

    m.def(
        "belief_values",
        [](Rows<T> masses, OutRows<T> values, int threads) {
            nb::gil_scoped_release release;
            belief_values(masses.data(), masses.shape(0), classes_of(masses.shape(1)),
                          values.data(), threads);
        },
        "masses"_a, "values"_a, "threads"_a);

    m.def(
        "event_dot",
        [](Rows<T> values, Vector weights, Out1 total, int threads) {
            nb::gil_scoped_release release;
            event_dot(values.data(), values.shape(0), classes_of(values.shape(1)), weights.data(),
                      total.data(), threads);
        },
        "values"_a, "weights"_a, "total"_a, "threads"_a);

    m.def(
        "max_class_bounds",
        [](Rows<T> values, Out1 lower, Out1 upper, int threads) {
            nb::gil_scoped_release release;
            max_class_bounds(values.data(), values.shape(0), classes_of(values.shape(1)),
                             lower.data(), upper.data(), threads);
        },
        "values"_a, "lower"_a, "upper"_a, "threads"_a);

    m.def(
        "max_event_width",
        [](Rows<T> values, Out1 width, int threads) {
            nb::gil_scoped_release release;
            max_event_width(values.data(), values.shape(0), classes_of(values.shape(1)),
                            width.data(), threads);
        },
        "values"_a, "width"_a, "threads"_a);

    m.def(
        "capacity_min_entropy",
        [](Rows<T> values, Out1 value, Out2 extreme_point, int threads) {
            nb::gil_scoped_release release;
            capacity_min_entropy(values.data(), values.shape(0), classes_of(values.shape(1)),
                                 value.data(), extreme_point.data(), threads);
        },
        "values"_a, "value"_a, "extreme_point"_a, "threads"_a);
}

}  // namespace

// Sums over events, and set functions.
void bind_events(nb::module_& m) {
    bind_dtype<double>(m);
    bind_dtype<float>(m);

    m.def(
        "max_event_mean",
        [](Rows<double> values, Out1 value, int threads) {
            nb::gil_scoped_release release;
            max_event_mean(values.data(), values.shape(0), classes_of(values.shape(1)),
                           value.data(), threads);
        },
        "values"_a, "value"_a, "threads"_a);

    m.def(
        "capacity_max_entropy",
        [](Rows<double> values, Out1 value, std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            capacity_max_entropy(values.data(), values.shape(0), classes_of(values.shape(1)),
                                 value.data(), data_or_null(distribution), threads);
        },
        "values"_a, "value"_a, optional("distribution"), "threads"_a);

    m.def(
        "hartley_weights",
        [](int K, Out1 w, Out1 log_v) {
            nb::gil_scoped_release release;
            hartley_weights(K, w.data(), log_v.data());
        },
        "K"_a, "w"_a, "log_v"_a);

    m.def(
        "balanced_partition",
        [](Rows<double> weights, Vector cap, Out1 lower, Out1 upper, int threads) {
            nb::gil_scoped_release release;
            balanced_partition(weights.data(), cap.data(), weights.shape(0), axis_size(weights, 1),
                               lower.data(), upper.data(), threads);
        },
        "weights"_a, "cap"_a, "lower"_a, "upper"_a, "threads"_a);

    m.def(
        "excess_sums",
        [](Rows<double> weights, Vector threshold, Vector size_weights, Out1 value, int threads) {
            nb::gil_scoped_release release;
            excess_sums(weights.data(), threshold.data(), weights.shape(0), axis_size(weights, 1),
                        size_weights.data(), value.data(), threads);
        },
        "weights"_a, "threshold"_a, "size_weights"_a, "value"_a, "threads"_a);
}

}  // namespace credalens
