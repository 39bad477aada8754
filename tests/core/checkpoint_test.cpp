#include "core/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/json_fields.h"
#include "tests/support/forked_child.h"
#include "tests/support/temp_directory.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

CheckpointInfo InfoOf(std::uint64_t step) {
  CheckpointInfo info;
  info.step = step;
  info.epoch = static_cast<double>(step) / 2;
  info.world_size = 3;
  info.spec_hash = "abc";
  return info;
}

/// Every test gets a folder that does not exist yet.
class Checkpoint : public testing::Test {
 protected:
  fs::path Publish(std::uint64_t step, const std::string& weights = "weights") const {
    const auto prepared = BeginCheckpoint(folder_, step);
    WriteFile(prepared / "weights.bin", weights);
    MakeDirectories(prepared / "optimizer" / "state");
    WriteFile(prepared / "optimizer" / "state" / "adam.bin", "moments of step " + std::to_string(step));
    return CommitCheckpoint(prepared, InfoOf(step));
  }
  /// 0: none.
  std::uint64_t NewestStep() const {
    const auto newest = NewestCheckpoint(folder_);
    return newest ? newest->step : 0;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  using Strings = std::vector<std::string>;

  test::TempDirectory temporary_;
  const fs::path folder_ = temporary_ / "deep" / "checkpoints";
};

void ChangeManifest(const fs::path& directory, const std::function<void(Json&)>& change) {
  auto manifest = Json::parse(ReadFile(directory / "manifest.json"));
  change(manifest);
  WriteFile(directory / "manifest.json", manifest.dump());
}

TEST_F(Checkpoint, SaysHowLongItTook) {
  EXPECT_EQ(ReadCheckpointManifest(Publish(1))->info.seconds, 0);
  const auto prepared = BeginCheckpoint(folder_, 2);
  const auto begun = SystemClock().Steady() - std::chrono::seconds(100);
  const auto manifest = ReadCheckpointManifest(CommitCheckpoint(prepared, InfoOf(2), begun));
  EXPECT_GE(manifest->info.seconds, 100);
}

TEST_F(Checkpoint, IsReadBackAsItWasCommitted) {
  const auto directory = Publish(1234);
  EXPECT_EQ(directory, folder_ / "step-000000001234");
  const auto info = ReadCheckpoint(directory);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->directory, directory);
  EXPECT_EQ(info->step, 1234u);
  EXPECT_EQ(info->epoch, 617.0);
  EXPECT_EQ(info->world_size, 3);
  EXPECT_EQ(info->spec_hash, "abc");
}

TEST_F(Checkpoint, DoesNotCountBeforeItIsCommitted) {
  const auto prepared = BeginCheckpoint(folder_, 5);
  WriteFile(prepared / "weights.bin", "weights");
  EXPECT_FALSE(NewestCheckpoint(folder_));
  EXPECT_FALSE(ReadCheckpoint(prepared));
}

TEST_F(Checkpoint, MayBeWithoutFiles) {
  EXPECT_TRUE(ReadCheckpoint(CommitCheckpoint(BeginCheckpoint(folder_, 0), InfoOf(0))));
}

TEST_F(Checkpoint, WithAnyFlippedByteIsDamaged) {
  const auto directory = Publish(1);
  for (const auto& name : {"weights.bin", "optimizer/state/adam.bin"}) {
    const auto content = ReadFile(directory / name);
    for (std::size_t at = 0; at < content.size(); ++at) {
      auto flipped = content;
      flipped[at] ^= 1;
      WriteFile(directory / name, flipped);
      EXPECT_FALSE(ReadCheckpoint(directory)) << name << ", byte " << at;
    }
    WriteFile(directory / name, content);
  }
  EXPECT_TRUE(ReadCheckpoint(directory));
}

TEST_F(Checkpoint, WithAFileOfAnotherLengthIsDamaged) {
  const auto directory = Publish(1);
  for (const auto& content : {"weight", "weightsX", ""}) {
    WriteFile(directory / "weights.bin", content);
    EXPECT_FALSE(ReadCheckpoint(directory)) << content;
  }
}

TEST_F(Checkpoint, WithAMissingFileIsDamaged) {
  const auto directory = Publish(1);
  fs::remove(directory / "optimizer" / "state" / "adam.bin");
  EXPECT_FALSE(ReadCheckpoint(directory));
}

