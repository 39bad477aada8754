#include "launcher/provenance/differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/crc32c.h"
#include "core/lines.h"

namespace slipway::launcher {
namespace {

constexpr auto kEnvironmentFact = "environment.";

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void AddCode(const RepositoryState& code, Facts& facts) {
  if (code.commit) facts.emplace_back("commit", *code.commit);
  if (code.branch) facts.emplace_back("branch", *code.branch);
  for (const auto& [path, patch] : PatchesOf(code.diff)) {
    facts.emplace_back("diff." + path, fmt::format("changed, patch {:08x}", Crc32c(patch)));
  }
  for (const auto& file : code.diff_left_out) {
    facts.emplace_back("diff." + file.path, fmt::format("changed, {} B, not recorded", file.bytes));
  }
  for (const auto& submodule : code.submodules) {
    facts.emplace_back("submodule." + submodule.path, submodule.commit.value_or("not checked out") +
                                                          (submodule.is_dirty.value_or(false) ? ", changed" : ""));
  }
}

void AddHosts(const std::vector<HostFacts>& hosts, Facts& facts) {
  std::set<std::string> cpus;  // sorted: the order of hosts does not matter
  std::set<std::string> gpus;
  for (const auto& host : hosts) {
    if (!host.cpu.empty()) cpus.insert(host.cpu);
    gpus.insert(host.gpus.begin(), host.gpus.end());
  }
  if (!cpus.empty()) facts.emplace_back("cpu", fmt::format("{}", fmt::join(cpus, ", ")));
  if (!gpus.empty()) facts.emplace_back("gpu", fmt::format("{}", fmt::join(gpus, ", ")));
}

Facts FactsOf(const Provenance& provenance) {
  Facts facts;
  AddCode(provenance.code, facts);
  for (const auto& file : provenance.files) {
    facts.emplace_back("file." + FileName(file.path),
                       file.crc32c.empty() ? fmt::format("{} B", file.bytes) : file.crc32c);
  }
  for (const auto& [name, version] : provenance.versions) facts.emplace_back("versions." + name, version);
  if (provenance.python) {
    for (const auto& [name, version] : provenance.python->packages) facts.emplace_back("package." + name, version);
  }
  for (const auto& name : provenance.modules) facts.emplace_back("module." + name, "loaded");
  if (provenance.container) {
    facts.emplace_back("container", provenance.container->image);
    if (!provenance.container->digest.empty()) facts.emplace_back("container.digest", provenance.container->digest);
  }
  AddHosts(provenance.hosts, facts);
  for (const auto& data : provenance.data) facts.emplace_back("data." + data.name, data.fingerprint);
  for (const auto& [name, value] : provenance.environment) facts.emplace_back(kEnvironmentFact + name, value);
  return facts;
}

bool AreEqual(const std::vector<std::optional<std::string>>& values) {
  return std::ranges::all_of(values, [&](const auto& value) { return value == values.front(); });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> PatchesOf(const std::string& diff) {
  constexpr std::string_view kBegin = "diff --git ";
  std::vector<std::pair<std::string, std::string>> patches;
  LineWords lines(diff);
  while (!lines.rest().empty()) {
    const auto line = lines.Word('\n');
    if (line.starts_with(kBegin)) {  // "diff --git a/PATH b/PATH"
      const auto both = line.substr(kBegin.size());
      const auto name = both.substr(std::min((both.size() + 5) / 2, both.size()));
      patches.emplace_back(std::string(name), "");
    }
    if (!patches.empty()) patches.back().second += std::string(line) + "\n";
  }
  return patches;
}

std::vector<FactDifference> DifferencesBetween(std::span<const Provenance> provenances) {
  std::vector<FactDifference> rows;
  std::map<std::string, std::size_t> row_of;
  for (std::size_t i = 0; i < provenances.size(); ++i) {
    for (auto& [fact, value] : FactsOf(provenances[i])) {
      const auto [found, is_new] = row_of.emplace(fact, rows.size());
      if (is_new) rows.push_back({fact, std::vector<std::optional<std::string>>(provenances.size())});
      rows[found->second].values[i] = std::move(value);
    }
  }
  std::erase_if(rows, [](const FactDifference& row) { return AreEqual(row.values); });
  return rows;
}

std::string VariableIn(const std::string& fact) {
  constexpr std::string_view kBegin = kEnvironmentFact;
  return fact.starts_with(kBegin) ? fact.substr(kBegin.size()) : std::string();
}

bool SetsThreads(std::string_view variable) {
  constexpr std::string_view kBegins[] = {"OMP_", "MKL_", "OPENBLAS_", "KMP_", "GOMP_"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return variable.starts_with(begin); });
}

bool HaveSameCode(const Provenance& left, const Provenance& right) {
  if (left.code.commit != right.code.commit) return false;
  if (!left.code.commit && (left.files.empty() || left.code.repository != right.code.repository)) return false;
  const auto crcs = [](const Provenance& provenance) {
    std::map<std::string, std::string> of_files;
    for (const auto& file : provenance.files) of_files[FileName(file.path)] = file.crc32c;
    return of_files;
  };
  const bool is_whole = left.code.diff_left_out.empty() && right.code.diff_left_out.empty();
  return is_whole && left.code.diff == right.code.diff && crcs(left) == crcs(right);
}

}  // namespace slipway::launcher
