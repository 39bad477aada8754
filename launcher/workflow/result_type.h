/// What a reference to the result of a step gives, known before the step has run.
///
/// The result of a step is a JSON document (run/workflow/result_store.h); a reference is a path into it:
///
///   every step   folder                        its published folder
///   command      outputs.NAME, metrics.NAME
///   data         outputs.NAME
///   experiment   run, checkpoint, metrics.NAME
///   ensemble     run, best, top[I], top[A..B]; of a trial: trial, value, params, params.NAME, checkpoint
///   report       outputs.page
#pragma once

#include <string>
#include <variant>

#include "launcher/workflow/reference.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

enum class ResultKind { kResult, kTrial, kParameters, kPath, kNumber, kScalar };

struct ResultType {
  ResultKind kind = ResultKind::kResult;
  bool is_list = false;
};

/// Why a reference gives nothing: "has no output 'tran'; did you mean 'train'?".
struct NoSuchResult {
  std::string reason;
};

/// `step` is one of the group that `reference` names; `many`: the group has a foreach and no element was chosen. The
/// path of `reference` begins behind the element.
std::variant<ResultType, NoSuchResult> TypeOfResult(const Step& step, const std::vector<PathPart>& path, bool many);

/// "a path", "a number", "a list, each a path".
std::string Describe(const ResultType& type);

}  // namespace slipway::launcher
