/// The life of a generation in its tier: locks, publishing, removal.
///
///   <root>/<generation>/             published: files and manifest.json, never changed again
///   <root>/.staging/<generation>/    being staged, with .journal and .owner (owner.h); `<generation>.evicted` is being
///                                    removed
///   <root>/.locks/<generation>.need  what a staging at work has reserved (reservation.h)
///   <root>/.locks/<generation>.stage exclusive: whoever stages or removes this generation, one at a time
///   <root>/.locks/<generation>.lease shared: every job that uses it; exclusive: who removes it
///
/// Two locks, because flock(2) cannot turn an exclusive lock into a shared one without a moment in which another
/// may take it. Here the stage lock is taken first by all: the stager takes its lease while it still holds the stage
/// lock, so no remover can come between publishing and leasing. The kernel drops both on kill -9. Lock files stay:
/// they say when a generation was last used, and no process waits at a lock file that was removed.
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

/// What became of the wish to remove a generation.
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
  /// Who is at work on it, in words, as far as this machine can tell: by the stage lock, else by the owner of the
  /// private directory. Changes nothing.
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

/// What a stream's directory in .staging is called: the generation's name, this, and a number.
inline constexpr std::string_view kStreamSuffix = ".stream-";

/// Whether Slipway made this name: that of a dataset, '-' and 16 hexadecimal digits.
bool IsGenerationName(std::string_view name);

/// Whose an entry of .staging is: a generation that is being removed has a name of its own there.
std::string GenerationOf(std::string entry);

/// The generations that are being staged in `root` at this moment, sorted.
std::vector<std::string> StagingsIn(const std::filesystem::path& root);

/// The generations published in `root`, sorted; none when it does not exist. A directory whose name Slipway did not
/// make is none, whatever lies in it.
std::vector<std::string> GenerationsIn(const std::filesystem::path& root);

/// Removes a published generation that is not marked as kept.
Removal RemoveGeneration(const std::filesystem::path& root, const std::string& generation);
/// The same, and removes the mark.
Removal EvictGeneration(const std::filesystem::path& root, const std::string& generation);

/// Says that a published generation stays until it is evicted, whatever the runs that use it would do at their end.
/// Only while holding a lease, which keeps it from being removed meanwhile.
void MarkKept(const std::filesystem::path& root, const std::string& generation);
bool IsKept(const std::filesystem::path& root, const std::string& generation);

/// What interrupted processes left in .staging stays for a day, so that the next Stage of the same data goes on from
/// it; it goes earlier when space lacks, or when a user clears the tier.
inline constexpr auto kLeftoverAge = std::chrono::hours(24);

/// Removes leftovers without a write for `age`; what a process is at work on stays, and so does `except`, a
/// generation. Returns the names.
std::vector<std::string> RemoveLeftovers(const std::filesystem::path& root, std::chrono::seconds age = {},
                                         std::string_view except = {});
/// The same for what one staging left, whose run knows that it is of no more use.
void RemoveLeftover(const std::filesystem::path& root, const std::string& generation);
/// The space that RemoveLeftovers would free. Cost: one stat for each file left over.
SpaceNeed LeftoversIn(const std::filesystem::path& root);

}  // namespace slipway::staging
