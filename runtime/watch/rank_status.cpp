#include "runtime/watch/rank_status.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/json_fields.h"
#include "core/unique_handle.h"

namespace slipway::runtime {
namespace {

constexpr char kNoProcess = 'X';
constexpr char kNotTold = '?';

/// The letter in /proc/PID/stat: R, S, D, T, Z, ... A process that cannot be looked at, for want of file descriptors
/// perhaps, is not dead.
char KernelState(std::int64_t process) {
  const UniqueFd file(::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT ? kNoProcess : kNotTold;
  std::array<char, 512> text{};
  const auto size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return errno == ESRCH ? kNoProcess : kNotTold;
  const std::string_view line(text.data(), static_cast<std::size_t>(size));
  const auto end_of_name = line.rfind(')');
  return end_of_name == std::string_view::npos || end_of_name + 2 >= line.size() ? kNotTold : line[end_of_name + 2];
}

SeenCall CallOf(const RankStatusRow& row, std::uint32_t activity) {
  return activity == 0 ? SeenCall() : SeenCall{activity, Describe(row, activity)};
}

}  // namespace

WordTable<RankState> WordsOf(RankState) {
  static constexpr Word<RankState> kWords[] = {{RankState::kRunning, "running"}, {RankState::kStopped, "stopped"},
                                               {RankState::kDead, "dead"},       {RankState::kFinished, "finished"},
                                               {RankState::kUnknown, "unknown"}, {RankState::kAbsent, "absent"}};
  return kWords;
}

/// A list of its number and its name.
void WriteValue(Json& place, const SeenCall& call) { place = Json::array({call.activity, call.name}); }

void ReadValue(const JsonPlace& place, SeenCall& call) {
  if (place.size() != 2) place.Refuse("a number and a name");
  json_fields::Read(place.Element(0), call.activity);
  json_fields::Read(place.Element(1), call.name);
}

template <class Visitor, MaybeConst<RankStatus> Struct>
void Visit(Visitor& visit, Struct& status) {
  visit("rank", status.rank);
  visit("host", status.place.host);
  visit("pid", status.place.process);
  visit("state", status.state);
  visit("current", status.current);
  visit("last", status.last);
  visit("gave_up", status.gave_up);
  visit("asks", status.asks);
  visit("waited_s", status.waited_s);
  visit("step", status.step);
  visit("missing", status.missing);
  visit("awaits_gpu", status.awaits_gpu, Presence::kOptional);  // older ones do not say it
}

bool IsFinalize(std::uint32_t activity) {
  return (activity & 0xffff) == static_cast<std::uint32_t>(Activity::kFinalize);
}

RankState StateOf(const RankStatusRow& row) {
  if (row.finished != 0) return RankState::kFinished;
  switch (KernelState(row.process)) {
    case 'Z':
    case kNoProcess: return RankState::kDead;
    case 'T':
    case 't': return RankState::kStopped;
    default: return RankState::kRunning;
  }
}

RankStatus RankStatusOf(const RankStatusRow& row, RankPlace place) {
  RankStatus status{row.rank, std::move(place), StateOf(row)};
  status.current = CallOf(row, row.current);
  status.last = CallOf(row, row.last);
  status.gave_up = CallOf(row, row.gave_up);
  status.asks = CallOf(row, row.asks);
  status.waited_s = row.waited_ms * 1e-3;
  status.step = row.step;
  for (const auto& rank : row.missing) {
    if (rank <= 0) break;
    status.missing.push_back(rank - 1);
  }
  status.awaits_gpu = status.current.activity != 0 && row.awaits_gpu == status.current.activity;
  return status;
}

Json ToJson(const RankStatus& status) { return WriteFields(status); }
Json ToJson(const std::vector<RankStatus>& statuses) { return WriteFields(statuses); }

RankStatus RankStatusFromJson(const Json& json) { return ReadFields<RankStatus>(json, {"the status of a rank"}); }

std::vector<RankStatus> RankStatusesFromJson(const Json& json) {
  return ReadFields<std::vector<RankStatus>>(json, {"a node's list of ranks"});
}

}  // namespace slipway::runtime
