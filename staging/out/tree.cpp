#include "staging/out/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"
#include "core/files.h"
#include "staging/plan/source_stat.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// How many refused entries a message names.
constexpr std::size_t kMostNamed = 5;

[[noreturn]] void Refuse(const fs::path& path, std::string_view what, std::string next_step) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", path.string(), what), std::move(next_step));
}

class Lister {
 public:
  Lister(const fs::path& root, const std::function<bool(const fs::path& name)>& skips) : root_(root), skips_(skips) {}

  Tree List() {
    Visit({});
    std::sort(tree_.files.begin(), tree_.files.end(),
              [](const auto& a, const auto& b) { return fs::path(a.name) < fs::path(b.name); });
    return std::move(tree_);
  }

 private:
  void Visit(const fs::path& directory) {
    std::error_code error;
    std::vector<fs::path> names;
    fs::directory_iterator entry(root_ / directory, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      const auto name = entry->path().filename();
      if (!directory.empty() || !skips_ || !skips_(name)) names.push_back(directory / name);
    }
    if (error) {
      throw SystemError(error.value(), fmt::format("cannot read directory '{}'", (root_ / directory).string()));
    }
    if (!directory.empty()) tree_.directories.push_back(directory);
    for (const auto& name : names) TakeIfThere(name);
  }

  /// What went away meanwhile is none of the tree's, also when it has come back since: the next look finds it.
  void TakeIfThere(const fs::path& name) {
    try {
      Take(name);
    } catch (const SystemError& error) {
      if (error.code() != ENOENT) LeaveOut(name, error);
    } catch (const Error& error) {
      LeaveOut(name, error);
    } catch (const fs::filesystem_error& error) {
      const auto path = (root_ / name).string();
      LeaveOut(name, SystemError(error.code().value(), fmt::format("cannot look at '{}'", path)));
    }
  }

  void LeaveOut(const fs::path& name, const Error& why) {
    if (IsThere(root_ / name)) tree_.refused.push_back({name, why});
  }

  void Take(const fs::path& name) {
    switch (fs::symlink_status(root_ / name).type()) {
      case fs::file_type::regular: return TakeFile(name);
      case fs::file_type::symlink: return TakeLink(name);
      case fs::file_type::directory: return Visit(name);
      case fs::file_type::not_found: return;
      default: Refuse(root_ / name, "is neither a file, a directory nor a link", "remove it, or write it elsewhere");
    }
  }

  void TakeFile(const fs::path& name) {
    if (::faccessat(AT_FDCWD, (root_ / name).c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES) {
      ThrowErrno(fmt::format("cannot open '{}'", (root_ / name).string()));
    }
    const auto state = StatSource(root_ / name);
    tree_.files.push_back({root_ / name, name, state.size, state.mtime_ns, state.inode});
    tree_.total.count += state.size.count;
  }

  void TakeLink(const fs::path& name) {
    const auto path = root_ / name;
    if (!LiesWithin(path, root_)) Refuse(path, "is a link that leads out of its directory", "copy the file instead");
    auto target = fs::read_symlink(path);
    if (target.is_absolute()) {
      target = fs::weakly_canonical(target).lexically_relative(fs::weakly_canonical(path.parent_path()));
    }
    tree_.links.push_back({name, target});
  }

  const fs::path& root_;
  const std::function<bool(const fs::path& name)>& skips_;
  Tree tree_;
};

}  // namespace

Tree ListTree(const fs::path& root, const std::function<bool(const fs::path& name)>& skips) {
  return Lister(root, skips).List();
}

Error ErrorOf(const std::vector<Refused>& refused) {
  const auto& first = refused.front().why;
  const auto named = std::min(refused.size(), kMostNamed);
  std::string others;
  for (std::size_t i = 1; i < named; ++i) others += "; " + refused[i].why.message();
  if (refused.size() > named) others += fmt::format("; and {} more", refused.size() - named);
  return Error(first.kind(), fmt::format("{}{}", first.message(), others), first.next_step());
}

bool IsThere(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

}  // namespace slipway::staging
