#include "runtime/selection/algorithm_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "core/error.h"

namespace slipway::runtime {
namespace {

using testing::HasSubstr;
using Range = AlgorithmTable::Range;
using enum Algorithm;

constexpr std::int64_t kMax = AlgorithmTable::kMax;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

constexpr Placement kOneNode{4, 1, true};
constexpr Placement kOneNodeWithoutSharedMemory{4, 1, false};
constexpr Placement kFourNodes{64, 4, true};
constexpr Placement kOneRankEach{4, 4, true};

const std::vector<Choice>& AllChoices() {
  static const std::vector<Choice> kChoices = [] {
    std::vector<Choice> choices;
    for (const auto algorithm : {kShared, kRecursiveDoubling, kRing, kRabenseifner, kTorus, kPairwise, kMpi}) {
      choices.push_back({algorithm, false});
      if (algorithm != kShared && algorithm != kMpi) choices.push_back({algorithm, true});
    }
    using enum SharedWay;
    for (const auto way : {kTogether, kCopies32K, kCopies128K, kDirect}) choices.push_back({kShared, false, way});
    return choices;
  }();
  return kChoices;
}

/// The text of the Error(kUsage) that `action` throws.
template <class Action>
std::string Refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

std::string RefusalOf(const std::string& text) {
  return Refusal([&] { AlgorithmTable::Default(kOneNode).With(text); });
}

// ---------------------------------------------------------------------------------------------------------- names

TEST(ChoiceNames, AreReadBackAndDiffer) {
  std::set<std::string> names;
  for (const auto& choice : AllChoices()) {
    EXPECT_EQ(ChoiceOf(NameOf(choice)), choice);
    names.insert(NameOf(choice));
  }
  EXPECT_EQ(names.size(), AllChoices().size());
}

TEST(ChoiceNames, AreExact) {
  EXPECT_EQ(ChoiceOf("hierarchical_ring"), (Choice{kRing, true}));
  for (const char* wrong : {"", "Ring", "ring ", "hierarchical_", "hierarchical_hierarchical_ring", "rings"}) {
    EXPECT_FALSE(ChoiceOf(wrong).has_value()) << wrong;
  }
}

TEST(ChoiceNames, KnowNeitherSharedMemoryNorMpiBetweenLeaders) {
  EXPECT_FALSE(ChoiceOf("hierarchical_shared").has_value());
  EXPECT_FALSE(ChoiceOf("hierarchical_mpi").has_value());
}

// ----------------------------------------------------------------------------------------- ways of shared memory

TEST(WaysOfSharedMemory, AreChosenBySize) {
  const auto table = AlgorithmTable::Default(kOneNode).With("shared_together:0-2KiB;shared_direct:1MiB-max");
  EXPECT_EQ(table.ToText(), "shared_together:0-2048;shared:2049-1048575;shared_direct:1048576-max");
  EXPECT_EQ(NameOf(table.Select(4 << 20)), "shared_direct");
  EXPECT_EQ(NameOf(table.Select(4 << 20, {.canonical = true})), "shared_direct");
  EXPECT_EQ(NameOf(table.Select(4 << 20, {.narrow = true})), "shared_direct");
}

TEST(WaysOfSharedMemory, NeedWhatTheyAreMadeOf) {
  auto forbidden = kOneNode;
  forbidden.direct_copies = false;
  EXPECT_EQ(NameOf(AlgorithmTable::Default(forbidden).With("shared_direct").Select(1 << 20)), "shared");
  EXPECT_EQ(NameOf(AlgorithmTable::Default(kFourNodes).With("shared_direct").Select(1 << 20)),
            NameOf(AlgorithmTable::Default(kFourNodes).With("shared").Select(1 << 20)));
}

TEST(WaysOfSharedMemory, LeaveTheBitsAsTheyAre) {
  const auto table = AlgorithmTable::Default(kOneNode).With("shared_together:0-2048;shared_direct:2049-max");
  EXPECT_EQ(table.WithoutWays(), AlgorithmTable::Default(kOneNode));
  EXPECT_EQ(table.With("ring:8192-max").WithoutWays().ToText(), "shared:0-8191;ring:8192-max");
}

// ------------------------------------------------------------------------------------------------------- defaults

TEST(DefaultTable, UsesSharedMemoryOnOneNode) {
  EXPECT_EQ(AlgorithmTable::Default(kOneNode).ToText(), "shared:0-max");
  EXPECT_EQ(AlgorithmTable::Default({1, 1, true}).ToText(), "shared:0-max");
}

TEST(DefaultTable, GoesFromFewStepsToFewBytesWithoutSharedMemory) {
  EXPECT_EQ(AlgorithmTable::Default(kOneNodeWithoutSharedMemory).ToText(),
            "recursive_doubling:0-16383;rabenseifner:16384-1048575;ring:1048576-max");
}

TEST(DefaultTable, IsHierarchicalOnSeveralNodes) {
  EXPECT_EQ(AlgorithmTable::Default(kFourNodes).ToText(),
            "hierarchical_recursive_doubling:0-4095;hierarchical_rabenseifner:4096-262143;"
            "hierarchical_ring:262144-max");
}

TEST(DefaultTable, IsFlatWithOneRankOnEachNode) {
  EXPECT_EQ(AlgorithmTable::Default(kOneRankEach).ToText(),
            "recursive_doubling:0-4095;rabenseifner:4096-262143;ring:262144-max");
}

TEST(DefaultTable, CountsRanksWhereNodesDoNotShareMemory) {
  EXPECT_EQ(AlgorithmTable::Default({64, 4, false}).ToText(), AlgorithmTable::Default({64, 64, true}).ToText());
}

std::string Winner(int nodes, Network network, std::int64_t bytes) {
  return NameOf(AlgorithmTable::Default({nodes, nodes, true}, network).Select(bytes));
}

// The winners of docs/explanation/benchmarks-exchange.md, "Simulated large machines".
TEST(DefaultTable, TakesTheWinnersOnADragonfly) {
  EXPECT_EQ(Winner(1024, Network::kDragonfly, 1024), "recursive_doubling");
  EXPECT_EQ(Winner(1024, Network::kDragonfly, 262144), "rabenseifner");
  EXPECT_EQ(Winner(1024, Network::kDragonfly, 28150000), "torus");
  EXPECT_EQ(Winner(256, Network::kDragonfly, 2376000), "torus");
  EXPECT_EQ(Winner(64, Network::kDragonfly, 28150000), "ring");
}

TEST(DefaultTable, TakesTheWinnersOnAFatTree) {
  EXPECT_EQ(Winner(1024, Network::kFatTree, 4096), "recursive_doubling");
  EXPECT_EQ(Winner(1024, Network::kFatTree, 102000000), "rabenseifner");
  EXPECT_EQ(Winner(64, Network::kFatTree, 2376000), "rabenseifner");
  EXPECT_EQ(Winner(64, Network::kFatTree, 28150000), "ring");
}

TEST(DefaultTable, AvoidsPairsOfLargeMessagesWhereNotAllRanksHaveAPartner) {
  EXPECT_EQ(Winner(96, Network::kFatTree, 1 << 20), "torus");
  EXPECT_EQ(Winner(96, Network::kFatTree, 28150000), "ring");
  EXPECT_EQ(Winner(96, Network::kUnknown, 1 << 20), "torus");
  EXPECT_EQ(Winner(128, Network::kUnknown, 1 << 20), "rabenseifner");
}

// ----------------------------------------------------------------------------------------------------------- With

TEST(AlgorithmTable, ReplacesTheRangesOfTheText) {
  const auto table = AlgorithmTable::Default(kOneNode).With("ring:1000-1999; mpi:4KiB-max");
  EXPECT_EQ(table.ToText(), "shared:0-999;ring:1000-1999;shared:2000-4095;mpi:4096-max");
}

TEST(AlgorithmTable, TakesANameAloneForEverySize) {
  EXPECT_EQ(AlgorithmTable::Default(kFourNodes).With(" ring ").ToText(), "ring:0-max");
}

TEST(AlgorithmTable, IsNotChangedByBlankText) {
  const auto table = AlgorithmTable::Default(kFourNodes);
  EXPECT_EQ(table.With(""), table);
  EXPECT_EQ(table.With(" \n"), table);
}

TEST(AlgorithmTable, TakesPiecesInAnyOrderAndJoinsNeighbours) {
  const auto table = AlgorithmTable::Default(kOneNode).With("ring:100-max;mpi:50-99;mpi:0-49");
  EXPECT_EQ(table.ToText(), "mpi:0-99;ring:100-max");
}

TEST(AlgorithmTable, ReachesTheLargestSize) {
  const auto table = AlgorithmTable::Default(kOneNode).With("mpi:9223372036854775807-max");
  EXPECT_EQ(table.Select(kMax).algorithm, kMpi);
  EXPECT_EQ(table.Select(kMax - 1).algorithm, kShared);
}

TEST(AlgorithmTable, NamesTheNearestAlgorithm) {
  EXPECT_THAT(RefusalOf("rign:0-max"), HasSubstr("unknown algorithm 'rign' in 'rign:0-max'; did you mean 'ring'?"));
  EXPECT_THAT(RefusalOf("recursive_dubling"), HasSubstr("did you mean 'recursive_doubling'?"));
  EXPECT_THAT(RefusalOf("nccl"), HasSubstr("valid are 'shared', 'shared_together'"));
}

TEST(AlgorithmTable, NamesAPieceWithoutARange) {
  EXPECT_THAT(RefusalOf("ring:8192"), HasSubstr("no range of sizes in 'ring:8192'"));
  EXPECT_THAT(RefusalOf("ring:8192"), HasSubstr("recursive_doubling:0-8192"));
}

TEST(AlgorithmTable, NamesAWrongSize) {
  EXPECT_THAT(RefusalOf("mpi:0-9;ring:10-1kb"), HasSubstr("'1kb' is not a size in 'ring:10-1kb'"));
  EXPECT_THAT(RefusalOf("ring:-5-10"), HasSubstr("'' is not a size"));
  EXPECT_THAT(RefusalOf("ring:max-max"), HasSubstr("'max' is not a size"));
  EXPECT_THAT(RefusalOf("ring:0-9223372036854775808"), HasSubstr("is not a size"));
}

TEST(AlgorithmTable, RefusesARangeThatEndsBeforeItBegins) {
  EXPECT_THAT(RefusalOf("ring:10-9"), HasSubstr("the range in 'ring:10-9' ends before it begins"));
}

TEST(AlgorithmTable, RefusesOverlapsAndSaysWhereTheSecondBegins) {
  const auto text = RefusalOf("recursive_doubling:0-64KiB;ring:64KiB-max");
  EXPECT_THAT(text, HasSubstr("'recursive_doubling:0-65536' and 'ring:65536-max' overlap"));
  EXPECT_THAT(text, HasSubstr("begin the second at 65537"));
  EXPECT_THAT(RefusalOf("ring;mpi:0-10"), HasSubstr("overlap"));
}

TEST(AlgorithmTable, RefusesAnEmptyPiece) {
  EXPECT_THAT(RefusalOf("ring:0-9;;mpi:10-max"), HasSubstr("an empty piece in 'ring:0-9;;mpi:10-max'"));
  EXPECT_THAT(RefusalOf("ring:0-9;"), HasSubstr("an empty piece"));
  EXPECT_THAT(RefusalOf(":0-9"), HasSubstr("unknown algorithm ''"));
}

// ------------------------------------------------------------------------------------------------------ WithTuned

constexpr const char* kTuned =
    R"({"schema":"slipway.algorithms/1","machine":"m","rules":[
        {"ranks":4,"nodes":1,"table":"mpi:0-63"},{"ranks":64,"nodes":4,"table":"ring"}]})";

