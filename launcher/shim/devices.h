/// The GPUs of a node, shared out to the ranks there.
#pragma once

namespace slipway::shim {

/// Leaves a rank `count` of the devices that the batch system names to the job on this node, in the variables that the
/// GPU libraries read: the first rank of a node the first ones. A list that is too short stays as it is.
void TakeDevices(int local_rank, int count);

}  // namespace slipway::shim
