#include "launcher/run_folder/end_cause.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_fields.h"

namespace slipway::launcher {
namespace {

const DocumentName kStoredCause{"the cause of an end"};

[[noreturn]] void RefuseEndCause(std::string_view what, std::string_view word) {
  throw OtherVersionError(ErrorKind::kEnvironment, fmt::format("this version of Slipway knows no {} '{}'", what, word));
}

/// The word of an enum that later versions may add to.
template <class Enum>
struct VersionedWord {
  Enum& value;
  std::string_view what;
};
template <class Enum>
VersionedWord(Enum&, std::string_view) -> VersionedWord<Enum>;

template <class Enum>
void WriteValue(Json& place, const VersionedWord<Enum>& form) {
  json_fields::Put(place, WordOf(form.value));
}

template <class Enum>
void ReadValue(const JsonPlace& place, VersionedWord<Enum>& form) {
  const auto word = place.Text();
  const auto known = FromWord<Enum>(word);
  if (!known) RefuseEndCause(form.what, word);
  form.value = *known;
}

/// Of the alternatives of EndCause from `place` on.
template <std::size_t place = 0>
EndCause ReadCauseOfKind(std::string_view kind, const Json& json) {
  if constexpr (place == std::variant_size_v<EndCause>) {
    RefuseEndCause("cause of an end", kind);
  } else {
    using Kind = std::variant_alternative_t<place, EndCause>;
    return kind == Kind::kKind ? EndCause(ReadFields<Kind>(json, kStoredCause))
                               : ReadCauseOfKind<place + 1>(kind, json);
  }
}

}  // namespace

namespace cause {

/// A cause has those of these fields that are its members.
template <class Visitor, class Cause>
requires requires { std::remove_const_t<Cause>::kKind; }
void Visit(Visitor& visit, Cause& cause) {
  if constexpr (requires { cause.job; }) visit("job", cause.job);
  if constexpr (requires { cause.finding; }) visit("finding", cause.finding);
  if constexpr (requires { cause.message; }) visit("message", cause.message);
  if constexpr (requires { cause.rank; }) visit("rank", cause.rank);
  if constexpr (requires { cause.pid; }) visit("pid", cause.pid);
  if constexpr (requires { cause.host; }) visit("host", cause.host);
  if constexpr (requires { cause.folder; }) visit("folder", cause.folder);
  if constexpr (requires { cause.program; }) visit("program", cause.program);
  if constexpr (requires { cause.error; }) visit("error", cause.error);
  if constexpr (requires { cause.interpreter; }) visit("interpreter", cause.interpreter);
  if constexpr (requires { cause.state; }) visit("state", VersionedWord{cause.state, "state of a job"});
  if constexpr (requires { cause.status; }) visit("status", cause.status);
  if constexpr (requires { cause.turns; }) visit("turns", cause.turns);
  if constexpr (requires { cause.output; }) visit("output", cause.output);
  if constexpr (requires { cause.doubt; }) visit("doubt", cause.doubt);
  if constexpr (requires { cause.during; }) visit("during", VersionedWord{cause.during, "moment of a cancellation"});
  if constexpr (requires { cause.seconds; }) visit("seconds", cause.seconds);
  if constexpr (requires { cause.failed; }) visit("failed", cause.failed);
  if constexpr (requires { cause.cancelled; }) visit("cancelled", cause.cancelled);
  if constexpr (requires { cause.pruned; }) visit("pruned", cause.pruned);
  if constexpr (requires { cause.budget_time; }) visit("budget_time", cause.budget_time);
  if constexpr (requires { cause.budget_node_hours; }) visit("budget_node_hours", cause.budget_node_hours);
  if constexpr (requires { cause.nodes; }) visit("nodes", cause.nodes);
  if constexpr (requires { cause.cores; }) visit("cores", cause.cores);
  if constexpr (requires { cause.gpus; }) visit("gpus", cause.gpus);
  if constexpr (requires { cause.waiting; }) visit("waiting", cause.waiting);
  if constexpr (requires { cause.paused; }) visit("paused", cause.paused);
  if constexpr (requires { cause.not_begun; }) visit("not_begun", cause.not_begun);
  if constexpr (requires { cause.requeued; }) visit("requeued", cause.requeued);
  if constexpr (requires { cause.requeues; }) visit("requeues", cause.requeues);
  if constexpr (requires { cause.without_checkpoint; }) visit("without_checkpoint", cause.without_checkpoint);
  if constexpr (requires { cause.before_start; }) visit("before_start", cause.before_start);
  if constexpr (requires { cause.interrupted; }) visit("interrupted", cause.interrupted);
  if constexpr (requires { cause.step; }) visit("step", cause.step);
}

}  // namespace cause

WordTable<CancelledWhile> WordsOf(CancelledWhile) {
  static constexpr Word<CancelledWhile> kWords[] = {{CancelledWhile::kCreated, "created"},
                                                    {CancelledWhile::kSubmitting, "submitting"},
                                                    {CancelledWhile::kQueued, "queued"},
                                                    {CancelledWhile::kStaging, "staging"},
                                                    {CancelledWhile::kRunning, "running"}};
  return kWords;
}

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
  Json json{{"kind", KindOf(ended)}};
  json.update(std::visit([](const auto& kind) { return WriteFields(kind); }, ended));
  return json;
}

EndCause EndCauseFromJson(const Json& json) {
  std::string kind;
  FieldReader(JsonPlace(json, kStoredCause))("kind", kind);
  return ReadCauseOfKind(kind, json);
}

}  // namespace slipway::launcher