std::string RefusalOfTuned(const std::string& json) {
  return Refusal([&] { AlgorithmTable::Default(kOneNode).WithTuned(json, "tuned.json", kOneNode); });
}

TEST(TunedTable, ChangesOnlyItsOwnPlacement) {
  const auto tuned = [](const Placement& placement) {
    return AlgorithmTable::Default(placement).WithTuned(kTuned, "tuned.json", placement).ToText();
  };
  EXPECT_EQ(tuned(kOneNode), "mpi:0-63;shared:64-max");
  EXPECT_EQ(tuned(kFourNodes), "ring:0-max");
  EXPECT_EQ(tuned({8, 1, true}), "shared:0-max");
}

TEST(TunedTable, LiesUnderTheText) {
  const auto table = AlgorithmTable::Default(kOneNode).WithTuned(kTuned, "tuned.json", kOneNode).With("ring:32-99");
  EXPECT_EQ(table.ToText(), "mpi:0-31;ring:32-99;shared:100-max");
}

TEST(TunedTable, NamesTheFileThatIsWrong) {
  for (const char* wrong : {"", "{", "[]", "{}", R"({"schema":"slipway.algorithms/2","rules":[]})"}) {
    EXPECT_THAT(RefusalOfTuned(wrong), HasSubstr("slipway.algorithms/1")) << wrong;
    EXPECT_THAT(RefusalOfTuned(wrong), HasSubstr("tuned.json")) << wrong;
  }
}

