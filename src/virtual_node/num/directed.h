#pragma once

#include "virtual_node/num/float_format.h"

// One operation in one of the directed modes rz, rm, rp (rn works too). Exact by the host's own rounding modes; the
// floating-point environment is back as it was when a call returns. NaNs come back as the host makes them: arith.h,
// the only caller, gives them their guest codes.
namespace fb::num {

float add_directed(Rounding rounding, float a, float b);
float mul_directed(Rounding rounding, float a, float b);
float div_directed(Rounding rounding, float a, float b);
float fma_directed(Rounding rounding, float a, float b, float c);
float sqrt_directed(Rounding rounding, float a);

double add_directed(Rounding rounding, double a, double b);
double mul_directed(Rounding rounding, double a, double b);
double div_directed(Rounding rounding, double a, double b);
double fma_directed(Rounding rounding, double a, double b, double c);
double sqrt_directed(Rounding rounding, double a);

}  // namespace fb::num
