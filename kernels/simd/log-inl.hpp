// Included inside a namespace, once for each instruction set: see simd/instance_per_lane.cpp.

// ln x for normal positive x within 1 ulp, after fdlibm, of a number or of a vector of them. Integer
// arithmetic that every vector instruction set has, so that loops over it vectorise without a vector
// maths library. Bits is the unsigned integer, or vector, of the same size.
template <class Real, class Bits>
CREDALENS_INLINE Real log_of(const Real& x) {
    const Bits one = Bits{} + 0x3ff0000000000000, sqrt_half = Bits{} + 0x3fe6a09e667f3bcd;
    Bits bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits += one - sqrt_half;
    const Bits exponent_bits = (bits >> 52) | 0x4330000000000000;
    const Bits mantissa_bits = (bits & 0x000fffffffffffff) + sqrt_half;
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
        z * (1.531383769920937332e-01 +
        z *  1.479819860511658591e-01))))));
    return k * 6.93147180369123816490e-01 -
           ((half - (s * (half + series) + k * 1.90821492927058770002e-10)) - f);
}
