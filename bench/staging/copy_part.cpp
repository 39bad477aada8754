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
                                         {"large", false, {1.4, 4, 4}},
                                         {"small", true, {3, 3.5, 4}},
                                         {"small", false, {2, 4, 4}}}};

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

using Times = std::map<std::string, std::vector<double>>;
constexpr const char* kLimit = "limit";

/// Cold: the device, read by many; warm: sendfile, one copy and nothing looked at.
double LimitOf(bool cold, const fs::path& data, const fs::path& target) {
  constexpr std::size_t kReaders = 32;
  return cold ? ReadAll(data, kReaders) : SendAll(data, target, UsableProcessors());
}

/// Seconds of one side, or of the limit.
using Way = std::pair<std::string, std::function<double()>>;

std::vector<Way> WaysOf(const Case& each, const DataShape& shape, const fs::path& data, const fs::path& target) {
  std::vector<Way> ways;
  for (const auto& side : Sides()) {
    if (!IsInstalled(side)) continue;
    ways.emplace_back(side.name, [&, target] { return TimeOf(side, data, target, shape.format); });
  }
  ways.emplace_back(kLimit, [&, target] { return LimitOf(each.cold, data, target); });
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
    for (const auto& [name, seconds] : ways) {
      Prepare(each, data, copy);
      times[name].push_back(seconds());
    }
    std::ranges::rotate(ways, ways.begin() + 1);
  }
  return times;
}

Json PeerRow(const Side& side, const Times& times, double ours, double goal) {
  if (!times.contains(side.name)) return {{"peer", side.name}, {"installed", false}, {"goal", goal}};
  const double median = Median(times.at(side.name));
  return {{"peer", side.name},      {"installed", true}, {"median_s", median},
          {"ratio", median / ours}, {"goal", goal},      {"reached", median / ours >= goal}};
}

Json ToJson(const Case& each, const DataShape& shape, Bytes total, const Times& times) {
  const auto rate = [&](double seconds) { return static_cast<double>(total.count) / seconds / 1e6; };
  const auto& sides = Sides();
  const double ours = Median(times.at(sides.front().name));
  const double limit = Median(times.at(kLimit));
  Json peers = Json::array();
  for (std::size_t i = 1; i < sides.size(); ++i) peers.push_back(PeerRow(sides[i], times, ours, each.goals[i - 1]));
  return {{"data", each.data},
          {"cache", each.cold ? "cold" : "warm"},
          {"files", shape.files},
          {"bytes", total.count},
          {"median_s", ours},
          {"mb_per_s", rate(ours)},
          {"limit", each.cold ? "plain read" : "sendfile"},
          {"limit_s", limit},
          {"limit_mb_per_s", rate(limit)},
          {"peers", std::move(peers)}};
}

}  // namespace

Json BenchCopies(const CopyPart& part) {
  Json cases = Json::array();
  for (const char* name : {"large", "small"}) {
    const TemporaryTree data(part.directory);
    const auto shape = ShapeOf(name, part.quick);
    const auto total = MakeData(shape, data.path());
    for (const auto& each : kCases) {
      if (std::string(each.data) != name) continue;
      cases.push_back(ToJson(each, shape, total, Measure(each, shape, data.path(), part)));
    }
  }
  return cases;
}

void PrintCopies(const Json& cases) {
  for (const auto& each : cases) {
    fmt::print("{} files, {}, {}: slipway {:.2f} s, {:.0f} MB/s ({}: {:.2f} s, {:.0f} MB/s)\n",
               each["files"].get<std::size_t>(), FormatBytes(Bytes{each["bytes"].get<std::uint64_t>()}),
               each["cache"].get<std::string>(), each["median_s"].get<double>(), each["mb_per_s"].get<double>(),
               each["limit"].get<std::string>(), each["limit_s"].get<double>(), each["limit_mb_per_s"].get<double>());
    for (const auto& peer : each["peers"]) {
      const auto name = peer["peer"].get<std::string>();
      if (!peer["installed"].get<bool>()) {
        fmt::print("  {:<12} is not installed\n", name);
        continue;
      }
      fmt::print("  {:<12} {:6.2f} s  {:5.2f} times as long, goal {:.1f}: {}\n", name, peer["median_s"].get<double>(),
                 peer["ratio"].get<double>(), peer["goal"].get<double>(),
                 peer["reached"].get<bool>() ? "reached" : "not reached");
    }
  }
}

}  // namespace slipway::bench
