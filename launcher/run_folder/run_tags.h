/// The tags and the description of a run: `tags.json` in its folder. A copy of the folder keeps them, and the manager
/// does not rewrite them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

inline constexpr auto kTagsSchema = "slipway.tags/1";

struct RunTags {
  std::vector<std::string> tags;  ///< in the order in which they were given, none twice
  std::string description;

  bool Has(std::string_view tag) const;
};

template <class Visitor, MaybeConst<RunTags> Struct>
void Visit(Visitor& visit, Struct& tags) {
  visit("tags", tags.tags);
  visit("description", tags.description);
}

/// Empty for a run without. Errors: Error(kEnvironment) when the file is damaged.
RunTags ReadRunTags(const RunFolder& folder);
/// The same, also empty when the file is damaged: for views, which show what is there.
RunTags RunTagsOrNone(const RunFolder& folder);

/// Atomic and durable. Errors: SystemError.
void WriteRunTags(const RunFolder& folder, const RunTags& tags);

/// Changes them while no other process does. `change` gets the present ones. Returns the new ones.
/// Errors: as ReadRunTags and WriteRunTags; what `change` throws, and then nothing has changed.
RunTags ChangeRunTags(const RunFolder& folder, const std::function<void(RunTags&)>& change);

}  // namespace slipway::launcher
