# A folder as that of a CUDA toolkit, for build systems that look for one: bin/nvcc, include, lib64, nvvm/libdevice.
set(toolkit ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/toolkit)
file(MAKE_DIRECTORY ${toolkit}/bin ${toolkit}/nvvm/libdevice)
file(WRITE ${toolkit}/nvvm/libdevice/README "Device libraries are in the machine; CMake looks for this folder.\n")
file(WRITE ${toolkit}/version.json "{\"cuda\": {\"name\": \"CUDA SDK\", \"version\": \"13.0.88\"}}\n")
file(WRITE ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/libcudadevrt.a "!<arch>\n")
file(CREATE_LINK ../../../../bin/fabricbench-nvcc ${toolkit}/bin/nvcc SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/sdk/include ${toolkit}/include SYMBOLIC)
file(CREATE_LINK .. ${toolkit}/lib64 SYMBOLIC)
file(CREATE_LINK .. ${toolkit}/lib SYMBOLIC)

install(FILES ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/libcudadevrt.a DESTINATION ${FB_LIBRARIES})
install(FILES ${toolkit}/version.json ${toolkit}/lib64 ${toolkit}/lib DESTINATION ${FB_LIBRARIES}/toolkit)
install(FILES ${toolkit}/bin/nvcc DESTINATION ${FB_LIBRARIES}/toolkit/bin)
install(FILES ${toolkit}/nvvm/libdevice/README DESTINATION ${FB_LIBRARIES}/toolkit/nvvm/libdevice)
install(CODE "file(CREATE_LINK ../../../share/fabricbench/sdk/include \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${FB_LIBRARIES}/toolkit/include SYMBOLIC)")

# The static runtime, which build systems ask for by default. Other processors than x86-64 have the shared one under its
# name.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  add_library(cudart_static STATIC static_runtime.cpp)
  target_include_directories(cudart_static PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(cudart_static PRIVATE -fPIC -fno-exceptions -fno-sanitize=all)
  set_target_properties(cudart_static PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${FB_LIBRARIES})
  install(TARGETS cudart_static ARCHIVE DESTINATION ${FB_LIBRARIES})
else()
  file(CREATE_LINK libfabricbench_cuda.so ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/libcudart_static.a SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/libcudart_static.a DESTINATION ${FB_LIBRARIES})
endif()
