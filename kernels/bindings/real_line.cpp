#include "bindings/arguments.hpp"
#include "real_line/real_line.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

using OptionalOut = std::optional<Out1>;
using OptionalWeights = std::optional<Out2>;
using OptionalRows = std::optional<Rows<double>>;

RealLineResults as_results(const OptionalOut& total, const OptionalOut& lower,
                           const OptionalOut& gap, const OptionalOut& decision,
                           const OptionalOut& diameter, const OptionalWeights& weights) {
    return {data_or_null(total),    data_or_null(lower),    data_or_null(gap),
            data_or_null(decision), data_or_null(diameter), data_or_null(weights)};
}

MixtureQuantiles as_wanted(const OptionalRows& weights, const Vector& levels,
                           const Out2& quantiles) {
    return {data_or_null(weights), levels.data(), axis_size(levels, 0), quantiles.data()};
}

template <class T>
void bind_dtype(nb::module_& m) {
    m.def(
        "sample_uncertainty",
        [](Members<T> x, OptionalOut total, OptionalOut lower, OptionalOut gap,
           OptionalOut decision, OptionalOut diameter, OptionalWeights weights, int threads) {
            nb::gil_scoped_release release;
            sample_uncertainty(x.data(), x.shape(0), axis_size(x, 1), axis_size(x, 2),
                               as_results(total, lower, gap, decision, diameter, weights),
                               threads);
        },
        "samples"_a, optional("total"), optional("lower"), optional("gap"), optional("decision"),
        optional("diameter"), optional("weights"), "threads"_a);

    m.def(
        "piecewise_uncertainty",
        [](Members<T> x, Vector levels, OptionalOut total, OptionalOut lower, OptionalOut gap,
           OptionalOut decision, OptionalOut diameter, OptionalWeights weights, int threads) {
            nb::gil_scoped_release release;
            piecewise_uncertainty(x.data(), x.shape(0), axis_size(x, 1), axis_size(x, 2),
                                 levels.data(),
                                 as_results(total, lower, gap, decision, diameter, weights),
                                 threads);
        },
        "values"_a, "levels"_a, optional("total"), optional("lower"), optional("gap"),
        optional("decision"), optional("diameter"), optional("weights"), "threads"_a);

    m.def(
        "normal_uncertainty",
        [](Members<T> x, OptionalOut total, OptionalOut lower, OptionalOut gap,
           OptionalOut decision, OptionalOut diameter, OptionalWeights weights, int threads) {
            nb::gil_scoped_release release;
            normal_uncertainty(x.data(), x.shape(0), axis_size(x, 1),
                               as_results(total, lower, gap, decision, diameter, weights),
                               threads);
        },
        "parameters"_a, optional("total"), optional("lower"), optional("gap"),
        optional("decision"), optional("diameter"), optional("weights"), "threads"_a);

    m.def(
        "sample_quantiles",
        [](Members<T> x, OptionalRows weights, Vector wanted, Out2 quantiles, int threads) {
            nb::gil_scoped_release release;
            sample_quantiles(x.data(), x.shape(0), axis_size(x, 1), axis_size(x, 2),
                             as_wanted(weights, wanted, quantiles), threads);
        },
        "samples"_a, optional("weights"), "wanted"_a, "quantiles"_a, "threads"_a);

    m.def(
        "piecewise_quantiles",
        [](Members<T> x, Vector levels, OptionalRows weights, Vector wanted, Out2 quantiles,
           int threads) {
            nb::gil_scoped_release release;
            piecewise_quantiles(x.data(), x.shape(0), axis_size(x, 1), axis_size(x, 2),
                                levels.data(), as_wanted(weights, wanted, quantiles), threads);
        },
        "values"_a, "levels"_a, optional("weights"), "wanted"_a, "quantiles"_a, "threads"_a);

    m.def(
        "normal_quantiles",
        [](Members<T> x, Vector z, OptionalRows weights, Vector wanted, Out2 quantiles,
           int threads) {
            nb::gil_scoped_release release;
            normal_quantiles(x.data(), x.shape(0), axis_size(x, 1), z.data(),
                             as_wanted(weights, wanted, quantiles), threads);
        },
        "parameters"_a, "z"_a, optional("weights"), "wanted"_a, "quantiles"_a, "threads"_a);
}

}  // namespace

void bind_real_line(nb::module_& m) {
    bind_dtype<double>(m);
    bind_dtype<float>(m);
}

}  // namespace credalens
