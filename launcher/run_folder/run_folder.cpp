#include "launcher/run_folder/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <tuple>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/json_text.h"
#include "core/shell.h"
#include "core/text.h"
#include "launcher/plan/training_command.h"
#include "launcher/run_folder/end_reason.h"
#include "launcher/run_folder/manager_elsewhere.h"
#include "launcher/run_folder/pause_note.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr int kNameAttempts = 100;
constexpr auto kPatienceWithLooks = std::chrono::milliseconds(200);
constexpr auto kPatienceWithLastManager = std::chrono::seconds(30);

std::string NewRunId(const std::string& name, WallTime now) {
  static std::random_device random;
  return fmt::format("{}-{}-{:04x}", name, FormatUtcCompact(now), random() & 0xffff);
}

/// Creates a new folder. The random part makes a clash rare, and mkdir makes it harmless.
fs::path MakeNewFolder(const fs::path& runs_directory, const std::string& name) {
  MakeDirectories(runs_directory);
  for (int i = 0; i < kNameAttempts; ++i) {
    const auto path = fs::absolute(runs_directory) / NewRunId(name, SystemClock().Now());
    if (::mkdir(path.c_str(), kDirectoryMode) == 0) return path;
    if (errno != EEXIST) ThrowErrno(fmt::format("cannot create the run folder '{}'", path.string()));
  }
  throw Error(ErrorKind::kInternal, "cannot find a free name for a run folder");
}

RunState ReadStoredState(const fs::path& path) {
  try {
    return RunStateFromJson(Json::parse(ReadDocument(path / "state.json"), nullptr, false));
  } catch (const SystemError&) {
    throw;
  } catch (const OtherVersionError&) {
    throw;
  } catch (const Error& error) {
    throw Error(
        error.kind(), error.message(),
        fmt::format("move the folder away, and start its experiment again: slipway run FILE, where the files of "
                    "FILE are; a copy of FILE: {}",
                    (path / "spec.yaml").string()));
  }
}

std::string TextOf(const RunState& state) {
  return ToJson(state).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool IsMissing(int code) { return code == ENOENT || code == ENOTDIR; }

/// Also when it may not be looked into: whose run it is, its owner can tell.
bool MayBeRun(const fs::path& path) {
  struct stat info {};
  return ::stat((path / "state.json").c_str(), &info) == 0 || !IsMissing(errno);
}

/// Nothing: the run has ended, or may have a manager. Slurm may start another one for a submitted run.
std::optional<EndCause> WhyLost(const RunState& state, const fs::path& path) {
  if (state.batch_job == 0 && ManagerIsGone(state)) return cause::ManagerLost{state.manager.pid, state.host};
  return FindManagerElsewhere(state, path);
}

}  // namespace

bool ManagerIsGone(const RunState& state) {
  const bool has_one = !HasEnded(state.phase) && state.phase != Phase::kQueued && !IsReady(state);
  return has_one && state.host == HostName() && !IsAlive(state.manager);
}

std::string AboutGoneManager(const RunState& state) {
  if (!ManagerIsGone(state)) return {};
  return fmt::format("its manager (process {} on {}) is gone", state.manager.pid, state.host);
}

RunFolder RunFolder::Create(const fs::path& runs_directory, const std::string& name, bool ensemble) {
  RunFolder folder(MakeNewFolder(runs_directory, name));
  RunState state;
  state.run = folder.id();
  state.name = name;
  state.ensemble = ensemble;
  state.created = FormatUtc(SystemClock().Now());
  state.host = HostName();
  state.manager = IdentityOf(::getpid());
  WriteFileAtomically(folder.path_ / "state.json", TextOf(state));
  return folder;
}

RunFolder RunFolder::BeginTrial(const fs::path& path, const RunFolder& run) {
  MakeDirectories(path);
  const bool is_new = !fs::exists(path / "state.json");
  auto state = is_new ? RunState{} : ReadStoredState(path);
  state.run = run.id();  // what can be resumed
  state.phase = Phase::kCreated;
  state.started.clear();
  ForgetEnd(state);
  if (is_new) state.created = FormatUtc(SystemClock().Now());
  state.host = HostName();
  state.manager = IdentityOf(::getpid());
  state.batch_job = 0;
  state.batch_task.reset();
  state.batch_cluster.clear();
  WriteFileAtomically(path / "state.json", TextOf(state));
  return RunFolder(path);
}

