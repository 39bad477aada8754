#include "staging/network/stage_across.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "staging/network/plan_difference.h"
#include "staging/network/ring_copy.h"
#include "staging/plan/source_stat.h"

namespace slipway::staging {
namespace {

/// Those who have the data already; else the nodes that are to read the sources.
std::vector<std::uint32_t> ReadersOf(const NodeGroup& group, const std::vector<bool>& lacks) {
  std::vector<std::uint32_t> readers;
  for (std::uint32_t node = 0; node < lacks.size(); ++node) {
    if (!lacks[node]) readers.push_back(node);
  }
  if (!readers.empty()) return readers;
  readers.resize(group.readers == 0 ? group.nodes.size() : group.readers);
  std::iota(readers.begin(), readers.end(), 0u);
  return readers;
}

/// Every exception of `action` becomes an Error: that can be sent to other nodes.
template <class Action>
void WithErrors(Action&& action) {
  try {
    action();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kFailed, error.what(), "see the error above, then start again");
  }
}

class AcrossNodes {
 public:
  AcrossNodes(const StagingPlan& plan, const StageOptions& options, const NodeGroup& group,
              const OpenSources& open_sources)
      : plan_(plan),
        options_(options),
        group_(group),
        open_sources_(open_sources),
        deadline_(SystemClock().Steady() + group.join_timeout) {}

  StagedAcross Run() {
    const auto started = SystemClock().Steady();
    ring_.emplace(group_, DescribePlan(plan_, options_.order, group_.readers), Join());
    StagedAcross across;
    try {
      WithErrors([&] { across.dataset = StageTogether(); });
    } catch (const Error& error) {
      const bool first = ring_->Fail(error);
      copy_.reset();
      if (first) throw;
      ring_->ThrowIfFailed();
    }
    across.read = copy_ ? copy_->bytes_read() : Bytes{};
    copy_.reset();
    ring_->Stop();
    across.received = ring_->received();
    across.sent = ring_->sent();
    across.dataset.elapsed = SystemClock().Steady() - started;
    return across;
  }

 private:
  JoinResult Join() {
    const auto key = GroupKey::Read(group_.key_file);
    return JoinRing(group_, key, PlanDigest(plan_, options_.order, group_.readers), deadline_,
                    [this] { CheckCancelled(); });
  }

  void CheckCancelled() const {
    if (!options_.cancelled || !options_.cancelled()) return;
    throw Error(ErrorKind::kInterrupted, fmt::format("staging dataset '{}' was cancelled", plan_.request.name));
  }

  /// Another run may stage the same here: the group does not wait for it for ever.
  void CheckWait() {
    if (exchanged_ || SystemClock().Steady() < deadline_) return;
    ring_->Fail(
        Error(ErrorKind::kBusy,
              fmt::format("{} is not ready in time: it waits for its tier, or for another run that stages '{}' there",
                          NodeName(group_, group_.number), plan_.request.name),
              "wait for that run, then start again"));
  }

  StagedDataset StageTogether() {
    ring_->ThrowIfFailed();
    auto dataset = StageHere();
    if (dataset.adopted) Serve(dataset.directory);
    ring_->FinishTogether([this] { CheckCancelled(); });
    return dataset;
  }

  StagedDataset StageHere() {
    auto options = options_;
    options.cancelled = [this] {
      CheckWait();
      return ring_->failed() || (options_.cancelled && options_.cancelled());
    };
    options.copier = [this](const StagingPlan&, const std::filesystem::path& directory, const CopyOptions& copy,
                            const StageOptions& staging) {
      Begin(true, {});
      return copy_->Assemble(directory, copy, staging);
    };
    return Stage(plan_, options);
  }

  void Serve(const std::filesystem::path& directory) { Begin(false, directory); }

  /// The first round; then chunks move. `copy` is where this node's own copy lies, if it has one.
  void Begin(bool lacks, const std::filesystem::path& copy) {
    const auto all = ring_->ExchangeLacks(lacks, deadline_, [this] { CheckCancelled(); });
    exchanged_ = true;
    if (std::find(all.begin(), all.end(), true) == all.end()) return;
    if (std::find(all.begin(), all.end(), false) == all.end()) CheckEmptyFiles();
    auto source = lacks ? open_sources_(plan_) : ReadStagedCopy(plan_, copy);
    copy_.emplace(plan_, group_, options_, *ring_, all, ReadersOf(group_, all), std::move(source));
    copy_->Start();
  }

  /// They have no chunk that a node would read, and must be looked at, too.
  void CheckEmptyFiles() const {
    for (const auto& file : plan_.files) {
      if (file.size.count == 0) CheckUnchanged(file, StatSource(file.path.native()));
    }
  }

  const StagingPlan& plan_;
  const StageOptions& options_;
  const NodeGroup& group_;
  const OpenSources& open_sources_;
  const SteadyTime deadline_;
  std::atomic<bool> exchanged_{false};
  std::optional<Ring> ring_;
  std::optional<RingCopy> copy_;
};

void CheckTier(const StagingPlan& plan) {
  if (!ReadsInPlace(plan)) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("dataset '{}' is read in place (tier none): there is nothing to pass on", plan.request.name),
              "name a tier that every node has of its own");
}

}  // namespace

StagedAcross StageAcrossNodes(const StagingPlan& plan, const StageOptions& options, const NodeGroup& group,
                              const OpenSources& open_sources) {
  CheckGroup(group);
  CheckTier(plan);
  if (group.nodes.size() > 1) {
    return WithContext(fmt::format("while staging dataset '{}' on {} nodes", plan.request.name, group.nodes.size()),
                       [&] { return AcrossNodes(plan, options, group, open_sources).Run(); });
  }
  StagedAcross across;
  across.dataset = Stage(plan, options);
  across.read = across.dataset.copied;
  return across;
}

}  // namespace slipway::staging
