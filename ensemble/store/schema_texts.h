/// The SQL that brings a trial book of one version to the next. A text that was released is never changed.
#pragma once

namespace slipway::ensemble {

/// From nothing to version 1.
extern const char* const kSchema1;
/// From 1 to 2: several objectives, repeats, parents and origins of trials, outcomes and places of attempts, times of
/// metrics, rungs, sessions of the manager and requests from outside.
extern const char* const kSchema2;
/// From 2 to 3: sessions know the boot of the machine and the time since it.
extern const char* const kSchema3;

}  // namespace slipway::ensemble
