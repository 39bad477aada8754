// Lives of a process under mpirun, one test for each process: how MPI was started, and how it ends.

#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "runtime/slipway.hpp"
#include "tests/support/rank_of_launcher.h"

namespace slipway {
namespace {

bool Initialized() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized != 0;
}

bool Finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

void ExpectSumOfOnes() {
  float value = 1;
  ASSERT_EQ(slipway_allreduce(&value, 1, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_EQ(value, static_cast<float>(slipway_size()));
}

TEST(Life, StartsAndEndsMpiOnce) {
  ASSERT_FALSE(Initialized());
  ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(Initialized());
  EXPECT_EQ(slipway_init(nullptr), SLIPWAY_ERROR_STATE);
  ExpectSumOfOnes();
  ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(Finalized());
  EXPECT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_ERROR_STATE);
  EXPECT_EQ(slipway_finalize(), SLIPWAY_ERROR_STATE);
  EXPECT_EQ(slipway_init(nullptr), SLIPWAY_ERROR_STATE);
  EXPECT_NE(std::string(slipway_error_message()).find("MPI has been finalized"), std::string::npos);
}

TEST(Life, LeavesTheUsersMpiRunning) {
  int provided = -1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
  for (int life = 0; life < 2; ++life) {
    testing::internal::CaptureStderr();
    ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
    const auto said = testing::internal::GetCapturedStderr();
    const bool warns = slipway_rank() == 0 && provided < MPI_THREAD_MULTIPLE;
    EXPECT_EQ(said.find("less than MPI_THREAD_MULTIPLE") != std::string::npos, warns) << said;
    ExpectSumOfOnes();
    ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
    EXPECT_FALSE(Finalized());
  }
  MPI_Finalize();
}

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The same on all ranks of the test, which have one parent; rank 0 removes it at the end. To be called before MPI is
/// up: what another test has left under this number goes.
std::filesystem::path FileOfThisTest(const char* name) {
  const auto file = std::filesystem::temp_directory_path() / (std::string(name) + std::to_string(::getppid()));
  std::error_code ignored;
  std::filesystem::remove_all(file, ignored);
  return file;
}

TEST(Life, TheWaysOfANodeAreMeasuredOnceAndKept) {
  const auto file = FileOfThisTest("slipway-ways-");
  ::setenv("SLIPWAY_WAYS", file.c_str(), 1);
  int provided = -1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  std::string first;
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
    ExpectSumOfOnes();
    ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
    const auto kept = ContentOf(file);
    EXPECT_NE(kept.find("\"ranks\": 2"), std::string::npos) << kept;
    EXPECT_NE(kept.find("\"table\": \"shared"), std::string::npos) << kept;
    if (life > 0) {
      EXPECT_EQ(kept, first);
    }
    first = kept;
    ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file);
  MPI_Finalize();
}

std::size_t CountOf(const std::string& words, const std::string& text) {
  std::size_t count = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

TEST(Life, AFileWithoutWaysIsLeftAsItIs) {
  const auto file = FileOfThisTest("slipway-precious-");
  ::setenv("SLIPWAY_WAYS", file.c_str(), 1);
  int provided = -1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::ofstream(file) << "precious\n";
  testing::internal::CaptureStderr();
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  }
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(CountOf("which is no slipway.ways document: it is left as it is", said), rank == 0 ? 1u : 0u) << said;
  if (rank == 0) {
    EXPECT_EQ(ContentOf(file), "precious\n");
    std::filesystem::remove(file);
  }
  MPI_Finalize();
}

TEST(Life, SettingsThatNameAWayNeedNoMeasurement) {
  const auto file = FileOfThisTest("slipway-no-ways-");
  ::setenv("SLIPWAY_WAYS", file.c_str(), 1);
  ::setenv("SLIPWAY_ALGORITHMS", "shared_copies_32k", 1);
  ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  ExpectSumOfOnes();
  EXPECT_FALSE(std::filesystem::exists(file));
  ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
}

TEST(Life, ExhaustedSharedMemoryIsReplacedWithOneWarning) {
  ::setenv("SLIPWAY_SHARED_MEMORY_LIMIT", "1MiB", 1);
  ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  testing::internal::CaptureStderr();
  void* memory[2] = {};
  for (auto*& each : memory) ASSERT_EQ(slipway_alloc(2 << 20, &each), SLIPWAY_OK) << slipway_error_message();
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(CountOf("warning: no shared memory for 2097152 bytes", said), 1u) << said;
  EXPECT_EQ(CountOf("SLIPWAY_SHARED_MEMORY_LIMIT", said), 1u) << said;
  auto* values = static_cast<float*>(memory[1]);
  values[77'777] = 2;
  ASSERT_EQ(slipway_allreduce(values, 100'000, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
  EXPECT_EQ(values[77'777], 2.0f * static_cast<float>(slipway_size()));
  for (auto* each : memory) EXPECT_EQ(slipway_free(each), SLIPWAY_OK);
  EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
}

TEST(Life, RanksThatCannotShareMemoryExchangeByMessagesWithAWarning) {
  int provided = -1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{64 * 1024, 64 * 1024};  // enough for the board of the watch
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  testing::internal::CaptureStderr();
  const int status = slipway_init(nullptr);
  const auto said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(status, SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(CountOf("warning: the ranks of a node could not share ", said), slipway_rank() == 0 ? 1u : 0u) << said;
  ExpectSumOfOnes();
  EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  MPI_Finalize();
}

const slipway_tensor* Parameter() {
  static float value = 1;
  static const slipway_tensor tensor{"x", SLIPWAY_FLOAT32, 0, nullptr, &value};
  return &tensor;
}

TEST(Life, EndsWithAParameterServerAtWork) {
  ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  for (const char* name : {"synchronous", "asynchronous"}) {
    ASSERT_EQ(slipway_server_create(name, Parameter(), 1, 0.1, name[0] == 's' ? 0 : 2), SLIPWAY_OK);
  }
  // Not all ranks push this step: it is dropped.
  if (slipway_rank() == 0) {
    ASSERT_EQ(slipway_server_push("synchronous", Parameter(), 1), SLIPWAY_OK);
  }
  ASSERT_EQ(slipway_server_push("asynchronous", Parameter(), 1), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(Finalized());
}

TEST(Life, AParameterServerNeedsThreadsInMpi) {
  int provided = -1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
  ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  const bool enough = provided == MPI_THREAD_MULTIPLE;
  EXPECT_EQ(slipway_server_create("server", Parameter(), 1, 0.1, 0), enough ? SLIPWAY_OK : SLIPWAY_ERROR_STATE);
  const std::string message = slipway_error_message();
  EXPECT_EQ(message.find("a parameter server needs MPI_THREAD_MULTIPLE") == std::string::npos, enough) << message;
  ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  MPI_Finalize();
}

TEST(Life, AConfigurationThatIsBadOnOneRankIsRefusedOnAll) {
  EXPECT_EQ(slipway_init(test::RankOfLauncher() == 1 ? "{" : "{}"), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(std::string(slipway_error_message()).find("slipway_init: rank 1: the configuration is malformed"), 0u)
      << slipway_error_message();
  EXPECT_TRUE(Finalized());  // so that mpirun sees an orderly end
  EXPECT_EQ(slipway_init("{}"), SLIPWAY_ERROR_STATE);
  EXPECT_STREQ(slipway_error_message(),
               "slipway_init: an earlier slipway_init failed and has ended MPI: end the process");
}

TEST(Life, SettingsThatDifferBetweenRanksAreRefusedOnAll) {
  const bool other = test::RankOfLauncher() == 1;
  EXPECT_EQ(slipway_init(other ? R"({"gradients": {"lag": 2}})" : R"({"gradients": {"lag": 3}})"),
            SLIPWAY_ERROR_MISMATCH);
  EXPECT_EQ(std::string(slipway_error_message()).find(R"(slipway_init: rank 1: called for settings {"lag":2})"), 0u)
      << slipway_error_message();
  EXPECT_TRUE(Finalized());
}

TEST(Life, AVariableThatDiffersBetweenRanksIsRefusedOnAll) {
  const bool other = test::RankOfLauncher() == 1;
  ::setenv("SLIPWAY_GPU_EXCHANGE", other ? "nccl" : "staged", 1);
  EXPECT_EQ(slipway_init("{}"), SLIPWAY_ERROR_MISMATCH);
  const std::string message = slipway_error_message();
  EXPECT_EQ(message.find("slipway_init: rank 1: exchanges GPU memory by 'nccl', but rank 0 by 'staged'"), 0u)
      << message;
  EXPECT_NE(message.find("SLIPWAY_GPU_EXCHANGE differs between ranks"), std::string::npos) << message;
  EXPECT_TRUE(Finalized());
}

TEST(Life, AVariableThatSaysWhatTheSettingsSayChangesNothing) {
  if (test::RankOfLauncher() == 1) ::setenv("SLIPWAY_GPU_EXCHANGE", "staged", 1);
  ASSERT_EQ(slipway_init(R"({"gradients": {"gpu_exchange": "staged"}})"), SLIPWAY_OK) << slipway_error_message();
  ExpectSumOfOnes();
  EXPECT_EQ(slipway_finalize(), SLIPWAY_OK);
}

TEST(Life, OfAForkedChildIsOutsideOfTheJob) {
  ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = slipway_barrier(SLIPWAY_ALL) == SLIPWAY_ERROR_STATE &&
                         slipway_init(nullptr) == SLIPWAY_ERROR_STATE && slipway_finalize() == SLIPWAY_ERROR_STATE;
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ExpectSumOfOnes();
  EXPECT_EQ(slipway_finalize(), SLIPWAY_OK);
}

/// Of an entry of `groups`: what is known of a call; null where there is none.
nlohmann::json CountsOf(const char* call, const nlohmann::json& group) {
  for (const auto& counts : group["calls"]) {
    if (counts["call"] == call) return counts;
  }
  return {};
}

void ExpectCounts(const nlohmann::json& counts, int count, int bytes) {
  EXPECT_EQ(counts["way"], "cpu") << counts.dump();
  EXPECT_EQ(counts["count"], count) << counts.dump();
  EXPECT_EQ(counts["bytes"], bytes) << counts.dump();
  EXPECT_GT(counts["exchange_s"], 0) << counts.dump();
}

/// Three allreduces by the program, a broadcast by another thread, and groups that end.
void ExchangeWithoutATeam() {
  for (int call = 0; call < 3; ++call) ExpectSumOfOnes();
  std::thread([] {
    double value = slipway_rank();
    const slipway_tensor tensor{"x", SLIPWAY_FLOAT64, 0, nullptr, &value};
    EXPECT_EQ(slipway_broadcast(&tensor, 1, 1, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
  }).join();
  for (int life = 0; life < 2; ++life) {
    const int ranks[] = {0, 1};
    int group = -1;
    ASSERT_EQ(slipway_group_create(ranks, 2, &group), SLIPWAY_OK) << slipway_error_message();
    float value = 1;
    ASSERT_EQ(slipway_allreduce(&value, 1, SLIPWAY_FLOAT32, SLIPWAY_SUM, group), SLIPWAY_OK);
    ASSERT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
  }
}

void ExpectCollectivesOfExchangeWithoutATeam(const nlohmann::json& collectives) {
  const auto& groups = collectives["groups"];
  ASSERT_EQ(groups.size(), 2u) << groups.dump();  // of those that have ended, one
  for (const auto& group : groups) EXPECT_EQ(group["ranks"], 2);
  const auto allreduces = CountsOf("slipway_allreduce", groups[0]);
  const auto broadcasts = CountsOf("slipway_broadcast", groups[0]);
  ExpectCounts(allreduces, 3, 12);
  EXPECT_EQ(allreduces["wait_s"], allreduces["exchange_s"]);
  ExpectCounts(broadcasts, 1, 8);
  EXPECT_EQ(broadcasts["wait_s"], 0) << "the program went on meanwhile";
  ExpectCounts(CountsOf("slipway_allreduce", groups[1]), 2, 8);
  const auto& ranks = collectives["times_of_ranks"];
  ASSERT_EQ(ranks.size(), 2u) << ranks.dump();
  for (const auto& times : ranks) {
    EXPECT_GT(times["wait_s"], 0) << times.dump();
    EXPECT_GT(times["exchange_s"], times["wait_s"]) << times.dump();
    EXPECT_GT(times["elapsed_s"], times["exchange_s"]) << times.dump();
    EXPECT_EQ(times["input_s"], 0) << times.dump();
  }
}

TEST(Life, WithoutATeamLeavesCountsAndSpansOfItsCollectives) {
  const auto folder = FileOfThisTest("slipway-collectives-");
  std::filesystem::create_directories(folder);
  ::setenv("SLIPWAY_METRICS", (folder / "metrics.jsonl").c_str(), 1);
  ASSERT_EQ(slipway_init(R"({"trace": {"chrome": true}})"), SLIPWAY_OK) << slipway_error_message();
  const int rank = slipway_rank();
  ExchangeWithoutATeam();
  ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  if (rank != 0) return;
  const auto report = nlohmann::json::parse(ContentOf(folder / "comm.json"));
  EXPECT_EQ(report["teams"], nlohmann::json::array());
  EXPECT_FALSE(report["bits"].is_null());
  ExpectCollectivesOfExchangeWithoutATeam(report["collectives"]);
  std::multiset<std::pair<int, std::string>> spans;
  const auto trace = nlohmann::json::parse(ContentOf(folder / "trace.json"));
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    spans.emplace(event["pid"].get<int>(), event["name"].get<std::string>());
    EXPECT_EQ(event["tid"], event["name"] == "slipway_broadcast" ? 1 : 0) << event.dump();
  }
  for (const int of : {0, 1}) {
    EXPECT_EQ(spans.count({of, "slipway_allreduce"}), 5u);
    EXPECT_EQ(spans.count({of, "slipway_broadcast"}), 1u);
  }
  std::filesystem::remove_all(folder);
}

TEST(Life, WithoutAnyExchangeSaysWhyThereIsNoTimeline) {
  const auto folder = FileOfThisTest("slipway-no-collectives-");
  std::filesystem::create_directories(folder);
  ::setenv("SLIPWAY_METRICS", (folder / "metrics.jsonl").c_str(), 1);
  ASSERT_EQ(slipway_init(R"({"trace": {"chrome": true}})"), SLIPWAY_OK) << slipway_error_message();
  const int rank = slipway_rank();
  testing::internal::CaptureStderr();
  EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(CountOf("trace.json is not written: the program has exchanged nothing", said), rank == 0 ? 1u : 0u) << said;
  if (rank != 0) return;
  EXPECT_FALSE(std::filesystem::exists(folder / "comm.json"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace slipway
