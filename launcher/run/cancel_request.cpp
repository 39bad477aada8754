#include "launcher/run/cancel_request.h"

namespace slipway::launcher {
namespace {

std::filesystem::path PlaceOf(const RunFolder& folder) { return folder.path() / "cancel_requested"; }

}  // namespace

void RequestCancel(const RunFolder& folder) { WriteFile(PlaceOf(folder), ""); }

bool IsCancelRequested(const RunFolder& folder) { return std::filesystem::exists(PlaceOf(folder)); }

void WithdrawCancelRequest(const RunFolder& folder) { std::filesystem::remove(PlaceOf(folder)); }

}  // namespace slipway::launcher
