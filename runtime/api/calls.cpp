#include "runtime/api/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "runtime/group/agreement.h"

namespace slipway::runtime {

Job* job = nullptr;
thread_local std::string last_message;

int Remember(slipway_status status, const char* function, const char* message) noexcept {
  try {
    last_message = fmt::format("{}: {}", function, message);
  } catch (const std::exception&) {
    last_message.clear();  // no memory for the words: the code remains
  }
  return status;
}

int RememberParting(const PartedError& error, const char* function) noexcept {
  if (job != nullptr) {
    job->Abandon();
    if (error.status() == SLIPWAY_ERROR_MISMATCH) job->watch().Report("mismatch", error.what(), {job->rank()});
  }
  return Remember(error.status(), function, error.what());
}

Job& CurrentJob() {
  if (job == nullptr) throw RuntimeError(SLIPWAY_ERROR_STATE, "call slipway_init first");
  if (!job->InItsOwnProcess()) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, "a process made by fork() is not part of the job");
  }
  return *job;
}

Job& WholeJob() {
  auto& current = CurrentJob();
  if (current.abandoned()) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, "an earlier error has parted the ranks: end this process");
  }
  return current;
}

void RequireArgument(bool good, const std::string& message) {
  if (!good) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, message);
}

void RequireCount(int64_t count) {
  RequireArgument(count >= 0, fmt::format("the count is negative: {}", count));
  RequireArgument(count <= std::numeric_limits<int64_t>::max() / 8, fmt::format("the count is too large: {}", count));
}

void RequireData(const void* data, int64_t count, const char* name) {
  RequireArgument(data != nullptr || count == 0, fmt::format("{} is a null pointer", name));
}

void RequireApart(const std::vector<TensorInfo>& tensors) {
  std::vector<const TensorInfo*> sorted;
  for (const auto& tensor : tensors) {
    if (tensor.count() > 0) sorted.push_back(&tensor);
  }
  const auto begin = [](const TensorInfo* tensor) { return static_cast<const char*>(tensor->data); };
  std::sort(sorted.begin(), sorted.end(), [&](auto* a, auto* b) { return std::less<>()(begin(a), begin(b)); });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const auto* end = begin(sorted[i - 1]) + sorted[i - 1]->bytes();
    RequireArgument(!std::less<>()(begin(sorted[i]), end),
                    fmt::format("tensors '{}' and '{}' overlap in memory", sorted[i - 1]->name, sorted[i]->name));
  }
}

std::vector<TensorInfo> TakeSameTensors(const std::string& call, const slipway_tensor* tensors, int count,
                                        Communicator& communicator) {
  std::vector<TensorInfo> taken;
  OnAllRanks(communicator, [&] { taken = TakeTensors(tensors, count); });
  RequireSameCall(call, taken, communicator);
  return taken;
}

}  // namespace slipway::runtime
