// The promises of the mover, held against a model that fails, ends and changes at every moment.

#include "staging/out/checkpoint_mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace slipway::staging {
namespace {

using ::testing::IsEmpty;

CheckpointEntries Entries(std::initializer_list<CheckpointEntry> entries) { return entries; }

std::vector<std::uint64_t> StepsOf(const CheckpointEntries& entries) {
  std::vector<std::uint64_t> steps;
  for (const auto& entry : entries) steps.push_back(entry.step);
  return steps;
}

TEST(MoverDecision, MovesTheNewestFirstAndNoneThatIsOlderThanWhatIsConfirmed) {
  const auto tier = Entries({{40, 4, true}, {30, 3, false}, {20, 2, true}, {10, 1, true}});
  EXPECT_THAT(StepsOf(WorthMoving(tier, {})), testing::ElementsAre(40, 20, 10));
  EXPECT_THAT(StepsOf(WorthMoving(tier, Entries({{20, 2, true}}))), testing::ElementsAre(40));
  EXPECT_THAT(StepsOf(WorthMoving(tier, Entries({{40, 4, true}}))), IsEmpty());
  EXPECT_THAT(StepsOf(WorthMoving(tier, Entries({{40, 4, false}, {20, 2, true}}))), testing::ElementsAre(40));
}

TEST(MoverDecision, LeavesWhatIsOlderThanAWholeOneThatTheTierNoLongerHas) {
  EXPECT_THAT(WorthMoving(Entries({{10, 1, true}}), Entries({{20, 2, true}})), IsEmpty());
}

TEST(MoverDecision, MovesAStepThatWasWrittenAgain) {
  EXPECT_THAT(StepsOf(WorthMoving(Entries({{10, 2, true}}), Entries({{10, 1, true}}))), testing::ElementsAre(10));
}

TEST(MoverDecision, KeepsInTheTierWhatIsNotConfirmed) {
  const auto tier = Entries({{40, 4, true}, {30, 3, true}, {20, 2, true}, {10, 1, true}});
  EXPECT_THAT(SuperfluousInTier(tier, {}, 1), IsEmpty());
  EXPECT_THAT(StepsOf(SuperfluousInTier(tier, Entries({{20, 2, true}}), 1)), testing::ElementsAre(20, 10));
  EXPECT_THAT(StepsOf(SuperfluousInTier(tier, Entries({{40, 4, true}}), 2)), testing::ElementsAre(20, 10));
  EXPECT_THAT(SuperfluousInTier(tier, Entries({{40, 4, false}}), 1), IsEmpty());
}

TEST(MoverDecision, CountsOnlyWholeOnesOnTheSharedSide) {
  const auto shared = Entries({{40, 4, false}, {30, 3, true}, {20, 2, false}, {10, 1, true}, {5, 1, true}});
  EXPECT_THAT(StepsOf(SuperfluousOnShared(shared, 1)), testing::ElementsAre(20, 10, 5));
  EXPECT_THAT(StepsOf(SuperfluousOnShared(shared, 2)), testing::ElementsAre(5));
  EXPECT_THAT(StepsOf(SuperfluousOnShared(shared, 0)), testing::ElementsAre(20, 10, 5));
}

TEST(MoverDecision, MovesTheBestOneAlsoWhereANewerOneIsConfirmed) {
  const auto tier = Entries({{40, 4, true}, {30, 3, true}, {20, 2, true, true}, {10, 1, true}});
  EXPECT_THAT(StepsOf(WorthMoving(tier, {})), testing::ElementsAre(40, 30, 20, 10));
  EXPECT_THAT(StepsOf(WorthMoving(tier, Entries({{40, 4, true}}))), testing::ElementsAre(20));
  EXPECT_THAT(WorthMoving(tier, Entries({{40, 4, true}, {20, 2, true}})), IsEmpty());
}

TEST(MoverDecision, KeepsTheBestOneOnBothSides) {
  const auto entries = Entries({{40, 4, true}, {30, 3, true}, {20, 2, true, true}, {10, 1, true}});
  EXPECT_THAT(StepsOf(SuperfluousOnShared(entries, 1)), testing::ElementsAre(30, 10));
  EXPECT_THAT(StepsOf(SuperfluousInTier(entries, Entries({{40, 4, true}}), 1)), testing::ElementsAre(30, 10));
}

TEST(MoverDecision, LosesNoTornOneThatNothingReplaces) {
  const auto tier = Entries({{40, 4, false}, {30, 3, true}, {20, 2, false}, {10, 1, false}});
  EXPECT_THAT(StepsOf(TornToKeep(tier, {})), testing::ElementsAre(40, 20, 10));
  EXPECT_THAT(StepsOf(TornToKeep(tier, Entries({{30, 3, true}}))), testing::ElementsAre(40));
  EXPECT_THAT(StepsOf(TornToKeep(tier, Entries({{30, 3, false}, {15, 1, true}}))), testing::ElementsAre(40, 20));
  EXPECT_THAT(StepsOf(TornToKeep(tier, Entries({{40, 3, true}}))), testing::ElementsAre(40)) << "written again";
  EXPECT_THAT(TornToKeep(tier, Entries({{40, 4, true}})), IsEmpty()) << "it was whole when it was copied";
}

/// The manager's sudden end.
struct Ended {};

/// Both sides as maps, with a program that goes on and faults at every call.
class Model final : public CheckpointSides {
 public:
  explicit Model(int keep) : keep_(keep) {}

