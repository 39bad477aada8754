#include "staging/reader/batch_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "core/error.h"
#include "core/lines.h"
#include "staging/dataset/share_list.h"
#include "staging/reader/json_fields.h"

namespace slipway::staging {

namespace {

constexpr std::uint64_t kMostThreads = 1024;
constexpr std::uint64_t kMostRanks = std::numeric_limits<int>::max();

Json ParseJson(std::string_view text, std::string_view what) {
  auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    throw Error(ErrorKind::kUsage, fmt::format("{} is not JSON: {}", what, text.substr(0, 200)), "write a JSON object");
  return json;
}

/// A count that may be said; not more than `most`.
void TakeCount(JsonFields& fields, std::string_view key, std::uint64_t& value, std::uint64_t least,
               std::uint64_t most) {
  if (!fields.Has(key)) return;
  value = fields.Count(key);
  if (value < least || value > most) fields.Refuse(key, fmt::format("{} to {}", least, most));
}

void TakeInt(JsonFields& fields, std::string_view key, int& value, int least) {
  auto count = static_cast<std::uint64_t>(value);
  TakeCount(fields, key, count, static_cast<std::uint64_t>(least), kMostRanks);
  value = static_cast<int>(count);
}

BatchField ParseField(const Json& json, std::size_t index) {
  if (json.is_string()) return {json.get<std::string>(), {}, {}, {}};
  JsonFields fields(json, fmt::format("field {}", index));
  BatchField field{fields.Text("name"), {}, {}, {}};
  if (fields.Has("type")) {
    field.type = ParseElementType(fields.Text("type"));
    if (!field.type) fields.Refuse("type", "a type of numbers, such as float32");
  }
  if (fields.Has("shape")) {
    field.shape = fields.Counts("shape");
    const auto count = CountOf(*field.shape);
    if (!count || *count == 0) fields.Refuse("shape", "extents of at least 1");
  }
  if (const auto* transforms = fields.Value("transforms")) {
    field.transforms =
        WithContext(fmt::format("in field '{}'", field.name), [&] { return ParseTransforms(*transforms); });
  }
  fields.Finish();
  return field;
}

std::vector<BatchField> ParseFields(const Json& list) {
  if (!list.is_array())
    throw Error(ErrorKind::kUsage, "'fields' must be a list", R"(write for example "fields": [{"name": "image"}])");
  std::vector<BatchField> fields;
  for (const auto& item : list) fields.push_back(ParseField(item, fields.size()));
  return fields;
}

SplitPart ParseSplit(const Json& json) {
  JsonFields fields(json, "'split'");
  SplitPart split{fields.Number("fraction"), 0, fields.Word("part", {"train", "validation"}) == 1};
  TakeCount(fields, "seed", split.seed, 0, std::numeric_limits<std::uint64_t>::max());
  fields.Finish();
  return split;
}

/// As PositionText writes it.
std::uint32_t ParseSharesKey(JsonFields& fields) {
  std::uint32_t key = 0;
  if (!ParseNumber(fields.Text("shares"), key, 16)) fields.Refuse("shares", "8 hexadecimal digits");
  return key;
}

EpochPosition PositionOf(const Json& json) {
  JsonFields fields(json, "the position");
  EpochPosition position{fields.Count("epoch"), fields.Count("records_done")};
  if (fields.Has("shares")) position.shares = ParseSharesKey(fields);
  fields.Finish();
  return position;
}

NodeShares ParseShares(const Json& json) {
  JsonFields fields(json, "'shares'");
  NodeShares shares{{}, fields.Count("node")};
  const auto* nodes = fields.Value("nodes");
  if (nodes == nullptr || !nodes->is_array() || shares.node >= nodes->size()) {
    throw Error(ErrorKind::kUsage, "'shares' needs a list of nodes, and the number of one of them as 'node'",
                "leave it out: slipway run sets it");
  }
  for (const auto& item : *nodes) {
    JsonFields node(item, "a node of 'shares'");
    NodeRecords share{node.Count("records"), 1};
    TakeInt(node, "ranks", share.ranks, 1);
    node.Finish();
    shares.nodes.push_back(share);
  }
  fields.Finish();
  return shares;
}

void TakeWords(JsonFields& fields, BatchOptions& options) {
  fields.TakeWord("order", options.order);
  fields.TakeWord("remainder", options.remainder);
  fields.TakeWord("on_corrupt", options.on_corrupt);
  if (fields.Has("payloads")) options.payloads = fields.Flag("payloads");
}

void TakeCounts(JsonFields& fields, BatchOptions& options) {
  constexpr auto kAny = std::numeric_limits<std::uint64_t>::max();
  TakeCount(fields, "batch", options.batch, 1, std::numeric_limits<std::uint32_t>::max());
  TakeCount(fields, "seed", options.seed, 0, kAny);
  TakeCount(fields, "limit", options.limit, 0, kAny);
  TakeCount(fields, "window", options.window, 1, kAny);
  TakeCount(fields, "epochs", options.epochs, 0, kAny);
  TakeCount(fields, "prefetch", options.prefetch, 1, 1 << 20);
  auto threads = static_cast<std::uint64_t>(options.threads);
  TakeCount(fields, "threads", threads, 1, kMostThreads);
  options.threads = static_cast<int>(threads);
  TakeInt(fields, "world", options.world, 1);
  TakeInt(fields, "rank", options.rank, 0);
}

/// "SLIPWAY_DATA_", "my-train" -> "SLIPWAY_DATA_MY_TRAIN".
std::string VariableOf(std::string name, std::string_view dataset) {
  for (const unsigned char c : dataset) name += std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
  return name;
}

std::optional<int> NumberOf(const std::string& variable) {
  const auto text = Variable(variable);
  if (text.empty()) return {};
  int number = 0;
  if (!ParseNumber(text, number) || number < 0) {
    throw Error(ErrorKind::kUsage, fmt::format("{} is '{}': expected a number", variable, text),
                fmt::format("set {} to a number from 0, or unset it", variable));
  }
  return number;
}

/// What the launcher passes on of data.NAME: {"remainder", "on_corrupt", "seed"}. Other keys are for others.
void TakeConfiguration(const std::string& name, BatchOptions& options) {
  const auto text = Variable("SLIPWAY_CONFIG");
  if (text.empty()) return;
  const auto config = ParseJson(text, "SLIPWAY_CONFIG");
  const Json nothing;
  const auto member = [&](const Json& object, const std::string& key) -> const Json& {
    return object.is_object() && object.contains(key) ? object.at(key) : nothing;
  };
  const auto& data = member(member(config, "data"), name);
  if (data.is_null()) return;
  JsonFields fields(data, fmt::format("SLIPWAY_CONFIG: data.{}", name));
  fields.TakeWord("remainder", options.remainder);
  fields.TakeWord("on_corrupt", options.on_corrupt);
  if (fields.Has("seed")) options.seed = fields.Count("seed");
}

/// The share that lies in `directory`. Nothing when the launcher has made no list.
std::optional<NodeShares> SharesOf(const std::string& name, const std::filesystem::path& directory) {
  const auto file = Variable(VariableOf("SLIPWAY_SHARES_", name));
  if (file.empty()) return {};
  const auto list = ReadShareList(file);
  const auto own = std::ranges::find(list, directory, &NodeHolding::directory);
  if (own == list.end()) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is not a share named in '{}'", directory.string(), file),
                fmt::format("leave {} as the launcher has set it", VariableOf("SLIPWAY_DATA_", name)));
  }
  NodeShares shares{{}, static_cast<std::size_t>(own - list.begin())};
  for (const auto& node : list) shares.nodes.push_back({node.records, node.ranks});
  return shares;
}