TEST(TunedTable, NamesTheFileOfAMalformedRule) {
  for (const char* rules : {"7", "[7]", "[{}]", R"([{"ranks":"4","nodes":1,"table":"ring"}])"}) {
    const auto text = RefusalOfTuned(fmt::format(R"({{"schema":"slipway.algorithms/1","rules":{}}})", rules));
    EXPECT_THAT(text, HasSubstr("a rule is malformed")) << rules;
    EXPECT_THAT(text, HasSubstr("tuned.json")) << rules;
  }
}

TEST(TunedTable, IsCheckedAlsoForOtherPlacements) {
  const auto text =
      RefusalOfTuned(R"({"schema":"slipway.algorithms/1","rules":[{"ranks":512,"nodes":8,"table":"rign"}]})");
  EXPECT_THAT(text, HasSubstr("did you mean 'ring'?"));
  EXPECT_THAT(text, HasSubstr("tuned.json"));
}

TEST(TunedTable, OfAnotherCountOfRanksIsNotTakenForThisOne) {
  const auto json =
      fmt::format(R"({{"schema":"slipway.algorithms/1","rules":[{{"ranks":{},"nodes":1,"table":"ring"}}]}})",
                  (std::int64_t{1} << 32) + 4);
  EXPECT_EQ(AlgorithmTable::Default(kOneNode).WithTuned(json, "tuned.json", kOneNode).ToText(), "shared:0-max");
}

