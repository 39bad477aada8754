// The C interface: operations of all ranks of a group on the memory of the program.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/api/calls.h"
#include "runtime/collectives/allreduce.h"
#include "runtime/collectives/broadcast.h"
#include "runtime/collectives/pairwise.h"
#include "runtime/exchange/allreduce_on_device.h"
#include "runtime/exchange/cpu_images.h"
#include "runtime/exchange/replicas.h"
#include "runtime/exchange/shares.h"
#include "runtime/group/agreement.h"
#include "runtime/slipway.h"

namespace {

using namespace slipway::runtime;  // this file is the outer face of the runtime
using Operation = Watch::Operation;

/// A collective that the program is in: the watch sees it, and the report counts it when it is Done().
class Collective {
 public:
  Collective(Job& job, Activity activity) : job_(job), operation_(job.watch(), activity), activity_(activity) {}
  /// It has succeeded. `bytes`: of this rank.
  void Done(const Group& members, std::string_view way, std::size_t bytes) {
    job_.calls().Add({members, activity_, way, static_cast<std::int64_t>(bytes)}, start_);
  }

 private:
  Job& job_;
  Operation operation_;
  Activity activity_;
  CallTrace::Clock::time_point start_ = CallTrace::Clock::now();
};

/// Ways for the report.
constexpr std::string_view kByCpu = "cpu";
template <class... Images>
std::string_view WayOf(const Images&... images) {
  return (images.are_copies() || ...) ? slipway::WordOf(CombineWay::kStaged) : kByCpu;
}

void RequireReduction(slipway_dtype dtype, slipway_op op) {
  RequireArgument(SizeOf(dtype) > 0, "unknown dtype");
  RequireArgument(op >= SLIPWAY_SUM && op <= SLIPWAY_PRODUCT, "unknown operation");
  RequireArgument(IsNumber(dtype), fmt::format("{} is moved, never reduced", NameOf(dtype)));
}

/// Slices of `counts[0]`, `counts[1]`, ... elements, one behind the other.
std::vector<Slice> SlicesFrom(const int64_t* counts, int ranks, const char* name) {
  RequireArgument(counts != nullptr, fmt::format("{} is a null pointer", name));
  std::vector<Slice> slices;
  int64_t first = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    RequireCount(counts[rank]);
    slices.push_back({first, counts[rank]});
    RequireArgument(!__builtin_add_overflow(first, counts[rank], &first), fmt::format("{} add up to too much", name));
    RequireCount(first);
  }
  return slices;
}

int64_t TotalOf(const std::vector<Slice>& slices) { return slices.back().end(); }

void RequireApart(const void* send, int64_t sent, const void* receive, int64_t received, slipway_dtype dtype) {
  const auto* a = static_cast<const char*>(send);
  const auto* b = static_cast<const char*>(receive);
  const auto element = static_cast<int64_t>(SizeOf(dtype));
  RequireArgument(sent == 0 || received == 0 || a + sent * element <= b || b + received * element <= a,
                  "the buffers to send and to receive overlap");
}

struct Elements {
  void* data = nullptr;
  int64_t count = 0;
  Reduction reduction;
};

int AllreduceOf(const char* function, const Elements& elements, int group, StreamHandle stream) {
  return Guard(function, [&] {
    auto& current = WholeJob();
    const auto& [data, count, reduction] = elements;
    RequireCount(count);
    RequireReduction(reduction.dtype, reduction.op);
    RequireData(data, count, "the data");
    Collective collective(current, Activity::kAllreduce);
    auto& members = current.GroupOf(group);
    const auto bytes = BytesOf(count, SizeOf(reduction.dtype));
    if (const auto place = PlaceOf(data)) {
      RequireNotCaptured(*place, stream);
      const BesideCaptures beside(place->driver);
      const auto way = current.device_allreduces().Allreduce(*place, data, count, reduction, members, stream);
      return collective.Done(members, slipway::WordOf(way), bytes);
    }
    AwaitManaged(data, stream, members.communicator().waiter());
    current.device_allreduces().RequireCpuMemoryOnAll(count, reduction, members);
    const Piece piece{static_cast<char*>(data), count};
    Allreduce({{&piece, 1}, reduction, 0, nullptr}, members);
    collective.Done(members, kByCpu, bytes);
  });
}

/// What calls of the C interface that go through the CPU have in common.
struct GroupCall {
  const char* function = nullptr;
  int group = SLIPWAY_ALL;
  ImageOrder order;
};

GroupCall OnStream(const char* function, int group, StreamHandle stream) {
  return {function, group, {stream, ResultAt::kStream}};
}

ImageTools ToolsOf(Communicator& communicator) { return {CurrentJob().benches(), communicator.waiter()}; }

