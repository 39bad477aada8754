#include "runtime/watch/rank_status.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/unique_handle.h"

namespace slipway::runtime {
namespace {

constexpr std::array kStates{"running", "stopped", "dead", "finished", "unknown", "absent"};

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

SeenCall CallOf(const RankStatusRow& line, std::uint32_t activity) {
  return activity == 0 ? SeenCall() : SeenCall{activity, Describe(line, activity)};
}

Json ToJson(const SeenCall& call) { return Json::array({call.activity, call.name}); }

SeenCall CallFromJson(const Json& json) { return {json.at(0).get<std::uint32_t>(), json.at(1).get<std::string>()}; }

RankState StateNamed(const std::string& name) {
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (name == kStates[i]) return static_cast<RankState>(i);
  }
  return RankState::kUnknown;
}

}  // namespace

const char* NameOf(RankState state) { return kStates.at(static_cast<std::size_t>(state)); }

RankState StateOf(const RankStatusRow& line) {
  if (line.finished != 0) return RankState::kFinished;
  switch (KernelState(line.process)) {
    case 'Z':
    case kNoProcess: return RankState::kDead;
    case 'T':
    case 't': return RankState::kStopped;
    default: return RankState::kRunning;
  }
}

RankStatus RankStatusOf(const RankStatusRow& line, RankPlace place) {
  RankStatus status{line.rank, std::move(place), StateOf(line)};
  status.current = CallOf(line, line.current);
  status.last = CallOf(line, line.last);
  status.gave_up = CallOf(line, line.gave_up);
  status.asks = CallOf(line, line.asks);
  status.waited_s = line.waited_ms * 1e-3;
  status.step = line.step;
  for (const auto& rank : line.missing) {
    if (rank <= 0) break;
    status.missing.push_back(rank - 1);
  }
  return status;
}

Json ToJson(const RankStatus& status) {
  return Json{{"rank", status.rank},
              {"host", status.place.host},
              {"pid", status.place.process},
              {"state", NameOf(status.state)},
              {"current", ToJson(status.current)},
              {"last", ToJson(status.last)},
              {"gave_up", ToJson(status.gave_up)},
              {"asks", ToJson(status.asks)},
              {"waited_s", status.waited_s},
              {"step", status.step},
              {"missing", status.missing}};
}

RankStatus RankStatusFromJson(const Json& json) {
  RankStatus status{json.at("rank").get<int>(),
                    {json.at("host").get<std::string>(), json.at("pid").get<std::int64_t>()},
                    StateNamed(json.at("state").get<std::string>())};
  status.current = CallFromJson(json.at("current"));
  status.last = CallFromJson(json.at("last"));
  status.gave_up = CallFromJson(json.at("gave_up"));
  status.asks = CallFromJson(json.at("asks"));
  status.waited_s = json.at("waited_s").get<double>();
  status.step = json.at("step").get<std::int64_t>();
  status.missing = json.at("missing").get<std::vector<int>>();
  return status;
}

}  // namespace slipway::runtime
