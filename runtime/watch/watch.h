/// Watch: finds the missing ranks when a collective does not complete.
///
/// Each rank writes what it does to a rank status table in shared memory. A rank that waits longer than a moment checks
/// whether the ranks it waits for still live. After `stall_after` it names them: host, process, state, last completed
/// operation, step. Where ranks of other nodes may be the cause, it asks for their names on the table. The monitor of
/// each node (status_table_transfer.h) carries status tables to an observer of all nodes, and writes the answer on
/// them. A rank in slipway_finalize waits without this limit for ranks that live and compute outside of Slipway.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/json.h"
#include "core/watch_report.h"
#include "runtime/memory/shared_memory.h"
#include "runtime/watch/job_view.h"
#include "runtime/watch/rank_status_table.h"

namespace slipway::runtime {

struct WatchSettings {
  std::chrono::duration<double> stall_after{60};
  std::filesystem::path report;  ///< watch.json of the attempt; empty: none
};

class Watch {
 public:
  /// Until Join() it knows no other rank and only counts time.
  explicit Watch(const WatchSettings& settings) : settings_(settings) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Shows the monitor of this node that this rank is in slipway_init; does nothing without a monitor. `monitor`: a
  /// socket.
  void Announce(int rank, const std::filesystem::path& monitor) noexcept;
  /// `places`: by rank of the job. `table`: of the `count` ranks of this node, StatusTableBytes long, or nothing;
  /// `own`: this rank's row.
  void Join(int rank, std::vector<RankPlace> places, SharedMemory table, int count, int own);
  /// slipway_init is done.
  void Entered();
  void Configure(const WatchSettings& settings) { settings_ = settings; }

  /// A number for the name of a team or parameter server on the table; 0 when the table is full.
  std::uint32_t AddTeam(const std::string& name);
  void StepDone();
  void Finished();
  /// From now on this rank's GPU may wait for those of `ranks` of the job, by events that they share. Any thread.
  void AddGpuPeers(std::span<const int> ranks);
  /// All of them so far.
  std::vector<int> GpuPeers() const;

  /// This thread is in an operation while the object lives; one inside another counts as that one. Of several threads
  /// the table shows the operation that began last.
  class Operation {
   public:
    Operation(Watch& watch, Activity activity, std::uint32_t team = 0);
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    ~Operation();

   private:
    Watch& watch_;
    std::uint32_t outer_;
    std::uint32_t activity_;
    int exceptions_;
  };

  /// When a wait ends in vain.
  enum class Limit {
    kTime,  ///< when nothing has come for `stall_after`, or a rank is lost; slipway_finalize waits for work of others
    kLoss,  ///< for this rank's GPU: only when a rank is dead or has given up. After `stall_after`, one line on stderr
  };

  /// One wait that has become long.
  class Patience {
   public:
    explicit Patience(Watch& watch, Limit limit = Limit::kTime) : watch_(watch), limit_(limit) {}
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;
    ~Patience();
    /// `missing`: ranks of the job. Errors: RuntimeError(STALLED).
    void Check(const std::function<std::vector<int>()>& missing);

   private:
    /// No message from it is to be expected any more.
    bool IsLost(int rank) const;
    void ShowThatGpuIsLate(const std::vector<int>& peers);
    void SayThatGpuIsLate(const std::vector<int>& peers);
    bool GoesOn(const JobView& view, const Waiting& waiting, const std::vector<int>& culprits);
    void SayThatOthersWork(const JobView& view, const std::vector<int>& ranks);

    Watch& watch_;
    Limit limit_;
    std::map<int, RankStatus> departed_;  ///< from other nodes
    bool asks_ = false;
    bool said_ = false;
    bool shows_gpu_ = false;
    std::chrono::steady_clock::time_point last_check_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration waited_{};  ///< without time in which this process was stopped
    std::chrono::steady_clock::duration next_look_ = std::chrono::milliseconds(200);
    std::chrono::steady_clock::duration next_verdict_{};  ///< in slipway_finalize, of all ranks
    std::chrono::steady_clock::duration worked_until_{};  ///< ranks that slipway_finalize waits for, as last seen
    std::vector<int> lost_;                               ///< seen at the last look
  };

  /// The end of the job: writes the first report of its ranks to watch.json, and the message to stderr. Never throws.
  /// `kind`: "dead", "left", "stalled", "mismatch".
  void Report(std::string_view kind, const std::string& message, const std::vector<int>& ranks) noexcept;
  /// A warning of a possible end; the program may also go on. The rank concerned prints it. It stays in watch.json
  /// until Withdraw() or a report. Called by all ranks. Never throws. `kind`: "not_finite".
  void Remark(std::string_view kind, const std::string& message, int rank) noexcept;
  void Withdraw() noexcept;

  int rank() const { return rank_; }
  std::chrono::duration<double> stall_after() const { return settings_.stall_after; }

 private:
  void UseStatusTable(SharedMemory memory, int count, int own);
  const RankStatusRow* RowOf(int rank) const;
  bool IsLost(int rank) const;
  bool IsLeaving(int rank) const;
  /// Departed ranks of other nodes, as reported by the monitor.
  std::map<int, RankStatus> Departed() const;
  JobView View(const std::map<int, RankStatus>& departed) const;
  RankStatus StatusOfRank(int rank) const;
  /// Asks on the table which rank holds the job up.
  void Ask(const Waiting& waiting);
  /// Ends the job with the answer when it is there.
  void HeedAnswer();
  bool MayBeElsewhere(const JobView& view, const std::vector<int>& culprits) const;
  std::chrono::duration<double> Grace() const;
  std::uint32_t OwnActivity() const;
  /// What this thread is in, or nothing. Needs `operations_mutex_`.
  std::optional<std::uint32_t> ActivityOfThread() const;
  Waiting WaitingFor(std::vector<int> missing, std::chrono::duration<double> waited) const;
  void Publish(std::string_view kind, const std::string& message, Json ranks, EarlierReport earlier) const;
  Json ReportsOf(const std::vector<int>& ranks) const;
  void ReportOnce(std::string_view kind, const std::string& message, Json ranks) noexcept;
  [[noreturn]] void GiveUp(const JobView& view, const Waiting& waiting, const std::vector<int>& culprits);
  [[noreturn]] void GiveUp(std::string_view kind, const std::string& message, Json ranks);

  WatchSettings settings_;
  int rank_ = 0;
  std::vector<RankPlace> places_;
  SharedMemory memory_;
  RankStatusRow lone_;  ///< this rank's row where there is no status table
  RankStatusRow* rows_ = &lone_;
  StallReport* answer_ = nullptr;                ///< null where there is no monitor to ask
  const TableDepartures* departures_ = nullptr;  ///< likewise
  int count_ = 1;
  RankStatusRow* own_ = &lone_;
  std::filesystem::path monitor_;  ///< empty: no monitor
  std::uint32_t teams_ = 0;
  struct ThreadActivity {
    std::thread::id thread;
    std::uint32_t activity;
  };
  mutable std::mutex peers_mutex_;
  std::set<int> gpu_peers_;
  mutable std::mutex operations_mutex_;
  std::vector<ThreadActivity> operations_;  ///< of all threads, in the order in which they began
  std::mutex reporting_;
  bool reported_ = false;
  std::optional<int> remarked_;  ///< the rank that it was about
};

}  // namespace slipway::runtime
