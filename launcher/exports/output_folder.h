/// Where an export goes: a folder or file that appears as a whole, and replaces only an earlier export.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace slipway::launcher {

/// Whether an export may replace what others have put there.
enum class Foreign { kRefuse, kReplace };

/// Appends to many files without keeping them open. What was appended is in the files after Flush().
class ManyFiles {
 public:
  /// Folders are made on the way. Errors: SystemError.
  void Append(const std::filesystem::path& file, std::string_view bytes);
  void Flush();

 private:
  std::map<std::filesystem::path, std::string> waiting_;
  std::size_t bytes_ = 0;
};

/// A new folder beside `folder`, on the same file system. It goes with its object, with all that is in it.
class FolderBeside {
 public:
  explicit FolderBeside(const std::filesystem::path& folder);
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;
  ~FolderBeside();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A new folder beside the final one, until Commit() puts it there. Without Commit() nothing remains.
class OutputFolder {
 public:
  /// `format` and `run`: whose export it is; an earlier one of the same is replaced.
  /// Errors: Error(kUsage) when the folder holds anything else and `foreign` is kRefuse; SystemError.
  OutputFolder(const std::filesystem::path& folder, std::string format, std::string run, Foreign foreign);

  /// Where to write until Commit.
  const std::filesystem::path& path() const { return temporary_->path(); }
  /// Of an own or empty folder in one step; in a folder of others entry by entry, and the others stay.
  /// Errors: those of the constructor, if others have written into the folder since.
  void Commit();

 private:
  /// Whether the folder is empty, or holds only an export of the same.
  bool MayReplaceWhole() const;

  std::filesystem::path folder_;
  std::string format_;
  std::string run_;
  Foreign foreign_;
  std::optional<FolderBeside> temporary_;
};

/// The whole path, without a slash at its end. Symbolic links are followed, so that what they lead to is replaced.
std::filesystem::path ResolvedFolder(const std::filesystem::path& folder);

/// Puts `from` in the place of `to`, which may exist; both on one file system. Errors: SystemError.
void ReplacePath(const std::filesystem::path& from, const std::filesystem::path& to);

/// Errors: Error(kUsage) when there is a file that does not begin with `begin` and `foreign` is kRefuse, or a folder.
void RequireOwnFile(const std::filesystem::path& file, std::string_view begin, Foreign foreign);

}  // namespace slipway::launcher
