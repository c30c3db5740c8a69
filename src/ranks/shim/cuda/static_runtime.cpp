// libcudart_static.a. What links a static runtime gets definitions of its functions, as with NVIDIA's: they replace
// weak ones of the same name, with which libraries get along with older runtimes. Each jumps to the function of that
// name in libfabricbench_cuda.so, which `fabricbench exec` loads before the program. The C library alone is used, for
// programs in C.

#include <dlfcn.h>
#include <unistd.h>

extern "C" {

// Before a node was found.
[[noreturn, gnu::used, gnu::visibility("hidden")]] void fabricbench_no_runtime() {
  constexpr char kText[] = "fabricbench: this program needs a virtual node: fabricbench exec PROGRAM\n";
  (void)!write(2, kText, sizeof kText - 1);
  _exit(1);
}

struct FabricbenchRow {
  void* function;
  const char* name;
};
// Named by the linker. NOLINTBEGIN(bugprone-reserved-identifier)
[[gnu::visibility("hidden")]] extern FabricbenchRow __start_fabricbench_runtime[];
[[gnu::visibility("hidden")]] extern FabricbenchRow __stop_fabricbench_runtime[];
// NOLINTEND(bugprone-reserved-identifier)

// Before all constructors that register device code.
[[gnu::constructor(101), gnu::visibility("hidden")]] void fabricbench_find_runtime() {
  void* found = dlsym(RTLD_DEFAULT, "fabricbench_runtime_function");
  if (!found) {
    if (void* const library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL))
      found = dlsym(library, "fabricbench_runtime_function");
  }
  if (!found) return;
  const auto find = reinterpret_cast<void* (*)(const char*)>(found);
  for (auto* row = __start_fabricbench_runtime; row != __stop_fabricbench_runtime; ++row) {
    if (void* const function = find(row->name)) row->function = function;
  }
}

}  // extern "C"

asm(R"(
.macro runtime_function name
  .pushsection .text
  .globl \name
  .hidden \name
  .type \name, @function
  .p2align 4
\name:
  jmp *1f(%rip)
  .size \name, . - \name
  .popsection
  .pushsection fabricbench_runtime, "aw", @progbits
1:
  .quad fabricbench_no_runtime, 2f
  .popsection
  .pushsection .rodata.str1.1, "aMS", @progbits, 1
2:
  .asciz "\name"
  .popsection
.endm
)");

#define GROUP(title)
#define FUNCTION(name) asm("runtime_function " #name);
#define ALIAS(name, symbol) FUNCTION(name)
#define REAL(name) FUNCTION(name)
#define DECLARED(name) FUNCTION(name)
#define COMPILER_CALL(name) FUNCTION(name)
#define PER_THREAD(name, ending) asm("runtime_function " #name #ending);
#include "common/api/cuda_runtime.def"
#include "ranks/shim/cuda/compiler_calls.def"
#include "ranks/shim/cuda/per_thread.def"
