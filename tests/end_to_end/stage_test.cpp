// `slipway stage`, as a user calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class StageCommand : public testing::Test {
 protected:
  void SetUp() override {
    place_.Write("data/a.bin", std::string(1000, 'a'));
    place_.Write("data/b.bin", std::string(2000, 'b'));
    place_.SetVariable("SLIPWAY_TIER_RAM", (place_ / "ram").string());
  }

  Captured Slipway(std::vector<std::string> arguments, int expected = 0) const {
    auto captured = place_.Slipway(std::move(arguments));
    EXPECT_EQ(captured.status.code, expected) << captured.output << captured.errors;
    return captured;
  }
  Json Document(std::vector<std::string> arguments, int expected = 0) const {
    arguments.push_back("--json");
    return Json::parse(Slipway(std::move(arguments), expected).output);
  }
  /// Stages the data; returns the name of its generation.
  std::string Stage(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"stage", "in", "data", "--format", "raw", "--tier", "ram"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Document(arguments)["datasets"][0]["generation"];
  }
  Json Tier(const std::string& name = "ram") const { return Document({"stage", "ls", "--tier", name})["tiers"][0]; }

  Workplace place_;
};

TEST_F(StageCommand, StagesPathsAndKeepsThem) {
  const auto document = Document({"stage", "in", "data", "--format", "raw", "--tier", "ram", "--name", "set"});
  EXPECT_EQ(document["schema"], "slipway.stage_in/1");
  const auto& set = document["datasets"][0];
  EXPECT_EQ(set["copied_bytes"], 3000);
  EXPECT_EQ(set["adopted"], false);
  EXPECT_EQ(ReadFile(fs::path(set["directory"].get<std::string>()) / "b.bin"), std::string(2000, 'b'));
  EXPECT_THAT(Slipway({"stage", "in", "data", "--format", "raw", "--tier", "ram", "--name", "set"}).output,
              HasSubstr("already there"));
}

