#include "runtime/exchange/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/lines.h"
#include "core/nearest_word.h"
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
Value OneOf(const std::string& name, const Json& value, WordTable<Value> words) {
  std::string expected = "one of";
  for (const auto& row : words) {
    if (value == row.word) return row.value;
    expected += fmt::format(" {}", row.word);
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

using Wire = std::optional<slipway_dtype>;
constexpr Word<bool> kModes[] = {{false, "sync"}, {true, "delayed"}};
constexpr Word<Wire> kWires[] = {{std::nullopt, "none"}, {SLIPWAY_BFLOAT16, "bf16"}, {SLIPWAY_FLOAT16, "fp16"}};
constexpr Word<slipway_op> kOps[] = {{SLIPWAY_MEAN, "mean"}, {SLIPWAY_SUM, "sum"}};

/// What is being read: `lag` counts only in mode delayed, whichever of the two comes first.
struct TeamDraft {
  TeamSettings settings;
  bool delayed = false;
};

/// Every setting of a team.
constexpr struct {
  const char* name;
  void (*take)(TeamDraft& draft, const std::string& name, const Json& value);
} kTeamFields[] = {
    {"mode", [](auto& draft, auto& name, auto& value) { draft.delayed = OneOf<bool>(name, value, kModes); }},
    {"lag", [](auto& draft, auto& name,
               auto& value) { draft.settings.lag = static_cast<int>(IntegerFrom(name, value, 1, kMostLag)); }},
    {"sync_first", [](auto& draft, auto& name, auto& value) { draft.settings.sync_first = ShareFrom(name, value); }},
    {"sync_last", [](auto& draft, auto& name, auto& value) { draft.settings.sync_last = ShareFrom(name, value); }},
    {"accumulate", [](auto& draft, auto& name,
                      auto& value) { draft.settings.accumulate = static_cast<int>(IntegerFrom(name, value, 1)); }},
    {"compress", [](auto& draft, auto& name, auto& value) { draft.settings.wire = OneOf<Wire>(name, value, kWires); }},
    {"clip_norm", [](auto& draft, auto& name, auto& value) { draft.settings.clip_norm = NormFrom(name, value); }},
    {"check_finite", [](auto& draft, auto& name, auto& value) { draft.settings.check_finite = BoolFrom(name, value); }},
    {"bucket_bytes",
     [](auto& draft, auto& name, auto& value) { draft.settings.bucket_bytes = IntegerFrom(name, value, 1); }},
    {"gpu_exchange", [](auto& draft, auto& name,
                        auto& value) { draft.settings.gpu_exchange = OneOf(name, value, WordsOf(GpuExchange{})); }},
    {"op", [](auto& draft, auto& name, auto& value) { draft.settings.op = OneOf<slipway_op>(name, value, kOps); }},
};

[[noreturn]] void RefuseSetting(const std::string& name, std::span<const std::string_view> others) {
  std::vector<std::string> known(others.begin(), others.end());
  for (const auto& field : kTeamFields) known.emplace_back(field.name);
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the configuration is wrong: there is no setting '{}'{}", name,
                                                         SuggestWord(name, known)));
}

void TakeSetting(TeamDraft& draft, const std::string& name, const Json& value,
                 std::span<const std::string_view> others) {
  const auto* field = std::ranges::find_if(kTeamFields, [&](const auto& each) { return name == each.name; });
  if (field != std::end(kTeamFields)) return field->take(draft, name, value);
  if (std::ranges::find(others, name) == others.end()) RefuseSetting(name, others);
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

WordTable<GpuWaits> WordsOf(GpuWaits) {
  static constexpr Word<GpuWaits> kWords[] = {{GpuWaits::kCpu, "cpu"}, {GpuWaits::kEvents, "events"}};
  return kWords;
}

GpuWaits GpuWaitsFrom(const std::string& word) {
  if (const auto waits = FromWord<GpuWaits>(word)) return *waits;
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("SLIPWAY_GPU_WAIT is '{}', not cpu or events", word));
}

int GpuSumThreadsFrom(const std::string& word) {
  constexpr int kMost = 64;
  int threads = 0;
  if (ParseNumber(word, threads) && threads >= 1 && threads <= kMost) return threads;
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                     fmt::format("SLIPWAY_GPU_SUM_THREADS is '{}', not a number of threads from 1 to {}; unset it, and "
                                 "Slipway measures how many are best",
                                 word, kMost));
}

TeamSettings WithChanges(TeamSettings settings, const Json& json, std::span<const std::string_view> others) {
  if (!json.is_object()) Refuse("the settings of a team", json, "a JSON object");
  const bool delayed = settings.lag > 0;
  TeamDraft draft{std::move(settings), delayed};
  for (const auto& [name, value] : json.items()) TakeSetting(draft, name, value, others);
  if (!draft.delayed) draft.settings.lag = 0;
  if (draft.delayed && draft.settings.lag == 0) draft.settings.lag = 1;
  return draft.settings;
}

}  // namespace slipway::runtime
