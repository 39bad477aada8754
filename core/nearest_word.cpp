#include "core/nearest_word.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace slipway {
namespace {

char Lower(char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); }

// Optimal string alignment distance; three rows are enough.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) && Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

/// The only candidate that begins with the word, of two letters or more: "min" for "minimize".
std::string OnlyCompletion(std::string_view word, std::span<const std::string> candidates) {
  const auto begins = [&](const std::string& candidate) {
    return candidate.size() > word.size() &&
           std::ranges::equal(word, candidate.substr(0, word.size()), {}, Lower, Lower);
  };
  if (word.size() < 2 || std::ranges::count_if(candidates, begins) != 1) return {};
  return *std::ranges::find_if(candidates, begins);
}

}  // namespace

std::string NearestWord(std::string_view word, std::span<const std::string> candidates) {
  std::string nearest;
  std::size_t smallest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance >= smallest || distance >= std::max(word.size(), candidate.size())) continue;
    smallest = distance;
    nearest = candidate;
  }
  return nearest.empty() ? OnlyCompletion(word, candidates) : nearest;
}

std::string SuggestWord(std::string_view word, std::span<const std::string> candidates) {
  const std::string nearest = NearestWord(word, candidates);
  if (!nearest.empty()) return "; did you mean '" + nearest + "'?";
  std::string list;
  for (const auto& candidate : candidates) list += (list.empty() ? "'" : ", '") + candidate + "'";
  return list.empty() ? "" : "; valid are " + list;
}

}  // namespace slipway
