// A library has at least one source of its own; what these hold is in their layers (tools/cmake/DropIn.cmake).
