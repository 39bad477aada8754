slipway_test(checkpoint_tests
  SOURCES checkpoint_test.cpp ../support/forked_child.cpp
  LIBRARIES slipway_core
  LABELS core)
