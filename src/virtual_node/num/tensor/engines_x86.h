#pragma once

// Engines of instruction sets beyond the baseline. Their files are compiled with options of their own and include
// nothing that has inline functions in common with other files.

namespace fb::num::tensor {

struct Engine;

extern const Engine kAvx2Engine;    // AVX2, FMA, F16C
extern const Engine kAvx512Engine;  // AVX-512 F, BW, DQ, VL
extern const Engine kAmxEngine;     // … and AMX-BF16, AMX-INT8

// Asks the kernel for the use of tiles by this process; false if there are none.
bool request_tiles();

}  // namespace fb::num::tensor
