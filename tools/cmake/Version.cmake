# Writes OUTPUT from INPUT with @FB_VERSION_TEXT@: the project's version, and the commit it was built from where there
# is a checkout ("0.5.0+g1a2b3c4d", ".modified" behind it if files differ). Run at every build as a script; the output
# changes, and dependants are rebuilt, only with its content. A verdict is a function of this version. COMMIT is false where
# the programs are those of a build without git.
set(failed 1)
if(COMMIT)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=10 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
endif()
set(FB_VERSION_TEXT ${VERSION})
if(NOT failed AND EXISTS ${SOURCE}/.git)
  string(APPEND FB_VERSION_TEXT "+g${commit}")
  execute_process(COMMAND git -C ${SOURCE} diff-index --quiet HEAD -- RESULT_VARIABLE modified ERROR_QUIET)
  if(modified)
    string(APPEND FB_VERSION_TEXT ".modified")
  endif()
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
