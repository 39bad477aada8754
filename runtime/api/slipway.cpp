// The C interface: checks arguments, keeps every exception inside, turns it into a code and a message.

#include "runtime/slipway.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/install.h"
#include "runtime/api/job.h"
#include "runtime/collectives/allreduce.h"
#include "runtime/collectives/broadcast.h"
#include "runtime/collectives/pairwise.h"
#include "runtime/exchange/cpu_memory.h"
#include "runtime/exchange/replicas.h"
#include "runtime/group/agreement.h"
#include "runtime/status.h"

namespace {

using namespace slipway::runtime;  // this file is the outside of that room
using Operation = Watch::Operation;

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

/// The ranks are in different places now. The others may wait for this one: they are told why.
int RememberParting(const PartedError& error, const char* function) noexcept {
  if (job != nullptr) {
    job->Abandon();
    if (error.status() == SLIPWAY_ERROR_MISMATCH) job->watch().Report("mismatch", error.what(), {job->rank()});
  }
  return Remember(error.status(), function, error.what());
}

/// Runs `body`; whatever it throws becomes a code and a message.
template <class Body>
int Guard(const char* function, Body body) noexcept {
  try {
    last_message.clear();
    body();
    return SLIPWAY_OK;
  } catch (const PartedError& error) {
    return RememberParting(error, function);
  } catch (const std::exception& error) {
    return Remember(StatusOf(error), function, error.what());
  } catch (...) {
    return Remember(SLIPWAY_ERROR_INTERNAL, function, "unknown exception");
  }
}

Job& CurrentJob() {
  if (job == nullptr) throw RuntimeError(SLIPWAY_ERROR_STATE, "call slipway_init first");
  if (!job->InItsOwnProcess()) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, "a process made by fork() is not part of the job");
  }
  return *job;
}

/// For calls that need the other ranks.
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

/// TakeTensors, refused on all ranks when one rank's list is wrong or differs. Collective.
std::vector<TensorInfo> TakeSameTensors(const std::string& call, const slipway_tensor* tensors, int count,
                                        Communicator& communicator) {
  std::vector<TensorInfo> taken;
  OnAllRanks(communicator, [&] { taken = TakeTensors(tensors, count); });
  RequireSameCall(call, taken, communicator);
  return taken;
}

/// What is combined in place must be combined once.
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

void RequireCount(int64_t count) {
  RequireArgument(count >= 0, fmt::format("the count is negative: {}", count));
  RequireArgument(count <= std::numeric_limits<int64_t>::max() / 8, fmt::format("the count is too large: {}", count));
}

void RequireData(const void* data, int64_t count, const char* name) {
  RequireArgument(data != nullptr || count == 0, fmt::format("{} is a null pointer", name));
  RequireCpuMemory(data, name);
}

bool IsFloat(slipway_dtype dtype) {
  return dtype == SLIPWAY_FLOAT32 || dtype == SLIPWAY_FLOAT64 || dtype == SLIPWAY_FLOAT16 || dtype == SLIPWAY_BFLOAT16;
}

void RequireReduction(slipway_dtype dtype, slipway_op op) {
  RequireArgument(SizeOf(dtype) > 0, "unknown dtype");
  RequireArgument(op >= SLIPWAY_SUM && op <= SLIPWAY_PRODUCT, "unknown operation");
  RequireArgument(IsNumber(dtype), fmt::format("{} is moved, never reduced", NameOf(dtype)));
}

/// Slices of `counts[0]`, `counts[1]`, ... elements, one behind the other.
std::vector<Slice> SlicesFrom(const int64_t* counts, int ranks, const char* name) {
  RequireArgument(counts != nullptr, fmt::format("{} is a null pointer", name));
  std::vector<Slice> slices;
  int64_t first = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    RequireCount(counts[rank]);
    slices.push_back({first, counts[rank]});
    RequireArgument(!__builtin_add_overflow(first, counts[rank], &first), fmt::format("{} add up to too much", name));
    RequireCount(first);
  }
  return slices;
}

int64_t TotalOf(const std::vector<Slice>& slices) { return slices.back().end(); }

void RequireApart(const void* send, int64_t sent, const void* receive, int64_t received, slipway_dtype dtype) {
  const auto* a = static_cast<const char*>(send);
  const auto* b = static_cast<const char*>(receive);
  const auto element = static_cast<int64_t>(SizeOf(dtype));
  RequireArgument(sent == 0 || received == 0 || a + sent * element <= b || b + received * element <= a,
                  "the buffers to send and to receive overlap");
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
    auto& current = CurrentJob();
    std::exception_ptr unwritten;
    if (!current.abandoned()) {
      const Operation operation(current.watch(), Activity::kFinalize);
      unwritten = current.Leave();
    }
    auto* leaving = std::exchange(job, nullptr);
    // What an abandoned job holds may be in use by a thread that waits, and MPI's end would wait for all ranks.
    if (!leaving->abandoned()) delete leaving;
    if (unwritten) std::rethrow_exception(unwritten);
  });
}

