/// A private folder with a short path, for sockets.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/files.h"

namespace slipway::launcher {

/// Mode 0700; removed in the end with what is in it. What a process that was killed could not remove the next one of
/// the same user does: a lock on the file `owner` in it says whether its process lives, and the text there on which
/// machine.
class SocketFolder {
 public:
  /// Removes the folders beside it whose process is gone. Cost: reads the parent's names.
  /// Errors: SystemError, also when it is there already: it could be somebody else's.
  explicit SocketFolder(std::filesystem::path path);
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  ~SocketFolder();

  const std::filesystem::path& path() const { return path_; }

  /// A path that nobody has, below the folder for temporary files or, where that is long, below /tmp.
  static std::filesystem::path NewPath();
  static std::filesystem::path NewPathBelow(const std::filesystem::path& base);
  /// `path` with a place for the name of a node: one path is told to all nodes, and may lie where several see it.
  static std::filesystem::path ForNodes(const std::filesystem::path& path);
  /// What such a path means on the node of this name.
  static std::filesystem::path OnNode(const std::filesystem::path& path, const std::string& node);

 private:
  void Own();

  std::filesystem::path path_;
  std::optional<FileLock> owner_;
};

}  // namespace slipway::launcher
