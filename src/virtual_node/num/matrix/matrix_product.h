#pragma once

// Products of large matrices, with one stated order of additions: each element of the result is a sum that begins with
// zero and takes its products in order of k, by fused multiply-add in the type of the sum, rounded to nearest even,
// with subnormal numbers. Kernels differ in speed alone: all give the same bits on every processor. (NaN: sign and
// payload may differ; callers make it canonical.)
//
// Factors are packed by the caller, because only it knows their element types: A in panels of `rows` rows, B in panels
// of `columns` columns; in a panel the elements of one k are beside each other, and k follows k. Panels at the edge are
// filled up with zeros.

#include "virtual_node/num/matrix/kernel.h"

namespace fb::num::matrix {

// The fastest of this processor. T: float, double.
template <class T>
const Kernel<T>& kernel();

// The specification: a plain loop.
template <class T>
const Kernel<T>& portable_kernel();

}  // namespace fb::num::matrix
