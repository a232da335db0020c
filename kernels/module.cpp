// The Python side of the kernels: dtypes and shapes of the arguments, the GIL, nothing else.
//
// Every array comes in C-contiguous and checked; outputs are allocated by the caller, and an output
// that is None is not computed.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "capacities.hpp"
#include "door.hpp"
#include "edges.hpp"
#include "ends.hpp"
#include "entropy.hpp"
#include "euclid.hpp"
#include "first_bad.hpp"
#include "game.hpp"
#include "intervals.hpp"
#include "leave_one_out.hpp"
#include "pairs.hpp"
#include "parallel.hpp"
#include "pullback.hpp"
#include "reach.hpp"
#include "subsets.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

template <class T>
using Members = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out1 = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out2 = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Classes = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

// Instances whose data fill about half of a small second-level cache: what the closed forms read
// from memory, the game then finds in the cache.
std::size_t cache_block(std::size_t instance_bytes) {
    return 1 + (std::size_t{1} << 18) / instance_bytes;
}

// How many classes have so many events.
int classes_of(std::size_t events) {
    int K = 0;
    while (events >>= 1) ++K;
    return K;
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "first_bad_row",
        [](Rows<T> rows, double tolerance, int threads) {
            nb::gil_scoped_release release;
            return first_bad_row(rows.data(), rows.shape(0), static_cast<int>(rows.shape(1)),
                                 tolerance, threads);
        },
        "rows"_a.noconvert(), "tolerance"_a, "threads"_a);

    m.def(
        "closed_forms",
        [](Members<T> P, std::optional<Out1> max_lower, std::optional<Out1> max_upper,
           std::optional<Out1> diameter, std::optional<Out1> lower_sum, int threads,
           double tolerance, std::optional<Pairs> pairs, int method) {
            nb::gil_scoped_release release;
            return closed_forms(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                                static_cast<int>(P.shape(2)),
                                {data_or_null(max_lower), data_or_null(max_upper),
                                 data_or_null(diameter), data_or_null(lower_sum),
                                 data_or_null(pairs)},
                                static_cast<PairMethod>(method), threads, tolerance);
        },
        "members"_a.noconvert(), "max_lower"_a.none(), "max_upper"_a.none(), "diameter"_a.none(),
        "lower_sum"_a.none(), "threads"_a, "tolerance"_a = -1.0, "pairs"_a.none() = nb::none(),
        "method"_a = 0);

    m.def(
        "class_ends",
        [](Members<T> P, std::optional<Out2> lower, std::optional<Out2> upper, int threads) {
            nb::gil_scoped_release release;
            class_ends(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                       static_cast<int>(P.shape(2)), data_or_null(lower), data_or_null(upper),
                       threads);
        },
        "members"_a.noconvert(), "lower"_a.none(), "upper"_a.none(), "threads"_a);

    m.def(
        "edge_diameter",
        [](Members<T> P, Places order, Places start, Places stop, Weights length, Out1 diameter,
           int threads) {
            nb::gil_scoped_release release;
            const EdgeList edges{order.data(), start.data(), stop.data(), length.data(),
                                 static_cast<int>(length.shape(0))};
            edge_diameter(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                          static_cast<int>(P.shape(2)), edges, diameter.data(), threads);
        },
        "members"_a.noconvert(), "order"_a, "start"_a, "stop"_a, "length"_a, "diameter"_a,
        "threads"_a);

    m.def(
        "cumulative_diameter",
        [](Members<T> P, Out1 diameter, int threads) {
            nb::gil_scoped_release release;
            cumulative_diameter(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                                static_cast<int>(P.shape(2)), diameter.data(), threads);
        },
        "members"_a.noconvert(), "diameter"_a, "threads"_a);

    m.def(
        "square_diameter",
        [](Members<T> P, Rows<double> points, Out1 square, int threads) {
            nb::gil_scoped_release release;
            square_diameter(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                            static_cast<int>(P.shape(2)), points.data(),
                            static_cast<int>(points.shape(1)), square.data(), threads);
        },
        "members"_a.noconvert(), "points"_a, "square"_a, "threads"_a);

    m.def(
        "solve_games",
        [](Members<T> A, Out1 value, Out1 gap, std::optional<Out2> weights,
           std::optional<Out2> dual, int threads) {
            nb::gil_scoped_release release;
            solve_games(A.data(), A.shape(0), static_cast<int>(A.shape(1)),
                        static_cast<int>(A.shape(2)), value.data(), gap.data(),
                        data_or_null(weights), data_or_null(dual), threads);
        },
        "payoff"_a.noconvert(), "value"_a, "gap"_a, "weights"_a.none(), "dual"_a.none(),
        "threads"_a);

    // The closed forms and the game together, block by block while the data are in the cache.
    m.def(
        "tv_profile",
        [](Members<T> P, Out1 max_lower, Out1 max_upper, std::optional<Out1> diameter, Out1 value,
           Out1 gap, int threads, double tolerance) {
            nb::gil_scoped_release release;
            const int M = static_cast<int>(P.shape(1)), K = static_cast<int>(P.shape(2));
            const std::size_t size = static_cast<std::size_t>(M) * K;
            const ClosedForms out{max_lower.data(), max_upper.data(), data_or_null(diameter)};
            FirstBad first;
            parallel_for(P.shape(0), cache_block(size * sizeof(T)), threads,
                         [&](std::size_t begin, std::size_t end) {
                             if (first.before(begin)) return;
                             const T* block = P.data() + begin * size;
                             const std::int64_t bad =
                                 closed_forms(block, end - begin, M, K, out.from(begin),
                                              PairMethod::automatic, 1, tolerance);
                             if (bad >= 0) return first.see(begin + bad);
                             solve_games(block, end - begin, M, K, value.data() + begin,
                                         gap.data() + begin, nullptr, nullptr, 1);
                             // True by definition: rounding must not break it.
                             for (std::size_t i = begin; i < end; ++i)
                                 value.data()[i] = std::min(
                                     std::max(value.data()[i], max_lower.data()[i]),
                                     max_upper.data()[i]);
                         });
            return first.value();
        },
        "members"_a.noconvert(), "max_lower"_a, "max_upper"_a, "diameter"_a.none(), "value"_a,
        "gap"_a, "threads"_a, "tolerance"_a = -1.0);

    m.def(
        "leave_one_out",
        [](Members<T> P, Out1 max_lower, Out1 diameter, Out2 lower, Out2 spread, Flags widest,
           Out2 squares, Classes top, int threads) {
            nb::gil_scoped_release release;
            const LeaveOneOut out{max_lower.data(), diameter.data(), lower.data(), spread.data(),
                                  widest.data(), squares.data(), top.data()};
            leave_one_out(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                          static_cast<int>(P.shape(2)), out, threads);
        },
        "members"_a.noconvert(), "max_lower"_a, "diameter"_a, "lower"_a, "spread"_a, "widest"_a,
        "squares"_a, "top"_a, "threads"_a);

    m.def(
        "max_entropy",
        [](Members<T> P, Out1 value, Out1 gap, std::optional<Out2> weights,
           std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            max_entropy(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                        static_cast<int>(P.shape(2)), value.data(), gap.data(),
                        data_or_null(weights), data_or_null(distribution), threads);
        },
        "members"_a.noconvert(), "value"_a, "gap"_a, "weights"_a.none(),
        "distribution"_a.none(), "threads"_a);

    m.def(
        "min_entropy",
        [](Members<T> P, Out1 value, std::optional<Indices> member, int threads) {
            nb::gil_scoped_release release;
            min_entropy(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                        static_cast<int>(P.shape(2)), value.data(), data_or_null(member), threads);
        },
        "members"_a.noconvert(), "value"_a, "member"_a.none(), "threads"_a);

    m.def(
        "hartley_exact",
        [](Members<T> P, Weights w, Out1 value, int threads) {
            nb::gil_scoped_release release;
            hartley_exact(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                          static_cast<int>(P.shape(2)), w.data(), value.data(), threads);
        },
        "members"_a.noconvert(), "w"_a, "value"_a, "threads"_a);

    m.def(
        "hartley_sample",
        [](Members<T> P, Weights log_v, std::uint64_t seed, std::int64_t n_pairs, double rtol,
           double atol, std::int64_t max_pairs, Out1 value, Out1 error, int threads) {
            nb::gil_scoped_release release;
            hartley_sample(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                           static_cast<int>(P.shape(2)), log_v.data(), seed, n_pairs, rtol, atol,
                           max_pairs, value.data(), error.data(), nullptr, threads);
        },
        "members"_a.noconvert(), "log_v"_a, "seed"_a, "n_pairs"_a, "rtol"_a, "atol"_a,
        "max_pairs"_a, "value"_a, "error"_a, "threads"_a);

    m.def(
        "lower_probabilities",
        [](Members<T> P, Out2 values, int threads) {
            nb::gil_scoped_release release;
            lower_probabilities(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                                static_cast<int>(P.shape(2)), values.data(), threads);
        },
        "members"_a.noconvert(), "values"_a, "threads"_a);
}

