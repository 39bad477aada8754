#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>

#include "core/files.h"
#include "runtime/collectives/broadcast.h"
#include "runtime/collectives/pairwise.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/collectives/numbers.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {
namespace {

using namespace runtime;

std::vector<char> Pattern(std::size_t bytes, int seed) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(seed));
  return data;
}

TEST(Broadcasting, ReachesAllFromEveryRoot) {
  TestGroup test;
  for (int root = 0; root < Ranks(); ++root) {
    for (const std::size_t bytes : {0u, 1u, 7u, 4097u, 262144u, 262145u, 1000003u}) {
      auto data = Pattern(bytes, Rank() == root ? 5 : 99);
      Broadcast(data.data(), bytes, root, test.group.members());
      EXPECT_EQ(data, Pattern(bytes, 5)) << "root " << root << ", " << bytes << " bytes";
    }
  }
}

/// Where rank 0 says that all may use it.
std::filesystem::path PlaceOfAll(const TempDirectory& own) {
  auto path = own.path().string();
  path.resize(1024);
  MPI_Bcast(path.data(), static_cast<int>(path.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return path.c_str();
}

/// Outside of MPI.
bool AllHaveReturned(const std::filesystem::path& place, const std::string& call) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  for (int rank = 0; rank < Ranks();) {
    if (std::filesystem::exists(place / (call + std::to_string(rank)))) {
      ++rank;
    } else if (std::chrono::steady_clock::now() > deadline) {
      return false;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return true;
}

/// A rank that has returned may wait for something else than MPI, which then moves nothing for the others.
TEST(Broadcasting, NeedsNoRankThatHasReturned) {
  TestGroup test;
  const TempDirectory own;
  const auto place = PlaceOfAll(own);
  for (const int leaver : {0, Ranks() - 1}) {
    for (const std::size_t bytes : {5'000u, 65'536u, 262'144u, 262'145u, 4'000'000u, 50'000'000u}) {
      const auto call = std::to_string(leaver) + "-" + std::to_string(bytes) + "-";
      auto data = Pattern(bytes, Rank() == 0 ? 5 : 99);
      Broadcast(data.data(), bytes, 0, test.group.members());
      WriteFile(place / (call + std::to_string(Rank())), "");
      EXPECT_TRUE(Rank() != leaver || AllHaveReturned(place, call)) << call;
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

TEST(Broadcasting, CostsWhatItsPageSays) {
  TestGroup test;
  const auto depth = std::bit_width(static_cast<unsigned>(Ranks() - 1));
  std::vector<char> data(2 << 20);
  PointToPoint small(test.group.communicator());
  Broadcast(data.data(), 1000, 0, small);
  EXPECT_LE(small.counters().steps, depth);
  PointToPoint large(test.group.communicator());
  Broadcast(data.data(), data.size(), 0, large);
  EXPECT_LE(large.counters().steps, Ranks() == 1 ? 0 : 2 * depth + Ranks() - 1);
  EXPECT_LE(large.counters().bytes_sent, 2 * static_cast<std::int64_t>(data.size()));
}

/// N bytes in P slices, as equal as can be.
TEST(Pairwise, CostsWhatItsPageSays) {
  TestGroup test;
  auto& communicator = test.group.communicator();
  for (const std::int64_t count : {0, 1, 7, 4097, 1000003}) {
    const auto slices = SlicesOf(count, Ranks());
    const auto own = slices[static_cast<std::size_t>(Rank())].count * 4;
    std::vector<float> out(static_cast<std::size_t>(count));
    std::vector<float> in(static_cast<std::size_t>(own / 4 * Ranks()));
    PointToPoint scatter(communicator);
    PairwiseReduceScatter(out.data(), in.data(), slices, {SLIPWAY_FLOAT32, SLIPWAY_SUM}, scatter, Ranks());
    EXPECT_EQ(scatter.counters().steps, Ranks() - 1);
    EXPECT_EQ(scatter.counters().bytes_sent, count * 4 - own) << count;
    PointToPoint gather(communicator);
    PairwiseAllgather(out.data(), slices, 4, gather);
    EXPECT_EQ(gather.counters().steps, Ranks() - 1);
    EXPECT_EQ(gather.counters().bytes_sent, (Ranks() - 1) * own) << count;
    std::vector<Slice> from;
    for (int rank = 0; rank < Ranks(); ++rank) from.push_back({rank * (own / 4), own / 4});
    PointToPoint all(communicator);
    PairwiseAlltoall(out.data(), slices, in.data(), from, 4, all);
    EXPECT_EQ(all.counters().steps, Ranks() - 1);
    EXPECT_EQ(all.counters().bytes_sent, count * 4 - own) << count;
  }
}

TEST(Barriers, HoldUntilTheLastHasCome) {
  TestGroup test;
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  double last_arrival = 0;
  if (Rank() == Ranks() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    last_arrival = now();
  }
  PointToPoint members(test.group.communicator());
  Barrier(members);
  const double left = now();
  MPI_Bcast(&last_arrival, 1, MPI_DOUBLE, Ranks() - 1, MPI_COMM_WORLD);
  EXPECT_GE(left, last_arrival);
  EXPECT_EQ(members.counters().steps, std::bit_width(static_cast<unsigned>(Ranks() - 1)));
}

/// Rank r has r + 1 elements, the last one none.
std::vector<std::int64_t> UnequalCounts() {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(Ranks()));
  std::iota(counts.begin(), counts.end(), 1);
  if (Ranks() > 1) counts.back() = 0;
  return counts;
}

TEST(Allgather, TakesUnequalSizes) {
  const auto counts = UnequalCounts();
  const auto own = counts[static_cast<std::size_t>(Rank())];
  const std::vector<std::int32_t> mine(static_cast<std::size_t>(own), Rank() * 10);
  std::vector<std::int32_t> all(
      static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})));
  ASSERT_EQ(slipway_allgather(mine.data(), all.data(), counts.data(), SLIPWAY_INT32, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
  std::vector<std::int32_t> expected;
  for (int rank = 0; rank < Ranks(); ++rank)
    expected.insert(expected.end(), static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]), rank * 10);
  EXPECT_EQ(all, expected);
}

TEST(ReduceScatter, GivesEachRankItsShare) {
  const auto counts = UnequalCounts();
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (const auto op : kOperations) {
    Array send(SLIPWAY_FLOAT32, total);
    send.Fill(Rank(), op);
    const auto own = counts[static_cast<std::size_t>(Rank())];
    Array receive(SLIPWAY_FLOAT32, own);
    ASSERT_EQ(slipway_reduce_scatter(send.data(), receive.data(), counts.data(), SLIPWAY_FLOAT32, op, SLIPWAY_ALL),
              SLIPWAY_OK)
        << slipway_error_message();
    const auto first = std::accumulate(counts.begin(), counts.begin() + Rank(), std::int64_t{0});
    for (std::int64_t i = 0; i < own; ++i) {
      EXPECT_NEAR(receive.Get(i), ExpectedOf(first + i, op, Ranks()), 1e-5) << "operation " << op;
    }
  }
}

TEST(Alltoall, SendsEachPieceToItsRank) {
  // Rank s sends s + r elements to rank r.
  std::vector<std::int64_t> out, in;
  std::vector<std::int64_t> send, expected;
  for (int rank = 0; rank < Ranks(); ++rank) {
    out.push_back(Rank() + rank);
    in.push_back(rank + Rank());
    send.insert(send.end(), static_cast<std::size_t>(Rank() + rank), Rank() * 100 + rank);
    expected.insert(expected.end(), static_cast<std::size_t>(rank + Rank()), rank * 100 + Rank());
  }
  std::vector<std::int64_t> receive(expected.size());
  ASSERT_EQ(slipway_alltoall(send.data(), out.data(), receive.data(), in.data(), SLIPWAY_INT64, SLIPWAY_ALL),
            SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_EQ(receive, expected);
}

TEST(Collectives, RefuseBuffersThatOverlap) {
  std::vector<float> data(static_cast<std::size_t>(Ranks()) * 2);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(Ranks()), 1);
  EXPECT_EQ(slipway_allgather(data.data(), data.data(), counts.data(), SLIPWAY_FLOAT32, SLIPWAY_ALL),
            SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_reduce_scatter(data.data(), data.data() + Ranks() - 1, counts.data(), SLIPWAY_FLOAT32, SLIPWAY_SUM,
                                   SLIPWAY_ALL),
            SLIPWAY_ERROR_ARGUMENT);
}

TEST(Collectives, RefuseCountsThatAreNone) {
  float value = 0;
  float other = 0;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(Ranks()), -1);
  EXPECT_EQ(slipway_allgather(&value, &other, counts.data(), SLIPWAY_FLOAT32, SLIPWAY_ALL), SLIPWAY_ERROR_ARGUMENT);
  counts.assign(counts.size(), INT64_MAX / 8);
  if (Ranks() > 1) {
    EXPECT_EQ(slipway_allgather(&value, &other, counts.data(), SLIPWAY_FLOAT32, SLIPWAY_ALL), SLIPWAY_ERROR_ARGUMENT);
  }
  EXPECT_EQ(slipway_allgather(&value, &other, nullptr, SLIPWAY_FLOAT32, SLIPWAY_ALL), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_allreduce(&value, 1, SLIPWAY_UINT8, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_ERROR_ARGUMENT);
}

// Groups.

TEST(Groups, HaveTheirOwnRanksAndSums) {
  std::vector<int> evens, reversed;
  for (int rank = 0; rank < Ranks(); rank += 2) evens.push_back(rank);
  for (int rank = Ranks() - 1; rank >= 0; --rank) reversed.push_back(rank);
  int group = -1;
  int backwards = -1;
  ASSERT_EQ(slipway_group_create(evens.data(), static_cast<int>(evens.size()), &group), SLIPWAY_OK);
  ASSERT_EQ(slipway_group_create(reversed.data(), Ranks(), &backwards), SLIPWAY_OK) << slipway_error_message();
  EXPECT_NE(group, backwards);
  EXPECT_EQ(slipway_group_rank(backwards), Ranks() - 1 - Rank());
  double sum = Rank();
  if (Rank() % 2 == 0) {
    EXPECT_EQ(slipway_group_rank(group), Rank() / 2);
    EXPECT_EQ(slipway_group_size(group), static_cast<int>(evens.size()));
    ASSERT_EQ(slipway_allreduce(&sum, 1, SLIPWAY_FLOAT64, SLIPWAY_SUM, group), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(sum, std::accumulate(evens.begin(), evens.end(), 0.0));
    ASSERT_EQ(slipway_barrier(group), SLIPWAY_OK);
  } else {
    EXPECT_EQ(slipway_group_rank(group), -1);
    EXPECT_EQ(slipway_allreduce(&sum, 1, SLIPWAY_FLOAT64, SLIPWAY_SUM, group), SLIPWAY_ERROR_ARGUMENT);
  }
  ASSERT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_group_free(backwards), SLIPWAY_OK);
  EXPECT_EQ(slipway_group_size(group), -1);
}

TEST(Groups, AreMadeByTheirMembersAlone) {
  std::vector<int> evens;
  for (int rank = 0; rank < Ranks(); rank += 2) evens.push_back(rank);
  if (Rank() % 2 != 0) return;  // the others are not needed, and not waited for
  int group = -1;
  ASSERT_EQ(slipway_group_create_by_members(evens.data(), static_cast<int>(evens.size()), 7, &group), SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_EQ(slipway_group_rank(group), Rank() / 2);
  EXPECT_EQ(slipway_group_size(group), static_cast<int>(evens.size()));
  double sum = Rank();
  ASSERT_EQ(slipway_allreduce(&sum, 1, SLIPWAY_FLOAT64, SLIPWAY_SUM, group), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(sum, std::accumulate(evens.begin(), evens.end(), 0.0));
  ASSERT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_group_size(group), -1);
}

/// Each group by a thread of its own; rank 0 begins with the first group, the others with the second.
TEST(Groups, OfTheirMembersAreUsedByThreadsAtTheSameTime) {
  std::vector<int> all(static_cast<std::size_t>(Ranks()));
  std::iota(all.begin(), all.end(), 0);
  int groups[2] = {-1, -1};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(slipway_group_create_by_members(all.data(), Ranks(), i, &groups[i]), SLIPWAY_OK)
        << slipway_error_message();
  }
  const auto use = [](int group) {
    for (int round = 0; round < 50; ++round) {
      std::vector<float> data(round % 2 == 0 ? 10 : 70'000, 1.0f);
      ASSERT_EQ(
          slipway_allreduce(data.data(), static_cast<std::int64_t>(data.size()), SLIPWAY_FLOAT32, SLIPWAY_SUM, group),
          SLIPWAY_OK)
          << slipway_error_message();
      ASSERT_EQ(data.back(), static_cast<float>(Ranks()));
    }
  };
  std::thread first(use, groups[Rank() == 0 ? 0 : 1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::thread second(use, groups[Rank() == 0 ? 1 : 0]);
  first.join();
  second.join();
  for (const int group : groups) ASSERT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
}

TEST(Groups, OfTheirMembersRefuseWhatIsWrong) {
  int group = -1;
  const int own = Rank();
  const int outside = Ranks();
  const auto create = [&](const int* ranks, int count, int tag) {
    return slipway_group_create_by_members(ranks, count, tag, &group);
  };
  EXPECT_EQ(create(&own, 1, -1), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(create(&own, 1, 32768), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(create(&outside, 1, 0), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(create(nullptr, 1, 0), SLIPWAY_ERROR_ARGUMENT);
  if (Ranks() == 1) return;
  const int other = (Rank() + 1) % Ranks();
  EXPECT_EQ(create(&other, 1, 0), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_NE(std::string(slipway_error_message()).find("is not one of the members"), std::string::npos);
}

/// The numbers are those of the job.
TEST(Groups, NameTheRankThatIsWrong) {
  if (Ranks() < 3) GTEST_SKIP() << "needs a group of two ranks without the first one";
  std::vector<int> members(static_cast<std::size_t>(Ranks() - 1));
  std::iota(members.begin(), members.end(), 1);
  int group = -1;
  ASSERT_EQ(slipway_group_create(members.data(), Ranks() - 1, &group), SLIPWAY_OK) << slipway_error_message();
  const auto refusal = [&](int root_of_the_last) {
    float value = 1;
    const std::int64_t count = 1;
    const slipway_tensor tensor{"value", SLIPWAY_FLOAT32, 1, &count, &value};
    EXPECT_NE(slipway_broadcast(&tensor, 1, Rank() == Ranks() - 1 ? root_of_the_last : 0, group), SLIPWAY_OK);
    return std::string(slipway_error_message());
  };
  const auto last = "rank " + std::to_string(Ranks() - 1);
  if (Rank() > 0) {
    const auto no_rank = refusal(1000);
    EXPECT_NE(no_rank.find(last + ": there is no rank 1000"), std::string::npos) << no_rank;
    const auto another_root = refusal(1);
    EXPECT_NE(another_root.find(last + ": called for root 1, but for root 0 on rank 1"), std::string::npos)
        << another_root;
  }
  ASSERT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
}

TEST(Groups, RefuseListsThatAreWrong) {
  int group = -1;
  const std::vector<int> twice{0, 0};
  const int outside = Ranks();
  ExpectRefused(slipway_group_create(twice.data(), 2, &group), SLIPWAY_ERROR_ARGUMENT, "stands twice");
  ExpectRefused(slipway_group_create(&outside, 1, &group), SLIPWAY_ERROR_ARGUMENT, "there is no rank");
  ExpectRefused(slipway_group_create(nullptr, 1, &group), SLIPWAY_ERROR_ARGUMENT, "needs ranks");
  ExpectRefused(slipway_group_free(SLIPWAY_ALL), SLIPWAY_ERROR_ARGUMENT, "stays");
  ExpectRefused(slipway_group_free(12345), SLIPWAY_ERROR_ARGUMENT, "there is no group 12345");
  if (Ranks() == 1) return;
  const int different = Rank() == 0 ? 0 : 1;
  ExpectRefused(slipway_group_create(&different, 1, &group), SLIPWAY_ERROR_MISMATCH, "a group of 1");
}

}  // namespace
}  // namespace slipway::test
