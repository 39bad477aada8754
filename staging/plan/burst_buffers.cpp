#include "staging/plan/burst_buffers.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace slipway::staging {
namespace {

/// What a variable of this beginning is. The first that fits counts.
struct Kind {
  std::string_view prefix;
  std::string_view name;  ///< the whole name after "burst:", or empty: what follows the prefix
  std::optional<TierScope> scope;
  int rank;  ///< the order in which `burst` takes them
};

constexpr std::array kKinds = {
    Kind{"DW_JOB_STRIPED", "striped", TierScope::kJob, 0},
    Kind{"BB_JOB_STRIPED", "striped", TierScope::kJob, 0},
    Kind{"DW_JOB_PRIVATE", "private", TierScope::kNode, 1},
    Kind{"BB_JOB_PRIVATE", "private", TierScope::kNode, 1},
    Kind{"DW_PERSISTENT_STRIPED_", "", TierScope::kJob, 3},
    Kind{"DW_PERSISTENT_", "", std::nullopt, 3},
    Kind{"DW_JOB_", "", std::nullopt, 2},
    Kind{"BB_", "", std::nullopt, 2},
};

bool IsCache(std::string_view variable) {
  return variable.find("_CACHE") != std::string_view::npos && variable.starts_with("DW_");
}

const Kind* KindOf(std::string_view variable) {
  if (IsCache(variable)) return nullptr;
  for (const auto& kind : kKinds) {
    const bool fits = kind.name.empty() ? variable.starts_with(kind.prefix) && variable.size() > kind.prefix.size()
                                        : variable == kind.prefix;
    if (fits) return &kind;
  }
  return nullptr;
}

std::optional<BurstBuffer> BufferIn(std::string_view entry) {
  const auto equals = entry.find('=');
  if (equals == std::string_view::npos) return {};
  const auto variable = entry.substr(0, equals);
  const auto value = entry.substr(equals + 1);
  const auto* kind = KindOf(variable);
  // Sites use BB_ for numbers and flags as well: a buffer is a directory.
  if (kind == nullptr || !value.starts_with('/')) return {};
  const auto name = kind->name.empty() ? variable.substr(kind->prefix.size()) : kind->name;
  return BurstBuffer{std::string(variable), std::string(value), std::string(name), kind->scope, kind->rank};
}

/// DataWarp's before those of the lua plugin where a job has both.
bool ComesFirst(const BurstBuffer& a, const BurstBuffer& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  const bool a_is_datawarp = a.variable.starts_with("DW_");
  const bool b_is_datawarp = b.variable.starts_with("DW_");
  return a_is_datawarp != b_is_datawarp ? a_is_datawarp : a.variable < b.variable;
}

std::string WithUnderscores(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

}  // namespace

std::vector<BurstBuffer> FindBurstBuffers(const std::vector<std::string>& environment) {
  std::vector<BurstBuffer> buffers;
  for (const auto& entry : environment) {
    if (auto buffer = BufferIn(entry)) buffers.push_back(std::move(*buffer));
  }
  std::sort(buffers.begin(), buffers.end(), ComesFirst);
  return buffers;
}

std::optional<BurstBuffer> FindBurstBuffer(const std::vector<BurstBuffer>& buffers, std::string_view name) {
  const auto wanted = WithUnderscores(name);
  const auto found =
      std::find_if(buffers.begin(), buffers.end(), [&](const BurstBuffer& buffer) { return buffer.name == wanted; });
  return found == buffers.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

}  // namespace slipway::staging
