#include "launcher/plan/data_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "launcher/plan/promised_buffer.h"

namespace slipway::launcher {
namespace {

/// What the reader of one rank keeps in memory: buffers for decoding and for the next batches.
constexpr std::uint64_t kReadAheadOfRank = std::uint64_t{32} << 20;

/// Damaged records that the reader is to skip must come through.
staging::VerifyMode VerifyModeOf(const DatasetSpec& dataset) {
  const bool skips = dataset.on_corrupt == staging::OnCorrupt::kSkip;
  switch (dataset.verify) {
    case Verification::kOff: return staging::VerifyMode::kOff;
    case Verification::kFormat: return skips ? staging::VerifyMode::kFraming : staging::VerifyMode::kFormat;
    case Verification::kFull: return skips ? staging::VerifyMode::kFullFraming : staging::VerifyMode::kFull;
  }
  return staging::VerifyMode::kFormat;
}

Bytes TotalOf(const std::vector<staging::SourceFile>& files) {
  Bytes total;
  for (const auto& file : files) total.count += file.size.count;
  return total;
}

}  // namespace

staging::DatasetRequest RequestFor(const DatasetSpec& dataset, const SiteSpec& site) {
  staging::DatasetRequest request;
  request.name = dataset.name;
  request.sources = dataset.sources;
  request.format = dataset.format;
  request.tiers = dataset.tiers;
  request.distribution = dataset.distribute;
  request.verify = VerifyModeOf(dataset);
  request.bandwidth = dataset.bandwidth.count > 0 ? dataset.bandwidth : site.bandwidth;
  return request;
}

staging::StagingPlan PlanDataset(const staging::DatasetRequest& request, const std::vector<staging::TierState>& tiers,
                                 const staging::PlanRequest& for_whom) {
  return WithContext(fmt::format("while planning dataset '{}'", request.name), [&] {
    auto sources = staging::ListSources(request);
    auto whom = for_whom;
    whom.read_ahead = std::min(whom.read_ahead, TotalOf(sources.files));  // no reader goes beyond the data
    return staging::PlanStaging(request, std::move(sources), tiers, whom);
  });
}

namespace {

staging::PlanRequest NodeOf(const Spec& spec, int node, const DatasetSpec& dataset) {
  const auto& launch = spec.launch;
  staging::PlanRequest for_whom;
  for_whom.nodes = spec.nodes_of_job();
  for_whom.node = node;
  // Only the batch reader reads a stream, and labels of images need all folders.
  const bool streams = dataset.format != staging::DataFormat::kRaw && dataset.format != staging::DataFormat::kImages;
  for_whom.can_stream = streams && launch.engine != EngineChoice::kSlurm && launch.nodes == 1;
  for_whom.can_share = false;
  for_whom.read_ahead = Bytes{kReadAheadOfRank * static_cast<std::uint64_t>(launch.ranks_per_node)};
  return for_whom;
}

/// Beside every tier stands the source itself, so that a tier that is too small is no error but a reason.
TierPlan PlanInTier(staging::DatasetRequest request, const std::string& tier, staging::ListedSources sources,
                    const std::vector<staging::TierState>& tiers, const staging::PlanRequest& for_whom) {
  const auto wanted = std::exchange(request.tiers, {tier, std::string(staging::kInPlaceTier)});
  auto plan = staging::PlanStaging(request, std::move(sources), tiers, for_whom);
  if (plan.tier != tier) return {tier, {}, fmt::format("{}", fmt::join(plan.rejected, "; "))};
  plan.request.tiers = wanted;
  plan.rejected.clear();
  return {tier, std::move(plan), {}};
}

std::vector<TierPlan> PlanInEachTier(staging::DatasetRequest request, const SpecDocument& document,
                                     staging::PlanRequest for_whom) {
  auto looked_at = request.tiers;
  looked_at.emplace_back(staging::kInPlaceTier);
  auto tiers = TiersForRun(looked_at, document);
  PreferStagedIn(request, tiers);
  const auto sources = staging::ListSources(request);
  for_whom.read_ahead = std::min(for_whom.read_ahead, TotalOf(sources.files));
  std::vector<TierPlan> plans;
  for (const auto& tier : request.tiers) plans.push_back(PlanInTier(request, tier, sources, tiers, for_whom));
  return plans;
}

}  // namespace

std::vector<std::vector<TierPlan>> PlanInEachTier(const SpecDocument& document, int node) {
  std::vector<std::vector<TierPlan>> all;
  for (const auto& dataset : document.spec.data) {
    all.push_back(WithContext(fmt::format("while planning dataset '{}'", dataset.name), [&] {
      return PlanInEachTier(RequestFor(dataset, document.spec.site), document, NodeOf(document.spec, node, dataset));
    }));
  }
  return all;
}

std::vector<staging::StagingPlan> PlanDatasets(const SpecDocument& document, int node) {
  std::vector<staging::StagingPlan> plans;
  for (const auto& dataset : document.spec.data) {
    const auto for_whom = NodeOf(document.spec, node, dataset);
    auto request = RequestFor(dataset, document.spec.site);
    auto tiers = TiersForRun(request.tiers, document);
    PreferStagedIn(request, tiers);
    plans.push_back(PlanDataset(request, tiers, for_whom));
    if (IsPromised(plans.back().root)) plans.back().reason = "the job asks for it";
  }
  return plans;
}

bool IsSharedOut(const staging::StagingPlan& plan) { return plan.nodes > 1 && plan.layout == staging::Layout::kShard; }

bool IsStagedOnEachNode(const staging::StagingPlan& plan) {
  if (IsSharedOut(plan)) return true;
  return plan.nodes > 1 && plan.scope == staging::TierScope::kNode && !staging::ReadsInPlace(plan);
}

std::filesystem::path PlannedDirectory(const staging::StagingPlan& plan) {
  if (!IsSharedOut(plan)) return plan.directory;
  const auto root = staging::ReadsInPlace(plan) ? std::filesystem::path("<run>/data") : plan.root;
  return root / (plan.request.name + "-<share of the node>");
}

std::filesystem::path ShareListIn(const std::filesystem::path& data, const std::string& dataset) {
  return data / (dataset + ".shares.json");
}

namespace {

std::string LineOf(std::string_view text) { return fmt::format("  {:<10} {}\n", "", text); }

/// Of all nodes.
staging::NodeContent AllOf(const staging::StagingPlan& plan) {
  if (!IsSharedOut(plan)) return {plan.total, plan.files.size(), {}};
  staging::NodeContent all;
  for (const auto& share : plan.shares) {
    all.bytes.count += share.bytes.count;
    all.files += share.files;
  }
  return all;
}

std::string SaysWhoStages(const staging::StagingPlan& plan) {
  if (plan.nodes == 1) return {};
  if (IsSharedOut(plan)) {
    return LineOf(staging::ReadsInPlace(plan) ? "each node reads its share" : "each node stages its share") +
           LineOf("the ranks of a node read, and shuffle, what it holds");
  }
  if (staging::ReadsInPlace(plan)) return {};
  if (plan.scope == staging::TierScope::kJob) return LineOf("all nodes see it, the first stages");
  return LineOf("each node has its own, all bytes are read once");
}

}  // namespace

std::string DescribeDataset(const staging::StagingPlan& plan, const DatasetSpec& dataset) {
  const auto all = AllOf(plan);
  auto text = fmt::format("  {:<10} {} in {} -> tier {} ({})\n", plan.request.name, FormatBytes(all.bytes),
                          Counted(all.files, "file"), plan.tier, plan.reason);
  for (const auto& rejected : plan.rejected) text += LineOf("not " + rejected);
  text += LineOf(PlannedDirectory(plan).string());
  if (!staging::ReadsInPlace(plan))
    text += LineOf(plan.origin == "built in" ? "a tier of every machine" : "tier from " + plan.origin);
  text += SaysWhoStages(plan);
  if (plan.bandwidth.count > 0) text += LineOf(fmt::format("at most {}/s", FormatBytes(plan.bandwidth)));
  if (plan.layout == staging::Layout::kStream) {
    text += LineOf("streams: only the batch reader of Slipway, in its windowed order, can read it");
  } else if (dataset.overlap) {
    text += LineOf(staging::ReadsInPlace(plan) ? "overlap: nothing is copied, so nothing is waited for"
                                               : "overlap: the ranks start while it arrives");
  }
  if (dataset.remainder != staging::Remainder::kDrop)
    text += LineOf(fmt::format("remainder: {}", WordOf(dataset.remainder)));
  if (dataset.on_corrupt != staging::OnCorrupt::kFail)
    text += LineOf("on_corrupt: skip, damaged records are left out and counted");
  return text;
}

}  // namespace slipway::launcher
