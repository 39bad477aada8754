#include "runtime/group/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

struct Failure {
  slipway_status status = SLIPWAY_OK;
  std::string message;
};

Failure FailureOf(const std::function<void()>& action) {
  try {
    action();
    return {};
  } catch (const PartedError&) {
    throw;
  } catch (const std::exception& error) {
    return {StatusOf(error), error.what()};
  }
}

}  // namespace

void OnAllRanks(Communicator& communicator, const std::function<void()>& action) {
  auto failure = FailureOf(action);
  const auto nobody = static_cast<std::uint64_t>(communicator.size());
  const auto own = static_cast<std::uint64_t>(communicator.rank());
  const auto speaker = communicator.Min(failure.status == SLIPWAY_OK ? nobody : own);
  if (speaker == nobody) return;
  communicator.Broadcast(&failure.status, sizeof failure.status, static_cast<int>(speaker));
  failure.message = communicator.BroadcastText(failure.message, static_cast<int>(speaker));
  if (communicator.size() > 1) {
    failure.message = fmt::format("rank {}: {}", communicator.job_ranks()[speaker], failure.message);
  }
  throw RuntimeError(failure.status, failure.message);
}

bool OnEveryRank(Communicator& communicator, bool holds) {
  const auto all = AllgatherValues(communicator, static_cast<std::uint8_t>(holds));
  return std::ranges::all_of(all, [](auto each) { return each != 0; });
}

std::string OnFirstRank(Communicator& communicator, const std::function<std::string()>& action) {
  std::string answer;
  OnAllRanks(communicator, [&] {
    if (communicator.rank() == 0) answer = action();
  });
  return communicator.BroadcastText(answer, 0);
}

void RequireSameVersion(Communicator& communicator, const std::string& own) {
  const auto first = communicator.BroadcastText(own, 0);
  OnAllRanks(communicator, [&] {
    if (own == first) return;
    throw RuntimeError(
        SLIPWAY_ERROR_MISMATCH,
        fmt::format("libslipway here is of version {}, that of rank 0 of version {}: start all ranks with "
                    "the same installation",
                    own, first));
  });
}

}  // namespace slipway::runtime
