#include "bindings/arguments.hpp"
#include "decisions/maximal_actions.hpp"
#include "entropy/max_entropy.hpp"
#include "entropy/min_entropy.hpp"
#include "games/matrix_game.hpp"
#include "hull/min_norm_point.hpp"
#include "hull/pair_divergence.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

template <class T>
void bind_dtype(nb::module_& m) {
    m.def(
        "solve_games",
        [](Members<T> A, Out1 value, Out1 gap, std::optional<Out2> weights,
           std::optional<Out2> dual, int threads) {
            nb::gil_scoped_release release;
            solve_games(A.data(), A.shape(0), axis_size(A, 1), axis_size(A, 2), value.data(),
                        gap.data(), data_or_null(weights), data_or_null(dual), threads);
        },
        "payoff"_a, "value"_a, "gap"_a, optional("weights"), optional("dual"), "threads"_a);

    m.def(
        "maximal_actions",
        [](Members<T> U, double tolerance, View<std::uint8_t, 2> status, int threads) {
            nb::gil_scoped_release release;
            maximal_actions(U.data(), U.shape(0), axis_size(U, 1), axis_size(U, 2), tolerance,
                            status.data(), threads);
        },
        "utilities"_a, "tolerance"_a, "status"_a, "threads"_a);

    m.def(
        "max_entropy",
        [](Members<T> P, Out1 value, Out1 gap, std::optional<Out2> weights,
           std::optional<Out2> distribution, int threads, double tolerance) {
            nb::gil_scoped_release release;
            return max_entropy(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2), value.data(),
                               gap.data(), data_or_null(weights), data_or_null(distribution),
                               threads, tolerance);
        },
        "members"_a, "value"_a, "gap"_a, optional("weights"), optional("distribution"), "threads"_a,
        "tolerance"_a = -1.0);

    m.def(
        "min_entropy",
        [](Members<T> P, Out1 value, std::optional<OutIndices> member, int threads,
           double tolerance) {
            nb::gil_scoped_release release;
            return min_entropy(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2), value.data(),
                               data_or_null(member), threads, tolerance);
        },
        "members"_a, "value"_a, optional("member"), "threads"_a, "tolerance"_a = -1.0);

    m.def(
        "min_norm_point",
        [](Members<T> P, Out1 value, Out1 gap, std::optional<Out2> weights,
           std::optional<Out2> point, int threads, double tolerance) {
            nb::gil_scoped_release release;
            return min_norm_point(P.data(), P.shape(0), axis_size(P, 1), axis_size(P, 2),
                                  value.data(), gap.data(), data_or_null(weights),
                                  data_or_null(point), threads, tolerance);
        },
        "members"_a, "value"_a, "gap"_a, optional("weights"), optional("point"), "threads"_a,
        "tolerance"_a = -1.0);

    m.def(
        "pair_divergence",
        [](Members<T> P, Out1 value, int threads, double tolerance, int kind) {
            nb::gil_scoped_release release;
            return pair_divergence(static_cast<Divergence>(kind), P.data(), P.shape(0),
                                   axis_size(P, 1), axis_size(P, 2), value.data(), threads,
                                   tolerance);
        },
        "members"_a, "value"_a, "threads"_a, "tolerance"_a, "kind"_a);
}

}  // namespace

// Solvers: matrix games, entropies of hulls, scoring rules.
void bind_solvers(nb::module_& m) {
    bind_dtype<double>(m);
    bind_dtype<float>(m);
}

}  // namespace credalens