// Gradients, in the dtype of the members.
template <class T>
void bind_pullbacks(nb::module_& m) {
    using Gradient = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
    m.def(
        "tv_pullback",
        [](Members<T> P, std::optional<Weights> max_lower, std::optional<Weights> max_upper,
           std::optional<Weights> diameter, std::optional<Weights> value,
           std::optional<Pairs> pairs, std::optional<Out2> weights, std::optional<Out2> dual,
           Gradient gradient, int threads) {
            nb::gil_scoped_release release;
            const TvCotangents loss{data_or_null(max_lower), data_or_null(max_upper),
                                    data_or_null(diameter),  data_or_null(value),
                                    data_or_null(pairs),     data_or_null(weights),
                                    data_or_null(dual)};
            tv_pullback(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                        static_cast<int>(P.shape(2)), loss, gradient.data(), threads);
        },
        "members"_a.noconvert(), "max_lower"_a.none(), "max_upper"_a.none(), "diameter"_a.none(),
        "value"_a.none(), "pairs"_a.none(), "weights"_a.none(), "dual"_a.none(),
        "gradient"_a.noconvert(), "threads"_a);

    m.def(
        "hartley_pullback",
        [](Members<T> P, Weights w, Weights cotangent, Gradient gradient, int threads) {
            nb::gil_scoped_release release;
            hartley_pullback(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                             static_cast<int>(P.shape(2)), w.data(), cotangent.data(),
                             gradient.data(), threads);
        },
        "members"_a.noconvert(), "w"_a, "cotangent"_a, "gradient"_a.noconvert(), "threads"_a);
}

