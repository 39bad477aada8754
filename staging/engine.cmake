# Plan, copy, publish: the half of staging that the launcher uses; trainers need only slipway_formats.
add_library(slipway_staging STATIC
  copy.cpp
  copy_pool.cpp
  generation.cpp
  manifest.cpp
  memory_left.cpp
  plan.cpp
  source_stat.cpp
  sources.cpp
  stage.cpp
  tiers.cpp
  utf8_name.cpp)
target_link_libraries(slipway_staging
  PUBLIC slipway_settings slipway_core slipway_formats
  PRIVATE slipway_warnings Threads::Threads)
