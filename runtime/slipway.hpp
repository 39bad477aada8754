/// C++ face of libslipway: the same calls, errors as exceptions, a session that ends by itself.
///
/// Header only, C++20, and only the standard library: nothing of C++ crosses the library's border.
#pragma once

#if __cplusplus <= 201703L
#error "slipway.hpp needs C++20: add -std=c++20"
#endif

#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/slipway.h"

namespace slipway::client {

/// What a call answered; `status()` is a slipway_status.
class Failure : public std::runtime_error {
 public:
  explicit Failure(int status) : std::runtime_error(slipway_error_message()), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

inline void Check(int status) {
  if (status != SLIPWAY_OK) throw Failure(status);
}

/// A named float32 tensor of the program, in memory of the CPU or of a GPU. It must outlive every use.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  float* data = nullptr;
};

/// The tensors in the form that the C functions take; refers to `tensors`.
inline std::vector<slipway_tensor> AsC(std::span<const Tensor> tensors) {
  std::vector<slipway_tensor> list;
  for (const auto& tensor : tensors) {
    list.push_back({tensor.name.c_str(), SLIPWAY_FLOAT32, static_cast<int>(tensor.shape.size()), tensor.shape.data(),
                    tensor.data});
  }
  return list;
}

/// A CUstream or cudaStream_t of the program; null: the legacy default stream.
using Stream = void*;

/// Memory of a GPU, within a Session: see slipway_alloc_on_device. Freed at the end of its life.
class DeviceMemory {
 public:
  DeviceMemory(std::int64_t bytes, int device) { Check(slipway_alloc_on_device(bytes, device, &data_)); }
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceMemory() {
    if (data_ != nullptr) slipway_free(data_);
  }

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
};

/// Between slipway_init and slipway_finalize. Collective calls are marked as in slipway.h.
class Session {
 public:
  explicit Session(const char* config = nullptr) { Check(slipway_init(config)); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Leaves the job; not when an exception ends this scope: finalizing would wait for the other ranks, which may be
  /// waiting for this one. The process is expected to end, and then the launcher ends the others.
  ~Session() {
    if (std::uncaught_exceptions() == exceptions_) slipway_finalize();
  }

  int rank() const { return slipway_rank(); }
  int size() const { return slipway_size(); }
  int local_rank() const { return slipway_local_rank(); }

  void Register(const std::string& team, std::span<const Tensor> tensors, std::int64_t total_steps = 0) {
    const auto list = AsC(tensors);
    Check(slipway_register(team.c_str(), list.data(), static_cast<int>(list.size()), total_steps));
  }
  /// These tensors have their final values when `stream` has done what it was given so far.
  void Submit(const std::string& team, int index, Stream stream = nullptr) {
    Check(slipway_submit_on_stream(team.c_str(), index, stream));
  }
  void Submit(const std::string& team, std::span<const int> indices, Stream stream = nullptr) {
    Check(slipway_submit_many_on_stream(team.c_str(), indices.data(), static_cast<int>(indices.size()), stream));
  }
  /// Submits what was not. Later work of `stream` finds the result. Collective.
  void Wait(const std::string& team, Stream stream = nullptr) { Check(slipway_wait_on_stream(team.c_str(), stream)); }
  void Gradients(const std::string& team) { Check(slipway_gradients(team.c_str())); }
  void Broadcast(std::span<const Tensor> tensors, int root = 0) {
    const auto list = AsC(tensors);
    Check(slipway_broadcast(list.data(), static_cast<int>(list.size()), root, SLIPWAY_ALL));
  }
  /// Later work of `stream` finds the result. Collective.
  void Broadcast(std::span<const Tensor> tensors, int root, Stream stream) {
    const auto list = AsC(tensors);
    Check(slipway_broadcast_on_stream(list.data(), static_cast<int>(list.size()), root, SLIPWAY_ALL, stream));
  }
  void CheckMatch(std::span<const Tensor> tensors) {
    const auto list = AsC(tensors);
    Check(slipway_check_match(list.data(), static_cast<int>(list.size())));
  }
  /// In place, in memory of the CPU or of a GPU. Later work of `stream` finds the result. Collective.
  void Allreduce(void* data, std::int64_t count, slipway_dtype dtype, slipway_op op, Stream stream = nullptr,
                 int group = SLIPWAY_ALL) {
    Check(slipway_allreduce_on_stream(data, count, dtype, op, group, stream));
  }
  /// Of `send`, combined over all ranks, rank r gets `counts[r]` elements; one count for each rank of the group. In
  /// memory of the CPU or of a GPU, where later work of `stream` finds the result. Collective.
  void ReduceScatter(const void* send, void* receive, std::span<const std::int64_t> counts, slipway_dtype dtype,
                     slipway_op op, Stream stream = nullptr, int group = SLIPWAY_ALL) {
    Check(slipway_reduce_scatter_on_stream(send, receive, counts.data(), dtype, op, group, stream));
  }
  /// The `counts[r]` elements of each rank r, one behind the other. Memory and stream as ReduceScatter(). Collective.
  void Allgather(const void* send, void* receive, std::span<const std::int64_t> counts, slipway_dtype dtype,
                 Stream stream = nullptr, int group = SLIPWAY_ALL) {
    Check(slipway_allgather_on_stream(send, receive, counts.data(), dtype, group, stream));
  }
  /// Sends `sent[r]` elements to each rank r, and receives `received[r]` from it. Memory and stream as ReduceScatter().
  /// Collective.
  void Alltoall(const void* send, std::span<const std::int64_t> sent, void* receive,
                std::span<const std::int64_t> received, slipway_dtype dtype, Stream stream = nullptr,
                int group = SLIPWAY_ALL) {
    Check(slipway_alltoall_on_stream(send, sent.data(), receive, received.data(), dtype, group, stream));
  }
  /// `device`: as the driver counts those that the process sees.
  DeviceMemory AllocOnDevice(std::int64_t bytes, int device) { return DeviceMemory(bytes, device); }
  void Sum(std::span<double> values) {
    Check(slipway_allreduce(values.data(), static_cast<std::int64_t>(values.size()), SLIPWAY_FLOAT64, SLIPWAY_SUM,
                            SLIPWAY_ALL));
  }
  void Average(std::span<double> values) {
    Check(slipway_average(values.data(), static_cast<std::int64_t>(values.size())));
  }
  void Barrier() { Check(slipway_barrier(SLIPWAY_ALL)); }

  void Report(std::int64_t step, const std::string& name, double value) {
    Check(slipway_report(step, name.c_str(), value));
  }
  void Report(std::int64_t step, double epoch, const std::string& name, double value) {
    Check(slipway_report_epoch(step, epoch, name.c_str(), value));
  }
  /// `value` and `metadata`: JSON text.
  void Mllog(slipway_mllog_event event, const std::string& key, const std::string& value,
             const std::string& metadata = "{}") {
    Check(slipway_mllog(event, key.c_str(), value.c_str(), metadata.c_str()));
  }
  bool StopRequested() {
    int requested = 0;
    Check(slipway_stop_requested(&requested));
    return requested != 0;
  }

  std::string BeginCheckpoint(std::int64_t step) {
    char path[4096];
    Check(slipway_checkpoint_begin(step, path, sizeof path));
    return path;
  }
  void CommitCheckpoint(std::int64_t step, double epoch) { Check(slipway_checkpoint_commit(step, epoch)); }
  /// Empty: start fresh.
  std::string ResumeFrom() {
    char path[4096];
    Check(slipway_resume_from(path, sizeof path));
    return path;
  }

 private:
  int exceptions_ = std::uncaught_exceptions();
};

/// A parameter server, within a Session: see slipway_server_create.
class ParameterServer {
 public:
  /// `parameters` is used by Pull(). Collective.
  ParameterServer(std::string name, std::span<const Tensor> parameters, double rate, std::int64_t staleness = 0)
      : name_(std::move(name)) {
    const auto list = AsC(parameters);
    Check(slipway_server_create(name_.c_str(), list.data(), static_cast<int>(list.size()), rate, staleness));
  }
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;
  /// Frees it together with the other ranks; not when an exception ends this scope.
  ~ParameterServer() {
    if (std::uncaught_exceptions() == exceptions_) slipway_server_free(name_.c_str());
  }

  void Push(std::span<const Tensor> gradients) {
    const auto list = AsC(gradients);
    Check(slipway_server_push(name_.c_str(), list.data(), static_cast<int>(list.size())));
  }
  void Pull() { Check(slipway_server_pull(name_.c_str())); }
  void SetRate(double rate) { Check(slipway_server_set_rate(name_.c_str(), rate)); }
  std::int64_t Lead() const {
    std::int64_t lead = 0;
    Check(slipway_server_lead(name_.c_str(), &lead));
    return lead;
  }

 private:
  std::string name_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace slipway::client
