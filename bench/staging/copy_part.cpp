#include "bench/staging/copy_part.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/staging/bench_data.h"
#include "bench/staging/busy_loops.h"
#include "bench/staging/page_cache.h"
#include "bench/staging/sides.h"
#include "core/error.h"
#include "core/files.h"
#include "core/share_out.h"

namespace slipway::bench {
namespace fs = std::filesystem;
namespace {

struct Case {
  const char* data;
  bool cold;
  std::array<double, 3> goals;  ///< times faster than cp, rsync, rclone
};

constexpr std::array<Case, 4> kCases = {{{"large", true, {1.3, 2.5, 3}},
                                         {"large", false, {1.5, 4, 4}},
                                         {"small", true, {3, 3.5, 4}},
                                         {"small", false, {2.5, 4, 4}}}};
constexpr double kGoalBeside = 1;  ///< times faster than each peer, with busy loops

const char* CacheOf(const Case& each) { return each.cold ? "cold" : "warm"; }

DataShape ShapeOf(const std::string& data, bool quick) {
  if (data == "large") {
    return {data, staging::DataFormat::kTfrecord, quick ? 8u : 64u, 1, Bytes{(quick ? 8u : 32u) << 20}};
  }
  return {data, staging::DataFormat::kRaw, quick ? 2'000u : 20'000u, 100, Bytes{50'000}};
}

class TemporaryTree {
 public:
  explicit TemporaryTree(const fs::path& parent) {
    auto pattern = (parent / "slipway-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ThrowErrno(fmt::format("cannot create '{}'", pattern));
    path_ = pattern;
  }
  ~TemporaryTree() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

using Times = std::map<std::string, std::vector<RunTime>>;

RunTime MedianOf(const std::vector<RunTime>& runs) {
  const auto median = [&](double RunTime::*part) {
    std::vector<double> values;
    for (const auto& run : runs) values.push_back(run.*part);
    return Median(std::move(values));
  };
  return {median(&RunTime::wall_s), median(&RunTime::processor_s)};
}

constexpr const char* kLimit = "limit";

/// Cold: the device, read by many; warm: sendfile, one copy and nothing looked at.
double LimitOf(bool cold, const fs::path& data, const fs::path& target) {
  constexpr std::size_t kReaders = 32;
  return cold ? ReadAll(data, kReaders) : SendAll(data, target, UsableProcessors());
}

/// One side, or the limit.
using Way = std::pair<std::string, std::function<RunTime()>>;

std::vector<Way> WaysOf(const Case& each, const DataShape& shape, const fs::path& data, const fs::path& target) {
  std::vector<Way> ways;
  for (const auto& side : Sides()) {
    if (!IsInstalled(side)) continue;
    ways.emplace_back(side.name, [&, target] { return TimeOf(side, data, target, shape.format); });
  }
  ways.emplace_back(kLimit, [&, target] { return RunTime{LimitOf(each.cold, data, target)}; });
  return ways;
}

/// Fills and empties the target, so that each side finds memory that was just in use. A hypervisor takes free memory
/// back within seconds; filling it then takes several times as long.
void Prepare(const Case& each, const fs::path& data, const fs::path& target) {
  SendAll(data, target, UsableProcessors());
  each.cold ? MakeCold(data) : MakeWarm(data);
}

/// Another side begins in each round: what one leaves behind does not always hit the same.
Times Measure(const Case& each, const DataShape& shape, const fs::path& data, const CopyPart& part) {
  const TemporaryTree target(part.target);
  const auto copy = target.path() / "copy";
  auto ways = WaysOf(each, shape, data, copy);
  Times times;
  for (int round = 0; round < part.rounds; ++round) {
    for (const auto& [name, run] : ways) {
      Prepare(each, data, copy);
      const BusyLoops loops(part.beside);
      times[name].push_back(run());
    }
    std::ranges::rotate(ways, ways.begin() + 1);
  }
  return times;
}

double NanosecondsPerByte(const RunTime& time, Bytes total) {
  return time.processor_s * 1e9 / static_cast<double>(total.count);
}

Json PeerRow(const Side& side, const Times& times, const RunTime& ours, double goal, Bytes total) {
  if (!times.contains(side.name)) return {{"peer", side.name}, {"installed", false}, {"goal", goal}};
  const auto median = MedianOf(times.at(side.name));
  const auto ratio = median.wall_s / ours.wall_s;
  return {{"peer", side.name},
          {"installed", true},
          {"median_s", median.wall_s},
          {"cpu_ns_per_byte", NanosecondsPerByte(median, total)},
          {"ratio", ratio},
          {"cpu_ratio", ours.processor_s / median.processor_s},
          {"goal", goal},
          {"reached", ratio >= goal}};
}

Json ToJson(const Case& each, const DataShape& shape, Bytes total, const CopyPart& part, const Times& times) {
  const auto rate = [&](double seconds) { return static_cast<double>(total.count) / seconds / 1e6; };
  const auto& sides = Sides();
  const auto ours = MedianOf(times.at(sides.front().name));
  const double limit = MedianOf(times.at(kLimit)).wall_s;
  Json peers = Json::array();
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const auto goal = part.beside > 0 ? kGoalBeside : each.goals[i - 1];
    peers.push_back(PeerRow(sides[i], times, ours, goal, total));
  }
  return {{"data", each.data},
          {"cache", CacheOf(each)},
          {"files", shape.files},
          {"bytes", total.count},
          {"beside", part.beside},
          {"median_s", ours.wall_s},
          {"mb_per_s", rate(ours.wall_s)},
          {"cpu_ns_per_byte", NanosecondsPerByte(ours, total)},
          {"limit", each.cold ? "plain read" : "sendfile"},
          {"limit_s", limit},
          {"limit_mb_per_s", rate(limit)},
          {"peers", std::move(peers)}};
}

}  // namespace

Json BenchCopies(const CopyPart& part) {
  Json cases = Json::array();
  for (const std::string name : {"large", "small"}) {
    if (!part.data.empty() && part.data != name) continue;
    const TemporaryTree data(part.directory);
    const auto shape = ShapeOf(name, part.quick);
    const auto total = MakeData(shape, data.path());
    for (const auto& each : kCases) {
      if (each.data != name || (!part.cache.empty() && part.cache != CacheOf(each))) continue;
      cases.push_back(ToJson(each, shape, total, part, Measure(each, shape, data.path(), part)));
    }
  }
  return cases;
}

void PrintCopies(const Json& cases) {
  for (const auto& each : cases) {
    fmt::print(
        "{} files, {}, {}, {} busy loops beside: slipway {:.2f} s, {:.0f} MB/s, {:.2f} ns of processor time a "
        "byte ({}: {:.2f} s, {:.0f} MB/s)\n",
        each["files"].get<std::size_t>(), FormatBytes(Bytes{each["bytes"].get<std::uint64_t>()}),
        each["cache"].get<std::string>(), each["beside"].get<int>(), each["median_s"].get<double>(),
        each["mb_per_s"].get<double>(), each["cpu_ns_per_byte"].get<double>(), each["limit"].get<std::string>(),
        each["limit_s"].get<double>(), each["limit_mb_per_s"].get<double>());
    for (const auto& peer : each["peers"]) {
      const auto name = peer["peer"].get<std::string>();
      if (!peer["installed"].get<bool>()) {
        fmt::print("  {:<12} is not installed\n", name);
        continue;
      }
      fmt::print(
          "  {:<12} {:6.2f} s  {:5.2f} times as long, goal {:.1f}: {}; slipway uses {:.2f} of its processor time\n",
          name, peer["median_s"].get<double>(), peer["ratio"].get<double>(), peer["goal"].get<double>(),
          peer["reached"].get<bool>() ? "reached" : "not reached", peer["cpu_ratio"].get<double>());
    }
  }
}

}  // namespace slipway::bench
