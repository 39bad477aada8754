#include "launcher/cli/remote/on_host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/memory_file.h"
#include "core/process.h"
#include "core/process_identity.h"
#include "core/text.h"
#include "launcher/cli/remote/remote_commands.h"
#include "launcher/spec/load.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr int kSshFailed = 255;
constexpr int kNotFound = 127;
constexpr auto kConnectLimit = std::chrono::minutes(2);
constexpr auto kSyncLimit = std::chrono::hours(12);
/// They look at this machine, or open a port or a screen of it.
constexpr std::array kOnlyHere{"init", "serve", "schema", "completion", "manual"};

std::string LastWordsOf(const std::string& text) {
  const auto line = LastLine(text);
  return line.empty() ? "it printed nothing" : std::string(line);
}

/// A place for the socket of a shared connection that only this user can use; empty when there is none.
std::string OwnControlPath() {
  for (const auto& folder : {fs::path(Variable("XDG_RUNTIME_DIR")), fs::path(Variable("HOME")) / ".ssh"}) {
    const bool is_plain = folder.string().find_first_of(" '\"%") == std::string::npos;
    if (folder.is_absolute() && is_plain && IsDirectory(folder)) return folder / "slipway-%C";
  }
  return {};
}

class Connection {
 public:
  Connection(Remote remote, Output& output) : remote_(std::move(remote)), output_(output) {
    for (const auto* program : {"ssh", "rsync"}) Require(program);
    const auto asked = RunAndCapture({.argv = {"ssh", "-G", "--", remote_.destination}}, kConnectLimit);
    control_path_ = ControlPathIn(asked.output) ? "" : OwnControlPath();
    options_ = SshOptions(control_path_);
    Open();
  }

  /// Copies what changed in the project to the folder there.
  void Bring(const fs::path& project, const std::string& folder) const {
    const bool has_ignore_file = Exists(project / ".slipwayignore");
    const auto command = [&](Sync sync) {
      return RsyncCommand(remote_, options_, project, folder, has_ignore_file, sync);
    };
    MakeFolder(folder);
    const auto [files, remarks] = ReadListing(Rsync(command(Sync::kList)));
    if (!remarks.empty()) output_.Say(TextOfRemarks(remarks));
    RequireLimit(files, project);
    if (!files.empty()) Rsync(command(Sync::kTransfer));
    output_.Say(fmt::format("{}, {} to {}:{}/{}", Counted(files.size(), "file"), FormatBytes(TotalOf(files)),
                            remote_.destination, remote_.root, folder));
  }

  /// The command there, with the standard streams of this process.
  int CarryOut(const std::string& folder, const Words& words) const {
    const bool is_seen =
        output_.mode() == OutputMode::kHuman && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
    const auto terminal = is_seen ? Terminal::kForced : Terminal::kNone;
    auto child =
        ChildProcess::Spawn({.argv = SshCommand(remote_, options_, terminal, RemoteLine(remote_, folder, words)),
                             .stdin_fd = STDIN_FILENO,
                             .group = ProcessGroup::kInherited});
    return CodeOf(child.Wait());
  }

  /// How a command there ended, and what it printed. Errors: kEnvironment: the connection; no program there.
  Captured Capture(const std::string& line) const {
    auto done = RunAndCapture({.argv = SshCommand(remote_, options_, Terminal::kNone, line)}, kSyncLimit);
    CodeOf(done.status);
    return done;
  }

  const Remote& remote() const { return remote_; }

 private:
  static void Require(const std::string& program) {
    if (FindProgram(program)) return;
    throw Error(ErrorKind::kEnvironment, fmt::format("the program {} is not found", program),
                fmt::format("install {}, or put it on the PATH", program));
  }

  /// The first connection: whether ssh gets there without a question. What it prints goes to a file, because an ssh
  /// that stays behind for later commands keeps the stream open.
  void Open() const {
    const auto said = FileInMemory();
    auto child = ChildProcess::Spawn({.argv = SshCommand(remote_, options_, Terminal::kNone, "exit 0"),
                                      .stdout_fd = said.get(),
                                      .stderr_fd = said.get(),
                                      .group = ProcessGroup::kInherited});
    const auto status = child.WaitFor(kConnectLimit);
    if (status && status->Success()) return child.Release();
    const auto why = status ? LastWordsOf(TextOf(said)) : std::string("no answer within 2 minutes");
    throw Error(ErrorKind::kEnvironment,
                fmt::format("ssh does not reach '{}' without a question: {}", remote_.destination, why),
                HowToConnect());
  }

  std::string HowToConnect() const {
    const auto path = control_path_.empty() ? "" : fmt::format("-o ControlPath={} ", control_path_);
    return fmt::format(
        "{}load your key with ssh-add, or open a connection that later commands share: ssh -o "
        "ControlMaster=auto -o ControlPersist=8h {}{}",
        CheckTheName(), path, remote_.destination);
  }

