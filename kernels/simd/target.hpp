// Compiles a hot loop for several instruction sets; the loader picks the best one at run time.
//
// Put CREDALENS_CLONES on a plain (non-template, non-inline) function that takes a range of
// instances, and CREDALENS_INLINE on everything it calls: only what is inlined into a clone is
// compiled for the clone's instruction set (a lambda or a std:: function left as a call is not).
#pragma once

#include <cstddef>  // says which C library it is: the loader of musl cannot pick

// GCC knows these instruction sets by name since its version 12.
#if !defined(CREDALENS_SEVERAL_SETS)
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && __GNUC__ >= 12 && \
    !defined(__clang__)
#define CREDALENS_SEVERAL_SETS 1
#else
#define CREDALENS_SEVERAL_SETS 0
#endif
#endif

#if CREDALENS_SEVERAL_SETS && !defined(CREDALENS_NO_CLONES)
#define CREDALENS_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CREDALENS_CLONES
#endif

#if defined(__GNUC__) || defined(__clang__)
#define CREDALENS_INLINE inline __attribute__((always_inline))
#define CREDALENS_RESTRICT __restrict__
#else
#define CREDALENS_INLINE inline
#define CREDALENS_RESTRICT
#endif

// Rows are padded to whole vectors of this many doubles, so that no loop has a remainder and every
// row of an aligned matrix is aligned.
constexpr int kStep = 8;

constexpr int whole_steps(int size) { return (size + kStep - 1) / kStep * kStep; }

// 1, but the compiler does not know. On some machines the units that compare are those that add, but
// not those that multiply and add: where much is compared, x * hidden_one() + y is a faster x + y.
CREDALENS_INLINE double hidden_one() {
    double one = 1.0;
#if CREDALENS_SEVERAL_SETS
    asm("" : "+x"(one));
#endif
    return one;
}
