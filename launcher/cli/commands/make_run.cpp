#include "launcher/cli/commands/make_run.h"

#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {

RunFolder MakeRun(std::optional<HeldInterrupts>& held, const Session& session, const std::function<RunFolder()>& make) {
  held.emplace();
  auto folder = make();
  if (!held->IsPending()) return session.runs().Name(std::move(folder));
  RemoveTree(folder.path());
  held.reset();  // ends this process, unless another of its threads has taken the signal
  throw Error(ErrorKind::kInterrupted, "interrupted before the run began");
}

}  // namespace slipway::launcher
