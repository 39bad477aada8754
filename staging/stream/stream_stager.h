/// Keeps a window of a dataset's files in a tier that cannot hold all of them, for the readers of this node.
///
/// The files lie in <root>/.staging/<generation>.stream-<n>/ and are never published. n is the smallest number that no
/// other run has. The stage lock of that name is held while the stager lives. After kill -9 the lock is free; the next
/// process that stages, streams or clears the tier removes the directory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "staging/copy/copier.h"
#include "staging/dataset/stream_state.h"
#include "staging/formats/hdf5.h"
#include "staging/generation/owner.h"
#include "staging/generation/reservation.h"
#include "staging/plan/plan.h"
#include "staging/stream/next_action.h"

namespace slipway::staging {

struct StreamFigures {
  std::uint64_t copies = 0;
  Bytes copied;
  std::uint64_t evictions = 0;
};

/// The name of a stream's directory, and the lock of the process that works there.
struct StreamClaim {
  std::string name;
  FileLock lock;
};

class StreamStager {
 public:
  /// `readers`: how many readers may be open at a time. Reserves the window.
  /// Errors: Error(kEnvironment): no space, an unusable tier.
  StreamStager(const StagingPlan& plan, std::uint64_t seed, std::size_t readers);
  StreamStager(const StreamStager&) = delete;
  StreamStager& operator=(const StreamStager&) = delete;
  /// Removes the stream's directory.
  ~StreamStager();

  /// The directory that readers open.
  const std::filesystem::path& directory() const { return directory_; }

  /// Copies files in and removes files until it is cancelled. Readers are informed before it returns.
  /// Errors: Error(kInterrupted) when cancelled. Error(kEnvironment) naming the file: changed since the plan or since
  ///         its first copy, damaged, no space.
  void Run(const StageOptions& options);

  /// From any thread. A stream is ready for its readers when there is a first copy.
  StreamFigures figures() const { return {copies_, Bytes{copied_}, evictions_}; }
  /// VerifyMode::kFull: the HDF5 datasets whose own checksums could not be compared. From any thread.
  std::vector<Hdf5Unread> unread() const;

 private:
  void TellWhy(const Error& failure) const;
  class Copies;

  void Serve(const StageOptions& options);
  void Copy(std::size_t file, Copies& copies);
  void Evict(std::size_t file);
  void AddUnread(std::vector<Hdf5Unread> more);

  const StagingPlan plan_;
  const StreamClaim claim_;
  const std::filesystem::path directory_;
  const Ownership owner_;
  const Reservation reservation_;
  StreamState state_;
  Uses uses_;
  std::vector<Bytes> sizes_;
  std::vector<bool> present_;
  std::vector<std::vector<std::uint32_t>> crcs_;  ///< of the first copy of each file
  std::atomic<std::uint64_t> copies_ = 0;
  std::atomic<std::uint64_t> copied_ = 0;
  std::atomic<std::uint64_t> evictions_ = 0;
  mutable std::mutex mutex_;
  std::vector<Hdf5Unread> unread_;
};

}  // namespace slipway::staging
