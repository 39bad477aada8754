#pragma once

#include <stdexcept>

namespace trainers {

/// A wrong command line or environment; the program exits with 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace trainers
