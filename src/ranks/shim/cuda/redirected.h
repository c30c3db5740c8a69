#pragma once

// What libfabricbench_redirect.so asks the client library for. It may be called before any constructor has run.

// The function of the runtime API with this name, or the one that compiled code calls; null: there is none.
extern "C" void* fabricbench_runtime_function(const char* name);
