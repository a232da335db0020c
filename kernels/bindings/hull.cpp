#include "bindings/arguments.hpp"
#include "hull/class_bounds.hpp"
#include "hull/closed_forms.hpp"
#include "hull/euclidean_diameter.hpp"
#include "hull/leave_one_out.hpp"
#include "hull/majority_vote.hpp"
#include "hull/ordinal_diameters.hpp"
#include "games/small_games.hpp"
#include "hull/tv_planes.hpp"
#include "hull/tv_uncertainty.hpp"
#include "hull/tv_vjp.hpp"
#include "runtime/gather_instances.hpp"
#include "runtime/validate_rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

template <class T>
void bind_dtype(nb::module_& m) {
    m.def(
        "first_invalid_row",
        [](Rows<T> rows, double tolerance, int threads) {
            nb::gil_scoped_release release;
            return first_invalid_row(rows.data(), rows.shape(0), axis_size(rows, 1), tolerance,
                                     threads);
        },
        "rows"_a, "tolerance"_a, "threads"_a);

    m.def(
        "gather_instances",
        [](PlanesView<T> planes, View<T, 3> out, int threads) {
            for (int axis = 0; axis < 3; ++axis)
                if (planes.shape(axis) != out.shape(axis))
                    throw nb::value_error("planes and out need the same shape");
            nb::gil_scoped_release release;
            gather_instances(planes.data(), out.shape(0), axis_size(out, 1), axis_size(out, 2),
                             planes.stride(1), planes.stride(2), out.data(), threads);
        },
        "planes"_a, "out"_a, "threads"_a);

    m.def(
        "closed_forms",
        [](Members<T> P, std::optional<Out1> max_lower, std::optional<Out1> max_upper,
           std::optional<Out1> diameter, std::optional<Out1> lower_sum, int threads,
           double tolerance, std::optional<OutPairs> pairs, int method) {
            nb::gil_scoped_release release;
            return closed_forms(
                P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2),
                {data_or_null(max_lower), data_or_null(max_upper), data_or_null(diameter),
                 data_or_null(lower_sum), data_or_null(pairs)},
                static_cast<PairMethod>(method), threads, tolerance);
        },
        "members"_a, optional("max_lower"), optional("max_upper"), optional("diameter"),
        optional("lower_sum"), "threads"_a, "tolerance"_a = -1.0, optional("pairs") = nb::none(),
        "method"_a = 0);

    m.def(
        "class_bounds",
        [](Members<T> P, std::optional<Out2> lower, std::optional<Out2> upper, int threads) {
            nb::gil_scoped_release release;
            class_bounds(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2),
                         data_or_null(lower), data_or_null(upper), threads);
        },
        "members"_a, optional("lower"), optional("upper"), "threads"_a);

    m.def(
        "tv_uncertainty",
        [](Members<T> P, std::optional<Out1> total, std::optional<Out1> lower,
           std::optional<Out1> upper, std::optional<Out1> epistemic, std::optional<Out1> gap,
           int threads, double tolerance, std::optional<OutIndices> vote) {
            if (upper && !(total && lower && gap))
                throw nb::value_error("upper needs total, lower and gap");
            if (vote && !upper) throw nb::value_error("vote needs upper");
            nb::gil_scoped_release release;
            return tv_uncertainty(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2),
                                  {data_or_null(total), data_or_null(lower), data_or_null(upper),
                                   data_or_null(epistemic), data_or_null(gap), data_or_null(vote)},
                                  threads, tolerance);
        },
        "members"_a, optional("total"), optional("lower"), optional("upper"), optional("epistemic"),
        optional("gap"), "threads"_a, "tolerance"_a = -1.0, optional("vote") = nb::none());

    m.def(
        "tv_planes",
        [](PlanesView<T> P, View<T, 1> total, View<T, 1> lower, View<T, 1> upper,
           std::optional<View<T, 1>> epistemic, View<T, 1> gap, int threads, double tolerance) {
            const int M = static_cast<int>(P.shape(1)), K = static_cast<int>(P.shape(2));
            if (!is_small_game(M, K)) throw nb::value_error("too many members or classes");
            nb::gil_scoped_release release;
            return tv_planes(P.data(), P.shape(0), M, K, P.stride(1), P.stride(2),
                             PlaneUncertainty<T>{total.data(), lower.data(), upper.data(),
                                                 data_or_null(epistemic), gap.data()},
                             threads, tolerance);
        },
        "planes"_a, "total"_a, "lower"_a, "upper"_a, optional("epistemic"), "gap"_a, "threads"_a,
        "tolerance"_a);

    m.def(
        "leave_one_out",
        [](Members<T> P, Out1 max_lower, Out1 diameter, Out2 max_lower_increase,
           Out2 diameter_decrease, View<std::uint8_t, 2> in_widest_pair, Out2 square_norm,
           View<std::int32_t, 2> argmax, int threads) {
            nb::gil_scoped_release release;
            const LeaveOneOut out{max_lower.data(),
                                  diameter.data(),
                                  max_lower_increase.data(),
                                  diameter_decrease.data(),
                                  in_widest_pair.data(),
                                  square_norm.data(),
                                  argmax.data()};
            leave_one_out(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2), out, threads);
        },
        "members"_a, "max_lower"_a, "diameter"_a, "max_lower_increase"_a, "diameter_decrease"_a,
        "in_widest_pair"_a, "square_norm"_a, "argmax"_a, "threads"_a);

    m.def(
        "majority_vote",
        [](Members<T> P, std::optional<OutIndices> vote,
           std::optional<View<std::int32_t, 2>> argmax, int threads) {
            nb::gil_scoped_release release;
            majority_vote(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2),
                          data_or_null(vote), data_or_null(argmax), threads);
        },
        "members"_a, optional("vote"), optional("argmax"), "threads"_a);

    m.def(
        "tree_wasserstein_diameter",
        [](Members<T> P, Indices order, Indices start, Indices stop, Vector length, Out1 diameter,
           int threads) {
            nb::gil_scoped_release release;
            const EdgeList edges{order.data(), start.data(), stop.data(), length.data(),
                                 axis_size(length, 0)};
            tree_wasserstein_diameter(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2), edges,
                                      diameter.data(), threads);
        },
        "members"_a, "order"_a, "start"_a, "stop"_a, "length"_a, "diameter"_a, "threads"_a);

    m.def(
        "kolmogorov_diameter",
        [](Members<T> P, Out1 diameter, int threads) {
            nb::gil_scoped_release release;
            kolmogorov_diameter(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2),
                                diameter.data(), threads);
        },
        "members"_a, "diameter"_a, "threads"_a);

    m.def(
        "squared_euclidean_diameter",
        [](Members<T> P, Rows<double> points, Out1 square, int threads) {
            nb::gil_scoped_release release;
            squared_euclidean_diameter(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2),
                                       points.data(), axis_size(points, 1), square.data(), threads);
        },
        "members"_a, "points"_a, "square"_a, "threads"_a);

    m.def(
        "tv_vjp",
        [](Members<T> P, std::optional<Vector> max_lower, std::optional<Vector> max_upper,
           std::optional<Vector> diameter, std::optional<Vector> value,
           std::optional<OutPairs> pairs, std::optional<Out2> weights, std::optional<Out2> dual,
           View<T, 3> gradient, int threads) {
            nb::gil_scoped_release release;
            const TvCotangents loss{data_or_null(max_lower), data_or_null(max_upper),
                                    data_or_null(diameter),  data_or_null(value),
                                    data_or_null(pairs),     data_or_null(weights),
                                    data_or_null(dual)};
            tv_vjp(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2), loss, gradient.data(),
                   threads);
        },
        "members"_a, optional("max_lower"), optional("max_upper"), optional("diameter"),
        optional("value"), optional("pairs"), optional("weights"), optional("dual"), "gradient"_a,
        "threads"_a);
}

}  // namespace

// Closed forms of hulls.
void bind_hull(nb::module_& m) {
    bind_dtype<double>(m);
    bind_dtype<float>(m);
}

}  // namespace credalens
