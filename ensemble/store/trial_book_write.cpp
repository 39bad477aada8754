// The writing half of the trial book.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/number_words.h"
#include "core/unique_handle.h"
#include "ensemble/store/book_state.h"

namespace slipway::ensemble {
namespace {

constexpr std::string_view kInsertParam = "INSERT INTO trial_param(trial, name, kind, v) VALUES (?, ?, ?, ?)";

constexpr std::string_view kSeen = "UPDATE session SET last_seen = ? WHERE n = (SELECT max(n) FROM session)";

/// After this many writes the log is extended: a short study does not need it.
constexpr int kWritesOfAShortStudy = 32;

/// Sets what commits survive, for its lifetime.
class Syncing {
 public:
  Syncing(Connection& connection, Outlives outlives) : connection_(connection), less_(outlives == Outlives::kProcess) {
    if (less_) connection_.Execute("PRAGMA synchronous = NORMAL");
  }
  Syncing(const Syncing&) = delete;
  Syncing& operator=(const Syncing&) = delete;
  ~Syncing() {
    if (less_) connection_.SyncFully();
  }

 private:
  Connection& connection_;
  bool less_;
};

/// A number as the book holds it. NaN and the infinities are stored as words: SQLite turns NaN into NULL, and JSON has
/// none of them.
struct Stored {
  explicit Stored(double number) : special(WordOfNumber(number)) {
    if (!special) value = number;
  }
  std::optional<std::string_view> special;
  std::optional<double> value;
};

/// The place of an attempt as text: "node1:0,1,8/gpu:0".
std::string Describe(const std::vector<AllocatedNode>& place) {
  std::string text;
  for (const auto& share : place) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", share.node, share.cores.empty() ? "" : ":",
                        fmt::join(share.cores, ","));
    if (!share.gpus.empty()) text += fmt::format("/gpu:{}", fmt::join(share.gpus, ","));
  }
  return text;
}

class Writer {
 public:
  Writer(Connection& connection, const Changes& changes) : connection_(connection), changes_(changes) {}

  void WriteAll() {
    for (const auto& metric : changes_.metrics) Write(metric);
    for (const auto& stop : changes_.stops) Write(stop);
    for (const auto& begin : changes_.begins) Write(begin);
    for (const auto& end : changes_.ends) Write(end);
    for (const auto& trial : changes_.trials) WriteNew(trial);
    for (const auto& trial : changes_.finished) WriteFinished(trial);
    for (const auto trial : changes_.requeued) Requeue(trial);  // it may be settled or claimed at once
    for (const auto& trial : changes_.settled) Settle(trial);
    for (const auto& claim : changes_.claims) Write(claim);
    for (const auto& start : changes_.starts) Write(start);
    for (const auto& queued : changes_.queued) Write(queued);
    for (const auto& rung : changes_.rungs) Write(rung);
    for (const auto& answer : changes_.answers) Write(answer);
    Prepare(kSeen).Bind(changes_.time).Run();
    if (changes_.remark) Note(*changes_.remark, std::nullopt, std::nullopt, "");
  }

 private:
  Query Prepare(std::string_view sql) { return Query(connection_.Prepared(sql)); }

  void Note(std::string_view kind, std::optional<TrialNumber> trial, std::optional<int> attempt,
            std::string_view detail) {
    Prepare("INSERT INTO event(time, kind, trial, attempt, detail) VALUES (?, ?, ?, ?, ?)")
        .Bind(changes_.time, kind, trial, attempt, detail)
        .Run();
  }

  void Write(const MetricRecord& metric) {
    const Stored stored(metric.value);
    Prepare(
        "INSERT INTO metric(trial, attempt, name, step, epoch, v, special, time) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
        "ON CONFLICT DO UPDATE SET epoch = ?5, v = ?6, special = ?7, time = ?8")
        .Bind(metric.trial, metric.attempt, metric.name, metric.step, metric.epoch, stored.value, stored.special,
              metric.time)
        .Run();
  }

  void Write(const RungRecord& rung) {
    const Stored stored(rung.value);
    Prepare(
        "INSERT INTO rung(trial, rung, bracket, resource, v, special, decision, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING")
        .Bind(rung.trial, rung.rung, rung.bracket, rung.resource, stored.value, stored.special, rung.decision,
              changes_.time)
        .Run();
    Note("rung", rung.trial, std::nullopt, rung.decision);
  }

  void Write(const Changes::Answer& answer) {
    Prepare("INSERT INTO request(name, accepted, what, time) VALUES (?, ?, ?, ?)")
        .Bind(answer.name, answer.answer.accepted ? 1 : 0, answer.answer.text, changes_.time)
        .Run();
    Note("request", std::nullopt, std::nullopt, answer.answer.text);
  }

  void Settle(const TrialRecord& trial) {
    const auto state = WordOf(trial.state);
    Prepare("UPDATE trial SET state = ?, reason = ? WHERE number = ?").Bind(state, trial.reason, trial.number).Run();
    Note(state, trial.number, std::nullopt, trial.reason);
  }

