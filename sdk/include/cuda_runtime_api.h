// The runtime API without the kernel language.
#pragma once
#include "driver_types.h"
