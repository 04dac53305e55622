#!/usr/bin/env python3
"""Makes plywood.j2c, the texture of boxes: the grain of light wood that repeats without a seam, as a JPEG 2000 codestream.

    python3 plywood.py plywood.j2c       # with glymur and numpy, over OpenJPEG 2.5

Noise that is drawn out along one side, with a few rings; viewers know the texture by the id of their own plywood.
"""

import os
import shutil
import sys
import tempfile

import glymur
import numpy

SIDE = 256
COMPRESSION = 14
COLOUR = (205, 176, 130)

random = numpy.random.Generator(numpy.random.PCG64(0))
x, y = numpy.fft.fftfreq(SIDE)[None, :] * SIDE, numpy.fft.fftfreq(SIDE)[:, None] * SIDE
# Along the grain a feature is eight times as long as across.
frequency = numpy.hypot(8 * x, y)
frequency[0, 0] = numpy.inf


def noise(roughness):
    """Periodic noise with mean 0 and deviation 1."""
    field = numpy.fft.ifft2(numpy.fft.fft2(random.standard_normal((SIDE, SIDE))) * frequency**-roughness).real
    return field / field.std()


rows = numpy.arange(SIDE)[:, None]
rings = numpy.sin(2 * numpy.pi * (6 * rows / SIDE + 0.35 * noise(1.6)))
light = 7 * rings + 5 * noise(0.8)
layers = [numpy.full((SIDE, SIDE), float(value)) + light * strength for value, strength in zip(COLOUR, (1.0, 1.1, 1.2))]
image = numpy.clip(numpy.stack(layers, axis=-1), 0, 255).astype(numpy.uint8)
with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "plywood.j2k")
    glymur.Jp2k(path, data=image, numres=6, cratios=[COMPRESSION], irreversible=True)
    shutil.copyfile(path, sys.argv[1])
