// `slipway stage in`.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/event_loop.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "core/text.h"
#include "launcher/cli/commands/data_hdf5.h"
#include "launcher/cli/commands/left_out.h"
#include "launcher/cli/commands/stage.h"
#include "launcher/cli/commands/stage_tiers.h"
#include "launcher/plan/data_plan.h"
#include "staging/generation/discover_tiers.h"
#include "staging/generation/stage.h"
#include "staging/network/group_key.h"
#include "staging/network/stage_across.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

/// What is to be staged, and what is known of the machine.
struct Work {
  std::vector<staging::DatasetRequest> requests;
  std::vector<staging::TierDefinition> tiers;
};

bool IsSpec(const std::string& name) {
  const auto extension = fs::path(name).extension();
  return (extension == ".yaml" || extension == ".yml") && !IsDirectory(name);
}

Bytes BandwidthOf(const std::string& text) {
  const auto bytes = ParseBytes(text);
  if (bytes && bytes->count > 0) return *bytes;
  throw Error(ErrorKind::kUsage, fmt::format("--bandwidth '{}' is not a number of bytes a second", text),
              "write it like 500MB or 1.5GiB");
}

/// What the command line says about every dataset.
void ApplyOptions(staging::DatasetRequest& request, const StageInOptions& options, const SiteSpec& site) {
  if (!options.tiers.empty()) request.tiers = WithoutAliases(options.tiers, site);
  if (!options.verify.empty()) request.verify = FromWord<staging::VerifyMode>(options.verify).value();
  if (!options.bandwidth.empty()) request.bandwidth = BandwidthOf(options.bandwidth);
}

const DatasetSpec& DatasetNamed(const Spec& spec, const std::string& name) {
  for (const auto& dataset : spec.data) {
    if (dataset.name == name) return dataset;
  }
  const auto names = JoinEach(spec.data, ", ", &DatasetSpec::name);
  throw Error(ErrorKind::kUsage, fmt::format("the spec has no dataset '{}'", name),
              names.empty() ? "it has none at all" : "it has " + names);
}

Work WorkOfSpec(const StageInOptions& options) {
  if (!options.name.empty() || !options.format.empty()) {
    throw Error(ErrorKind::kUsage, "--name and --format are for paths; a spec says both itself",
                "use --dataset NAME for one dataset of the spec");
  }
  const auto document = LoadSpec(options.sources.front(), options.overrides);
  Work work;
  work.tiers = SiteTiersOf(document);
  std::vector<DatasetSpec> datasets;
  for (const auto& name : options.datasets) datasets.push_back(DatasetNamed(document.spec, name));
  for (const auto& dataset : options.datasets.empty() ? document.spec.data : datasets) {
    work.requests.push_back(RequestFor(dataset, document.spec.site));
    ApplyOptions(work.requests.back(), options, document.spec.site);
  }
  return work;
}

staging::DataFormat FormatOf(const StageInOptions& options, const std::vector<std::string>& sources) {
  if (!options.format.empty()) return FromWord<staging::DataFormat>(options.format).value();
  const auto formats = staging::FormatsOfSources(sources);
  if (const auto one = formats.One()) return *one;
  throw Error(
      ErrorKind::kUsage, fmt::format("cannot choose a format: {}", formats.WhyNotOne()),
      std::string(formats.is_missing ? "correct the path, or " : "") +
          "add --format: one of tfrecord, hdf5, webdataset, numpy and images takes the files of this format from a "
          "folder, raw takes and sums all without a look at their content");
}