// Sets of one or two numbers a class, and of one an event: checked, and made ready, in their dtype.
template <class T>
void bind_sets(nb::module_& m) {
    using Values = Rows<T>;
    using OutValues = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    using OutBounds = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
    using Truths = nb::ndarray<bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    m.def(
        "reachable_bounds",
        [](Rows<T> low, Rows<T> high, double slack, double tolerance, OutBounds bounds,
           OutValues tops, int threads) {
            nb::gil_scoped_release release;
            return reachable_bounds(low.data(), high.data(), low.shape(0),
                                    static_cast<int>(low.shape(1)), slack, tolerance,
                                    bounds.data(), tops.data(), threads);
        },
        "low"_a.noconvert(), "high"_a.noconvert(), "slack"_a, "tolerance"_a,
        "bounds"_a.noconvert(), "tops"_a.noconvert(), "threads"_a);

    m.def(
        "check_capacities",
        [](Values values, double tolerance, double limit, Truths two_monotone, int threads) {
            nb::gil_scoped_release release;
            return check_capacities(values.data(), values.shape(0), classes_of(values.shape(1)),
                                    tolerance, limit,
                                    reinterpret_cast<std::uint8_t*>(two_monotone.data()), threads);
        },
        "values"_a.noconvert(), "tolerance"_a, "limit"_a, "two_monotone"_a, "threads"_a);

    m.def(
        "belief_values",
        [](Values masses, OutValues values, int threads) {
            nb::gil_scoped_release release;
            belief_values(masses.data(), masses.shape(0), classes_of(masses.shape(1)),
                          values.data(), threads);
        },
        "masses"_a.noconvert(), "values"_a.noconvert(), "threads"_a);

    m.def(
        "event_dot",
        [](Values values, Weights weights, Out1 total, int threads) {
            nb::gil_scoped_release release;
            event_dot(values.data(), values.shape(0), classes_of(values.shape(1)), weights.data(),
                      total.data(), threads);
        },
        "values"_a.noconvert(), "weights"_a, "total"_a, "threads"_a);

    m.def(
        "class_tops",
        [](Values values, Out1 lower, Out1 upper, int threads) {
            nb::gil_scoped_release release;
            class_tops(values.data(), values.shape(0), classes_of(values.shape(1)), lower.data(),
                       upper.data(), threads);
        },
        "values"_a.noconvert(), "lower"_a, "upper"_a, "threads"_a);

    m.def(
        "widest_event",
        [](Values values, Out1 width, int threads) {
            nb::gil_scoped_release release;
            widest_event(values.data(), values.shape(0), classes_of(values.shape(1)), width.data(),
                         threads);
        },
        "values"_a.noconvert(), "width"_a, "threads"_a);

    m.def(
        "least_even",
        [](Values values, Out1 value, Out2 corner, int threads) {
            nb::gil_scoped_release release;
            least_even(values.data(), values.shape(0), classes_of(values.shape(1)), value.data(),
                       corner.data(), threads);
        },
        "values"_a.noconvert(), "value"_a, "corner"_a, "threads"_a);
}

