#include "staging/dataset/folder_walk.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/share_out.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"

namespace slipway::staging {
namespace fs = std::filesystem;

struct FolderWalk::Entry {
  std::size_t name;    ///< where it begins among all names
  unsigned char type;  ///< DT_REG and so on
  bool is_named_so = true;
};

/// What one folder holds. There may be 100,000s of files, so a path is made when its file is given on.
struct FolderWalk::Content {
  std::string prefix;      ///< of each path
  std::string names = {};  ///< each ends with a zero
  std::vector<Entry> files = {};
  std::vector<std::string> folders = {};
  std::vector<LeftOutFile> left_out = {};

  std::string_view NameOf(const Entry& entry) const { return names.data() + entry.name; }
  std::string PathOf(const Entry& entry) const { return prefix + (names.data() + entry.name); }
};

namespace {

constexpr std::size_t kAtOnce = 4;  // more hide more of the waiting, and take more memory

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
    std::vector<std::string> next;
    for (std::span<const std::string> left = level; !left.empty();
         left = left.subspan(std::min(kAtOnce, left.size()))) {
      for (auto& read : ReadAtOnce(left.first(std::min(kAtOnce, left.size())))) {
        auto content = std::move(read);  // whose memory is needed again
        for (const auto& file : content.files) {
          on_file({content.PathOf(file), file.type == DT_LNK, file.is_named_so});
        }
        std::ranges::move(content.folders, std::back_inserter(next));
        std::ranges::move(content.left_out, std::back_inserter(left_out));
      }
    }
    level = std::move(next);
  }
  return left_out;
}

std::vector<FolderWalk::Content> FolderWalk::ReadAtOnce(std::span<const std::string> folders) const {
  std::vector<Content> contents(folders.size());
  if (folders.size() == 1) {
    contents.front() = Read(folders.front());
    return contents;
  }
  std::atomic<bool> stopped{false};
  ShareOut(folders.size(), folders.size(), stopped,
           [&]() -> Worker { return [&](std::size_t i) { contents[i] = Read(folders[i]); }; });
  return contents;
}

FolderWalk::Content FolderWalk::Read(const std::string& folder) const {
  Content content{folder.ends_with('/') ? folder : folder + '/'};
  std::vector<Entry> entries;
  ForEachEntry(folder, [&](std::string_view name, unsigned char type) {
    entries.push_back({content.names.size(), type});
    content.names.append(name).push_back('\0');
  });
  std::ranges::sort(entries, {}, [&](const Entry& entry) { return content.NameOf(entry); });
  for (const auto& entry : entries) Place(entry, content);
  return content;
}

void FolderWalk::Place(Entry entry, Content& content) const {
  const auto leave_out = [&](LeftOutReason reason) { content.left_out.push_back({content.PathOf(entry), reason}); };
  const bool takes_all = !is_named_so_;
  if (!takes_all && content.NameOf(entry).starts_with('.')) return leave_out(LeftOutReason::kHidden);
  if (entry.type == DT_UNKNOWN) entry.type = TypeOf(content.PathOf(entry));
  if (entry.type == DT_DIR) {
    if (below_ == FoldersBelow::kLeftOut) return leave_out(LeftOutReason::kFolder);
    return content.folders.push_back(content.PathOf(entry));
  }
  if (takes_all) return content.files.push_back(entry);
  if (!IsCompanion(content.NameOf(entry))) Judge(entry, content);
}

/// What has the right name and is no file is taken: who reads it says what is wrong.
void FolderWalk::Judge(Entry entry, Content& content) const {
  const auto path = content.PathOf(entry);
  entry.is_named_so = is_named_so_(path);
  if (const auto reason = entry.is_named_so ? std::nullopt : WhyNoFile(path, entry.type)) {
    return content.left_out.push_back({path, *reason});
  }
  content.files.push_back(entry);
}

}  // namespace slipway::staging
