#include "launcher/run/context/gpu_hold.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>

#include "core/environment.h"
#include "core/error.h"
#include "core/fnv1a.h"
#include "core/lines.h"
#include "core/log.h"
#include "launcher/plan/trials_at_a_time.h"
#include "launcher/ranks/nodes/node_turn.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr auto kPauseForLook = std::chrono::milliseconds(5);

/// Between a workflow's manager and that of a step: the numbers of the descriptors, "3,4".
constexpr const char* kGivenLocks = "SLIPWAY_GPU_LOCK_FDS";
constexpr int kFirstGivenLock = STDERR_FILENO + 1;

fs::path LockOf(const fs::path& folder, const std::string& device) {
  return folder / fmt::format("gpu-{:016x}", Fnv1a64(device));
}

/// "GPU 4", "GPU-8932f937".
std::string InWords(const std::string& device) {
  return std::isdigit(static_cast<unsigned char>(device.front())) != 0 ? "GPU " + device : device;
}

/// A step that finds too few holds the others for a moment. Who cannot look again later tries twice.
std::optional<FileLock> TryHold(const fs::path& file, int tries) {
  auto lock = FileLock::TryAcquire(file, LockMode::kExclusive);
  for (; !lock && tries > 1; --tries) {
    std::this_thread::sleep_for(kPauseForLook);
    lock = FileLock::TryAcquire(file, LockMode::kExclusive);
  }
  return lock;
}

/// For people only: the lock holds without its holder's name, as on a full disk.
void DescribeIfPossible(FileLock& lock, const std::string& holder) try {
  lock.Describe(holder);
} catch (const Error& error) {
  static std::atomic_flag said;
  if (!said.test_and_set()) log::Warn("other runs cannot see that {} holds a GPU: {}", holder, error.message());
}

/// "GPU 0 is held by run a". The name may be missing: see DescribeIfPossible.
std::string HeldBy(const std::string& device, const fs::path& lock) {
  const auto holder = ReadFileIfPresent(lock).value_or("");
  return fmt::format("{} is held by {}", InWords(device), holder.empty() ? "another run" : holder);
}

[[noreturn]] void ThrowHeld(const std::string& held, int wanted, std::size_t free) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("{} GPU{} needed, and {} free: {}", wanted, wanted == 1 ? " is" : "s are", free, held),
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
    if (auto lock = TryHold(file, least > 0 ? 2 : 1)) {
      DescribeIfPossible(*lock, holder);
      locks_.push_back(std::move(*lock));
      taken.push_back(name);
    } else {
      held.push_back(HeldBy(name, file));
    }
  }
  others_ = fmt::format("{}", fmt::join(held, ", "));
  if (std::cmp_less(taken.size(), least)) ThrowHeld(others_, least, taken.size());
  devices_ = devices.Called(taken);
}

void GpuHold::HandTo(SpawnOptions& child) const {
  if (locks_.empty()) return;
  std::vector<int> numbers;
  for (const auto& lock : locks_) {
    numbers.push_back(kFirstGivenLock + static_cast<int>(child.inherited.size()));
    child.inherited.emplace_back(lock.fd(), numbers.back());
  }
  if (!child.environment) child.environment = Environment::Inherited();
  child.environment->Set(kGivenLocks, fmt::format("{}", fmt::join(numbers, ",")));
}

GpuLocks TakeGivenGpuLocks() {
  std::istringstream numbers(Environment::Inherited().Get(kGivenLocks).value_or(""));
  ::unsetenv(kGivenLocks);
  GpuLocks locks;
  for (std::string number; std::getline(numbers, number, ',');) {
    int fd = -1;
    if (!ParseNumber(number, fd) || fd < kFirstGivenLock || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) continue;
    locks.emplace_back(fd);
  }
  return locks;
}

fs::path FolderOfGpuLocks() {
  const auto chosen = Environment::Inherited().Get("SLIPWAY_GPU_LOCKS").value_or("");
  if (chosen.empty()) return PrivateFolderOfNode(FoldersForAll());
  MakeDirectories(chosen);
  return chosen;
}

GpuHold HoldGpusFor(const Spec& spec, const std::string& run, GpuLocks given) {
  if (!given.empty()) return GpuHold(std::move(given));
  const int least = NeedOf(spec).gpus;
  if (least == 0 || AreGivenOut(Environment::Inherited())) return {};
  const auto devices = DevicesOfThisNode();
  if (devices.count() < least) return {};  // what is done then does not depend on other runs
  GpuHold hold(FolderOfGpuLocks(), devices, least, MostGpusOf(spec), "run " + run);
  for (const auto& [name, value] : VariablesFor(hold.devices())) ::setenv(name.c_str(), value.c_str(), 1);
  return hold;
}

namespace {

/// False where nothing is known of it.
bool IsSeenHeld(const fs::path& lock) try { return !FileLock::TryLook(lock); } catch (const Error&) {
  return false;
}

/// Without locks of its own: up to `most` of the devices whose locks nobody is seen to hold.
GpuHold TakeUnlocked(const NodeDevices& devices, int most) try {
  const auto folder = FolderOfGpuLocks();
  std::vector<std::string> free;
  std::vector<std::string> held;
  for (const auto& name : devices.names()) {
    const auto lock = LockOf(folder, name);
    if (IsSeenHeld(lock)) {
      held.push_back(HeldBy(name, lock));
    } else {
      free.push_back(name);
    }
  }
  return GpuHold(devices.Called(free).Part(0, most), fmt::format("{}", fmt::join(held, ", ")));
} catch (const Error&) {
  return GpuHold(devices.Part(0, most));
}

}  // namespace

GpuHold HoldWhatIsFree(const NodeDevices& devices, int most, const std::string& holder) try {
  if (most == 0) return {};
  if (AreGivenOut(Environment::Inherited())) return GpuHold(devices.Part(0, most));
  return {FolderOfGpuLocks(), devices, 0, most, holder};
} catch (const Error& error) {
  log::Warn("other runs may take GPUs of {}: {}", holder, error.message());
  return TakeUnlocked(devices, most);
}

}  // namespace slipway::launcher