int slipway_rank(void) { return job != nullptr ? job->rank() : -1; }
int slipway_size(void) { return job != nullptr ? job->all().size() : -1; }
int slipway_local_rank(void) { return job != nullptr ? job->local_rank() : -1; }
int slipway_local_size(void) { return job != nullptr ? job->local_size() : -1; }

int slipway_group_create(const int* ranks, int count, int* group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kGroup);
    std::vector<int> members;
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(group != nullptr, "the result is a null pointer");
      RequireArgument(count > 0 && ranks != nullptr, "a group needs ranks");
      members.assign(ranks, ranks + count);
      const std::set<int> different(members.begin(), members.end());
      RequireArgument(different.size() == members.size(), "a rank stands twice in the list");
      RequireArgument(
          *different.begin() >= 0 && *different.rbegin() < current.all().size(),
          fmt::format("there is no rank {}", *different.begin() < 0 ? *different.begin() : *different.rbegin()));
    });
    RequireSameCall(fmt::format("a group of {}", fmt::join(members, ", ")), {}, current.communicator());
    *group = current.MakeGroup(members);
  });
}

int slipway_group_free(int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kGroup);
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(group != SLIPWAY_ALL, "the group of all ranks stays");
      RequireArgument(current.HasGroup(group), fmt::format("there is no group {}", group));
    });
    current.FreeGroup(group);
  });
}

int slipway_group_rank(int group) {
  const auto* found = job != nullptr ? job->FindGroup(group) : nullptr;
  return found != nullptr ? found->rank() : -1;
}

int slipway_group_size(int group) {
  const auto* found = job != nullptr ? job->FindGroup(group) : nullptr;
  return found != nullptr ? found->size() : -1;
}

int slipway_alloc(int64_t bytes, void** memory) {
  return Guard(__func__, [&] {
    RequireArgument(memory != nullptr, "the result is a null pointer");
    RequireCount(bytes);
    *memory = CurrentJob().memory().pool.Allocate(bytes);
  });
}

int slipway_free(void* memory) {
  return Guard(__func__, [&] { CurrentJob().memory().pool.Free(memory); });
}

int slipway_register(const char* team, const slipway_tensor* tensors, int count, int64_t total_steps) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kRegister);
    auto& communicator = current.communicator();
    OnAllRanks(communicator, [&] {
      RequireArgument(team != nullptr && *team != '\0', "the team has no name");
      RequireArgument(total_steps >= 0, fmt::format("the number of steps is negative: {}", total_steps));
      if (current.HasTeam(team)) {
        throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' is registered already", team));
      }
    });
    auto taken = TakeSameTensors(fmt::format("team '{}' of {} steps", team, total_steps), tensors, count, communicator);
    OnAllRanks(communicator, [&] {
      for (const auto& tensor : taken) {
        RequireArgument(IsNumber(tensor.dtype),
                        fmt::format("tensor '{}' is of bytes, which cannot be reduced", tensor.name));
      }
      RequireApart(taken);
    });
    current.MakeTeam({team, std::move(taken), total_steps, current.default_settings()});
  });
}

int slipway_configure_team(const char* team, const char* settings) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kRegister);
    TeamSettings changed;
    slipway::Json json;
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(team != nullptr && settings != nullptr, "the team or the settings are a null pointer");
      json = ParseJson(settings, "the settings are no JSON");
      auto& found = current.TeamOf(team);
      found.RequireUnused();
      changed = WithChanges(found.settings(), json);
    });
    RequireSameCall(fmt::format("team '{}' with {}", team, json.dump()), {}, current.communicator());
    current.TeamOf(team).Configure(changed);
  });
}

int slipway_unregister(const char* team) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kRegister);
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(team != nullptr, "the team has no name");
      if (current.TeamOf(team).InFlight()) {
        throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' has a step in flight: call slipway_wait", team));
      }
    });
    current.ForgetTeam(team);
  });
}

int slipway_broadcast(const slipway_tensor* tensors, int count, int root, int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kBroadcast);
    auto& members = current.GroupOf(group);
    OnAllRanks(members.communicator(),
               [&] { RequireArgument(root >= 0 && root < members.size(), fmt::format("there is no rank {}", root)); });
    for (const auto& tensor : TakeSameTensors(fmt::format("root {}", root), tensors, count, members.communicator())) {
      Broadcast(tensor.data, tensor.bytes(), root, members.members());
    }
  });
}