TEST_F(Checkpoint, WithATornManifestIsDamagedAndNeverACrash) {
  const auto directory = Publish(1);
  const auto manifest = ReadFile(directory / "manifest.json");
  const auto whole = manifest.size() - 1;  // without the newline at the end
  for (std::size_t size = 0; size < whole; ++size) {
    WriteFile(directory / "manifest.json", manifest.substr(0, size));
    EXPECT_FALSE(ReadCheckpoint(directory)) << size << " bytes";
  }
  fs::remove(directory / "manifest.json");
  EXPECT_FALSE(ReadCheckpoint(directory));
}

TEST_F(Checkpoint, WithForeignValuesInItsManifestIsRefused) {
  const auto directory = Publish(1);
  const auto original = ReadFile(directory / "manifest.json");
  const std::vector<std::function<void(Json&)>> changes{
      [](Json& json) { json = Json::array(); },
      [](Json& json) { json["schema"] = "slipway.checkpoint/2"; },
      [](Json& json) { json.erase("schema"); },
      [](Json& json) { json["step"] = "one"; },
      [](Json& json) { json["epoch"] = nullptr; },
      [](Json& json) { json["files"] = nullptr; },
      [](Json& json) {
        json["files"] = {{"path", "weights.bin"}};
      },
      [](Json& json) { json["files"][0]["path"] = 7; },
      [](Json& json) { json["files"][0]["path"] = ""; },
      [](Json& json) { json["files"][0]["path"] = "optimizer"; },
      [](Json& json) { json["files"][0]["crc32c"] = "0"; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ChangeManifest(directory, changes[i]);
    EXPECT_FALSE(ReadCheckpoint(directory)) << "change " << i;
    WriteFile(directory / "manifest.json", original);
  }
  EXPECT_TRUE(ReadCheckpoint(directory));
}

TEST_F(Checkpoint, HasNoNamesThatAreNotUtf8) {
  const auto prepared = BeginCheckpoint(folder_, 1);
  WriteFile(prepared / "w\xff.bin", "weights");
  try {
    CommitCheckpoint(prepared, InfoOf(1));
    FAIL() << "it was published";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "the name of file \"w\xEF\xBF\xBD.bin\" is not UTF-8");
  }
  EXPECT_EQ(NewestStep(), 0u);
  fs::rename(prepared / "w\xff.bin", prepared / "w\xC3\xA9.bin");
  CommitCheckpoint(prepared, InfoOf(1));
  EXPECT_EQ(NewestStep(), 1u);
}

TEST_F(Checkpoint, OfAnotherVersionIsToldFromADamagedOne) {
  const auto directory = Publish(1);
  EXPECT_NO_THROW(RequireOwnVersion(directory));
  ChangeManifest(directory, [](Json& json) { json["schema"] = "slipway.checkpoint/2"; });
  try {
    RequireOwnVersion(directory);
    FAIL() << "it was taken";
  } catch (const OtherVersionError& error) {
    EXPECT_EQ(error.message(), "in the checkpoint '" + directory.string() +
                                   "', 'manifest.json' is of another version of Slipway: its schema is "
                                   "\"slipway.checkpoint/2\", expected 'slipway.checkpoint/1'");
    EXPECT_EQ(error.next_step(), "use the version of Slipway that wrote it");
  }
  ChangeManifest(directory, [](Json& json) { json["schema"] = "other"; });
  EXPECT_NO_THROW(RequireOwnVersion(directory)) << "it is damaged";
  fs::remove(directory / "manifest.json");
  EXPECT_NO_THROW(RequireOwnVersion(directory));
}

TEST_F(Checkpoint, NamesNoFileOutsideOfItself) {
  const auto directory = Publish(1);
  // The same bytes as the file inside: only the place is wrong.
  WriteFile(folder_ / "weights.bin", "weights");
  fs::create_symlink("../weights.bin", directory / "link");
  const auto original = ReadFile(directory / "manifest.json");
  for (const auto& name : {std::string("../weights.bin"), std::string("optimizer/../../weights.bin"),
                           (folder_ / "weights.bin").string(), std::string("link")}) {
    ChangeManifest(directory, [&](Json& json) {
      for (auto& file : json["files"]) {
        if (file["path"] == "weights.bin") file["path"] = name;
      }
    });
    EXPECT_FALSE(ReadCheckpoint(directory)) << name;
    WriteFile(directory / "manifest.json", original);
  }
}

TEST_F(Checkpoint, DoesNotWaitForAPipe) {
  const auto directory = Publish(1);
  fs::remove(directory / "weights.bin");
  ASSERT_EQ(::mkfifo((directory / "weights.bin").c_str(), 0600), 0);
  EXPECT_FALSE(ReadCheckpoint(directory));
}

