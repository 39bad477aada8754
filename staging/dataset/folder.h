/// Which files of a folder are data: one rule for staging, checking, converting and reading.
///
/// The content decides. A file whose name says the wanted format is taken without a look at its content. So its check
/// reports a damaged file, which is not mistaken for another kind of file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/dataset/left_out.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

struct FolderFile {
  std::string path;
  bool is_link = false;
  bool is_named_so = false;  ///< its name says that it is wanted
};

struct FolderFiles {
  std::vector<FolderFile> files;  ///< in no order
  std::vector<LeftOutFile> left_out;
};

using OnFolderFile = std::function<void(FolderFile file)>;

/// What becomes of the folders in a folder.
enum class FoldersBelow { kWalked, kLeftOut };

/// All files of `folder` that may be of `wanted`. Files with names of another kind are still to be checked
/// (HoldsWanted). Nothing wanted: all formats but images. kRaw: everything except folders, with links and hidden files.
/// Links to folders are not followed. Slipway's own manifest and index do not count as files.
///
/// Gives each file to `on_file`, in no order, and returns what is left out already.
/// Cost:   one look at each folder, many at once (folder_walk.h).
/// Errors: SystemError for a folder that cannot be read.
std::vector<LeftOutFile> WalkFolder(const std::filesystem::path& folder, std::optional<DataFormat> wanted,
                                    const OnFolderFile& on_file, FoldersBelow below = FoldersBelow::kWalked);
/// The same as lists.
FolderFiles WalkFolder(const std::filesystem::path& folder, std::optional<DataFormat> wanted,
                       FoldersBelow below = FoldersBelow::kWalked);

/// Decides by the file's first bytes, unless its name says it. Errors: SystemError.
bool HoldsWanted(const FolderFile& file, std::optional<DataFormat> wanted);

/// The files of all formats but images: WalkFolder, and HoldsWanted of each file one after the other. Sorted by path.
FolderFiles DataFilesIn(const std::filesystem::path& folder, FoldersBelow below);

/// The JPEG, PNG, GIF, BMP and WebP files below `folder`, by name or by their first bytes. Sorted by path.
FolderFiles ImageFilesIn(const std::filesystem::path& folder);

/// A format, and a file that has it.
struct HeldFormat {
  DataFormat format = DataFormat::kRaw;
  std::filesystem::path example;

  bool operator==(const HeldFormat&) const = default;
};

/// The formats of the data at `path`, a file or a folder, in the order of their words in the help; none when there is
/// no data. Errors: SystemError.
std::vector<HeldFormat> FormatsHeldBy(const std::filesystem::path& path);
/// Adds a format that is not among `held` yet.
void AddFormat(std::vector<HeldFormat>& held, HeldFormat added);

}  // namespace slipway::staging