TEST_F(StageCommand, DryRunSaysWhereAndDoesNothing) {
  const auto said = Slipway({"stage", "in", "data/*.bin", "--format", "raw", "--dry-run"}).output;
  EXPECT_THAT(said, AllOf(HasSubstr("3.00 kB in 2 files -> tier node"), HasSubstr("not burst: no burst buffer here")));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

TEST_F(StageCommand, ListsWhatIsStaged) {
  const auto generation = Stage({"--verify", "full"});
  const auto tier = Tier();
  EXPECT_EQ(tier["origin"], "SLIPWAY_TIER_RAM");
  EXPECT_GT(tier["available_bytes"], 0);
  ASSERT_EQ(tier["generations"].size(), 1u);
  const auto& found = tier["generations"][0];
  EXPECT_EQ(found["generation"], generation);
  EXPECT_EQ(found["dataset"], "data");
  EXPECT_EQ(found["files"], 2);
  EXPECT_EQ(found["bytes"], 3000);
  EXPECT_EQ(found["verify"], "full");
  EXPECT_EQ(found["kept"], true);
  EXPECT_THAT(found["leased_by"], IsEmpty());
  EXPECT_THAT(Slipway({"stage", "ls"}).output, AllOf(HasSubstr(generation), HasSubstr("unused, kept")));
  EXPECT_THAT(Slipway({"stage", "ls", "-q"}).output, HasSubstr(generation));
}

TEST_F(StageCommand, EvictsUnlessSomebodyUsesIt) {
  const auto generation = Stage();
  {
    const auto lease = FileLock::Acquire(place_ / "ram/.locks" / (generation + ".lease"), LockMode::kShared);
    const auto refused = Document({"stage", "evict", generation}, 4);
    EXPECT_THAT(refused["refused"][0]["reason"],
                HasSubstr("in use by process " + std::to_string(::getpid()) + " (end_to_end"));
    EXPECT_EQ(Tier()["generations"][0]["leased_by"][0]["pid"], ::getpid());
    EXPECT_THAT(Slipway({"stage", "evict", "--all", "--tier", "ram"}, 4).errors, HasSubstr("stays in tier ram"));
  }
  EXPECT_EQ(Document({"stage", "evict", generation, "--dry-run"})["freed_bytes"], 3000);
  EXPECT_EQ(Tier()["generations"].size(), 1u);
  EXPECT_EQ(Document({"stage", "evict", generation})["evicted"][0]["generation"], generation);
  EXPECT_THAT(Tier()["generations"], IsEmpty());
}

TEST_F(StageCommand, EvictsByPathAgeAndRefusesWhatIsNowhere) {
  const auto generation = Stage();
  EXPECT_THAT(Slipway({"stage", "evict", "--older-than", "1h", "--tier", "ram"}).output, HasSubstr("0 B freed"));
  EXPECT_THAT(Slipway({"stage", "evict"}, 2).errors, HasSubstr("say what to evict"));
  EXPECT_THAT(Slipway({"stage", "evict", generation + "x"}, 2).errors, HasSubstr("did you mean '" + generation));
  EXPECT_THAT(Slipway({"stage", "evict", "--older-than", "soon"}, 2).errors, HasSubstr("is not a duration"));
  Slipway({"stage", "evict", (place_ / "ram" / generation).string()});
  EXPECT_THAT(Tier()["generations"], IsEmpty());
}

TEST_F(StageCommand, CollectsLeftoversAndThenTheOldest) {
  const auto old = Stage({"--name", "old"});
  const auto recent = Stage({"--name", "recent"});
  const auto lease = place_ / "ram/.locks" / (old + ".lease");
  fs::last_write_time(lease, fs::last_write_time(lease) - std::chrono::hours(1));
  place_.Write("ram/.staging/lost-0123456789abcdef/a", "x");
  EXPECT_THAT(Slipway({"stage", "ls", "--tier", "ram"}).output, HasSubstr("lost-0123456789abcdef"));
  const auto dry = Document({"stage", "gc", "--tier", "ram", "--dry-run"});
  EXPECT_EQ(dry["leftovers"][0]["name"], "lost-0123456789abcdef");
  EXPECT_THAT(dry["evicted"], IsEmpty());
  const auto done = Document({"stage", "gc", "--tier", "ram", "--to-free", "5000"}, 0);
  EXPECT_EQ(done["evicted"].size(), 1u);
  EXPECT_EQ(done["evicted"][0]["generation"], old);
  EXPECT_EQ(Tier()["generations"][0]["generation"], recent);
  EXPECT_THAT(Tier()["leftovers"], IsEmpty());
  EXPECT_THAT(Slipway({"stage", "gc", "--tier", "ram", "--to-free", "1GB"}, 1).errors, HasSubstr("there is no more"));
}

TEST_F(StageCommand, StagesTheDatasetsOfASpecAndTheRunAdoptsThem) {
  place_.Write("data/x.h5", "no hdf5");
  place_.WriteSpec("exp.yaml", "[sh, -c, 'ls $SLIPWAY_DATA_TRAIN']", 1,
                   "data:\n"
                   "  train: {source: data/a.bin, format: tfrecord, tier: [ram, none], verify: off}\n"
                   "  test: {source: data/b.bin, format: tfrecord, tier: none, verify: off}\n");
  const auto staged = Document({"stage", "in", "exp.yaml"})["datasets"];
  ASSERT_EQ(staged.size(), 2u);
  EXPECT_EQ(staged[0]["tier"], "ram");
  EXPECT_EQ(staged[1]["tier"], "none");
  const auto ran = Slipway({"run", "exp.yaml", "--set", "data.test.source=data/a.bin"});
  EXPECT_THAT(ran.errors, HasSubstr("staged train: already there"));
  EXPECT_EQ(Tier()["generations"].size(), 1u) << "what `stage in` brought is not the run's to remove";
  EXPECT_THAT(Slipway({"stage", "in", "exp.yaml", "--dataset", "trian"}, 2).errors, HasSubstr("it has train, test"));
  EXPECT_THAT(Slipway({"stage", "in", "exp.yaml", "--name", "x"}, 2).errors, HasSubstr("are for paths"));
}

TEST_F(StageCommand, TakesTiersAndTheirOrderFromTheSite) {
  place_.Write("site.yaml",
               "tiers: {quick: fast}\n"
               "site:\n"
               "  tier_order: [buffer, quick]\n"
               "  tiers:\n"
               "    buffer: {path: \"${JOB_BUFFER}\", kind: burst}\n"
               "    fast: {path: \"" +
                   (place_ / "fast").string() + "\", capacity: 60KB}\n");
  place_.SetVariable("SLIPWAY_SITE", (place_ / "site.yaml").string());
  const auto said = Slipway({"stage", "in", "data", "--format", "raw"}).output;
  EXPECT_THAT(said, HasSubstr("-> tier fast"));
  EXPECT_THAT(Slipway({"stage", "ls"}).output,
              AllOf(HasSubstr("tier buffer: JOB_BUFFER is not set here"), HasSubstr("site.yaml:6")));
  EXPECT_EQ(Tier("quick")["tier"], "fast");
  EXPECT_EQ(Tier("quick")["capacity_bytes"], 60000);
  EXPECT_THAT(Slipway({"stage", "in", "data", "--format", "raw", "--name", "again"}, 3).errors,
              HasSubstr("no tier can hold dataset 'again'"));
  place_.Write("site.yaml", "site: {tiers: {fast: {path: /x, speed: 3}}}\n");
  EXPECT_THAT(Slipway({"stage", "ls"}, 2).errors, HasSubstr("site.yaml:1:33: error: unknown field 'speed'"));
}

TEST_F(StageCommand, TakesTheThreeOptionsOfAGroupOfNodesTogether) {
  EXPECT_THAT(Slipway({"stage", "in", "data", "--format", "raw", "--node", "0"}, 2).errors,
              HasSubstr("--nodes, --node and --key belong together"));
  EXPECT_THAT(Slipway({"stage", "key", "group.key"}).output, HasSubstr("a new key"));
  place_.Write("nodes.txt", "127.0.0.1:0\n");
  const std::vector<std::string> group{"--nodes", "nodes.txt", "--node", "1", "--key", "group.key"};
  std::vector<std::string> words{"stage", "in", "data", "--format", "raw"};
  words.insert(words.end(), group.begin(), group.end());
  EXPECT_THAT(Slipway(words, 2).errors, HasSubstr("node"));
}

TEST_F(StageCommand, EndsAtCtrlCWithoutPublishing) {
  const auto lock = [&] {
    const auto generation = Document({"stage", "in", "data", "--format", "raw", "--tier", "ram", "--dry-run"});
    const auto name = generation["datasets"][0]["generation"].get<std::string>();
    MakeDirectories(place_ / "ram/.locks");
    return FileLock::Acquire(place_ / "ram/.locks" / (name + ".stage"), LockMode::kExclusive);
  }();
  auto child = place_.Start({"stage", "in", "data", "--format", "raw", "--tier", "ram"});
  place_.WaitForFile(place_ / "ram/.staging");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it waits for us, who stage the same
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait().code, 130);
  EXPECT_THAT(Tier()["generations"], IsEmpty());
}

