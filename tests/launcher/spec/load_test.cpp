// Reading a spec: overrides, settings, limits, hostile input.

#include "launcher/spec/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/files.h"
#include "launcher/spec/fields.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;

constexpr auto kSmall = "name: small\ntrain: {command: [/bin/true], args: {lr: 0.1, epochs: 3}}\n";

class Load : public testing::Test {
 protected:
  fs::path Write(const std::string& content, const std::string& name = "exp.yaml") const {
    WriteFile(directory_ / name, content);
    return directory_ / name;
  }

  SpecDocument LoadText(const std::string& content, const std::vector<std::string>& overrides = {}) const {
    return LoadSpec(Write(content), overrides, {});
  }

  std::string ErrorOf(const std::string& content, const std::vector<std::string>& overrides = {}) const {
    try {
      LoadText(content, overrides);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "no error";
  }

  test::TempDirectory directory_;
};

TEST_F(Load, SuggestsTheNearestFileForOneThatIsMissing) {
  const auto said = [&](const std::string& name) -> std::string {
    try {
      LoadSpec(directory_ / name, {}, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(said("experment.yaml"), HasSubstr("give the path of a YAML file"));
  Write(kSmall, "experiment.yaml");
  Write(kSmall, "notes.txt");
  const auto suggestion = "did you mean '" + (directory_ / "experiment.yaml").string() + "'?";
  EXPECT_THAT(said("experment.yaml"), HasSubstr(suggestion));
  EXPECT_THAT(said("experiment"), HasSubstr(suggestion));
  EXPECT_THAT(said("note.txt"), HasSubstr("give the path of a YAML file"));
}

TEST_F(Load, RefusesNulBytesInValuesAndNames) {
  EXPECT_THAT(ErrorOf("name: small\ntrain: {command: [/bin/true, \"a\\0b\"]}\n"), HasSubstr("holds a NUL byte"));
  EXPECT_THAT(ErrorOf("name: small\ntrain: {command: [/bin/true], args: {\"a\\0b\": 1}}\n"),
              HasSubstr("holds a NUL byte"));
  EXPECT_THAT(ErrorOf(kSmall, {"train.args.text=\"a\\0b\""}), HasSubstr("holds a NUL byte"));
}

TEST_F(Load, GivesTypedValuesAndDefaults) {
  const auto spec = LoadText(std::string(kSmall) + "launch: {ranks_per_node: 2, time_limit: 1h30m}\n").spec;
  EXPECT_EQ(spec.name, "small");
  EXPECT_EQ(spec.launch.ranks(), 2);
  EXPECT_EQ(spec.launch.time_limit, Seconds(5400));
  EXPECT_EQ(spec.checkpoint.keep, 2);
  EXPECT_FALSE(spec.ensemble.has_value());
}

TEST_F(Load, ResolvesSourcesAgainstTheSpecsFolder) {
  const auto spec = LoadText(std::string(kSmall) + "data: {train: {source: 'data/*.tfrecord'}}\n").spec;
  EXPECT_EQ(spec.data.at(0).sources.at(0), (directory_ / "data/*.tfrecord").string());
}

TEST_F(Load, LetsOverridesWin) {
  const auto document = LoadText(kSmall, {"train.args.lr=0.5", "launch.env.A='1'", "launch.nodes=1"});
  EXPECT_EQ((*document.resolved)["train"]["args"]["lr"], 0.5);
  EXPECT_EQ(document.spec.launch.env.at(0).second, "1");
  EXPECT_EQ(document.origins.at("train.args.lr"), "--set");
}

TEST_F(Load, EmptiesAMapThatAnOverrideSaysIsEmpty) {
  const auto text = std::string(kSmall) + "launch: {env: {A: '1'}}\n";
  EXPECT_EQ(LoadText(text, {"launch.env={}"}).spec.launch.env.size(), 0u);
  EXPECT_EQ(LoadText(text, {"launch.env={}", "launch.env.B='2'"}).spec.launch.env.size(), 1u);
  EXPECT_EQ(LoadText(text, {"launch.env={B: '2'}"}).spec.launch.env.size(), 2u) << "maps are merged by key";
}

TEST_F(Load, RefusesOverridesThatNameNothing) {
  EXPECT_THAT(ErrorOf(kSmall, {"launch.node=2"}), HasSubstr("did you mean 'nodes'?"));
  EXPECT_THAT(ErrorOf(kSmall, {"launch.nodes"}), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(ErrorOf(kSmall, {"launch.nodes=[1"}), HasSubstr("--set"));
}

TEST_F(Load, TakesSettingsAsDefaultsAndTellsWhereAValueIsFrom) {
  const auto settings = Write("launch: {cpus_per_rank: 4, ranks_per_node: 8}\n", "site.yaml");
  const auto spec = Write(std::string(kSmall) + "launch: {ranks_per_node: 2}\n");
  const auto document = LoadSpec(spec, {}, {settings});
  EXPECT_EQ(document.spec.launch.cpus_per_rank, 4);
  EXPECT_EQ(document.spec.launch.ranks_per_node, 2);
  EXPECT_THAT(document.origins.at("launch.cpus_per_rank"), HasSubstr("site.yaml:1"));
  EXPECT_EQ(document.origins.at("launch.nodes"), "default");
}

TEST_F(Load, RefusesAnExperimentInTheSettings) {
  const auto settings = Write("name: all\n", "site.yaml");
  EXPECT_THROW(LoadSpec(Write(kSmall), {}, {settings}), SpecError);
}

TEST_F(Load, TakesNullAsAValueOfAParameterButNotAsItsDefinition) {
  const std::string ensemble = std::string(kSmall) + "ensemble:\n  objective: {metric: loss}\n  trials: 2\n";
  const auto spec = LoadText(ensemble +
                             "  points: [{c: null}]\n  constraints: ['c == null or d == null']\n"
                             "  space: {c: {choice: [a, null]}, o: {ordinal: [~, 1]}, d: {fixed: null}}\n")
                        .spec.ensemble.value();
  EXPECT_EQ(ensemble::ToJson(spec.space.at(0)), Json::parse(R"({"choice":["a",null]})"));
  EXPECT_EQ(ensemble::ToJson(spec.space.at(1)), Json::parse(R"({"ordinal":[null,1]})"));
  EXPECT_EQ(ensemble::ToJson(spec.space.at(2)), Json::parse(R"({"fixed":null})"));
  EXPECT_EQ(ensemble::ToJson(spec.points.at(0)), Json::parse(R"({"c":null})"));
  EXPECT_THAT(ErrorOf(ensemble + "  space: {lr: }\n"), HasSubstr("an error"));
}

TEST_F(Load, RefusesSettingsThatAreNoMap) {
  const auto settings = Write("- launch\n", "site.yaml");
  EXPECT_THROW(LoadSpec(Write(kSmall), {}, {settings}), SpecError);
}

TEST_F(Load, LetsLaterSettingsWinOverEarlierOnes) {
  const auto site = Write("launch: {cpus_per_rank: 4, env: {A: site, B: site}}\n", "site.yaml");
  const auto own = Write("# of this user\nlaunch: {env: {B: own}}\n", "config.yaml");
  const auto document = LoadSpec(Write(kSmall), {}, {site, own});
  EXPECT_EQ(document.spec.launch.cpus_per_rank, 4);
  EXPECT_EQ(document.spec.launch.env, (NamedStrings{{"A", "site"}, {"B", "own"}}));
  EXPECT_THAT(document.origins.at("launch.env.B"), HasSubstr("config.yaml:2"));
}

TEST_F(Load, SaysThatTextWithBracesNeedsQuotes) {
  EXPECT_THAT(ErrorOf(kSmall, {"train.args.out={slipway.output_dir}/x.csv"}),
              HasSubstr("text that begins with '{' needs quotes, and quotes for the shell: --set "
                        "'train.args.out=\"{slipway.output_dir}/x.csv\"'"));
  const std::string begin = "name: braces\ntrain: {command: [train], args: {out: ";
  EXPECT_THAT(ErrorOf(begin + "{slipway.output_dir}/{slipway.trial}.csv, lr: 1}}\n"),
              AllOf(HasSubstr(":2:"), HasSubstr("write \"{slipway.output_dir}/{slipway.trial}.csv\"\n")));
  EXPECT_THAT(ErrorOf(begin + "${HOME}/x}}\n"),
              HasSubstr("'${' inside of brackets needs quotes: write \"${HOME}/x\"\n"));
  EXPECT_THAT(ErrorOf("name: braces\ntrain:\n  command: [train]\n  args:\n    out: {slipway.output_dir}/x\n"),
              HasSubstr("write \"{slipway.output_dir}/x\"\n"));
}

TEST_F(Load, ShowsAllOfTheTextThatNeedsQuotes) {
  EXPECT_THAT(ErrorOf(kSmall, {"train.command=[train, {out}/x, y]"}),
              HasSubstr("--set 'train.command=[train, \"{out}/x\", y]'\n"));
  const std::string begin = "name: braces\ntrain:\n  command: ";
  EXPECT_THAT(ErrorOf(begin + "[train, --lr={lr}, x]\n"),
              HasSubstr("text with '{' inside of brackets needs quotes: write \"--lr={lr}\"\n"));
  EXPECT_THAT(ErrorOf(begin + "[sh, cat /data/${USER}/x {lr}]\n"),
              HasSubstr("'${' inside of brackets needs quotes: write \"cat /data/${USER}/x {lr}\"\n"));
  EXPECT_THAT(ErrorOf(begin + "[train]\n  metrics:\n    pattern: [A-Z]+ it's (?<loss>\\S+)  # loss\n"),
              HasSubstr("write '[A-Z]+ it''s (?<loss>\\S+)'\n"));
}

TEST_F(Load, SuggestsQuotesForAPlaceholderThatYamlTakesForAMap) {
  const std::string begin = "name: braces\ntrain:\n  args: {betas: [1, 2]}\n  command: ";
  EXPECT_THAT(ErrorOf(begin + "[train, {betas}]\n"), HasSubstr("did you mean '\"{betas}\"'?"));
  EXPECT_THAT(ErrorOf(begin + "[train, {betas: 1}]\n"), Not(HasSubstr("did you mean")));
}

TEST_F(Load, TakesATildeForTheHomeDirectory) {
  const auto kept = std::string(std::getenv("HOME") != nullptr ? std::getenv("HOME") : "");
  ::setenv("HOME", "/lab/me", 1);
  const auto files = LoadText(std::string(kSmall) + "launch: {files: [~/a, '~', x~/b, ./~/c]}\n").spec.launch.files;
  ::setenv("HOME", kept.c_str(), 1);
  EXPECT_EQ(files, (std::vector<std::string>{"/lab/me/a", "/lab/me", (directory_ / "x~/b").string(),
                                             (directory_ / "~/c").string()}));
}

TEST_F(Load, ChecksTheValuesOfFlags) {
  const std::string begin = "name: flags\ntrain:\n  flags: [amp]\n  command: [train]\n";
  EXPECT_THAT(ErrorOf(begin + "  args: {amp: yes}\n"),
              AllOf(HasSubstr(":5:15: "), HasSubstr("'amp' is one of 'train.flags', so its value is true or false")));
  EXPECT_THAT(ErrorOf(begin + "  args: {app: true}\n"),
              AllOf(HasSubstr(":3:11: "), HasSubstr("nothing says whether the flag 'amp' is set")));
  const std::string space = "ensemble: {objective: {metric: loss}, trials: 2, space: {amp: ";
  EXPECT_THAT(ErrorOf(begin + space + "{int: [0, 1]}}}\n"), HasSubstr("write {choice: [true, false]}"));
  EXPECT_THAT(ErrorOf(begin + space + "1}}\n"), HasSubstr("write {choice: [true, false]}"));
  for (const auto* values : {"{choice: [true, false]}", "true", "{fixed: false}"}) {
    EXPECT_EQ(LoadText(begin + space + values + "}}\n").spec.train.flags.size(), 1u) << values;
  }
}

TEST_F(Load, RefusesListsAndFlagsOfABundledTrainer) {
  const std::string begin = "name: flags\ntrain:\n  program: fashion\n  args: ";
  EXPECT_THAT(ErrorOf(begin + "{lr: [1, 2]}\n"), AllOf(HasSubstr(":4:14: "), HasSubstr("a list is for a 'command'")));
  EXPECT_THAT(ErrorOf(begin + "{on: true}\n  flags: [on]\n"), HasSubstr("flags are for a 'command'"));
}

TEST_F(Load, RefusesAListOrAFlagAsAPartOfAWord) {
  const std::string begin = "name: flags\ntrain:\n  args: {amp: true, betas: [1, 2]}\n  flags: [amp]\n";
  EXPECT_THAT(ErrorOf(begin + "  command: [train, '--b={betas}']\n"), HasSubstr("{betas} is a list"));
  EXPECT_THAT(ErrorOf(begin + "  command: [train, '--a={amp}']\n"), HasSubstr("{amp} is a flag"));
}

TEST_F(Load, GivesTheSameSpecBackFromItsResolvedForm) {
  const auto document = LoadText(
      "name: all\n"
      "data: {train: {source: a.tfrecord, tier: [ram, 'dir:/scratch'], keep: cache}}\n"
      "launch: {ranks_per_node: 2, time_limit: 20m, env: {A: b}}\n"
      "train: {command: [/bin/true], validation: {from: train}, args: {lr: 0.1, on: true, betas: [1, 2]}, flags: "
      "[on]}\n"
      "ensemble:\n"
      "  objective: {metric: loss}\n"
      "  trials: 4\n"
      "  space: {x: {uniform: [0, 1]}, opt: {choice: [a, b]}, m: {int: [1, 3], when: {opt: a}}}\n");
  const auto again = BuildSpec(*document.resolved);
  EXPECT_EQ(again.name, "all");
  EXPECT_EQ(again.launch.time_limit, Seconds(1200));
  EXPECT_EQ(again.data.at(0).tiers.at(1), "dir:/scratch");
  EXPECT_EQ(again.data.at(0).keep, Keep::kCache);
  EXPECT_EQ(again.train.args, document.spec.train.args);
  EXPECT_EQ(again.train.flags, std::vector<std::string>{"on"});
  EXPECT_EQ(again.ensemble->space.size(), 3u);
  EXPECT_EQ(LoadText(document.source).spec_hash, document.spec_hash);
}

TEST_F(Load, SaysWhoGetsTimeToSave) {
  struct Case {
    std::string metrics, checkpoint;
    bool gets_time;
  };
  const std::string printed = "{from: stdout, pattern: '(?<x>[0-9]+)'}";
  const Case cases[] = {{"{}", "{}", true},
                        {"{}", "{stop_file: false}", false},
                        {"{}", "{stop_file: true}", true},
                        {"{}", "{stop_file: false, signal: USR1}", true},
                        {printed, "{}", false},
                        {printed, "{stop_file: true}", true},
                        {printed, "{stop_file: false}", false},
                        {printed, "{signal: TERM}", true}};
  for (const auto& [metrics, checkpoint, gets_time] : cases) {
    const auto document = LoadText("name: all\ntrain: {command: [/bin/true], metrics: " + metrics +
                                   "}\ncheckpoint: " + checkpoint + "\n");
    EXPECT_EQ(document.spec.gets_time_to_save(), gets_time) << metrics << " " << checkpoint;
    EXPECT_EQ(BuildSpec(*document.resolved).gets_time_to_save(), gets_time) << metrics << " " << checkpoint;
  }
  EXPECT_THAT(ErrorOf(kSmall, {"checkpoint.stop_file=maybe"}), HasSubstr("expected true or false, found 'maybe'"));
  EXPECT_THAT(ErrorOf(kSmall, {"checkpoint.stop_file=[true]"}), HasSubstr("expected true or false, found a list"));
}

std::string WhyNotBuilt(const Json& resolved) {
  try {
    BuildSpec(resolved);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    return error.message();
  }
  return "it is built";
}

/// A stored spec of another version is refused by name, never taken for one with defaults.
TEST_F(Load, RefusesAResolvedSpecThatLacksAnyField) {
  const auto resolved = *LoadText(
                             "name: all\n"
                             "launch: {container: {image: a.sif}}\n"
                             "checkpoint: {keep_best: {metric: loss}}\n"
                             "data: {train: {source: a.tfrecord}}\n"
                             "train: {command: [/bin/true], validation: {from: train}}\n"
                             "ensemble: {objective: {metric: loss}, trials: 4, space: {x: {uniform: [0, 1]}},\n"
                             "  scheduler: {type: asha, max: 9}, budget: {time: 8h}, select: {top: 2}}\n")
                             .resolved;
  std::size_t tried = 0;
  for (const auto& field : Fields()) {
    if (field.path.find_first_of("*[") != std::string::npos) continue;
    auto pointer = "/" + field.path;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const Json::json_pointer place(pointer);
    ASSERT_TRUE(resolved.contains(place)) << field.path;
    auto without = resolved;
    without[place.parent_pointer()].erase(place.back());
    EXPECT_THAT(WhyNotBuilt(without), testing::AllOf(HasSubstr("the resolved spec"), HasSubstr(place.back())));
    ++tried;
  }
  EXPECT_GT(tried, 100u);
}

TEST_F(Load, NamesWhatIsWrongInAResolvedSpec) {
  const auto resolved =
      *LoadText("name: x\ndata: {train: {source: a.tfrecord}}\ntrain: {command: [/bin/true]}\n").resolved;
  const auto with = [&](const char* pointer, Json value) {
    auto changed = resolved;
    changed[Json::json_pointer(pointer)] = std::move(value);
    return WhyNotBuilt(changed);
  };
  EXPECT_EQ(
      with("/data/train/remainder", "keep"),
      "the resolved spec is damaged: 'data.train.remainder' is \"keep\", expected one of 'drop', 'repeat', 'pad'");
  EXPECT_THAT(with("/launch/nodes", 1.5), HasSubstr("'launch.nodes' is 1.5, expected a whole number"));
  EXPECT_THAT(with("/gradients/sync_first", "many"), HasSubstr("'gradients.sync_first' is \"many\""));
  EXPECT_THAT(with("/train/command", Json::array({1})), HasSubstr("'train.command[0]' is 1, expected text"));
}

TEST_F(Load, PutsEveryErrorIntoTheDocument) {
  try {
    LoadText("nam: x\ntrain: {command: [/bin/true], argz: 1}\n");
    FAIL();
  } catch (const SpecError& error) {
    Json document = Json::object();
    error.AddToDocument(document);
    ASSERT_EQ(document["diagnostics"].size(), 3u);  // two unknown keys, and the name is missing
    EXPECT_EQ(document["diagnostics"][0]["line"], 1);
    EXPECT_EQ(document["diagnostics"][0]["suggestion"], "name");
  }
}

TEST_F(Load, RefusesAFileThatIsNone) {
  EXPECT_THROW(LoadSpec(directory_ / "missing.yaml", {}, {}), Error);
  EXPECT_THROW(LoadSpec(directory_.path(), {}, {}), Error);
  EXPECT_THAT(ErrorOf(std::string(5 << 20, ' ')), HasSubstr("larger than"));
  EXPECT_THAT([&] { ReadYamlFile(Write("print('x: 1')", "train.py"), "spec"); },
              testing::ThrowsMessage<Error>(HasSubstr("train.py' is a program, not a spec")));
}

TEST_F(Load, RefusesHostileYaml) {
  EXPECT_NE(ErrorOf(std::string(100'000, '[')), "no error");
  EXPECT_NE(ErrorOf("name: \xff\xfe\n"), "no error");
  EXPECT_NE(ErrorOf(std::string("\x00\x01\x02\x7f", 4)), "no error");
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [*" + before + ", *" + before + ", *" + before + ", *" + before + "]\n";
  }
  EXPECT_NE(ErrorOf(bomb), "no error");
}

TEST_F(Load, RefusesWhatWouldTakeLongToRead) {
  EXPECT_THAT(ErrorOf(std::string(100'000, '[')), HasSubstr("a line of more than"));
  std::string many_keys;
  for (int i = 0; i < 30'000; ++i) many_keys += "k" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(ErrorOf(many_keys), HasSubstr("more than 20000 values"));
}

TEST_F(Load, RefusesAnEndlessOverride) {
  std::string key;
  for (int i = 0; i < 60'000; ++i) key += "a.";
  EXPECT_THAT(ErrorOf(kSmall, {key + "a=1"}), HasSubstr("no field has such a long path"));
}

TEST_F(Load, PointsAtTheByteOfAnOverrideThatIsNotText) {
  EXPECT_THAT(ErrorOf(kSmall, {"name=a\x01"}), HasSubstr("--set:1:7: error: not text"));
}

TEST_F(Load, KeepsBrokenTextOffTheTerminal) {
  const auto said = ErrorOf("name: \xe9\n");
  EXPECT_THAT(said, HasSubstr("name: ?"));
  EXPECT_EQ(said.find('\xe9'), std::string::npos);
}

TEST_F(Load, RefusesAQuoteThatTheEndOfTheFileCloses) {
  EXPECT_THAT(ErrorOf(std::string(kSmall) + "description: \"long\n\n\n"), HasSubstr("exp.yaml:3:14: error"));
  EXPECT_THAT(ErrorOf(std::string(kSmall) + "description: &text 'it''s\n\n"), HasSubstr("never closed"));
  EXPECT_EQ(LoadText(std::string(kSmall) + "description: 'it''s'\n\n").spec.description, "it's");
  EXPECT_EQ(LoadText(std::string(kSmall) + "description: \"a\\\"b\"\n").spec.description, "a\"b");
  EXPECT_EQ(LoadText(std::string(kSmall) + "description: |\n  \"block\n").spec.description, "\"block\n");
}

TEST_F(Load, KeepsLateControlCharactersOut) {
  EXPECT_THAT(ErrorOf(std::string(kSmall) + "description: \"\xc2\x9b"
                                            "31m\"\n"),
              HasSubstr("a control character"));
  EXPECT_EQ(LoadText(std::string(kSmall) + "description: \"\xc2\xa0\"\n").spec.description, "\xc2\xa0");
}

TEST_F(Load, SaysOnceThatAVariableIsNotSet) {
  const auto said = ErrorOf(std::string(kSmall) + "launch: {nodes: \"${SLIPWAY_TEST_IS_NOT_SET}\"}\n");
  EXPECT_THAT(said, HasSubstr("an error\n"));
  EXPECT_THAT(said, HasSubstr("is not set"));
}

TEST_F(Load, ReadsAThousandLinesAtOnce) {
  std::string text = std::string(kSmall) + "launch:\n  env:\n";
  for (int i = 0; i < 1000; ++i) text += "    NAME_" + std::to_string(i) + ": \"value ${HOME:-none}\"\n";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(LoadText(text).spec.launch.env.size(), 1000u);
  const auto took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start);
  RecordProperty("milliseconds", std::to_string(took.count()));
  std::cout << "1,000 lines in " << took.count() << " ms\n";
}

TEST_F(Load, NamesATabAsTheReason) {
  EXPECT_THAT(ErrorOf("name: x\ntrain:\n\tprogram: fashion\n"), HasSubstr("indented with spaces"));
}

TEST_F(Load, TellsAllErrorsOfASpaceAtOnce) {
  const auto said = ErrorOf(std::string(kSmall) +
                            "ensemble:\n  objective: {metric: loss}\n  trials: 2\n"
                            "  space: {a: {choise: [1]}, b: , c: {log: [0, 1]}, d: 99999999999999999999}\n");
  EXPECT_THAT(said, HasSubstr("4 errors"));
  EXPECT_THAT(said, HasSubstr("choise"));
  EXPECT_THAT(said, HasSubstr("low > 0"));
  EXPECT_THAT(said, HasSubstr("beyond 64 bits"));
}

TEST_F(Load, SaysOnceThatASectionIsNone) {
  EXPECT_THAT(ErrorOf("name: x\ntrain: 5\n"), HasSubstr("an error\n"));
  EXPECT_THAT(ErrorOf(std::string(kSmall) + "data: {train: 5}\n"), HasSubstr("an error\n"));
  EXPECT_THAT(ErrorOf(std::string(kSmall) + "ensemble: 5\n"), HasSubstr("an error\n"));
}

TEST_F(Load, ATimeLimitOfAnEnsembleIsKept) {
  const auto document = LoadText(std::string(kSmall) +
                                 "launch: {time_limit: 5m}\n"
                                 "ensemble: {objective: {metric: loss}, trials: 2, space: {lr: {uniform: [0, 1]}}}\n");
  EXPECT_TRUE(document.warnings.empty());
  EXPECT_EQ(document.spec.launch.time_limit, Seconds(300));
}

TEST_F(Load, WarnsOfFarMoreRanksThanCores) {
  const auto remarks = [&](int ranks, const char* engine) {
    return LoadText(std::string(kSmall) + "launch: {engine: " + engine + ", ranks_per_node: " + std::to_string(ranks) +
                    "}\n")
        .warnings;
  };
  EXPECT_TRUE(remarks(2, "local").empty());
  EXPECT_TRUE(remarks(100'000, "slurm").empty());
  const auto warnings = remarks(100'000, "local");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].message, HasSubstr("100000 ranks on "));
  EXPECT_EQ(warnings[0].line, 3);
}

TEST_F(Load, RefusesAnOverrideThatWouldChangeNothing) {
  const auto with_data = std::string(kSmall) + "data: {train: {source: exp.yaml, format: hdf5}}\n";
  for (const auto* change : {"data=null", "data.train=null", "data={}", "launch=null"}) {
    EXPECT_THAT(ErrorOf(with_data, {change}), HasSubstr("removes nothing from it")) << change;
  }
  const auto with_trials =
      std::string(kSmall) + "ensemble: {space: {lr: {uniform: [0, 1]}}, trials: 2, objective: loss}\n";
  EXPECT_FALSE(LoadText(with_trials, {"ensemble=null"}).spec.ensemble);
}

TEST_F(Load, SaysWhichDataToCorrect) {
  const auto next_step = [&](const fs::path& spec) {
    try {
      RequireEnvironment(LoadSpec(spec, {}, {}));
    } catch (const Error& error) {
      return error.next_step();
    }
    return std::string("no error");
  };
  const auto text = std::string(kSmall) + "data: {train: {source: absent.h5, format: hdf5}}\n";
  EXPECT_EQ(next_step(Write(text)), "correct data.train.source, or make the files");
  fs::create_directory(directory_ / "configs");
  EXPECT_THAT(next_step(Write(text, "configs/bundled.yaml")), HasSubstr("(the first lines of "));
}

TEST_F(Load, NeverCrashesOnMutatedSpecs) {
  const std::string good = ReadFile(SLIPWAY_SOURCE_DIR "/configs/fashion-ensemble.yaml");
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    auto text = good;
    for (int change = 0; change < 3; ++change) {
      text[random() % text.size()] =
          static_cast<char>(random() % 4 == 0 ? random() : " :{}[]-,'\"#&*|>%@\n"[random() % 18]);
    }
    try {
      LoadText(text);
    } catch (const Error& error) {
      EXPECT_FALSE(error.message().empty());
    }
  }
}

}  // namespace
}  // namespace slipway::launcher
