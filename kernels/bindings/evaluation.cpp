#include "bindings/arguments.hpp"
#include "evaluation/bucket_counts.hpp"
#include "evaluation/resampled_risks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {

// Bootstrap of risk-coverage curves, histograms.
void bind_evaluation(nb::module_& m) {
    m.def(
        "bucket_counts",
        [](View<const float, 1> values, int shift, View<std::int64_t, 1> counts) {
            nb::gil_scoped_release release;
            return bucket_counts(values.data(), values.shape(0), shift, counts.data(),
                                 counts.shape(0));
        },
        "values"_a, "shift"_a, "counts"_a);
    m.def(
        "code_counts",
        [](View<const std::int32_t, 1> codes, View<std::int64_t, 1> counts) {
            nb::gil_scoped_release release;
            code_counts(codes.data(), codes.shape(0), counts.data(), counts.shape(0));
        },
        "codes"_a, "counts"_a);
    m.def(
        "resampled_risks",
        [](View<const std::int32_t, 2> order, View<const std::uint8_t, 2> last, Vector loss,
           std::optional<Vector> weight, Vector cut, std::uint64_t seed, Out1 total_weight,
           Out1 total_loss, Out2 risk, Out2 generalized, View<double, 3> cut_loss,
           View<double, 3> cut_risk, int threads) {
            nb::gil_scoped_release release;
            const ScoredRows rows{order.shape(1),       order.shape(0), cut.shape(0),
                                  order.data(),         last.data(),    loss.data(),
                                  data_or_null(weight), cut.data()};
            const ResampledSums sums{total_weight.data(), total_loss.data(), risk.data(),
                                     generalized.data(),  cut_loss.data(),   cut_risk.data()};
            resampled_risks(rows, seed, total_weight.shape(0), sums, threads);
        },
        "order"_a, "last"_a, "loss"_a, optional("weight"), "cut"_a, "seed"_a, "total_weight"_a,
        "total_loss"_a, "risk"_a, "generalized"_a, "cut_loss"_a, "cut_risk"_a, "threads"_a);
}

}  // namespace credalens