// Boxes and sums over events: float64 only, the sets convert their data block by block.
void bind_intervals(nb::module_& m) {
    using Bounds = Members<double>;
    m.def(
        "box_widths",
        [](Bounds bounds, Out2 widths, Out1 lows, Out1 highs, int threads) {
            nb::gil_scoped_release release;
            box_widths(bounds.data(), bounds.shape(0), static_cast<int>(bounds.shape(2)),
                       widths.data(), lows.data(), highs.data(), threads);
        },
        "bounds"_a.noconvert(), "widths"_a, "lows"_a, "highs"_a, "threads"_a);

    m.def(
        "box_minimax",
        [](Bounds bounds, Out1 value, int threads) {
            nb::gil_scoped_release release;
            box_minimax(bounds.data(), bounds.shape(0), static_cast<int>(bounds.shape(2)),
                        value.data(), threads);
        },
        "bounds"_a.noconvert(), "value"_a, "threads"_a);

    m.def(
        "box_max_entropy",
        [](Bounds bounds, Out1 value, std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            box_max_entropy(bounds.data(), bounds.shape(0), static_cast<int>(bounds.shape(2)),
                            value.data(), data_or_null(distribution), threads);
        },
        "bounds"_a.noconvert(), "value"_a, "distribution"_a.none(), "threads"_a);

    m.def(
        "ball_minimax",
        [](Rows<double> center, Weights radius, Out1 value, int threads) {
            nb::gil_scoped_release release;
            ball_minimax(center.data(), radius.data(), center.shape(0),
                         static_cast<int>(center.shape(1)), value.data(), threads);
        },
        "center"_a.noconvert(), "radius"_a, "value"_a, "threads"_a);

    m.def(
        "ball_lower_sum",
        [](Rows<double> center, Weights radius, Out1 value, int threads) {
            nb::gil_scoped_release release;
            ball_lower_sum(center.data(), radius.data(), center.shape(0),
                           static_cast<int>(center.shape(1)), value.data(), threads);
        },
        "center"_a.noconvert(), "radius"_a, "value"_a, "threads"_a);

    m.def(
        "neighbourhood_entropy",
        [](bool ball, bool largest, Rows<double> center, Weights size, Out1 value,
           std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            neighbourhood_entropy(ball ? Neighbourhood::ball : Neighbourhood::contamination,
                                  largest, center.data(), size.data(), center.shape(0),
                                  static_cast<int>(center.shape(1)), value.data(),
                                  data_or_null(distribution), threads);
        },
        "ball"_a, "largest"_a, "center"_a.noconvert(), "size"_a, "value"_a,
        "distribution"_a.none(), "threads"_a);

    m.def(
        "box_min_entropy",
        [](Bounds bounds, std::int64_t max_nodes, Out1 value, Out1 error,
           std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            box_min_entropy(bounds.data(), bounds.shape(0), static_cast<int>(bounds.shape(2)),
                            max_nodes, value.data(), error.data(), data_or_null(distribution),
                            threads);
        },
        "bounds"_a.noconvert(), "max_nodes"_a, "value"_a, "error"_a, "distribution"_a.none(),
        "threads"_a);

    m.def(
        "balanced_subsets",
        [](Rows<double> weights, Weights cap, Out1 lower, Out1 upper, int threads) {
            nb::gil_scoped_release release;
            balanced_subsets(weights.data(), cap.data(), weights.shape(0),
                             static_cast<int>(weights.shape(1)), lower.data(), upper.data(),
                             threads);
        },
        "weights"_a.noconvert(), "cap"_a, "lower"_a, "upper"_a, "threads"_a);

    m.def(
        "excess_sums",
        [](Rows<double> weights, Weights threshold, Weights size_weights, Out1 value,
           int threads) {
            nb::gil_scoped_release release;
            excess_sums(weights.data(), threshold.data(), weights.shape(0),
                        static_cast<int>(weights.shape(1)), size_weights.data(), value.data(),
                        threads);
        },
        "weights"_a.noconvert(), "threshold"_a, "size_weights"_a, "value"_a, "threads"_a);
}

const char* instruction_set() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
    if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
#endif
    return "baseline";
}

}  // namespace
}  // namespace credalens

NB_MODULE(_kernels, m) {
    using namespace credalens;
    bind<float>(m);
    bind<double>(m);
    bind_pullbacks<float>(m);
    bind_pullbacks<double>(m);
    m.def(
        "hartley_weights",
        [](int K, Out1 w, Out1 log_v) {
            nb::gil_scoped_release release;
            hartley_weights(K, w.data(), log_v.data());
        },
        "K"_a, "w"_a, "log_v"_a);
    bind_sets<float>(m);
    bind_sets<double>(m);
    bind_intervals(m);
    m.def("instruction_set", &instruction_set);
    m.def("wanted_threads", &wanted_threads);
}
