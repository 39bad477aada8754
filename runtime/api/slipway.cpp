// The C interface: checks arguments, keeps every exception inside, turns it into a code and a message.

#include "runtime/slipway.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/install.h"
#include "runtime/api/job.h"
#include "runtime/collectives/allreduce.h"
#include "runtime/exchange/cpu_memory.h"
#include "runtime/exchange/replicas.h"
#include "runtime/group/agreement.h"
#include "runtime/status.h"

namespace {

using slipway::runtime::Job;
using slipway::runtime::OnAllRanks;
using slipway::runtime::RuntimeError;
using slipway::runtime::TakeTensors;
using slipway::runtime::TensorInfo;

/// Not destroyed when the program exits without slipway_finalize: MPI would then wait for ranks that may be waiting
/// for this one. It ends, and the launcher ends the others.
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

/// Runs `body`; whatever it throws becomes a code and a message.
template <class Body>
int Guard(const char* function, Body body) noexcept {
  try {
    last_message.clear();
    body();
    return SLIPWAY_OK;
  } catch (const std::exception& error) {
    return Remember(slipway::runtime::StatusOf(error), function, error.what());
  } catch (...) {
    return Remember(SLIPWAY_ERROR_INTERNAL, function, "unknown exception");
  }
}

Job& CurrentJob() {
  if (job == nullptr) throw RuntimeError(SLIPWAY_ERROR_STATE, "call slipway_init first");
  if (!job->InItsOwnProcess())
    throw RuntimeError(SLIPWAY_ERROR_STATE, "a process made by fork() is not part of the job");
  return *job;
}

void RequireArgument(bool good, const std::string& message) {
  if (!good) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, message);
}

/// TakeTensors, refused on all ranks when one rank's list is wrong or differs. Collective.
std::vector<TensorInfo> TakeSameTensors(const std::string& call, const slipway_tensor* tensors, int count,
                                        Job& current) {
  std::vector<TensorInfo> taken;
  OnAllRanks(current.communicator(), [&] { taken = TakeTensors(tensors, count); });
  RequireSameCall(call, taken, current.communicator());
  return taken;
}

void CopyPath(const std::string& text, char* path, size_t capacity) {
  RequireArgument(path != nullptr && text.size() < capacity,
                  fmt::format("the buffer for a path of {} bytes is null or too small", text.size() + 1));
  std::memcpy(path, text.c_str(), text.size() + 1);
}

int Report(const char* function, int64_t step, std::optional<double> epoch, const char* name, double value) {
  return Guard(function, [&] {
    RequireArgument(name != nullptr && *name != '\0', "the metric has no name");
    if (auto* metrics = CurrentJob().metrics()) metrics->Report(step, epoch, name, value);
  });
}

}  // namespace

extern "C" {

const char* slipway_error_message(void) { return last_message.c_str(); }

const char* slipway_version(void) { return slipway::Version().data(); }

int slipway_init(const char* config) {
  return Guard(__func__, [&] {
    if (job != nullptr) throw RuntimeError(SLIPWAY_ERROR_STATE, "called twice");
    job = new Job(config);
  });
}

int slipway_finalize(void) {
  return Guard(__func__, [] {
    CurrentJob();
    delete std::exchange(job, nullptr);
  });
}

int slipway_rank(void) { return job != nullptr ? job->communicator().rank() : -1; }
int slipway_size(void) { return job != nullptr ? job->communicator().size() : -1; }
int slipway_local_rank(void) { return job != nullptr ? job->communicator().local_rank() : -1; }

int slipway_register(const char* team, const slipway_tensor* tensors, int count, int64_t total_steps) {
  return Guard(__func__, [&] {
    auto& current = CurrentJob();
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(team != nullptr && *team != '\0', "the team has no name");
      RequireArgument(total_steps >= 0, fmt::format("the number of steps is negative: {}", total_steps));
      if (current.teams().contains(team)) {
        throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' is registered already", team));
      }
    });
    const auto taken =
        TakeSameTensors(fmt::format("team '{}' of {} steps", team, total_steps), tensors, count, current);
    current.teams().try_emplace(team, taken, current.communicator());
  });
}

