#include "trainers/common/step_share.h"

#include <fmt/format.h>

#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

std::int64_t BatchOf(const Arguments& arguments, std::int64_t passes, std::int64_t ranks) {
  const auto global = arguments.global_batch_size;
  if (global == 0) return arguments.batch_size > 0 ? arguments.batch_size : arguments.usual_batch_size;
  if (arguments.batch_size > 0) {
    throw UsageError("--batch_size is per rank, --global_batch_size over all ranks: give one of them");
  }
  if (global % (ranks * passes) == 0) return global / (ranks * passes);
  const auto of_passes = passes == 1 ? std::string() : fmt::format(" with {} backward passes each", passes);
  throw UsageError(fmt::format("--global_batch_size {} does not divide among {} ranks{}: take a multiple of {}", global,
                               ranks, of_passes, ranks * passes));
}

}  // namespace

StepShare ShareStep(const Arguments& arguments, std::int64_t passes, std::int64_t ranks) {
  return {BatchOf(arguments, passes, ranks), passes, ranks};
}

}  // namespace trainers
