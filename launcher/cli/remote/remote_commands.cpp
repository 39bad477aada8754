#include "launcher/cli/remote/remote_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "core/error.h"
#include "core/fnv1a.h"
#include "core/lines.h"
#include "core/shell.h"

namespace slipway::launcher {
namespace {

constexpr std::array kNeverNeeded{"/.git/", "/runs/", "/build/", "/.call-*/", "__pycache__/", "*.pyc"};
constexpr std::size_t kMostNamed = 3;
/// Begins the lines of a listing: rsync prints its remarks to the same stream.
constexpr std::string_view kListed = "slipway-file ";

bool NamesRunsDirectory(const Words& words) {
  return std::ranges::any_of(words,
                             [](const auto& word) { return word == "--runs-dir" || word.starts_with("--runs-dir="); });
}

std::string PathOf(const Remote& remote, const std::string& folder) {
  return folder.empty() ? remote.root : remote.root + "/" + folder;
}

/// A path as a word that no program takes for an option.
std::string AsPath(const std::string& path) { return path.starts_with('-') ? "./" + path : path; }

/// The login shell goes: it would die of Ctrl-C before the program has ended in order.
std::string ForAnyShell(const std::string& line) { return "exec " + QuoteForShell({"sh", "-c", line}); }

/// A relative program lies below the home, which is where ssh starts; a bare name is on the PATH.
std::string ProgramOf(const Remote& remote) {
  const bool is_below_home = remote.program.find('/') != std::string::npos && remote.program.front() != '/';
  return (is_below_home ? "\"$HOME\"/" : "") + QuoteForShell({remote.program});
}

}  // namespace

Words WithoutHost(const Words& words) {
  Words kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--on") {
      ++i;
    } else if (!words[i].starts_with("--on=")) {
      kept.push_back(words[i]);
    }
  }
  return kept;
}

std::optional<std::string> ControlPathIn(std::string_view configuration) {
  constexpr std::string_view kKey = "controlpath ";
  LineWords lines(configuration);
  while (!lines.rest().empty()) {
    const auto line = lines.Word('\n');
    if (line.starts_with(kKey) && line.substr(kKey.size()) != "none") return std::string(line.substr(kKey.size()));
  }
  return {};
}

Words SshOptions(const std::string& own_path) {
  Words options{"-o", "BatchMode=yes"};
  if (!own_path.empty()) {
    for (const auto& option : {"ControlMaster=auto", "ControlPersist=60"})
      options.insert(options.end(), {"-o", option});
    options.insert(options.end(), {"-o", "ControlPath=" + own_path});
  }
  return options;
}

Words SshCommand(const Remote& remote, const Words& options, Terminal terminal, const std::string& line) {
  Words words{"ssh"};
  words.insert(words.end(), options.begin(), options.end());
  if (terminal == Terminal::kForced) words.emplace_back("-t");
  words.insert(words.end(), {"--", remote.destination, line});
  return words;
}

std::string ProjectFolder(const std::filesystem::path& folder, std::string_view host) {
  const auto hash = Fnv1a64(fmt::format("{}:{}", host, folder.string()));
  return fmt::format("{}-{:08x}", folder.filename().string(), hash & 0xffffffff);
}

std::string RemoteLine(const Remote& remote, const std::string& folder, const Words& words) {
  const auto path = QuoteForShell({AsPath(PathOf(remote, folder))});
  const auto root = QuoteForShell({AsPath(remote.root)});
  const auto* runs = NamesRunsDirectory(words) ? "" : "--runs-dir \"$runs\" ";
  // The root may be relative to the home, and the path of runs is shown to people.
  return ForAnyShell(fmt::format("mkdir -p {0} && runs=$(cd {1} && pwd)/runs && cd {0} && exec {2} {3}{4}", path, root,
                                 ProgramOf(remote), runs, QuoteForShell(words)));
}

std::string PrintFileLine(const Remote& remote, const std::string& file) {
  const auto root = QuoteForShell({AsPath(remote.root)});
  return ForAnyShell(fmt::format("cd {} && exec cat {}", root, QuoteForShell({AsPath(file)})));
}

Words RsyncCommand(const Remote& remote, const Words& ssh_options, const std::filesystem::path& folder,
                   const std::string& target, bool has_ignore_file, Sync sync) {
  Words ssh{"ssh"};
  ssh.insert(ssh.end(), ssh_options.begin(), ssh_options.end());
  // --modify-window=-1: two edits within a second differ. --protect-args: no shell there reads the path. -e: rsync
  // splits this text itself and knows these quotes.
  Words words{"rsync", "-rlpt", "--modify-window=-1", "--safe-links", "--protect-args", "-e", QuoteForShell(ssh)};
  if (sync == Sync::kList) words.insert(words.end(), {"--dry-run", fmt::format("--out-format={}%l %n", kListed)});
  if (has_ignore_file) words.push_back("--exclude-from=" + (folder / ".slipwayignore").string());
  for (const auto* pattern : kNeverNeeded) words.push_back(fmt::format("--exclude={}", pattern));
  words.insert(words.end(), {"--", folder.string() + "/", remote.destination + ":" + PathOf(remote, target) + "/"});
  return words;
}

namespace {

SyncedFile FileIn(std::string_view line) {
  LineWords words(line);
  SyncedFile file;
  words.Read(file.bytes);
  if (!words.good() || line.find(' ') == line.npos) {
    throw Error(ErrorKind::kEnvironment, fmt::format("rsync lists a file as '{}'", line),
                "look which rsync is the first on the PATH: command -v rsync");
  }
  file.name = words.rest();
  return file;
}

}  // namespace

SyncListing ReadListing(std::string_view text) {
  SyncListing listing;
  LineWords lines(text);
  while (!lines.rest().empty()) {
    const auto line = lines.Word('\n');
    if (!line.starts_with(kListed)) {
      if (!line.empty()) listing.remarks.emplace_back(line);
      continue;
    }
    auto file = FileIn(line.substr(kListed.size()));
    if (!file.name.ends_with('/')) listing.files.push_back(std::move(file));
  }
  return listing;
}

std::string TextOfRemarks(const Words& remarks) {
  const auto named = std::min(remarks.size(), kMostNamed);
  const auto more = remarks.size() - named;
  return fmt::format("rsync: {}{}",
                     fmt::join(remarks.begin(), remarks.begin() + static_cast<std::ptrdiff_t>(named), "; "),
                     more == 0 ? "" : fmt::format("; and {} more", more));
}

std::string LargestOf(std::vector<SyncedFile> files) {
  std::ranges::sort(files, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  Words named;
  for (const auto& file : files) {
    if (named.size() == kMostNamed) break;
    named.push_back(fmt::format("{} ({})", file.name, FormatBytes({file.bytes})));
  }
  return fmt::format("{}", fmt::join(named, ", "));
}

Bytes TotalOf(const std::vector<SyncedFile>& files) {
  return {std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                          [](std::uint64_t sum, const SyncedFile& file) { return sum + file.bytes; })};
}

}  // namespace slipway::launcher