Work WorkOfPaths(const StageInOptions& options) {
  if (!options.datasets.empty() || !options.overrides.empty()) {
    throw Error(ErrorKind::kUsage, "--dataset and --set are for a spec", "name the spec instead of paths");
  }
  const auto site = LoadSite(SettingsFiles());
  staging::DatasetRequest request;
  request.name = options.name.empty() ? "data" : options.name;
  for (const auto& source : options.sources) request.sources.push_back(fs::absolute(source).lexically_normal());
  request.format = FormatOf(options, request.sources);
  request.tiers = site.tier_order.empty() ? std::vector<std::string>{"burst", "node", "ram"} : site.tier_order;
  request.distribution = staging::Distribution::kReplicate;
  request.bandwidth = site.bandwidth;
  ApplyOptions(request, options, site);
  return {{request}, site.tiers};
}

/// The nodes that stage together; nothing when this node stages alone.
std::optional<staging::NodeGroup> GroupOf(const StageInOptions& options) {
  if (options.nodes_file.empty() && options.node < 0 && options.key_file.empty()) return {};
  if (options.nodes_file.empty() || options.node < 0 || options.key_file.empty()) {
    throw Error(ErrorKind::kUsage, "--nodes, --node and --key belong together",
                "name the list of the nodes, this node's place in it from 0, and the key ('slipway stage key FILE')");
  }
  staging::NodeGroup group;
  group.number = static_cast<std::uint32_t>(options.node);
  group.nodes = staging::ReadNodesFile(options.nodes_file);
  group.key_file = options.key_file;
  staging::CheckGroup(group);
  return group;
}

/// What is to be staged, and how long it took to find out.
struct TimedPlan {
  staging::StagingPlan plan;
  Seconds planning{};
};

/// Who asks for staging wants a copy: `none` counts only where nothing else is named.
std::vector<TimedPlan> PlansOf(const Work& work) {
  std::vector<TimedPlan> plans;
  for (auto request : work.requests) {
    const auto started = SystemClock().Steady();
    if (request.tiers != std::vector<std::string>{staging::kInPlaceTier}) {
      std::erase(request.tiers, staging::kInPlaceTier);
    }
    auto plan = PlanDataset(request, staging::DiscoverTiers(request.tiers, work.tiers), {});
    plans.push_back({std::move(plan), SystemClock().Steady() - started});
  }
  return plans;
}

Json DocumentOf(const staging::StagingPlan& plan) {
  auto document = staging::SummaryOf(plan);
  document["file_count"] = plan.files.size();
  document["adopted"] = nullptr;
  document["copied_bytes"] = 0;
  document["seconds"] = nullptr;
  document["planning_seconds"] = nullptr;
  return document;
}

std::string HeadOf(const staging::StagingPlan& plan) {
  return fmt::format("{}: {} in {}", plan.request.name, FormatBytes(plan.total), Counted(plan.files.size(), "file"));
}

std::string DescribePlanned(const staging::StagingPlan& plan) {
  auto text = fmt::format("{} -> tier {} ({})\n", HeadOf(plan), plan.tier, plan.reason);
  for (const auto& rejected : plan.rejected) text += fmt::format("  not {}\n", rejected);
  if (!staging::ReadsInPlace(plan)) text += fmt::format("  {}\n", plan.directory.string());
  return text;
}

/// What was looked at inside HDF5 files, whose checksums do not stream past.
std::string OwnSumsText(const staging::StagingPlan& plan, const staging::StagedDataset& staged) {
  if (staged.adopted || plan.request.format != staging::DataFormat::kHdf5) return {};
  if (!staged.own_sums) return "  checksums inside the HDF5 files: not compared; --verify full compares them\n";
  return fmt::format("  checksums inside the HDF5 files: compared, {} of the values have them\n{}",
                     SummedText(*staged.own_sums), UnreadText(plan.request.name, *staged.own_sums));
}

class Stager {
 public:
  Stager(Output& output, std::optional<staging::NodeGroup> group)
      : output_(output), group_(std::move(group)), interrupt_(loop_) {}

