#pragma once

// The functions of CUDA's device library that the C library lacks, in double. The tests hold them to a relative error
// of 1e-14 (the inverses), 1e-13 (erfcx) and an absolute one of 1e-15 (sinpi, cospi).
namespace fb::num {

double sinpi(double x);  // sin(πx), exact at multiples of 1/2
double cospi(double x);
double exp10(double x);
double rcbrt(double x);
double erfcx(double x);  // exp(x²) erfc(x)
double erfinv(double x);
double erfcinv(double x);
double normcdf(double x);
double normcdfinv(double x);

// Bessel functions. Orders beyond ±2^20 give NaN: a guest must not keep the host busy for minutes with one call.
double bessel_jn(int order, double x);
double bessel_yn(int order, double x);
double bessel_i0(double x);
double bessel_i1(double x);

}  // namespace fb::num
