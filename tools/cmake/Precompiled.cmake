# Headers that almost every file includes, compiled once for the layers and once for the tests (FB_PCH). Files include
# what they need all the same: the dev preset, which lint reads, does without.
set(fb_common_headers
  <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <expected> <filesystem> <functional> <map> <memory>
  <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)
# Layers whose files read and write JSON get its header precompiled too: parsing it takes longer than most of the files.
# fb_layer(… HEADERS json) chooses.
set(fb_json_headers ${fb_common_headers} <nlohmann/json.hpp>)

# fb_precompile(SET HEADERS … [OPTIONS …] [HOT]): fb_SET_precompiled owns the headers, compiled with the options of those
# that use them (clang takes no others): libraries here, an executable for the tests.
function(fb_precompile set)
  cmake_parse_arguments(ARG "HOT" "" "HEADERS;OPTIONS" ${ARGN})
  add_library(fb_${set}_precompiled STATIC EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled/main.cpp)
  target_link_libraries(fb_${set}_precompiled PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_options(fb_${set}_precompiled PRIVATE ${ARG_OPTIONS})
  set_target_properties(fb_${set}_precompiled PROPERTIES FB_HOT ${ARG_HOT})
  target_precompile_headers(fb_${set}_precompiled PRIVATE ${ARG_HEADERS})
endfunction()

if(FB_PCH)
  set(folder ${PROJECT_BINARY_DIR}/precompiled)
  file(CONFIGURE OUTPUT ${folder}/main.cpp CONTENT "int main() {}\n")
  fb_precompile(common HEADERS ${fb_common_headers})
  fb_precompile(json HEADERS ${fb_json_headers})
  fb_precompile(values HEADERS ${fb_common_headers} OPTIONS ${FB_GUEST_VALUES})
  fb_precompile(hot HEADERS ${fb_common_headers} OPTIONS ${FB_GUEST_VALUES} HOT)
  if(FB_FUZZ)
    fb_precompile(fuzzed HEADERS ${fb_common_headers} OPTIONS ${FB_FUZZED_OPTIONS})
    fb_precompile(fuzzed_values HEADERS ${fb_common_headers} OPTIONS ${FB_GUEST_VALUES} ${FB_FUZZED_OPTIONS})
  endif()
  if(FB_TESTS)
    add_executable(fb_test_precompiled EXCLUDE_FROM_ALL ${folder}/main.cpp)
    target_link_libraries(fb_test_precompiled PRIVATE fmt::fmt GTest::gtest)
    target_compile_options(fb_test_precompiled PRIVATE ${FB_TEST_OPTIONS})
    target_precompile_headers(fb_test_precompiled PRIVATE ${fb_common_headers} <gtest/gtest.h>)
  endif()
endif()
