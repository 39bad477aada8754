/// Lets only one agent of a run at a time work on a node.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"

namespace slipway::launcher {

/// The folders of a node in which every user can make a folder, in the order of preference.
std::vector<std::filesystem::path> FoldersForAll();

/// Makes the folder `slipway-UID` in one of `parents`, with mode 0700, and leaves it there. So no other user can take
/// the turns of this user. Folders of other users are skipped.
/// Errors: Error(kEnvironment) when none of them is usable.
std::filesystem::path PrivateFolderOfNode(const std::vector<std::filesystem::path>& parents);

/// The turn of an agent. Held until this object is destroyed or its process ends for any reason.
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
