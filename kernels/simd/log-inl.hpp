// Natural logarithm of positive normal numbers within 1 ulp, after fdlibm. It needs only integer
// arithmetic that every vector instruction set has. `Int` is the unsigned integer, or vector of
// integers, of the size of `Real`.
template <class Real, class Int>
CREDALENS_INLINE Real log_of(const Real& x) {
    const Int one = Int{} + 0x3ff0000000000000, sqrt_half = Int{} + 0x3fe6a09e667f3bcd;
    Int bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits += one - sqrt_half;
    const Int exponent_bits = (bits >> 52) | 0x4330000000000000;
    const Int mantissa_bits = (bits & 0x000fffffffffffff) + sqrt_half;
    Real k, m;
    __builtin_memcpy(&k, &exponent_bits, sizeof k);
    __builtin_memcpy(&m, &mantissa_bits, sizeof m);
    k -= 4503599627370496.0 + 1023.0;
    const Real f = m - 1.0, s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    const Real series =
        z * (6.666666666666735130e-01 +
             z * (3.999999999940941908e-01 +
                  z * (2.857142874366239149e-01 +
                       z * (2.222219843214978396e-01 +
                            z * (1.818357216161805012e-01 +
                                 z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01))))));
    return k * 6.93147180369123816490e-01 -
           ((half - (s * (half + series) + k * 1.90821492927058770002e-10)) - f);
}

CREDALENS_INLINE double fast_log(double x) {
    return log_of<double, std::uint64_t>(x);
}
CREDALENS_INLINE Vec fast_log(const Vec& x) {
    return log_of<Vec, Bits>(x);
}

// x ln x, 0 for 0.
CREDALENS_INLINE Vec xlogx(const Vec& x) {
    return x * fast_log(max(x, broadcast(1e-300)));
}