RunFolder RunFolder::Open(const fs::path& path) {
  const int code = ::access((path / "state.json").c_str(), R_OK) == 0 ? 0 : errno;
  if (IsMissing(code)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a run folder: it has no state.json", path.string()),
                "list the runs with: slipway ls");
  }
  if (code != 0) {
    throw SystemError(code, fmt::format("cannot read the run folder '{}'", path.string()),
                      "ask its owner to let you read it, or name another run: slipway ls");
  }
  return RunFolder(fs::canonical(path));
}

void RunFolder::SetSelector(const std::string& given) { selector_ = QuoteForShell({given}); }

fs::path RunFolder::attempt(int number) const { return path_ / AttemptFolder(number); }

RunState RunFolder::ReadState() const {
  return WithContext(fmt::format("in the run folder '{}'", path_.string()), [&] {
    auto state = ReadStoredState(path_);
    // A manager that has just written its last word is gone, too: look once more before calling it lost.
    auto why = WhyLost(state, path_);
    if (why) {
      state = ReadStoredState(path_);
      why = WhyLost(state, path_);
    }
    if (why) EndAs(state, Phase::kLost, std::move(*why));
    NameInReason(state);
    const auto pause = MayStandStill(state.phase) ? ReadPause(path_) : std::nullopt;
    if (pause) state.reason = Describe(*pause);
    if (auto doubt = DoubtManagerElsewhere(state, path_, selector()); !doubt.empty()) state.reason = std::move(doubt);
    return state;
  });
}

void RunFolder::NameInReason(RunState& state) const {
  if (selector_.empty() || selector_ == state.run) return;
  if (IsReady(state) && !state.reason.empty()) state.reason = DescribeReady(selector_);
  const bool advises = HasEnded(state.phase) && state.cause && !Is<cause::ManagerElsewhere>(state.cause);
  if (advises) state.reason = ReasonFor(*state.cause, selector_);
}

void RunFolder::WriteState(const RunState& state) const { WriteFileDurably(path_ / "state.json", TextOf(state)); }

void RunFolder::AppendEvent(std::string_view event, const Json& more) const {
  const auto now = SystemClock().Now();
  Json line{{"time", FormatUtc(now)}, {"unix_time", UnixSeconds(now)}, {"event", event}};
  line.update(more);
  const auto file = OpenFile(path_ / "events.jsonl", O_WRONLY | O_APPEND | O_CREAT);
  WriteAll(file.get(), JsonText(line) + "\n", path_ / "events.jsonl");
}

void RunFolder::ForEachEvent(const std::function<void(const Json&)>& take) const {
  for (const auto& line : LinesOf(ReadDocumentIfPresent(path_ / "events.jsonl").value_or(""))) {
    const auto event = Json::parse(line, nullptr, false);
    if (event.is_object()) take(event);
  }
}

int RunFolder::CountEvents(std::string_view event) const {
  int count = 0;
  ForEachEvent([&](const Json& found) {
    if (found.value("event", Json()) == event) ++count;
  });
  return count;
}

FileLock RunFolder::TakeManagerLock(const std::optional<RunState>& before, Clock& clock) const {
  constexpr auto kPause = std::chrono::milliseconds(50);
  const auto path = path_ / kManagerLock;
  const bool has_ended = before && HasEnded(before->phase);
  const auto is_over = [&](std::chrono::milliseconds waited) {
    if (waited < kPatienceWithLooks) return false;
    return !has_ended || waited >= kPatienceWithLastManager || WasTakenUp(*before, ReadStoredState(path_));
  };
  auto lock = FileLock::TryAcquire(path, LockMode::kExclusive);
  for (auto waited = std::chrono::milliseconds(0); !lock && !is_over(waited); waited += kPause) {
    clock.Sleep(kPause);
    lock = FileLock::TryAcquire(path, LockMode::kExclusive);
  }
  if (!lock) {
    const auto holder = ReadDocumentIfPresent(path).value_or("");  // empty until its holder has described itself
    throw Error(ErrorKind::kBusy,
                fmt::format("run {} is managed by {}", id(), holder.empty() ? "another process" : holder),
                fmt::format("wait for it (slipway wait {0}) or end it (slipway cancel {0})", selector()));
  }
  RequireNoManagerElsewhere(ReadStoredState(path_));
  lock->Describe(fmt::format("process {} on {}", ::getpid(), HostName()));
  return std::move(*lock);
}