TEST_F(Checkpoint, ThatLinksOutOfItselfIsNotPublished) {
  Publish(1);
  const auto prepared = BeginCheckpoint(folder_, 2);
  WriteFile(temporary_ / "data.bin", "elsewhere");
  fs::create_symlink(temporary_ / "data.bin", prepared / "data.bin");
  EXPECT_THROW(CommitCheckpoint(prepared, InfoOf(2)), Error);
  EXPECT_EQ(NewestStep(), 1u);
}

TEST_F(Checkpoint, MayLinkWithinItself) {
  const auto prepared = BeginCheckpoint(folder_, 2);
  WriteFile(prepared / "weights.bin", "weights");
  fs::create_symlink("weights.bin", prepared / "latest");
  EXPECT_TRUE(ReadCheckpoint(CommitCheckpoint(prepared, InfoOf(2))));
}

TEST_F(Checkpoint, OfNoFiniteEpochIsNotPublished) {
  const auto prepared = BeginCheckpoint(folder_, 2);
  auto info = InfoOf(2);
  info.epoch = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(CommitCheckpoint(prepared, info), Error);
  EXPECT_FALSE(NewestCheckpoint(folder_));
}

TEST_F(Checkpoint, TheNewestIsThatOfTheHighestStep) {
  for (const std::uint64_t step : {9u, 1000000u, 10u}) Publish(step);
  EXPECT_EQ(NewestStep(), 1000000u);
}

TEST_F(Checkpoint, AnOlderOneWinsOverTornNewerOnes) {
  Publish(1);
  WriteFile(Publish(2) / "weights.bin", "torn");
  fs::remove(Publish(3) / "manifest.json");
  WriteFile(folder_ / "step-000000000004", "a file");
  MakeDirectories(folder_ / "step-x");
  EXPECT_EQ(NewestStep(), 1u);
}

TEST_F(Checkpoint, SaysWhatIsDamaged) {
  const auto published = Publish(2);
  EXPECT_EQ(DamageOf(published), "");
  WriteFile(published / "weights.bin", "torn");
  EXPECT_EQ(DamageOf(published), "'weights.bin' is not as it was written");
  std::filesystem::remove(published / "weights.bin");
  EXPECT_EQ(DamageOf(published), "'weights.bin' is not as it was written");
  WriteFile(published / "manifest.json", "{");
  EXPECT_EQ(DamageOf(published), "'manifest.json' is damaged: it is not JSON, or ends in the middle of it");
  WriteFile(published / "manifest.json", R"({"schema": "slipway.checkpoint/1", "step": 2, "files": []})");
  EXPECT_EQ(DamageOf(published), "'manifest.json' is damaged: it has no 'epoch'");
  ChangeManifest(published, [](Json& json) {
    json.update(Json{{"epoch", 1}, {"world_size", 1}, {"spec_hash", ""}});
    json["files"] = Json::array({Json{{"path", "../x"}, {"bytes", 1}, {"crc32c", 0}}});
  });
  EXPECT_EQ(DamageOf(published), "'manifest.json' lists '../x', which does not lie in the checkpoint");
  std::filesystem::remove(published / "manifest.json");
  EXPECT_EQ(DamageOf(published), "'manifest.json' is missing");
}

TEST_F(Checkpoint, OfSeveralFoldersTheNewestIsTakenAndTheEarlierFolderFirst) {
  const auto first = temporary_ / "first";
  const auto second = temporary_ / "second";
  const auto publish = [](const fs::path& folder, std::uint64_t step) {
    return CommitCheckpoint(BeginCheckpoint(folder, step), InfoOf(step));
  };
  const auto newest = [&] { return NewestCheckpointOfAll({first, second})->directory; };
  const auto older = publish(second, 1);
  EXPECT_EQ(newest(), older);
  const auto same = publish(first, 1);
  EXPECT_EQ(newest(), same);
  const auto newer = publish(second, 2);
  EXPECT_EQ(newest(), newer);
  fs::remove(newer / "manifest.json");
  EXPECT_EQ(newest(), same);
}

TEST_F(Checkpoint, CanBeLeftWhileItIsRead) {
  const auto directory = Publish(1, std::string(5'000'000, 'w'));
  int pieces = 0;
  const auto stop = [&] {
    if (++pieces == 2) throw Error(ErrorKind::kInterrupted, "enough");
  };
  EXPECT_THROW(ReadCheckpoint(directory, stop), Error);
  EXPECT_EQ(pieces, 2);
}

