#include "bindings/arguments.hpp"
#include "topk/topk_entropy.hpp"
#include "topk/topk_lists.hpp"
#include "topk/topk_tv.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

template <class Id>
using Ids = View<const Id, 3>;  // (n, M, k)

template <class Id, class T>
Topk<Id, T> topk(const Ids<Id>& ids, const Members<T>& probs, std::int64_t K) {
    if (ids.shape(0) != probs.shape(0) || ids.shape(1) != probs.shape(1) ||
        ids.shape(2) != probs.shape(2))
        throw nb::value_error("ids and probs have different shapes");
    return {ids.data(), probs.data(), ids.shape(0), axis_size(ids, 1), axis_size(ids, 2), K};
}

template <class Id, class T>
void bind_dtypes(nb::module_& m) {
    m.def(
        "topk_first_invalid",
        [](Ids<Id> ids, Members<T> probs, std::int64_t K, double tolerance, int threads) {
            const auto P = topk(ids, probs, K);
            nb::gil_scoped_release release;
            return topk_first_invalid(P, tolerance, threads);
        },
        "ids"_a, "probs"_a, "n_classes"_a, "tolerance"_a, "threads"_a);

    m.def(
        "topk_widths",
        [](Ids<Id> ids, Members<T> probs, std::int64_t K, OutIndices width, Out2 rest,
           int threads) {
            const auto P = topk(ids, probs, K);
            nb::gil_scoped_release release;
            topk_widths(P, width.data(), rest.data(), threads);
        },
        "ids"_a, "probs"_a, "n_classes"_a, "width"_a, "rest"_a, "threads"_a);

    m.def(
        "topk_union",
        [](Ids<Id> ids, Members<T> probs, std::int64_t K, std::optional<OutPairs> classes,
           View<double, 3> lower, std::optional<View<double, 3>> upper, int threads) {
            const auto P = topk(ids, probs, K);
            nb::gil_scoped_release release;
            topk_union(P, axis_size(lower, 2), data_or_null(classes), lower.data(),
                       data_or_null(upper), threads);
        },
        "ids"_a, "probs"_a, "n_classes"_a, optional("classes"), "lower"_a, optional("upper"),
        "threads"_a);

    m.def(
        "topk_vote",
        [](Ids<Id> ids, Members<T> probs, std::int64_t K, OutIndices winner, int threads) {
            const auto P = topk(ids, probs, K);
            nb::gil_scoped_release release;
            topk_vote(P, winner.data(), threads);
        },
        "ids"_a, "probs"_a, "n_classes"_a, "winner"_a, "threads"_a);

    m.def(
        "topk_tv",
        [](Ids<Id> ids, Members<T> probs, std::int64_t K, Out1 total, Out1 lower, Out1 upper,
           Out1 epistemic, Out1 total_error, Out1 upper_error, Out1 epistemic_error, int threads) {
            const auto P = topk(ids, probs, K);
            nb::gil_scoped_release release;
            topk_tv(P,
                    {total.data(), lower.data(), upper.data(), epistemic.data(),
                     total_error.data(), upper_error.data(), epistemic_error.data()},
                    threads);
        },
        "ids"_a, "probs"_a, "n_classes"_a, "total"_a, "lower"_a, "upper"_a, "epistemic"_a,
        "total_error"_a, "upper_error"_a, "epistemic_error"_a, "threads"_a);

    m.def(
        "topk_max_entropy",
        [](Ids<Id> ids, Members<T> probs, std::int64_t K, Out1 value, Out1 error, int threads) {
            const auto P = topk(ids, probs, K);
            nb::gil_scoped_release release;
            topk_max_entropy(P, value.data(), error.data(), threads);
        },
        "ids"_a, "probs"_a, "n_classes"_a, "value"_a, "error"_a, "threads"_a);

    m.def(
        "topk_min_entropy",
        [](Ids<Id> ids, Members<T> probs, std::int64_t K, Out1 value, Out1 error, int threads) {
            const auto P = topk(ids, probs, K);
            nb::gil_scoped_release release;
            topk_min_entropy(P, value.data(), error.data(), threads);
        },
        "ids"_a, "probs"_a, "n_classes"_a, "value"_a, "error"_a, "threads"_a);

    m.def(
        "topk_second_order",
        [](Ids<Id> ids, Members<T> probs, std::int64_t K, std::optional<Rows<double>> weights,
           Out1 total, Out1 aleatoric, Out1 epistemic, Out1 total_error, Out1 aleatoric_error,
           Out1 epistemic_error, bool zero_one, int threads) {
            const auto P = topk(ids, probs, K);
            const TopkSecondOrder out{total.data(),       aleatoric.data(),
                                      epistemic.data(),   total_error.data(),
                                      aleatoric_error.data(), epistemic_error.data()};
            nb::gil_scoped_release release;
            if (zero_one)
                topk_zero_one(P, data_or_null(weights), out, threads);
            else
                topk_information(P, data_or_null(weights), out, threads);
        },
        "ids"_a, "probs"_a, "n_classes"_a, optional("weights"), "total"_a, "aleatoric"_a,
        "epistemic"_a, "total_error"_a, "aleatoric_error"_a, "epistemic_error"_a, "zero_one"_a,
        "threads"_a);
}

}  // namespace

// Truncated predictions.
void bind_topk(nb::module_& m) {
    bind_dtypes<std::int32_t, float>(m);
    bind_dtypes<std::int32_t, double>(m);
    bind_dtypes<std::int64_t, float>(m);
    bind_dtypes<std::int64_t, double>(m);
}

}  // namespace credalens
