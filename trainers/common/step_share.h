/// How the records of one optimizer step are shared out.
#pragma once

#include <cstdint>

#include "trainers/common/arguments.h"

namespace trainers {

struct StepShare {
  std::int64_t batch = 1;   ///< records per rank and backward pass
  std::int64_t passes = 1;  ///< backward passes of a rank whose gradients are added up: gradients.accumulate
  std::int64_t ranks = 1;

  std::int64_t Global() const { return batch * ranks * passes; }
};

/// From batch_size or global_batch_size. Errors: UsageError when both are given, or the global batch does not divide.
StepShare ShareStep(const Arguments& arguments, std::int64_t passes, std::int64_t ranks);

}  // namespace trainers
