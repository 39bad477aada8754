#include "staging/reader/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"

namespace slipway::staging {

namespace {

/// An order is held in memory. Files that are damaged may promise any number of records.
void RequireMemoryForOrder(std::uint64_t records, const MemorySources& memory) try {
  constexpr std::uint64_t kBytesOfRecord = 2 * sizeof(std::uint64_t);  // in the list of records and in the order
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max() / kBytesOfRecord;
  RequireMemory(Bytes{std::min(records, kMost) * kBytesOfRecord},
                fmt::format("the order of all records (the files promise {} records)", records), memory);
} catch (const MemoryError& error) {
  throw MemoryError(error.kind(), error.message(),
                    "see with 'slipway data info' whether a file is damaged, or give the job more memory");
}

RecordNumbers AllRecordsFor(const BatchOptions& options, std::uint64_t count) {
  if (options.split) {
    auto split = Split(count, options.split->fraction, options.split->seed);
    return options.split->validation ? std::move(split.validation) : std::move(split.train);
  }
  RecordNumbers all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

RecordNumbers RecordsFor(const BatchOptions& options, std::uint64_t count) {
  auto records = AllRecordsFor(options, count);
  if (options.limit > 0 && options.limit < records.size()) records.resize(options.limit);
  return records;
}

/// Each node would have to know where the first so many records of all lie.
void RequireNoLimit(const BatchOptions& options) {
  if (!options.shares || options.limit == 0) return;
  throw Error(ErrorKind::kUsage, "'limit' is for data that every node holds, not for 'shares'",
              "leave one of them out");
}

void RequireOwnCount(const NodeShares& shares, std::uint64_t count) {
  const auto& mine = shares.nodes.at(shares.node);
  if (mine.records == count) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("this node holds {} records, 'shares' says {} of node {}", count, mine.records, shares.node),
              "leave 'shares' as slipway run set it, or stage the dataset again");
}

/// How many of a node's records a split leaves.
std::uint64_t CountFor(const BatchOptions& options, std::uint64_t records) {
  if (!options.split) return records;
  const auto validation = ValidationCount(records, options.split->fraction);
  return options.split->validation ? validation : records - validation;
}

/// The shares with what a split leaves of them.
std::vector<NodeRecords> SharesFor(const BatchOptions& options) {
  auto nodes = options.shares->nodes;
  for (auto& node : nodes) node.records = CountFor(options, node.records);
  return nodes;
}

/// What all ranks together have in an epoch, and what they make of it.
struct EpochOfAll {
  std::uint64_t records = 0;
  std::uint64_t steps = 0;
  std::uint64_t first = 0;   ///< of this node, in the order of all
  std::uint64_t fewest = 0;  ///< on a node
};

EpochOfAll EpochOfNodes(const BatchOptions& options) {
  const auto nodes = SharesFor(options);
  EpochOfAll all{0, StepsOfNodes(nodes, options.batch, options.remainder), 0,
                 std::ranges::min(nodes, {}, &NodeRecords::records).records};
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (node == options.shares->node) all.first = all.records;
    all.records += nodes[node].records;
  }
  return all;
}

ShardRule RuleFor(const BatchOptions& options) {
  const int world = options.shares ? options.shares->nodes.at(options.shares->node).ranks : options.world;
  return {options.rank, world, options.batch, options.remainder};
}

}  // namespace

BatchPlan::BatchPlan(const BatchOptions& options, std::vector<std::uint64_t> file_ends, const MemorySources& memory)
    : options_(options), rule_(RuleFor(options)), file_ends_(std::move(file_ends)) {
  const auto count = file_ends_.empty() ? 0 : file_ends_.back();
  RequireMemoryForOrder(count, memory);
  RequireNoLimit(options_);
  records_ = RecordsFor(options_, count);
  EpochOfAll all{records_.size(), 0, 0, records_.size()};
  if (options_.shares) {
    RequireOwnCount(*options_.shares, count);
    shares_key_ = SharesKey(options_.shares->nodes);
    all = EpochOfNodes(options_);
  } else {
    all.steps = StepsOf(all.records, rule_);
  }
  steps_ = all.steps;
  count_ = all.records;
  first_place_ = all.first;
  if (steps_ > 0) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} records{} are fewer than one batch of {} on {}", all.fewest,
                          options_.shares ? " on a node" : "", rule_.batch, Counted(rule_.world, "rank")),
              "take smaller batches, or the remainder 'pad' or 'repeat'");
}

/// A position may be made by hand: then it must be a whole number of steps at least.
void BatchPlan::RequireSameShares(const EpochPosition& position) const {
  if (position.records_done == 0) return;
  const bool others = position.shares != 0 && position.shares != shares_key_;
  if (!others && (shares_key_ == 0 || position.records_done % RecordsPerStep() == 0)) return;
  throw Error(ErrorKind::kUsage,
              others
                  ? fmt::format("the position, {} records into epoch {}, was left where nodes held other shares of the "
                                "records: nodes and ranks must be the same when a job goes on",
                                position.records_done, position.epoch)
                  : fmt::format("{} records are no whole number of steps of {} on all nodes: nodes that hold different "
                                "records must be the same when a job goes on",
                                position.records_done, RecordsPerStep()),
              "take as many nodes and ranks as before, or begin the epoch again");
}

EpochPart BatchPlan::PartFrom(const EpochPosition& position) const {
  RequireSameShares(position);
  const auto order = OrderOf(position.epoch);
  EpochPart part{position, 0, {}};
  if (!options_.shares) {
    part.places = ShardOf(order, rule_, position.records_done);
  } else {
    part.places = ShardOfNode(order, rule_, steps_, position.records_done / RecordsPerStep());
  }
  part.steps = part.places.size() / rule_.batch;
  return part;
}

EpochPosition BatchPlan::After(const EpochPart& part, std::uint64_t steps) const {
  const auto done = part.begin.records_done;
  if (options_.shares) return {part.begin.epoch, done + steps * RecordsPerStep(), shares_key_};
  return {part.begin.epoch, RecordsDoneAfter(steps, records_.size(), rule_, done)};
}

std::uint64_t BatchPlan::RecordsPerStep() const {
  std::uint64_t ranks = 0;
  for (const auto& node : options_.shares->nodes) ranks += static_cast<std::uint64_t>(node.ranks);
  return ranks * options_.batch;
}

RecordNumbers BatchPlan::OrderOf(std::uint64_t epoch) const {
  switch (options_.order) {
    case RecordOrder::kGlobal: return EpochOrder(records_, options_.seed, epoch);
    case RecordOrder::kWindowed: return WindowedOrder(records_, file_ends_, options_.window, options_.seed, epoch);
    case RecordOrder::kInOrder: break;
  }
  return records_;
}

}  // namespace slipway::staging
