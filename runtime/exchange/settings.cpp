#include "runtime/exchange/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

[[noreturn]] void Refuse(const std::string& name, const Json& value, const char* expected) {
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                     fmt::format("the configuration is wrong: {} is {}, not {}", name, value.dump(), expected));
}

std::int64_t IntegerFrom(const std::string& name, const Json& value, std::int64_t least,
                         std::int64_t most = std::numeric_limits<int>::max()) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    Refuse(name, value, fmt::format("a number from {} to {}", least, most).c_str());
  }
  return value.get<std::int64_t>();
}

/// 100, or "10%".
StepShare ShareFrom(const std::string& name, const Json& value) {
  if (!value.is_string()) return {.steps = IntegerFrom(name, value, 0), .share = std::nullopt};
  const auto text = value.get<std::string>();
  double percent = -1;
  // Not strtod: the program's locale may have another decimal point.
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (code != std::errc() || std::string_view(end) != "%" || !(percent >= 0 && percent <= 100)) {
    Refuse(name, value, "a number of steps or a share like \"10%\"");
  }
  return {.steps = 0, .share = percent / 100};
}

template <class Value>
using Words = std::initializer_list<std::pair<const char*, Value>>;

constexpr Words<GpuExchange> kGpuExchanges = {{"auto", GpuExchange::kAuto},
                                              {"staged", GpuExchange::kStaged},
                                              {"direct", GpuExchange::kDirect},
                                              {"nccl", GpuExchange::kNccl},
                                              {"mpi", GpuExchange::kMpi}};

template <class Value>
Value OneOf(const std::string& name, const Json& value, Words<Value> words) {
  std::string expected = "one of";
  for (const auto& [word, meaning] : words) {
    if (value == word) return meaning;
    expected += fmt::format(" {}", word);
  }
  Refuse(name, value, expected.c_str());
}

bool BoolFrom(const std::string& name, const Json& value) {
  if (!value.is_boolean()) Refuse(name, value, "true or false");
  return value.get<bool>();
}

double NormFrom(const std::string& name, const Json& value) {
  if (value.is_null()) return 0;
  if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>())) {
    Refuse(name, value, "a positive number");
  }
  return value.get<double>();
}

void Apply(TeamSettings& settings, const std::string& name, const Json& value, bool& delayed) {
  if (name == "mode") delayed = OneOf<bool>(name, value, {{"sync", false}, {"delayed", true}});
  if (name == "lag") settings.lag = static_cast<int>(IntegerFrom(name, value, 1, kMostLag));
  if (name == "sync_first") settings.sync_first = ShareFrom(name, value);
  if (name == "sync_last") settings.sync_last = ShareFrom(name, value);
  if (name == "accumulate") settings.accumulate = static_cast<int>(IntegerFrom(name, value, 1));
  if (name == "compress") {
    settings.wire = OneOf<std::optional<slipway_dtype>>(
        name, value, {{"none", std::nullopt}, {"bf16", SLIPWAY_BFLOAT16}, {"fp16", SLIPWAY_FLOAT16}});
  }
  if (name == "clip_norm") settings.clip_norm = NormFrom(name, value);
  if (name == "check_finite") settings.check_finite = BoolFrom(name, value);
  if (name == "bucket_bytes") settings.bucket_bytes = IntegerFrom(name, value, 1);
  if (name == "gpu_exchange") settings.gpu_exchange = OneOf(name, value, kGpuExchanges);
  if (name == "op") settings.op = OneOf<slipway_op>(name, value, {{"mean", SLIPWAY_MEAN}, {"sum", SLIPWAY_SUM}});
}

}  // namespace

std::int64_t StepShare::Of(std::int64_t total, const char* name) const {
  if (!share) return steps;
  if (total == 0) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       fmt::format("{} is a share of all steps: pass their number to slipway_register", name));
  }
  return static_cast<std::int64_t>(std::llround(*share * static_cast<double>(total)));
}

const char* WordOf(GpuExchange exchange) {
  for (const auto& [word, meaning] : kGpuExchanges) {
    if (meaning == exchange) return word;
  }
  return "";
}

const char* WordOf(GpuWaits waits) { return waits == GpuWaits::kEvents ? "events" : "cpu"; }

GpuWaits GpuWaitsFrom(const std::string& word) {
  for (const auto waits : {GpuWaits::kCpu, GpuWaits::kEvents}) {
    if (word == WordOf(waits)) return waits;
  }
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("SLIPWAY_GPU_WAIT is '{}', not cpu or events", word));
}

int GpuSumThreadsFrom(const std::string& word) {
  constexpr int kMost = 64;
  int threads = 0;
  const char* end = word.data() + word.size();
  const auto [parsed, error] = std::from_chars(word.data(), end, threads);
  if (error == std::errc() && parsed == end && threads >= 1 && threads <= kMost) return threads;
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                     fmt::format("SLIPWAY_GPU_SUM_THREADS is '{}', not a number of threads from 1 to {}; unset it, and "
                                 "Slipway measures how many are best",
                                 word, kMost));
}

TeamSettings WithChanges(TeamSettings settings, const Json& json) {
  if (!json.is_object()) Refuse("the settings of a team", json, "a JSON object");
  bool delayed = settings.lag > 0;
  for (const auto& [name, value] : json.items()) Apply(settings, name, value, delayed);
  if (!delayed) settings.lag = 0;
  if (delayed && settings.lag == 0) settings.lag = 1;
  return settings;
}

}  // namespace slipway::runtime
