#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tests/runtime/device/fake_driver/driver_types.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"

namespace slipway::fake_gpu {

/// Ends a call with a code. A finding goes to the ledger before.
struct Refusal {
  Code code;
};

/// The name of the entry that this thread is in.
const char*& EntryHere();

/// What was counted and found, and what is planned to fail. The driver's lock guards it.
class Ledger {
 public:
  void Count(fake_gpu_counter counter, std::uint64_t by = 1) { counters_[counter] += by; }
  std::uint64_t count(fake_gpu_counter counter) const { return counters_[counter]; }

  void Report(fake_gpu_violation kind, std::string_view text);
  std::uint64_t violations(fake_gpu_violation kind) const { return violations_[kind]; }
  const std::string& text() const { return text_; }

  /// Notes an operation that has run. The oldest notes go when they are many.
  void Trace(std::string_view operation);
  const std::string& trace() const { return trace_; }

  /// Counts a call of an entry. Returns the code that is planned for it, or kSuccess.
  Code Enter(std::string_view entry);
  std::uint64_t calls(std::string_view entry) const;
  void FailCall(std::string_view entry, std::uint64_t nth, Code code);

  void FailOperation(std::uint64_t nth, Code code);
  /// The code that is planned for the operation that is to run now, or kSuccess.
  Code StartOperation();

 private:
  struct Plan {
    std::uint64_t calls_left = 0;
    Code code = kSuccess;
    Code Next();
  };

  std::array<std::uint64_t, FAKE_GPU_COUNTERS> counters_{};
  std::array<std::uint64_t, FAKE_GPU_VIOLATIONS> violations_{};
  std::string text_;
  std::string trace_;
  std::map<std::string, std::uint64_t, std::less<>> calls_;
  std::map<std::string, Plan, std::less<>> planned_;
  Plan operation_;
};

}  // namespace slipway::fake_gpu
