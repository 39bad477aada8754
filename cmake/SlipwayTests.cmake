# Helpers for tests. Each test program is GoogleTest; every test runs in its own process with a time limit.

find_package(GTest REQUIRED)
find_path(RAPIDCHECK_INCLUDE_DIR rapidcheck.h REQUIRED)
find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
add_library(slipway_rapidcheck INTERFACE)
target_include_directories(slipway_rapidcheck SYSTEM INTERFACE ${RAPIDCHECK_INCLUDE_DIR})
target_link_libraries(slipway_rapidcheck INTERFACE ${RAPIDCHECK_LIBRARY})
include(GoogleTest)
include("${PROJECT_SOURCE_DIR}/tests/tiers.cmake")
set(SLIPWAY_SLOWDOWN "")
if(SLIPWAY_SANITIZE)  # linear algebra takes 15 times as long there
  set(SLIPWAY_SLOWDOWN 15)
endif()

# Whether or not this machine is part of a cluster: what `engine: auto` stands for in all tests.
set(SLIPWAY_TEST_ENVIRONMENT "SLIPWAY_ENGINE=local")

# The headers of GoogleTest, and those that most sources read, once for all test programs.
function(slipway_test_headers program)
  get_property(owner GLOBAL PROPERTY slipway_test_headers)
  if(owner)
    target_precompile_headers(${program} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY slipway_test_headers ${program})
    target_precompile_headers(${program} PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${SLIPWAY_COMMON_HEADERS})
  endif()
endfunction()

# slipway_test(<program> SOURCES a_test.cpp ... LIBRARIES slipway_core ... [LABELS core ...] [TIMEOUT seconds]
#              [LOCK name] [WITHOUT_MPI])
# Tests with the same lock never run at the same time. Tests WITHOUT_MPI start no MPI rank: AddressSanitizer walks
# their stacks the fast way (see `./check`), which makes tests that allocate much 25 times faster.
function(slipway_test program)
  cmake_parse_arguments(ARG "WITHOUT_MPI" "TIMEOUT;LOCK" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  # Sources in C stand apart: a precompiled header is for one language.
  set(c_sources ${ARG_SOURCES})
  list(FILTER c_sources INCLUDE REGEX "\\.c$")
  list(FILTER ARG_SOURCES EXCLUDE REGEX "\\.c$")
  if(c_sources)
    add_library(${program}_in_c OBJECT ${c_sources})
    target_link_libraries(${program}_in_c PRIVATE slipway_settings slipway_warnings)
    list(APPEND ARG_LIBRARIES ${program}_in_c)
  endif()
  add_executable(${program} ${ARG_SOURCES})
  target_link_libraries(${program} PRIVATE slipway_settings slipway_warnings ${ARG_LIBRARIES} GTest::gmock
                                           GTest::gtest_main)
  slipway_test_headers(${program})
  if(CMAKE_UNITY_BUILD)
    slipway_batches(${program} ${CMAKE_UNITY_BUILD_BATCH_SIZE})
  endif()
  target_compile_definitions(${program} PRIVATE SLIPWAY_BUILD_DIR="${PROJECT_BINARY_DIR}"
                                                SLIPWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set(properties TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${SLIPWAY_TEST_ENVIRONMENT}")
  if(ARG_LOCK)
    list(APPEND properties RESOURCE_LOCK "${ARG_LOCK}")
  endif()
  if(ARG_WITHOUT_MPI)
    list(APPEND properties ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=string_append::fast_unwind_on_malloc=1")
  endif()
  gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_LIST ${program}_list
                       PROPERTIES ${properties})
  # What a test is called is known only when ctest has read the list of them.
  set(placing "${CMAKE_CURRENT_BINARY_DIR}/${program}_tiers.cmake")
  file(WRITE "${placing}" "include(\"${PROJECT_SOURCE_DIR}/tests/tiers.cmake\")\n"
                          "set(SLIPWAY_SLOWDOWN ${SLIPWAY_SLOWDOWN})\n"
                          "foreach(test IN LISTS ${program}_list)\n"
                          "  slipway_place_test(\"\${test}\" \"${ARG_LABELS}\" ${ARG_TIMEOUT})\n"
                          "endforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${placing}")
endfunction()

# slipway_types_test(<name> <header> <source> FOLDERS <folder>... LABELS <label>...)
# Compiles the source, which compares declarations of our own with those of a real header. Skipped where one of the
# folders, each from find_path, was not found.
function(slipway_types_test name header source)
  cmake_parse_arguments(ARG "" "" "FOLDERS;LABELS" ${ARGN})
  set(command ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -I "${PROJECT_SOURCE_DIR}")
  # With -isystem, a folder that the compiler knows is searched before the standard library's, which then finds no C
  # header.
  set(folders ${ARG_FOLDERS})
  list(REMOVE_ITEM folders "" ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  foreach(folder IN LISTS folders)
    list(APPEND command -isystem "${folder}")
  endforeach()
  list(APPEND command "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
  if(ARG_FOLDERS MATCHES "-NOTFOUND")
    set(command sh -c "echo 'skipped: this machine has no ${header}' && exit 77")
  endif()
  add_test(NAME ${name} COMMAND ${command})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 60 SKIP_RETURN_CODE 77)
endfunction()

# The last line of a folder that calls add_test: puts those tests into their tiers.
function(slipway_place_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_test_property("${test}" LABELS labels)
    get_test_property("${test}" TIMEOUT seconds)
    if(NOT seconds)
      set(seconds 300)
    endif()
    get_test_property("${test}" PROCESSORS slots)
    if(NOT slots)
      set(slots "")
    endif()
    slipway_place_test("${test}" "${labels}" ${seconds} ${slots})
  endforeach()
endfunction()

# slipway_mpi_test(<program> MPI openmpi RANKS 1 2 4 SOURCES ... LIBRARIES ... [LABELS ...] [TIMEOUT seconds])
# The program has its own main (tests/support/mpi_main.cpp) and is started by that mpiexec once for each count of ranks.
function(slipway_mpi_test program)
  cmake_parse_arguments(ARG "" "MPI;TIMEOUT" "SOURCES;LIBRARIES;LABELS;RANKS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${program} ${ARG_SOURCES})
  target_link_libraries(${program} PRIVATE slipway_settings slipway_warnings ${ARG_LIBRARIES} GTest::gtest
                                           slipway_mpi_${ARG_MPI})
  target_compile_definitions(${program} PRIVATE SLIPWAY_BUILD_DIR="${PROJECT_BINARY_DIR}"
                                                SLIPWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  foreach(ranks IN LISTS ARG_RANKS)
    add_test(NAME ${program}.${ranks}
             COMMAND ${SLIPWAY_MPIEXEC_${ARG_MPI}} ${ranks} $<TARGET_FILE:${program}>)
    set_tests_properties(${program}.${ranks} PROPERTIES LABELS "mpi;${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
                                                        PROCESSORS 4)
  endforeach()
endfunction()
