#include <cstdio>

#include "ripples.h"

// A host compiler sees the library's header, too.
void report(const char* what, float value) { std::printf("%s %.2f\n", what, static_cast<double>(value)); }
