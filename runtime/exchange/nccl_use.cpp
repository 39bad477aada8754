#include "runtime/exchange/nccl_use.h"

#include <atomic>

#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

std::atomic<int> users = 0;

}  // namespace

NcclUse::NcclUse() { ++users; }

NcclUse::~NcclUse() { --users; }

std::unique_ptr<NcclUse> NcclUse::Alone(Communicator& ranks) {
  auto own = std::make_unique<NcclUse>();
  if (!OnEveryRank(ranks, users == 1)) own.reset();
  return own;
}

}  // namespace slipway::runtime
