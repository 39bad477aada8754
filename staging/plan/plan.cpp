#include "staging/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>

#include "core/error.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/utf8_name.h"
#include "staging/plan/shares.h"

namespace slipway::staging {

WordTable<Distribution> WordsOf(Distribution) {
  static constexpr Word<Distribution> kWords[] = {
      {Distribution::kReplicate, "replicate", "every rank reads all records"},
      {Distribution::kShard, "shard", "every rank reads its own share"},
      {Distribution::kNodeShard, "node-shard", "every rank reads its own share, and each node holds only those files"}};
  return kWords;
}

WordTable<Layout> WordsOf(Layout) {
  static constexpr Word<Layout> kWords[] = {
      {Layout::kReplica, "replica"}, {Layout::kShard, "shard"}, {Layout::kStream, "stream"}};
  return kWords;
}

WordTable<TierScope> WordsOf(TierScope) {
  static constexpr Word<TierScope> kWords[] = {{TierScope::kNode, "node", "each node has its own"},
                                               {TierScope::kJob, "job", "all nodes of a job see the same"}};
  return kWords;
}

namespace {

constexpr std::uint64_t kBlock = 4096;

/// A file's own blocks plus its lines in the manifest, the record index and the journal.
std::uint64_t SpaceOfFile(const SourceFile& file) {
  const auto blocks = file.size.count / kBlock + (file.size.count % kBlock != 0);
  const auto manifest = 640 + file.path.size() + file.name.native().size() + 64 * (CrcBlocksOf(file.size) + 1);
  return blocks * kBlock + manifest;
}

/// Text and not paths: comparing paths component by component would cost more than the rest of the plan.
std::uint64_t DirectoriesIn(const std::vector<SourceFile>& files) {
  std::unordered_set<std::string_view> directories;
  std::string_view last;
  for (const auto& file : files) {
    std::string_view name = file.name.native();
    const auto folder = name.substr(0, name.rfind('/') + 1);
    if (folder == std::exchange(last, folder)) continue;
    for (auto slash = name.rfind('/'); slash != name.npos; slash = name.rfind('/')) {
      name = name.substr(0, slash);
      if (!directories.insert(name).second) break;
    }
  }
  return directories.size();
}

/// FNV-1a, 64 bits: a name, not a proof. Adoption compares the manifest's list itself.
class Hash {
 public:
  void Add(std::string_view text) {
    for (const char c : text) Mix(static_cast<unsigned char>(c));
    Mix(0);
  }
  void Add(std::uint64_t number) { Add(std::to_string(number)); }
  std::string Hex() const { return fmt::format("{:016x}", value_); }

