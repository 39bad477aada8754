/// The life of a generation in its tier: locks, publishing, removal.
///
/// - `<root>/<generation>/`: published; files and manifest.json, never changed again
/// - `<root>/.staging/<generation>/`: being staged, with .journal and .owner (owner.h)
/// - `<root>/.staging/<generation>.evicted`: being removed
/// - `<root>/.locks/<generation>.need`: what an active staging has reserved (reservation.h)
/// - `<root>/.locks/<generation>.stage`: exclusive, for a process that stages or removes this generation
/// - `<root>/.locks/<generation>.lease`: shared by all jobs that use it; exclusive for a process that removes it
///
/// There are two locks because flock(2) cannot turn an exclusive lock into a shared one atomically. All processes take
/// the stage lock first. The stager takes its lease while it still holds the stage lock, so no removal can come between
/// publishing and leasing. The kernel drops both on kill -9. Lock files stay: they say when a generation was last used,
/// and no process waits at a removed lock file.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "staging/dataset/lease.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// The result of an attempt to remove a generation.
enum class Removal {
  kRemoved,
  kNotThere,  ///< another process has removed it
  kInUse,     ///< by a job, or a process stages or removes it
  kKept       ///< it is marked to outlive the runs that use it
};

class Generation {
 public:
  Generation(std::filesystem::path root, std::string name);

  std::filesystem::path Published() const { return root_ / name_; }
  std::filesystem::path Private() const { return root_ / ".staging" / name_; }
  std::filesystem::path StageLock() const { return LockPath(".stage"); }
  /// Its modification time is when the generation was last taken into use.
  std::filesystem::path LeaseLock() const { return LeaseLockOf(root_, name_); }
  /// There while the generation is to outlive the runs that use it.
  std::filesystem::path KeepMark() const { return LockPath(".keep"); }

  /// Creates .staging and .locks.
  void Prepare() const;
  /// Waits for the stage lock; `on_wait` is called about twenty times a second meanwhile and may throw.
  FileLock LockForStaging(const std::function<void()>& on_wait) const;
  std::optional<FileLock> TryLockForStaging() const;
  /// Which process works on it, in words, as far as this machine knows: by the stage lock, else by the owner file of
  /// the private directory. Changes nothing.
  std::optional<std::string> WhoStages() const;
  /// Only while holding the stage lock.
  FileLock Lease() const;
  /// Only while holding the stage lock. Nothing when a job uses it.
  std::optional<FileLock> TryLockUsers() const;
  /// Only while holding both locks. False when it is not there.
  bool Evict() const;
  /// The one rename that makes the private directory the published one. Errors: SystemError; EEXIST when there is one.
  void Publish() const;
  /// Takes Publish() back, where it turns out that another machine is at work on it.
  void Withdraw() const noexcept;

 private:
  std::filesystem::path LockPath(const char* kind) const;

  std::filesystem::path root_;
  std::string name_;
};

/// The name of a stream's directory in .staging: the generation's name, this, and a number.
inline constexpr std::string_view kStreamSuffix = ".stream-";

/// Whether Slipway made this name: that of a dataset, '-' and 16 hexadecimal digits.
bool IsGenerationName(std::string_view name);

/// The generation that an entry of .staging belongs to. A generation that is being removed has another name there.
std::string GenerationOf(std::string entry);

/// The generations that are being staged in `root` at this moment, sorted.
std::vector<std::string> StagingsIn(const std::filesystem::path& root);

/// The generations published in `root`, sorted; none when it does not exist. Directories with a name that Slipway did
/// not make do not count, whatever they hold.
std::vector<std::string> GenerationsIn(const std::filesystem::path& root);

/// Removes a published generation that is not marked as kept.
Removal RemoveGeneration(const std::filesystem::path& root, const std::string& generation);
/// The same, and removes the mark.
Removal EvictGeneration(const std::filesystem::path& root, const std::string& generation);

/// Marks a published generation as kept until it is evicted, whatever the runs that use it do at their end. Only while
/// holding a lease: it prevents removal meanwhile.
void MarkKept(const std::filesystem::path& root, const std::string& generation);
bool IsKept(const std::filesystem::path& root, const std::string& generation);

/// What interrupted processes left in .staging is kept for a day, so the next Stage of the same data can continue from
/// it. It is removed earlier when space is short, or when a user clears the tier.
inline constexpr auto kLeftoverAge = std::chrono::hours(24);

/// Removes leftovers without a write for `age`. Entries that a process works on stay, and so does the generation
/// `except`. Returns the names.
std::vector<std::string> RemoveLeftovers(const std::filesystem::path& root, std::chrono::seconds age = {},
                                         std::string_view except = {});
/// The same for the leftover of one staging, when its run knows that it is useless.
void RemoveLeftover(const std::filesystem::path& root, const std::string& generation);
/// The space that RemoveLeftovers would free. Cost: one stat for each file left over.
SpaceNeed LeftoversIn(const std::filesystem::path& root);

}  // namespace slipway::staging
