# Two INTERFACE targets that every target of this repository links: how to compile, and what to be warned of.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

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
if(SLIPWAY_WERROR)
  target_compile_options(slipway_warnings INTERFACE -Werror)
endif()
