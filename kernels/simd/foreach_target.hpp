// Compiles what is in CREDALENS_BODY, a name in quotes, for several instruction sets, in a namespace
// each; CREDALENS_BEST(function, ...) calls the one of this machine. To be included once in a source
// file, inside its own namespace, after simd/target.hpp, <cstdint> and, for several sets, <immintrin.h>.
//
// Vector types are split up for the instruction set of the function that they are written in, which
// for the clones of simd/target.hpp is the baseline; so each set has functions of its own here.

namespace baseline {
#define CREDALENS_LANES 2
#include "simd/vector-inl.hpp"
#include CREDALENS_BODY
#undef CREDALENS_LANES
}  // namespace baseline

#if CREDALENS_SEVERAL_SETS
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
namespace v3 {
#define CREDALENS_LANES 4
#include "simd/vector-inl.hpp"
#include CREDALENS_BODY
#undef CREDALENS_LANES
}  // namespace v3
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
namespace v4 {
#define CREDALENS_LANES 8
#include "simd/vector-inl.hpp"
#include CREDALENS_BODY
#undef CREDALENS_LANES
}  // namespace v4
#pragma GCC pop_options
#define CREDALENS_BEST(function, ...)                             \
    (machine() == 4   ? v4::function(__VA_ARGS__)                 \
     : machine() == 3 ? v3::function(__VA_ARGS__)                 \
                      : baseline::function(__VA_ARGS__))

inline int machine() {
    static const int best = [] {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("x86-64-v4")) return 4;
        return __builtin_cpu_supports("x86-64-v3") ? 3 : 1;
    }();
    return best;
}
#else
#define CREDALENS_BEST(function, ...) baseline::function(__VA_ARGS__)
#endif