  /// Adds to `document` what happened; returns it in words. The time is what the user waits: the search for the files
  /// counts, too.
  std::string Stage(const TimedPlan& timed, Json& document) {
    const auto& plan = timed.plan;
    const auto started = SystemClock().Steady();
    if (staging::ReadsInPlace(plan)) return HeadOf(plan) + ": read in place, nothing is staged\n";
    Progress progress(output_, "staging " + plan.request.name, plan.total);
    staging::StageOptions options;
    options.bandwidth = plan.bandwidth;
    options.progress = [&](const staging::StageProgress& now) { progress.Update(now.done, now.current); };
    options.cancelled = [&] {
      loop_.RunOnce(std::chrono::nanoseconds(0));
      return interrupt_.asked();
    };
    const auto staged = WithContext(fmt::format("while staging dataset '{}'", plan.request.name),
                                    [&] { return StageAnywhere(plan, options, document); });
    staging::MarkKept(plan.root, plan.generation);
    document["adopted"] = staged.adopted;
    const Seconds elapsed = timed.planning + (SystemClock().Steady() - started);
    document["copied_bytes"] = staged.copied.count;
    document["seconds"] = elapsed.count();
    document["planning_seconds"] = timed.planning.count();
    const auto how =
        staged.adopted ? fmt::format("already there, checked in {}", FormatDuration(elapsed))
                       : fmt::format("staged in {} ({})", FormatDuration(elapsed), FormatRate(staged.copied, elapsed));
    document["checksums"] = staged.own_sums ? VerificationDocument(*staged.own_sums) : Json();
    return fmt::format("{} -> tier {}: {}\n  {}\n{}", HeadOf(plan), plan.tier, how, plan.directory.string(),
                       OwnSumsText(plan, staged));
  }

 private:
  staging::StagedDataset StageAnywhere(const staging::StagingPlan& plan, const staging::StageOptions& options,
                                       Json& document) const {
    if (!group_) return staging::Stage(plan, options);
    auto staged = staging::StageAcrossNodes(plan, options, *group_);
    document["across"] = {{"node", group_->number},
                          {"nodes", group_->nodes.size()},
                          {"read_bytes", staged.read.count},
                          {"received_bytes", staged.received.count},
                          {"sent_bytes", staged.sent.count}};
    return std::move(staged.dataset);
  }

  Output& output_;
  const std::optional<staging::NodeGroup> group_;
  EventLoop loop_;
  Interrupt interrupt_;
};

}  // namespace

int StageIn(const StageInOptions& options, Session& session) {
  const bool is_spec = options.sources.size() == 1 && IsSpec(options.sources.front());
  const auto plans = PlansOf(is_spec ? WorkOfSpec(options) : WorkOfPaths(options));
  Stager stager(session.output, GroupOf(options));
  Json datasets = Json::array();
  std::string text;
  std::string brief;
  for (const auto& timed : plans) {
    const auto& plan = timed.plan;
    auto document = DocumentOf(plan);
    text += options.dry_run == DryRun::kYes ? DescribePlanned(plan) : stager.Stage(timed, document);
    WarnOfLeftOut(fmt::format("dataset '{}'", plan.request.name), plan.left_out, plan.files.size(), session.output);
    if (!staging::ReadsInPlace(plan)) brief += plan.directory.string() + "\n";
    datasets.push_back(std::move(document));
  }
  const Json document{{"schema", "slipway.stage_in/1"},
                      {"dry_run", options.dry_run == DryRun::kYes},
                      {"datasets", std::move(datasets)}};
  session.output.Print({document, text.empty() ? "the spec has no data\n" : text, brief});
  return 0;
}

int StageKey(const StageKeyOptions& options, Session& session) {
  staging::GroupKey::Create(options.file);
  const Json document{{"schema", "slipway.stage_key/1"}, {"file", options.file.string()}};
  session.output.Print({document,
                        fmt::format("{}: a new key; copy it to the same place on every node, readable by you alone\n",
                                    options.file.string()),
                        options.file.string() + "\n"});
  return 0;
}

}  // namespace slipway::launcher
