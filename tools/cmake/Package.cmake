# `cmake --install` and `cpack -G DEB`. Everything that programs of other people could pick up by accident stays out of
# the loader's and the compiler's search paths: libraries in lib/fabricbench, headers in share/fabricbench/sdk.
include(GNUInstallDirs)

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Manual pages and completions are printed by the program that is installed, so that they can't be of another version.
install(CODE "
  set(tool \"${PROJECT_BINARY_DIR}/bin/fabricbench\")
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND \${tool} dev man --out \${root}/${CMAKE_INSTALL_MANDIR}/man1 COMMAND_ERROR_IS_FATAL ANY)
  foreach(script IN ITEMS bash=bash-completion/completions/fabricbench zsh=zsh/site-functions/_fabricbench
                          fish=fish/vendor_completions.d/fabricbench.fish)
    string(REPLACE \"=\" \";\" pair \${script})
    list(GET pair 0 shell)
    list(GET pair 1 file)
    execute_process(COMMAND \${tool} dev completion \${shell} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE \${root}/${CMAKE_INSTALL_DATADIR}/\${file} \"\${text}\")
  endforeach()")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fabricbench)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The FabricBench maintainers <maintainers@fabricbench.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Judge and virtual node for multi-GPU communication code")
set(CPACK_PACKAGE_DESCRIPTION
"FabricBench runs ordinary CUDA C++ on virtual GPUs on a CPU, finds races,
missing fences and deadlocks between GPUs with their source lines, and judges
solutions of problems in GPU communication, by people or by language models.")
set(CPACK_PACKAGE_FILE_NAME fabricbench_${PROJECT_VERSION}_amd64)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# Shared libraries are found by dpkg-shlibdeps; the private ones are in the package itself. The compiler, its standard
# library and the sandbox are programs that a judgement starts.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/${FB_LIBRARIES})
set(CPACK_DEBIAN_PACKAGE_DEPENDS "clang-19, lld-19, libstdc++-12-dev, libc6-dev, bubblewrap, libcub-dev, libthrust-dev, libcu++-dev")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, libopenmpi-dev")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "slurm-client")
include(CPack)