/// A rank of the job among those of its node.
void TakePlaceOnNode(std::optional<int> local_rank, BatchOptions& options) {
  if (!local_rank) {
    throw Error(ErrorKind::kUsage, "LOCAL_RANK is not set, and the nodes of this job hold different records",
                "start the program with slipway, or give 'shares' and 'rank'");
  }
  options.rank = *local_rank;
}

/// The launcher's shares are dealt to the ranks of the job as they are.
void RequireRankOfJob(const BatchOptions& options, const BatchOptions& job) {
  if (options.rank == job.rank && options.world == job.world) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("rank {} of {} is not this one, {} of {}, and each node of this job holds other records",
                          options.rank, options.world, job.rank, job.world),
              "leave 'rank' and 'world' out, or write distribute: replicate");
}

}  // namespace

WordTable<RecordOrder> WordsOf(RecordOrder) {
  static constexpr Word<RecordOrder> kWords[] = {
      {RecordOrder::kGlobal, "global"}, {RecordOrder::kWindowed, "windowed"}, {RecordOrder::kInOrder, "in_order"}};
  return kWords;
}

std::uint64_t FirstRecordOf(const std::optional<NodeShares>& shares) {
  std::uint64_t first = 0;
  for (std::size_t node = 0; shares && node < shares->node; ++node) first += shares->nodes[node].records;
  return first;
}

BatchOptions ParseBatchOptions(std::string_view text, BatchOptions options, std::optional<int> local_rank) {
  const auto job = options;
  const auto json = ParseJson(text, "the reader's options");
  JsonFields fields(json, "the reader's options");
  if (const auto* list = fields.Value("fields")) options.fields = ParseFields(*list);
  if (const auto* split = fields.Value("split")) options.split = ParseSplit(*split);
  const auto* shares = fields.Value("shares");
  if (shares != nullptr) {
    options.shares = ParseShares(*shares);
    options.rank = local_rank.value_or(options.rank);
  }
  if (const auto* position = fields.Value("position")) options.position = PositionOf(*position);
  TakeWords(fields, options);
  TakeCounts(fields, options);
  fields.Finish();
  if (job.shares && shares == nullptr) {
    RequireRankOfJob(options, job);
    TakePlaceOnNode(local_rank, options);
  }
  return options;
}

std::string PositionText(const EpochPosition& position) {
  const auto shares = position.shares == 0 ? "" : fmt::format(R"(, "shares": "{:08x}")", position.shares);
  return fmt::format(R"({{"epoch": {}, "records_done": {}{}}})", position.epoch, position.records_done, shares);
}

EpochPosition ParsePosition(std::string_view text) { return PositionOf(ParseJson(text, "the position")); }

DatasetPlace FindDataset(const std::string& name) {
  DatasetPlace place;
  place.defaults.rank = NumberOf("RANK").value_or(0);
  place.defaults.world = NumberOf("WORLD_SIZE").value_or(1);
  place.local_rank = NumberOf("LOCAL_RANK");
  const auto staged = name.find('/') == std::string::npos ? Variable(VariableOf("SLIPWAY_DATA_", name)) : "";
  place.path = staged.empty() ? name : staged;
  if (staged.empty()) return place;
  TakeConfiguration(name, place.defaults);
  place.defaults.shares = SharesOf(name, place.path);
  return place;
}

void TakeShare(const DatasetPlace& place, BatchOptions& options) {
  if (!place.defaults.shares) return;
  options.shares = place.defaults.shares;
  TakePlaceOnNode(place.local_rank, options);
}

}  // namespace slipway::staging
