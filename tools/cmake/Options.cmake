# Build-wide settings. One place, so that every layer is compiled alike.
option(FB_TESTS "Build the tests" ON)
set(FB_UNIT_LAYERS "base;record;fatbin;shim;num;ptx;mem;fabric;rdma;simt;race;machine;toolchain;sandbox;launcher;inspect;catalog;llm;\
prompts;judge;prove;mutate;calibrate;campaign;report" CACHE STRING "Layers whose unit tests are built")
option(FB_BENCH "Build the benchmark programs" OFF)
option(FB_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(FB_WEB "Bundle the plots of HTML reports (needs npm)" OFF)
option(FB_WERROR "Treat warnings as errors" OFF)
option(FB_HARDEN "Checks of bounds, stack protector and read-only relocations, except under sanitizers" ON)
option(FB_PCH "Precompile common headers" OFF)
option(FB_UNITY "Compile the files of a layer in batches" OFF)
set(FB_BATCH 8 CACHE STRING "Files of a batch; 0: all of a layer, which finds names that two of its files use")
option(FB_AVX512 "Compile the engine for AVX-512 too, beside AVX2 and the baseline" ON)
option(FB_STATIC_SIMD "Compile the engine for one SIMD target only, the compiler's baseline" OFF)
option(FB_TSAN "Compile the client library of the threads test with the thread sanitizer" OFF)
option(FB_COMMIT "The version names the commit, where there is a checkout and git" ON)
set(FB_MACHINE "" CACHE FILEPATH "The machine that the client library's tests start, instead of the one built here")
set(FB_SANITIZE "" CACHE STRING "Value for -fsanitize=, empty for none")

# A compiler cache is used where there is one. Precompiled headers need its leave to differ in time stamps and macros.
find_program(FB_CCACHE ccache)
if(FB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${FB_CCACHE})
  if(FB_PCH)
    add_compile_options("$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>"
      $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endif()

# The drop-in libcuda.so.1 and libcudart.so.13, below the prefix and below the build folder alike. Never a folder that
# the system's loader searches: every CUDA program of the host would run on the virtual node.
set(FB_LIBRARIES lib/fabricbench)

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Floating-point arithmetic, the guest's and that of modelled times, is exact IEEE arithmetic: no contraction, no
# re-association.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wcast-align -Woverloaded-virtual -Wconversion
                    -Wno-sign-conversion -ffp-contract=off -fno-math-errno -fno-trapping-math)
# Layers that compute with a guest's values: signed overflow wraps, and a register row is read as whatever type an
# instruction says.
set(FB_GUEST_VALUES -fwrapv -fno-strict-aliasing)
# Layers without hot loops.
set(FB_COLD $<$<CONFIG:Release>:-O1>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A lane loop that clang leaves scalar is slow, not wrong.
  add_compile_options(-Wno-pass-failed)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 at -O3 is wrong about what fmt and the standard library write.
  add_compile_options(-Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
if(FB_WERROR)
  add_compile_options(-Werror)
endif()
if(FB_SANITIZE)
  add_compile_options(-fsanitize=${FB_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FB_SANITIZE})
endif()
# What users run reads what others wrote: PTX, objects, answers, replies of servers.
if(FB_HARDEN AND NOT FB_SANITIZE)
  include(CheckPIESupported)
  check_pie_supported()
  add_compile_options(-fstack-protector-strong $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
  # Not in the instructions' loops (property FB_HOT of a target), which index registers of fixed numbers.
  add_compile_definitions($<$<NOT:$<BOOL:$<TARGET_PROPERTY:FB_HOT>>>:_GLIBCXX_ASSERTIONS>)
  add_link_options(-Wl,-z,relro -Wl,-z,now)
endif()
# Tests spend their time in the layers; to optimise what is run once takes longer than to run it. Some test functions of
# headers on a guest's values.
set(FB_TEST_OPTIONS ${FB_GUEST_VALUES} -O0 -U_FORTIFY_SOURCE)
# What the fuzz targets look into, for the coverage that guides them.
set(FB_FUZZED_LAYERS fabric fatbin judge llm machine mem platform ptx shim_redirect simt toolchain)
set(FB_FUZZED_OPTIONS -fsanitize=fuzzer-no-link)
# The engine's loops gain nothing from the targets in between.
if(FB_AVX512)
  add_compile_definitions("HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)")
else()
  add_compile_definitions("HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)")
endif()
if(FB_STATIC_SIMD)
  add_compile_definitions(HWY_COMPILE_ONLY_STATIC)
endif()
