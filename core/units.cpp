#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/lines.h"
#include "core/text.h"

namespace slipway {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024.0;
constexpr std::array kByteUnits = {Unit{"", 1},
                                   Unit{"B", 1},
                                   Unit{"K", kKi},
                                   Unit{"KiB", kKi},
                                   Unit{"KB", 1e3},
                                   Unit{"M", kKi* kKi},
                                   Unit{"MiB", kKi* kKi},
                                   Unit{"MB", 1e6},
                                   Unit{"G", kKi* kKi* kKi},
                                   Unit{"GiB", kKi* kKi* kKi},
                                   Unit{"GB", 1e9},
                                   Unit{"T", kKi* kKi* kKi* kKi},
                                   Unit{"TiB", kKi* kKi* kKi* kKi},
                                   Unit{"TB", 1e12}};

constexpr std::array kTimeUnits = {Unit{"ms", 1e-3}, Unit{"s", 1},    Unit{"sec", 1},  Unit{"m", 60},
                                   Unit{"min", 60},  Unit{"h", 3600}, Unit{"d", 86400}};

/// Takes a non-negative number from the front of `text`.
std::optional<double> TakeNumber(std::string_view& text) {
  if (text.empty() || !(std::isdigit(static_cast<unsigned char>(text.front())) || text.front() == '.')) return {};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Takes the letters at the front of `text`.
std::string_view TakeWord(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && std::isalpha(static_cast<unsigned char>(text[length]))) ++length;
  const auto word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

template <class Units>
std::optional<double> FactorOf(const Units& units, std::string_view name) {
  for (const auto& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return {};
}

/// "01:30:00" or "30:00".
std::optional<double> ParseClockForm(std::string_view text) {
  double total = 0;
  int fields = 0;
  while (true) {
    const auto value = TakeNumber(text);
    const bool last = text.empty();
    if (!value || (fields > 0 && *value >= 60) || (!last && *value != std::floor(*value)) || ++fields > 3) return {};
    total = total * 60 + *value;
    if (text.empty()) break;
    if (text.front() != ':') return {};
    text.remove_prefix(1);
  }
  if (fields < 2) return {};
  return total;
}

/// "1h30m", or a single number without a unit: seconds.
std::optional<double> ParseUnitForm(std::string_view text) {
  double total = 0;
  bool first = true;
  do {
    const auto number = TakeNumber(text);
    const auto word = TakeWord(text);
    const bool plain = first && word.empty() && text.empty();
    const auto factor = plain ? std::optional(1.0) : FactorOf(kTimeUnits, word);
    if (!number || !factor) return {};
    total += *number * *factor;
    first = false;
  } while (!text.empty());
  return total;
}

std::string ThreeDigits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::optional<Bytes> ParseBytes(std::string_view text) {
  text = Trim(text);
  if (const auto whole = ParseNumber<std::uint64_t>(text)) return Bytes{*whole};  // a double would round it
  const auto number = TakeNumber(text);
  if (!number) return {};
  const auto factor = FactorOf(kByteUnits, Trim(text));
  if (!factor) return {};
  const double bytes = std::round(*number * *factor);
  if (!(bytes < static_cast<double>(std::numeric_limits<std::uint64_t>::max()))) return {};
  return Bytes{static_cast<std::uint64_t>(bytes)};
}

std::optional<Seconds> ParseDuration(std::string_view text) {
  text = Trim(text);
  const auto total = text.find(':') != std::string_view::npos ? ParseClockForm(text) : ParseUnitForm(text);
  if (!total || *total > 1e9) return {};  // beyond 30 years: a slip, and past what clocks can add
  return Seconds(*total);
}

std::string FormatBytes(Bytes bytes) {
  constexpr std::array<std::string_view, 7> names = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes.count < 1000) return fmt::format("{} B", bytes.count);
  auto value = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < names.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", ThreeDigits(value), names[unit]);
}

std::string FormatDuration(Seconds duration) {
  const double seconds = duration.count();
  if (seconds < 0.9995) return fmt::format("{} ms", ThreeDigits(seconds * 1e3));
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string FormatRate(Bytes bytes, Seconds duration) {
  if (duration.count() <= 0) return "-";
  const auto per_second = static_cast<double>(bytes.count) / duration.count();
  return FormatBytes(Bytes{static_cast<std::uint64_t>(per_second)}) + "/s";
}

}  // namespace slipway
