/// Move-only owner of a C handle.
#pragma once

#include <utility>

namespace slipway {

/// `Traits` gives `using Handle`, `static Handle Null()` and `static void Release(Handle) noexcept`.
/// The destructor releases silently; what can fail has a named function elsewhere.
template <class Traits>
class UniqueHandle {
 public:
  using Handle = typename Traits::Handle;

  UniqueHandle() = default;
  explicit UniqueHandle(Handle handle) : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(other.Take()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) Reset(other.Take());
    return *this;
  }
  ~UniqueHandle() { Reset(); }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Traits::Null(); }
  Handle Take() { return std::exchange(handle_, Traits::Null()); }
  void Reset(Handle handle = Traits::Null()) {
    if (handle_ != Traits::Null()) Traits::Release(handle_);
    handle_ = handle;
  }

 private:
  Handle handle_ = Traits::Null();
};

struct FdTraits {
  using Handle = int;
  static int Null() { return -1; }
  static void Release(int fd) noexcept;  // core/files.cpp
};

/// An open file descriptor.
using UniqueFd = UniqueHandle<FdTraits>;

}  // namespace slipway