int slipway_allreduce(void* data, int64_t count, slipway_dtype dtype, slipway_op op, int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    RequireCount(count);
    RequireReduction(dtype, op);
    RequireData(data, count, "the data");
    const Operation operation(current.watch(), Activity::kAllreduce);
    const Piece piece{static_cast<char*>(data), count};
    Allreduce({{&piece, 1}, {dtype, op}, 0, nullptr}, current.GroupOf(group));
  });
}

int slipway_reduce_scatter(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype, slipway_op op,
                           int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    auto& members = current.GroupOf(group);
    const auto slices = SlicesFrom(counts, members.size(), "the counts");
    RequireReduction(dtype, op);
    const auto own = slices[static_cast<std::size_t>(members.rank())].count;
    RequireData(send, TotalOf(slices), "the data to send");
    RequireData(receive, own, "the data to receive");
    RequireApart(send, TotalOf(slices), receive, own, dtype);
    const Operation operation(current.watch(), Activity::kReduceScatter);
    PairwiseReduceScatter(send, receive, slices, {dtype, op}, members.members(), members.size());
  });
}

int slipway_allgather(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype, int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    auto& members = current.GroupOf(group);
    const auto slices = SlicesFrom(counts, members.size(), "the counts");
    RequireArgument(SizeOf(dtype) > 0, "unknown dtype");
    const auto own = slices[static_cast<std::size_t>(members.rank())];
    RequireData(send, own.count, "the data to send");
    RequireData(receive, TotalOf(slices), "the data to receive");
    RequireApart(send, own.count, receive, TotalOf(slices), dtype);
    const Operation operation(current.watch(), Activity::kAllgather);
    const auto element = SizeOf(dtype);
    if (own.count > 0) {
      std::memcpy(static_cast<char*>(receive) + static_cast<std::size_t>(own.first) * element, send,
                  static_cast<std::size_t>(own.count) * element);
    }
    PairwiseAllgather(receive, slices, element, members.members());
  });
}

int slipway_alltoall(const void* send, const int64_t* send_counts, void* receive, const int64_t* receive_counts,
                     slipway_dtype dtype, int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    auto& members = current.GroupOf(group);
    const auto out = SlicesFrom(send_counts, members.size(), "the counts to send");
    const auto in = SlicesFrom(receive_counts, members.size(), "the counts to receive");
    RequireArgument(SizeOf(dtype) > 0, "unknown dtype");
    RequireData(send, TotalOf(out), "the data to send");
    RequireData(receive, TotalOf(in), "the data to receive");
    RequireApart(send, TotalOf(out), receive, TotalOf(in), dtype);
    const auto own = static_cast<std::size_t>(members.rank());
    RequireArgument(out[own].count == in[own].count, "a rank sends itself as much as it receives from itself");
    const Operation operation(current.watch(), Activity::kAlltoall);
    PairwiseAlltoall(send, out, receive, in, SizeOf(dtype), members.members());
  });
}

int slipway_barrier(int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kBarrier);
    auto& members = current.GroupOf(group);
    if (members.channel() != nullptr && members.topology().nodes() == 1) {
      members.channel()->Meet({});
    } else if (!members.alone()) {
      Barrier(members.members());
    }
  });
}

int slipway_submit(const char* team, int index) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr, "the team has no name");
    WholeJob().TeamOf(team).Submit(index);
  });
}

int slipway_wait(const char* team) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr, "the team has no name");
    WholeJob().TeamOf(team).Wait();
  });
}

int slipway_gradients(const char* team) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr, "the team has no name");
    WholeJob().TeamOf(team).Wait();
  });
}

int slipway_delivered(const char* team, int* delivered) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr && delivered != nullptr, "the team or the result is a null pointer");
    *delivered = CurrentJob().TeamOf(team).delivered() ? 1 : 0;
  });
}

int slipway_gradient_norm(const char* team, double* norm) {
  return Guard(__func__, [&] {
    RequireArgument(team != nullptr && norm != nullptr, "the team or the result is a null pointer");
    const auto& found = CurrentJob().TeamOf(team);
    if (found.settings().clip_norm == 0) {
      throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' has no clip_norm, so no norm was computed", team));
    }
    *norm = found.norm();
  });
}

int slipway_state_save(const char* team, void* buffer, size_t* size) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kState);
    RequireArgument(team != nullptr && size != nullptr, "the team or the size is a null pointer");
    const auto state = current.TeamOf(team).SaveState();
    const auto capacity = std::exchange(*size, state.size());
    if (buffer == nullptr) return;
    RequireArgument(capacity >= state.size(),
                    fmt::format("the buffer has {} bytes, {} are needed", capacity, state.size()));
    std::memcpy(buffer, state.data(), state.size());
  });
}

