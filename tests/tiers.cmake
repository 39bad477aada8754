# Which tests run when, in one table. ./check runs the default tier, ./check --full both.
#
#   full("<pattern>" "<why>")              only ./check --full runs these
#   slow("<pattern>" <seconds> "<why>")    of the default tier, but may take longer than the usual 20 s
#
# A pattern is a regular expression for the name of a test as ctest lists it. The first entry that matches counts; a test
# that none matches is in the default tier. repo.tiers holds the table against what ctest knows of the tests.

set(SLIPWAY_DEFAULT_SECONDS 20)
set(tier_patterns "")
set(tier_seconds "")  # of the default tier; empty: full
macro(full pattern why)
  list(APPEND tier_patterns "${pattern}")
  list(APPEND tier_seconds full)
endmacro()
macro(slow pattern seconds why)
  list(APPEND tier_patterns "${pattern}")
  list(APPEND tier_seconds ${seconds})
endmacro()

# (entries)

# slipway_tier_of(<test> <result>): "full", or after how many seconds a test of the default tier is ended.
function(slipway_tier_of test result)
  foreach(pattern seconds IN ZIP_LISTS tier_patterns tier_seconds)
    if(test MATCHES "${pattern}")
      set(${result} ${seconds} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} ${SLIPWAY_DEFAULT_SECONDS} PARENT_SCOPE)
endfunction()

# slipway_place_test(<test> <labels> <seconds>): `seconds` is its time limit in the full tier; a sanitizer takes
# SLIPWAY_SLOWDOWN times as long.
function(slipway_place_test test labels seconds)
  slipway_tier_of("${test}" tier)
  list(FIND labels long is_long)  # ctest reads this file, too, and knows no newer way to ask
  if(tier STREQUAL "full")
    list(APPEND labels full)
  elseif(is_long EQUAL -1)
    set(seconds ${tier})
    if(SLIPWAY_SLOWDOWN)
      math(EXPR seconds "${seconds} * ${SLIPWAY_SLOWDOWN}")
    endif()
  endif()
  set_tests_properties("${test}" PROPERTIES LABELS "${labels}" TIMEOUT ${seconds})
endfunction()