  CheckpointEntries Tier() override {
    Happen();
    auto entries = Listed(tier_);
    for (auto& entry : entries) entry.whole = !known_torn_.contains({entry.step, entry.fingerprint});
    return entries;
  }

  CheckpointEntries Shared(int keep) override {
    Happen();
    auto entries = Listed(shared_);
    int whole = 0;
    for (auto& entry : entries) {
      entry.whole = entry.whole && whole < keep;  // older ones are not read
      if (entry.whole) ++whole;
    }
    return entries;
  }

  MoveOutcome Move(const CheckpointEntry& entry) override {
    Happen();
    const auto found = tier_.find(entry.step);
    if (found == tier_.end() || found->second.fingerprint != entry.fingerprint) return {MoveEnd::kGone};
    if (!found->second.whole) {
      known_torn_[{entry.step, entry.fingerprint}] = true;
      return {MoveEnd::kTorn};
    }
    const auto copied = found->second;
    shared_[entry.step] = copied;  // the one rename
    had_one_ = true;
    Check();
    Happen();
    return {MoveEnd::kMoved};
  }

  void RemoveFromTier(const CheckpointEntry& entry) override {
    Happen();
    const auto found = tier_.find(entry.step);
    if (found == tier_.end() || found->second.fingerprint != entry.fingerprint) return;
    const bool safe = IsOnShared(found->second) || entry.step < NewestOnShared();
    tier_.erase(found);
    RC_ASSERT(safe);
  }

  void RemoveFromShared(const CheckpointEntry& entry) override {
    Happen();
    shared_.erase(entry.step);
    RC_ASSERT(WholeOnSharedFrom(entry.step) >= keep_);
    Check();
  }

  /// The program: writes a checkpoint, perhaps torn; writes one again; removes its oldest.
  void ProgramActs() {
    const auto what = *rc::gen::inRange(0, 10);
    if (what < 6) {
      step_ += static_cast<std::uint64_t>(*rc::gen::inRange(1, 3));
      Write(step_, what > 0);
    } else if (what < 8 && !tier_.empty()) {
      Write(tier_.rbegin()->first, true);
    } else if (tier_.size() > 1) {
      tier_.erase(tier_.begin());
    }
  }

  /// A medium loses a bit of one on the shared side: the promises hold for what is whole.
  void MediumFails() {
    if (shared_.empty()) return;
    auto entry = shared_.begin();
    std::advance(entry, *rc::gen::inRange<std::size_t>(0, shared_.size()));
    entry->second.whole = false;
    best_ = NewestOnShared();
    had_one_ = WholeOnShared() > 0;
  }

  /// A new manager knows nothing of what the last one found out.
  void Forget() { known_torn_.clear(); }
  void SetFaults(bool on) { faults_ = on; }

