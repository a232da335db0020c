// The Python side of the kernels: dtypes and shapes of the arguments, the GIL, nothing else.
//
// Every array comes in C-contiguous and checked; outputs are allocated by the caller, and an output
// that is None is not computed.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>

#include "events/capacities.hpp"
#include "runtime/validate_rows.hpp"
#include "hull/ordinal_diameters.hpp"
#include "hull/class_bounds.hpp"
#include "entropy/hull_entropy.hpp"
#include "hull/euclidean_diameter.hpp"
#include "evaluation/resampled_risks.hpp"
#include "games/matrix_game.hpp"
#include "boxes/boxes.hpp"
#include "hull/leave_one_out.hpp"
#include "hull/closed_forms.hpp"
#include "runtime/parallel_for.hpp"
#include "hull/vjp.hpp"
#include "boxes/reachable_bounds.hpp"
#include "bindings/second_order.hpp"
#include "simd/target.hpp"
#include "events/subset_sums.hpp"
#include "hull/tv_uncertainty.hpp"
#include "bindings/array_view.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

template <class T>
using Members = View<const T, 3>;
template <class T>
using Rows = View<const T, 2>;
using Out1 = View<double, 1>;
using Indices = View<std::int64_t, 1>;
using Places = View<const std::int64_t, 1>;
using Weights = View<const double, 1>;
using Pairs = View<std::int64_t, 2>;
using Out2 = View<double, 2>;
using Flags = View<std::uint8_t, 2>;
using Classes = View<std::int32_t, 2>;

auto array(const char* name) { return nb::arg(name); }
auto maybe(const char* name) { return nb::arg(name).none(); }

