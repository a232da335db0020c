// Fixed-width vectors in the compilers' own notation: eight float64 lanes, whatever the machine has.
#pragma once

#include <cstdint>
#include <cstring>

#include "simd/target.hpp"

namespace credalens {

constexpr int kLanes = 8;

typedef double Double8 __attribute__((vector_size(64)));
typedef float Float8 __attribute__((vector_size(32)));
typedef std::int64_t Int8 __attribute__((vector_size(64)));

CREDALENS_INLINE Double8 load8(const double* x) {
    Double8 v;
    std::memcpy(&v, x, sizeof v);
    return v;
}

CREDALENS_INLINE Double8 load8(const float* x) {
    Float8 v;
    std::memcpy(&v, x, sizeof v);
    return __builtin_convertvector(v, Double8);
}

CREDALENS_INLINE void store8(double* x, const Double8& v) { std::memcpy(x, &v, sizeof v); }

CREDALENS_INLINE Double8 max8(const Double8& a, const Double8& b) { return a > b ? a : b; }
CREDALENS_INLINE Double8 min8(const Double8& a, const Double8& b) { return a < b ? a : b; }

// The order of the additions is fixed, so that a sum depends on its terms alone.
CREDALENS_INLINE double sum8(const Double8& v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

}  // namespace credalens
