"""A hippolyzer client enters and prints a linkset as it shows it, as one line of JSON: the second opinion on a house."""

import argparse
import asyncio
import json
import logging
import sys

from hippo import DEADLINE_S, Faults, Person
from hippolyzer.lib.base.datatypes import UUID

# Quantum of the ends of a profile on the wire; an end counts from the far side.
CUT_QUANTUM = 0.00002


async def read(login_uri: str, root_id: UUID, n_parts: int) -> dict:
    person = Person("Hippohouse")
    await person.enter(login_uri)
    objects = lambda: person.region.objects
    root = await person.until("shows the root", lambda: objects().lookup_fullid(root_id))
    parts = lambda: [thing for thing in objects().all_objects if thing.ParentID == root.LocalID]
    await person.until(f"shows {n_parts} parts", lambda: len(parts()) == n_parts)
    named = objects().request_object_properties([root, *parts()])
    await asyncio.wait_for(asyncio.gather(*named), DEADLINE_S)
    shown = {**described(root), "description": root.Description}
    shown["parts"] = sorted((described(part) for part in parts()), key=lambda part: part["id"])
    # Closing the client under its own requests would be reported as a failure of those.
    await person.knows_parcels()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "Request All Materials"))
    await person.client.aclose()
    return shown


def described(thing) -> dict:
    return {
        "id": str(thing.FullID),
        "at": rounded(thing.Position),
        "scale": rounded(thing.Scale),
        "cut": decimals(1.0 - thing.ProfileEnd * CUT_QUANTUM),
        "texture": str(thing.TextureEntry.Textures[None]),
        "name": thing.Name,
    }


def rounded(vector) -> dict:
    return {"x": decimals(vector.X), "y": decimals(vector.Y), "z": decimals(vector.Z)}


def decimals(number: float) -> str:
    """As toFixed(2) in JavaScript, which writes no sign before a zero."""
    return f"{number or 0.0:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--login", required=True, help="login URI of the server")
    parser.add_argument("--root", required=True, type=UUID, help="id of the root of the linkset")
    parser.add_argument("--parts", required=True, type=int, help="number of its other prims")
    arguments = parser.parse_args()
    faults = Faults()
    logging.basicConfig(level=logging.WARNING, handlers=[faults])
    try:
        print(json.dumps(asyncio.run(read(arguments.login, arguments.root, arguments.parts))), flush=True)
    finally:
        for line in faults.lines:
            print(f"hippolyzer complains: {line}", file=sys.stderr)
    return 1 if faults.lines else 0


if __name__ == "__main__":
    sys.exit(main())