  /// A name that is not in the settings may be a slip.
  std::string CheckTheName() const {
    if (remote_.is_in_settings) return {};
    const auto known =
        remote_.others.empty() ? "" : fmt::format(" (your settings have {})", fmt::join(remote_.others, ", "));
    return fmt::format("check the name{}; then ", known);
  }

  void MakeFolder(const std::string& folder) const {
    const auto path = remote_.root + "/" + folder;
    const auto done = Capture(QuoteForShell({"mkdir", "-p", "--", path}));
    if (done.status.Success()) return;
    throw Error(
        ErrorKind::kEnvironment,
        fmt::format("the folder '{}' cannot be made on '{}': {}", path, remote_.destination, LastWordsOf(done.errors)),
        fmt::format("set remotes.{}.root in your settings to a folder that you can write to", remote_.name));
  }

  std::string Rsync(const Words& words) const {
    const auto done = RunAndCapture({.argv = words}, kSyncLimit);
    if (done.status.Success()) return done.output;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("rsync to '{}' failed with {}: {}", remote_.destination, done.status.Describe(),
                            LastWordsOf(done.errors)),
                fmt::format("look whether rsync is installed there: ssh {} rsync --version", remote_.destination));
  }

  void RequireLimit(const std::vector<SyncedFile>& files, const fs::path& project) const {
    const auto total = TotalOf(files);
    if (total <= remote_.limit) return;
    throw Error(
        ErrorKind::kUsage,
        fmt::format("'{}' has {} in {} files to bring to '{}', more than {}: {}", project.string(), FormatBytes(total),
                    files.size(), remote_.destination, FormatBytes(remote_.limit), LargestOf(files)),
        fmt::format("name what is not needed there in '{}', or raise remotes.{}.limit in your settings",
                    (project / ".slipwayignore").string(), remote_.name));
  }

  int CodeOf(const ExitStatus& status) const {
    if (status.signal != 0) return static_cast<int>(ErrorKind::kInterrupted);
    if (status.code == kSshFailed) {
      throw Error(ErrorKind::kEnvironment, fmt::format("the connection to '{}' failed", remote_.destination),
                  fmt::format("what runs there goes on; look at it with: slipway --on {} status", remote_.name));
    }
    if (status.code == kNotFound) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' has no program '{}'", remote_.destination, remote_.program),
                  fmt::format("set remotes.{}.program in your settings to its path there", remote_.name));
    }
    return status.code;
  }

  Remote remote_;
  Output& output_;
  std::string control_path_;
  Words options_;
};

/// The words with the name that the spec has in its project's folder.
Words WithSpecThere(Words words, const fs::path& spec) {
  const auto at = std::ranges::find(words, spec.string());
  if (at != words.end()) *at = spec.filename().string();
  return words;
}

int CarryOutSpec(const RemoteRequest& request, const Connection& connection) {
  if (!IsRegularFile(request.spec)) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no spec '{}'", request.spec.string()),
                "give the path of a YAML file here");
  }
  const auto project = fs::canonical(request.spec).parent_path();
  const auto folder = ProjectFolder(project, HostName());
  connection.Bring(project, folder);
  return connection.CarryOut(folder, WithSpecThere(request.words, request.spec));
}

/// The report is written there, and its page printed and kept here.
int BringReport(const RemoteRequest& request, const Connection& connection, Output& output) {
  Words words{"--quiet", "report"};
  words.insert(words.end(), request.runs.begin(), request.runs.end());
  const auto made = connection.Capture(RemoteLine(connection.remote(), "", words));
  if (!made.status.Success()) return connection.CarryOut("", request.words);  // its error, as this user sees errors
  const fs::path there = made.output.substr(0, made.output.find_last_not_of("\r\n") + 1);
  const auto page = connection.Capture(PrintFileLine(connection.remote(), there));
  if (!page.status.Success()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' cannot be read there: {}", there.string(), LastWordsOf(page.errors)),
                "give the command once more");
  }
  const auto name = request.runs.size() > 1 ? "report.html" : there.parent_path().filename().string() + ".html";
  const auto file = fs::absolute(request.out.empty() ? fs::path(name) : request.out);
  WriteFileAtomically(file, page.output);
  output.Print({Json(), fmt::format("written: {}", file.string()), file.string()});
  return 0;
}

}  // namespace

int CarryOutOn(const RemoteRequest& request, Output& output) {
  if (std::ranges::find(kOnlyHere, request.command) != kOnlyHere.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("slipway {} works on this machine only", request.command),
                fmt::format("log in there, or leave out --on {}", request.host));
  }
  const auto settings = UserSettingsDirectory();
  const Connection connection(FindRemote(request.host, settings.empty() ? settings : settings / "config.yaml"), output);
  if (!request.spec.empty()) return CarryOutSpec(request, connection);
  const bool brings_page = request.command == "report" && output.mode() != OutputMode::kJson;
  if (brings_page) return BringReport(request, connection, output);
  return connection.CarryOut("", request.words);
}

}  // namespace slipway::launcher
