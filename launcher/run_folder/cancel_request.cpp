#include "launcher/run_folder/cancel_request.h"

namespace slipway::launcher {
namespace {

std::filesystem::path CancelFile(const RunFolder& folder) { return folder.path() / "cancel_requested"; }

}  // namespace

void RequestCancel(const RunFolder& folder) { WriteFile(CancelFile(folder), ""); }

bool IsCancelRequested(const RunFolder& folder) { return std::filesystem::exists(CancelFile(folder)); }

void WithdrawCancelRequest(const RunFolder& folder) { std::filesystem::remove(CancelFile(folder)); }

void CancelWhileSubmitted(const RunFolder& folder) {
  EndRun(folder, Phase::kCancelled, cause::Cancelled{CancelledWhile::kSubmitting});
}

}  // namespace slipway::launcher
