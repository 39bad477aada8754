// `slipway data stats`: what the values of a dataset are like.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "core/text_table.h"
#include "launcher/cli/commands/data.h"
#include "launcher/cli/commands/left_out.h"
#include "staging/dataset/statistics.h"

namespace slipway::launcher {
namespace {

Json MomentsDocument(const staging::Moments& moments) {
  Json document = {{"count", moments.count()},
                   {"not_finite", moments.not_finite()},
                   {"nan", moments.nan()},
                   {"infinite", moments.infinite()}};
  if (moments.count() == 0) return document;
  document["min"] = moments.min();
  document["max"] = moments.max();
  document["mean"] = moments.mean();
  document["std"] = moments.deviation();
  return document;
}

Json Exactly(long double integer) {
  return integer < 0 ? Json(static_cast<std::int64_t>(integer)) : Json(static_cast<std::uint64_t>(integer));
}

Json ValuesDocument(const staging::FieldStatistics& field) {
  auto document = MomentsDocument(field.values);
  if (!field.integers) return document;
  document["min"] = Exactly(field.integers->min);
  document["max"] = Exactly(field.integers->max);
  return document;
}

Json ClassesDocument(const staging::FieldStatistics& field) {
  if (!field.classes || field.classes->empty()) return nullptr;
  Json list = Json::array();
  for (const auto& [value, count] : *field.classes) list.push_back({{"value", value}, {"count", count}});
  return list;
}

Json FieldDocument(const staging::FieldStatistics& field) {
  Json document = {{"name", field.name},
                   {"kind", field.kind},
                   {"records", field.records},
                   {"values", ValuesDocument(field)},
                   {"classes", ClassesDocument(field)}};
  if (field.lengths.count() > 0) document["lengths"] = MomentsDocument(field.lengths);
  return document;
}

std::vector<std::string> Row(const staging::FieldStatistics& field) {
  const auto number = [&](double value) { return field.values.count() == 0 ? "-" : fmt::format("{:.6g}", value); };
  const auto least = field.integers ? fmt::format("{:.0f}", field.integers->min) : number(field.values.min());
  const auto most = field.integers ? fmt::format("{:.0f}", field.integers->max) : number(field.values.max());
  const auto lengths = field.lengths.count() == 0 ? "-"
                                                  : fmt::format("{:.0f} / {:.1f} / {:.0f}", field.lengths.min(),
                                                                field.lengths.mean(), field.lengths.max());
  return {field.name,
          field.kind,
          std::to_string(field.records),
          least,
          most,
          number(field.values.mean()),
          number(field.values.deviation()),
          std::to_string(field.values.nan()),
          std::to_string(field.values.infinite()),
          lengths};
}

std::string ClassesText(const staging::FieldStatistics& field) {
  constexpr std::size_t kMostShown = 20;
  if (!field.classes || field.classes->empty() || field.classes->size() > kMostShown) return "";
  std::string text = field.name + ":";
  for (const auto& [value, count] : *field.classes) text += fmt::format("  {} x {}", value, count);
  return text + "\n";
}

std::string UnevenText(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) return "";
  const auto others = files.size() == 1 ? "" : fmt::format(" (and of {} more)", files.size() - 1);
  return fmt::format(
      "the datasets of '{}'{} have different numbers of rows: the column records says how many each has\n",
      files.front().string(), others);
}

}  // namespace

int DataStats(const DataStatsOptions& options, Output& output) {
  const auto show = [&](std::uint64_t done) { output.Progress(fmt::format("reading  {} records", done)); };
  const auto files = staging::FindDatasetFiles(options.path);
  const auto statistics = staging::StatisticsOf(files, show);
  output.Progress("");
  TextTable table({"field", "kind", "records", "min", "max", "mean", "std", "NaN", "inf", "bytes min / mean / max"});
  Json fields = Json::array();
  std::string classes;
  for (const auto& field : statistics.fields) {
    table.AddRow(Row(field));
    fields.push_back(FieldDocument(field));
    classes += ClassesText(field);
  }
  const Json document = {{"schema", "slipway.data_stats/1"},
                         {"records", statistics.records ? Json(*statistics.records) : Json()},
                         {"fields", fields},
                         {"left_out", staging::ToJson(std::span(files.left_out))}};
  output.Print({document, table.Render() + classes + UnevenText(statistics.uneven),
                statistics.records ? std::to_string(*statistics.records) : "differ"});
  WarnOfLeftOut(options.path.string(), files.left_out, files.files.size(), output);
  return 0;
}

}  // namespace slipway::launcher