TEST_F(Checkpoint, ThereIsNoneInAFolderThatIsMissing) { EXPECT_FALSE(NewestCheckpoint(folder_)); }

TEST_F(Checkpoint, OfTheSameStepIsReplaced) {
  Publish(7, "old");
  const auto directory = Publish(7, "new weights");
  EXPECT_EQ(ReadFile(directory / "weights.bin"), "new weights");
  EXPECT_TRUE(ReadCheckpoint(directory));
  EXPECT_EQ(Names(), Strings{"step-000000000007"});
}

TEST_F(Checkpoint, IsThereAtEveryInstantWhileItIsReplaced) {
  const auto manifest = Publish(7) / "manifest.json";
  std::atomic<bool> done{false};
  int missing = 0;
  std::thread observer([&] {
    while (!done) missing += ::access(manifest.c_str(), F_OK) != 0 ? 1 : 0;
  });
  for (int round = 0; round < 25; ++round) Publish(7);
  done = true;
  observer.join();
  EXPECT_EQ(missing, 0);  // or the file system of temporary files cannot exchange two names
}

TEST_F(Checkpoint, UnfinishedOnesOfTheStepAreRemovedWhenItBeginsAgain) {
  MakeDirectories(folder_ / ".tmp-step-000000000005-1");
  MakeDirectories(folder_ / ".tmp-step-000000000006-1");
  const auto prepared = BeginCheckpoint(folder_, 5);
  EXPECT_EQ(Names(), (Strings{prepared.filename(), ".tmp-step-000000000006-1"}));
}

TEST_F(Checkpoint, PruningKeepsTheNewestValidOnesAndRemovesWhatIsUnfinished) {
  for (const std::uint64_t step : {1u, 2u, 3u, 4u}) Publish(step);
  BeginCheckpoint(folder_, 9);
  WriteFile(Publish(5) / "weights.bin", "torn");
  PruneCheckpoints(folder_, 2);
  EXPECT_EQ(Names(), (Strings{"step-000000000003", "step-000000000004", "step-000000000005"}));
  EXPECT_EQ(NewestStep(), 4u);
}

TEST_F(Checkpoint, PruningNeverRemovesTheLastValidOne) {
  Publish(1);
  for (const int keep : {0, -3, 1}) {
    PruneCheckpoints(folder_, keep);
    EXPECT_EQ(NewestStep(), 1u) << "keep " << keep;
  }
  WriteFile(Publish(2) / "weights.bin", "torn");
  PruneCheckpoints(folder_, 1);
  EXPECT_EQ(NewestStep(), 1u);
}

TEST_F(Checkpoint, PruningLeavesOtherFilesAlone) {
  Publish(1);
  WriteFile(folder_ / "notes.txt", "mine");
  MakeDirectories(folder_ / "step-best");
  PruneCheckpoints(folder_, 1);
  EXPECT_EQ(Names(), (Strings{"notes.txt", "step-000000000001", "step-best"}));
}

TEST_F(Checkpoint, KilledWhileItIsWrittenLeavesTheOlderOne) {
  Publish(1);
  test::ForkedChild writer([&] {
    const auto prepared = BeginCheckpoint(folder_, 2);
    WriteFile(prepared / "weights.bin", "half of the wei");
  });
  writer.Kill();
  EXPECT_EQ(NewestStep(), 1u);
  EXPECT_EQ(Names().size(), 2u);
  PruneCheckpoints(folder_, 2);
  EXPECT_EQ(Names(), Strings{"step-000000000001"});
}

/// A process that replaces the checkpoint of step 1 and adds later ones, without end.
pid_t StartWriter(const std::function<void(std::uint64_t)>& publish) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  for (std::uint64_t round = 0;; ++round) publish(round);
}

TEST_F(Checkpoint, KilledAtAnyInstantLeavesAValidOne) {
  std::mt19937 random(1);
  Publish(1);
  for (int kill = 0; kill < 20; ++kill) {
    const pid_t writer = StartWriter([&](std::uint64_t round) {
      Publish(1, std::string(50'000, static_cast<char>('a' + round % 26)));
      PruneCheckpoints(folder_, 1);
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    ASSERT_EQ(NewestStep(), 1u) << "kill " << kill;
  }
  PruneCheckpoints(folder_, 1);
  EXPECT_EQ(Names(), Strings{"step-000000000001"});
}

}  // namespace
}  // namespace slipway
