#include "staging/dataset/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/detect.h"
#include "staging/formats/image_header.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// Pictures beside data are not data: images are taken where they are asked for.
bool IsWanted(DataFormat format, std::optional<DataFormat> wanted) {
  return wanted ? format == *wanted : format != DataFormat::kRaw && format != DataFormat::kImages;
}

/// What Slipway writes beside data about it.
bool IsCompanion(std::string_view name) { return name == kManifestName || name == kRecordIndexName; }

std::string_view NameIn(const std::string& path) { return std::string_view(path).substr(path.rfind('/') + 1); }

/// Nothing for a file, or a link to one.
std::optional<LeftOutReason> WhyNoFile(const fs::directory_entry& entry) {
  std::error_code error;
  switch (entry.status(error).type()) {
    case fs::file_type::regular: return {};
    case fs::file_type::directory: return LeftOutReason::kLinkToFolder;
    case fs::file_type::not_found:
    case fs::file_type::none: return LeftOutReason::kDanglingLink;
    default: return LeftOutReason::kNotAFile;
  }
}

class FolderWalk {
 public:
  /// `is_named_so`: whether a name says that the file is wanted; empty: everything is wanted.
  FolderWalk(std::function<bool(const fs::path&)> is_named_so, FoldersBelow below, const OnFolderFile& on_file)
      : is_named_so_(std::move(is_named_so)), below_(below), on_file_(on_file) {}

  std::vector<LeftOutFile> LeftOut() && { return std::move(left_out_); }

  /// A folder that cannot be read ends the walk: silently missing files would be worse.
  void Walk(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      Visit(*entry);
    }
    if (error) throw SystemError(error.value(), fmt::format("cannot read directory '{}'", folder.string()));
  }

 private:
  /// The folder's listing has the type already; asking again would cost a system call for each file.
  void Visit(const fs::directory_entry& entry) {
    std::error_code error;
    const bool is_link = entry.is_symlink(error);
    const bool is_folder = !is_link && entry.is_directory(error);
    const bool takes_all = !is_named_so_;
    const auto name = NameIn(entry.path().native());
    if (!takes_all && name.starts_with('.')) return LeaveOut(entry, LeftOutReason::kHidden);
    if (is_folder)
      return below_ == FoldersBelow::kWalked ? Walk(entry.path()) : LeaveOut(entry, LeftOutReason::kFolder);
    if (takes_all) return Take(entry, is_link, true);
    if (!IsCompanion(name)) Judge(entry, is_link);
  }

  /// What has the right name and is no file is taken: who reads it says what is wrong.
  void Judge(const fs::directory_entry& entry, bool is_link) {
    const bool is_named_so = is_named_so_(entry.path());
    const auto reason = is_named_so ? std::nullopt : WhyNoFile(entry);
    reason ? LeaveOut(entry, *reason) : Take(entry, is_link, is_named_so);
  }

  void Take(const fs::directory_entry& entry, bool is_link, bool is_named_so) {
    on_file_({entry.path().native(), is_link, is_named_so});
  }

  void LeaveOut(const fs::directory_entry& entry, LeftOutReason reason) { left_out_.push_back({entry.path(), reason}); }

  const std::function<bool(const fs::path&)> is_named_so_;
  const FoldersBelow below_;
  const OnFolderFile& on_file_;
  std::vector<LeftOutFile> left_out_;
};

bool IsNamedAsImage(const fs::path& path) {
  auto extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + ' ' : c; });
  constexpr std::array<std::string_view, 6> kExtensions = {".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"};
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

bool HoldsImage(const fs::path& path) {
  const auto fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  std::array<std::byte, kImageStartBytes> start;
  const auto count =
      CheckErrno(::pread(fd.get(), start.data(), start.size(), 0), fmt::format("cannot read '{}'", path.string()));
  return BeginsAsImage(std::span(start).first(static_cast<std::size_t>(count)));
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

std::vector<LeftOutFile> Walk(const fs::path& folder, std::function<bool(const fs::path&)> is_named_so,
                              const OnFolderFile& on_file, FoldersBelow below) {
  FolderWalk walk(std::move(is_named_so), below, on_file);
  walk.Walk(folder);
  return std::move(walk).LeftOut();
}

}  // namespace

std::vector<LeftOutFile> WalkFolder(const fs::path& folder, std::optional<DataFormat> wanted,
                                    const OnFolderFile& on_file, FoldersBelow below) {
  if (wanted == DataFormat::kRaw) return Walk(folder, {}, on_file, below);
  if (wanted == DataFormat::kImages) return Walk(folder, IsNamedAsImage, on_file, below);
  return Walk(
      folder, [wanted](const fs::path& path) { return IsWanted(FormatOfName(path), wanted); }, on_file, below);
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
  found.left_out = Walk(
      folder, IsNamedAsImage, [&](FolderFile file) { found.files.push_back(std::move(file)); }, FoldersBelow::kWalked);
  return LookedAt(std::move(found), [](const FolderFile& file) { return HoldsImage(file.path); });
}

void AddFormat(std::vector<HeldFormat>& held, HeldFormat added) {
  const auto place = std::ranges::lower_bound(held, added.format, {}, &HeldFormat::format);
  if (place == held.end() || place->format != added.format) held.insert(place, std::move(added));
}

std::vector<HeldFormat> FormatsHeldBy(const fs::path& path) {
  std::vector<HeldFormat> held;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
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
