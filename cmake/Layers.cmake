# fb_layer(NAME SOURCES … DEPS … [LIBS …] [HEADERS json|cli] [APART file…] [GUEST_VALUES] [COLD])
#
# FB_UNITY compiles the sources in batches of eight, but those that are APART: files that a SIMD target compiles several
# times, and files that declare functions of C with other types than their headers. GUEST_VALUES: the layer computes with
# a guest's values. COLD: it has no loop whose speed matters, and is compiled quickly.
#
# One layer = one folder of src/ = one namespace = one target. DEPS are the layers below that it may include;
# tools/check_layers.py reads the same lines and fails on any other include.
function(fb_layer name)
  cmake_parse_arguments(ARG "GUEST_VALUES;COLD" "HEADERS" "SOURCES;DEPS;LIBS;APART" ${ARGN})
  # Built where something needs it.
  add_library(fb_${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_include_directories(fb_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(fb_${name} PUBLIC fb_${dep})
  endforeach()
  target_link_libraries(fb_${name} PUBLIC ${ARG_LIBS})
  if(ARG_GUEST_VALUES)
    target_compile_options(fb_${name} PRIVATE ${FB_GUEST_VALUES})
  endif()
  if(ARG_COLD)
    target_compile_options(fb_${name} PRIVATE ${FB_COLD})
  endif()
  if(FB_UNITY)
    set_target_properties(fb_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
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

# fb_compile_apart(TARGET OPTIONS … LAYERS …): compiles the sources of the layers into TARGET once more, with other options
# than their libraries have.
function(fb_compile_apart target)
  cmake_parse_arguments(ARG "" "" "OPTIONS;LAYERS" ${ARGN})
  foreach(layer IN LISTS ARG_LAYERS)
    get_target_property(folder fb_${layer} SOURCE_DIR)
    get_target_property(files fb_${layer} SOURCES)
    list(TRANSFORM files PREPEND ${folder}/)
    target_sources(${target} PRIVATE ${files})
  endforeach()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/sdk/include)
  target_compile_options(${target} PRIVATE ${ARG_OPTIONS})
  target_link_options(${target} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(${target} PRIVATE fmt::fmt)
endfunction()
