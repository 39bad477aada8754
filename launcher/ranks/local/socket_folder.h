/// A private folder with a short path, for sockets.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/files.h"

namespace slipway::launcher {

/// A folder with mode 0700; the destructor removes it with its contents. A killed process leaves its folder; the next
/// process of the same user removes it. A lock on the file `owner` shows whether the process lives; the file's text
/// names the machine.
class SocketFolder {
 public:
  /// Creates the folder. Removes folders beside it whose process is gone. Cost: reads the parent's names.
  /// Errors: SystemError, also when the folder exists: it could belong to another user.
  explicit SocketFolder(std::filesystem::path path);
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  ~SocketFolder();

  const std::filesystem::path& path() const { return path_; }

  /// An unused path below the folder for temporary files, or below /tmp if that path is too long.
  /// Errors: Error that names TMPDIR, when it is no directory.
  static std::filesystem::path NewPath();
  static std::filesystem::path NewPathBelow(const std::filesystem::path& base);
  /// `path` with a placeholder for the node's name. All nodes get one path, and several may share its directory.
  static std::filesystem::path ForNodes(const std::filesystem::path& path);
  /// The path on the node of this name.
  static std::filesystem::path OnNode(const std::filesystem::path& path, const std::string& node);

 private:
  void Own();

  std::filesystem::path path_;
  std::optional<FileLock> owner_;
};

}  // namespace slipway::launcher
