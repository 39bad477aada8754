#include "launcher/run/context/gpu_hold.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <thread>
#include <utility>

#include "core/environment.h"
#include "core/error.h"
#include "core/fnv1a.h"
#include "core/log.h"
#include "launcher/plan/trials_at_a_time.h"
#include "launcher/ranks/nodes/node_turn.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr auto kPauseForLook = std::chrono::milliseconds(5);

fs::path LockOf(const fs::path& folder, const std::string& device) {
  return folder / fmt::format("gpu-{:016x}", Fnv1a64(device));
}

/// "GPU 4", "GPU-8932f937".
std::string InWords(const std::string& device) {
  return std::isdigit(static_cast<unsigned char>(device.front())) != 0 ? "GPU " + device : device;
}

/// Who only looks holds a lock for a moment, too.
std::optional<FileLock> TryHold(const fs::path& file) {
  auto lock = FileLock::TryAcquire(file, LockMode::kExclusive);
  if (lock) return lock;
  std::this_thread::sleep_for(kPauseForLook);
  return FileLock::TryAcquire(file, LockMode::kExclusive);
}

bool IsHeld(const fs::path& folder, const std::string& device) {
  return !FileLock::TryLook(LockOf(folder, device)).has_value();
}

[[noreturn]] void ThrowHeld(const std::vector<std::string>& held, int wanted, std::size_t free) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("{} GPU{} needed, and {} free: {}", wanted, wanted == 1 ? " is" : "s are", free,
                          fmt::join(held, ", ")),
              "wait until that run has ended, or name other GPUs in CUDA_VISIBLE_DEVICES or its like");
}

/// As many as its trials may use at a time; all of them if it sees all.
int MostGpusOf(const Spec& spec) {
  constexpr int kAll = std::numeric_limits<int>::max();
  if (spec.launch.bind == Bind::kNone) return kAll;
  const int needed = NeedOf(spec).gpus;
  if (!spec.ensemble) return needed;
  const auto& parallel = spec.ensemble->parallel;
  return parallel && *parallel < kAll / needed ? *parallel * needed : kAll;
}

/// Another hands out the devices: a batch system, or a run that this process is a part of.
bool AreGivenOut(const Environment& environment) {
  return environment.Get("SLURM_JOB_ID") || environment.Get("SLIPWAY_RUN_DIR");
}

}  // namespace

GpuHold::GpuHold(const fs::path& folder, const NodeDevices& devices, int least, int most, const std::string& holder) {
  std::vector<std::string> taken;
  std::vector<std::string> held;
  for (const auto& name : devices.names()) {
    if (std::cmp_greater_equal(taken.size(), most)) break;
    const auto file = LockOf(folder, name);
    if (auto lock = TryHold(file)) {
      lock->Describe(holder);
      locks_.push_back(std::move(*lock));
      taken.push_back(name);
    } else {
      held.push_back(fmt::format("{} is held by {}", InWords(name), ReadFileIfPresent(file).value_or("another run")));
    }
  }
  if (std::cmp_less(taken.size(), least)) ThrowHeld(held, least, taken.size());
  devices_ = devices.Called(taken);
}

fs::path FolderOfGpuLocks() {
  const auto chosen = Environment::Inherited().Get("SLIPWAY_GPU_LOCKS").value_or("");
  if (chosen.empty()) return PrivateFolderOfNode(FoldersForAll());
  MakeDirectories(chosen);
  return chosen;
}

GpuHold HoldGpusFor(const Spec& spec, const std::string& run) {
  const int least = NeedOf(spec).gpus;
  if (least == 0 || AreGivenOut(Environment::Inherited())) return {};
  const auto devices = DevicesOfThisNode();
  if (devices.count() < least) return {};  // what is done then does not depend on other runs
  GpuHold hold(FolderOfGpuLocks(), devices, least, MostGpusOf(spec), "run " + run);
  for (const auto& [name, value] : VariablesFor(hold.devices())) ::setenv(name.c_str(), value.c_str(), 1);
  return hold;
}

GpuHold HoldWhatIsFree(const NodeDevices& devices, const std::string& holder) try {
  if (devices.count() == 0 || AreGivenOut(Environment::Inherited())) return {};
  return {FolderOfGpuLocks(), devices, 0, devices.count(), holder};
} catch (const Error& error) {
  log::Warn("other runs may take GPUs of {}: {}", holder, error.message());
  return {};
}

void PutHeldLast(std::vector<std::string>& names) try {
  if (names.empty() || AreGivenOut(Environment::Inherited())) return;
  std::ranges::stable_partition(names,
                                [folder = FolderOfGpuLocks()](const auto& name) { return !IsHeld(folder, name); });
} catch (const Error& error) {
  log::Warn("GPUs of other runs are not known: {}", error.message());
}

}  // namespace slipway::launcher