TensorInfo DataOf(const void* data, int64_t count, slipway_dtype dtype) {
  return FlatTensor("data", data, count, dtype);
}

/// A tensor of the program as the CPU reaches it.
CpuImages ImageOf(const TensorInfo& tensor, ImageUse use, const ImageOrder& order, Group& members) {
  return {{&tensor, 1}, use, order, ToolsOf(members.communicator())};
}

int BroadcastOf(const GroupCall& call, const slipway_tensor* tensors, int count, int root) {
  return Guard(call.function, [&] {
    auto& current = WholeJob();
    Collective collective(current, Activity::kBroadcast);
    auto& members = current.GroupOf(call.group);
    OnAllRanks(members.communicator(),
               [&] { RequireArgument(root >= 0 && root < members.size(), fmt::format("there is no rank {}", root)); });
    const auto taken = TakeSameTensors(fmt::format("root {}", root), tensors, count, members.communicator());
    const auto use = members.rank() == root ? ImageUse::kRead : ImageUse::kWrite;
    std::optional<CpuImages> images;
    OnAllRanks(members.communicator(),
               [&] { images.emplace(taken, use, call.order, ToolsOf(members.communicator())); });
    std::size_t bytes = 0;
    for (const auto& tensor : images->tensors()) {
      Broadcast(tensor.data, tensor.bytes(), root, members.members());
      bytes += tensor.bytes();
    }
    images->Return();
    collective.Done(members, WayOf(*images), bytes);
  });
}

/// Where the elements of an operation lie, and how many are each rank's.
struct Shared {
  const void* send = nullptr;
  void* receive = nullptr;
  const int64_t* counts = nullptr;
};

int ReduceScatterOf(const GroupCall& call, const Shared& shared, const Reduction& reduction) {
  return Guard(call.function, [&] {
    auto& current = WholeJob();
    auto& members = current.GroupOf(call.group);
    const auto& [send, receive, counts] = shared;
    const auto dtype = reduction.dtype;
    const auto slices = SlicesFrom(counts, members.size(), "the counts");
    RequireReduction(dtype, reduction.op);
    const auto own = slices[static_cast<std::size_t>(members.rank())].count;
    RequireData(send, TotalOf(slices), "the data to send");
    RequireData(receive, own, "the data to receive");
    RequireApart(send, TotalOf(slices), receive, own, dtype);
    Collective collective(current, Activity::kReduceScatter);
    const auto sent = ImageOf(DataOf(send, TotalOf(slices), dtype), ImageUse::kRead, call.order, members);
    auto received = ImageOf(DataOf(receive, own, dtype), ImageUse::kWrite, call.order, members);
    PairwiseReduceScatter(sent.data(0), received.data(0), slices, reduction, members.members(), members.size());
    received.Return();
    collective.Done(members, WayOf(sent, received), BytesOf(TotalOf(slices), SizeOf(dtype)));
  });
}

int AllgatherOf(const GroupCall& call, const Shared& shared, slipway_dtype dtype) {
  return Guard(call.function, [&] {
    auto& current = WholeJob();
    auto& members = current.GroupOf(call.group);
    const auto& [send, receive, counts] = shared;
    const auto slices = SlicesFrom(counts, members.size(), "the counts");
    RequireArgument(SizeOf(dtype) > 0, "unknown dtype");
    const auto own = slices[static_cast<std::size_t>(members.rank())];
    RequireData(send, own.count, "the data to send");
    RequireData(receive, TotalOf(slices), "the data to receive");
    RequireApart(send, own.count, receive, TotalOf(slices), dtype);
    Collective collective(current, Activity::kAllgather);
    const auto element = SizeOf(dtype);
    const auto sent = ImageOf(DataOf(send, own.count, dtype), ImageUse::kRead, call.order, members);
    auto received = ImageOf(DataOf(receive, TotalOf(slices), dtype), ImageUse::kWrite, call.order, members);
    if (own.count > 0) {
      std::memcpy(received.data(0) + BytesOf(own.first, element), sent.data(0), BytesOf(own.count, element));
    }
    PairwiseAllgather(received.data(0), slices, element, members.members());
    received.Return();
    collective.Done(members, WayOf(sent, received), BytesOf(TotalOf(slices), SizeOf(dtype)));
  });
}

/// The portions of an alltoall, and how many elements each has.
template <class Data>
struct Portions {
  Data* data = nullptr;
  const int64_t* counts = nullptr;
};

