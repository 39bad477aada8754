// The C interface: the life of a program in the job, groups, memory, and what goes to the run folder. Like the files
// beside it, it checks arguments, keeps every exception inside, and turns it into a code and a message.

#include "runtime/slipway.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/crc32c.h"
#include "core/environment.h"
#include "core/install.h"
#include "core/text.h"
#include "runtime/api/calls.h"
#include "runtime/group/agreement.h"
#include "runtime/memory/torch_loans.h"

namespace {

using namespace slipway::runtime;  // this file is the outer face of the runtime
using Operation = Watch::Operation;

/// MPI promises tags up to this.
constexpr int kLargestTag = 32767;

void CopyPath(const std::string& text, char* path, size_t capacity) {
  RequireArgument(path != nullptr && text.size() < capacity,
                  fmt::format("the buffer for a path of {} bytes is null or too small", text.size() + 1));
  std::memcpy(path, text.c_str(), text.size() + 1);
}

/// `missing` where there is no text. Of a line with this key.
slipway::Json ParsedJson(const char* text, const char* missing, const char* key) {
  const char* given = text != nullptr ? text : missing;
  auto json = slipway::Json::parse(given, nullptr, false);
  RequireArgument(!json.is_discarded(), fmt::format("the value of '{}' is not JSON: {}", key, given));
  return json;
}

std::vector<int> TakeMembers(const int* ranks, int count, const int* result, int job_size) {
  RequireArgument(result != nullptr, "the result is a null pointer");
  RequireArgument(count > 0 && ranks != nullptr, "a group needs ranks");
  const std::set<int> different(ranks, ranks + count);
  RequireArgument(different.size() == static_cast<std::size_t>(count), "a rank stands twice in the list");
  RequireArgument(
      *different.begin() >= 0 && *different.rbegin() < job_size,
      fmt::format("there is no rank {}", *different.begin() < 0 ? *different.begin() : *different.rbegin()));
  return {ranks, ranks + count};
}

int Report(const char* function, int64_t step, std::optional<double> epoch, const char* name, double value) {
  return Guard(function, [&] {
    RequireArgument(name != nullptr && *name != '\0', "the metric has no name");
    const auto shown = slipway::OnOneLine(name);
    RequireArgument(shown == name, fmt::format("the name of the metric '{}' has a control character", shown));
    if (auto* metrics = CurrentJob().metrics()) metrics->Report(step, epoch, name, value);
  });
}

}  // namespace

extern "C" {

const char* slipway_error_message(void) { return last_message.c_str(); }

const char* slipway_version(void) { return slipway::Version().data(); }

uint32_t slipway_crc32c(const void* data, size_t bytes, uint32_t crc) {
  return slipway::Crc32c(std::span(static_cast<const std::byte*>(data), bytes), crc);
}

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
    OnAllRanks(current.communicator(), [&] { members = TakeMembers(ranks, count, group, current.all().size()); });
    RequireSameCall(fmt::format("a group of {}", fmt::join(members, ", ")), {}, current.communicator());
    *group = current.MakeGroup(members);
  });
}

int slipway_group_create_by_members(const int* ranks, int count, int tag, int* group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kGroup);
    const auto members = TakeMembers(ranks, count, group, current.all().size());
    RequireArgument(tag >= 0 && tag <= kLargestTag, fmt::format("the tag is {}, not 0 to {}", tag, kLargestTag));
    RequireArgument(std::find(members.begin(), members.end(), current.rank()) != members.end(),
                    fmt::format("rank {} is not one of the members", current.rank()));
    *group = current.MakeGroupByMembers(members, tag);
  });
}

int slipway_group_free(int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kGroup);
    const BesideCaptures beside(Driver::Loaded());
    const auto check = [&] {
      RequireArgument(group != SLIPWAY_ALL, "the group of all ranks stays");
      RequireArgument(current.HasGroup(group), fmt::format("there is no group {}", group));
    };
    if (Job::IsByMembers(group)) {
      check();
    } else {
      OnAllRanks(current.communicator(), check);
    }
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

int slipway_adopt(void* memory, int64_t bytes, int descriptor) {
  return Guard(__func__, [&] {
    RequireArgument(memory != nullptr && bytes > 0, "the memory is a null pointer, or empty");
    CurrentJob().memory().pool.Adopt(memory, bytes, descriptor);
  });
}

int slipway_free(void* memory) {
  return Guard(__func__, [&] {
    auto& known = CurrentJob().memory();
    if (!known.devices.Free(memory)) known.pool.Free(memory);
  });
}

int slipway_torch_lend(void* memory, int64_t bytes, int* lent) {
  return Guard(__func__, [&] {
    RequireArgument(memory != nullptr && bytes > 0 && lent != nullptr, "the memory is a null pointer, or empty");
    const bool shared = CurrentJob().memory().pool.Find(memory, static_cast<std::uint64_t>(bytes)).serial != 0;
    const bool wanted = slipway::Variable("SLIPWAY_TORCH_MEMORY") != "0";
    *lent = shared && wanted && LendToTorch(static_cast<char*>(memory), static_cast<std::size_t>(bytes)) ? 1 : 0;
  });
}

int slipway_torch_take_back(void* memory, int* taken) {
  return Guard(__func__, [&] {
    RequireArgument(memory != nullptr && taken != nullptr, "the memory or the result is a null pointer");
    *taken = TakeBackFromTorch(static_cast<const char*>(memory)) ? 1 : 0;
  });
}

void slipway_torch_lending(int on) { SetLending(on != 0 ? Lending::kOn : Lending::kOff); }

int slipway_alloc_on_device(int64_t bytes, int device, void** memory) {
  return Guard(__func__, [&] {
    RequireArgument(memory != nullptr, "the result is a null pointer");
    RequireCount(bytes);
    const BesideCaptures beside(Driver::Loaded());
    *memory = CurrentJob().memory().devices.Allocate(device, bytes);
  });
}

int slipway_report(int64_t step, const char* name, double value) {
  return Report(__func__, step, std::nullopt, name, value);
}

int slipway_report_epoch(int64_t step, double epoch, const char* name, double value) {
  return Report(__func__, step, epoch, name, value);
}

int slipway_mllog(int event, const char* key, const char* value, const char* metadata) {
  return Guard(__func__, [&] {
    RequireArgument(key != nullptr && *key != '\0', "the line has no key");
    RequireArgument(event >= SLIPWAY_MLLOG_POINT && event <= SLIPWAY_MLLOG_STOP,
                    fmt::format("there is no event {}", event));
    const auto parsed_value = ParsedJson(value, "null", key);
    const auto parsed_metadata = ParsedJson(metadata, "{}", key);
    RequireArgument(parsed_metadata.is_object(), fmt::format("the metadata of '{}' is no JSON object", key));
    if (auto* log = CurrentJob().run_log()) {
      log->Write(static_cast<slipway::MllogEvent>(event), key, parsed_value, parsed_metadata);
    }
  });
}

int slipway_stop_requested(int* requested) {
  return Guard(__func__, [&] {
    RequireArgument(requested != nullptr, "the result is a null pointer");
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kStopRequested);
    *requested = current.stop_file().Requested(current.communicator()) ? 1 : 0;
  });
}

int slipway_checkpoint_begin(int64_t step, char* path, size_t capacity) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kCheckpoint);
    current.AwaitResults();
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
