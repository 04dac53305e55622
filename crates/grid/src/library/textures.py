#!/usr/bin/env python3
"""Makes textures.j2cs, the library's textures that no ground and no box has: bricks, roof tiles and water, as JPEG 2000 codestreams.

    python3 textures.py textures.j2cs    # with glymur and numpy, over OpenJPEG 2.5

Each repeats without a seam, and covers a square metre of a wall, one and a half of a roof, some of water. A codestream stands behind its length, two bytes, the lower
one first; the order is that of `DRAWN` in textures.rs.
"""

import os
import struct
import sys
import tempfile

import glymur
import numpy

SIDE = 256
COMPRESSION = 12

ROWS, COLUMNS = numpy.mgrid[0:SIDE, 0:SIDE]


def noise(random, roughness):
    """Periodic noise with mean 0 and deviation 1: white noise whose spectrum falls off as frequency ** -roughness."""
    frequency = numpy.hypot(numpy.fft.fftfreq(SIDE)[:, None], numpy.fft.fftfreq(SIDE)[None, :]) * SIDE
    frequency[0, 0] = numpy.inf
    spectrum = numpy.fft.fft2(random.standard_normal((SIDE, SIDE))) * frequency**-roughness
    field = numpy.fft.ifft2(spectrum).real
    return field / field.std()


def courses(random, n_courses, n_stones):
    """Stones in courses, each course shifted by half a stone: tone of each pixel's stone, and its place in the stone, 0 to 1 from left and from top."""
    height, width = SIDE // n_courses, SIDE // n_stones
    course = ROWS // height
    columns = (COLUMNS + course % 2 * (width // 2)) % SIDE
    tones = random.standard_normal((n_courses, n_stones))
    return tones[course, columns // width], columns % width / width, ROWS % height / height


def painted(colour, light, tint=0):
    """Pixels of a colour under light, which is added in steps of brightness; tint shifts red against blue."""
    shades = (light + tint, light, light - tint)
    return numpy.stack([value + shade for value, shade in zip(bytes.fromhex(colour), shades)], axis=-1)


def bricks(random):
    tone, across, down = courses(random, 8, 4)
    stone = painted("9a5742", 9 * tone + 7 * noise(random, 0.9), 3 * noise(random, 1.5))
    mortar = painted("b9b1a4", 6 * noise(random, 0.8))
    is_joint = (across < 3 / 64) | (down < 3 / 32)
    return numpy.where(is_joint[..., None], mortar, stone)


def roof_tiles(random):
    tone, across, down = courses(random, 8, 8)
    # Each tile is a little higher in its middle and ends in an arc; beside the arc, the tiles of the next course lie in its shadow.
    edge = 0.62 + 0.36 * numpy.sqrt(1 - (2 * across - 1) ** 2)
    joint = numpy.where(numpy.minimum(across, 1 - across) < 1 / 32, -30, 0)
    tile = 12 * numpy.sin(numpy.pi * across) + 16 * (down - 0.5) + joint + 6 * tone
    below = 6 * numpy.roll(tone, -SIDE // 8, axis=0) - 58 + 60 * numpy.clip(down - edge, 0, 0.3)
    rim = numpy.where(numpy.abs(edge - 0.05 - down) < 0.04, 12, 0)
    light = numpy.where(down > edge, below, tile + rim)
    return painted("94503d", light + 5 * noise(random, 1.0), 2 * noise(random, 1.5))


def cells(random, n_cells, bend):
    """Lines between the cells of a periodic net, 1 on a line and 0 from a width of a tenth of the picture on; bend shifts the lines by pixels."""
    across, down = COLUMNS + bend * noise(random, 2.6), ROWS + bend * noise(random, 2.6)
    # A point in each square of a grid: cells have about one size.
    squares = numpy.stack(numpy.mgrid[0:n_cells, 0:n_cells], axis=-1).reshape(-1, 2)
    centres = (squares + random.random(squares.shape)) * (SIDE / n_cells)
    half = SIDE / 2
    distances = [numpy.hypot((down - y + half) % SIDE - half, (across - x + half) % SIDE - half) for y, x in centres]
    nearest, second = numpy.partition(numpy.stack(distances), 1, axis=0)[:2]
    return numpy.clip(1 - (second - nearest) / (SIDE / 10), 0, 1)


def water(random):
    # Light that waves gather, in two nets of bright lines over the depth's own shades.
    light = 52 * cells(random, 5, 13) ** 3 + 26 * cells(random, 7, 11) ** 4
    return painted("2b6a8c", 8 * noise(random, 2.2) + light - 8, -0.1 * light)


with open(sys.argv[1], "wb") as out, tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "texture.j2k")
    for number, draw in enumerate([bricks, roof_tiles, water]):
        random = numpy.random.Generator(numpy.random.PCG64(number))
        image = numpy.clip(draw(random), 0, 255).astype(numpy.uint8)
        glymur.Jp2k(path, data=image, numres=6, cratios=[COMPRESSION], irreversible=True)
        with open(path, "rb") as file:
            codestream = file.read()
        out.write(struct.pack("<H", len(codestream)) + codestream)
