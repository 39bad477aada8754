slipway_test(staging_engine_test
  SOURCES plan_test.cpp sources_test.cpp stage_processes_test.cpp stage_test.cpp staging_support.cpp tiers_test.cpp
  LIBRARIES slipway_staging slipway_rapidcheck
  LABELS staging)
