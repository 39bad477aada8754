// Configurations of anybody's: taken or refused by name, and nothing else, whatever they hold.

#include "runtime/api/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <clocale>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

/// The message when it is refused, as it should be; "" when it is taken.
std::string Refusal(const std::string& config) {
  try {
    ReadSettings(config.c_str());
    return "";
  } catch (const RuntimeError& error) {
    EXPECT_EQ(error.status(), SLIPWAY_ERROR_ARGUMENT);
    return error.what();
  }
}

void ExpectRefusal(const std::string& config, const std::string& words) {
  const auto refusal = Refusal(config);
  EXPECT_NE(refusal.find(words), std::string::npos) << config << ": " << refusal;
}

TEST(Settings, AreRefusedByName) {
  ExpectRefusal(R"({"gradients": {"lag": 0}})", "lag is 0, not a number from 1 to 1000");
  ExpectRefusal(R"({"gradients": {"lag": 2147483647}})", "lag is");
  ExpectRefusal(R"({"gradients": {"accumulate": 18446744073709551615}})", "accumulate is");
  ExpectRefusal(R"({"gradients": {"sync_first": "ten%"}})", "sync_first is");
  ExpectRefusal(R"({"gradients": {"sync_first": "10 %"}})", "sync_first is");
  ExpectRefusal(R"({"gradients": {"sync_first": "nan%"}})", "sync_first is");
  ExpectRefusal(R"({"gradients": {"sync_first": "101%"}})", "sync_first is");
  ExpectRefusal(R"({"gradients": {"clip_norm": -1}})", "clip_norm is");
  ExpectRefusal(R"({"gradients": {"deterministic": "canonicle"}})", "deterministic is");
  ExpectRefusal(R"({"gradients": {"algorithms": 3}})", "malformed");
  ExpectRefusal(R"({"gradients": {"network": "torus"}})", "network is \"torus\"");
  ExpectRefusal(R"({"gradients": {"network": 3}})", "network is 3");
  ExpectRefusal(R"({"gradients": null})", "gradients is not an object");
  ExpectRefusal(R"({"gradients": {"clip_nrm": 1.0}})", "there is no setting 'clip_nrm'; did you mean 'clip_norm'?");
  ExpectRefusal(R"({"gradients": {"determinstic": true}})", "did you mean 'deterministic'?");
  ExpectRefusal(R"({"gradients": {"bogus": 3}})",
                "there is no setting 'bogus'; valid are 'deterministic', 'network', 'algorithms', 'mode', 'lag'");
  ExpectRefusal(R"({"trace": {"every": 4294967296}})", "trace.every is");
  ExpectRefusal(R"({"trace": {"chrome": "yes"}})", "malformed");
  ExpectRefusal(R"({"trace": {"sums": -1}})", "trace.sums is -1, not a number of steps");
  ExpectRefusal(R"({"trace": {"sums": 0.5}})", "trace.sums is");
  ExpectRefusal(R"({"resilience": {"stall_after_s": 0}})", "stall_after_s is");
  ExpectRefusal(std::string(1'000'000, '['), "too much lies inside one another");
  std::string deep = R"({"gradients": {"mode": )" + std::string(60, '[') + std::string(60, ']') + "}}";
  ExpectRefusal(deep, "too much lies inside one another");
}

/// Every member that the launcher writes, as RuntimeConfiguration.HasWhatTheSpecSays of its tests has them.
TEST(Settings, TakeWhatTheLauncherWrites) {
  const auto settings = ReadSettings(
      R"({"gradients": {"mode":"delayed","lag":3,"sync_first":"7%","sync_last":5,"accumulate":4,"compress":"fp16",)"
      R"("clip_norm":0.5,"check_finite":true,"bucket_bytes":65536,"deterministic":"canonical",)"
      R"("network":"fat_tree","algorithms":"ring:0-max","gpu_exchange":"staged"}})");
  const auto& team = settings.gradients;
  EXPECT_EQ(team.lag, 3);
  EXPECT_EQ(team.sync_first.Of(100, "sync_first"), 7);
  EXPECT_EQ(team.sync_last.Of(0, "sync_last"), 5);
  EXPECT_EQ(team.accumulate, 4);
  EXPECT_EQ(team.wire, SLIPWAY_FLOAT16);
  EXPECT_EQ(team.clip_norm, 0.5);
  EXPECT_TRUE(team.check_finite);
  EXPECT_EQ(team.bucket_bytes, 65536);
  EXPECT_EQ(team.gpu_exchange, GpuExchange::kStaged);
  EXPECT_FALSE(team.any_bits);
  EXPECT_TRUE(settings.canonical);
  EXPECT_EQ(settings.network, Network::kFatTree);
  EXPECT_EQ(settings.algorithms, "ring:0-max");
}

TEST(Settings, KnowWhatIsLeftOut) {
  const auto settings = ReadSettings("{}");
  EXPECT_EQ(settings.gradients.lag, 0);
  EXPECT_FALSE(settings.gradients.any_bits);
  EXPECT_FALSE(settings.canonical);
  EXPECT_EQ(settings.network, Network::kUnknown);
  EXPECT_EQ(settings.algorithms, "");
  EXPECT_TRUE(ReadSettings(R"({"gradients": {"deterministic": false}})").gradients.any_bits);
}