  /// Nothing when the tier holds no whole one.
  std::optional<CheckpointEntry> NewestWholeInTier() const {
    for (auto entry = tier_.rbegin(); entry != tier_.rend(); ++entry) {
      if (entry->second.whole) return entry->second;
    }
    return {};
  }
  bool IsOnShared(const CheckpointEntry& entry) const {
    const auto found = shared_.find(entry.step);
    return found != shared_.end() && found->second == entry;
  }
  std::uint64_t NewestOnShared() const {
    std::uint64_t newest = 0;
    for (const auto& [step, entry] : shared_) newest = entry.whole ? step : newest;
    return newest;
  }
  int WholeOnShared() const { return WholeOnSharedFrom(0); }
  int WholeOnSharedFrom(std::uint64_t step) const {
    return static_cast<int>(
        std::count_if(shared_.lower_bound(step), shared_.end(), [](auto& each) { return each.second.whole; }));
  }

 private:
  using Side = std::map<std::uint64_t, CheckpointEntry>;

  static CheckpointEntries Listed(const Side& side) {
    CheckpointEntries entries;
    for (auto entry = side.rbegin(); entry != side.rend(); ++entry) entries.push_back(entry->second);
    return entries;
  }

  void Write(std::uint64_t step, bool whole) { tier_[step] = {step, ++fingerprint_, whole}; }

  /// Between any two steps of the mover.
  void Happen() {
    if (!faults_) return;
    const auto what = *rc::gen::inRange(0, 12);
    if (what == 0) throw Ended{};
    if (what == 1) throw Error(ErrorKind::kEnvironment, "no space left");
    if (what == 2) ProgramActs();
  }

  void Check() {
    RC_ASSERT(WholeOnShared() >= 1 || !had_one_);
    RC_ASSERT(NewestOnShared() >= best_);
    best_ = NewestOnShared();
  }

  int keep_;
  bool faults_ = true;
  Side tier_;
  Side shared_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, bool> known_torn_;
  std::uint64_t step_ = 0;
  std::uint64_t fingerprint_ = 0;
  std::uint64_t best_ = 0;
  bool had_one_ = false;
};

TEST(CheckpointMover, NeverLosesTheLastWholeCheckpointWhateverFails) {
  EXPECT_TRUE(rc::check([] {
    const int keep = *rc::gen::inRange(1, 4);
    Model model(keep);
    CheckpointMover mover(model, keep);
    const int rounds = *rc::gen::inRange(1, 40);
    for (int i = 0; i < rounds; ++i) {
      model.ProgramActs();
      if (*rc::gen::inRange(0, 8) == 0) model.MediumFails();
      try {
        mover.Round(*rc::gen::element(Thoroughness::kWhileTraining, Thoroughness::kAtTheEnd));
      } catch (const Ended&) {
        model.Forget();
      }
    }
    model.SetFaults(false);
    while (!mover.Settled()) {
      RC_ASSERT(!mover.Round(Thoroughness::kAtTheEnd).failure);
    }
    mover.Round(Thoroughness::kAtTheEnd);
    RC_ASSERT(model.WholeOnShared() <= keep);
    if (const auto newest = model.NewestWholeInTier()) {
      RC_ASSERT(model.IsOnShared(*newest) || newest->step < model.NewestOnShared());
    }
  }));
}

/// Fails for the steps that it is told to.
class Failing final : public CheckpointSides {
 public:
  CheckpointEntries Tier() override { return Entries({{2, 2, true}, {1, 1, true}}); }
  CheckpointEntries Shared(int) override { return shared; }
  MoveOutcome Move(const CheckpointEntry& entry) override {
    if (entry.step == bad) throw Error(ErrorKind::kEnvironment, "unreadable");
    shared.insert(shared.begin(), entry);
    return {MoveEnd::kMoved, {entry.step, {}, {}}};
  }
  void RemoveFromTier(const CheckpointEntry&) override { ADD_FAILURE() << "nothing is superfluous"; }
  void RemoveFromShared(const CheckpointEntry&) override { ADD_FAILURE() << "nothing is superfluous"; }
  std::uint64_t bad = 2;
  CheckpointEntries shared;
};

TEST(CheckpointMover, TakesAnOlderOneOnlyAtTheEnd) {
  Failing sides;
  CheckpointMover mover(sides, 2);
  const auto during = mover.Round(Thoroughness::kWhileTraining);
  EXPECT_TRUE(during.failure);
  EXPECT_FALSE(during.moved);
  const auto end = mover.Round(Thoroughness::kAtTheEnd);
  EXPECT_TRUE(end.failure);
  ASSERT_TRUE(end.moved);
  EXPECT_EQ(end.moved->step, 1u);
  EXPECT_FALSE(mover.Settled());
}

}  // namespace
}  // namespace slipway::staging