namespace {

/// Where a run stands among the others.
struct ListedRun {
  std::string time;     ///< yyyymmdd-hhmmss, as in its name
  std::string created;  ///< more exactly; only where another has the same time
  fs::path path;
};

constexpr std::string_view kTimePattern = "dddddddd-dddddd-xxxx";

bool FitsPattern(std::string_view text) {
  return std::ranges::equal(text, kTimePattern, [](unsigned char c, char wanted) {
    if (wanted == 'd') return std::isdigit(c) != 0;
    return wanted == 'x' ? std::isxdigit(c) != 0 : c == static_cast<unsigned char>(wanted);
  });
}

/// The time at the end of its name; empty for a renamed folder.
std::string TimeInName(const std::string& name) {
  if (name.size() <= kTimePattern.size()) return {};
  const auto end = name.substr(name.size() - kTimePattern.size());
  return FitsPattern(end) ? end.substr(0, end.size() - 5) : std::string();
}

/// Empty where it cannot be read.
std::string CreatedIn(const fs::path& path) try { return ReadStoredState(path).created; } catch (const Error&) {
  return {};
}

/// "2026-11-22T06:41:00.123Z" as it stands in names.
std::string AsInNames(const std::string& utc) {
  std::string time;
  for (const char c : utc.substr(0, utc.find('.'))) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) time += c;
    if (c == 'T') time += '-';
  }
  return time;
}

/// A folder without a time in its name is a run only when its state shows it.
std::optional<ListedRun> LookAtFolder(const fs::path& path) {
  auto time = TimeInName(path.filename());
  if (!time.empty()) return MayBeRun(path) ? std::optional(ListedRun{time, {}, path}) : std::nullopt;
  const bool has_state = Exists(path / "state.json") && path.filename().string().front() != '.';
  if (!has_state) return {};
  auto created = CreatedIn(path);
  return ListedRun{AsInNames(created), created, path};
}

std::vector<ListedRun> LookIntoFolder(const fs::path& runs_directory) {
  std::vector<ListedRun> found;
  std::error_code error;
  fs::directory_iterator entry(runs_directory, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (auto run = LookAtFolder(entry->path())) found.push_back(std::move(*run));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw SystemError(error.value(), fmt::format("cannot read the runs in '{}'", runs_directory.string()),
                      "ask its owner to let you read it, or name another place with --runs-dir or SLIPWAY_RUNS");
  }
  return found;
}

/// Several of one second come in the order in which they were made.
void SortByTime(std::vector<ListedRun>& runs) {
  std::ranges::sort(runs, {}, &ListedRun::time);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool shares =
        (i > 0 && runs[i - 1].time == runs[i].time) || (i + 1 < runs.size() && runs[i + 1].time == runs[i].time);
    if (shares && runs[i].created.empty()) runs[i].created = CreatedIn(runs[i].path);
  }
  std::ranges::sort(runs, {}, [](const ListedRun& run) { return std::tie(run.time, run.created, run.path); });
}

fs::path CanonicalIfPossible(const fs::path& path) {
  std::error_code error;
  const auto canonical = fs::canonical(path, error);
  return error ? fs::absolute(path) : canonical;
}

}  // namespace

RunFolder RunsDirectory::Name(RunFolder run) const {
  std::error_code error;
  const bool is_here = fs::equivalent(path / run.id(), run.path(), error);
  if (!is_here) {
    run.SetSelector(run.path().string());
  } else {
    run.SetSelector(given.empty() ? run.id() : (given / run.id()).string());
  }
  return run;
}

std::vector<RunFolder> ListRuns(const RunsDirectory& directory) {
  auto found = LookIntoFolder(directory.path);
  SortByTime(found);
  const auto canonical = CanonicalIfPossible(directory.path);
  std::vector<RunFolder> runs;
  for (const auto& run : found) {
    std::error_code error;
    const auto name = run.path.filename();
    const bool is_link = fs::is_symlink(run.path, error);  // canonical() looks at each part of a path
    auto& listed = runs.emplace_back(RunFolder(is_link ? CanonicalIfPossible(run.path) : canonical / name));
    listed.SetSelector(directory.given.empty() ? listed.id() : (directory.given / name).string());
  }
  return runs;
}

