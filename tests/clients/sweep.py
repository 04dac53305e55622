"""Every public call of hippolyzer that may wait ends because of the server's answer, well before hippolyzer gives up.

The calls are enumerated from the library: the methods of CLASSES that are coroutines, or whose result is awaited. A call that is not in
the table fails the sweep, so that a new one is not forgotten.
"""

import argparse
import asyncio
import inspect
import json
import logging
import pathlib
import sys
import time
import urllib.request
import uuid

from hippolyzer.lib.base.datatypes import UUID, Vector2, Vector3
from hippolyzer.lib.base.message.circuit import Circuit
from hippolyzer.lib.base.message.message import Message
from hippolyzer.lib.base.network.caps_client import CapsClient
from hippolyzer.lib.base.templates import AssetType, PCode, TransferRequestParamsSimInvItem, TransferSourceType
from hippolyzer.lib.base.transfer_manager import TransferManager
from hippolyzer.lib.base.xfer_manager import UploadStrategy, XferManager
from hippolyzer.lib.client.asset_uploader import AssetUploader, MeshUploadDetails, UploadToken
from hippolyzer.lib.client.hippo_client import HippoClient, HippoClientRegion, HippoClientSession
from hippolyzer.lib.client.inventory_manager import InventoryManager
from hippolyzer.lib.client.object_manager import ClientObjectManager, ClientWorldObjectManager
from hippolyzer.lib.client.parcel_manager import ParcelManager

ENTER_S = 60.0
# hippolyzer gives up after 5 s at the soonest.
DEADLINE_S = 4.5
CLASSES = [
    HippoClient,
    HippoClientRegion,
    HippoClientSession,
    ClientObjectManager,
    ClientWorldObjectManager,
    ParcelManager,
    AssetUploader,
    InventoryManager,
    XferManager,
    TransferManager,
    CapsClient,
    Circuit,
]
AWAITED = ("Future", "Xfer", "Transfer", "RequestContextManager")
NOBODY = UUID("11111111-2222-3333-4444-555555555555")
# One for each call: once an id had a future of one kind, hippolyzer 0.15.6 cancels none of another kind at its KillObject.
UNKNOWN_SELECTED, UNKNOWN_REQUESTED = 4_242_424, 4_242_425
# A handle where no region is.
NOWHERE = 0x0000_FF00_0000_FF00


def public_calls() -> list[str]:
    """`Class.method` of every public call that may wait."""
    calls = []
    for holder in CLASSES:
        for name, function in inspect.getmembers(holder, inspect.isfunction):
            result = str(function.__annotations__.get("return", ""))
            waits = inspect.iscoroutinefunction(function) or any(word in result for word in AWAITED)
            if waits and not name.startswith("_"):
                calls.append(f"{holder.__name__}.{name}")
    return calls


