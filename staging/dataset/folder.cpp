#include "staging/dataset/folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "staging/dataset/folder_walk.h"
#include "staging/formats/detect.h"
#include "staging/formats/image_header.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// Pictures beside data are not data: images are taken where they are asked for.
bool IsWanted(DataFormat format, std::optional<DataFormat> wanted) {
  return wanted ? format == *wanted : format != DataFormat::kRaw && format != DataFormat::kImages;
}

bool IsNamedAsImage(const fs::path& path) {
  const auto extension = LowerCase(path.extension().native());
  return !extension.empty() && IsImageExtension(std::string_view(extension).substr(1));
}

bool HoldsImage(const fs::path& path) {
  const auto fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  std::array<std::byte, kImageStartBytes> start;
  return BeginsAsImage(std::span(start).first(ReadUpTo(fd.get(), 0, start, path)));
}

/// What cannot be read may be wanted: who reads it says what is wrong.
template <class Holds>
FolderFiles LookedAt(FolderFiles found, const Holds& holds) {
  std::erase_if(found.files, [&](const FolderFile& file) {
    try {
      if (file.is_named_so || holds(file)) return false;
    } catch (const SystemError&) {
      return false;
    }
    found.left_out.push_back({file.path, LeftOutReason::kOtherContent});
    return true;
  });
  std::ranges::sort(found.files, {}, [](const FolderFile& file) { return fs::path(file.path); });
  std::ranges::sort(found.left_out, {}, &LeftOutFile::path);
  return found;
}

}  // namespace

std::vector<LeftOutFile> WalkFolder(const fs::path& folder, std::optional<DataFormat> wanted,
                                    const OnFolderFile& on_file, FoldersBelow below) {
  if (wanted == DataFormat::kRaw) return FolderWalk({}, below).Run(folder, on_file);
  if (wanted == DataFormat::kImages) return FolderWalk(IsNamedAsImage, below).Run(folder, on_file);
  const auto is_named_so = [wanted](const fs::path& path) { return IsWanted(FormatOfName(path), wanted); };
  return FolderWalk(is_named_so, below).Run(folder, on_file);
}

FolderFiles WalkFolder(const fs::path& folder, std::optional<DataFormat> wanted, FoldersBelow below) {
  FolderFiles found;
  found.left_out = WalkFolder(
      folder, wanted, [&](FolderFile file) { found.files.push_back(std::move(file)); }, below);
  return found;
}

bool HoldsWanted(const FolderFile& file, std::optional<DataFormat> wanted) {
  return file.is_named_so || IsWanted(DetectFormat(file.path), wanted);
}

FolderFiles DataFilesIn(const fs::path& folder, FoldersBelow below) {
  return LookedAt(WalkFolder(folder, {}, below), [](const FolderFile& file) { return HoldsWanted(file, {}); });
}

FolderFiles ImageFilesIn(const fs::path& folder) {
  FolderFiles found;
  found.left_out = FolderWalk(IsNamedAsImage, FoldersBelow::kWalked).Run(folder, [&](FolderFile file) {
    found.files.push_back(std::move(file));
  });
  return LookedAt(std::move(found), [](const FolderFile& file) { return HoldsImage(file.path); });
}

void AddFormat(std::vector<HeldFormat>& held, HeldFormat added) {
  const auto place = std::ranges::lower_bound(held, added.format, {}, &HeldFormat::format);
  if (place == held.end() || place->format != added.format) held.insert(place, std::move(added));
}

std::vector<HeldFormat> FormatsHeldBy(const fs::path& path) {
  std::vector<HeldFormat> held;
  if (!IsDirectory(path)) {
    if (const auto format = DetectFormat(path); format != DataFormat::kRaw) AddFormat(held, {format, path});
    return held;
  }
  std::optional<HeldFormat> image;
  for (const auto& file : WalkFolder(path, {}).files) {
    const auto format = file.is_named_so ? FormatOfName(file.path) : DetectFormat(file.path);
    if (format == DataFormat::kImages) image = {format, file.path};
    if (IsWanted(format, {})) AddFormat(held, {format, file.path});
  }
  if (held.empty() && image) held.push_back(*std::move(image));
  return held;
}

}  // namespace slipway::staging
