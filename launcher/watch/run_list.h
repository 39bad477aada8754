/// The runs of a folder with their states, read again only where they have changed.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "launcher/run_folder/run_folder.h"
#include "launcher/view/file_stamp.h"
#include "launcher/watch/watch_data.h"

namespace slipway::launcher::watch {

class RunList {
 public:
  explicit RunList(RunsDirectory directory) : directory_(std::move(directory)) {}

  /// True when something has changed. Reads at most 300 new states, the newest first; the others follow in the next
  /// call. Cost without changes: the state of each run that has not ended, and every tenth time a stat of the others.
  bool Refresh();
  const std::vector<RunLine>& rows() const { return rows_; }
  bool complete() const { return complete_; }

 private:
  struct Known {
    FileStamp stamp;
    RunLine row;
  };
  bool ListFolders();

  RunsDirectory directory_;
  bool listed_ = false;
  FileStamp stamp_;
  std::vector<RunFolder> folders_;  ///< the newest first
  std::map<std::filesystem::path, Known> known_;
  std::vector<RunLine> rows_;
  bool complete_ = false;
  int looks_ = 0;
};

}  // namespace slipway::launcher::watch