int slipway_broadcast(const slipway_tensor* tensors, int count, int root) {
  return Guard(__func__, [&] {
    auto& current = CurrentJob();
    auto& communicator = current.communicator();
    OnAllRanks(communicator, [&] {
      RequireArgument(root >= 0 && root < communicator.size(), fmt::format("there is no rank {}", root));
    });
    for (const auto& tensor : TakeSameTensors(fmt::format("root {}", root), tensors, count, current)) {
      communicator.Broadcast(tensor.data, tensor.bytes(), root);
    }
  });
}

int slipway_allreduce(void* data, int64_t count, slipway_dtype dtype, slipway_op op) {
  return Guard(__func__, [&] {
    auto& communicator = CurrentJob().communicator();
    RequireArgument(count >= 0, fmt::format("the count is negative: {}", count));
    RequireArgument(count <= std::numeric_limits<int64_t>::max() / 8, fmt::format("the count is too large: {}", count));
    RequireArgument(slipway::runtime::SizeOf(dtype) > 0, "unknown dtype");
    RequireArgument(op >= SLIPWAY_SUM && op <= SLIPWAY_MAX, "unknown operation");
    RequireArgument(data != nullptr || count == 0, "the data is a null pointer");
    slipway::runtime::RequireCpuMemory(data, "the data");
    slipway::runtime::Allreduce(data, count, dtype, op, communicator);
  });
}

int slipway_gradients(const char* team) {
  return Guard(__func__, [&] {
    auto& teams = CurrentJob().teams();
    RequireArgument(team != nullptr, "the team has no name");
    const auto found = teams.find(team);
    if (found == teams.end()) {
      throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' is not registered: call slipway_register", team));
    }
    found->second.ExchangeMean();
  });
}

int slipway_average(double* values, int64_t count) {
  return slipway_allreduce(values, count, SLIPWAY_FLOAT64, SLIPWAY_MEAN);
}

int slipway_barrier(void) {
  return Guard(__func__, [] { CurrentJob().communicator().Barrier(); });
}

int slipway_check_match(const slipway_tensor* tensors, int count) {
  return Guard(__func__, [&] {
    auto& current = CurrentJob();
    CheckReplicas(TakeSameTensors("a comparison", tensors, count, current), current.communicator());
  });
}

int slipway_report(int64_t step, const char* name, double value) {
  return Report(__func__, step, std::nullopt, name, value);
}

int slipway_report_epoch(int64_t step, double epoch, const char* name, double value) {
  return Report(__func__, step, epoch, name, value);
}

int slipway_stop_requested(int* requested) {
  return Guard(__func__, [&] {
    RequireArgument(requested != nullptr, "the result is a null pointer");
    auto& current = CurrentJob();
    *requested = current.stop_file().Requested(current.communicator()) ? 1 : 0;
  });
}

int slipway_checkpoint_begin(int64_t step, char* path, size_t capacity) {
  return Guard(__func__, [&] {
    auto& current = CurrentJob();
    const auto prepared = current.checkpoints().Begin(step, current.communicator());
    OnAllRanks(current.communicator(), [&] { CopyPath(prepared, path, capacity); });
  });
}

int slipway_checkpoint_commit(int64_t step, double epoch) {
  return Guard(__func__, [&] {
    auto& current = CurrentJob();
    current.checkpoints().Commit(step, epoch, current.communicator());
  });
}

int slipway_resume_from(char* path, size_t capacity) {
  return Guard(__func__, [&] {
    auto& current = CurrentJob();
    const auto checkpoint = current.checkpoints().ResumeFrom(current.communicator());
    OnAllRanks(current.communicator(), [&] { CopyPath(checkpoint, path, capacity); });
  });
}

}  // extern "C"
