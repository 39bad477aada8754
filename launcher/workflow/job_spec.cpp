#include "launcher/workflow/job_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "launcher/spec/fields.h"
#include "launcher/spec/read_fields.h"
#include "launcher/workflow/step_spec.h"
#include "launcher/workflow/step_texts.h"

namespace slipway::launcher {
namespace {

using Kind = YamlNode::Kind;

/// Sections of a spec that a job takes as they are.
constexpr std::array<std::string_view, 5> kSections = {"launch", "checkpoint", "resilience", "site", "tiers"};
constexpr std::array<std::string_view, 3> kOfEnsembles = {"parallel", "placement", "nodes_per_trial"};
/// From the request to end to the end of the step, with what Slurm needs.
constexpr Seconds kAroundAttempts{60};

YamlNode Scalar(std::string text) {
  YamlNode node;
  node.kind = Kind::kScalar;
  node.text = std::move(text);
  return node;
}

YamlNode Map(std::vector<YamlEntry> entries = {}) {
  YamlNode node;
  node.kind = Kind::kMap;
  node.entries = std::move(entries);
  return node;
}

YamlEntry Entry(std::string key, YamlNode value) { return {std::move(key), {}, std::move(value)}; }

YamlNode& Section(YamlNode& map, const std::string& key) {
  auto* found = map.Find(key);
  if (found == nullptr || found->value.kind != Kind::kMap) {
    std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.key == key; });
    map.entries.push_back(Entry(key, Map()));
    found = &map.entries.back();
  }
  return found->value;
}

void Set(YamlNode& map, const std::string& key, std::string text) {
  std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.key == key; });
  map.entries.push_back(Entry(key, Scalar(std::move(text))));
}

bool HasReference(const YamlNode& node) { return node.text.find("${") != std::string::npos; }

/// Without values that hold references, and lists with such values.
YamlNode Known(YamlNode node) {
  const auto is_open = [](const YamlNode& item) { return HasReference(item); };
  if (std::ranges::any_of(node.items, is_open)) node.items.clear();
  std::erase_if(node.entries, [](const YamlEntry& entry) { return HasReference(entry.value); });
  for (auto& entry : node.entries) entry.value = Known(std::move(entry.value));
  return node;
}

/// `above` over `below`, by the fields of a spec.
YamlNode Laid(YamlNode below, YamlNode above) {
  auto result = Map({Entry("launch", Map({Entry("slurm", std::move(below))}))});
  Merge(FieldTree(), result, Map({Entry("launch", std::move(above))}));
  return std::move(result.Find("launch")->value);
}

/// Its trials never run: the job needs to know no more than how many there are at a time.
YamlNode EnsembleOfJob(const YamlNode& ensemble) {
  auto result = Map({Entry("objective", Map({Entry("metric", Scalar("m")), Entry("goal", Scalar("minimize"))})),
                     Entry("space", Map({Entry("x", Map({Entry("int",
                                                               [] {
                                                                 YamlNode range;
                                                                 range.kind = Kind::kList;
                                                                 range.items = {Scalar("1"), Scalar("1000000")};
                                                                 return range;
                                                               }())}))})),
                     Entry("trials", Scalar("1000000"))});
  for (const auto key : kOfEnsembles) {
    const auto* entry = ensemble.Find(key);
    if (entry != nullptr && !HasReference(entry->value)) result.entries.push_back(*entry);
  }
  return result;
}

YamlNode TrainOfJob(bool is_ensemble) {
  YamlNode words;
  words.kind = Kind::kList;
  words.items.push_back(Scalar("true"));
  if (is_ensemble) words.items.push_back(Scalar("{x}"));
  return Map({Entry("command", std::move(words))});
}

void PutResources(const Step& step, YamlNode& launch) {
  const auto& resources = step.resources;
  if (resources.memory.count > 0)
    Set(Section(launch, "slurm"), "memory_per_node", std::to_string(resources.memory.count));
  if (step.is_run()) return;
  Set(launch, "cpus_per_rank", std::to_string(resources.cpus.value_or(1)));
  Set(launch, "gpus_per_rank", std::to_string(resources.gpus.value_or(0)));
}

void PutTimeLimit(const Step& step, YamlNode& launch) {
  if (!step.time_limit) return;
  const auto all = *step.time_limit * (step.retries + 1) + kAroundAttempts;
  Set(launch, "time_limit", fmt::format("{}s", static_cast<long long>(std::ceil(all.count()))));
}

}  // namespace

YamlNode JobSpecOf(const Step& step) {
  auto result = Map({Entry("name", Scalar(step.group))});
  const auto* spec = SpecOf(step);
  const auto* ensemble = spec == nullptr ? nullptr : spec->Find("ensemble");
  for (const auto section : kSections) {
    const auto* entry = spec == nullptr ? nullptr : spec->Find(section);
    if (entry != nullptr) result.entries.push_back(Entry(std::string(section), Known(entry->value)));
  }
  auto& launch = Section(result, "launch");
  if (step.slurm) launch = Laid(*step.slurm, std::move(launch));
  Set(launch, "engine", "slurm");
  PutResources(step, launch);
  PutTimeLimit(step, launch);
  result.entries.push_back(Entry("train", TrainOfJob(ensemble != nullptr)));
  if (ensemble != nullptr) result.entries.push_back(Entry("ensemble", EnsembleOfJob(ensemble->value)));
  return result;
}

std::string JobSpecText(const Step& step) { return YamlOf(JobSpecOf(step)); }

bool WantsBurstBuffer(const Step& step) {
  const auto* spec = SpecOf(step);
  const auto* data = spec == nullptr ? nullptr : spec->Find("data");
  if (data == nullptr) return false;
  return std::ranges::any_of(data->value.entries, [](const YamlEntry& dataset) {
    const auto* tier = dataset.value.Find("tier");
    if (tier == nullptr) return false;
    const auto is_burst = [](const YamlNode& word) { return word.text == "burst"; };
    return is_burst(tier->value) || std::ranges::any_of(tier->value.items, is_burst);
  });
}

}  // namespace slipway::launcher
