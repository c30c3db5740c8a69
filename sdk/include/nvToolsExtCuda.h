// The name of NVTX 2 for the header.
#pragma once
#include "nvtx3/nvToolsExtCuda.h"
