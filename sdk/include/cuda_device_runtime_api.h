// Kept for programs that name it: everything is in cuda_runtime_api.h.
#pragma once
#include "cuda_runtime_api.h"
