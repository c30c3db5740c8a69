# Headers that almost every file includes, compiled once for the layers and once for the tests (FB_PCH). Files include what they
# need all the same: the dev preset, which lint reads, does without.
set(fb_common_headers
  <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <expected> <filesystem> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)

# The owners are compiled with the options of those that use their headers: libraries here, executables there.
if(FB_PCH)
  set(folder ${PROJECT_BINARY_DIR}/precompiled)
  file(CONFIGURE OUTPUT ${folder}/main.cpp CONTENT "int main() {}\n")
  add_library(fb_layer_headers STATIC EXCLUDE_FROM_ALL ${folder}/main.cpp)
  target_link_libraries(fb_layer_headers PRIVATE fmt::fmt)
  target_precompile_headers(fb_layer_headers PRIVATE ${fb_common_headers})
  if(FB_FUZZ)
    add_library(fb_fuzzed_headers STATIC EXCLUDE_FROM_ALL ${folder}/main.cpp)
    target_link_libraries(fb_fuzzed_headers PRIVATE fmt::fmt)
    target_compile_options(fb_fuzzed_headers PRIVATE ${FB_FUZZED_OPTIONS})
    target_precompile_headers(fb_fuzzed_headers PRIVATE ${fb_common_headers})
  endif()
  if(FB_TESTS)
    add_executable(fb_test_headers EXCLUDE_FROM_ALL ${folder}/main.cpp)
    target_link_libraries(fb_test_headers PRIVATE fmt::fmt GTest::gtest)
    target_compile_options(fb_test_headers PRIVATE ${FB_TEST_OPTIONS})
    target_precompile_headers(fb_test_headers PRIVATE ${fb_common_headers} <gtest/gtest.h>)
  endif()
endif()
