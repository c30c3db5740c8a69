# Labels: every test is `unit` or `e2e`, by its folder. `perf` measures time and wants an idle machine; it does not decide
# whether a change lands. `long`: a run of CI takes a part of its suite (.ci/rotation.toml). `waits` mostly sleeps and can
# run beside anything that does not measure time.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Programs of the tests of each label, to build one kind only.
add_custom_target(unit_tests)
add_custom_target(e2e_tests)

# fb_test(NAME SOURCES … LAYERS … [LIBS …] [LOCK name] [OPTIMISED]): one GoogleTest program; every test in it is a CTest
# test of its own. Tests with the same lock never run side by side. OPTIMISED: tests functions of headers, which must be
# compiled as in the layers.
function(fb_test name)
  cmake_parse_arguments(ARG "OPTIMISED" "LOCK" "SOURCES;LAYERS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/unit ${PROJECT_SOURCE_DIR}/tests/e2e)
  foreach(layer IN LISTS ARG_LAYERS)
    target_link_libraries(${name} PRIVATE fb_${layer})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    FB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" FB_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(NOT ARG_OPTIMISED)
    target_compile_options(${name} PRIVATE ${FB_TEST_OPTIONS})
    if(FB_PCH AND ARG_LAYERS)
      target_precompile_headers(${name} REUSE_FROM fb_test_precompiled)
    endif()
  endif()
  set(label e2e)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/unit/")
    set(label unit)
  endif()
  add_dependencies(${label}_tests ${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS ${label} RESOURCE_LOCK "${ARG_LOCK}")
endfunction()

# fb_problems(NAMES FOLDERS): all problems and the variants of them; a folder is relative to problems/. An index in one is an
# index in the other.
function(fb_problems names folders)
  set(root ${PROJECT_SOURCE_DIR}/problems)
  file(GLOB files RELATIVE ${root} CONFIGURE_DEPENDS ${root}/*/*/*/problem.toml ${root}/*/*/*/variants/*/variant.toml)
  foreach(file IN LISTS files)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    if(file MATCHES "variant.toml$")  # its first line says its name
      file(STRINGS ${root}/${file} name LIMIT_COUNT 1 REGEX "^name = ")
      string(REGEX REPLACE "^name = \"(.*)\"$" "\\1" name ${name})
    endif()
    list(APPEND all_names ${name})
    list(APPEND all_folders ${folder})
  endforeach()
  set(${names} ${all_names} PARENT_SCOPE)
  set(${folders} ${all_folders} PARENT_SCOPE)
endfunction()

# Parts of long tests that are dealt by number: as many as their suites have in .ci/rotation.toml.
set(FB_LAST_PART 18)

# fb_run(NAME PYTHON script arguments… | COMMAND program arguments… [LABELS …] [TIMEOUT seconds] [PROPERTIES key value
# …]): one CTest test that is a command. Scripts lie beside the CMakeLists.txt. Exit code 77 means skipped. The time-out
# ends a hang; it asserts nothing.
function(fb_run name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "PYTHON;COMMAND;LABELS;PROPERTIES" ${ARGN})
  if(ARG_PYTHON)
    list(POP_FRONT ARG_PYTHON script)
    cmake_path(ABSOLUTE_PATH script BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set(ARG_COMMAND Python3::Interpreter ${script} ${ARG_PYTHON})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set(label e2e)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/unit/")
    set(label unit)
  endif()
  # Tests that measure time run alone.
  set(alone OFF)
  if("perf" IN_LIST ARG_LABELS)
    set(alone ON)
  endif()
  # What may take longest begins first, and what takes two processors before all else: nothing waits for it at the end.
  set(cost ${ARG_TIMEOUT})
  if("PROCESSORS" IN_LIST ARG_PROPERTIES)
    math(EXPR cost "10000 + ${ARG_TIMEOUT}")
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${label};${ARG_LABELS}" SKIP_RETURN_CODE 77
                       RUN_SERIAL ${alone} COST ${cost} ${ARG_PROPERTIES})
endfunction()
