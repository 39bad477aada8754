// `slipway data stats`: what the values of a dataset are like.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text_table.h"
#include "launcher/commands/data.h"
#include "staging/dataset/statistics.h"

namespace slipway::launcher {
namespace {

Json MomentsDocument(const staging::Moments& moments) {
  if (moments.count() == 0) return {{"count", 0}, {"not_finite", moments.not_finite()}};
  return {{"count", moments.count()}, {"not_finite", moments.not_finite()},
          {"min", moments.min()},     {"max", moments.max()},
          {"mean", moments.mean()},   {"std", moments.deviation()}};
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
                   {"values", MomentsDocument(field.values)},
                   {"classes", ClassesDocument(field)}};
  if (field.lengths.count() > 0) document["lengths"] = MomentsDocument(field.lengths);
  return document;
}

std::vector<std::string> Row(const staging::FieldStatistics& field) {
  const auto number = [&](double value) { return field.values.count() == 0 ? "-" : fmt::format("{:.6g}", value); };
  const auto lengths = field.lengths.count() == 0 ? "-"
                                                  : fmt::format("{:.0f} / {:.1f} / {:.0f}", field.lengths.min(),
                                                                field.lengths.mean(), field.lengths.max());
  return {field.name,
          field.kind,
          std::to_string(field.records),
          number(field.values.min()),
          number(field.values.max()),
          number(field.values.mean()),
          number(field.values.deviation()),
          lengths};
}

std::string ClassesText(const staging::FieldStatistics& field) {
  constexpr std::size_t kMostShown = 20;
  if (!field.classes || field.classes->empty() || field.classes->size() > kMostShown) return "";
  std::string text = field.name + ":";
  for (const auto& [value, count] : *field.classes) text += fmt::format("  {} x {}", value, count);
  return text + "\n";
}

}  // namespace

int DataStats(const DataStatsOptions& options, Output& output) {
  const auto show = [&](std::uint64_t done) { output.Progress(fmt::format("reading  {} records", done)); };
  const auto statistics = staging::StatisticsOf(staging::FindDatasetFiles(options.path), show);
  output.Progress("");
  TextTable table({"field", "kind", "records", "min", "max", "mean", "std", "bytes min / mean / max"});
  Json fields = Json::array();
  std::string classes;
  for (const auto& field : statistics.fields) {
    table.AddRow(Row(field));
    fields.push_back(FieldDocument(field));
    classes += ClassesText(field);
  }
  const Json document = {{"schema", "slipway.data_stats/1"}, {"records", statistics.records}, {"fields", fields}};
  output.Print({document, table.Render() + classes, std::to_string(statistics.records)});
  return 0;
}

}  // namespace slipway::launcher