int AlltoallOf(const GroupCall& call, const Portions<const void>& send, const Portions<void>& receive,
               slipway_dtype dtype) {
  return Guard(call.function, [&] {
    auto& current = WholeJob();
    auto& members = current.GroupOf(call.group);
    const auto out = SlicesFrom(send.counts, members.size(), "the counts to send");
    const auto in = SlicesFrom(receive.counts, members.size(), "the counts to receive");
    RequireArgument(SizeOf(dtype) > 0, "unknown dtype");
    RequireData(send.data, TotalOf(out), "the data to send");
    RequireData(receive.data, TotalOf(in), "the data to receive");
    RequireApart(send.data, TotalOf(out), receive.data, TotalOf(in), dtype);
    const auto own = static_cast<std::size_t>(members.rank());
    RequireArgument(out[own].count == in[own].count, "a rank sends itself as much as it receives from itself");
    Collective collective(current, Activity::kAlltoall);
    const auto sent = ImageOf(DataOf(send.data, TotalOf(out), dtype), ImageUse::kRead, call.order, members);
    auto received = ImageOf(DataOf(receive.data, TotalOf(in), dtype), ImageUse::kWrite, call.order, members);
    PairwiseAlltoall(sent.data(0), out, received.data(0), in, SizeOf(dtype), members.members());
    received.Return();
    collective.Done(members, WayOf(sent, received), BytesOf(TotalOf(out), SizeOf(dtype)));
  });
}

}  // namespace

extern "C" {

int slipway_broadcast(const slipway_tensor* tensors, int count, int root, int group) {
  return BroadcastOf({__func__, group, {}}, tensors, count, root);
}

int slipway_broadcast_on_stream(const slipway_tensor* tensors, int count, int root, int group, void* stream) {
  return BroadcastOf(OnStream(__func__, group, stream), tensors, count, root);
}

int slipway_allreduce(void* data, int64_t count, slipway_dtype dtype, slipway_op op, int group) {
  return AllreduceOf(__func__, {data, count, {dtype, op}}, group, nullptr);
}

int slipway_allreduce_on_stream(void* data, int64_t count, slipway_dtype dtype, slipway_op op, int group,
                                void* stream) {
  return AllreduceOf(__func__, {data, count, {dtype, op}}, group, stream);
}

int slipway_reduce_scatter(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype, slipway_op op,
                           int group) {
  return ReduceScatterOf({__func__, group, {}}, {send, receive, counts}, {dtype, op});
}

int slipway_reduce_scatter_on_stream(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype,
                                     slipway_op op, int group, void* stream) {
  return ReduceScatterOf(OnStream(__func__, group, stream), {send, receive, counts}, {dtype, op});
}

int slipway_allgather(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype, int group) {
  return AllgatherOf({__func__, group, {}}, {send, receive, counts}, dtype);
}

int slipway_allgather_on_stream(const void* send, void* receive, const int64_t* counts, slipway_dtype dtype, int group,
                                void* stream) {
  return AllgatherOf(OnStream(__func__, group, stream), {send, receive, counts}, dtype);
}

int slipway_alltoall(const void* send, const int64_t* send_counts, void* receive, const int64_t* receive_counts,
                     slipway_dtype dtype, int group) {
  return AlltoallOf({__func__, group, {}}, {send, send_counts}, {receive, receive_counts}, dtype);
}

int slipway_alltoall_on_stream(const void* send, const int64_t* send_counts, void* receive,
                               const int64_t* receive_counts, slipway_dtype dtype, int group, void* stream) {
  return AlltoallOf(OnStream(__func__, group, stream), {send, send_counts}, {receive, receive_counts}, dtype);
}

int slipway_barrier(int group) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    Collective collective(current, Activity::kBarrier);
    auto& members = current.GroupOf(group);
    if (members.on_one_node()) {
      members.channel()->Meet({});
    } else if (!members.alone()) {
      Barrier(members.members());
    }
    collective.Done(members, kByCpu, 0);
  });
}

int slipway_average(double* values, int64_t count) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    RequireCount(count);
    RequireData(values, count, "the data");
    RequireCpuMemory(values, "the data");
    Collective collective(current, Activity::kAverage);
    AwaitManaged(values, nullptr, current.communicator().waiter());
    const Piece piece{reinterpret_cast<char*>(values), count};
    Allreduce({{&piece, 1}, {SLIPWAY_FLOAT64, SLIPWAY_MEAN}, 0, nullptr}, current.all());
    collective.Done(current.all(), kByCpu, BytesOf(count, SizeOf(SLIPWAY_FLOAT64)));
  });
}

int slipway_check_match(const slipway_tensor* tensors, int count) {
  return Guard(__func__, [&] {
    auto& current = WholeJob();
    const Operation operation(current.watch(), Activity::kCheckMatch);
    auto& communicator = current.communicator();
    const auto taken = TakeSameTensors("a comparison", tensors, count, communicator);
    std::optional<CpuImages> images;
    OnAllRanks(communicator, [&] { images.emplace(taken, ImageUse::kRead, ImageOrder{}, ToolsOf(communicator)); });
    CheckReplicas(images->tensors(), communicator);
  });
}

}  // extern "C"
