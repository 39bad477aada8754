#include "launcher/view/compare_sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <span>

#include "core/documents.h"
#include "core/terminal_text.h"
#include "launcher/view/sums_stream.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSumsRemarks = 10;
constexpr std::size_t kMostRanksInWords = 8;
constexpr std::size_t kLongestShownName = 80;

std::string ShownName(std::string_view text) {
  auto shown = WithoutControls(text.substr(0, kLongestShownName));
  std::ranges::replace(shown, '\n', ' ');
  return shown;
}

/// The first element that differs.
std::optional<int> FirstDifference(const std::vector<std::uint64_t>& first, const std::vector<std::uint64_t>& other) {
  const auto at = std::ranges::mismatch(first, other).in1;
  return at == first.end() ? std::nullopt : std::optional(static_cast<int>(at - first.begin()));
}

/// What of two lines differs: tensors, by their place.
struct LineDifference {
  std::optional<int> gradient;
  std::optional<int> exchange;
};

/// Nothing when one of them cannot be read.
std::optional<LineDifference> DifferenceOf(const SumsStream& first, const SumsStream& other) {
  if (first.line() == other.line()) return LineDifference();
  const auto a = ParseSumsLine(first.line());
  const auto b = ParseSumsLine(other.line());
  const auto tensors = first.header().tensors.size();
  if (!a || !b || a->gradients.size() != tensors || b->gradients.size() != tensors) return {};
  LineDifference difference;
  difference.gradient = FirstDifference(a->gradients, b->gradients);
  if (a->exchanged && b->exchanged) difference.exchange = FirstDifference(*a->exchanged, *b->exchanged);
  return difference;
}

/// Why the steps of two runs have nothing to do with each other; empty: they have.
std::string WhyNotComparable(const SumsHeader& first, const SumsHeader& other) {
  if (first.ranks != other.ranks) return fmt::format("{} ranks and {} ranks", first.ranks, other.ranks);
  if (first.team != other.team)
    return fmt::format("team '{}' and team '{}'", ShownName(first.team), ShownName(other.team));
  if (first.tensors.size() != other.tensors.size()) {
    return fmt::format("team '{}' has {} tensors and {} tensors", ShownName(first.team), first.tensors.size(),
                       other.tensors.size());
  }
  const auto [a, b] = std::ranges::mismatch(first.tensors, other.tensors);
  if (a == first.tensors.end()) return {};
  return fmt::format("tensor {} is '{}' of {} bytes, {}, and '{}' of {} bytes, {}", a - first.tensors.begin(),
                     ShownName(a->name), a->bytes, ShownName(a->dtype), ShownName(b->name), b->bytes,
                     ShownName(b->dtype));
}

/// One rank of a team, up to the first difference.
struct RankResult {
  SumsFileId id;
  std::uint64_t steps = 0;                      ///< compared
  std::optional<std::int64_t> same_until = {};  ///< the last step that is the same
  std::optional<std::int64_t> parted_at = {};   ///< with these:
  LineDifference difference = {};
  SumsHeader header = {};
};

/// Walks through the lines of both runs in step.
class RankComparison {
 public:
  RankComparison(SumsStream first, SumsStream other) : first_(std::move(first)), other_(std::move(other)) {}

  /// Steps after `last_step` are not compared.
  RankResult Run(const SumsFileId& id, std::int64_t last_step) {
    RankResult result{.id = id};
    while (NextOfBoth() && first_.step() <= last_step && AreComparable()) {
      const auto difference = DifferenceOf(first_, other_);
      if (!difference) {
        ++unreadable_;
        continue;
      }
      ++result.steps;
      if (difference->gradient || difference->exchange) {
        result.parted_at = first_.step();
        result.difference = *difference;
        break;
      }
      result.same_until = first_.step();
    }
    result.header = first_.header();
    return result;
  }

  std::vector<std::string> Remarks(const std::string& first, const std::string& other) const {
    std::vector<std::string> remarks;
    if (!why_not_.empty()) remarks.push_back(fmt::format("{} and {} are not comparable: {}", first, other, why_not_));
    for (const auto& remark : first_.Remarks()) remarks.push_back(fmt::format("{}: {}", first, remark));
    for (const auto& remark : other_.Remarks()) remarks.push_back(fmt::format("{}: {}", other, remark));
    if (unreadable_ > 0) remarks.push_back(fmt::format("steps with lines that could not be read: {}", unreadable_));
    return remarks;
  }

