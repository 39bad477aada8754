#include "launcher/cli/commands/make_run.h"

#include "core/error.h"
#include "core/files.h"
#include "launcher/cli/commands/find_run.h"

namespace slipway::launcher {

RunFolder MakeRun(std::optional<HeldInterrupts>& held, const Session& session, const std::function<RunFolder()>& make) {
  held.emplace();
  auto folder = make();
  if (!held->IsPending()) return NamedForCommands(std::move(folder), session);
  RemoveTree(folder.path());
  held.reset();  // ends this process, unless another of its threads has taken the signal
  throw Error(ErrorKind::kInterrupted, "interrupted before the run began");
}

}  // namespace slipway::launcher
