/// Where the time of each step goes: computing, input, waiting for the exchange, exchanging, copies and sums of GPUs.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "runtime/group/communicator.h"

namespace slipway::runtime {

struct TraceSettings {
  int every = 0;        ///< steps between lines; 0: none
  bool chrome = false;  ///< keep every span for a Chrome trace
  int sums = 0;         ///< steps between check sums of the gradients; 0: none
};

/// Whose time a span is. The trace has them in this order, those of a GPU where a rank has one.
enum class SpanThread {
  kProgram,
  kExchange,  ///< another thread that exchanges
  kInput,
  kCopies,  ///< from the GPU
  kGpu,     ///< what it does after that; it may overlap copies of the same step
};

/// A span of time of one rank, for the Chrome trace.
struct Span {
  const char* name = "";
  const char* category = "";
  std::int64_t step = 0;      ///< of a single collective: how many the rank had done before it
  std::int64_t start_us = 0;  ///< since 1970
  std::int64_t duration_us = 0;
  SpanThread thread = SpanThread::kProgram;
  std::int64_t bytes = 0;  ///< 0: unknown
};

/// Adds `span`, with its times set, unless `spans` has the 100,000 that are kept at most: 5 MB.
void KeepSpan(std::vector<Span>& spans, Span span, std::chrono::steady_clock::time_point start,
              std::chrono::steady_clock::time_point end);

class StepTrace {
 public:
  StepTrace(std::string team, const TraceSettings& settings) : team_(std::move(team)), settings_(settings) {}

  using Clock = std::chrono::steady_clock;

  /// Time that the exchange took, in either thread. Any thread.
  void AddExchange(Clock::time_point start, Clock::time_point end, std::int64_t step, bool in_background);
  /// Time from the first copy of a step from a GPU to the last one, the waits for the program's stream included.
  void AddCopies(Clock::time_point start, Clock::time_point end, std::int64_t step, std::int64_t bytes);

  // Work of a GPU whose end no call waits for: copies to it, or its sums. Only for a Chrome trace. Any thread.

  /// It is given the first of a step. Where the end of an earlier step has not been seen, that one's span goes on.
  void BeginGpuWork(std::int64_t step);
  /// It has been given all of the step.
  void GpuHasAll();
  /// Whether the end is to be looked for.
  bool AwaitsGpu() const;
  /// The end has been seen now. `bytes`: of the step.
  void EndGpuWork(const char* name, std::int64_t bytes);

  /// Time that the program waited for input.
  void AddInput(Clock::time_point start, Clock::time_point end);
  /// A step ends: the program has waited in it since `wait_start`. True when a line is due.
  bool EndStep(Clock::time_point wait_start, std::int64_t step);

  /// What the steps since the last line took, over all ranks; on rank 0 one line for people, else empty. Collective.
  std::string Line(Communicator& communicator);
  /// Totals of all steps, over all ranks, for comm.json; complete on rank 0. Collective.
  Json Totals(Communicator& communicator);
  std::vector<Span> TakeSpans();

 private:
  /// Seconds of one step, or sums of many.
  struct Times {
    double step = 0;
    double wait = 0;
    double exchange = 0;
    double input = 0;
  };
  void Keep(const char* name, const char* category, Clock::time_point start, Clock::time_point end, std::int64_t step,
            SpanThread thread, std::int64_t bytes = 0);

  std::string team_;
  TraceSettings settings_;
  mutable std::mutex mutex_;
  Clock::time_point last_end_ = Clock::now();
  Times current_;
  Times total_;
  std::int64_t steps_ = 0;
  std::vector<double> since_line_;  ///< durations of the steps since the last line
  double wait_since_line_ = 0;
  double busy_since_line_ = 0;  ///< not waiting: computing and input
  std::vector<Span> spans_;
  std::optional<Clock::time_point> gpu_start_;  ///< of work whose end has not been seen
  std::int64_t gpu_step_ = 0;
  bool gpu_has_all_ = false;
};

}  // namespace slipway::runtime
