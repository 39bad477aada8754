/// One agent of a run at a time on a node.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"

namespace slipway::launcher {

/// The folders of a node in which every user may make one, the first that can be had first.
std::vector<std::filesystem::path> FoldersForAll();

/// The folder `slipway-UID` in one of `parents`: the user's own, mode 0700, so that nobody else can take the turns of
/// this user. One that somebody else has made is passed over. It stays.
/// Errors: Error(kEnvironment) when none of them can be had.
std::filesystem::path PrivateFolderOfNode(const std::vector<std::filesystem::path>& parents);

/// Held until it is destroyed or its process ends, however that was.
class NodeTurn {
 public:
  /// Waits for an earlier agent of the same name, whose programs may still be ending. Errors: Error(kBusy) after
  /// `patience`; SystemError.
  NodeTurn(const std::filesystem::path& folder, const std::string& name, std::chrono::milliseconds patience);
  NodeTurn(const NodeTurn&) = delete;
  NodeTurn& operator=(const NodeTurn&) = delete;
  ~NodeTurn();

 private:
  std::filesystem::path file_;
  std::optional<FileLock> lock_;
};

}  // namespace slipway::launcher
