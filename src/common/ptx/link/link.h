#pragma once

// Two modules as one: kernels of a judge's driver call functions of a candidate, and nothing goes the other way.

#include "common/base/result.h"
#include "common/ptx/module.h"

namespace fb::ptx {

// `candidate` with the functions and variables of `driver` behind its own, which are marked `of_driver`. A function
// that `driver` declares and does not define is the one that `candidate` defines under that name; other parameters are
// an Error. Names of `driver` are never looked up for `candidate`: the same name may stand in both, and means two
// things.
Result<Module> link(Module candidate, Module driver);

}  // namespace fb::ptx
