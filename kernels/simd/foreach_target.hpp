// Compiles the file CREDALENS_TARGET_INCLUDE once for each instruction set, in a namespace of its
// own, and selects one of them at run time.
//
//     #define CREDALENS_TARGET_INCLUDE "hull/class_bounds-inl.hpp"
//     #include "simd/foreach_target.hpp"
//
//     CREDALENS_DISPATCH(class_bounds, P, n, M, K, lower, upper);
//
// A source file includes it once, after all other headers: a header that is included here would be
// compiled for one target, and the linker might use it for another. Templates of the standard
// library that are instantiated here are compiled for the baseline.
//
// Files that are included here end in -inl.hpp. They use the vector type of simd/vector-inl.hpp,
// whose number of lanes depends on the target. Functions attributed with target_clones would not
// do: GCC splits vector types for the baseline before it clones a function.
#include "simd/target.hpp"

namespace credalens {
namespace {

namespace baseline {
#define CREDALENS_LANES 2
#include "simd/vector-inl.hpp"
#include CREDALENS_TARGET_INCLUDE
#undef CREDALENS_LANES
}  // namespace baseline

#if CREDALENS_MULTI_TARGET
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
namespace x86_64_v3 {
#define CREDALENS_LANES 4
#include "simd/vector-inl.hpp"
#include CREDALENS_TARGET_INCLUDE
#undef CREDALENS_LANES
}  // namespace x86_64_v3
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
namespace x86_64_v4 {
#define CREDALENS_LANES 8
#include "simd/vector-inl.hpp"
#include CREDALENS_TARGET_INCLUDE
#undef CREDALENS_LANES
}  // namespace x86_64_v4
#pragma GCC pop_options

#define CREDALENS_DISPATCH(function, ...)                                    \
    (best_target() == Target::x86_64_v4   ? x86_64_v4::function(__VA_ARGS__) \
     : best_target() == Target::x86_64_v3 ? x86_64_v3::function(__VA_ARGS__) \
                                          : baseline::function(__VA_ARGS__))
#else
#define CREDALENS_DISPATCH(function, ...) baseline::function(__VA_ARGS__)
#endif

}  // namespace
}  // namespace credalens
