#include "staging/dataset/folder_walk.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/share_out.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"

namespace slipway::staging {
namespace fs = std::filesystem;

struct FolderWalk::Entry {
  std::string name;
  unsigned char type;  ///< DT_REG and so on
};

/// What one folder holds.
struct FolderWalk::Content {
  std::vector<FolderFile> files = {};
  std::vector<std::string> folders = {};
  std::vector<LeftOutFile> left_out = {};
};

namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

/// What Slipway writes beside data about it.
bool IsCompanion(std::string_view name) { return name == kManifestName || name == kRecordIndexName; }

/// Some file systems tell no types in the listing of a folder.
unsigned char TypeOf(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? IFTODT(info.st_mode) : static_cast<unsigned char>(DT_UNKNOWN);
}

/// Nothing for a file, or a link to one.
std::optional<LeftOutReason> WhyNoFile(const std::string& path, unsigned char type) {
  if (type == DT_REG) return {};
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return LeftOutReason::kDanglingLink;
  if (S_ISREG(info.st_mode)) return {};
  return S_ISDIR(info.st_mode) ? LeftOutReason::kLinkToFolder : LeftOutReason::kNotAFile;
}

/// Calls `use` with each entry but "." and "..".
template <class Use>
void ForEachEntry(const std::string& folder, const Use& use) {
  const auto fail = [&] { ThrowErrno(fmt::format("cannot read directory '{}'", folder)); };
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (!open) fail();
  for (errno = 0; const auto* entry = ::readdir(open.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") use(name, entry->d_type);
  }
  if (errno != 0) fail();
}

}  // namespace

std::vector<LeftOutFile> FolderWalk::Run(const fs::path& folder, const OnFolderFile& on_file) const {
  std::vector<LeftOutFile> left_out;
  std::vector<std::string> level = {folder.native()};
  while (!level.empty()) {
    auto contents = ReadLevel(level);
    level.clear();
    for (auto& content : contents) {
      for (auto& file : content.files) on_file(std::move(file));
      std::ranges::move(content.folders, std::back_inserter(level));
      std::ranges::move(content.left_out, std::back_inserter(left_out));
    }
  }
  return left_out;
}

std::vector<FolderWalk::Content> FolderWalk::ReadLevel(const std::vector<std::string>& folders) const {
  constexpr std::size_t kAtOnce = 32;
  std::vector<Content> contents(folders.size());
  if (folders.size() == 1) {
    contents.front() = Read(folders.front());
    return contents;
  }
  std::atomic<bool> stopped{false};
  ShareOut(folders.size(), kAtOnce, stopped,
           [&]() -> Worker { return [&](std::size_t i) { contents[i] = Read(folders[i]); }; });
  return contents;
}

FolderWalk::Content FolderWalk::Read(const std::string& folder) const {
  std::vector<Entry> entries;
  ForEachEntry(folder, [&](std::string_view name, unsigned char type) {
    entries.push_back({std::string(name), type});
  });
  std::ranges::sort(entries, {}, &Entry::name);
  const auto prefix = folder.ends_with('/') ? folder : folder + '/';
  Content content;
  for (auto& entry : entries) Place(entry, prefix + entry.name, content);
  return content;
}

void FolderWalk::Place(Entry& entry, std::string path, Content& content) const {
  const auto leave_out = [&](LeftOutReason reason) { content.left_out.push_back({std::move(path), reason}); };
  const bool takes_all = !is_named_so_;
  if (!takes_all && entry.name.starts_with('.')) return leave_out(LeftOutReason::kHidden);
  if (entry.type == DT_UNKNOWN) entry.type = TypeOf(path);
  if (entry.type == DT_DIR) {
    if (below_ == FoldersBelow::kLeftOut) return leave_out(LeftOutReason::kFolder);
    return content.folders.push_back(std::move(path));
  }
  if (takes_all) return content.files.push_back({std::move(path), entry.type == DT_LNK, true});
  if (!IsCompanion(entry.name)) Judge(entry, std::move(path), content);
}

/// What has the right name and is no file is taken: who reads it says what is wrong.
void FolderWalk::Judge(const Entry& entry, std::string path, Content& content) const {
  const bool is_named_so = is_named_so_(path);
  if (const auto reason = is_named_so ? std::nullopt : WhyNoFile(path, entry.type)) {
    return content.left_out.push_back({std::move(path), *reason});
  }
  content.files.push_back({std::move(path), entry.type == DT_LNK, is_named_so});
}

}  // namespace slipway::staging
