// slipway-git: says in which state a git repository is.
//
//   slipway-git all|names RUNS_DIRECTORY PATH...
//   slipway-git contents WORK_TREE FILE...
//
// It takes the repository of the first PATH that lies in one. It prints JSON objects, one a line, as soon as each is
// known; together they are the members of slipway.provenance/1 about the repository. `names`: without the diff and the
// untracked files. Untracked files in RUNS_DIRECTORY are not listed.
//
// `contents`: commit and submodules of the work tree; for each tracked file that differs from the commit what it holds
// now, as the id of a blob; and which of the FILEs git does not track.
//
// It is a separate process, so that libgit2 is loaded only when a run begins, and the caller sets a deadline. libgit2
// runs no hooks, filters or monitors of a repository, and refuses one that belongs to another user.

#include <fmt/format.h>
#include <git2.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/ownership.h"
#include "core/utf8_character.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostDiff = std::size_t{1} << 20;
// A patch of 4 MiB without any text takes up to a second: it is deflated.
constexpr std::uint64_t kLargestFile = std::uint64_t{4} << 20;  ///< of those that are compared
constexpr std::uint64_t kMostCompared = 4 * kLargestFile;       ///< of all files together
constexpr std::size_t kMostNames = 1'000;

template <auto Free>
struct Freed {
  template <class Type>
  void operator()(Type* thing) const {
    Free(thing);
  }
};
using Repository = std::unique_ptr<git_repository, Freed<git_repository_free>>;
using Reference = std::unique_ptr<git_reference, Freed<git_reference_free>>;
using Tree = std::unique_ptr<git_tree, Freed<git_tree_free>>;
using Commit = std::unique_ptr<git_commit, Freed<git_commit_free>>;
using Diff = std::unique_ptr<git_diff, Freed<git_diff_free>>;
using Patch = std::unique_ptr<git_patch, Freed<git_patch_free>>;
using Described = std::unique_ptr<git_describe_result, Freed<git_describe_result_free>>;

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { git_buf_dispose(&buffer_); }
  git_buf* get() { return &buffer_; }
  std::string_view text() const { return {buffer_.ptr == nullptr ? "" : buffer_.ptr, buffer_.size}; }

 private:
  git_buf buffer_ = GIT_BUF_INIT;
};

std::string LastError() {
  const auto* error = git_error_last();
  return error != nullptr && error->message != nullptr ? error->message : "no reason given";
}

/// At once, so that the caller has it even if it ends this process later.
void Say(const Json& members) {
  const auto line = JsonText(members) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void SayWhyNot(const std::string& reason) { Say({{"not_recorded", reason}}); }

std::string TextOf(const git_oid& id) {
  char text[GIT_OID_HEXSZ + 1];
  return git_oid_tostr(text, sizeof text, &id);
}

/// The folder that holds the repository of `path`; empty: there is none.
fs::path RepositoryFolderOf(fs::path path) {
  for (; path.has_relative_path(); path = path.parent_path()) {
    if (Exists(path / ".git")) return path;
    if (Exists(path / "HEAD") && Exists(path / "objects")) return path;
  }
  return {};
}

/// libgit2 1.5 has several codes for a repository of another user.
std::string WhyNotOpened(const fs::path& folder, const std::string& error) try {
  const auto foreign = WhyNotOwn(folder);
  if (foreign.empty()) return fmt::format("the repository '{}' cannot be read: {}", folder.string(), error);
  return fmt::format(
      "the repository '{0}' is not trusted: {1}; if it is yours: git config --global --add "
      "safe.directory {0}",
      folder.string(), foreign);
} catch (const Error& trouble) {
  return trouble.message();
}

/// Nothing when no path lies in a repository that may be read; the reason is said.
Repository OpenFirst(const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    git_repository* found = nullptr;
    if (git_repository_open_ext(&found, path.c_str(), 0, nullptr) == 0) return Repository(found);
    const auto error = LastError();
    const auto folder = RepositoryFolderOf(path);
    if (folder.empty()) continue;
    SayWhyNot(WhyNotOpened(folder, error));
    return nullptr;
  }
  SayWhyNot(fmt::format("'{}' is in no git repository", paths.back()));
  return nullptr;
}

