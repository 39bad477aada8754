/// The owner file: which process works in a private directory. It is touched while the work goes on.
///
/// The stage lock alone is not enough. On some file systems flock(2) counts on each node separately (NFS with nolock,
/// Lustre with localflock). Or a cleaner of old files may have removed the lock file. Then two processes may hold "the"
/// lock.
///
/// Form: one line, "slipway.owner/1 <token, 16 hex digits> <pid> <start time> <boot id> <host>". A process of this
///       machine is active while it runs. For another machine only the time of the file is known: its process counts as
///       active until the file was not touched for kOwnerQuiet. A file without its line is being made: it counts for
///       seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/process_identity.h"

namespace slipway::staging {

inline constexpr std::string_view kOwnerName = ".owner";
inline constexpr auto kOwnerBeat = std::chrono::seconds(10);
inline constexpr auto kOwnerQuiet = std::chrono::minutes(2);

struct Owner {
  std::string token;
  ProcessIdentity process;
  std::string host;
  bool operator==(const Owner&) const = default;
};

std::string RenderOwner(const Owner& owner);
/// Nothing when it is torn or of another form.
std::optional<Owner> ParseOwner(std::string_view text);

/// The process that works in `directory`, in words; nothing when none does. Cost: one file opened and read.
std::optional<std::string> WhoWorksIn(const std::filesystem::path& directory);

/// This process's claim on a private directory, from the constructor to the destructor, or GiveUp().
class Ownership {
 public:
  /// Claims a directory that is there, after a process that is at work there no more.
  /// Errors: Error(kBusy) when another was quicker.
  explicit Ownership(std::filesystem::path directory);
  Ownership(const Ownership&) = delete;
  Ownership& operator=(const Ownership&) = delete;
  ~Ownership() { GiveUp(directory_); }

  /// Errors: Error(kBusy) when another has taken the directory over. Cost: none; knows what was so kOwnerBeat ago.
  void Check() const;
  /// The same as of now, in `directory`, where it may have been renamed to. Cost: one file read.
  void CheckIn(const std::filesystem::path& directory) const;
  bool lost() const { return lost_; }
  /// Ends the claim: its file goes from `directory`, unless it is another's.
  void GiveUp(const std::filesystem::path& directory) noexcept;

 private:
  bool IsOursIn(const std::filesystem::path& directory) const;
  void Beat(const std::stop_token& stop);

  const std::filesystem::path directory_;
  const Owner self_;
  mutable std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread beat_;
};

}  // namespace slipway::staging
