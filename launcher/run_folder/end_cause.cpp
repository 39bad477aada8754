#include "launcher/run_folder/end_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/error.h"

namespace slipway::launcher {

/// A member of a cause, and its name in state.json.
template <class Kind, class Value>
struct CauseField {
  const char* name;
  Value Kind::*member;
};

namespace cause {

template <class Kind>
constexpr auto kFields = std::tuple<>();
template <>
constexpr auto kFields<Cancelled> = std::tuple{CauseField{"during", &Cancelled::during}};
template <>
constexpr auto kFields<RankFailed> =
    std::tuple{CauseField{"rank", &RankFailed::rank}, CauseField{"host", &RankFailed::host},
               CauseField{"status", &RankFailed::status}};
template <>
constexpr auto kFields<RankNotStarted> =
    std::tuple{CauseField{"rank", &RankNotStarted::rank}, CauseField{"host", &RankNotStarted::host},
               CauseField{"program", &RankNotStarted::program}, CauseField{"error", &RankNotStarted::error}};
template <>
constexpr auto kFields<RankLost> = std::tuple{CauseField{"rank", &RankLost::rank}, CauseField{"host", &RankLost::host}};
template <>
constexpr auto kFields<OutOfMemory> =
    std::tuple{CauseField{"rank", &OutOfMemory::rank}, CauseField{"host", &OutOfMemory::host}};
template <>
constexpr auto kFields<Watched> =
    std::tuple{CauseField{"finding", &Watched::finding}, CauseField{"message", &Watched::message},
               CauseField{"rank", &Watched::rank}};
template <>
constexpr auto kFields<NoProgress> =
    std::tuple{CauseField{"rank", &NoProgress::rank}, CauseField{"host", &NoProgress::host},
               CauseField{"status", &NoProgress::status}, CauseField{"turns", &NoProgress::turns}};
template <>
constexpr auto kFields<StartFailed> = std::tuple{CauseField{"message", &StartFailed::message}};
template <>
constexpr auto kFields<NodeLost> =
    std::tuple{CauseField{"message", &NodeLost::message}, CauseField{"rank", &NodeLost::rank},
               CauseField{"requeued", &NodeLost::requeued}};
template <>
constexpr auto kFields<NodesMissing> =
    std::tuple{CauseField{"message", &NodesMissing::message}, CauseField{"requeued", &NodesMissing::requeued}};
template <>
constexpr auto kFields<TimeLimit> = std::tuple{CauseField{"seconds", &TimeLimit::seconds}};
template <>
constexpr auto kFields<JobTimeLimit> = std::tuple{CauseField{"requeued", &JobTimeLimit::requeued},
                                                  CauseField{"without_checkpoint", &JobTimeLimit::without_checkpoint}};
template <>
constexpr auto kFields<JobEnded> = std::tuple{CauseField{"job", &JobEnded::job}, CauseField{"state", &JobEnded::state},
                                              CauseField{"status", &JobEnded::status}};
template <>
constexpr auto kFields<JobWithoutOutput> =
    std::tuple{CauseField{"job", &JobWithoutOutput::job}, CauseField{"host", &JobWithoutOutput::host},
               CauseField{"output", &JobWithoutOutput::output}};
template <>
constexpr auto kFields<JobRemoved> = std::tuple{CauseField{"job", &JobRemoved::job}};
template <>
constexpr auto kFields<JobRequeued> = std::tuple{CauseField{"job", &JobRequeued::job}};
template <>
constexpr auto kFields<JobPreempted> =
    std::tuple{CauseField{"job", &JobPreempted::job}, CauseField{"requeued", &JobPreempted::requeued}};
template <>
constexpr auto kFields<JobForgotten> = std::tuple{CauseField{"job", &JobForgotten::job}};
template <>
constexpr auto kFields<RequeueRefused> =
    std::tuple{CauseField{"job", &RequeueRefused::job}, CauseField{"message", &RequeueRefused::message}};
template <>
constexpr auto kFields<SubmissionRefused> = std::tuple{CauseField{"message", &SubmissionRefused::message}};
template <>
constexpr auto kFields<NotSubmitted> = std::tuple{CauseField{"doubt", &NotSubmitted::doubt}};
template <>
constexpr auto kFields<ManagerLost> =
    std::tuple{CauseField{"pid", &ManagerLost::pid}, CauseField{"host", &ManagerLost::host}};
template <>
constexpr auto kFields<DiskFull> = std::tuple{CauseField{"message", &DiskFull::message}};
template <>
constexpr auto kFields<StagingFailed> = std::tuple{CauseField{"message", &StagingFailed::message}};
template <>
constexpr auto kFields<ManagerFailed> = std::tuple{CauseField{"message", &ManagerFailed::message}};
template <>
constexpr auto kFields<TooManyFailures> = std::tuple{CauseField{"failed", &TooManyFailures::failed}};
template <>
constexpr auto kFields<NoTrialCompleted> =
    std::tuple{CauseField{"failed", &NoTrialCompleted::failed}, CauseField{"cancelled", &NoTrialCompleted::cancelled}};
template <>
constexpr auto kFields<SameFailure> = std::tuple{CauseField{"message", &SameFailure::message}};
template <>
constexpr auto kFields<OutOfTime> = std::tuple{CauseField{"budget_time", &OutOfTime::budget_time},
                                               CauseField{"budget_node_hours", &OutOfTime::budget_node_hours}};
template <>
constexpr auto kFields<OutOfNodes> =
    std::tuple{CauseField{"nodes", &OutOfNodes::nodes},      CauseField{"cores", &OutOfNodes::cores},
               CauseField{"gpus", &OutOfNodes::gpus},        CauseField{"waiting", &OutOfNodes::waiting},
               CauseField{"paused", &OutOfNodes::paused},    CauseField{"not_begun", &OutOfNodes::not_begun},
               CauseField{"requeued", &OutOfNodes::requeued}};
template <>
constexpr auto kFields<ServingEnded> = std::tuple{CauseField{"interrupted", &ServingEnded::interrupted}};

}  // namespace cause

namespace {

/// In the order of CancelledWhile.
constexpr std::array<std::string_view, 5> kCancelledWhile{"created", "submitting", "queued", "staging", "running"};

[[noreturn]] void RefuseEndCause(std::string_view what, std::string_view word) {
  throw Error(ErrorKind::kEnvironment, fmt::format("this version of Slipway knows no {} '{}'", what, word),
              "use the version that wrote it");
}

template <class Value>
Json WrittenField(const Value& value) {
  return value;
}
template <class Value>
Json WrittenField(const std::optional<Value>& value) {
  return value ? WrittenField(*value) : Json();
}
Json WrittenField(const ExitStatus& status) { return Json{{"exit_code", status.code}, {"signal", status.signal}}; }
Json WrittenField(CancelledWhile during) { return kCancelledWhile.at(static_cast<std::size_t>(during)); }
Json WrittenField(JobState state) { return WordOf(state); }

template <class Value>
void ReadField(const Json& json, Value& value) {
  json.get_to(value);
}
template <class Value>
void ReadField(const Json& json, std::optional<Value>& value) {
  if (!json.is_null()) ReadField(json, value.emplace());
}
void ReadField(const Json& json, ExitStatus& status) {
  status = {json.at("exit_code").get<int>(), json.at("signal").get<int>()};
}
void ReadField(const Json& json, CancelledWhile& during) {
  const auto word = json.get<std::string>();
  const auto* const found = std::ranges::find(kCancelledWhile, word);
  if (found == kCancelledWhile.end()) RefuseEndCause("moment of a cancellation", word);
  during = static_cast<CancelledWhile>(found - kCancelledWhile.begin());
}
void ReadField(const Json& json, JobState& state) {
  const auto word = json.get<std::string>();
  const auto known = FromWord<JobState>(word);
  if (!known) RefuseEndCause("state of a job", word);
  state = *known;
}

template <class Kind>
Json WrittenCause(const Kind& kind) {
  Json json{{"kind", Kind::kKind}};
  std::apply([&](const auto&... field) { ((json[field.name] = WrittenField(kind.*field.member)), ...); },
             cause::kFields<Kind>);
  return json;
}

template <class Kind>
Kind ReadCause(const Json& json) {
  Kind kind;
  std::apply([&](const auto&... field) { (ReadField(json.at(field.name), kind.*field.member), ...); },
             cause::kFields<Kind>);
  return kind;
}

/// Of the alternatives of EndCause from `place` on.
template <std::size_t place = 0>
EndCause ReadCauseOfKind(std::string_view kind, const Json& json) {
  if constexpr (place == std::variant_size_v<EndCause>) {
    RefuseEndCause("cause of an end", kind);
  } else {
    using Kind = std::variant_alternative_t<place, EndCause>;
    return kind == Kind::kKind ? EndCause(ReadCause<Kind>(json)) : ReadCauseOfKind<place + 1>(kind, json);
  }
}

}  // namespace

std::string_view KindOf(const EndCause& ended) {
  return std::visit([](const auto& kind) { return kind.kKind; }, ended);
}

std::optional<int> RankOf(const EndCause& ended) {
  const auto rank = [](const auto& kind) -> std::optional<int> {
    if constexpr (requires { kind.rank; }) return kind.rank;
    return std::nullopt;
  };
  return std::visit(rank, ended);
}

Json ToJson(const EndCause& ended) {
  return std::visit([](const auto& kind) { return WrittenCause(kind); }, ended);
}

EndCause EndCauseFromJson(const Json& json) try {
  return ReadCauseOfKind(json.at("kind").get<std::string>(), json);
} catch (const Json::exception& error) {
  throw Error(ErrorKind::kEnvironment, fmt::format("the cause of an end is damaged: {}", error.what()));
}

}  // namespace slipway::launcher
