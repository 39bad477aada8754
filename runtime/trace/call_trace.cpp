#include "runtime/trace/call_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace slipway::runtime {
namespace {

double InSeconds(CallTrace::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Its element for a call of this kind, which is added where there is none.
template <class Counts>
Counts& CountsOf(Activity activity, std::string_view way, std::vector<Counts>& all) {
  const auto found =
      std::ranges::find_if(all, [&](const Counts& counts) { return counts.activity == activity && counts.way == way; });
  return found != all.end() ? *found : all.emplace_back(Counts{activity, way, 0, {}});
}

}  // namespace

void CallTrace::Begin(bool keep_spans) {
  program_ = std::this_thread::get_id();
  keep_spans_ = keep_spans;
  begin_ = Clock::now();
}

CallTrace::OfGroup& CallTrace::Of(const Group& group) {
  const auto found = std::ranges::find(groups_, &group, &OfGroup::group);
  return found != groups_.end() ? *found : groups_.emplace_back(OfGroup{&group, group.size(), {}});
}

void CallTrace::Add(const CollectiveCall& call, Clock::time_point start) {
  if (call.group.alone()) return;
  const auto end = Clock::now();
  const double seconds = InSeconds(end - start);
  const bool in_program = std::this_thread::get_id() == program_;
  const std::lock_guard lock(mutex_);
  auto& counts = CountsOf(call.activity, call.way, Of(call.group).counts);
  counts.bytes += call.bytes;
  for (auto* times : {&counts.times, &total_}) {
    ++times->calls;
    times->exchange += seconds;
    if (in_program) times->wait += seconds;
  }
  if (!keep_spans_) return;
  KeepSpan(spans_,
           {.name = NameOf(call.activity),
            .category = "exchange",
            .step = total_.calls - 1,
            .thread = in_program ? SpanThread::kProgram : SpanThread::kExchange,
            .bytes = call.bytes},
           start, end);
}

void CallTrace::AddInput(Clock::time_point start, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  total_.input += InSeconds(end - start);
  if (!keep_spans_) return;
  KeepSpan(spans_, {.name = "input", .category = "input", .step = total_.calls, .thread = SpanThread::kInput}, start,
           end);
}

void CallTrace::Forget(const Group& group) {
  const std::lock_guard lock(mutex_);
  const auto ended = std::ranges::find(groups_, &group, &OfGroup::group);
  if (ended == groups_.end()) return;
  ended->group = nullptr;
  const auto like = std::ranges::find_if(groups_, [&](const OfGroup& each) {
    return &each != &*ended && each.group == nullptr && each.ranks == ended->ranks;
  });
  if (like == groups_.end()) return;
  for (const auto& counts : ended->counts) {
    auto& sum = CountsOf(counts.activity, counts.way, like->counts);
    sum.bytes += counts.bytes;
    sum.times.calls += counts.times.calls;
    sum.times.wait += counts.times.wait;
    sum.times.exchange += counts.times.exchange;
  }
  groups_.erase(ended);
}

Json CallTrace::Groups() const {
  Json groups = Json::array();
  for (const auto& group : groups_) {
    Json calls = Json::array();
    for (const auto& counts : group.counts) {
      calls.push_back({{"call", NameOf(counts.activity)},
                       {"way", counts.way},
                       {"count", counts.times.calls},
                       {"bytes", counts.bytes},
                       {"wait_s", counts.times.wait},
                       {"exchange_s", counts.times.exchange}});
    }
    groups.push_back({{"ranks", group.ranks}, {"calls", std::move(calls)}});
  }
  return groups;
}

Json CallTrace::Totals(Communicator& communicator) {
  Times own;
  Json groups;
  {
    const std::lock_guard lock(mutex_);
    own = total_;
    groups = Groups();
  }
  own.elapsed = InSeconds(Clock::now() - begin_);
  const auto all = AllgatherValues(communicator, own);
  if (std::ranges::all_of(all, [](const Times& times) { return times.calls == 0; })) return {};
  Json ranks = Json::array();
  for (const auto& times : all) {
    ranks.push_back({{"elapsed_s", times.elapsed},
                     {"wait_s", times.wait},
                     {"exchange_s", times.exchange},
                     {"input_s", times.input}});
  }
  return {{"groups", std::move(groups)}, {"times_of_ranks", std::move(ranks)}};
}

std::vector<Span> CallTrace::TakeSpans() {
  const std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

}  // namespace slipway::runtime