namespace {

/// Errors: those of RunFolder::Open.
RunFolder Opened(const RunFolder& listed) {
  RunFolder::Open(listed.path());
  return listed;
}

/// The newest that can be read. `warn` hears of those that may be newer.
RunFolder LastRun(const std::vector<RunFolder>& runs, const WarningSink& warn) {
  if (runs.empty()) throw Error(ErrorKind::kUsage, "there is no run yet", "start one with: slipway run SPEC");
  const RunFolder* last = nullptr;
  std::string last_created;
  std::vector<std::string> passed_over;
  for (const auto& run : runs) {
    try {
      auto created = run.ReadState().created;
      if (last != nullptr && created <= last_created) continue;
      last = &run;
      last_created = std::move(created);
      passed_over.clear();
    } catch (const Error& error) {
      passed_over.push_back(fmt::format("run {} cannot be read and is passed over: {}", run.id(), error.message()));
    }
  }
  if (last == nullptr) {
    throw Error(ErrorKind::kEnvironment, passed_over.back(), "see what is wrong with each run: slipway ls");
  }
  if (warn) std::for_each(passed_over.begin(), passed_over.end(), warn);
  return *last;
}

/// What ListRuns would have under this id. Without a look at all the others, of which there may be thousands.
std::optional<RunFolder> RunOfId(const RunsDirectory& directory, const std::string& id) {
  const auto path = directory.path / id;
  std::error_code error;
  if (fs::is_symlink(path, error) || !LookAtFolder(path)) return {};  // a link has the id of its target
  return directory.Name(RunFolder::Open(path));
}

Error NoSuchRun(const fs::path& runs_directory, const std::string& selector, const std::vector<RunFolder>& matches) {
  if (matches.empty()) {
    return {ErrorKind::kUsage,
            fmt::format("no run '{}' in '{}'", selector, fs::absolute(runs_directory).lexically_normal().string()),
            "list the runs with: slipway ls (or name another place with --runs-dir)"};
  }
  constexpr std::size_t kMostNamed = 5;
  const auto named = std::min(kMostNamed, matches.size());
  std::string ids;
  for (auto run = matches.end() - static_cast<std::ptrdiff_t>(named); run != matches.end(); ++run) {
    ids += (ids.empty() ? "" : ", ") + run->id();
  }
  return {ErrorKind::kUsage,
          fmt::format("'{}' fits {} runs{}: {}", selector, matches.size(),
                      named < matches.size() ? fmt::format(", the newest {}", named) : "", ids),
          "give more of the id"};
}

}  // namespace

RunFolder FindRun(const RunsDirectory& directory, const std::string& selector, const WarningSink& warn) {
  // As a shell writes a variable that is not set: it would fit any run.
  if (selector.empty()) {
    throw Error(ErrorKind::kUsage, "the name of the run is empty", "list the runs with: slipway ls");
  }
  if (selector.find('/') != std::string::npos || selector == "." || selector == "..") {
    auto named = RunFolder::Open(selector);
    named.SetSelector(selector);
    return named;
  }
  if (auto run = selector == "last" ? std::nullopt : RunOfId(directory, selector)) return *std::move(run);
  const auto runs = ListRuns(directory);
  if (selector == "last") return LastRun(runs, warn);
  std::vector<RunFolder> matches;
  for (const auto& run : runs) {
    if (run.id() == selector) return Opened(run);
    if (run.id().starts_with(selector)) matches.push_back(run);
  }
  if (matches.size() == 1) return Opened(matches.front());
  throw NoSuchRun(directory.path, selector, matches);
}

void EndRun(const RunFolder& folder, Phase phase, EndCause ended) {
  auto state = folder.ReadState();
  EndAs(state, phase, std::move(ended));
  state.detail.clear();
  state.ended = FormatUtc(SystemClock().Now());
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(phase), Json{{"reason", state.reason}});
}

}  // namespace slipway::launcher
