# Libraries that programs link, or load, instead of the vendor's: one file under every name that they ask for.

# fb_install_names(TARGET NAME…): the library beside the others, and links to it.
function(fb_install_names target)
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${FB_LIBRARIES})
  foreach(name IN LISTS ARGN)
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E create_symlink lib${target}.so ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/${name})
    install(FILES ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/${name} DESTINATION ${FB_LIBRARIES})
  endforeach()
  install(TARGETS ${target} LIBRARY DESTINATION ${FB_LIBRARIES})
endfunction()

# fb_library_of(TARGET LAYER [WITH layer…]): all of a layer as a shared library. Ranks are ordinary programs: where the
# layer is compiled with sanitizers, it and the layers that it uses (WITH) are compiled apart, without.
function(fb_library_of target layer)
  cmake_parse_arguments(ARG "" "" "WITH" ${ARGN})
  if(FB_SANITIZE)
    add_library(${target} SHARED)
    fb_compile_apart(${target} OPTIONS -fno-sanitize=all LAYERS ${layer} ${ARG_WITH})
    if(shim_where IN_LIST ARG_WITH)
      target_compile_options(${target} PRIVATE -idirafter ${FB_BACKTRACE_HEADERS})
      target_link_libraries(${target} PRIVATE ${FB_BACKTRACE})
    endif()
  else()
    # A library has at least one source of its own.
    add_library(${target} SHARED ${PROJECT_SOURCE_DIR}/src/ranks/shim/empty.cpp)
    target_link_libraries(${target} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,fb_${layer}>)
  endif()
endfunction()

# fb_drop_in(NAME SONAME … NAMES … WITH layer… [LINKS library…]): fabricbench_NAME of the layer shim_NAME, which exports
# what exports.map beside it says.
function(fb_drop_in name)
  cmake_parse_arguments(ARG "" "SONAME" "NAMES;WITH;LINKS" ${ARGN})
  set(target fabricbench_${name})
  fb_library_of(${target} shim_${name} WITH ${ARG_WITH})
  target_link_libraries(${target} PRIVATE ${ARG_LINKS})
  target_link_options(${target} PRIVATE -Wl,--version-script,${CMAKE_CURRENT_SOURCE_DIR}/exports.map
                      -Wl,-soname,${ARG_SONAME} -Wl,--no-undefined)
  # NO_SONAME: CMake's own would be that of the file.
  set_target_properties(${target} PROPERTIES
    NO_SONAME ON BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
    LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
  fb_install_names(${target} ${ARG_NAMES})
endfunction()