int slipway_state_load(const char* team, const void* buffer, size_t size) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kState);
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(team != nullptr && buffer != nullptr, "the team or the state is a null pointer");
      current.TeamOf(team).LoadState({static_cast<const char*>(buffer), size});
    });
    const auto step = current.TeamOf(team).step();
    const auto pending = current.TeamOf(team).pending();
    RequireSameCall(fmt::format("the state of team '{}' after step {}, {} of them on their way", team, step, pending),
                    {}, current.communicator());
  });
}

int slipway_server_create(const char* server, const slipway_tensor* parameters, int count, double rate,
                          int64_t staleness) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kServerCreate);
    auto& communicator = current.communicator();
    OnAllRanks(communicator, [&] {
      RequireArgument(server != nullptr && *server != '\0', "the parameter server has no name");
      RequireArgument(staleness >= 0, fmt::format("the staleness is negative: {}", staleness));
      RequireRate(rate);
      if (current.HasServer(server)) {
        throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("there is a parameter server '{}' already", server));
      }
    });
    const auto call = fmt::format("parameter server '{}' of rate {} and staleness {}", server, rate, staleness);
    auto taken = TakeSameTensors(call, parameters, count, communicator);
    OnAllRanks(communicator, [&] {
      for (const auto& tensor : taken) {
        RequireArgument(IsFloat(tensor.dtype), fmt::format("parameter '{}' is of {}, which no gradient can change",
                                                           tensor.name, NameOf(tensor.dtype)));
      }
      RequireApart(taken);
    });
    current.MakeServer({server, std::move(taken), rate, staleness});
  });
}

int slipway_server_push(const char* server, const slipway_tensor* gradients, int count) {
  return Guard(__func__, [&] {
    RequireArgument(server != nullptr, "the parameter server has no name");
    WholeJob().ServerOf(server).Push(TakeTensors(gradients, count));
  });
}

int slipway_server_pull(const char* server) {
  return Guard(__func__, [&] {
    RequireArgument(server != nullptr, "the parameter server has no name");
    WholeJob().ServerOf(server).Pull();
  });
}

int slipway_server_set_rate(const char* server, double rate) {
  return Guard(__func__, [&] {
    RequireArgument(server != nullptr, "the parameter server has no name");
    CurrentJob().ServerOf(server).SetRate(rate);
  });
}

int slipway_server_lead(const char* server, int64_t* lead) {
  return Guard(__func__, [&] {
    RequireArgument(server != nullptr && lead != nullptr, "the parameter server or the result is a null pointer");
    *lead = CurrentJob().ServerOf(server).lead();
  });
}

int slipway_server_free(const char* server) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kServerFree);
    OnAllRanks(current.communicator(), [&] {
      RequireArgument(server != nullptr, "the parameter server has no name");
      current.ServerOf(server);
    });
    RequireSameCall(fmt::format("parameter server '{}'", server), {}, current.communicator());
    current.FreeServer(server);
  });
}

int slipway_average(double* values, int64_t count) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    RequireCount(count);
    RequireData(values, count, "the data");
    const Operation operation(current.watch(), Activity::kAverage);
    const Piece piece{reinterpret_cast<char*>(values), count};
    Allreduce({{&piece, 1}, {SLIPWAY_FLOAT64, SLIPWAY_MEAN}, 0, nullptr}, current.all());
  });
}

int slipway_check_match(const slipway_tensor* tensors, int count) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kCheckMatch);
    auto& communicator = current.communicator();
    CheckReplicas(TakeSameTensors("a comparison", tensors, count, communicator), communicator);
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
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kStopRequested);
    *requested = current.stop_file().Requested(current.communicator()) ? 1 : 0;
  });
}

int slipway_input_begin(void) {
  return Guard(__func__, [] { CurrentJob().BeginInput(); });
}

int slipway_input_end(void) {
  return Guard(__func__, [] { CurrentJob().EndInput(); });
}

int slipway_checkpoint_begin(int64_t step, char* path, size_t capacity) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kCheckpoint);
    const auto prepared = current.checkpoints().Begin(step, current.communicator());
    OnAllRanks(current.communicator(), [&] { CopyPath(prepared, path, capacity); });
  });
}

int slipway_checkpoint_commit(int64_t step, double epoch) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kCheckpoint);
    current.checkpoints().Commit(step, epoch, current.communicator());
  });
}

int slipway_resume_from(char* path, size_t capacity) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kCheckpoint);
    const auto checkpoint = current.checkpoints().ResumeFrom(current.communicator());
    OnAllRanks(current.communicator(), [&] { CopyPath(checkpoint, path, capacity); });
  });
}

}  // extern "C"
