#include "tests/support/mllog_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

namespace slipway::test {
namespace {

using nlohmann::json;

constexpr std::string_view kToken = ":::MLLOG ";

const std::vector<std::string> kOnce = {"submission_benchmark",
                                        "submission_org",
                                        "submission_division",
                                        "submission_status",
                                        "submission_platform",
                                        "init_stop",
                                        "run_start",
                                        "run_stop",
                                        "number_of_nodes",
                                        "accelerators_per_node"};
const std::vector<std::string> kOnceOfTrainers = {"train_samples", "eval_samples",           "global_batch_size",
                                                  "seed",          "opt_base_learning_rate", "opt_name"};
const std::map<std::string, std::set<std::string>> kWords = {
    {"submission_division", {"closed", "open"}}, {"submission_status", {"cloud", "onprem", "preview", "research"}}};

class Rules {
 public:
  std::vector<std::string> Check(const MllogLines& lines, Program program) {
    for (const auto& line : lines) {
      CheckForm(line);
      CheckTime(line);
      CheckOrder(line);
      ++counts_[Key(line)];
    }
    for (const auto& key : kOnce) RequireOnce(key);
    RequireSome("cache_clear");
    RequireSome("init_start");
    if (program == Program::kTrainer) CheckTrainer();
    return faults_;
  }

 private:
  static std::string Key(const json& line) { return line.at("key").get<std::string>(); }

  void Require(bool good, const std::string& fault) {
    if (!good) faults_.push_back(fault);
  }
  void RequireOnce(const std::string& key) {
    Require(counts_[key] == 1, fmt::format("{} stands {} times", key, counts_[key]));
  }
  void RequireSome(const std::string& key) { Require(counts_[key] > 0, key + " is missing"); }

  void CheckForm(const json& line) {
    const auto key = Key(line);
    const std::set<std::string> members = {"namespace", "time_ms", "event_type", "key", "value", "metadata"};
    for (const auto& name : members) Require(line.contains(name), fmt::format("{} has no {}", key, name));
    Require(line.size() == members.size(), key + " has other members");
    Require(line.at("metadata").is_object(), key + ": metadata");
    const auto event = key.ends_with("_start")  ? "INTERVAL_START"
                       : key.ends_with("_stop") ? "INTERVAL_END"
                                                : "POINT_IN_TIME";
    Require(line.at("event_type") == event, fmt::format("{} is a {}", key, line.at("event_type").dump()));
    if (key.starts_with("submission_")) Require(line.at("value") != "", key + " is empty");
    if (kWords.contains(key)) Require(kWords.at(key).contains(line.at("value").get<std::string>()), key);
  }

  void CheckTime(const json& line) {
    const auto time = line.at("time_ms").get<std::int64_t>();
    Require(time >= last_time_, Key(line) + " is older than the line before it");
    last_time_ = time;
    if (Key(line) == "init_start" && counts_["init_start"] == 0) first_init_ = time;
    if (Key(line) == "init_stop") Require(time - first_init_ < 30 * 60 * 1000, "init took more than 30 minutes");
  }

  void CheckOrder(const json& line) {
    const auto key = Key(line);
    const auto seen = [&](const char* name) { return counts_[name] > 0; };
    Require(!seen("run_stop"), key + " after run_stop");
    if (key == "init_start") Require(!seen("init_stop") && !seen("run_start"), "init_start comes late");
    if (key == "init_stop") Require(seen("init_start") && !seen("run_start"), "init_stop is out of place");
    if (key == "run_start") Require(seen("init_stop"), "run_start before init_stop");
    if (key == "staging_stop") Require(seen("staging_start"), "staging_stop before staging_start");
    if (key == "run_stop") {
      Require(seen("run_start"), "run_stop before run_start");
      const auto status = line.at("metadata").value("status", "");
      Require(status == "success" || status == "aborted", "run_stop has no status");
    }
    if (key.starts_with("epoch_") || key.starts_with("eval_st")) CheckInterval(line, key);
    if (key == "eval_error" || key == "eval_accuracy") {
      Require(open_.contains("eval"), key + " outside of an evaluation");
      Require(line.at("metadata").contains("epoch_num"), key + " of no epoch");
    }
  }

  void CheckInterval(const json& line, const std::string& key) {
    Require(counts_["run_start"] > 0, key + " before run_start");
    const auto epoch = line.at("metadata").value("epoch_num", 0);
    Require(epoch > 0, key + " of no epoch");
    const auto name = key.substr(0, key.find('_'));
    if (key.ends_with("_start")) {
      Require(!open_.contains(name) || counts_["attempt"] > 0, key + " while one is open");
      open_[name] = epoch;
    } else {
      Require(open_.contains(name) && open_[name] == epoch, key + " of an epoch that was not begun");
      open_.erase(name);
    }
  }

  void CheckTrainer() {
    for (const auto& key : kOnceOfTrainers) RequireOnce(key);
    for (const auto* key : {"epoch_start", "epoch_stop", "eval_start", "eval_stop"}) RequireSome(key);
    Require(counts_["eval_error"] + counts_["eval_accuracy"] == counts_["eval_stop"], "an evaluation without a result");
  }

  std::vector<std::string> faults_;
  std::map<std::string, int> counts_;
  std::map<std::string, int> open_;
  std::int64_t last_time_ = 0;
  std::int64_t first_init_ = 0;
};

}  // namespace

MllogLines ReadMllogLines(const std::filesystem::path& log) {
  MllogLines lines;
  std::ifstream file(log);
  EXPECT_TRUE(file.is_open()) << log << " is missing";
  for (std::string text; std::getline(file, text);) {
    const bool is_line = text.starts_with(kToken);
    EXPECT_TRUE(is_line) << text;
    if (is_line) lines.push_back(json::parse(text.substr(kToken.size())));
  }
  return lines;
}

std::vector<std::string> KeysOf(const MllogLines& lines) {
  std::vector<std::string> keys;
  for (const auto& line : lines) {
    const auto& metadata = line.at("metadata");
    auto key = line.at("key").get<std::string>();
    if (metadata.contains("epoch_num")) key += " " + metadata["epoch_num"].dump();
    keys.push_back(std::move(key));
  }
  return keys;
}

json ValueOf(const MllogLines& lines, const std::string& key) {
  const auto found = std::ranges::find_if(lines, [&](const auto& line) { return line.at("key") == key; });
  return found == lines.end() ? json() : found->at("value");
}

std::string StatusOf(const MllogLines& lines) {
  std::string status;
  for (const auto& line : lines) {
    if (line.at("key") == "run_stop") status += line.at("metadata").value("status", "none");
  }
  return status;
}

std::vector<std::string> FaultsOf(const MllogLines& lines, Program program) { return Rules().Check(lines, program); }

}  // namespace slipway::test
