# SPDX-License-Identifier: Apache-2.0
"""Every tolerance of the suite, each with its reason."""

# Two ways to the same float64 sum over at most a few thousand terms differ by rounding: 1e-16 a term, and the square
# roots and divisions after it.
FLOAT64_REL = 1e-9
# Errors of a perfect fit are rounding of coordinates of size 1; nothing relative can be said of them.
FLOAT64_ABS = 1e-12
# float32 holds 24 bits (6e-8); results are rounded once, and inputs were.
FLOAT32_REL = 1e-5
# Angles in degrees: 1e-16 rad of rounding an entry, ten operations, 57 degrees a radian; NumPy's SVD in the readable
# statement is the noisier side.
ANGLE_DEG = 1e-12
# float32 rotations are off SO(3) by 1e-7; so are their angles, in degrees about 1e-5.
ANGLE_FLOAT32_DEG = 1e-4
# The file of evo's reference values prints ten digits: half a unit of the last is 5e-10 of a number that begins with 1.
# Below 1e-12 (a first pose that lies on the reference's) its numbers are rounding.
PRINTED_REL = 1e-9
PRINTED_ABS = 1e-12
# Mean structural similarity, in -1..1: float64 sums of squares of values up to 255, against the least denominator, 58.
SSIM_ABS = 1e-11
# The Gaussian variants of bytes: a row's sums are rounded to 2^-17, which is at most 8e-7 of a similarity.
SSIM_BYTES_ABS = 1e-6
# The first rounded to float32: half a step below 1.
SSIM_FLOAT32_ABS = 1e-7
