// What differs between the provenances of runs.

#include "launcher/provenance/differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::Optional;

constexpr const char* kDiff =
    "diff --git a/train.py b/train.py\nindex 1..2 100644\n--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-a\n+b\n"
    "diff --git a/dir b/x.py b/dir b/x.py\n@@ -1 +1 @@\n-a\n+b\n";

Provenance RecordedRun() {
  Provenance provenance;
  provenance.time = 10;
  provenance.command = "slipway run a.yaml";
  provenance.code.repository = "/p/";
  provenance.code.commit = "c1";
  provenance.code.branch = "main";
  provenance.code.diff = kDiff;
  provenance.files = {{"/p/train.py", 10, "0000000a"}};
  provenance.versions = {{"slipway", "0.1"}, {"python", "3.11.2"}};
  provenance.python = PythonFacts{"/usr/bin/python3", "3.11.2", {{"torch", "2.1"}}};
  provenance.hosts = {{"n1", "EPYC", 64, 1 << 30, {"H100"}}};
  provenance.data = {{"train", "f1", 2, 100}};
  provenance.environment = {{"OMP_NUM_THREADS", "1"}};
  return provenance;
}

std::vector<std::string> FactsThatDiffer(const Provenance& left, const Provenance& right) {
  const std::array both = {left, right};
  std::vector<std::string> facts;
  for (const auto& row : DifferencesBetween(both)) facts.push_back(row.fact);
  return facts;
}

TEST(Provenance, ComesBackFromItsDocument) {
  const auto document = ToJson(RecordedRun());
  EXPECT_EQ(document["schema"], "slipway.provenance/1");
  EXPECT_EQ(document["commit"], "c1");
  EXPECT_EQ(ToJson(ProvenanceFromJson(document)), document);
}

TEST(Provenance, OfAnOlderVersionKeepsItsDefaults) {
  const auto read = ProvenanceFromJson(Json{{"schema", "slipway.provenance/1"}, {"commit", "c1"}, {"unknown", 3}});
  EXPECT_THAT(read.code.commit, Optional(std::string("c1")));
  EXPECT_TRUE(read.hosts.empty());
}

TEST(Provenance, RefusesAnotherSchemaAndWrongTypes) {
  EXPECT_THROW(ProvenanceFromJson(Json{{"schema", "slipway.provenance/2"}}), Error);
  EXPECT_THROW(ProvenanceFromJson(Json::array()), Error);
  EXPECT_THROW(ProvenanceFromJson(Json{{"schema", "slipway.provenance/1"}, {"commit", 3}}), Error);
}

TEST(Patches, AreSplitByFileEvenWithOddNames) {
  const auto patches = PatchesOf(kDiff);
  ASSERT_EQ(patches.size(), 2u);
  EXPECT_EQ(patches[0].first, "train.py");
  EXPECT_EQ(patches[1].first, "dir b/x.py");
  EXPECT_EQ(patches[0].second + patches[1].second, kDiff);
  EXPECT_TRUE(PatchesOf("").empty());
  EXPECT_TRUE(PatchesOf("no diff\n").empty());
  EXPECT_EQ(PatchesOf("diff --git \n").at(0).first, "");
}

TEST(Differences, AreNoneBetweenEqualRunsOfDifferentTimes) {
  auto later = RecordedRun();
  later.time = 99;
  later.command = "slipway submit a.yaml";
  later.hosts.front().host = "n2";
  later.code.untracked = {"notes.txt"};
  EXPECT_THAT(FactsThatDiffer(RecordedRun(), later), ElementsAre());
  EXPECT_TRUE(HaveSameCode(RecordedRun(), later));
}

TEST(Differences, NameEachFactThatChangesResults) {
  auto other = RecordedRun();
  other.code.commit = "c2";
  other.code.diff = PatchesOf(kDiff)[0].second;
  other.files.front().crc32c = "0000000b";
  other.python->packages["torch"] = "2.2";
  other.hosts.front().cpu = "Xeon";
  other.data.front().fingerprint = "f2";
  other.environment = {};
  EXPECT_THAT(FactsThatDiffer(RecordedRun(), other),
              ElementsAre("commit", "diff.dir b/x.py", "file.train.py", "package.torch", "cpu", "data.train",
                          "environment.OMP_NUM_THREADS"));
  EXPECT_FALSE(HaveSameCode(RecordedRun(), other));
}

TEST(Differences, ShowEachRunsValue) {
  auto other = RecordedRun();
  other.versions.erase("python");
  const std::array three = {RecordedRun(), other, RecordedRun()};
  const auto rows = DifferencesBetween(three);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(rows[0].values,
              ElementsAre(Optional(std::string("3.11.2")), std::nullopt, Optional(std::string("3.11.2"))));
}

TEST(Code, WithoutARepositoryIsTheFilesOfTheCommand) {
  auto run = RecordedRun();
  run.code = {};
  EXPECT_TRUE(HaveSameCode(run, run));
  auto other = run;
  other.files.front().crc32c = "0000000b";
  EXPECT_FALSE(HaveSameCode(run, other));
  run.files.clear();
  EXPECT_FALSE(HaveSameCode(run, run)) << "nothing is known of it";
}

TEST(Code, ThatWasNotRecordedWholeIsNotTheSame) {
  auto run = RecordedRun();
  run.code.diff_left_out = {{"big.bin", 1 << 30, "the file is large"}};
  EXPECT_FALSE(HaveSameCode(run, run));
}

}  // namespace
}  // namespace slipway::launcher
