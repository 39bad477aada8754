#include "launcher/view/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text_table.h"

namespace slipway::launcher {
namespace {

constexpr double kJoulesOfKwh = 3.6e6;

std::string KeyOf(const UsedRun& run, UsageKey key) {
  switch (key) {
    case UsageKey::kUser: return run.user;
    case UsageKey::kName: return run.name;
    case UsageKey::kEngine: return run.engine;
  }
  return {};
}

void AddRun(const Accounting& accounting, UsageRow& row) {
  ++row.runs;
  row.node_hours += accounting.node_hours;
  row.core_hours += accounting.core_hours;
  row.gpu_hours += accounting.gpu_hours;
  row.energy += accounting.energy;
  for (const auto& [part, seconds] : accounting.parts) row.parts_hours[part] += seconds / kSecondsOfHour;
}

double ShareOfRow(const UsageRow& row, const std::string& part) {
  const auto found = row.parts_hours.find(part);
  return found == row.parts_hours.end() || row.node_hours <= 0 ? 0 : found->second / row.node_hours;
}

Json NumberOrNull(std::optional<double> number) { return number ? Json(*number) : Json(); }

Json RowToJson(const Usage& usage, const UsageRow& row) {
  Json json = Json::object();
  for (std::size_t i = 0; i < row.keys.size(); ++i) json[std::string(WordOf(usage.by[i]))] = row.keys[i];
  json.update({{"runs", row.runs},
               {"node_hours", row.node_hours},
               {"core_hours", row.core_hours},
               {"gpu_hours", row.gpu_hours},
               {"energy_j", NumberOrNull(row.energy.sum())},
               {"cpu_energy_j", NumberOrNull(row.energy.cpu_j)},
               {"gpu_energy_j", NumberOrNull(row.energy.gpu_j)},
               {"lost_share", ShareOfRow(row, "lost")},
               {"idle_share", ShareOfRow(row, "idle")},
               {"parts_hours", row.parts_hours}});
  return json;
}

std::string KwhText(std::optional<double> joules) {
  return joules ? fmt::format("{:.3f}", *joules / kJoulesOfKwh) : "-";
}

std::vector<std::string> CellsOf(const UsageRow& row) {
  auto cells = row.keys;
  for (const auto& text :
       {std::to_string(row.runs), fmt::format("{:.2f}", row.node_hours), fmt::format("{:.2f}", row.core_hours),
        fmt::format("{:.2f}", row.gpu_hours), KwhText(row.energy.cpu_j), KwhText(row.energy.gpu_j),
        fmt::format("{:.1f}", 100 * ShareOfRow(row, "lost")), fmt::format("{:.1f}", 100 * ShareOfRow(row, "idle"))}) {
    cells.push_back(text);
  }
  return cells;
}

}  // namespace

WordTable<UsageKey> WordsOf(UsageKey) {
  static constexpr Word<UsageKey> kWords[] = {{UsageKey::kUser, "user", "owner of the run folder"},
                                              {UsageKey::kName, "name", "name of the experiment"},
                                              {UsageKey::kEngine, "engine", "who started the ranks"}};
  return kWords;
}

Usage SumUsage(std::span<const UsedRun> runs, std::vector<UsageKey> by) {
  Usage usage{std::move(by), {}, {}};
  std::map<std::vector<std::string>, UsageRow> rows;
  for (const auto& run : runs) {
    std::vector<std::string> keys;
    for (const auto key : usage.by) keys.push_back(KeyOf(run, key));
    auto& row = rows[keys];
    row.keys = keys;
    AddRun(run.accounting, row);
    AddRun(run.accounting, usage.total);
  }
  for (auto& [keys, row] : rows) usage.rows.push_back(std::move(row));
  std::ranges::stable_sort(usage.rows, std::greater(), &UsageRow::node_hours);
  return usage;
}

Json ToJson(const Usage& usage, std::optional<double> since) {
  Json document{{"schema", "slipway.usage/1"},
                {"since", NumberOrNull(since)},
                {"by", Json::array()},
                {"rows", Json::array()},
                {"total", RowToJson(usage, usage.total)}};
  for (const auto key : usage.by) document["by"].push_back(WordOf(key));
  for (const auto& row : usage.rows) document["rows"].push_back(RowToJson(usage, row));
  return document;
}

std::string Describe(const Usage& usage) {
  std::vector<std::string> header;
  for (const auto key : usage.by) header.emplace_back(WordOf(key));
  for (const char* name : {"runs", "node-hours", "core-hours", "GPU-hours", "CPU kWh", "GPU kWh", "lost %", "idle %"}) {
    header.emplace_back(name);
  }
  TextTable table(header);
  for (const auto& row : usage.rows) table.AddRow(CellsOf(row));
  if (usage.rows.size() == 1) return table.Render();
  auto total = usage.total;
  total.keys.assign(usage.by.size(), "");
  if (!total.keys.empty()) total.keys.front() = "all";
  table.AddRow(CellsOf(total));
  return table.Render();
}

}  // namespace slipway::launcher
