#include "staging/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/error.h"
#include "staging/plan/utf8_name.h"

namespace slipway::staging {
namespace fs = std::filesystem;

std::string_view DistributionName(Distribution distribution) {
  return distribution == Distribution::kShard ? "shard" : "replicate";
}

std::optional<Distribution> ParseDistribution(std::string_view name) {
  if (name == "shard") return Distribution::kShard;
  if (name == "replicate") return Distribution::kReplicate;
  return {};
}

namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kCrcBlock = 4 << 20;

/// A file's own blocks plus its lines in the manifest, the record index and the journal.
std::uint64_t SpaceOfFile(const SourceFile& file) {
  const auto blocks = file.size.count / kBlock + (file.size.count % kBlock != 0);
  const auto manifest =
      640 + file.path.native().size() + file.name.native().size() + 64 * (file.size.count / kCrcBlock + 1);
  return blocks * kBlock + manifest;
}

std::uint64_t DirectoriesIn(const std::vector<SourceFile>& files) {
  std::set<fs::path> directories;
  for (const auto& file : files) {
    for (auto parent = file.name.parent_path(); !parent.empty(); parent = parent.parent_path()) {
      if (!directories.insert(parent).second) break;
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

std::string GenerationName(const DatasetRequest& request, const std::vector<SourceFile>& files) {
  Hash hash;
  hash.Add(DataFormatName(request.format));
  hash.Add(VerifyModeName(request.verify));
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

/// Why `tier` cannot take the files, or nothing.
std::optional<std::string> Rejection(const TierState& tier, const SpaceNeed& need) {
  if (!tier.usable) return tier.reason;
  if (tier.name == "none") return {};
  if (need.bytes > tier.available) {
    return fmt::format("needs {}, {} is free", FormatBytes(need.bytes), FormatBytes(tier.available));
  }
  if (need.inodes > tier.free_inodes) {
    return fmt::format("needs {} inodes, {} are free", need.inodes, tier.free_inodes);
  }
  return {};
}

bool Holds(const TierState& tier, const std::string& generation) {
  const auto& names = tier.generations;
  return tier.usable && std::find(names.begin(), names.end(), generation) != names.end();
}

std::string ReasonFor(const TierState& tier, const std::string& generation) {
  if (tier.name == "none") return "read in place, nothing is copied";
  if (Holds(tier, generation)) return "already staged there";
  return fmt::format("fits: {} is free", FormatBytes(tier.available));
}

const TierState* FindTier(const std::vector<TierState>& tiers, const std::string& name) {
  const auto found = std::find_if(tiers.begin(), tiers.end(), [&](const TierState& tier) { return tier.name == name; });
  return found == tiers.end() ? nullptr : &*found;
}

void Choose(StagingPlan& plan, const TierState& tier) {
  plan.tier = tier.name;
  plan.root = tier.root;
  plan.reason = ReasonFor(tier, plan.generation);
  plan.directory =
      tier.root.empty() && !plan.files.empty() ? plan.files.front().path.parent_path() : tier.root / plan.generation;
}

Error NoTierFits(const StagingPlan& plan, Bytes need) {
  return Error(
      ErrorKind::kEnvironment,
      fmt::format("no tier can hold dataset '{}' ({} {}, {}): {}", plan.request.name, plan.files.size(),
                  plan.files.size() == 1 ? "file" : "files", FormatBytes(need), fmt::join(plan.rejected, "; ")),
      fmt::format("free space, name another tier in data.{}.tier (dir:PATH), or add 'none' there to read the "
                  "files where they are",
                  plan.request.name));
}

Bytes TotalOf(const std::vector<SourceFile>& files) {
  return std::accumulate(files.begin(), files.end(), Bytes{0},
                         [](Bytes sum, const SourceFile& file) { return Bytes{sum.count + file.size.count}; });
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

StagingPlan PlanStaging(const DatasetRequest& request, std::vector<SourceFile> files,
                        const std::vector<TierState>& tiers) {
  CheckDatasetName(request.name);
  StagingPlan plan;
  plan.request = request;
  plan.files = std::move(files);
  plan.total = TotalOf(plan.files);
  plan.generation = GenerationName(request, plan.files);
  const auto need = NeedOf(plan.files);
  for (const auto& name : request.tiers) {
    const auto* tier = FindTier(tiers, name);
    const auto rejection = tier == nullptr ? "not known here" : Rejection(*tier, need);
    if (!rejection || (tier != nullptr && Holds(*tier, plan.generation))) {
      Choose(plan, *tier);
      return plan;
    }
    plan.rejected.push_back(fmt::format("{}: {}", name, *rejection));
  }
  throw NoTierFits(plan, need.bytes);
}

Json ToJson(const StagingPlan& plan) {
  Json files = Json::array();
  for (const auto& file : plan.files) files.push_back(ToJson(file));
  return {{"name", plan.request.name},
          {"format", DataFormatName(plan.request.format)},
          {"distribute", DistributionName(plan.request.distribution)},
          {"verify", VerifyModeName(plan.request.verify)},
          {"bytes", plan.total.count},
          {"tier", plan.tier},
          {"reason", Utf8Name(plan.reason)},
          {"rejected", plan.rejected},
          {"generation", plan.generation},
          {"directory", Utf8Name(plan.directory.native())},
          {"files", std::move(files)}};
}

}  // namespace slipway::staging
