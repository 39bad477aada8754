# How everything is compiled: two INTERFACE targets that every target links, and slipway_compile() for each library.
# What makes the build quick, and what each part of it saves, is in docs/decisions/0032-a-build-in-minutes.md.

# A compiler cache and a quick linker are used where they are installed.
find_program(SLIPWAY_CCACHE ccache DOC "The compiler cache; empty: none")
if(SLIPWAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers must not make it miss, nor, where each source is compiled alone, another checkout of the same sources.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${SLIPWAY_CCACHE}")
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
find_program(SLIPWAY_LINKER NAMES mold ld.lld DOC "The linker; empty: the compiler's own")
if(SLIPWAY_LINKER MATCHES "mold$")
  # Each segment begins a page: otherwise mold 1.10 lets the part that is read-only after relocation begin before its
  # segment where thread-local data is one byte, now and then on an earlier page. Such a program does not load.
  add_link_options(-fuse-ld=mold -Wl,-z,separate-loadable-segments)
elseif(SLIPWAY_LINKER MATCHES "lld$")
  add_link_options(-fuse-ld=lld)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")  # more and less where it pays: slipway_compile()
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

# The build tree has the shape of the installed tree, so that programs find each other the same way in both.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(SLIPWAY_LIBEXEC_OUTPUT "${PROJECT_BINARY_DIR}/libexec/slipway")
set(SLIPWAY_LIBEXEC_INSTALL "libexec/slipway")
set(CMAKE_INSTALL_LIBDIR "lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

add_library(slipway_settings INTERFACE)
target_include_directories(slipway_settings INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_features(slipway_settings INTERFACE cxx_std_20)
if(SLIPWAY_SANITIZE)
  target_compile_options(slipway_settings INTERFACE -fsanitize=${SLIPWAY_SANITIZE} -fno-omit-frame-pointer
                                                    -fno-sanitize-recover=all)
  # g++ says that ThreadSanitizer does not see fences. Ours are between processes, which it does not see anyway.
  if(SLIPWAY_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(slipway_settings INTERFACE -Wno-tsan)
  endif()
  target_link_options(slipway_settings INTERFACE -fsanitize=${SLIPWAY_SANITIZE})
endif()

add_library(slipway_warnings INTERFACE)
target_compile_options(slipway_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                                                  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                                                  -Wcast-qual
                                                  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
# g++ 12 sees overlapping copies in std::string when it inlines much (gcc bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_BUILD_TYPE STREQUAL Release)
  target_compile_options(slipway_warnings INTERFACE -Wno-restrict)
endif()
# Sources that are compiled together are includes for g++, which then warns of what is local to them.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(slipway_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(SLIPWAY_WERROR)
  target_compile_options(slipway_warnings INTERFACE -Werror)
endif()

# The headers that most sources read, compiled once for each way to compile. Without them (CMAKE_DISABLE_PRECOMPILE_HEADERS)
# every source still includes what it uses; the preset `plain` is built so.
set(SLIPWAY_COMMON_HEADERS <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>
    <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <span> <sstream>
    <string> <string_view> <utility> <vector>)

# slipway_batches(<target> <batch>): compiles so many sources together, or one more where the last ones so join the others.
function(slipway_batches target batch)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  math(EXPR batches "${count} / ${batch}")
  math(EXPR left "${count} % ${batch}")
  if(left GREATER 0 AND NOT left GREATER batches)
    math(EXPR batch "${batch} + 1")
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# slipway_compile(<target> LIGHT|HOT|NUMERIC): how a library's own sources are compiled.
#   LIGHT    commands, plans, messages: they run once, and compile twice as fast at -O1 (Release)
#   HOT      what moves data or runs in every step (Release: -O2)
#   NUMERIC  linear algebra and searches; without optimisation they are twenty times slower, so -O2 also in Debug (Release: -O3)
function(slipway_compile target how)
  if(how STREQUAL LIGHT)
    # At -O1 g++ 12 sees errors in optionals and strings that are none; the presets with -Werror look at another level.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>
      $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow>)
  elseif(how STREQUAL NUMERIC)
    target_compile_options(${target} PRIVATE $<IF:$<CONFIG:Release>,-O3,-O2>)
  elseif(NOT how STREQUAL HOT)
    message(FATAL_ERROR "slipway_compile(${target} ${how}): LIGHT, HOT or NUMERIC")
  endif()
  # Sources that are compiled together: as many as take some seven seconds, for whoever touches one of them.
  set(batch_LIGHT 8)
  set(batch_HOT 8)
  set(batch_NUMERIC 3)
  slipway_batches(${target} ${batch_${how}})
  string(TOLOWER ${how} way)
  set(owner slipway_headers_${way})
  if(NOT TARGET ${owner})
    set(source "${PROJECT_BINARY_DIR}/generated/${owner}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// The source that a precompiled header must belong to.\n")
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(${owner} PRIVATE slipway_settings slipway_warnings)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(options)
      target_compile_options(${owner} PRIVATE ${options})
    endif()
    target_precompile_headers(${owner} PRIVATE ${SLIPWAY_COMMON_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