 private:
  /// Both stand at the next step that both have.
  bool NextOfBoth() {
    if (!first_.Next() || !other_.Next()) return false;
    while (first_.step() != other_.step()) {
      auto& behind = first_.step() < other_.step() ? first_ : other_;
      if (!behind.Next()) return false;
    }
    return true;
  }

  /// Cost: only of other headers than at the last step.
  bool AreComparable() {
    if (first_.headers() == headers_of_first_ && other_.headers() == headers_of_other_) return true;
    headers_of_first_ = first_.headers();
    headers_of_other_ = other_.headers();
    why_not_ = WhyNotComparable(first_.header(), other_.header());
    return why_not_.empty();
  }

  SumsStream first_;
  SumsStream other_;
  int headers_of_first_ = 0;
  int headers_of_other_ = 0;
  std::string why_not_;
  int unreadable_ = 0;
};

std::set<SumsFileId> FilesOf(const RunWithSums& run) {
  std::set<SumsFileId> files;
  for (const auto& folder : run.attempts) {
    for (const auto& file : EntriesOf(folder)) {
      if (const auto id = ParseSumsFileName(file.filename().native())) files.insert(*id);
    }
  }
  return files;
}

SumsStream StreamOf(const RunWithSums& run, const SumsFileId& id) {
  std::vector<fs::path> files;
  for (const auto& folder : run.attempts) files.push_back(folder / SumsFileName(id));
  return SumsStream(std::move(files));
}

class PairComparison {
 public:
  PairComparison(const RunWithSums& first, const RunWithSums& other) : first_(first), other_(other) {}

  SumsOfPair Run(const std::set<SumsFileId>& of_first, const std::set<SumsFileId>& of_other) {
    RemarkOnMissing(first_.name, of_first, of_other);
    RemarkOnMissing(other_.name, of_other, of_first);
    std::ranges::set_intersection(of_first, of_other, std::back_inserter(ids_));
    for (const auto& id : ids_) CompareRank(id);
    if (!parted_.empty()) sums_.parting = PartingFrom(parted_);
    return std::move(sums_);
  }

 private:
  void Remark(std::string remark) {
    auto& remarks = sums_.remarks;
    if (remarks.size() < kMostSumsRemarks && std::ranges::find(remarks, remark) == remarks.end()) {
      remarks.push_back(std::move(remark));
    }
  }

  void RemarkOnMissing(const std::string& run, const std::set<SumsFileId>& has, const std::set<SumsFileId>& wanted) {
    std::vector<SumsFileId> missing;
    std::ranges::set_difference(wanted, has, std::back_inserter(missing));
    if (missing.empty()) return;
    if (has.empty()) return Remark(run + " has none: run it with trace.sums, too");
    const auto more = missing.size() > 1 ? fmt::format(" and {} more", missing.size() - 1) : "";
    Remark(fmt::format("{} has no {}{}", run, SumsFileName(missing.front()), more));
  }

  void CompareRank(const SumsFileId& id) {
    RankComparison comparison(StreamOf(first_, id), StreamOf(other_, id));
    const auto result = comparison.Run(id, last_step_);
    for (auto& remark : comparison.Remarks(first_.name, other_.name)) Remark(std::move(remark));
    if (result.steps > 0) Count(result);
    if (!result.parted_at) return;
    if (*result.parted_at < last_step_) parted_.clear();
    last_step_ = *result.parted_at;
    parted_.push_back(result);
  }

  void Count(const RankResult& result) {
    sums_.steps = std::max(sums_.steps, result.steps);
    ranks_.insert(result.id.rank);
    teams_.insert(result.id.team);
    sums_.ranks = static_cast<int>(ranks_.size());
    sums_.teams = static_cast<int>(teams_.size());
  }

  /// Of results of one step, in the order of their teams: the first team counts.
  SumsParting PartingFrom(std::span<const RankResult> results) {
    const auto& reference = results.front();
    std::vector<RankResult> of_team;
    std::ranges::copy_if(results, std::back_inserter(of_team),
                         [&](const RankResult& result) { return result.id.team == reference.id.team; });
    SumsParting parting;
    parting.step = last_step_;
    auto part = &LineDifference::gradient;
    auto tensor = FirstTensor(of_team, part);
    if (!tensor) {
      part = &LineDifference::exchange;
      tensor = FirstTensor(of_team, part);
      parting.of = PartingOf::kExchange;
    }
    for (const auto& result : of_team) {
      if (result.difference.*part == tensor) parting.ranks.push_back(result.id.rank);
    }
    parting.tensor = tensor.value_or(0);
    AddNames(reference, parting);
    AddRanksCompared(reference.id.team, parting);
    return parting;
  }

