/// Notices that trials write the same file: where they work in one folder, or their command names a file beside the
/// spec.
///
/// The shared files are looked at whenever a trial begins or ends. Between two looks the same trials run, and one of
/// them has written what has changed. So a file that no trial can have written alone has several writers. Where trials
/// have fewer files than there are trials, it is likely that they share them: the first writes, the others read. What
/// changes while none runs is somebody else's.
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

/// How a file looked. Another look tells whether it was written in between.
struct FileStamp {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
using FileStamps = std::map<std::string, FileStamp>;
using TrialSet = std::set<ensemble::TrialNumber>;

/// A file that two trials have written, each while the other did not run.
struct SharedWrite {
  std::string file;
  TrialSet first;  ///< one of these
  TrialSet then;   ///< and one of these
};

/// Files of trials that are fewer than the trials.
struct LikelyShared {
  std::map<std::string, TrialSet> files;  ///< each with the trials of which one has written it
  std::size_t trials = 0;
};

/// What is known of the writers of each file. Pure.
class WritersOfFiles {
 public:
  explicit WritersOfFiles(FileStamps now) : stamps_(std::move(now)) {}

  /// `running`: the trials that ran since the last look. Each file is returned at most once.
  std::vector<SharedWrite> Look(FileStamps now, const TrialSet& running);
  /// At the end: those that Look has never returned. None where there is a file for each trial, which then has its own.
  LikelyShared Likely() const;

 private:
  struct Writers {
    TrialSet alone;     ///< who can have written all of it
    TrialSet together;  ///< who can have written any of it
    bool told = false;
  };
  void Note(const std::string& file, const TrialSet& running, std::vector<SharedWrite>& found);

  FileStamps stamps_;
  std::map<std::string, Writers> writers_;
  TrialSet ran_;
};

/// The files that the trials of an ensemble share, as they lie on the disk.
class SharedFiles {
 public:
  explicit SharedFiles(const Plan& plan);

  /// What is to be told, a line for each file. Cost: looks at each shared file; a folder of more than kMostSharedFiles
  /// is left alone.
  std::vector<std::string> Began(ensemble::TrialNumber trial);
  std::vector<std::string> Ended(ensemble::TrialNumber trial);
  std::vector<std::string> Finish() const;

  static constexpr std::size_t kMostSharedFiles = 1000;

 private:
  FileStamps Stamps() const;
  std::vector<std::string> Look();

  std::filesystem::path folder_;             ///< that names are relative to; empty: they share nothing
  std::vector<std::filesystem::path> only_;  ///< these files in it; empty: all
  WritersOfFiles writers_;
  TrialSet running_;
};

}  // namespace slipway::launcher
