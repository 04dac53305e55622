"""A hippolyzer client enters and prints items of its inventory with the hashes of their assets, as one line of JSON: the second opinion on uploads."""

import argparse
import asyncio
import hashlib
import json
import logging
import sys

from hippo import DEADLINE_S, Faults, Person
from hippolyzer.lib.base.datatypes import UUID


async def read(login_uri: str, wanted: list[tuple[UUID, str]]) -> list[dict]:
    person = Person("Ada")
    await person.enter(login_uri)
    caps = person.region.caps_client
    found = []
    for item_id, kind in wanted:
        asked = {"items": [{"item_id": item_id, "owner_id": person.session.agent_id}]}
        async with caps.post("FetchInventory2", llsd=asked) as reply:
            reply.raise_for_status()
            (item,) = (await reply.read_llsd())["items"]
        async with caps.get("ViewerAsset", path="/", params={f"{kind}_id": item["asset_id"]}) as reply:
            reply.raise_for_status()
            asset = await reply.read()
        found.append({"id": str(item["item_id"]), "name": item["name"], "hash": hashlib.sha256(asset).hexdigest()})
    # Closing the client under its own requests would be reported as a failure of those.
    await person.knows_parcels()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "Request All Materials"))
    await person.client.aclose()
    return found


def item(text: str) -> tuple[UUID, str]:
    item_id, kind = text.split(":")
    return UUID(item_id), kind


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--login", required=True, help="login URI of the server")
    parser.add_argument("--item", required=True, type=item, action="append", help="id of an item, and the kind of its asset")
    arguments = parser.parse_args()
    faults = Faults()
    logging.basicConfig(level=logging.WARNING, handlers=[faults])
    reading = read(arguments.login, arguments.item)
    try:
        print(json.dumps(asyncio.run(asyncio.wait_for(reading, 2 * DEADLINE_S))), flush=True)
    finally:
        for line in faults.lines:
            print(f"hippolyzer complains: {line}", file=sys.stderr)
    return 1 if faults.lines else 0


if __name__ == "__main__":
    sys.exit(main())
