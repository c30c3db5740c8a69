// The types of the runtime and the vectors.
#pragma once
#include "driver_types.h"
#include "vector_types.h"