template <class Array>
auto data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
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
        "first_invalid_row",
        [](Rows<T> rows, double tolerance, int threads) {
            nb::gil_scoped_release release;
            return first_invalid_row(rows.data(), rows.shape(0), static_cast<int>(rows.shape(1)),
                                 tolerance, threads);
        },
        array("rows"), "tolerance"_a, "threads"_a);

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
        array("members"), maybe("max_lower"), maybe("max_upper"), maybe("diameter"),
        maybe("lower_sum"), "threads"_a, "tolerance"_a = -1.0, maybe("pairs") = nb::none(),
        "method"_a = 0);

    m.def(
        "class_bounds",
        [](Members<T> P, std::optional<Out2> lower, std::optional<Out2> upper, int threads) {
            nb::gil_scoped_release release;
            class_bounds(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                       static_cast<int>(P.shape(2)), data_or_null(lower), data_or_null(upper),
                       threads);
        },
        array("members"), maybe("lower"), maybe("upper"), "threads"_a);

    m.def(
        "tree_wasserstein_diameter",
        [](Members<T> P, Places order, Places start, Places stop, Weights length, Out1 diameter,
           int threads) {
            nb::gil_scoped_release release;
            const EdgeList edges{order.data(), start.data(), stop.data(), length.data(),
                                 static_cast<int>(length.shape(0))};
            tree_wasserstein_diameter(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                          static_cast<int>(P.shape(2)), edges, diameter.data(), threads);
        },
        array("members"), array("order"), array("start"), array("stop"), array("length"),
        array("diameter"), "threads"_a);

    m.def(
        "kolmogorov_diameter",
        [](Members<T> P, Out1 diameter, int threads) {
            nb::gil_scoped_release release;
            kolmogorov_diameter(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                                static_cast<int>(P.shape(2)), diameter.data(), threads);
        },
        array("members"), array("diameter"), "threads"_a);

    m.def(
        "squared_euclidean_diameter",
        [](Members<T> P, Rows<double> points, Out1 square, int threads) {
            nb::gil_scoped_release release;
            squared_euclidean_diameter(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                            static_cast<int>(P.shape(2)), points.data(),
                            static_cast<int>(points.shape(1)), square.data(), threads);
        },
        array("members"), array("points"), array("square"), "threads"_a);

    m.def(
        "solve_games",
        [](Members<T> A, Out1 value, Out1 gap, std::optional<Out2> weights,
           std::optional<Out2> dual, int threads) {
            nb::gil_scoped_release release;
            solve_games(A.data(), A.shape(0), static_cast<int>(A.shape(1)),
                        static_cast<int>(A.shape(2)), value.data(), gap.data(),
                        data_or_null(weights), data_or_null(dual), threads);
        },
        array("payoff"), array("value"), array("gap"), maybe("weights"), maybe("dual"),
        "threads"_a);

    m.def(
        "tv_uncertainty",
        [](Members<T> P, std::optional<Out1> total, std::optional<Out1> lower,
           std::optional<Out1> upper, std::optional<Out1> epistemic, std::optional<Out1> gap,
           int threads, double tolerance) {
            if (upper && !(total && lower && gap))
                throw nb::value_error("upper needs total, lower and gap");
            nb::gil_scoped_release release;
            return tv_uncertainty(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                                  static_cast<int>(P.shape(2)),
                                  {data_or_null(total), data_or_null(lower), data_or_null(upper),
                                   data_or_null(epistemic), data_or_null(gap)},
                                  threads, tolerance);
        },
        array("members"), maybe("total"), maybe("lower"), maybe("upper"), maybe("epistemic"),
        maybe("gap"), "threads"_a, "tolerance"_a = -1.0);

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
        array("members"), array("max_lower"), array("diameter"), array("max_lower_increase"),
        array("diameter_decrease"), array("in_widest_pair"), array("square_norm"), array("argmax"),
        "threads"_a);

    m.def(
        "max_entropy",
        [](Members<T> P, Out1 value, Out1 gap, std::optional<Out2> weights,
           std::optional<Out2> distribution, int threads, double tolerance) {
            nb::gil_scoped_release release;
            return max_entropy(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                               static_cast<int>(P.shape(2)), value.data(), gap.data(),
                               data_or_null(weights), data_or_null(distribution), threads,
                               tolerance);
        },
        array("members"), array("value"), array("gap"), maybe("weights"), maybe("distribution"),
        "threads"_a, "tolerance"_a = -1.0);

    m.def(
        "min_entropy",
        [](Members<T> P, Out1 value, std::optional<Indices> member, int threads,
           double tolerance) {
            nb::gil_scoped_release release;
            return min_entropy(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                               static_cast<int>(P.shape(2)), value.data(), data_or_null(member),
                               threads, tolerance);
        },
        array("members"), array("value"), maybe("member"), "threads"_a, "tolerance"_a = -1.0);

    m.def(
        "hartley_exact",
        [](Members<T> P, Weights w, Out1 value, int threads) {
            nb::gil_scoped_release release;
            hartley_exact(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                          static_cast<int>(P.shape(2)), w.data(), value.data(), threads);
        },
        array("members"), array("w"), array("value"), "threads"_a);

    m.def(
        "hartley_sample",
        [](Members<T> P, Weights log_v, std::uint64_t seed, std::int64_t n_pairs, double rtol,
           double atol, std::int64_t max_pairs, Out1 value, Out1 error, int threads) {
            nb::gil_scoped_release release;
            hartley_sample(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                           static_cast<int>(P.shape(2)), log_v.data(), seed, n_pairs, rtol, atol,
                           max_pairs, value.data(), error.data(), threads);
        },
        array("members"), array("log_v"), "seed"_a, "n_pairs"_a, "rtol"_a, "atol"_a, "max_pairs"_a,
        array("value"), array("error"), "threads"_a);

    m.def(
        "lower_probabilities",
        [](Members<T> P, Out2 values, int threads) {
            nb::gil_scoped_release release;
            lower_probabilities(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                                static_cast<int>(P.shape(2)), values.data(), threads);
        },
        array("members"), array("values"), "threads"_a);
}

// Gradients, in the dtype of the members.
template <class T>
void bind_pullbacks(nb::module_& m) {
    using Gradient = View<T, 3>;
    m.def(
        "tv_vjp",
        [](Members<T> P, std::optional<Weights> max_lower, std::optional<Weights> max_upper,
           std::optional<Weights> diameter, std::optional<Weights> value,
           std::optional<Pairs> pairs, std::optional<Out2> weights, std::optional<Out2> dual,
           Gradient gradient, int threads) {
            nb::gil_scoped_release release;
            const TvCotangents loss{data_or_null(max_lower), data_or_null(max_upper),
                                    data_or_null(diameter),  data_or_null(value),
                                    data_or_null(pairs),     data_or_null(weights),
                                    data_or_null(dual)};
            tv_vjp(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                        static_cast<int>(P.shape(2)), loss, gradient.data(), threads);
        },
        array("members"), maybe("max_lower"), maybe("max_upper"), maybe("diameter"), maybe("value"),
        maybe("pairs"), maybe("weights"), maybe("dual"), array("gradient"), "threads"_a);

    m.def(
        "hartley_vjp",
        [](Members<T> P, Weights w, Weights cotangent, Gradient gradient, int threads) {
            nb::gil_scoped_release release;
            hartley_vjp(P.data(), P.shape(0), static_cast<int>(P.shape(1)),
                             static_cast<int>(P.shape(2)), w.data(), cotangent.data(),
                             gradient.data(), threads);
        },
        array("members"), array("w"), array("cotangent"), array("gradient"), "threads"_a);
}