  static std::optional<int> FirstTensor(std::span<const RankResult> results, std::optional<int> LineDifference::*part) {
    std::optional<int> first;
    for (const auto& result : results) {
      const auto tensor = result.difference.*part;
      if (tensor && (!first || *tensor < *first)) first = tensor;
    }
    return first;
  }

  static void AddNames(const RankResult& result, SumsParting& parting) {
    const auto& tensor = result.header.tensors.at(static_cast<std::size_t>(parting.tensor));
    parting.same_before = result.same_until;
    parting.team = result.header.team;
    parting.name = tensor.name;
    parting.bytes = tensor.bytes;
    parting.ranks_of_job = result.header.ranks;
  }

  /// Which ranks have this step in both runs: a file may end earlier, where a disk was full.
  void AddRanksCompared(int team, SumsParting& parting) {
    for (const auto& id : ids_) {
      if (id.team != team) continue;
      const auto result = RankComparison(StreamOf(first_, id), StreamOf(other_, id)).Run(id, parting.step);
      if (result.parted_at == parting.step || result.same_until == parting.step) ++parting.ranks_compared;
    }
  }

  const RunWithSums& first_;
  const RunWithSums& other_;
  std::vector<SumsFileId> ids_;  ///< in both runs
  SumsOfPair sums_;
  std::set<int> ranks_;
  std::set<int> teams_;
  std::int64_t last_step_ = std::numeric_limits<std::int64_t>::max();
  std::vector<RankResult> parted_;  ///< at last_step_
};

std::string WordsForRanks(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const auto shown = std::span(ranks).first(std::min(ranks.size(), kMostRanksInWords));
  const auto more = ranks.size() > shown.size() ? fmt::format(" and {} more", ranks.size() - shown.size()) : "";
  return fmt::format("ranks {}{}", fmt::join(shown, ", "), more);
}

std::string WordsForParting(const SumsOfPair& sums) {
  const auto& parting = *sums.parting;
  const auto of_team = sums.teams > 1 ? fmt::format(" of team '{}'", ShownName(parting.team)) : "";
  const auto tensor = fmt::format("tensor {} ('{}'){}", parting.tensor, ShownName(parting.name), of_team);
  const auto ranks = WordsForRanks(parting.ranks);
  if (parting.of == PartingOf::kGradient) return fmt::format("gradient of {} on {}", tensor, ranks);
  const auto equal =
      parting.ranks_compared >= parting.ranks_of_job
          ? std::string("every rank")
          : fmt::format("the {} of {} ranks that have check sums of it", parting.ranks_compared, parting.ranks_of_job);
  return fmt::format("exchange of {}, with equal gradients on {}; its result differs on {}", tensor, equal, ranks);
}

}  // namespace

WordTable<PartingOf> WordsOf(PartingOf) {
  static constexpr Word<PartingOf> kWords[] = {{PartingOf::kGradient, "gradient"}, {PartingOf::kExchange, "exchange"}};
  return kWords;
}

std::optional<SumsOfPair> CompareSums(const RunWithSums& first, const RunWithSums& other) {
  const auto of_first = FilesOf(first);
  const auto of_other = FilesOf(other);
  if (of_first.empty() && of_other.empty()) return {};
  return PairComparison(first, other).Run(of_first, of_other);
}

std::string Describe(const SumsOfPair& sums) {
  std::string text;
  if (sums.parting) {
    const auto& before = sums.parting->same_before;
    text += fmt::format("  they part at step {}: {}\n", sums.parting->step, WordsForParting(sums));
    text += before ? fmt::format("  the check sums up to step {} are the same\n", *before)
                   : "  no earlier step has check sums of both\n";
  } else if (sums.steps > 0) {
    text += fmt::format("  the check sums of {} steps are the same, ranks compared: {}\n", sums.steps, sums.ranks);
  }
  for (const auto& remark : sums.remarks) text += fmt::format("  check sums: {}\n", remark);
  return text;
}

}  // namespace slipway::launcher
