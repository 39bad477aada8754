#include "bench/samplers/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "bench/samplers/optuna_peer.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/fnv1a.h"
#include "core/lines.h"
#include "core/units.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/search/cube/free_points.h"

namespace slipway::bench {
namespace {

constexpr Seconds kTellEvery{5};

struct Search {
  const TestFunction* function;
  std::string_view side;
  Task task;
  Outcome* outcome;
};

class Campaign {
 public:
  Campaign(const CampaignPlan& plan, PeerCache& cache) : plan_(plan), cache_(cache) {}

  CampaignResults Run() {
    CampaignResults results;
    total_ = plan_.functions.size() * plan_.samplers.size() * static_cast<std::size_t>(plan_.seeds);
    for (const auto& name : plan_.functions) {
      auto searches = SearchesOn(FindFunction(name), results[name]);
      RunAll(searches);
      cache_.Save();
    }
    return results;
  }

 private:
  std::vector<Search> SearchesOn(const TestFunction& function, std::map<std::string, std::vector<Outcome>>& outcomes) {
    std::vector<Search> searches;
    for (const auto& name : plan_.samplers) {
      auto& all = outcomes[name];
      all.resize(static_cast<std::size_t>(plan_.seeds));
      const auto [sampler, parallel] = SideOf(name, plan_.parallel);
      const int first = IsPeer(sampler) ? 1 : plan_.first_seed;
      for (int i = 0; i < plan_.seeds; ++i) {
        const auto seed = static_cast<std::uint64_t>(first + i);
        Task task{sampler, function.Space(), seed, plan_.evaluations, parallel};
        searches.push_back({&function, name, std::move(task), &all[static_cast<std::size_t>(i)]});
      }
    }
    return searches;
  }

  void RunAll(std::vector<Search>& searches) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      std::optional<OptunaPeer> peer;
      try {
        for (auto i = next++; i < searches.size(); i = next++) RunOne(searches[i], peer);
      } catch (...) {
        next = searches.size();
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
    };
    std::vector<std::jthread> helpers;
    for (int job = 1; job < plan_.jobs; ++job) helpers.emplace_back(work);
    work();
    helpers.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

  void RunOne(Search& search, std::optional<OptunaPeer>& peer) {
    *search.outcome = IsPeer(search.task.sampler) ? OfPeer(search, peer) : OfOurs(search);
    const std::lock_guard lock(mutex_);
    ++done_;
    if (SystemClock().Steady() - told_ < kTellEvery) return;
    told_ = SystemClock().Steady();
    fmt::print(stderr, "{} of {} searches, {:.0f} s: {} on {}\n", done_, total_, Seconds(told_ - started_).count(),
               search.side, search.function->name);
  }

  static Outcome OfOurs(const Search& search) {
    return RunSearch(*MakeOwnSearcher(search.task), *search.function, search.task);
  }

  Outcome OfPeer(const Search& search, std::optional<OptunaPeer>& peer) {
    {
      const std::lock_guard lock(mutex_);
      if (auto kept = cache_.Find(*search.function, search.task)) return *kept;
    }
    if (!peer) peer = OptunaPeer::Start();
    if (!peer) throw Error(ErrorKind::kEnvironment, "Optuna cannot be started", "apt-get install python3-optuna");
    const auto outcome = RunSearch(*peer->Search(search.task), *search.function, search.task);
    const std::lock_guard lock(mutex_);
    cache_.Keep(*search.function, search.task, outcome);
    return outcome;
  }

  const CampaignPlan& plan_;
  PeerCache& cache_;
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::size_t done_ = 0, total_ = 0;
  SteadyTime started_ = SystemClock().Steady(), told_ = started_;
};

void CheckNames(const CampaignPlan& plan) {
  for (const auto& name : plan.functions) FindFunction(name);
  for (const auto& sampler : plan.samplers) {
    ensemble::SamplerSettings settings;
    settings.name = SideOf(sampler, plan.parallel).sampler;
    if (!IsPeer(settings.name)) ensemble::ResolveSampler(settings, {});
  }
}

}  // namespace

CampaignResults RunCampaign(const CampaignPlan& plan, PeerCache& cache) {
  CheckNames(plan);
  return Campaign(plan, cache).Run();
}

namespace {

constexpr const char* kSchema = "slipway.bench.samplers.peers/1";

/// A changed function has another one.
std::uint64_t Fingerprint(const TestFunction& function) {
  std::string text = function.space;
  const auto space = function.Space();
  for (std::uint32_t draw = 0; draw < 8; ++draw) {
    text += fmt::format(" {:.9g}", function.Measured(RandomPoint(space, 1, 0, draw), 1, draw));
  }
  return Fnv1a64(text);
}

std::string Key(const TestFunction& function, const Task& task) {
  return fmt::format("{} {:016x} {} seed {} parallel {}", function.name, Fingerprint(function), task.sampler, task.seed,
                     task.parallel);
}

}  // namespace

PeerCache::PeerCache(std::filesystem::path path, std::string version)
    : path_(std::move(path)), version_(std::move(version)) {
  const auto text = path_.empty() ? std::nullopt : ReadFileIfPresent(path_);
  if (!text) return;
  const auto document = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || document.value("schema", "") != kSchema) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' does not hold results of peers", path_.string()),
                "name another file, or remove this one");
  }
  const auto stored = document.value("optuna", "");
  if (version_.empty()) version_ = stored;
  if (stored != version_) return;
  for (const auto& [key, outcome] : document.at("outcomes").items()) outcomes_[key] = OutcomeFromJson(outcome);
}

std::optional<Outcome> PeerCache::Find(const TestFunction& function, const Task& task) const {
  const auto found = outcomes_.find(Key(function, task));
  if (found == outcomes_.end()) return std::nullopt;
  for (const int mark : Marks(task.evaluations)) {
    if (!found->second.regret.contains(mark)) return std::nullopt;
  }
  return found->second;
}

void PeerCache::Keep(const TestFunction& function, const Task& task, const Outcome& outcome) {
  outcomes_[Key(function, task)] = outcome;
}

void PeerCache::Save() const {
  if (path_.empty()) return;
  Json document{{"schema", kSchema}, {"optuna", version_}, {"outcomes", Json::object()}};
  for (const auto& [key, outcome] : outcomes_) document["outcomes"][key] = ToJson(outcome);
  WriteFileAtomically(path_, document.dump(1) + "\n");
}

namespace {

constexpr int kMostParallel = 10000;

}  // namespace

Side SideOf(const std::string& name, int otherwise) {
  const auto at = name.find('@');
  if (at == std::string::npos) return {name, otherwise};
  Side side{name.substr(0, at), 0};
  const bool is_number = ParseNumber(std::string_view(name).substr(at + 1), side.parallel);
  if (!is_number || side.parallel < 1 || side.parallel > kMostParallel) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}': behind the @ stands how many trials are open, 1 to {}", name, kMostParallel),
                fmt::format("write {}@8, for example", side.sampler));
  }
  return side;
}

}  // namespace slipway::bench