Tree TreeOf(git_repository* repository, const git_oid& id) {
  git_commit* commit = nullptr;
  if (git_commit_lookup(&commit, repository, &id) != 0) return nullptr;
  const Commit owner(commit);
  git_tree* tree = nullptr;
  return git_commit_tree(&tree, commit) == 0 ? Tree(tree) : nullptr;
}

/// Says commit and branch. Returns the tree of the commit; null before the first commit.
Tree SayHead(git_repository* repository) {
  const char* folder = git_repository_workdir(repository);
  Json members{{"repository", folder != nullptr ? folder : git_repository_path(repository)},
               {"bare", git_repository_is_bare(repository) == 1}};
  git_reference* head = nullptr;
  const int code = git_repository_head(&head, repository);
  const Reference owner(head);
  const auto* id = code == 0 ? git_reference_target(head) : nullptr;
  if (id == nullptr) {
    members["not_recorded"] = code == GIT_EUNBORNBRANCH ? "the repository has no commit yet" : "HEAD: " + LastError();
    Say(members);
    return nullptr;
  }
  members["commit"] = TextOf(*id);
  members["branch"] = git_repository_head_detached(repository) == 1 ? Json() : Json(git_reference_shorthand(head));
  Say(members);
  return TreeOf(repository, *id);
}

git_diff_options OptionsFor(std::uint32_t flags) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = flags;
  // Else diff.noprefix of the user decides, and `git apply` refuses the patch.
  options.old_prefix = "a";
  options.new_prefix = "b";
  options.max_size = static_cast<git_off_t>(kLargestFile);
  return options;
}

Diff DiffOf(git_repository* repository, git_tree* tree, const git_diff_options& options) {
  git_diff* diff = nullptr;
  const int code = git_diff_tree_to_workdir_with_index(&diff, repository, tree, &options);
  return code == 0 ? Diff(diff) : nullptr;
}

std::string_view PathOf(const git_diff_delta& delta) {
  return delta.new_file.path != nullptr ? delta.new_file.path : delta.old_file.path;
}

std::uint64_t BytesOf(git_repository* repository, const git_diff_file& file) {
  if (file.size > 0 || git_oid_is_zero(&file.id) == 1 || file.mode == GIT_FILEMODE_COMMIT) return file.size;
  git_odb* database = nullptr;
  if (git_repository_odb(&database, repository) != 0) return 0;
  std::size_t length = 0;
  git_object_t type = GIT_OBJECT_ANY;
  const bool found = git_odb_read_header(&length, &type, database, &file.id) == 0;
  git_odb_free(database);
  return found ? length : 0;
}

std::string PatchText(git_diff* diff, std::size_t index) {
  git_patch* patch = nullptr;
  if (git_patch_from_diff(&patch, diff, index) != 0 || patch == nullptr) return {};
  const Patch owner(patch);
  Buffer text;
  return git_patch_to_buf(text.get(), patch) == 0 ? std::string(text.text()) : std::string();
}

/// A patch of bytes: for text that is not UTF-8, which JSON cannot hold.
std::string BinaryPatchText(git_repository* repository, git_tree* tree, std::string path) {
  auto options = OptionsFor(GIT_DIFF_SHOW_BINARY | GIT_DIFF_FORCE_BINARY | GIT_DIFF_DISABLE_PATHSPEC_MATCH);
  char* name = path.data();
  options.pathspec = {&name, 1};
  const auto diff = DiffOf(repository, tree, options);
  return diff && git_diff_num_deltas(diff.get()) == 1 ? PatchText(diff.get(), 0) : std::string();
}

/// Whole patches, so that `git apply` can read what is there.
class DiffText {
 public:
  DiffText(git_repository* repository, git_tree* tree) : repository_(repository), tree_(tree) {}

