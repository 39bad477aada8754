# find_package(slipway): slipway::slipway is libslipway, slipway::reader the batch reader where it is installed.
# Nothing in here names a place, so that the tree can be moved.
get_filename_component(slipway_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# slipway.hpp is C++20; C programs need no more than slipway.h.
get_property(slipway_languages GLOBAL PROPERTY ENABLED_LANGUAGES)

foreach(slipway_part IN ITEMS slipway reader)
  set(slipway_file "${slipway_prefix}/lib/libslipway_${slipway_part}.so")
  if(slipway_part STREQUAL "slipway")
    set(slipway_file "${slipway_prefix}/lib/libslipway.so")
  endif()
  if(EXISTS "${slipway_file}" AND NOT TARGET slipway::${slipway_part})
    add_library(slipway::${slipway_part} SHARED IMPORTED)
    set_target_properties(slipway::${slipway_part} PROPERTIES
      IMPORTED_LOCATION "${slipway_file}"
      INTERFACE_INCLUDE_DIRECTORIES "${slipway_prefix}/include")
    if(CXX IN_LIST slipway_languages)
      target_compile_features(slipway::${slipway_part} INTERFACE cxx_std_20)
    endif()
  endif()
endforeach()
unset(slipway_languages)
unset(slipway_part)
unset(slipway_file)

if(NOT TARGET slipway::slipway)
  set(slipway_FOUND FALSE)
  set(slipway_NOT_FOUND_MESSAGE "${slipway_prefix}/lib has no libslipway.so")
endif()
