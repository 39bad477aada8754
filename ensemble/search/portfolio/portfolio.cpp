#include "ensemble/search/portfolio/portfolio.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ensemble/search/evolution/cmaes.h"
#include "ensemble/search/evolution/genetic.h"
#include "ensemble/search/gaussian_process/gp_proposer.h"
#include "ensemble/search/numbers/spread.h"
#include "ensemble/search/portfolio/search_runs.h"
#include "ensemble/search/quadratic/quadratic_search.h"
#include "ensemble/search/results/objective_weights.h"
#include "ensemble/search/tpe/tpe.h"

namespace slipway::ensemble {
namespace {

struct Method {
  std::string_view name;
  double begins_with[4];  // in the order of PortfolioKind; each column adds up to 1
  std::unique_ptr<Proposer> (*make)(const Encoding& encoding, std::uint64_t seed);
};

template <class Search>
std::unique_ptr<Proposer> Make(const Encoding& encoding, std::uint64_t seed) {
  return std::make_unique<Search>(encoding, seed);
}

// gp also models categories and conditions. tpe finds the best branch and tolerates noise. genetic combines good parts
// of different places. quadratic and cmaes go down valleys.
// With several objectives gp takes no part: a kernel for each new weighted sum would be slow.
constexpr Method kMethods[] = {
    {"gp", {0.76, 0.50, 0.50, 0.00}, Make<GpProposer>},
    {"quadratic", {0.12, 0.15, 0.00, 0.00}, Make<QuadraticSearch>},
    {"tpe", {0.03, 0.20, 0.30, 0.30}, Make<TpeProposer>},
    {"genetic", {0.06, 0.15, 0.20, 0.00}, Make<GeneticProposer>},
    {"cmaes", {0.03, 0.00, 0.00, 0.00}, Make<CmaesProposer>},
    {"nsga2", {0.00, 0.00, 0.00, 0.70}, Make<Nsga2Proposer>},
};

constexpr double kHalvesOthers = 2;  // this many open trials halve the initial shares of all methods but gp
constexpr double kKept = 0.5;        // fixed part of the initial share of a method
constexpr double kMemory = 0.95;     // factor on a trial's weight at each later trial
constexpr double kTrialsAhead = 5;   // every method begins as if it had run this many trials ...
constexpr double kGainAhead = 0.5;   // ... with this gain together

PortfolioKind KindOf(const std::vector<Axis>& axes) {
  const auto is_categorical = [](const Axis& axis) { return axis.kind == AxisKind::kCategorical; };
  if (std::ranges::none_of(axes, is_categorical)) return PortfolioKind::kNumbers;
  return std::ranges::all_of(axes, is_categorical) ? PortfolioKind::kCategories : PortfolioKind::kMixed;
}

/// The initial shares of the methods while `open` trials run.
std::array<double, std::size(kMethods)> BeginningShares(PortfolioKind kind, std::size_t open) {
  std::array<double, std::size(kMethods)> shares;
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = kMethods[i].begins_with[static_cast<std::size_t>(kind)];
  if (kind != PortfolioKind::kNumbers) return shares;
  const double part = kHalvesOthers / (kHalvesOthers + static_cast<double>(open));
  for (double& share : shares) share *= part;
  shares.front() += 1 - part;
  return shares;
}

/// The gains of the trials of each method; the latest ones have the largest weight.
class Ledger {
 public:
  struct Account {
    double trials = kTrialsAhead;
    double gained = kGainAhead;
  };

  void Enter(const Observation& result, std::size_t method, bool credited) {
    for (auto& account : accounts_) {
      account.trials = kTrialsAhead + kMemory * (account.trials - kTrialsAhead);
      account.gained = kGainAhead + kMemory * (account.gained - kGainAhead);
    }
    usual_ *= kMemory;
    const double step = best_ - result.value;
    if (credited) accounts_[method].trials += 1;
    if (credited && step > 0) accounts_[method].gained += step < kInfinite ? step / (step + usual_) : 1;
    if (step > 0 && step < kInfinite) usual_ += 2 * (1 - kMemory) * step;
    best_ = std::min(best_, result.value);
  }
  double Rate(std::size_t method) const { return accounts_[method].gained / accounts_[method].trials; }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Account accounts_[std::size(kMethods)];
  double best_ = kInfinite;
  double usual_ = 0;
};

}  // namespace

Portfolio::Portfolio(const Encoding& encoding, std::uint64_t seed)
    : kind_(ensemble::KindOf(encoding.axes())), seed_(seed), design_(GpProposer(encoding, seed).design()) {
  for (const auto& method : kMethods) members_.push_back({method.name, method.make(encoding, seed)});
}

PortfolioKind Portfolio::KindOf(const Observations& known) const {
  const bool several = std::ranges::any_of(known.complete, [](const auto& result) { return !result.more.empty(); });
  return several ? PortfolioKind::kObjectives : kind_;
}

std::vector<Portfolio::Share> Portfolio::Shares(const Observations& known) const {
  const auto kind = KindOf(known);
  Ledger ledger;
  for (const auto& result : known.complete) {
    const auto method = std::ranges::find(kMethods, MethodOf(result.origin), &Method::name);
    const bool credited = result.trial >= design_ && method != std::end(kMethods);
    ledger.Enter(result, credited ? static_cast<std::size_t>(method - kMethods) : 0, credited);
  }
  const auto begins_with = BeginningShares(kind, known.pending.size());
  std::vector<Share> shares;
  double sum = 0;
  for (std::size_t i = 0; i < std::size(kMethods); ++i) {
    shares.push_back({kMethods[i].name, begins_with[i] * (kind == PortfolioKind::kObjectives ? 1 : ledger.Rate(i))});
    sum += shares.back().part;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i].part = kKept * begins_with[i] + (1 - kKept) * shares[i].part / sum;
  }
  return shares;
}

std::size_t Portfolio::Choose(const Observations& known, TrialNumber trial) const {
  if (trial < design_) return 0;
  const auto shares = Shares(known);
  double left = SpreadUnit(trial, 0);
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].part <= 0) continue;
    chosen = i;
    left -= shares[i].part;
    if (left < 0) break;
  }
  return chosen;
}

Coordinates Portfolio::Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) {
  chosen_ = Choose(known, trial);
  auto& method = *members_[chosen_].proposer;
  const bool weighs = KindOf(known) == PortfolioKind::kObjectives && members_[chosen_].name != "nsga2";
  return method.Propose(weighs ? WeightedObjectives(known, seed_, trial) : known, trial, attempt);
}

}  // namespace slipway::ensemble
