/// What a program's collectives took that belong to no team: counts, bytes, ways and times.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "core/json.h"
#include "runtime/group/group.h"
#include "runtime/trace/step_trace.h"
#include "runtime/watch/rank_status_table.h"

namespace slipway::runtime {

/// A collective that has succeeded.
struct CollectiveCall {
  const Group& group;
  Activity activity = Activity::kNothing;
  std::string_view way;    ///< who combined or moved the data: "cpu", "staged", "nccl". A literal
  std::int64_t bytes = 0;  ///< of this rank
};

/// Any thread. Groups of one rank are left out: they exchange nothing.
class CallTrace {
 public:
  using Clock = StepTrace::Clock;

  /// In the program's thread, before the first call.
  void Begin(bool keep_spans);
  /// The call has taken the time from `start` until now.
  /// Cost: a lock and a look at the clock. The first call of a kind in a group allocates memory, as do spans.
  void Add(const CollectiveCall& call, Clock::time_point start);
  /// The program has waited for input.
  void AddInput(Clock::time_point start, Clock::time_point end);
  /// Before the group ends. What it did stays, together with that of other ended groups of its size.
  void Forget(const Group& group);

  /// `collectives` of comm.json: groups of this rank, and times of all ranks. Null where no rank has called.
  /// Collective.
  Json Totals(Communicator& communicator);
  std::vector<Span> TakeSpans();

 private:
  /// Seconds.
  struct Times {
    double elapsed = 0;
    double wait = 0;
    double exchange = 0;
    double input = 0;
    std::int64_t calls = 0;
  };
  struct Counts {
    Activity activity = Activity::kNothing;
    std::string_view way;
    std::int64_t bytes = 0;
    Times times;
  };
  struct OfGroup {
    const Group* group = nullptr;  ///< null: it has ended
    int ranks = 0;
    std::vector<Counts> counts;
  };
  OfGroup& Of(const Group& group);
  Json Groups() const;

  std::mutex mutex_;
  std::thread::id program_;
  bool keep_spans_ = false;
  Clock::time_point begin_ = Clock::now();
  Times total_;
  std::vector<OfGroup> groups_;  ///< in the order of their first calls
  std::vector<Span> spans_;
};

}  // namespace slipway::runtime
