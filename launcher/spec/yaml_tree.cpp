#include "launcher/spec/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>

#include "launcher/spec/quote_hint.h"
#include "launcher/spec/utf8.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostValues = 20'000;
constexpr std::size_t kLongestLine = std::size_t{64} << 10;

/// Ends the parsing after a remark was reported.
struct ParsingEnded {};

struct Extent {
  std::size_t values = 1;
  std::size_t depth = 1;

  void Hold(const Extent& inner) {
    values += inner.values;
    depth = std::max(depth, inner.depth + 1);
  }
};

Extent ExtentOf(const YamlNode& node) {
  Extent result;
  for (const YamlNode& item : node.items) result.Hold(ExtentOf(item));
  for (const YamlEntry& entry : node.entries) result.Hold(ExtentOf(entry.value));
  return result;
}

/// Whether the scalar at the start of `text`, behind its anchor and tag, is a quote without an end.
bool IsOpenQuote(std::string_view text) {
  while (text.starts_with('&') || text.starts_with('!')) {
    text.remove_prefix(std::min(text.find_first_of(" \t\r\n"), text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  if (!text.starts_with('"') && !text.starts_with('\'')) return false;
  const char quote = text[0];
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool escapes = quote == '"' ? text[i] == '\\' : text.substr(i).starts_with("''");
    if (escapes) {
      ++i;
    } else if (text[i] == quote) {
      return false;
    }
  }
  return true;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const SourceText& text, int source, std::size_t first_column, Report& report)
      : text_(text), source_(source), first_column_(first_column), report_(report) {}

  YamlNode TakeRoot() { return std::move(root_); }

  /// Behind a line end the parser takes the end of the text for the end of a quote.
  void RefuseOpenQuote(std::string_view text) {
    if (IsOpenQuote(text.substr(std::min(last_scalar_.offset, text.size())))) {
      Refuse(last_scalar_.place, "not valid YAML: this quote is never closed");
    }
  }

  /// Where the parser gave up: it tells what it wanted there, not where the bracket stands that is open.
  std::string HintForOpenBracket() const {
    if (!IsInBrackets()) return {};
    const auto& node = stack_.back().node;
    return fmt::format("; the '{}' in line {}, column {} is not closed", node.kind == YamlNode::Kind::kMap ? '{' : '[',
                       node.place.line, node.place.column + 1);
  }

  std::string HintForUnquoted(const Place& place) const {
    return QuoteHint(text_, place, IsInBrackets() ? TextIn::kBrackets : TextIn::kLine);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    const auto hint = HintForUnquoted(PlaceOf(mark));
    Refuse(PlaceOf(mark), hint.empty() ? "a spec is one YAML document; remove the second '---'" : hint);
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.place = PlaceOf(mark);
    Complete(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Place place = PlaceOf(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Refuse(place, "this alias refers to a value that contains it");
    const Extent extent = ExtentOf(found->second);
    if (extent.depth + stack_.size() > kDeepest) RefuseDepth(place);
    Spend(extent.values, place);
    Attach(YamlNode(found->second));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.place = PlaceOf(mark);
    node.quoted = CheckTag(tag, node.place);
    node.place.length = static_cast<int>(value.size()) + (tag == "!" ? 2 : 0);
    node.text = value;
    if (value.find('\0') != std::string::npos) {
      Refuse(node.place, "the value holds a NUL byte, which no program can get");
    }
    last_scalar_ = {node.place, static_cast<std::size_t>(mark.pos)};
    Complete(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(YamlNode::Kind::kList, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor, style);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool in_brackets = false;
    bool has_key = false;
    std::string key;
    Place key_place;
    std::unordered_map<std::string, int> lines;  ///< key -> the line where it was first given
  };

  bool IsInBrackets() const { return !stack_.empty() && stack_.back().in_brackets; }

  Place PlaceOf(const YAML::Mark& mark) const {
    const int offset = mark.line == 0 ? static_cast<int>(first_column_) : 0;
    return {source_, mark.line + 1, mark.column + offset, 1};
  }

  [[noreturn]] void Refuse(const Place& place, std::string message) {
    report_.Error(place, std::move(message));
    throw ParsingEnded{};
  }
  [[noreturn]] void RefuseDepth(const Place& place) {
    Refuse(place, fmt::format("nested deeper than {} levels", kDeepest));
  }

  void Spend(std::size_t values, const Place& place) {
    values_ += values;
    if (values_ > kMostValues) Refuse(place, fmt::format("more than {} values, aliases counted in full", kMostValues));
  }

  /// True when the scalar is text whatever it looks like.
  bool CheckTag(const std::string& tag, const Place& place) {
    static constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "?") return false;
    if (tag == "!" || tag == std::string(kCore) + "str") return true;
    if (!tag.starts_with(kCore)) report_.Error(place, "tags such as " + Quoted(tag) + " are not supported");
    return false;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    const Place place = PlaceOf(mark);
    CheckTag(tag == "!" ? "" : tag, place);
    if (stack_.size() >= kDeepest) RefuseDepth(place);
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = place;
    frame.anchor = anchor;
    frame.in_brackets = style == YAML::EmitterStyle::Flow;
    stack_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    Complete(std::move(frame.node), frame.anchor);
  }

  void Complete(YamlNode node, YAML::anchor_t anchor) {
    Spend(1, node.place);
    if (anchor != 0) {
      Spend(ExtentOf(node).values, node.place);
      anchors_[anchor] = node;
    }
    Attach(std::move(node));
  }

  void Attach(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (stack_.back().node.kind == YamlNode::Kind::kList) {
      stack_.back().node.items.push_back(std::move(node));
    } else if (stack_.back().has_key) {
      AttachValue(stack_.back(), std::move(node));
    } else {
      TakeKey(stack_.back(), std::move(node));
    }
  }

  void TakeKey(Frame& frame, YamlNode node) {
    if (node.kind != YamlNode::Kind::kScalar) Refuse(node.place, "a key must be a name");
    if (node.text == "<<" && !node.quoted)
      Refuse(node.place, "merge keys ('<<') are not supported; write the fields out");
    frame.has_key = true;
    frame.key = std::move(node.text);
    frame.key_place = node.place;
  }

  void AttachValue(Frame& frame, YamlNode node) {
    frame.has_key = false;
    // An empty value has no place of its own: what the parser calls its place lies behind it.
    if (node.kind == YamlNode::Kind::kNull) node.place = frame.key_place;
    const auto [first, is_new] = frame.lines.emplace(frame.key, frame.key_place.line);
    if (!is_new) {
      report_.Error(frame.key_place,
                    fmt::format("{} is given twice; the first is in line {}", Quoted(frame.key), first->second));
      return;
    }
    frame.node.entries.push_back({std::move(frame.key), frame.key_place, std::move(node)});
  }

  struct ScalarStart {
    Place place;
    std::size_t offset = 0;
  };

  const SourceText& text_;
  int source_;
  std::size_t first_column_;
  ScalarStart last_scalar_;
  Report& report_;
  YamlNode root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

/// The place of byte `offset` of a source.
Place PlaceOfByte(std::string_view text, std::size_t offset, int source) {
  const std::string_view before = text.substr(0, offset);
  const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t line_end = before.rfind('\n');
  const std::size_t line_start = line_end == std::string_view::npos ? 0 : line_end + 1;
  return {source, line, static_cast<int>(offset - line_start)};
}

/// Where a line begins that is too long.
std::optional<std::size_t> FindLongLine(std::string_view text) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end - start > kLongestLine) return start;
    start = end + 1;
  }
  return std::nullopt;
}

/// A tab is the commonest reason why the parser cannot make sense of a line, and it never says so.
std::string HintFor(std::string_view line) {
  const std::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
  return indent.find('\t') == std::string_view::npos ? "" : "; YAML is indented with spaces, this line has a tab";
}

/// Reports what no YAML reader should even look at.
bool IsCleanText(std::string_view text, int source, Report& report) {
  if (text.size() > kLargestSpec) {
    report.Error({source}, fmt::format("larger than {} MiB: this is not a spec", kLargestSpec >> 20));
    return false;
  }
  if (const std::optional<TextFault> fault = FindTextFault(text)) {
    report.Error(PlaceOfByte(text, fault->offset, source), "not text: " + fault->reason);
    return false;
  }
  if (const std::optional<std::size_t> start = FindLongLine(text)) {
    report.Error(PlaceOfByte(text, *start, source), fmt::format("a line of more than {} KiB", kLongestLine >> 10));
    return false;
  }
  return true;
}

}  // namespace

const YamlEntry* YamlNode::Find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const YamlEntry& e) { return e.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

YamlEntry* YamlNode::Find(std::string_view key) {
  return const_cast<YamlEntry*>(static_cast<const YamlNode*>(this)->Find(key));
}

std::optional<YamlNode> ParseYaml(const Sources& sources, int source, Report& report, TextStart start) {
  if (!IsCleanText(sources[source].text, source, report)) return std::nullopt;
  const std::string text = sources[source].text.substr(start.offset);
  TreeBuilder builder(sources[source], source, start.offset, report);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    builder.RefuseOpenQuote(text);
  } catch (const ParsingEnded&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    const int offset = error.mark.line == 0 ? static_cast<int>(start.offset) : 0;
    const Place place{source, error.mark.line + 1, error.mark.column + offset};
    const auto hint = builder.HintForUnquoted(place);
    report.Error(place, !hint.empty() ? hint
                                      : "not valid YAML: " + error.msg + builder.HintForOpenBracket() +
                                            HintFor(sources[source].Line(place.line)));
    return std::nullopt;
  }
  return builder.TakeRoot();
}

}  // namespace slipway::launcher