 private:
  void Mix(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// Two nodes' shares differ in their files and so in their names; a share of all files is not a replica either.
std::string GenerationName(const DatasetRequest& request, const std::vector<SourceFile>& files, Layout layout) {
  Hash hash;
  if (layout != Layout::kReplica) hash.Add(WordOf(layout));
  hash.Add(WordOf(request.format));
  hash.Add(WordOf(request.verify));
  for (const auto& file : files) {
    hash.Add(file.path.native());
    hash.Add(file.name.native());
    hash.Add(file.size.count);
    hash.Add(static_cast<std::uint64_t>(file.mtime_ns));
    hash.Add(file.inode);
  }
  return request.name + "-" + hash.Hex();
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/// The name becomes part of a directory's name.
void CheckDatasetName(const std::string& name) {
  const bool good = !name.empty() && name.size() <= 128 && name[0] != '.' && name[0] != '-' &&
                    std::all_of(name.begin(), name.end(), IsNameCharacter);
  if (good) return;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' cannot be the name of a dataset", name),
              "use letters, digits, '_', '-' and '.'");
}

std::uint64_t SaturatingSum(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

/// With 5 % more.
std::uint64_t WithMargin(std::uint64_t bytes) { return SaturatingSum(bytes, bytes / 20 + (bytes % 20 != 0)); }

Bytes TotalOf(const std::vector<SourceFile>& files) {
  return std::accumulate(files.begin(), files.end(), Bytes{0},
                         [](Bytes sum, const SourceFile& file) { return Bytes{sum.count + file.size.count}; });
}

Bytes LargestOf(const std::vector<SourceFile>& files) {
  Bytes largest;
  for (const auto& file : files) largest = std::max(largest, file.size);
  return largest;
}

bool IsPlace(const TierState& tier) { return tier.name != kInPlaceTier; }

bool Contains(const std::vector<std::string>& names, const std::string& generation) {
  return std::find(names.begin(), names.end(), generation) != names.end();
}

const TierState* FindTier(const std::vector<TierState>& tiers, const std::string& name) {
  const auto found = std::find_if(tiers.begin(), tiers.end(), [&](const TierState& tier) { return tier.name == name; });
  return found == tiers.end() ? nullptr : &*found;
}

/// The tighter of two limits, where 0 is none.
Bytes Tighter(Bytes a, Bytes b) {
  if (a.count == 0 || b.count == 0) return std::max(a, b);
  return std::min(a, b);
}

/// Tries one layout after another, each in one tier after another.
class Planner {
 public:
  Planner(const DatasetRequest& request, std::vector<SourceFile> files, const std::vector<TierState>& tiers,
          const PlanRequest& for_whom)
      : all_(std::move(files)), tiers_(tiers), for_whom_(for_whom) {
    plan_.request = request;
    plan_.nodes = for_whom.nodes;
    plan_.node = for_whom.node;
  }

  StagingPlan Plan() && {
    if (plan_.request.distribution == Distribution::kNodeShard) RequireFileForEachNode();
    for (const auto layout : Layouts()) {
      if (!Prepare(layout)) continue;
      for (const auto& name : plan_.request.tiers) {
        if (name == kInPlaceTier) break;
        if (Take(name)) return Finished();
      }
    }
    if (const auto* in_place = FindTier(tiers_, kInPlaceTier); in_place != nullptr && Wants(kInPlaceTier)) {
      Prepare(plan_.request.distribution == Distribution::kNodeShard ? Layout::kShard : Layout::kReplica);
      Choose(*in_place, WithShares("read in place, nothing is copied"));
      return Finished();
    }
    throw NothingFits();
  }

 private:
  bool Wants(const std::string& tier) const {
    const auto& wanted = plan_.request.tiers;
    return std::find(wanted.begin(), wanted.end(), tier) != wanted.end();
  }

  std::vector<Layout> Layouts() const {
    if (plan_.request.distribution == Distribution::kNodeShard) return {Layout::kShard};
    std::vector<Layout> layouts = {Layout::kReplica};
    const bool shares = plan_.request.distribution == Distribution::kShard && plan_.nodes > 1;
    if (shares && for_whom_.can_share) layouts.push_back(Layout::kShard);
    // A stream is only for programs with our reader: what can be read in place by all is better.
    if (for_whom_.can_stream && !Wants(kInPlaceTier)) layouts.push_back(Layout::kStream);
    return layouts;
  }

  void RequireFileForEachNode() const {
    if (all_.size() >= static_cast<std::size_t>(plan_.nodes)) return;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("dataset '{}': {} {} cannot be shared by {} nodes, as distribute: node-shard asks",
                            plan_.request.name, all_.size(), all_.size() == 1 ? "file" : "files", plan_.nodes),
                "make more files of it with 'slipway data convert', take fewer nodes, or write distribute: shard");
  }

  /// Sets what the layout decides before a tier is known. False when the files cannot be laid out so.
  bool Prepare(Layout layout) {
    plan_.layout = layout;
    plan_.files.clear();
    plan_.shares.clear();
    plan_.shared_out.clear();
    if (layout == Layout::kShard && !ShareOut()) return false;
    plan_.total = TotalOf(Files());
    plan_.generation = GenerationName(plan_.request, Files(), layout);
    return true;
  }

  /// Of this node. They are many: those of all nodes are moved into the plan, not copied.
  const std::vector<SourceFile>& Files() const { return plan_.layout == Layout::kShard ? plan_.files : all_; }

  StagingPlan Finished() {
    if (plan_.layout != Layout::kShard) plan_.files = std::move(all_);
    return std::move(plan_);
  }

  bool ShareOut() {
    if (all_.size() < static_cast<std::size_t>(plan_.nodes)) {
      Reject(fmt::format("shards: {} files cannot be shared by {} nodes", all_.size(), plan_.nodes));
      return false;
    }
    owners_ = AssignFiles(all_, plan_.nodes);
    plan_.shares = SumShares(all_, owners_, plan_.nodes);
    plan_.shared_out = GenerationName(plan_.request, all_, Layout::kShard);
    plan_.largest_share = LargestShare({}).bytes;
    plan_.files = FilesOfNode(all_, owners_, plan_.node);
    return true;
  }

  bool Take(const std::string& name) {
    const auto* tier = FindTier(tiers_, name);
    if (tier == nullptr || !tier->usable) {
      Reject(fmt::format("{}: {}", name, tier == nullptr ? "not known here" : tier->reason));
      return false;
    }
    if (Contains(tier->generations, plan_.generation)) {
      Choose(*tier, WithShares("already staged there"));
      return true;
    }
    if (Contains(tier->being_staged, plan_.generation)) {  // its space is taken already: wait for it
      Choose(*tier, WithShares("another run is staging it there"));
      return true;
    }
    return plan_.layout == Layout::kStream ? TakeWindow(*tier) : TakeWhole(*tier);
  }

  bool TakeWhole(const TierState& tier) {
    const auto need = NeedIn(tier);
    if (const auto lack = Lack(tier, need)) {
      Reject(fmt::format("{}: {}{}", tier.name, Whose(tier), *lack));
      return false;
    }
    Choose(tier, ReasonFor(tier));
    return true;
  }

  /// All shares lie in a tier that the whole job sees; elsewhere the largest share must fit, so that every node comes
  /// to the same plan.
  SpaceNeed NeedIn(const TierState& tier) const {
    if (plan_.layout != Layout::kShard || tier.scope == TierScope::kJob) {
      return PlannedNeedOf(all_, for_whom_.read_ahead);
    }
    return LargestShare(for_whom_.read_ahead);
  }

  SpaceNeed LargestShare(Bytes read_ahead) const {
    SpaceNeed most;
    for (int node = 0; node < plan_.nodes; ++node) {
      const auto files = FilesOfNode(all_, owners_, node);
      const auto need = PlannedNeedOf(files, std::min(read_ahead, TotalOf(files)));
      most = {std::max(most.bytes, need.bytes), std::max(most.inodes, need.inodes)};
    }
    return most;
  }

  std::string Whose(const TierState& tier) const {
    if (plan_.layout != Layout::kShard || tier.scope == TierScope::kJob || plan_.nodes == 1) return {};
    return fmt::format("the largest of {} shares ", plan_.nodes);
  }

  static std::optional<std::string> Lack(const TierState& tier, const SpaceNeed& need) {
    if (need.bytes > tier.available) {
      return fmt::format("needs {}, {} is free", FormatBytes(need.bytes), FormatBytes(tier.available));
    }
    if (need.inodes > tier.free_inodes) {
      return fmt::format("needs {} inodes, {} are free", need.inodes, tier.free_inodes);
    }
    return {};
  }

  /// The window must hold the two largest files: one that is read, and the next one. Directories and indices are there
  /// for all files.
  bool TakeWindow(const TierState& tier) {
    const auto whole = NeedOf(all_);
    const auto besides =
        SaturatingSum(whole.bytes.count - std::min(whole.bytes, plan_.total).count, for_whom_.read_ahead.count);
    const auto window = std::min(plan_.total.count, SaturatingSum(LargestOf(all_).count, LargestOf(all_).count));
    const SpaceNeed least{Bytes{WithMargin(SaturatingSum(besides, window))}, 2 * whole.inodes};
    const auto lack = tier.scope == TierScope::kJob ? "all nodes would share one window" : Lack(tier, least);
    if (lack) {
      Reject(fmt::format("{}: a window {}", tier.name, *lack));
      return false;
    }
    const auto available = tier.available.count - tier.available.count / 21 - 1;
    plan_.window = std::min(plan_.total, Bytes{std::max(available - std::min(available, besides), window)});
    Choose(tier, fmt::format("streams {} through a window of {}: {} is free", FormatBytes(plan_.total),
                             FormatBytes(plan_.window), FormatBytes(tier.available)));
    return true;
  }

  std::string WithShares(std::string reason) const {
    return plan_.shares.empty() ? reason : reason + "; shared out, " + DescribeShares(plan_.shares);
  }

  std::string ReasonFor(const TierState& tier) const {
    if (plan_.layout != Layout::kShard) return fmt::format("fits: {} is free", FormatBytes(tier.available));
    return fmt::format("shared out, {}: {} is free", DescribeShares(plan_.shares), FormatBytes(tier.available));
  }

  void Choose(const TierState& tier, std::string reason) {
    plan_.tier = tier.name;
    plan_.root = tier.root;
    plan_.scope = tier.scope;
    plan_.origin = tier.origin;
    plan_.capacity = tier.capacity;
    plan_.counts_as_memory = tier.counts_as_memory;
    plan_.bandwidth = Tighter(plan_.request.bandwidth, tier.bandwidth);
    plan_.reason = std::move(reason);
    plan_.stages_here =
        !IsPlace(tier) || tier.scope == TierScope::kNode || plan_.layout == Layout::kShard || plan_.node == 0;
    plan_.directory =
        IsPlace(tier) || Files().empty() ? tier.root / plan_.generation : Files().front().path.parent_path();
  }

  /// A tier that cannot be used at all is named once, not for every layout.
  void Reject(std::string line) {
    auto& lines = plan_.rejected;
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }

  Error NothingFits() const {
    return Error(
        ErrorKind::kEnvironment,
        fmt::format("no tier can hold dataset '{}' ({} {}, {}{}): {}", plan_.request.name, all_.size(),
                    all_.size() == 1 ? "file" : "files", FormatBytes(PlannedNeedOf(all_, for_whom_.read_ahead).bytes),
                    plan_.nodes > 1 ? fmt::format(" for {} nodes", plan_.nodes) : "", fmt::join(plan_.rejected, "; ")),
        fmt::format("free space, name another tier in data.{}.tier (dir:PATH), or add 'none' there to read the "
                    "files where they are",
                    plan_.request.name));
  }

  std::vector<SourceFile> all_;
  const std::vector<TierState>& tiers_;
  PlanRequest for_whom_;
  std::vector<int> owners_;
  StagingPlan plan_;
};

Json ToJson(const NodeContent& share) {
  return {
      {"bytes", share.bytes.count}, {"files", share.files}, {"records", share.records ? Json(*share.records) : Json()}};
}

Json SharesToJson(const std::vector<NodeContent>& shares) {
  Json list = Json::array();
  for (const auto& share : shares) list.push_back(ToJson(share));
  return list;
}

Json ToJson(const SourceFile& file) {
  return {{"path", Utf8Name(file.path.native())}, {"name", file.name.string()}, {"bytes", file.size.count}};
}

}  // namespace

SpaceNeed NeedOf(const std::vector<SourceFile>& files) {
  const auto directories = DirectoriesIn(files) + 3;  // the generation, .staging, .locks
  // Manifest and index (each twice for a moment), journal, two locks, the reservation and its lock.
  SpaceNeed need{Bytes{directories * kBlock + 5 * kBlock}, files.size() + directories + 9};
  for (const auto& file : files) need.bytes.count += SpaceOfFile(file);
  return need;
}

SpaceNeed PlannedNeedOf(const std::vector<SourceFile>& files, Bytes read_ahead) {
  const auto need = NeedOf(files);
  return {Bytes{WithMargin(SaturatingSum(need.bytes.count, read_ahead.count))}, need.inodes};
}

StagingPlan PlanStaging(const DatasetRequest& request, std::vector<SourceFile> files,
                        const std::vector<TierState>& tiers, const PlanRequest& for_whom) {
  CheckDatasetName(request.name);
  if (for_whom.nodes < 1 || for_whom.node < 0 || for_whom.node >= for_whom.nodes) {
    throw Error(ErrorKind::kInternal, fmt::format("a plan for node {} of {}", for_whom.node, for_whom.nodes));
  }
  return Planner(request, std::move(files), tiers, for_whom).Plan();
}

StagingPlan PlanStaging(const DatasetRequest& request, ListedSources sources, const std::vector<TierState>& tiers,
                        const PlanRequest& for_whom) {
  auto plan = PlanStaging(request, std::move(sources.files), tiers, for_whom);
  plan.left_out = std::move(sources.left_out);
  return plan;
}

Json ToJson(const StagingPlan& plan) {
  auto document = SummaryOf(plan);
  auto& files = document["files"] = Json::array();
  for (const auto& file : plan.files) files.push_back(ToJson(file));
  return document;
}

std::string RenderListingOf(const StagingPlan& plan) {
  return RenderListing(plan.request.format, plan.files.size(), [&](std::size_t i, ListedFile& listed) {
    const auto& file = plan.files[i];
    listed.path = file.name.native();
    listed.bytes = file.size;
    listed.records = file.records;
  });
}

Json SummaryOf(const StagingPlan& plan) {
  return {{"name", plan.request.name},
          {"format", WordOf(plan.request.format)},
          {"distribute", WordOf(plan.request.distribution)},
          {"verify", WordOf(plan.request.verify)},
          {"bytes", plan.total.count},
          {"tier", plan.tier},
          {"origin", plan.origin},
          {"scope", WordOf(plan.scope)},
          {"layout", WordOf(plan.layout)},
          {"nodes", plan.nodes},
          {"stages_here", plan.stages_here},
          {"shares", SharesToJson(plan.shares)},
          {"window_bytes", plan.window.count},
          {"bandwidth", plan.bandwidth.count == 0 ? Json() : Json(plan.bandwidth.count)},
          {"reason", Utf8Name(plan.reason)},
          {"rejected", plan.rejected},
          {"generation", plan.generation},
          {"directory", Utf8Name(plan.directory.native())},
          {"left_out", ToJson(std::span(plan.left_out))}};
}

}  // namespace slipway::staging
