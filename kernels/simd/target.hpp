// Instruction sets that kernels are compiled for, and attributes of the compilers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

// GCC names these instruction sets since version 12. Other compilers build the baseline only.
#if !defined(CREDALENS_MULTI_TARGET)
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && __GNUC__ >= 12 && \
    !defined(__clang__)
#define CREDALENS_MULTI_TARGET 1
#else
#define CREDALENS_MULTI_TARGET 0
#endif
#endif

#if CREDALENS_MULTI_TARGET
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define CREDALENS_INLINE inline __attribute__((always_inline))
#define CREDALENS_RESTRICT __restrict__
#else
#define CREDALENS_INLINE inline
#define CREDALENS_RESTRICT
#endif

namespace credalens {

enum class Target { baseline, x86_64_v3, x86_64_v4 };

// The best target that this CPU supports.
inline Target best_target() {
#if CREDALENS_MULTI_TARGET
    static const Target best = [] {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("x86-64-v4")) return Target::x86_64_v4;
        return __builtin_cpu_supports("x86-64-v3") ? Target::x86_64_v3 : Target::baseline;
    }();
    return best;
#else
    return Target::baseline;
#endif
}

}  // namespace credalens
