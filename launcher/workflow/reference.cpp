#include "launcher/workflow/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "core/lines.h"
#include "core/nearest_word.h"
#include "launcher/spec/environment_references.h"

namespace slipway::launcher {
namespace {

constexpr int kLargestIndex = 99'999;

struct Beginning {
  std::string_view word;
  ReferenceTo to;
  bool has_name;
  std::string_view form;  ///< for messages
};
constexpr Beginning kBeginnings[] = {{"item", ReferenceTo::kItem, false, "${item}"},
                                     {"index", ReferenceTo::kIndex, false, "${index}"},
                                     {"inputs", ReferenceTo::kInput, true, "${inputs.NAME}"},
                                     {"outputs", ReferenceTo::kOutput, true, "${outputs.NAME}"},
                                     {"steps", ReferenceTo::kStep, true, "${steps.NAME.outputs.NAME}"}};

std::string_view FirstWord(std::string_view text) { return text.substr(0, text.find_first_of(".[")); }

const Beginning* BeginningOf(std::string_view text) {
  for (const auto& beginning : kBeginnings) {
    const auto word = FirstWord(text);
    if (word == beginning.word && (!beginning.has_name || word.size() < text.size())) return &beginning;
  }
  return nullptr;
}

/// Takes ".NAME" off `rest`; empty when there is none.
std::string TakeMember(std::string_view& rest) {
  if (!rest.starts_with('.')) return {};
  rest.remove_prefix(1);
  const std::string member(FirstWord(rest));
  rest.remove_prefix(member.size());
  return member;
}

std::optional<int> Index(std::string_view text) {
  int value = 0;
  const bool is_one = ParseNumber(text, value) && value >= 0 && value <= kLargestIndex;
  return is_one ? std::optional(value) : std::nullopt;
}

/// Takes "[3]" or "[0..2]" off `rest`.
std::optional<PathPart> TakeElement(std::string_view& rest) {
  const auto end = rest.find(']');
  if (!rest.starts_with('[') || end == std::string_view::npos) return {};
  const auto inside = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  const auto dots = inside.find("..");
  const auto first = Index(inside.substr(0, dots));
  if (!first) return {};
  if (dots == std::string_view::npos) return PathPart{.first = *first};
  const auto last = Index(inside.substr(dots + 2));
  if (!last || *last < *first) return {};
  return PathPart{.first = *first, .last = last};
}

std::optional<PathPart> TakePart(std::string_view& rest) {
  if (rest.starts_with('[')) return TakeElement(rest);
  auto member = TakeMember(rest);
  return member.empty() ? std::nullopt : std::optional(PathPart{.member = std::move(member)});
}

/// Nothing when it cannot be read.
std::optional<Reference> Parse(std::string_view text) {
  const auto* beginning = BeginningOf(text);
  if (beginning == nullptr) return {};
  Reference result;
  result.to = beginning->to;
  auto rest = text.substr(beginning->word.size());
  if (beginning->has_name) {
    result.name = TakeMember(rest);
    if (result.name.empty()) return {};
  }
  while (!rest.empty()) {
    auto part = TakePart(rest);
    if (!part) return {};
    result.path.push_back(std::move(*part));
  }
  return result;
}

const Beginning* NearestBeginning(std::string_view word) {
  std::vector<std::string> words;
  for (const auto& beginning : kBeginnings) words.emplace_back(beginning.word);
  const auto nearest = NearestWord(word, words);
  const auto found = std::ranges::find(kBeginnings, nearest, &Beginning::word);
  return found == std::ranges::end(kBeginnings) ? nullptr : found;
}

std::string FormsText() {
  std::vector<std::string_view> forms;
  for (const auto& beginning : kBeginnings) forms.push_back(beginning.form);
  return fmt::format("{} and {}", fmt::join(forms.begin(), forms.end() - 1, ", "), forms.back());
}

/// "${outputs.o}" for "output.o"; empty when nothing is near.
std::string NearestReference(std::string_view text) {
  const auto word = FirstWord(text);
  const auto* nearest = NearestBeginning(word);
  if (nearest == nullptr) return {};
  const auto rest = text.substr(word.size());
  if (rest.empty()) return std::string(nearest->form);
  const auto corrected = fmt::format("{}{}", nearest->word, rest);
  return Parse(corrected) ? fmt::format("${{{}}}", corrected) : std::string();
}

/// Names of variables have capitals by custom: ${TERM} is not meant as ${item}.
bool HasCapital(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char letter) { return std::isupper(letter) != 0; });
}

