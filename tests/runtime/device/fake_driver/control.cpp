#include <cstring>

#include "tests/runtime/device/fake_driver/driver.h"

namespace slipway::fake_gpu {
namespace {

/// Runs `body(driver, lock)`.
template <class Body>
auto Control(const char* entry, Body body) {
  auto& driver = Driver::The();
  Lock lock(driver.mutex);
  EntryHere() = entry;
  return body(driver, lock);
}

std::size_t Give(const std::string& all, char* text, std::size_t size) {
  if (size > 0) text[all.copy(text, size - 1)] = 0;
  return all.size();
}

}  // namespace
}  // namespace slipway::fake_gpu

using slipway::fake_gpu::Access;
using slipway::fake_gpu::Allocation;
using slipway::fake_gpu::Control;
using slipway::fake_gpu::Driver;
using slipway::fake_gpu::Give;
using slipway::fake_gpu::Lock;
using slipway::fake_gpu::Range;

#pragma GCC visibility push(default)

void fake_gpu_reset() {
  Control("fake_gpu_reset", [](Driver& driver, Lock& lock) { driver.Reset(lock); });
}

void fake_gpu_set_order(fake_gpu_order order, std::uint64_t seed) {
  Control("fake_gpu_set_order", [&](Driver& driver, Lock& lock) { driver.executor.SetOrder(lock, order, seed); });
}

void fake_gpu_use_bandwidth(double gigabytes_per_s) {
  Control("fake_gpu_use_bandwidth",
          [&](Driver& driver, Lock& lock) { driver.executor.UseThreads(lock, gigabytes_per_s * 1e9); });
}

void fake_gpu_set_patience(unsigned milliseconds) {
  Control("fake_gpu_set_patience",
          [&](Driver& driver, Lock&) { driver.executor.SetPatience(std::chrono::milliseconds(milliseconds)); });
}

int fake_gpu_step() {
  return Control("fake_gpu_step", [](Driver& driver, Lock& lock) { return driver.executor.Step(lock) ? 1 : 0; });
}

std::size_t fake_gpu_pending() {
  return Control("fake_gpu_pending", [](Driver& driver, Lock&) { return driver.executor.pending().size(); });
}

void fake_gpu_set_devices(int count, std::size_t bytes_each) {
  Control("fake_gpu_set_devices", [&](Driver& driver, Lock&) { driver.memory.SetDevices(count, bytes_each); });
}

void fake_gpu_set_version(int version) {
  Control("fake_gpu_set_version", [&](Driver& driver, Lock&) { driver.version = version; });
}

void fake_gpu_share_devices() {
  Control("fake_gpu_share_devices", [](Driver& driver, Lock&) { driver.pci_domain = 0; });
}

void fake_gpu_set_capturing(void* stream, int status) {
  Control("fake_gpu_set_capturing", [&](Driver& driver, Lock&) {
    if (const auto known = driver.streams.Find(stream)) known->capturing = status;
  });
}

void fake_gpu_capture_elsewhere(int on) {
  Control("fake_gpu_capture_elsewhere", [&](Driver& driver, Lock&) { driver.captured_elsewhere = on != 0; });
}

void fake_gpu_allocate_in_pools(int on) {
  Control("fake_gpu_allocate_in_pools", [&](Driver& driver, Lock&) { driver.allocates_in_pools = on != 0; });
}

void fake_gpu_spoil_peers(int on) {
  Control("fake_gpu_spoil_peers", [&](Driver& driver, Lock&) { driver.peers_are_spoiled = on != 0; });
}

void fake_gpu_delay_closes(unsigned milliseconds) {
  Control("fake_gpu_delay_closes",
          [&](Driver& driver, Lock&) { driver.delay_of_closes = std::chrono::milliseconds(milliseconds); });
}

void fake_gpu_fail_call(const char* entry, std::uint64_t nth, int code) {
  Control("fake_gpu_fail_call", [&](Driver& driver, Lock&) { driver.ledger.FailCall(entry, nth, code); });
}

void fake_gpu_fail_operation(std::uint64_t nth, int code) {
  Control("fake_gpu_fail_operation", [&](Driver& driver, Lock&) { driver.ledger.FailOperation(nth, code); });
}

void fake_gpu_lose_device(int code) {
  Control("fake_gpu_lose_device", [&](Driver& driver, Lock&) { driver.executor.Lose(code); });
}

std::uint64_t fake_gpu_calls(const char* entry) {
  return Control("fake_gpu_calls", [&](Driver& driver, Lock&) { return driver.ledger.calls(entry); });
}

std::uint64_t fake_gpu_count(fake_gpu_counter counter) {
  return Control("fake_gpu_count", [&](Driver& driver, Lock&) { return driver.ledger.count(counter); });
}

std::uint64_t fake_gpu_violation_count(fake_gpu_violation kind) {
  return Control("fake_gpu_violation_count", [&](Driver& driver, Lock&) { return driver.ledger.violations(kind); });
}

std::size_t fake_gpu_violations(char* text, std::size_t size) {
  return Control("fake_gpu_violations", [&](Driver& driver, Lock&) { return Give(driver.ledger.text(), text, size); });
}

std::size_t fake_gpu_trace(char* text, std::size_t size) {
  return Control("fake_gpu_trace", [&](Driver& driver, Lock&) { return Give(driver.ledger.trace(), text, size); });
}

void fake_gpu_register_kernel(const char* name, fake_gpu_kernel kernel, const std::size_t* parameter_bytes,
                              std::size_t parameters) {
  Control("fake_gpu_register_kernel", [&](Driver& driver, Lock&) {
    driver.kernels[name] = {name, kernel, {parameter_bytes, parameter_bytes + parameters}};
  });
}

void* fake_gpu_shadow(unsigned long long pointer, std::size_t bytes, fake_gpu_access access) {
  return Control("fake_gpu_shadow", [&](Driver& driver, Lock&) -> void* {
    const auto range = Range::Of(pointer, bytes);
    try {
      void* shadow = driver.memory.Shadow(range);
      const auto& running = slipway::fake_gpu::RunningHere();
      if (running) driver.executor.log().Add(running, Access{range, access, false});
      const bool elsewhere = driver.memory.Find(range.begin)->origin() == Allocation::Origin::kImported;
      return running && elsewhere && driver.peers_are_spoiled ? driver.OtherBytes(bytes) : shadow;
    } catch (const slipway::fake_gpu::Refusal&) {
      return nullptr;
    }
  });
}

void fake_gpu_host_access(const void* pointer, std::size_t bytes, fake_gpu_access access) {
  Control("fake_gpu_host_access", [&](Driver& driver, Lock&) {
    const auto range = Range::Of(reinterpret_cast<slipway::fake_gpu::Address>(pointer), bytes);
    const auto other = driver.executor.log().InTheWayOfHost({range, access, true}, driver.executor.known());
    if (other) driver.ledger.Report(FAKE_GPU_HOST_RACE, "the host has not waited for " + other->name);
  });
}

#pragma GCC visibility pop
