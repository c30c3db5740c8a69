// Kept for programs that name it: everything is in cuda_runtime.h.
#pragma once
#include "cuda_runtime.h"
