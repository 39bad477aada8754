"""Asks for more memory than its control group has. Without a check first, the kernel would kill it."""

import sys

import slipway

slipway.init()
kept = slipway.alloc((10 << 20,), "uint8")
try:
    slipway.alloc((int(sys.argv[1]),), "uint8")
except slipway.SlipwayError as error:
    print(type(error).__name__, error)
kept[:] = 7
print("goes on with", int(kept[-1]))
slipway.finalize()
