#!/usr/bin/env python3
"""Makes colours.j2cs, the textures that people without clients wear: plain colours, as JPEG 2000 codestreams.

    python3 colours.py colours.j2cs        # with glymur and numpy, over OpenJPEG 2.5

Each codestream stands behind its length, two bytes, the lower one first. Their order is their numbers, which
`world/src/npc/looks.rs` knows.
"""

import os
import struct
import sys
import tempfile

import glymur
import numpy

SIDE = 32

SKINS = "f6d6bd e8bea0 d6a886 be8c68 a07050 80563c 62402c 462e22"
SHIRTS = "e8e4da 8c8f94 3c4048 2c4a7c 4c7cb0 2e6b4a 6f8f3f 9c2f2f c46a2c d9b44a 6b3f78 7a5236"
TROUSERS = "23252b 3b3f4a 2a3a5c 4a5a78 4a3b2c 6b5a42 38432f 7d7a72"
EYES = "3c2818 32506e 3c5a3c 1e1e22"
HAIR = "16130f 33231a 54382a 7d5a3c c8a05e 8c3f1f 7d7d7d dcd8d0"

with open(sys.argv[1], "wb") as out, tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "colour.j2k")
    for colour in " ".join([SKINS, SHIRTS, TROUSERS, EYES, HAIR]).split():
        image = numpy.full((SIDE, SIDE, 3), list(bytes.fromhex(colour)), numpy.uint8)
        glymur.Jp2k(path, data=image, numres=4)
        with open(path, "rb") as file:
            codestream = file.read()
        out.write(struct.pack("<H", len(codestream)) + codestream)
