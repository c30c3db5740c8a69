# A folder as that of a CUDA toolkit, for build systems that look for one: bin/nvcc, include, lib64, nvvm/libdevice. A
# static runtime is asked for by default; its name leads to the shared one, which the linker knows by its content.
set(toolkit ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/toolkit)
file(MAKE_DIRECTORY ${toolkit}/bin ${toolkit}/nvvm/libdevice)
file(WRITE ${toolkit}/nvvm/libdevice/README "Device libraries are in the machine; CMake looks for this folder.\n")
file(WRITE ${toolkit}/version.json "{\"cuda\": {\"name\": \"CUDA SDK\", \"version\": \"13.0.88\"}}\n")
file(WRITE ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/libcudadevrt.a "!<arch>\n")
file(CREATE_LINK libfabricbench_cuda.so ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/libcudart_static.a SYMBOLIC)
file(CREATE_LINK ../../../../bin/fabricbench-nvcc ${toolkit}/bin/nvcc SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/sdk/include ${toolkit}/include SYMBOLIC)
file(CREATE_LINK .. ${toolkit}/lib64 SYMBOLIC)
file(CREATE_LINK .. ${toolkit}/lib SYMBOLIC)

install(FILES ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/libcudadevrt.a ${PROJECT_BINARY_DIR}/${FB_LIBRARIES}/libcudart_static.a
        DESTINATION ${FB_LIBRARIES})
install(FILES ${toolkit}/version.json ${toolkit}/lib64 ${toolkit}/lib DESTINATION ${FB_LIBRARIES}/toolkit)
install(FILES ${toolkit}/bin/nvcc DESTINATION ${FB_LIBRARIES}/toolkit/bin)
install(FILES ${toolkit}/nvvm/libdevice/README DESTINATION ${FB_LIBRARIES}/toolkit/nvvm/libdevice)
install(CODE "file(CREATE_LINK ../../../share/fabricbench/sdk/include \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${FB_LIBRARIES}/toolkit/include SYMBOLIC)")
