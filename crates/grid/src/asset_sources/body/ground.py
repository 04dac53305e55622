#!/usr/bin/env python3
"""Makes ground.j2cs, the four textures of the ground from the water upwards: sand, grass, earth and rock, as JPEG 2000 codestreams.

    python3 ground.py ground.j2cs        # with glymur and numpy, over OpenJPEG 2.5

Each is noise in a few octaves that repeats without a seam. A codestream stands behind its length, two bytes, the lower one first; the
order is that of RegionHandshake's TerrainDetail0 to 3.
"""

import os
import struct
import sys
import tempfile

import glymur
import numpy

SIDE = 256
COMPRESSION = 12

# Colour, its variation, roughness (1: fine grain, 2: soft patches).
GROUNDS = [("cdbb8e", 18, 1.0), ("6f8f4b", 26, 1.2), ("7c6a4c", 28, 1.3), ("8a8884", 34, 1.5)]


def noise(random, roughness):
    """Periodic noise with mean 0 and deviation 1: white noise whose spectrum falls off as frequency ** -roughness."""
    frequency = numpy.hypot(numpy.fft.fftfreq(SIDE)[:, None], numpy.fft.fftfreq(SIDE)[None, :]) * SIDE
    frequency[0, 0] = numpy.inf
    spectrum = numpy.fft.fft2(random.standard_normal((SIDE, SIDE))) * frequency**-roughness
    field = numpy.fft.ifft2(spectrum).real
    return field / field.std()


with open(sys.argv[1], "wb") as out, tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "ground.j2k")
    for number, (colour, variation, roughness) in enumerate(GROUNDS):
        random = numpy.random.Generator(numpy.random.PCG64(number))
        light = noise(random, roughness) * variation / 2
        tint = [noise(random, roughness) * variation / 8 for _ in range(3)]
        layers = [numpy.full((SIDE, SIDE), value) + light + shade for value, shade in zip(bytes.fromhex(colour), tint)]
        image = numpy.clip(numpy.stack(layers, axis=-1), 0, 255).astype(numpy.uint8)
        glymur.Jp2k(path, data=image, numres=6, cratios=[COMPRESSION], irreversible=True)
        with open(path, "rb") as file:
            codestream = file.read()
        out.write(struct.pack("<H", len(codestream)) + codestream)
