#include "staging/generation/reservation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "core/documents.h"
#include "core/files.h"
#include "staging/generation/await_lock.h"
#include "staging/generation/generation.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kNeed = ".need";

/// What is still to be taken of `need`.
SpaceNeed Rest(const SpaceNeed& need, const SpaceNeed& taken) {
  return {Bytes{need.bytes.count - std::min(need.bytes.count, taken.bytes.count)},
          need.inodes - std::min(need.inodes, taken.inodes)};
}

SpaceNeed Parse(const std::string& text) {
  SpaceNeed need;
  std::istringstream(text) >> need.bytes.count >> need.inodes;
  return need;
}

/// What the stagings at work, but for `own`, have still to write.
SpaceNeed ReservedByOthers(const fs::path& root, const std::string& own) {
  SpaceNeed sum;
  for (const auto& entry : EntriesOf(root / ".locks")) {
    const auto name = entry.filename().string();
    const auto generation = name.substr(0, name.size() - std::min(name.size(), kNeed.size()));
    if (!name.ends_with(kNeed) || generation == own) continue;
    const Generation other(root, generation);
    if (!other.WhoStages()) {
      ::unlink(entry.c_str());
      continue;
    }
    // Published a moment ago, it may still hold its reservation.
    const auto need = Parse(ReadFileIfPresent(entry).value_or(""));
    const auto rest = Rest(Rest(need, TakenBy(other.Private())), TakenBy(other.Published()));
    sum.bytes.count += rest.bytes.count;
    sum.inodes += rest.inodes;
  }
  return sum;
}

}  // namespace

std::optional<Reservation> Reservation::Take(const StagingPlan& plan, const SpaceNeed& need, FreeSpace& available,
                                             const std::function<void()>& on_wait, Bytes found) {
  auto taken = TryTake(plan, need, available, on_wait, found);
  if (taken || RemoveLeftovers(plan.root, {}, plan.generation).empty()) return taken;
  return TryTake(plan, need, available, on_wait, found);
}

std::optional<Reservation> Reservation::TryTake(const StagingPlan& plan, const SpaceNeed& need, FreeSpace& available,
                                                const std::function<void()>& on_wait, Bytes found) {
  const auto ledger = AwaitLock(Ledger(plan.root), on_wait);
  const auto others = ReservedByOthers(plan.root, plan.generation);
  available = FreeSpaceIn(plan);
  available.bytes.count -= std::min(available.bytes.count, others.bytes.count);
  available.inodes -= std::min(available.inodes, others.inodes);
  const auto lacking = Rest(Rest(need, TakenBy(Generation(plan.root, plan.generation).Private())), {found, 0});
  if (lacking.bytes > available.bytes || lacking.inodes > available.inodes) return {};
  Reservation taken(plan.root / ".locks" / (plan.generation + std::string(kNeed)));
  WriteFile(taken.path_, fmt::format("{} {}\n", need.bytes.count, need.inodes));
  return taken;
}

Reservation::~Reservation() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace slipway::staging
