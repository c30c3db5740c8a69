# fb_layer(NAME SOURCES … DEPS … [LIBS …] [HEADERS json|cli])
#
# One layer = one folder of src/ = one namespace = one target. DEPS are the layers below that it may include;
# tools/check_layers.py reads the same lines and fails on any other include.
function(fb_layer name)
  cmake_parse_arguments(ARG "" "HEADERS" "SOURCES;DEPS;LIBS" ${ARGN})
  # Built where something needs it.
  add_library(fb_${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_include_directories(fb_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(fb_${name} PUBLIC fb_${dep})
  endforeach()
  target_link_libraries(fb_${name} PUBLIC ${ARG_LIBS})
  set(headers fb_common_precompiled)
  if(ARG_HEADERS)
    set(headers fb_${ARG_HEADERS}_precompiled)
  endif()
  if(FB_FUZZ AND name IN_LIST FB_FUZZED_LAYERS)
    target_compile_options(fb_${name} PRIVATE ${FB_FUZZED_OPTIONS})
    set(headers fb_fuzzed_precompiled)
  endif()
  if(FB_PCH)
    target_precompile_headers(fb_${name} REUSE_FROM ${headers})
  endif()
endfunction()

# fb_test(NAME SOURCES … LAYERS … [LOCK name] [OPTIMISED]): one GoogleTest program; every test in it is a CTest test of its
# own. Tests with the same lock never run side by side. OPTIMISED: what is tested are functions of headers, to be compiled as
# in the layers.
function(fb_test name)
  cmake_parse_arguments(ARG "OPTIMISED" "LOCK" "SOURCES;LAYERS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/unit
                             ${PROJECT_SOURCE_DIR}/tests/e2e)
  foreach(layer IN LISTS ARG_LAYERS)
    target_link_libraries(${name} PRIVATE fb_${layer})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE FB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" FB_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(NOT ARG_OPTIMISED)
    target_compile_options(${name} PRIVATE ${FB_TEST_OPTIONS})
    if(FB_PCH AND ARG_LAYERS)
      target_precompile_headers(${name} REUSE_FROM fb_test_precompiled)
    endif()
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 RESOURCE_LOCK "${ARG_LOCK}")
endfunction()
