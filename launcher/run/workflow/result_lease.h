/// Leases on results: what a running workflow uses stays in the store.
///
///   RUNS/.results/.leases/RUN.HOST.PID    slipway.workflow.lease/1, then the id of one result a line
///   RUNS/.results/.lock                   held while a lease grows, and while results are taken away
///
/// A lease of this host counts while its process lives. A lease of another host counts until it was not renewed for
/// kLeaseLife: its process cannot be seen from here.
#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include "core/files.h"

namespace slipway::launcher {

inline constexpr std::chrono::hours kLeaseLife{24};
inline constexpr std::chrono::hours kLeaseRenewal{1};

/// Checks that this user can take a lease, where `results` is there. Errors: Error(kEnvironment).
void RequireWritableResults(const std::filesystem::path& results);

/// The results that this process holds for a run, until the end of this object.
class ResultLease {
 public:
  /// Waits for the lock of LockResults. Removes leases that no longer count. Errors: SystemError.
  ResultLease(const std::filesystem::path& results, const std::string& run);
  ResultLease(const ResultLease&) = delete;
  ResultLease& operator=(const ResultLease&) = delete;
  ~ResultLease();

  /// The result stays from here on, if it is still there: look after this call. Errors: SystemError.
  void Add(const std::string& id);
  /// To be called every kLeaseRenewal.
  void Renew();

 private:
  std::filesystem::path file_;
  std::filesystem::path lock_;
  UniqueFd fd_;
  std::set<std::string> held_;
};

/// While it is held, no lease grows: results can be taken away. Waits.
FileLock LockResults(const std::filesystem::path& results);

/// The results that leases hold. Leases that no longer count are removed. The caller has LockResults.
std::set<std::string> HeldResults(const std::filesystem::path& results);

}  // namespace slipway::launcher
