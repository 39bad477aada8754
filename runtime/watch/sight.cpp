#include "runtime/watch/sight.h"

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

SeenCall CallOf(const BoardLine& line, std::uint32_t activity) {
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

RankState StateOf(const BoardLine& line) {
  if (line.finished != 0) return RankState::kFinished;
  switch (KernelState(line.process)) {
    case 'Z':
    case kNoProcess: return RankState::kDead;
    case 'T':
    case 't': return RankState::kStopped;
    default: return RankState::kRunning;
  }
}

Sight SightOf(const BoardLine& line, RankPlace place) {
  Sight sight{line.rank, std::move(place), StateOf(line)};
  sight.current = CallOf(line, line.current);
  sight.last = CallOf(line, line.last);
  sight.gave_up = CallOf(line, line.gave_up);
  sight.asks = CallOf(line, line.asks);
  sight.waited_s = line.waited_ms * 1e-3;
  sight.step = line.step;
  for (const auto& rank : line.missing) {
    if (rank <= 0) break;
    sight.missing.push_back(rank - 1);
  }
  return sight;
}

Json ToJson(const Sight& sight) {
  return Json{{"rank", sight.rank},
              {"host", sight.place.host},
              {"pid", sight.place.process},
              {"state", NameOf(sight.state)},
              {"current", ToJson(sight.current)},
              {"last", ToJson(sight.last)},
              {"gave_up", ToJson(sight.gave_up)},
              {"asks", ToJson(sight.asks)},
              {"waited_s", sight.waited_s},
              {"step", sight.step},
              {"missing", sight.missing}};
}

Sight SightFromJson(const Json& json) {
  Sight sight{json.at("rank").get<int>(),
              {json.at("host").get<std::string>(), json.at("pid").get<std::int64_t>()},
              StateNamed(json.at("state").get<std::string>())};
  sight.current = CallFromJson(json.at("current"));
  sight.last = CallFromJson(json.at("last"));
  sight.gave_up = CallFromJson(json.at("gave_up"));
  sight.asks = CallFromJson(json.at("asks"));
  sight.waited_s = json.at("waited_s").get<double>();
  sight.step = json.at("step").get<std::int64_t>();
  sight.missing = json.at("missing").get<std::vector<int>>();
  return sight;
}

}  // namespace slipway::runtime
