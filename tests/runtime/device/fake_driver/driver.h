#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/device/fake_driver/executor.h"
#include "tests/runtime/device/fake_driver/memory.h"
#include "tests/runtime/device/fake_driver/streams.h"

namespace slipway::fake_gpu {

struct Kernel {
  std::string name;
  fake_gpu_kernel function = nullptr;
  std::vector<std::size_t> parameter_bytes;
};
struct Module {
  Context& context;
};
struct Function {
  Context& context;
  void* module = nullptr;
  Kernel kernel;
};

/// Objects by handles that are never used again.
template <class T>
class Handles {
 public:
  explicit Handles(std::uintptr_t first) : next_(first) {}

  void* Add(std::shared_ptr<T> object) {
    objects_.emplace(next_, std::move(object));
    return reinterpret_cast<void*>(std::exchange(next_, next_ + 16));
  }
  std::shared_ptr<T> Find(void* handle) const {
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  void Remove(void* handle) { objects_.erase(reinterpret_cast<std::uintptr_t>(handle)); }
  template <class Matches>
  void RemoveIf(Matches matches) {
    std::erase_if(objects_, [&](const auto& entry) { return matches(*entry.second); });
  }

 private:
  std::map<std::uintptr_t, std::shared_ptr<T>> objects_;
  std::uintptr_t next_;
};

/// The state of the library.
class Driver {
 public:
  static Driver& The();

  void Reset(Lock& lock);
  void ReadEnvironment(Lock& lock);

  std::mutex mutex;
  Ledger ledger;
  Memory memory{ledger};
  Executor executor{mutex, ledger};
  int version = 0;
  unsigned pci_domain = 0;
  bool initialized = false;
  bool captured_elsewhere = false;
  bool allocates_in_pools = false;
  bool peers_are_spoiled = false;
  std::chrono::milliseconds delay_of_closes{0};
  std::map<Device, std::shared_ptr<Context>> primary;
  std::map<std::string, Kernel, std::less<>> kernels;

  Handles<Context> contexts{0xC0000010};
  Handles<Stream> streams{0x5000000010};
  Handles<Event> events{0xE000000010};
  Handles<Module> modules{0xD000000010};
  Handles<Function> functions{0xF000000010};

  std::shared_ptr<Context> PrimaryOf(Device device);
  void DestroyContext(Lock& lock, Context& context);

  /// Errors: a violation and Refusal kInvalidHandle.
  template <class T>
  std::shared_ptr<T> Known(const Handles<T>& handles, void* handle, const char* what) {
    auto found = handles.Find(handle);
    if (!found) Refuse(FAKE_GPU_STALE_HANDLE, kInvalidHandle, std::string(what) + " does not exist");
    return found;
  }
  /// Also refuses one of another context than the current one.
  template <class T>
  std::shared_ptr<T> Own(const Handles<T>& handles, void* handle, const char* what, const Context& current) {
    auto found = Known(handles, handle, what);
    if (&found->context != &current)
      Refuse(FAKE_GPU_WRONG_CONTEXT, kInvalidHandle, std::string(what) + " is of another context");
    return found;
  }
  StreamPtr StreamOf(StreamHandle handle, Context& current);
  /// The stream for new work: of the current context, and not capturing.
  StreamPtr WorkStream(StreamHandle handle, Context& current);
  static void RefuseCapturing(const Stream& stream);

  /// Places and queues. Returns the operation.
  OperationPtr Queue(Lock& lock, Stream& stream, OperationPtr operation, const OperationPtr& also = nullptr);
  /// Waits, and the host knows their end. Errors: Refusal with the code of a lost device.
  void Wait(Lock& lock, const Operations& operations);
  /// The same for all work of the context. Counts a synchronisation of the device where there is some.
  void WaitForContext(Lock& lock, const Context& context);
  bool HasWork(const Context& context) const;
  /// Memory that nothing else uses.
  void* OtherBytes(std::size_t bytes);

  [[noreturn]] void Refuse(fake_gpu_violation kind, Code code, const std::string& text);
  void CheckAlive() const {
    if (executor.lost() != kSuccess) throw Refusal{executor.lost()};
  }

 private:
  Driver() = default;

  std::list<std::vector<char>> other_bytes_;
};

/// Contexts that this thread has pushed; the last is current.
std::vector<ContextHandle>& ContextStack();

enum class Needs { kNothing, kInitialized, kDevice, kContext };

/// This thread's mode towards captures of streams by others; 0: global.
int& CaptureModeHere();

/// What an entry works with.
struct Call {
  Driver& driver;
  Lock& lock;
  Context* current;  // not null with Needs::kContext

  Context& context() const { return *current; }
};

/// Lets a call in: counts it, answers what is planned for it, checks what it needs. Errors: Refusal.
Context* Admit(Driver& driver, const char* entry, Needs needs);

/// The frame of each entry: the lock, the checks, and refusals as codes.
template <class Body>
Code Enter(const char* entry, Needs needs, Body body) noexcept {
  auto& driver = Driver::The();
  Lock lock(driver.mutex);
  EntryHere() = entry;
  try {
    Context* current = Admit(driver, entry, needs);
    body(Call{driver, lock, current});
    if (needs >= Needs::kDevice) driver.CheckAlive();
    return kSuccess;
  } catch (const Refusal& refusal) {
    return refusal.code;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (...) {
    return kUnknown;
  }
}

/// Codes after which a device answers nothing else.
bool LosesDevice(Code code);

}  // namespace slipway::fake_gpu