  void Add(git_diff* diff, std::size_t index) {
    const auto& delta = *git_diff_get_delta(diff, index);
    const auto bytes = std::max(BytesOf(repository_, delta.old_file), BytesOf(repository_, delta.new_file));
    if (bytes > kLargestFile) return LeaveOut(delta, bytes, "the file is large");
    if (compared_ + bytes > kMostCompared) return LeaveOut(delta, bytes, "the changed files are large together");
    compared_ += bytes;
    auto patch = PatchText(diff, index);
    if (!IsUtf8(patch)) patch = BinaryPatchText(repository_, tree_, std::string(PathOf(delta)));
    if (patch.empty()) return LeaveOut(delta, bytes, "it could not be compared");
    if (text_.size() + patch.size() > kMostDiff) return LeaveOut(delta, patch.size(), "its diff is large");
    text_ += patch;
  }

  Json Members() const {
    return {{"diff", text_}, {"diff_left_out", left_out_}, {"diff_left_out_more", left_out_more_}};
  }

 private:
  void LeaveOut(const git_diff_delta& delta, std::uint64_t bytes, const char* reason) {
    if (left_out_.size() >= kMostNames) {
      ++left_out_more_;
    } else {
      left_out_.push_back({{"path", PathOf(delta)}, {"bytes", bytes}, {"reason", reason}});
    }
  }

  git_repository* repository_;
  git_tree* tree_;
  std::string text_;
  std::uint64_t compared_ = 0;  ///< bytes
  Json left_out_ = Json::array();
  std::size_t left_out_more_ = 0;
};

void SayDiff(git_repository* repository, git_tree* tree, bool with_text) {
  const auto diff = DiffOf(repository, tree, OptionsFor(GIT_DIFF_SHOW_BINARY));
  if (!diff) return SayWhyNot("the diff: " + LastError());
  const auto count = git_diff_num_deltas(diff.get());
  Say({{"is_dirty", count > 0}});
  if (!with_text) return;
  DiffText text(repository, tree);
  for (std::size_t i = 0; i < count; ++i) text.Add(diff.get(), i);
  Say(text.Members());
}

/// Folders without any tracked file stand as one name.
void SayUntracked(git_repository* repository, const fs::path& runs) {
  git_diff* found = nullptr;
  const auto options = OptionsFor(GIT_DIFF_INCLUDE_UNTRACKED);
  if (git_diff_index_to_workdir(&found, repository, nullptr, &options) != 0) return;
  const Diff diff(found);
  const fs::path root(git_repository_workdir(repository));
  Json names = Json::array();
  std::size_t more = 0;
  for (std::size_t i = 0; i < git_diff_num_deltas(found); ++i) {
    const auto& delta = *git_diff_get_delta(found, i);
    if (delta.status != GIT_DELTA_UNTRACKED) continue;
    const auto path = PathOf(delta);
    if ((root / path / "").lexically_normal() == runs) continue;
    names.size() < kMostNames ? names.push_back(path) : static_cast<void>(++more);
  }
  Say({{"untracked", names}, {"untracked_more", more}});
}

int AddSubmodule(git_submodule* submodule, const char* name, void* to) {
  auto& list = *static_cast<Json*>(to);
  const auto* id = git_submodule_wd_id(submodule);
  unsigned status = 0;
  const bool known =
      git_submodule_status(&status, git_submodule_owner(submodule), name, GIT_SUBMODULE_IGNORE_NONE) == 0;
  constexpr unsigned kChanged = GIT_SUBMODULE_STATUS_WD_INDEX_MODIFIED | GIT_SUBMODULE_STATUS_WD_WD_MODIFIED;
  list.push_back({{"path", git_submodule_path(submodule)},
                  {"commit", id != nullptr ? Json(TextOf(*id)) : Json()},
                  {"is_dirty", known ? Json((status & kChanged) != 0) : Json()}});
  return list.size() < kMostNames ? 0 : 1;
}

void SaySubmodules(git_repository* repository) {
  Json list = Json::array();
  git_submodule_foreach(repository, AddSubmodule, &list);
  Say({{"submodules", list}});
}

