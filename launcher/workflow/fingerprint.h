/// What stands for the content of files in the key of a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace slipway::launcher {

/// Larger files are known by size and time of the last change.
inline constexpr std::uint64_t kLargestHashed = std::uint64_t{64} << 20;

/// Looks at files and folders, each once until Refresh. Links are followed, to folders too.
class Fingerprints {
 public:
  /// Of a file, or of all files in a folder with their names. "missing" when it is not there.
  /// Errors: SystemError when it cannot be read, Error for a pipe, a socket or a device. Cost: reads files of up to
  /// kLargestHashed bytes.
  const std::string& Of(const std::filesystem::path& path);
  /// StampOfTree, once for each path.
  const std::string& StampOf(const std::filesystem::path& path);
  /// Forgets a path whose stamp has changed since StampOf. True when it has. Errors: as StampOfTree.
  bool Refresh(const std::filesystem::path& path);
  /// Of a file, or of all files in a folder; 0 when it is not there. Errors: as Of.
  std::uint64_t BytesOf(const std::filesystem::path& path);

 private:
  std::map<std::string, std::string> known_;
  std::map<std::string, std::string> stamps_;
  std::map<std::string, std::uint64_t> bytes_;
};

/// Changes when a file or a name below `path` changes, in linked folders too; no content is read. "missing" when it is
/// not there. Errors: SystemError naming what cannot be looked at; Error for a pipe, a socket or a device.
std::string StampOfTree(const std::filesystem::path& path);

struct TreeLook {
  std::string stamp;                ///< StampOfTree
  std::optional<WallTime> changed;  ///< the last change below the path, by the clock of its file system
};
/// Errors: as StampOfTree. Cost: as StampOfTree.
TreeLook LookAtTree(const std::filesystem::path& path);

/// "a named pipe", "a socket", "a device"; empty for files, folders and what is not there.
std::string_view OtherKindOf(const std::filesystem::path& path);

/// The words of a command that name files below `directory`: programs and scripts of the user.
std::vector<std::filesystem::path> ProgramFiles(const std::vector<std::string>& words,
                                                const std::filesystem::path& directory);

}  // namespace slipway::launcher
