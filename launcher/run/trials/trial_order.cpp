#include "launcher/run/trials/trial_order.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/files.h"
#include "core/json_fields.h"

namespace slipway::ensemble {

/// What trial_ending.json holds of it.
template <class Visitor, MaybeConst<TrialEnded> Struct>
void Visit(Visitor& visit, Struct& ending) {
  visit("attempt", ending.attempt);
  visit("exit_code", ending.status.code);
  visit("signal", ending.status.signal);
  visit("cause", ending.cause);
  visit("detail", ending.detail);
  visit("rank", ending.rank);
  visit("last_line", ending.last_line);
}

}  // namespace slipway::ensemble

namespace slipway::launcher {
namespace fs = std::filesystem;
using ensemble::OutsideCause;
using ensemble::TrialEnded;

namespace {

constexpr std::string_view kOrderSchema = "slipway.trial-order/1";
constexpr std::string_view kEndingSchema = "slipway.trial-ending/1";

fs::path OrderOf(const RunFolder& trial) { return trial.path() / "trial_order.json"; }
fs::path EndingOf(const RunFolder& trial) { return trial.path() / "trial_ending.json"; }
fs::path StopRequestOf(const RunFolder& trial) { return trial.path() / "stop_request"; }

/// Nothing when there is no such file.
template <class Document>
std::optional<Document> ReadTrialFile(const fs::path& file, std::string_view schema) {
  const auto text = ReadDocumentIfPresent(file);
  if (!text) return {};
  const DocumentName name{fmt::format("'{}'", file.string()), ErrorKind::kEnvironment,
                          "run the trial again with: slipway trials retry"};
  return ReadFields<Document>(ParseDocument(*text, schema, name), name);
}

template <class Document>
void WriteTrialFile(const fs::path& file, std::string_view schema, const Document& document) {
  const auto json = WriteFields(schema, document);
  WriteFileAtomically(file, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace

template <class Visitor, MaybeConst<TrialOrder> Struct>
void Visit(Visitor& visit, Struct& order) {
  visit("attempt", order.attempt);
  visit("attempts_past", order.attempts_past);
  visit("trial", order.terms.trial);
  visit("repeat", order.terms.repeat);
  visit("limit", order.terms.limit);
}

std::optional<TrialOrder> ReadTrialOrder(const RunFolder& trial) {
  return ReadTrialFile<TrialOrder>(OrderOf(trial), kOrderSchema);
}

void WriteTrialOrder(const RunFolder& trial, const TrialOrder& order) {
  WriteTrialFile(OrderOf(trial), kOrderSchema, order);
}

std::optional<TrialEnded> ReadTrialEnding(const RunFolder& trial) {
  return ReadTrialFile<TrialEnded>(EndingOf(trial), kEndingSchema);
}

void WriteTrialEnding(const RunFolder& trial, const TrialEnded& ending) {
  WriteTrialFile(EndingOf(trial), kEndingSchema, ending);
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
  if (std::holds_alternative<cause::DiskFull>(ended)) return OutsideCause::kDiskFull;
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