// Sets of one or two numbers a class, and of one an event: checked, and made ready, in their dtype.
template <class T>
void bind_sets(nb::module_& m) {
    using Values = Rows<T>;
    using OutValues = View<T, 2>;
    using Truths = View<bool, 1>;
    m.def(
        "reachable_bounds",
        [](Rows<T> low, Rows<T> high, double slack, double tolerance, OutValues lower,
           OutValues upper, OutValues tops, int threads) {
            nb::gil_scoped_release release;
            return reachable_bounds(low.data(), high.data(), low.shape(0),
                                    static_cast<int>(low.shape(1)), slack, tolerance,
                                    lower.data(), upper.data(), tops.data(), threads);
        },
        array("low"), array("high"), "bound_tolerance"_a, "sum_tolerance"_a, array("lower"), array("upper"),
        array("max_bounds"), "threads"_a);

    m.def(
        "check_bounds",
        [](Rows<T> low, Rows<T> high, double slack, double tolerance, OutValues tops,
           Truths loose, int threads) {
            nb::gil_scoped_release release;
            return check_bounds(low.data(), high.data(), low.shape(0),
                                static_cast<int>(low.shape(1)), slack, tolerance, tops.data(),
                                reinterpret_cast<std::uint8_t*>(loose.data()), threads);
        },
        array("low"), array("high"), "bound_tolerance"_a, "sum_tolerance"_a, array("max_bounds"), array("not_reachable"),
        "threads"_a);

    m.def(
        "check_capacities",
        [](Values values, double tolerance, double limit, Truths two_monotone, int threads) {
            nb::gil_scoped_release release;
            return check_capacities(values.data(), values.shape(0), classes_of(values.shape(1)),
                                    tolerance, limit,
                                    reinterpret_cast<std::uint8_t*>(two_monotone.data()), threads);
        },
        array("values"), "tolerance"_a, "limit"_a, array("two_monotone"), "threads"_a);

    m.def(
        "belief_values",
        [](Values masses, OutValues values, int threads) {
            nb::gil_scoped_release release;
            belief_values(masses.data(), masses.shape(0), classes_of(masses.shape(1)),
                          values.data(), threads);
        },
        array("masses"), array("values"), "threads"_a);

    m.def(
        "event_dot",
        [](Values values, Weights weights, Out1 total, int threads) {
            nb::gil_scoped_release release;
            event_dot(values.data(), values.shape(0), classes_of(values.shape(1)), weights.data(),
                      total.data(), threads);
        },
        array("values"), array("weights"), array("total"), "threads"_a);

    m.def(
        "max_class_bounds",
        [](Values values, Out1 lower, Out1 upper, int threads) {
            nb::gil_scoped_release release;
            max_class_bounds(values.data(), values.shape(0), classes_of(values.shape(1)), lower.data(),
                       upper.data(), threads);
        },
        array("values"), array("lower"), array("upper"), "threads"_a);

    m.def(
        "max_event_width",
        [](Values values, Out1 width, int threads) {
            nb::gil_scoped_release release;
            max_event_width(values.data(), values.shape(0), classes_of(values.shape(1)), width.data(),
                         threads);
        },
        array("values"), array("width"), "threads"_a);

    m.def(
        "capacity_min_entropy",
        [](Values values, Out1 value, Out2 extreme_point, int threads) {
            nb::gil_scoped_release release;
            capacity_min_entropy(values.data(), values.shape(0), classes_of(values.shape(1)), value.data(),
                       extreme_point.data(), threads);
        },
        array("values"), array("value"), array("extreme_point"), "threads"_a);
}

