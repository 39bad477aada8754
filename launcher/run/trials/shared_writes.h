/// Detects that trials write the same file: they work in one folder, or their command names a file beside the spec.
///
/// The shared files are examined whenever a trial begins or ends. Between two looks the same trials run, and one of
/// them wrote each changed file. A file has several writers if no single trial can have made all its changes. If there
/// are fewer written files than trials, the trials probably share them. Changes while no trial runs are not counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ensemble/model/trial_runner.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// Identity, size and time of a file: a difference means that it was written, not that its mode or owner changed.
struct ContentStamp {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const ContentStamp&) const = default;
};
using ContentStamps = std::map<std::string, ContentStamp>;
using TrialSet = std::set<ensemble::TrialNumber>;

/// A file that two trials wrote, each while the other did not run.
struct SharedWrite {
  std::string file;
  TrialSet first;  ///< one of these
  TrialSet then;   ///< and one of these
};

/// The written files, when there are fewer of them than trials.
struct LikelyShared {
  std::map<std::string, TrialSet> files;  ///< each with its possible writers
  std::size_t trials = 0;
};

/// The possible writers of each file. Pure.
class WritersOfFiles {
 public:
  explicit WritersOfFiles(ContentStamps now) : stamps_(std::move(now)) {}

  /// `running`: the trials that ran since the last look. Each file is returned at most once.
  std::vector<SharedWrite> Look(ContentStamps now, const TrialSet& running);
  /// At the end: the files that Look never returned. Empty when there are as many files as trials, since each trial
  /// then has its own.
  LikelyShared Likely() const;

 private:
  struct Writers {
    TrialSet alone;     ///< trials that can have made every change
    TrialSet together;  ///< trials that can have made any change
    bool told = false;
  };
  void Note(const std::string& file, const TrialSet& running, std::vector<SharedWrite>& found);

  ContentStamps stamps_;
  std::map<std::string, Writers> writers_;
  TrialSet ran_;
};

/// The files that the trials of an ensemble share, as they lie on the disk.
class SharedFiles {
 public:
  explicit SharedFiles(const Plan& plan);

  /// All three return warnings, one line for each file. Cost: a stat of each shared file; folders with more than
  /// kMostSharedFiles files are skipped.
  std::vector<std::string> Began(ensemble::TrialNumber trial);
  std::vector<std::string> Ended(ensemble::TrialNumber trial);
  std::vector<std::string> Finish() const;

  static constexpr std::size_t kMostSharedFiles = 1000;

 private:
  ContentStamps Stamps() const;
  std::vector<std::string> Look();

  std::filesystem::path folder_;             ///< names are relative to it; empty: no shared files
  std::vector<std::filesystem::path> only_;  ///< these files in it; empty: all
  WritersOfFiles writers_;
  TrialSet running_;
};

}  // namespace slipway::launcher