TEST_F(StageCommand, GoesOnAfterCtrlCInTheMiddle) {
  constexpr std::size_t kSize = 20u << 20;
  place_.Write("data/c.bin", std::string(kSize, 'c'));
  auto child = place_.Start({"stage", "in", "data", "--format", "raw", "--tier", "ram", "--bandwidth", "2MB"});
  const auto leftovers = [&] { return Tier()["leftovers"]; };
  for (int i = 0; i < 3000 && (leftovers().empty() || leftovers()[0]["bytes"] < 5'000'000); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait().code, 130);
  EXPECT_THAT(ReadFile(place_ / "output.log"),
              AllOf(HasSubstr("are kept for the next run"), HasSubstr("slipway stage gc --tier ram")));
  ASSERT_EQ(leftovers().size(), 1u);
  EXPECT_EQ(leftovers()[0]["abandoned"], true);
  EXPECT_EQ(leftovers()[0]["worker"], nullptr);
  const auto again = Document({"stage", "in", "data", "--format", "raw", "--tier", "ram"});
  EXPECT_LT(again["datasets"][0]["copied_bytes"].get<std::size_t>(), kSize);
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(StageCommand, GoesOnWithTheOthersWhenOneCannotBeRemoved) {
  const auto stuck = Stage({"--name", "stuck"});
  const auto other = Stage({"--name", "zebra"});
  const auto lock = place_ / "ram/.locks" / (stuck + ".stage");
  fs::remove(lock);
  fs::create_directory(lock);  // whoever wants to lock it fails
  const auto document = Document({"stage", "evict", "--all", "--tier", "ram"}, 3);
  EXPECT_EQ(document["evicted"][0]["generation"], other);
  EXPECT_EQ(document["refused"][0]["generation"], stuck);
  EXPECT_THAT(document["refused"][0]["reason"], HasSubstr("Is a directory"));
  const auto third = Stage({"--name", "zebra"});
  EXPECT_EQ(Document({"stage", "gc", "--tier", "ram", "--to-free", "1000"})["evicted"][0]["generation"], third);
}

TEST_F(StageCommand, VerifiesWhereNobodyHasEverStaged) {
  const auto generation = Stage();
  fs::create_directory(place_ / "elsewhere");
  fs::copy(place_ / "ram" / generation, place_ / "elsewhere" / generation, fs::copy_options::recursive);
  Slipway({"stage", "verify", (place_ / "elsewhere" / generation).string()});
  EXPECT_FALSE(fs::exists(place_ / "elsewhere/.locks")) << "a look leaves nothing";
  const auto used = fs::last_write_time(place_ / "ram/.locks" / (generation + ".lease"));
  Slipway({"stage", "verify", generation});
  EXPECT_EQ(fs::last_write_time(place_ / "ram/.locks" / (generation + ".lease")), used) << "verifying is no use";
}

TEST_F(StageCommand, VerifiesWhatIsStaged) {
  const auto generation = Stage();
  EXPECT_THAT(Slipway({"stage", "verify", "--tier", "ram"}).output, HasSubstr("good, 3.00 kB in 2 files"));
  const auto file = place_ / "ram" / generation / "b.bin";
  WriteFile(file, std::string(1999, 'b') + "c");
  const auto document = Document({"stage", "verify", generation}, 1);
  EXPECT_EQ(document["ok"], false);
  EXPECT_EQ(document["generations"][0]["damage"][0]["file"], "b.bin");
  EXPECT_EQ(document["generations"][0]["damage"][0]["offset"], 0);
  EXPECT_THAT(Slipway({"stage", "verify", "-q"}, 1).output, HasSubstr(generation));
  fs::remove(place_ / "ram" / generation / "manifest.json");
  EXPECT_THAT(Slipway({"stage", "verify", generation}, 2).errors, HasSubstr("there is no generation"));
}

TEST_F(StageCommand, IsCompletedAndHelpsWithExamples) {
  EXPECT_THAT(Slipway({"completion", "bash"}).output, AllOf(HasSubstr("stage in"), HasSubstr("--older-than")));
  for (const char* command : {"in", "ls", "verify", "evict", "gc"}) {
    EXPECT_THAT(Slipway({"stage", command, "--help"}).output, HasSubstr("Examples:"));
  }
  EXPECT_THAT(Slipway({"stage", "in", "data"}, 2).errors, HasSubstr("neither names nor content tell one format"));
  EXPECT_THAT(Slipway({"stage", "in", "data/a"}, 2).errors,
              AllOf(HasSubstr("a source has no file here"), HasSubstr("correct the path")));
  EXPECT_THAT(Slipway({"stage", "in", "data", "--format", "raw", "--bandwidth", "fast"}, 2).errors,
              HasSubstr("write it like 500MB"));
}

}  // namespace
}  // namespace slipway::test
