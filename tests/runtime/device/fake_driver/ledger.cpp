#include "tests/runtime/device/fake_driver/ledger.h"

namespace slipway::fake_gpu {
namespace {

constexpr std::array<std::string_view, FAKE_GPU_VIOLATIONS> kKinds = {
    "out of bounds",     "race",          "host race",    "freed in use",
    "no context",        "wrong context", "stale handle", "call in host function",
    "freed while mapped"};

constexpr std::size_t kMostTrace = 1 << 20;

}  // namespace

const char*& EntryHere() {
  thread_local const char* entry = "";
  return entry;
}

Code Ledger::Plan::Next() {
  if (calls_left == 0 || --calls_left > 0) return kSuccess;
  return code;
}

void Ledger::Report(fake_gpu_violation kind, std::string_view text) {
  ++violations_[kind];
  text_.append(kKinds[kind]).append(": ");
  if (*EntryHere() != 0) text_.append(EntryHere()).append(": ");
  text_.append(text).append("\n");
}

void Ledger::Trace(std::string_view operation) {
  trace_.append(operation).append("\n");
  if (trace_.size() > kMostTrace) trace_.erase(0, trace_.find('\n', kMostTrace / 2) + 1);
}

Code Ledger::Enter(std::string_view entry) {
  auto calls = calls_.find(entry);
  if (calls == calls_.end()) calls = calls_.emplace(entry, 0).first;
  ++calls->second;
  const auto plan = planned_.find(entry);
  return plan == planned_.end() ? Code{kSuccess} : plan->second.Next();
}

std::uint64_t Ledger::calls(std::string_view entry) const {
  const auto calls = calls_.find(entry);
  return calls == calls_.end() ? 0 : calls->second;
}

void Ledger::FailCall(std::string_view entry, std::uint64_t nth, Code code) {
  planned_[std::string(entry)] = Plan{nth, code};
}

void Ledger::FailOperation(std::uint64_t nth, Code code) { operation_ = Plan{nth, code}; }

Code Ledger::StartOperation() { return operation_.Next(); }

}  // namespace slipway::fake_gpu