/// As KeptReferences has it.
std::string WhyNoReference(std::string_view reference) {
  const auto text = reference.substr(0, reference.find(":-"));
  const auto none = fmt::format("'${{{}}}' is no reference of a workflow", reference);
  if (FirstWord(text) == "foreach") {
    return none + ": in a step with foreach, its value is ${item} and its number ${index}";
  }
  const bool has_path = FirstWord(text).size() < text.size();
  if (!has_path && HasCapital(text)) return {};
  if (const auto nearest = NearestReference(text); !nearest.empty()) {
    const auto* also = has_path ? "" : ", and no environment variable that is set";
    return fmt::format("{}{}; did you mean {}?", none, also, nearest);
  }
  if (!has_path) return {};
  return fmt::format("{}: those are {}; write $${{ for a literal ${{", none, FormsText());
}

std::string TextOf(const PathPart& part) {
  if (part.is_member()) return "." + part.member;
  return part.is_range() ? fmt::format("[{}..{}]", part.first, *part.last) : fmt::format("[{}]", part.first);
}

class Splitter {
 public:
  Splitter(std::string_view text, std::vector<BadReference>& bad) : rest_(text), bad_(bad) {}

  std::vector<Piece> Split() {
    while (true) {
      const auto dollar = rest_.find("${");
      literal_ += rest_.substr(0, dollar);
      if (dollar == std::string_view::npos) break;
      rest_.remove_prefix(dollar + 2);
      TakeOne();
    }
    Flush();
    return std::move(pieces_);
  }

 private:
  void TakeOne() {
    if (literal_.ends_with('$')) {
      literal_ += '{';
      return;
    }
    const auto end = rest_.find('}');
    const auto inside = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    auto reference = Parse(inside);
    if (end == std::string_view::npos || !reference) return Refuse(inside);
    Flush();
    pieces_.emplace_back(std::move(*reference));
  }

  void Refuse(std::string_view inside) {
    const auto written = fmt::format("${{{}}}", inside);
    bad_.push_back({written, "is not a reference such as ${steps.NAME.outputs.NAME} or ${steps.NAME.top[0..2]}"});
    literal_ += written;
  }

  void Flush() {
    if (!literal_.empty()) pieces_.emplace_back(std::move(literal_));
    literal_.clear();
  }

  std::string_view rest_;
  std::vector<BadReference>& bad_;
  std::string literal_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::string WrittenForm(const Reference& reference) {
  std::string text;
  for (const auto& beginning : kBeginnings) {
    if (beginning.to == reference.to) text = beginning.word;
  }
  if (!reference.name.empty()) text += "." + reference.name;
  for (const auto& part : reference.path) text += TextOf(part);
  return fmt::format("${{{}}}", text);
}

std::vector<Piece> SplitAtReferences(std::string_view text, std::vector<BadReference>& bad) {
  return Splitter(text, bad).Split();
}

std::vector<Piece> SplitAtReferences(std::string_view text) {
  std::vector<BadReference> unused;
  return SplitAtReferences(text, unused);
}

const KeptReferences kWorkflowReferences = {
    .keep = [](std::string_view reference) { return BeginningOf(reference) != nullptr; }, .why_not = WhyNoReference};

std::optional<Reference> AsReference(std::string_view text) {
  if (!text.starts_with("${") || !text.ends_with('}')) return {};
  auto pieces = SplitAtReferences(text);
  const auto* only = pieces.size() == 1 ? std::get_if<Reference>(&pieces[0]) : nullptr;
  return only == nullptr ? std::nullopt : std::optional(*only);
}

}  // namespace slipway::launcher
