/// `${steps.search.top[0].params.lr}`: values of earlier steps in the values of a workflow.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace slipway::launcher {

struct KeptReferences;

/// What a reference begins with.
enum class ReferenceTo {
  kStep,    ///< `steps.NAME`: the result of a step
  kItem,    ///< `item`: the value of foreach
  kIndex,   ///< `index`: its number, from 0
  kOutput,  ///< `outputs.NAME`: where the step itself writes
  kInput    ///< `inputs.NAME`: what the step itself reads
};

/// One step of the path: a member, an element, or a range of elements with both ends.
struct PathPart {
  std::string member = {};  ///< empty: an element
  int first = 0;
  std::optional<int> last = {};  ///< of a range

  bool is_member() const { return !member.empty(); }
  bool is_range() const { return last.has_value(); }
  bool operator==(const PathPart&) const = default;
};

struct Reference {
  ReferenceTo to = ReferenceTo::kStep;
  std::string name = {};            ///< of the step, output or input
  std::vector<PathPart> path = {};  ///< what follows

  bool operator==(const Reference&) const = default;
};

/// "${steps.search.top[0]}".
std::string WrittenForm(const Reference& reference);

/// A reference that cannot be read.
struct BadReference {
  std::string written;  ///< "${steps.}"
  std::string reason;
};

/// A literal text, or a reference.
using Piece = std::variant<std::string, Reference>;

/// Splits a text at its references; `$${` becomes `${`. Parts that cannot be read stay in the text; `bad` gets them.
std::vector<Piece> SplitAtReferences(std::string_view text, std::vector<BadReference>& bad);
/// The same for a text that was checked before.
std::vector<Piece> SplitAtReferences(std::string_view text);

/// How the references of a workflow differ from those to the environment.
extern const KeptReferences kWorkflowReferences;

/// The text is one reference and nothing else.
std::optional<Reference> AsReference(std::string_view text);

}  // namespace slipway::launcher
