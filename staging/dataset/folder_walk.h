/// Reads a folder and those below it, several at once.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/dataset/folder.h"

namespace slipway::staging {

/// Which files are wanted, by their paths.
using IsNamedSo = std::function<bool(const std::filesystem::path&)>;

class FolderWalk {
 public:
  /// `is_named_so`: whether a name says that the file is wanted; any thread. Empty: everything is wanted.
  FolderWalk(IsNamedSo is_named_so, FoldersBelow below) : is_named_so_(std::move(is_named_so)), below_(below) {}

  /// Gives the files to `on_file` on the calling thread: level by level, and in a folder in the order of their names.
  /// Cost:   up to 4 folders are read at once, since each waits on a far file system. Their lists are in memory.
  /// Errors: SystemError for a folder that cannot be read: silently missing files would be worse.
  std::vector<LeftOutFile> Run(const std::filesystem::path& folder, const OnFolderFile& on_file) const;

 private:
  struct Entry;
  struct Content;

  std::vector<Content> ReadAtOnce(std::span<const std::string> folders) const;
  Content Read(const std::string& folder) const;
  void Place(Entry entry, Content& content) const;
  void Judge(Entry entry, Content& content) const;

  const IsNamedSo is_named_so_;
  const FoldersBelow below_;
};

}  // namespace slipway::staging
