# Headers that almost every file includes, compiled once for the layers and once for the tests (FB_PCH). Files include
# what they need all the same: the dev preset, which lint reads, does without.
set(fb_common_headers
  <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <expected> <filesystem> <functional> <map> <memory>
  <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)
# Layers whose files read and write JSON get its header precompiled too: parsing it takes longer than most of the files.
# fb_layer(… HEADERS json) chooses.
set(fb_json_headers ${fb_common_headers} <nlohmann/json.hpp>)

# The owners are compiled with the options of those that use their headers: libraries here, executables there.
if(FB_PCH)
  set(folder ${PROJECT_BINARY_DIR}/precompiled)
  file(CONFIGURE OUTPUT ${folder}/main.cpp CONTENT "int main() {}\n")
  foreach(set common json)
    add_library(fb_${set}_precompiled STATIC EXCLUDE_FROM_ALL ${folder}/main.cpp)
    target_link_libraries(fb_${set}_precompiled PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(fb_${set}_precompiled PRIVATE ${fb_${set}_headers})
  endforeach()
  if(FB_FUZZ)
    add_library(fb_fuzzed_precompiled STATIC EXCLUDE_FROM_ALL ${folder}/main.cpp)
    target_link_libraries(fb_fuzzed_precompiled PRIVATE fmt::fmt)
    target_compile_options(fb_fuzzed_precompiled PRIVATE ${FB_FUZZED_OPTIONS})
    target_precompile_headers(fb_fuzzed_precompiled PRIVATE ${fb_common_headers})
  endif()
  if(FB_TESTS)
    add_executable(fb_test_precompiled EXCLUDE_FROM_ALL ${folder}/main.cpp)
    target_link_libraries(fb_test_precompiled PRIVATE fmt::fmt GTest::gtest)
    target_compile_options(fb_test_precompiled PRIVATE ${FB_TEST_OPTIONS})
    target_precompile_headers(fb_test_precompiled PRIVATE ${fb_common_headers} <gtest/gtest.h>)
  endif()
endif()