  void Requeue(TrialNumber trial) {
    Prepare("UPDATE trial SET state = 'queued', objective = NULL, failures = 0, reason = '' WHERE number = ?")
        .Bind(trial)
        .Run();
    Prepare("DELETE FROM trial_value WHERE trial = ?").Bind(trial).Run();
    Note("requeued", trial, std::nullopt, "");
  }

  void Write(const Changes::Stop& stop) {
    const auto reason = WordOf(stop.reason);
    Prepare("UPDATE attempt SET stop = ?, reason = ? WHERE trial = ? AND n = ?")
        .Bind(reason, stop.why, stop.trial, stop.attempt)
        .Run();
    Note("stop", stop.trial, stop.attempt, reason);
  }

  void Write(const Changes::End& end) {
    std::optional<int> code, signal;
    if (end.status) {
      code = end.status->code;
      signal = end.status->signal;
    }
    const auto& trial = end.trial;
    Prepare(
        "UPDATE attempt SET state = ?, outcome = ?, ended = ?, exit_code = ?, signal = ?, rank = ?, reason = ?, "
        "missing = ? WHERE trial = ? AND n = ?")
        .Bind(WordOf(end.attempt_state), WordOf(end.outcome), trial.ended, code, signal, end.rank, end.reason,
              end.missing, trial.number, end.attempt)
        .Run();
    Prepare("UPDATE trial SET state = ?, objective = ?, failures = ?, reason = ?, ended = ? WHERE number = ?")
        .Bind(WordOf(trial.state), trial.objective, trial.failures, trial.reason, trial.ended, trial.number)
        .Run();
    WriteFurther(trial);
    Note(WordOf(end.attempt_state), trial.number, end.attempt, end.reason);
  }

  void WriteNew(const TrialRecord& trial) {
    Prepare(
        "INSERT INTO trial(number, state, configuration, created, repeat, parent, origin) "
        "VALUES (?, 'queued', ?, ?, ?, ?, ?)")
        .Bind(trial.number, trial.configuration, changes_.time, trial.repeat, trial.parent, trial.origin)
        .Run();
    for (const auto& [name, value] : trial.parameters) WriteParameter(trial.number, name, value);
    Note("asked", trial.number, std::nullopt, trial.configuration);
  }

  void WriteFinished(const TrialRecord& trial) {
    WriteNew(trial);
    Prepare("UPDATE trial SET state = ?, objective = ?, reason = ?, started = ?, ended = ? WHERE number = ?")
        .Bind(WordOf(trial.state), trial.objective, trial.reason, trial.started, trial.ended, trial.number)
        .Run();
    WriteFurther(trial);
  }

  void WriteFurther(const TrialRecord& trial) {
    std::int64_t position = 0;
    for (const double value : trial.further) {
      Prepare("INSERT OR REPLACE INTO trial_value(trial, position, v) VALUES (?, ?, ?)")
          .Bind(trial.number, ++position, value)
          .Run();
    }
  }