/// "v1.2-14-g2414721", else the abbreviated commit.
void SayDescription(git_repository* repository) {
  git_reference* head = nullptr;
  if (git_repository_head(&head, repository) != 0) return;
  const Reference owner(head);
  git_object* commit = nullptr;
  if (git_reference_peel(&commit, head, GIT_OBJECT_COMMIT) != 0) return;
  git_describe_options options = GIT_DESCRIBE_OPTIONS_INIT;
  options.describe_strategy = GIT_DESCRIBE_TAGS;
  options.show_commit_oid_as_fallback = 1;
  git_describe_result* result = nullptr;
  const bool found = git_describe_commit(&result, commit, &options) == 0;
  git_object_free(commit);
  if (!found) return;
  const Described described(result);
  Buffer text;
  if (git_describe_format(text.get(), result, nullptr) == 0) Say({{"description", text.text()}});
}

void SayAll(const std::vector<std::string>& paths, const fs::path& runs, bool with_diff) {
  const auto repository = OpenFirst(paths);
  if (!repository) return;
  const auto tree = SayHead(repository.get());
  if (git_repository_is_bare(repository.get()) != 1) {
    SayDiff(repository.get(), tree.get(), with_diff);
    if (with_diff) SayUntracked(repository.get(), runs);
    SaySubmodules(repository.get());
  }
  SayDescription(repository.get());
  Say({{"complete", true}});
}

/// "100644 2f5e..."; "deleted" when it is not there.
std::string ContentOf(const fs::path& file) {
  std::error_code error;
  const auto status = fs::symlink_status(file, error);
  git_oid id;
  int code = -1;
  if (fs::is_symlink(status)) {
    const auto target = fs::read_symlink(file, error).string();
    code = git_odb_hash(&id, target.data(), target.size(), GIT_OBJECT_BLOB);
  } else if (fs::is_regular_file(status)) {
    code = git_odb_hashfile(&id, file.c_str(), GIT_OBJECT_BLOB);
  } else {
    return "deleted";
  }
  const bool runs = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
  return code == 0 ? fmt::format("{}{}", TextOf(id), runs ? " executable" : "") : "unreadable: " + LastError();
}

void SayEdited(git_repository* repository, git_tree* tree) {
  const auto diff = DiffOf(repository, tree, OptionsFor(0));
  if (!diff) return SayWhyNot("the diff: " + LastError());
  const fs::path root(git_repository_workdir(repository));
  Json edited = Json::object();
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const auto& delta = *git_diff_get_delta(diff.get(), i);
    const bool is_submodule = delta.old_file.mode == GIT_FILEMODE_COMMIT || delta.new_file.mode == GIT_FILEMODE_COMMIT;
    if (!is_submodule) edited[std::string(PathOf(delta))] = ContentOf(root / PathOf(delta));
  }
  Say({{"edited", edited}});
}

void SayUnknown(git_repository* repository, const std::vector<std::string>& files) {
  git_index* index = nullptr;
  if (git_repository_index(&index, repository) != 0) return SayWhyNot("the index: " + LastError());
  const fs::path root(git_repository_workdir(repository));
  Json unknown = Json::array();
  for (const auto& file : files) {
    const auto path = fs::path(file).lexically_relative(root.parent_path()).string();
    if (git_index_get_bypath(index, path.c_str(), 0) == nullptr) unknown.push_back(file);
  }
  git_index_free(index);
  Say({{"unknown", unknown}});
}

void SayContents(const std::string& folder, const std::vector<std::string>& files) {
  const auto repository = OpenFirst({folder});
  if (!repository) return;
  const auto tree = SayHead(repository.get());
  if (!tree) return;
  SayEdited(repository.get(), tree.get());
  SayUnknown(repository.get(), files);
  SaySubmodules(repository.get());
  Say({{"complete", true}});
}

}  // namespace
}  // namespace slipway::launcher

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  git_libgit2_init();
  if (std::string_view(argv[1]) == "contents") {
    slipway::launcher::SayContents(argv[2], {argv + 3, argv + argc});
    return 0;
  }
  if (argc < 4) return 2;
  const std::filesystem::path runs = std::filesystem::path(argv[2]) / "";
  slipway::launcher::SayAll({argv + 3, argv + argc}, runs.lexically_normal(), std::string_view(argv[1]) == "all");
  return 0;
}