// --------------------------------------------------------------------------------------------------------- Select

TEST(Selection, TakesTheRangeThatHoldsTheSize) {
  const auto table = AlgorithmTable::Default(kOneNode).With("recursive_doubling:0-8192;ring:8193-max");
  EXPECT_EQ(table.Select(0).algorithm, kRecursiveDoubling);
  EXPECT_EQ(table.Select(8192).algorithm, kRecursiveDoubling);
  EXPECT_EQ(table.Select(8193).algorithm, kRing);
  EXPECT_EQ(table.Select(kMax).algorithm, kRing);
}

TEST(Selection, ReplacesWhatCannotWorkHereByTheNearest) {
  const auto select = [](const Placement& placement, const char* name) {
    return NameOf(AlgorithmTable::Default(placement).With(name).Select(kGiB));
  };
  EXPECT_EQ(select(kFourNodes, "shared"), "hierarchical_rabenseifner");
  EXPECT_EQ(select(kOneRankEach, "shared"), "rabenseifner");
  EXPECT_EQ(select(kOneNodeWithoutSharedMemory, "shared"), "rabenseifner");
  EXPECT_EQ(select(kOneNode, "hierarchical_ring"), "shared");
  EXPECT_EQ(select(kOneNodeWithoutSharedMemory, "hierarchical_ring"), "ring");
  EXPECT_EQ(select(kOneRankEach, "hierarchical_torus"), "torus");
  EXPECT_EQ(select(kFourNodes, "ring"), "ring");
}

TEST(Selection, MeetsDemands) {
  const auto table = AlgorithmTable::Default(kFourNodes).With("ring:0-99;hierarchical_ring:100-max");
  EXPECT_EQ(table.Usable({.canonical = true}).ToText(), "pairwise:0-max");
  EXPECT_EQ(table.Usable({.narrow = true}).ToText(), "pairwise:0-99;hierarchical_pairwise:100-max");
  EXPECT_EQ(NameOf(table.Select(50, {.narrow = true})), "pairwise");
  const auto shared = AlgorithmTable::Default(kOneNode);
  EXPECT_EQ(shared.Usable({.canonical = true, .narrow = true}).ToText(), "shared:0-max");
  EXPECT_EQ(shared.With("ring").Usable({.canonical = true}).ToText(), "shared:0-max");
}

TEST(Selection, IsShownByTheUsableTable) {
  const auto table = AlgorithmTable::Default(kFourNodes).With("shared:0-99;hierarchical_rabenseifner:100-max");
  EXPECT_EQ(table.ToText(), "shared:0-99;hierarchical_rabenseifner:100-max");
  EXPECT_EQ(table.Usable().ToText(), "hierarchical_rabenseifner:0-max");
}

// ----------------------------------------------------------------------------------------------------- properties

Placement AnyPlacement() {
  const int nodes = *rc::gen::inRange(1, 10);
  return {nodes * *rc::gen::inRange(1, 10), nodes, *rc::gen::arbitrary<bool>()};
}

