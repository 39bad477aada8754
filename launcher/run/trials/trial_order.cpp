#include "launcher/run/trials/trial_order.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
using ensemble::OutsideCause;

namespace {

/// In the order of OutsideCause.
constexpr std::array<std::string_view, 6> kCauses{"none",      "out-of-memory", "node-lost",
                                                  "timed-out", "cancelled",     "not-started"};
static_assert(kCauses.size() == static_cast<std::size_t>(OutsideCause::kNotStarted) + 1);

OutsideCause CauseOf(std::string_view word) {
  const auto* const found = std::find(kCauses.begin(), kCauses.end(), word);
  if (found != kCauses.end()) return static_cast<OutsideCause>(found - kCauses.begin());
  throw Error(ErrorKind::kEnvironment, fmt::format("a trial ended of the unknown cause '{}'", word),
              "run the trial again with: slipway trials retry");
}

fs::path OrderOf(const RunFolder& trial) { return trial.path() / "trial_order.json"; }
fs::path EndingOf(const RunFolder& trial) { return trial.path() / "trial_ending.json"; }
fs::path StopRequestOf(const RunFolder& trial) { return trial.path() / "stop_request"; }

/// What `read` makes of the document in `file`; nothing when there is none.
template <class Read>
auto ReadAs(const fs::path& file, Read read) -> std::optional<decltype(read(Json()))> {
  const auto text = ReadDocumentIfPresent(file);
  if (!text) return {};
  try {
    return read(Json::parse(*text));
  } catch (const Json::exception&) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is damaged", file.string()),
                "run the trial again with: slipway trials retry");
  }
}

void WriteDocument(const fs::path& file, const Json& document) {
  WriteFileAtomically(file, document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace

std::optional<TrialOrder> ReadTrialOrder(const RunFolder& trial) {
  return ReadAs(OrderOf(trial), [](const Json& json) {
    TrialOrder order{json.at("attempt").get<int>(), json.at("attempts_past").get<int>(), {}};
    order.terms.trial = json.at("trial").get<ensemble::TrialNumber>();
    order.terms.repeat = json.at("repeat").get<int>();
    if (!json.at("limit").is_null()) order.terms.limit = json["limit"].get<double>();
    return order;
  });
}

void WriteTrialOrder(const RunFolder& trial, const TrialOrder& order) {
  WriteDocument(OrderOf(trial), Json{{"schema", "slipway.trial-order/1"},
                                     {"attempt", order.attempt},
                                     {"attempts_past", order.attempts_past},
                                     {"trial", order.terms.trial},
                                     {"repeat", order.terms.repeat},
                                     {"limit", order.terms.limit ? Json(*order.terms.limit) : Json()}});
}

std::optional<TrialEnding> ReadTrialEnding(const RunFolder& trial) {
  return ReadAs(EndingOf(trial), [](const Json& json) {
    TrialEnding ending;
    ending.attempt = json.at("attempt").get<int>();
    ending.status = {json.at("exit_code").get<int>(), json.at("signal").get<int>()};
    ending.cause = CauseOf(json.at("cause").get<std::string>());
    ending.detail = json.at("detail").get<std::string>();
    if (!json.at("rank").is_null()) ending.rank = json["rank"].get<int>();
    ending.last_line = json.at("last_line").get<std::string>();
    return ending;
  });
}

void WriteTrialEnding(const RunFolder& trial, const TrialEnding& ending) {
  WriteDocument(EndingOf(trial), Json{{"schema", "slipway.trial-ending/1"},
                                      {"attempt", ending.attempt},
                                      {"exit_code", ending.status.code},
                                      {"signal", ending.status.signal},
                                      {"cause", kCauses.at(static_cast<std::size_t>(ending.cause))},
                                      {"detail", ending.detail},
                                      {"rank", ending.rank ? Json(*ending.rank) : Json()},
                                      {"last_line", ending.last_line}});
}

OutsideCause OutsideCauseOf(JobState state) {
  switch (state) {
    case JobState::kTimeout:
    case JobState::kDeadline: return OutsideCause::kTimedOut;
    case JobState::kOutOfMemory: return OutsideCause::kOutOfMemory;
    case JobState::kNodeFail:
    case JobState::kBootFail:
    case JobState::kPreempted: return OutsideCause::kNodeLost;
    case JobState::kCancelled: return OutsideCause::kCancelled;
    case JobState::kPending:
    case JobState::kRunning:
    case JobState::kSuspended:
    case JobState::kCompleted:
    case JobState::kFailed: break;
  }
  return OutsideCause::kNone;
}

OutsideCause OutsideCauseOf(const EndCause& ended) {
  if (const auto* job = std::get_if<cause::JobEnded>(&ended)) return OutsideCauseOf(job->state);
  if (std::holds_alternative<cause::Cancelled>(ended)) return OutsideCause::kCancelled;
  if (std::holds_alternative<cause::JobRemoved>(ended)) return OutsideCause::kCancelled;
  if (std::holds_alternative<cause::OutOfMemory>(ended)) return OutsideCause::kOutOfMemory;
  if (std::holds_alternative<cause::JobTimeLimit>(ended)) return OutsideCause::kTimedOut;
  if (std::holds_alternative<cause::NodeLost>(ended)) return OutsideCause::kNodeLost;
  if (std::holds_alternative<cause::JobPreempted>(ended)) return OutsideCause::kNodeLost;
  return OutsideCause::kNone;
}

void WriteStopRequest(const RunFolder& trial, std::string_view reason) {
  WriteFileAtomically(StopRequestOf(trial), std::string(reason));
}

void RemoveStopRequest(const RunFolder& trial) { fs::remove(StopRequestOf(trial)); }

std::string ReadStopRequest(const RunFolder& trial) { return ReadDocumentIfPresent(StopRequestOf(trial)).value_or(""); }

}  // namespace slipway::launcher
