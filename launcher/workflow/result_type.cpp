#include "launcher/workflow/result_type.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/nearest_word.h"

namespace slipway::launcher {
namespace {

std::vector<std::string> OutputsOf(const Step& step) {
  if (step.kind() == StepKind::kReport) return {"page"};
  std::vector<std::string> names;
  for (const auto& [name, path] : step.outputs) names.push_back(name);
  return names;
}

/// The members of the result of a step of each kind.
std::vector<std::string> MembersOf(StepKind kind) {
  switch (kind) {
    case StepKind::kCommand: return {"outputs", "metrics", "folder"};
    case StepKind::kData: return {"outputs", "folder"};
    case StepKind::kExperiment: return {"run", "checkpoint", "metrics", "folder"};
    case StepKind::kEnsemble: return {"run", "best", "top", "folder"};
    case StepKind::kReport: break;
  }
  return {"outputs", "folder"};
}

const std::vector<std::string>& MembersOfTrial() {
  static const std::vector<std::string> kMembers = {"trial", "value", "params", "checkpoint"};
  return kMembers;
}

constexpr std::string_view kNeedsElement = "needs an element, as in top[0] or top[0..2]";

class Walker {
 public:
  Walker(const Step& step, bool many) : step_(step) { type_.is_list = many; }

  std::variant<ResultType, NoSuchResult> Walk(const std::vector<PathPart>& path) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto& part = path[i];
      const bool taken = part.is_member() ? TakeMember(part.member) : TakeElement(part);
      if (!taken) return wrong_;
    }
    if (group_ == Group::kNone) return type_;
    return NoSuchResult{std::string(WhatIsMissing())};
  }

 private:
  /// A member that only groups others.
  enum class Group { kNone, kOutputs, kMetrics, kTop };

  bool TakeMember(const std::string& member) {
    switch (group_) {
      case Group::kOutputs: return Known(member, OutputsOf(step_), "output", ResultKind::kPath);
      case Group::kMetrics: return Become(ResultKind::kNumber);
      case Group::kTop: return Refuse(std::string(kNeedsElement));
      case Group::kNone: break;
    }
    switch (type_.kind) {
      case ResultKind::kResult: return TakeMemberOfResult(member);
      case ResultKind::kTrial: return TakeMemberOfTrial(member);
      case ResultKind::kParameters: return TakeParameter(member);
      default: return Refuse(fmt::format("has nothing in it: it is {}", Describe(type_)));
    }
  }

  bool TakeMemberOfResult(const std::string& member) {
    const auto members = MembersOf(step_.kind());
    if (std::ranges::find(members, member) == members.end()) {
      return Refuse(fmt::format("has no '{}'{}", member, SuggestWord(member, members)));
    }
    if (member == "outputs") return Enter(Group::kOutputs);
    if (member == "metrics") return Enter(Group::kMetrics);
    if (member == "top") return Enter(Group::kTop);
    return Become(member == "best" ? ResultKind::kTrial : ResultKind::kPath);
  }

  bool TakeMemberOfTrial(const std::string& member) {
    if (!Known(member, MembersOfTrial(), "member of a trial", ResultKind::kNumber)) return false;
    if (member == "params") type_.kind = ResultKind::kParameters;
    if (member == "checkpoint") type_.kind = ResultKind::kPath;
    return true;
  }

  bool TakeParameter(const std::string& member) {
    const auto* ensemble = std::get_if<EnsembleStep>(&step_.work);
    if (ensemble == nullptr || ensemble->parameters.empty()) return Become(ResultKind::kScalar);
    return Known(member, ensemble->parameters, "parameter", ResultKind::kScalar);
  }

  bool TakeElement(const PathPart& part) {
    if (group_ != Group::kTop) return Refuse("has no elements there");
    if (part.is_range() && type_.is_list) return Refuse("gives lists in a list: choose one step");
    type_.is_list = type_.is_list || part.is_range();
    return Become(ResultKind::kTrial);
  }

  bool Known(const std::string& word, const std::vector<std::string>& words, std::string_view what, ResultKind kind) {
    if (std::ranges::find(words, word) != words.end()) return Become(kind);
    return Refuse(fmt::format("has no {} '{}'{}", what, word, words.empty() ? "" : SuggestWord(word, words)));
  }

  bool Enter(Group group) {
    group_ = group;
    return true;
  }
  bool Become(ResultKind kind) {
    type_.kind = kind;
    group_ = Group::kNone;
    return true;
  }
  bool Refuse(std::string reason) {
    wrong_ = {std::move(reason)};
    return false;
  }

  std::string_view WhatIsMissing() const {
    switch (group_) {
      case Group::kOutputs: return "has outputs by name: add one, as in outputs.NAME";
      case Group::kMetrics: return "has metrics by name: add one, as in metrics.NAME";
      default: return kNeedsElement;
    }
  }

  const Step& step_;
  ResultType type_;
  Group group_ = Group::kNone;
  NoSuchResult wrong_;
};

std::string_view Noun(ResultKind kind) {
  switch (kind) {
    case ResultKind::kResult: return "the result of a step";
    case ResultKind::kTrial: return "a trial";
    case ResultKind::kParameters: return "a map of parameters";
    case ResultKind::kPath: return "a path";
    case ResultKind::kNumber: return "a number";
    case ResultKind::kScalar: break;
  }
  return "a value";
}

}  // namespace

std::variant<ResultType, NoSuchResult> TypeOfResult(const Step& step, const std::vector<PathPart>& path, bool many) {
  return Walker(step, many).Walk(path);
}

std::string Describe(const ResultType& type) {
  return type.is_list ? fmt::format("a list, each {}", Noun(type.kind)) : std::string(Noun(type.kind));
}

}  // namespace slipway::launcher