/// A text that With() accepts: ascending pieces with and without holes between them, in any order.
std::string AnyText() {
  std::vector<std::string> pieces;
  std::int64_t next = *rc::gen::inRange<std::int64_t>(0, 3);
  const int count = *rc::gen::inRange(0, 8);
  for (int i = 0; i < count; ++i) {
    const auto last = next + *rc::gen::inRange<std::int64_t>(0, 1000);
    const auto name = NameOf(*rc::gen::elementOf(AllChoices()));
    pieces.push_back(fmt::format("{}:{}-{}", name, next, last));
    next = last + 1 + *rc::gen::inRange<std::int64_t>(0, 3);
  }
  if (*rc::gen::arbitrary<bool>()) {
    pieces.push_back(fmt::format("{}:{}-max", NameOf(*rc::gen::elementOf(AllChoices())), next));
  }
  for (std::size_t i = pieces.size(); i > 1; --i)
    std::swap(pieces[i - 1], pieces[*rc::gen::inRange<std::size_t>(0, i)]);
  return fmt::format("{}", fmt::join(pieces, ";"));
}

AlgorithmTable AnyTable() {
  const auto network = *rc::gen::element(Network::kUnknown, Network::kDragonfly, Network::kFatTree);
  return AlgorithmTable::Default(AnyPlacement(), network).With(AnyText());
}

bool CoversEverySize(const std::vector<Range>& ranges) {
  if (ranges.empty() || ranges.front().first != 0 || ranges.back().last != kMax) return false;
  for (std::size_t i = 0; i + 1 < ranges.size(); ++i) {
    if (ranges[i].last + 1 != ranges[i + 1].first || ranges[i].choice == ranges[i + 1].choice) return false;
  }
  return true;
}

RC_GTEST_PROP(AlgorithmTableProperty, RangesCoverEverySizeWithoutGapOrOverlap, ()) {
  const auto table = AnyTable();
  RC_ASSERT(CoversEverySize(table.ranges()));
  RC_ASSERT(CoversEverySize(table.Usable().ranges()));
  RC_ASSERT(CoversEverySize(table.With(AnyText()).ranges()));
}

RC_GTEST_PROP(AlgorithmTableProperty, TextIsReadBack, ()) {
  const auto placement = AnyPlacement();
  const auto table = AlgorithmTable::Default(placement).With(AnyText());
  const auto again = AlgorithmTable::Default(placement, Network::kDragonfly).With(table.ToText());
  RC_ASSERT(again == table);
  RC_ASSERT(again.ToText() == table.ToText());
}

RC_GTEST_PROP(AlgorithmTableProperty, TheTextWinsWhereItSpeaksAndNowhereElse, ()) {
  const auto base = AnyTable();
  const auto first = *rc::gen::inRange<std::int64_t>(0, 5000);
  const auto last = first + *rc::gen::inRange<std::int64_t>(0, 5000);
  const auto changed = base.With(fmt::format("mpi:{}-{}", first, last));
  const auto size = *rc::gen::inRange<std::int64_t>(0, 12000);
  const auto inside = size >= first && size <= last;
  RC_ASSERT(changed.Select(size) == (inside ? Choice{kMpi, false} : base.Select(size)));
}

RC_GTEST_PROP(AlgorithmTableProperty, SelectGivesOnlyWhatWorksHere, ()) {
  const auto placement = AnyPlacement();
  const auto table = AlgorithmTable::Default(placement).With(AnyText());
  for (const auto& range : table.ranges()) {
    for (const auto size : {range.first, range.last}) {
      const auto choice = table.Select(size);
      if (placement.nodes > 1 || !placement.shared_memory) RC_ASSERT(choice.algorithm != kShared);
      if (placement.nodes == 1) RC_ASSERT(!choice.hierarchical);
      if (choice.hierarchical) RC_ASSERT(placement.shared_memory && placement.ranks > placement.nodes);
      RC_ASSERT(table.Usable().Select(size) == choice);
      for (const Demands demands : {Demands{.canonical = true}, Demands{.narrow = true}}) {
        const auto exact = table.Select(size, demands).algorithm;
        RC_ASSERT(exact == kPairwise || exact == kShared);
        RC_ASSERT(table.Usable(demands).Select(size, demands).algorithm == exact);
      }
    }
  }
}

RC_GTEST_PROP(AlgorithmTableProperty, AnyTextIsAcceptedOrRefused, (const std::string& text)) {
  const auto refused = [](auto action) {
    try {
      action();
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kUsage);
    }
  };
  const auto table = AlgorithmTable::Default(kFourNodes);
  refused([&] { RC_ASSERT(CoversEverySize(table.With(text).ranges())); });
  refused([&] { RC_ASSERT(CoversEverySize(table.With("ring:" + text).ranges())); });
  refused([&] { table.WithTuned(text, "tuned.json", kFourNodes); });
}

}  // namespace
}  // namespace slipway::runtime