TEST(Settings, TakeANumberOfThreadsThatCombine) {
  EXPECT_EQ(GpuSumThreadsFrom("1"), 1);
  EXPECT_EQ(GpuSumThreadsFrom("64"), 64);
  for (const std::string word : {"0", "65", "-2", "two", "3 ", "3.5", "99999999999"}) {
    try {
      ADD_FAILURE() << word << " is " << GpuSumThreadsFrom(word);
    } catch (const RuntimeError& error) {
      EXPECT_EQ(error.status(), SLIPWAY_ERROR_ARGUMENT);
      EXPECT_EQ(error.what(), "SLIPWAY_GPU_SUM_THREADS is '" + word +
                                  "', not a number of threads from 1 to 64; unset it, and Slipway measures how many "
                                  "are best");
    }
  }
}

TEST(Settings, RefuseValuesOfVariablesThatMeanNothing) {
  const auto refusal = [](const char* name, const std::string& value) -> std::string {
    const char* before = std::getenv(name);
    const auto kept = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
    ::setenv(name, value.c_str(), 1);
    std::string said;
    try {
      RequireKnownValues();
    } catch (const RuntimeError& error) {
      EXPECT_EQ(error.status(), SLIPWAY_ERROR_ARGUMENT);
      said = error.what();
    }
    kept ? ::setenv(name, kept->c_str(), 1) : ::unsetenv(name);
    return said;
  };
  for (const std::string wrong : {"0", "-1", "two", "2 ", "99999999999"}) {
    EXPECT_EQ(refusal("SLIPWAY_RANKS_PER_NODE", wrong),
              "SLIPWAY_RANKS_PER_NODE is '" + wrong + "', not a number of ranks from 1");
  }
  for (const char* name : {"SLIPWAY_TORCH_MEMORY", "SLIPWAY_MPI_CHECK"}) {
    EXPECT_EQ(refusal(name, "off"), std::string(name) + " is 'off', not 0 or 1");
    for (const char* known : {"", "0", "1"}) EXPECT_EQ(refusal(name, known), "");
  }
  for (const char* known : {"", "1", "64"}) EXPECT_EQ(refusal("SLIPWAY_RANKS_PER_NODE", known), "");
}

TEST(Settings, ReadSharesWhateverTheProgramsLocale) {
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) std::setlocale(LC_NUMERIC, "C");
  const auto settings = ReadSettings(R"({"gradients": {"sync_first": "12.5%"}})");
  std::setlocale(LC_NUMERIC, "C");
  EXPECT_EQ(settings.gradients.sync_first.Of(800, "sync_first"), 100);
}

using Text = std::string;

rc::Gen<Text> AnyValue() {
  return rc::gen::oneOf(
      rc::gen::element<Text>("0", "-1", "1", "60", "1.5", "1e308", "1e999", "-0", "9223372036854775807",
                             "18446744073709551615", "99999999999999999999999", "null", "true", "{}", "[]", "[[[]]]",
                             R"("")", R"("10%")", R"("1e5%")", R"("delayed")", R"("bf16")", R"("canonical")",
                             R"("\u0000")", R"("ring:0-max")", "\"\xff\""),
      rc::gen::map(rc::gen::arbitrary<Text>(), [](const Text& text) { return "\"" + text + "\""; }));
}

rc::Gen<Text> AnyName() {
  return rc::gen::element<Text>("mode", "lag", "sync_first", "sync_last", "accumulate", "compress", "clip_norm",
                                "check_finite", "bucket_bytes", "op", "deterministic", "algorithms", "every", "chrome",
                                "sums", "keep", "stall_after_s", "spec_hash", "other");
}

Text Object(const std::vector<std::pair<Text, Text>>& members) {
  Text text = "{";
  for (const auto& [name, value] : members) {
    if (text.size() > 1) text += ",";
    text += "\"" + name + "\":" + value;
  }
  return text + "}";
}

/// True when it was taken with sane values, or refused; a crash or another exception fails the test.
bool IsHandled(const Text& config) {
  try {
    const auto settings = ReadSettings(config.c_str());
    const auto& gradients = settings.gradients;
    return gradients.lag >= 0 && gradients.lag <= 1000 && gradients.accumulate >= 1 && gradients.bucket_bytes >= 1 &&
           gradients.clip_norm >= 0 && settings.trace.every >= 0 && settings.trace.sums >= 0 &&
           settings.checkpoints.keep >= 1 && settings.watch.stall_after.count() > 0;
  } catch (const RuntimeError& error) {
    return error.status() == SLIPWAY_ERROR_ARGUMENT;
  }
}

TEST(Settings, OfAnyValuesAreTakenOrRefused) {
  EXPECT_TRUE(rc::check([] {
    const auto members = rc::gen::container<std::vector<std::pair<Text, Text>>>(rc::gen::pair(AnyName(), AnyValue()));
    const auto section = rc::gen::element<Text>("gradients", "trace", "resilience", "checkpoint");
    std::vector<std::pair<Text, Text>> config;
    for (int i = 0; i < 3; ++i) config.emplace_back(*section, Object(*members));
    RC_ASSERT(IsHandled(Object(config)));
  }));
}

TEST(Settings, ThatAreDamagedAreTakenOrRefused) {
  EXPECT_TRUE(rc::check([] {
    Text config =
        R"({"spec_hash":"abc","gradients":{"mode":"delayed","lag":2,"sync_first":"10%","clip_norm":1.5},)"
        R"("resilience":{"stall_after_s":60},"trace":{"every":100,"chrome":false,"sums":50},"checkpoint":{"keep":2}})";
    const auto damages = *rc::gen::inRange(1, 4);
    for (int i = 0; i < damages; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, config.size());
      config[at] = static_cast<char>(*rc::gen::inRange(1, 256));
    }
    RC_ASSERT(IsHandled(config));
  }));
}

}  // namespace
}  // namespace slipway::runtime
