#include "staging/reader/sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/fnv1a.h"
#include "staging/reader/random.h"

namespace slipway::staging {

namespace {

template <class Number>
void Shuffle(std::vector<Number>& numbers, SplitMix64 random) {
  for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.Below(i)]);
}

void CheckRule(const ShardRule& rule) {
  if (rule.rank < 0 || rule.rank >= rule.world) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no rank {} in a world of {} ranks", rule.rank, rule.world),
                "count ranks from 0");
  }
  if (rule.batch == 0 || rule.batch > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::kUsage, fmt::format("a batch of {} records is not possible", rule.batch),
                "set the batch to 1 or more");
  }
}

std::uint64_t RecordsPerStep(const ShardRule& rule) { return rule.batch * static_cast<std::uint64_t>(rule.world); }

/// The record at a place of the order; beyond its end what fills the last step.
std::uint64_t RecordAt(std::span<const std::uint64_t> order, std::uint64_t place, Remainder remainder) {
  if (place < order.size()) return order[place];
  return remainder == Remainder::kRepeat && !order.empty() ? order[place % order.size()] : kPaddingRecord;
}

RecordNumbers Deal(std::span<const std::uint64_t> order, const ShardRule& rule, std::uint64_t steps,
                   std::uint64_t begin) {
  RecordNumbers shard(steps * rule.batch);
  auto place = begin + static_cast<std::uint64_t>(rule.rank);
  for (auto& record : shard) {
    record = RecordAt(order, place, rule.remainder);
    place += static_cast<std::uint64_t>(rule.world);
  }
  return shard;
}

/// `records` is ascending, so those of a file lie side by side.
std::span<const std::uint64_t> RecordsOfFile(std::span<const std::uint64_t> records,
                                             std::span<const std::uint64_t> file_ends, std::size_t file) {
  const auto begin = std::ranges::lower_bound(records, file == 0 ? 0 : file_ends[file - 1]);
  const auto end = std::ranges::lower_bound(records, file_ends[file]);
  return {begin, end};
}

}  // namespace

std::uint64_t ValidationCount(std::uint64_t record_count, double fraction) {
  if (fraction == 0 || record_count < 2) return 0;
  const auto rounded = std::llround(fraction * static_cast<double>(record_count));
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rounded), 1, record_count - 1);
}

RecordSplit Split(std::uint64_t record_count, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1)) {
    throw Error(ErrorKind::kUsage, fmt::format("the validation fraction is {}, expected 0 <= fraction < 1", fraction),
                "set it to 0.1, for example");
  }
  RecordNumbers all(record_count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  Shuffle(all, StreamFor(Purpose::kSplit, seed, 0));
  const auto border = all.begin() + static_cast<std::ptrdiff_t>(ValidationCount(record_count, fraction));
  RecordSplit split{{border, all.end()}, {all.begin(), border}};
  std::ranges::sort(split.train);
  std::ranges::sort(split.validation);
  return split;
}

RecordNumbers EpochOrder(std::span<const std::uint64_t> records, std::uint64_t seed, std::uint64_t epoch) {
  RecordNumbers order(records.begin(), records.end());
  Shuffle(order, StreamFor(Purpose::kEpoch, seed, epoch));
  return order;
}

WordTable<Remainder> WordsOf(Remainder) {
  static constexpr Word<Remainder> kWords[] = {
      {Remainder::kDrop, "drop", "leave them out of this epoch"},
      {Remainder::kRepeat, "repeat", "fill the last step with the first records of the epoch"},
      {Remainder::kPad, "pad", "fill the last step with zeros, marked as not valid"}};
  return kWords;
}

WordTable<OnCorrupt> WordsOf(OnCorrupt) {
  static constexpr Word<OnCorrupt> kWords[] = {{OnCorrupt::kFail, "fail", "end the run"},
                                               {OnCorrupt::kSkip, "skip", "leave it out and count it"}};
  return kWords;
}

std::uint64_t StepsOf(std::uint64_t records, const ShardRule& rule) {
  CheckRule(rule);
  const auto step = RecordsPerStep(rule);
  if (rule.remainder == Remainder::kDrop) return records / step;
  return records / step + (records % step == 0 ? 0 : 1);
}

RecordNumbers ShardOf(std::span<const std::uint64_t> order, const ShardRule& rule, std::uint64_t records_done) {
  const auto done = std::min<std::uint64_t>(records_done, order.size());
  return Deal(order, rule, StepsOf(order.size() - done, rule), done);
}

std::uint64_t RecordsDoneAfter(std::uint64_t steps, std::uint64_t records, const ShardRule& rule,
                               std::uint64_t records_done) {
  const auto left = records - std::min(records_done, records);
  // A full last step may reach past the end; its records were padded or repeated.
  return records - left + std::min(left, std::min(steps, StepsOf(left, rule)) * RecordsPerStep(rule));
}

std::uint32_t SharesKey(std::span<const NodeRecords> nodes) {
  std::string text;
  for (const auto& node : nodes) text += fmt::format("{}/{} ", node.records, node.ranks);
  const auto hash = Fnv1a64(text);
  return std::max(1u, static_cast<std::uint32_t>(hash ^ hash >> 32));
}

std::uint64_t StepsOfNodes(std::span<const NodeRecords> nodes, std::uint64_t batch, Remainder remainder) {
  if (nodes.empty()) throw Error(ErrorKind::kUsage, "shares of no nodes cannot be dealt out", "name at least one node");
  std::vector<std::uint64_t> steps;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].records == 0 && remainder == Remainder::kRepeat) {
      throw Error(ErrorKind::kUsage, fmt::format("node {} holds no records that could be repeated", node),
                  "use fewer nodes, or drop the remainder");
    }
    steps.push_back(StepsOf(nodes[node].records, {0, nodes[node].ranks, batch, remainder}));
  }
  return remainder == Remainder::kDrop ? std::ranges::min(steps) : std::ranges::max(steps);
}

RecordNumbers ShardOfNode(std::span<const std::uint64_t> order, const ShardRule& rule, std::uint64_t steps,
                          std::uint64_t steps_done) {
  CheckRule(rule);
  return Deal(order, rule, steps - std::min(steps, steps_done), steps_done * RecordsPerStep(rule));
}

std::vector<std::size_t> FileOrder(std::size_t files, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::size_t> order(files);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Shuffle(order, StreamFor(Purpose::kFiles, seed, epoch));
  return order;
}

RecordNumbers WindowedOrder(std::span<const std::uint64_t> records, std::span<const std::uint64_t> file_ends,
                            std::size_t window, std::uint64_t seed, std::uint64_t epoch) {
  if (window == 0)
    throw Error(ErrorKind::kUsage, "the shuffle window holds 0 records, expected at least 1", "set it to 1 or more");
  auto random = StreamFor(Purpose::kWindow, seed, epoch);
  RecordNumbers order, held;
  order.reserve(records.size());
  const auto take = [&] {
    std::swap(held[random.Below(held.size())], held.back());
    order.push_back(held.back());
    held.pop_back();
  };
  for (const auto file : FileOrder(file_ends.size(), seed, epoch)) {
    for (const auto record : RecordsOfFile(records, file_ends, file)) {
      held.push_back(record);
      if (held.size() == window) take();
    }
  }
  while (!held.empty()) take();
  return order;
}

}  // namespace slipway::staging