class Sweep:
    """One client, and the calls on it."""

    def __init__(self, client: HippoClient):
        self.client = client
        self.session = client.session
        self.region = client.main_region
        self.objects = self.region.objects
        self.xfers = XferManager(self.region, self.session.secure_session_id)
        self.transfers = TransferManager(self.region, self.session.agent_id, self.session.id)
        self.uploader = AssetUploader(self.region)
        self.parcels = self.region.parcel_manager
        self.caps = self.region.caps_client

    def things(self) -> list:
        """Objects near by, none in an empty region. Avatars have no properties in the protocol."""
        return [thing for thing in self.objects.all_objects if thing.PCode == PCode.PRIMITIVE]

    async def fetch(self, context):
        """The status of an answer to a capability."""
        async with context as reply:
            await reply.read()
            return reply.status

    def table(self) -> dict:
        """Each call, or a sentence on why it is not made here."""
        world = self.session.objects
        upload = UploadToken(0, "NewFileAgentInventory", b"")
        mesh = MeshUploadDetails(b"", 1)
        return {
            "HippoClient.aclose": "ends the session; the last step",
            "HippoClient.login": "begins the session",
            "HippoClient.send_chat": lambda: self.client.send_chat("hello"),
            "HippoClient.teleport": lambda: self.client.teleport(NOWHERE, Vector3(1, 1, 1)),
            "HippoClientRegion.connect": "begins the session",
            "HippoClientRegion.complete_agent_movement": lambda: self.region.complete_agent_movement(),
            "ClientObjectManager.request_all_materials": lambda: self.objects.request_all_materials(),
            "ClientObjectManager.request_materials": lambda: self.objects.request_materials([NOBODY]),
            "ClientObjectManager.request_missing_objects": lambda: all_of(self.objects.request_missing_objects()),
            "ClientObjectManager.request_object_properties": lambda: all_of(
                self.objects.request_object_properties([*self.things()[:5], UNKNOWN_SELECTED])
            ),
            "ClientObjectManager.request_objects": lambda: all_of(
                self.objects.request_objects([thing.LocalID for thing in self.things()[:5]] + [UNKNOWN_REQUESTED])
            ),
            "ClientWorldObjectManager.load_ancestors": lambda: world.load_ancestors(self.own_object()),
            "ClientWorldObjectManager.request_missing_objects": lambda: all_of(world.request_missing_objects()),
            "ClientWorldObjectManager.request_object_properties": lambda: all_of(
                # Other objects than above: hippolyzer 0.15.6 ends its wait only when the reply brings something new.
                world.request_object_properties(self.things()[5:10])
            ),
            "ParcelManager.get_parcel_at": lambda: self.parcels.get_parcel_at(Vector2(64, 64)),
            "ParcelManager.request_all_parcels": lambda: self.parcels.request_all_parcels(),
            "ParcelManager.request_dirty_parcels": lambda: self.parcels.request_dirty_parcels(),
            "ParcelManager.request_parcel_properties": lambda: self.parcels.request_parcel_properties(Vector2(64, 64)),
            "AssetUploader.complete_upload": lambda: self.uploader.complete_upload(upload),
            "AssetUploader.initiate_asset_upload": lambda: self.uploader.initiate_asset_upload(
                "text", AssetType.NOTECARD, b"text"
            ),
            "AssetUploader.initiate_mesh_upload": lambda: self.uploader.initiate_mesh_upload("mesh", mesh),
            "XferManager.request": lambda: self.xfers.request(file_name="none.tmp"),
            "XferManager.serve_inbound_xfer_request": "a part of upload_asset",
            "XferManager.upload_asset": lambda: self.upload_both(),
            "TransferManager.request": lambda: self.transfers.request(
                source_type=TransferSourceType.SIM_INV_ITEM, params=self.item_params()
            ),
            "CapsClient.get": lambda: self.fetch(self.caps.get("SimulatorFeatures")),
            "CapsClient.post": lambda: self.fetch(self.caps.post("FetchInventory2", llsd={"items": []})),
            "CapsClient.put": lambda: self.fetch(self.caps.put("ExtEnvironment", data=b"")),
            "CapsClient.request": lambda: self.fetch(self.caps.request("GET", "SimulatorFeatures")),
            "Circuit.send_reliable": lambda: self.region.circuit.send_reliable(
                Message("EconomyDataRequest")
            ),
        }

    def own_object(self):
        return self.objects.lookup_fullid(self.session.agent_id)

    def item_params(self):
        return TransferRequestParamsSimInvItem(
            OwnerID=NOBODY, TaskID=NOBODY, ItemID=NOBODY, AssetID=NOBODY, AssetType=AssetType.NOTECARD
        )

    async def upload_both(self):
        """Within the request, and as a file of three packets."""
        kinds = (UploadStrategy.ASSET_UPLOAD_REQUEST, b"text"), (UploadStrategy.XFER, b"text" * 700)
        for strategy, data in kinds:
            upload = self.xfers.upload_asset(AssetType.NOTECARD, data, upload_strategy=strategy)
            try:
                await upload
            except RuntimeError:
                continue
            raise AssertionError(f"an upload was accepted: {strategy}")

    async def run(self) -> list[str]:
        """Makes all calls; says which did not end."""
        table = self.table()
        calls = public_calls()
        failures = [f"{name}: not in the table" for name in calls if name not in table]
        failures += [f"{name}: in the table, and not in the library" for name in table if name not in calls]
        for name, call in table.items():
            if isinstance(call, str):
                continue
            began = time.monotonic()
            try:
                await asyncio.wait_for(awaited(call), DEADLINE_S)
                outcome = "ok"
            except asyncio.TimeoutError:
                failures.append(f"{name}: has not ended within {DEADLINE_S:.0f} s")
                outcome = "late"
            except (Exception, asyncio.CancelledError) as error:
                outcome = f"error: {type(error).__name__} {str(error).splitlines()[:1]}"
            print(f"call name={name} ms={(time.monotonic() - began) * 1000:.0f} outcome={outcome}", flush=True)
        return failures


async def awaited(call):
    result = call()
    return await result


async def all_of(futures: list):
    """Ends when each future has: objects that do not exist are cancelled by their KillObject."""
    if futures:
        await asyncio.wait(futures)


def enter_instance(admin: str, data: str, template: str, name: str) -> None:
    """Has the operator make an instance, and sends a user into it."""
    token = (pathlib.Path(data) / "admin.token").read_text().strip()

    def post(path: str, body: dict) -> dict:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{admin}/v1/worlds{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=ENTER_S) as reply:
            return json.load(reply)

    made = post("", {"template": template, "name": f"{template} {uuid.uuid4().hex[:8]}"})
    post(f"/{made['id']}/enter", {"user": {"name": name}})


async def sweep(arguments) -> list[str]:
    name = "Hipposweep Tester"
    client = HippoClient()
    await asyncio.wait_for(
        client.login(name, "correct horse", login_uri=arguments.login, agree_to_tos=True), ENTER_S
    )
    await until(lambda: client.main_region.objects.lookup_fullid(client.session.agent_id), "own avatar is shown")
    if arguments.template:
        await asyncio.to_thread(enter_instance, arguments.admin, arguments.data, arguments.template, name)
        await until(lambda: len(list(client.main_region.objects.all_objects)) > 10, "the instance is shown")
    try:
        return await Sweep(client).run()
    finally:
        await client.aclose()


async def until(condition, what: str) -> None:
    async def poll():
        while not condition():
            await asyncio.sleep(0.05)

    try:
        await asyncio.wait_for(poll(), ENTER_S)
    except asyncio.TimeoutError:
        raise AssertionError(f"not within {ENTER_S:.0f} s: {what}") from None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--login", required=True)
    parser.add_argument("--template")
    parser.add_argument("--admin")
    parser.add_argument("--data")
    logging.basicConfig(level=logging.ERROR)
    failures = asyncio.run(sweep(parser.parse_args()))
    for failure in failures:
        print(f"fault {failure}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
