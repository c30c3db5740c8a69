// Declares what the machine supplies. Names and types are those of C, so the host's versions stand beside these.
#pragma once
#pragma GCC system_header
#include "fabricbench/language.h"

extern "C" {
#define EXTERNAL(result, name, parameters) __device__ result name parameters;
#include "fabricbench/external_functions.def"
}