  void WriteParameter(TrialNumber trial, const std::string& name, const Scalar& value) {
    auto insert = Prepare(kInsertParam);
    insert.Bind(trial, name);
    if (const auto* truth = std::get_if<bool>(&value)) {
      insert.Bind("bool", *truth ? 1 : 0);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      insert.Bind("int", *integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      insert.Bind("real", *real);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      insert.Bind("text", *text);
    } else {
      insert.Bind("null", std::nullopt);
    }
    insert.Run();
  }

  void Write(const Changes::Claim& claim) {
    Prepare("INSERT INTO attempt(trial, n, state, host, claimed, place, nodes) VALUES (?, ?, 'claimed', ?, ?, ?, ?)")
        .Bind(claim.trial, claim.attempt, changes_.host, changes_.time, Describe(claim.place), claim.nodes)
        .Run();
    Prepare(
        "UPDATE trial SET state = 'claimed', attempts = ?, reason = '', started = NULL, ended = NULL "
        "WHERE number = ?")
        .Bind(claim.attempt, claim.trial)
        .Run();
    Note("claimed", claim.trial, claim.attempt, "");
  }

  void Write(const Changes::Start& start) {
    std::optional<std::int64_t> pid, start_time;
    std::optional<std::string> boot_id;
    if (start.process) {
      pid = start.process->pid;
      start_time = static_cast<std::int64_t>(start.process->start_time);
      boot_id = start.process->boot_id;
    }
    Prepare("UPDATE attempt SET pid = ?, start_time = ?, boot_id = ? WHERE trial = ? AND n = ?")
        .Bind(pid, start_time, boot_id, start.trial, start.attempt)
        .Run();
    WriteRunning(start.trial, start.attempt, changes_.time);
  }

  /// Stores an identity that is no process of this machine: the next manager looks for an identity.
  void Write(const Changes::Queue& queued) {
    Prepare("UPDATE attempt SET state = 'waiting', pid = 0, start_time = 0, boot_id = '' WHERE trial = ? AND n = ?")
        .Bind(queued.trial, queued.attempt)
        .Run();
    Prepare("UPDATE trial SET state = 'waiting' WHERE number = ?").Bind(queued.trial).Run();
    Note("in_queue", queued.trial, queued.attempt, "");
  }

  void Write(const Changes::Begin& begin) { WriteRunning(begin.trial, begin.attempt, begin.time); }

  void WriteRunning(TrialNumber trial, int attempt, double since) {
    Prepare("UPDATE attempt SET state = 'running', started = ? WHERE trial = ? AND n = ?")
        .Bind(since, trial, attempt)
        .Run();
    Prepare("UPDATE trial SET state = 'running', reason = '', started = ? WHERE number = ?").Bind(since, trial).Run();
    Note("running", trial, attempt, "");
  }

  Connection& connection_;
  const Changes& changes_;
};

void WriteObjectives(Connection& connection, const std::vector<Objective>& objectives) {
  std::int64_t position = 0;
  for (const auto& objective : objectives) {
    Query(connection.Prepared("INSERT INTO objective(position, metric, goal, counts, reach) VALUES (?, ?, ?, ?, ?)"))
        .Bind(position++, objective.metric, WordOf(objective.goal), WordOf(objective.counts), objective.reach)
        .Run();
  }
}

/// Syncs the write-ahead log, as SQLite does in a commit with synchronous=FULL. The commit is in the log already.
void SyncLog(const std::filesystem::path& book) {
  const std::filesystem::path log = book.string() + "-wal";
  const UniqueFd file(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
  if (file && ::fdatasync(file.get()) == 0) return;
  throw SystemError(errno, fmt::format("trial book '{}': cannot be brought to the disk", book.string()),
                    "check the disk, then resume");
}

}  // namespace

void TrialBook::CreateStudy(const StudyRecord& study, const SearchSpace& space) {
  Translating(state_->connection.path(), [&] {
    Transaction transaction(state_->connection);
    state_
        ->Prepare(
            "INSERT INTO study(id, trials, repeats, scheduler, sampler, seed, grid_points, spec_hash, space, created) "
            "VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .Bind(study.trials, study.repeats, study.scheduler, study.sampler, static_cast<std::int64_t>(study.seed),
              study.grid_points, study.spec_hash, study.space, study.created)
        .Run();
    WriteObjectives(state_->connection, study.objectives);
    std::int64_t position = 0;
    for (const auto& parameter : space.parameters()) {
      state_->Prepare("INSERT INTO parameter(position, name, definition) VALUES (?, ?, ?)")
          .Bind(position++, parameter.name, ToJson(parameter).dump())
          .Run();
    }
    transaction.Commit();
  });
}

void TrialBook::SetPatience(std::chrono::milliseconds patience) { state_->connection.SetPatience(patience); }

void TrialBook::BeginSession(const ClockReading& now, const std::string& host) {
  Translating(state_->connection.path(), [&] {
    Transaction transaction(state_->connection);
    state_
        ->Prepare(
            "INSERT INTO session(host, pid, started, last_seen, boot_id, since_boot) VALUES (?1, ?2, ?3, ?3, ?4, ?5)")
        .Bind(host, static_cast<std::int64_t>(::getpid()), now.time, now.boot_id, now.since_boot)
        .Run();
    transaction.Commit();
  });
}

void TrialBook::NoteSignOfManager(double now) {
  Translating(state_->connection.path(), [&] {
    Transaction transaction(state_->connection);
    state_->Prepare(kSeen).Bind(now).Run();
    transaction.Commit();
  });
}

void TrialBook::SetBudget(std::int64_t trials) {
  Translating(state_->connection.path(), [&] {
    Transaction transaction(state_->connection);
    state_->Prepare("UPDATE study SET trials = max(?, (SELECT count(*) FROM trial) / repeats)").Bind(trials).Run();
    transaction.Commit();
  });
}

void TrialBook::Write(const Changes& changes, Outlives outlives) {
  Translating(state_->connection.path(), [&] {
    const Syncing syncing(state_->connection, state_->storage == Storage::kLocal ? outlives : Outlives::kPower);
    Transaction transaction(state_->connection);
    Writer(state_->connection, changes).WriteAll();
    transaction.Commit();
    state_->has_news = true;
    if (++state_->writes == kWritesOfAShortStudy) state_->connection.ExtendLog();
  });
}

std::future<void> TrialBook::BeginWrite(const Changes& changes) {
  if (state_->storage != Storage::kLocal) {
    Write(changes);
    return std::async(std::launch::deferred, [] {});
  }
  Write(changes, Outlives::kProcess);
  return std::async(std::launch::async, SyncLog, state_->connection.path());
}

}  // namespace slipway::ensemble