// Boxes and sums over events: float64 only, the sets convert their data block by block.
void bind_intervals(nb::module_& m) {
    using Bounds = Rows<double>;
    m.def(
        "box_widths",
        [](Bounds low, Bounds high, Out2 widths, Out1 lows, Out1 highs, int threads) {
            nb::gil_scoped_release release;
            box_widths(low.data(), high.data(), low.shape(0), static_cast<int>(low.shape(1)),
                       widths.data(), lows.data(), highs.data(), threads);
        },
        array("low"), array("high"), array("widths"), array("lower_sum"), array("upper_sum"), "threads"_a);

    m.def(
        "box_minimax",
        [](Bounds low, Bounds high, Out1 value, int threads) {
            nb::gil_scoped_release release;
            box_minimax(low.data(), high.data(), low.shape(0), static_cast<int>(low.shape(1)),
                        value.data(), threads);
        },
        array("low"), array("high"), array("value"), "threads"_a);

    m.def(
        "box_max_entropy",
        [](Bounds low, Bounds high, Out1 value, std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            box_max_entropy(low.data(), high.data(), low.shape(0), static_cast<int>(low.shape(1)),
                            value.data(), data_or_null(distribution), threads);
        },
        array("low"), array("high"), array("value"), maybe("distribution"), "threads"_a);

    m.def(
        "ball_minimax",
        [](Rows<double> center, Weights radius, Out1 value, int threads) {
            nb::gil_scoped_release release;
            ball_minimax(center.data(), radius.data(), center.shape(0),
                         static_cast<int>(center.shape(1)), value.data(), threads);
        },
        array("center"), array("radius"), array("value"), "threads"_a);

    m.def(
        "ball_lower_sum",
        [](Rows<double> center, Weights radius, Out1 value, int threads) {
            nb::gil_scoped_release release;
            ball_lower_sum(center.data(), radius.data(), center.shape(0),
                           static_cast<int>(center.shape(1)), value.data(), threads);
        },
        array("center"), array("radius"), array("value"), "threads"_a);

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
        "ball"_a, "upper"_a, array("center"), array("size"), array("value"),
        maybe("distribution"), "threads"_a);

    m.def(
        "box_min_entropy",
        [](Bounds low, Bounds high, std::int64_t max_nodes, Out1 value, Out1 error,
           std::optional<Out2> distribution, int threads) {
            nb::gil_scoped_release release;
            box_min_entropy(low.data(), high.data(), low.shape(0), static_cast<int>(low.shape(1)),
                            max_nodes, value.data(), error.data(), data_or_null(distribution),
                            threads);
        },
        array("low"), array("high"), "max_nodes"_a, array("value"), array("error"),
        maybe("distribution"), "threads"_a);

    m.def(
        "balanced_partition",
        [](Rows<double> weights, Weights cap, Out1 lower, Out1 upper, int threads) {
            nb::gil_scoped_release release;
            balanced_partition(weights.data(), cap.data(), weights.shape(0),
                             static_cast<int>(weights.shape(1)), lower.data(), upper.data(),
                             threads);
        },
        array("weights"), array("cap"), array("lower"), array("upper"), "threads"_a);

    m.def(
        "excess_sums",
        [](Rows<double> weights, Weights threshold, Weights size_weights, Out1 value,
           int threads) {
            nb::gil_scoped_release release;
            excess_sums(weights.data(), threshold.data(), weights.shape(0),
                        static_cast<int>(weights.shape(1)), size_weights.data(), value.data(),
                        threads);
        },
        array("weights"), array("threshold"), array("size_weights"), array("value"), "threads"_a);
}

void bind_resampled_risks(nb::module_& m) {
    m.def(
        "resampled_risks",
        [](View<const std::int32_t, 2> order, View<const std::uint8_t, 2> last, Weights loss,
           std::optional<Weights> weight, Weights cut, std::uint64_t seed, Out1 total_weight,
           Out1 total_loss, Out2 risk, Out2 generalized, View<double, 3> cut_loss,
           View<double, 3> cut_risk, int threads) {
            nb::gil_scoped_release release;
            const ScoredRows rows{order.shape(1), order.shape(0), cut.shape(0), order.data(),
                                  last.data(),    loss.data(),    data_or_null(weight), cut.data()};
            const ResampledSums sums{total_weight.data(), total_loss.data(), risk.data(),
                                     generalized.data(),  cut_loss.data(),   cut_risk.data()};
            resampled_risks(rows, seed, total_weight.shape(0), sums, threads);
        },
        array("order"), array("last"), array("loss"), maybe("weight"), array("cut"), "seed"_a,
        array("total_weight"), array("total_loss"), array("risk"), array("generalized"),
        array("cut_loss"), array("cut_risk"), "threads"_a);
}

const char* instruction_set() {
#if CREDALENS_SEVERAL_SETS
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
    if (_import_array() < 0) throw nb::python_error();
    bind<double>(m);
    bind<float>(m);
    bind_pullbacks<double>(m);
    bind_pullbacks<float>(m);
    m.def(
        "hartley_weights",
        [](int K, Out1 w, Out1 log_v) {
            nb::gil_scoped_release release;
            hartley_weights(K, w.data(), log_v.data());
        },
        "K"_a, array("w"), array("log_v"));
    bind_sets<double>(m);
    bind_sets<float>(m);
    bind_intervals(m);
    bind_resampled_risks(m);
    bind_second_order(m);
    m.def("call_whole_array", &call_whole_array, "kernel"_a, array("block"), "shapes"_a, "max_bytes"_a,
          "arguments"_a = nb::tuple());
    m.def("instruction_set", &instruction_set);
    m.def("default_num_threads", &default_num_threads);
}
