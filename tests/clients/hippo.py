"""Two hippolyzer clients enter, meet, talk, walk, travel and leave.

The script checks what hippolyzer decoded, never raw bytes: hippolyzer is the second opinion on them. Every wait is on a
condition that is looked at again after each message, with a deadline. Anything hippolyzer logs as a warning or worse is
a fault, because that is how it reports a message it could not use.
"""

import argparse
import asyncio
import json
import logging
import sys
import urllib.parse
import urllib.request

from hippolyzer.lib.base.datatypes import Quaternion, Vector3
from hippolyzer.lib.base.message.message import Block, Message
from hippolyzer.lib.base.message.msgtypes import PacketFlags
from hippolyzer.lib.base.templates import AgentControlFlags
from hippolyzer.lib.client.hippo_client import HippoClient
from hippolyzer.lib.client.object_manager import LocationType

DEADLINE_S = 60.0
KEY_REPEAT_S = 0.1
WALK_M = 5.0
SAME_PLACE_M = 0.5
# A handle where no region is.
NOWHERE = 0x0000_FF00_0000_FF00
STANDING_M_PER_S = 0.05


class Person:
    """One client, and what it has seen and heard."""

    def __init__(self, first: str):
        self.name = f"{first} Tester"
        self.client = HippoClient()
        self.chats: list[tuple[str, str]] = []
        self._changed = asyncio.Condition()

    async def enter(self, login_uri: str) -> None:
        login = self.client.login(self.name, "correct horse", login_uri=login_uri, agree_to_tos=True, connect=False)
        await asyncio.wait_for(login, DEADLINE_S)
        self.session = self.client.session
        self.session.message_handler.subscribe("ChatFromSimulator", self._on_chat)
        self.session.message_handler.subscribe("*", self._on_any)
        await asyncio.wait_for(self.session.regions[-1].connect(main_region=True), DEADLINE_S)

    async def until(self, what: str, condition):
        """The first truthy value of `condition`, or an error that names `what`."""

        async def wait():
            async with self._changed:
                return await self._changed.wait_for(condition)

        try:
            return await asyncio.wait_for(wait(), DEADLINE_S)
        except asyncio.TimeoutError:
            raise AssertionError(f"{self.name}: not within {DEADLINE_S:.0f} s: {what}") from None

    @property
    def region(self):
        return self.client.main_region

    def sees(self, other: "Person"):
        """The other's object as decoded here, or None while it is known from the map only."""
        avatar = self.region.objects.lookup_avatar(other.session.agent_id)
        return avatar.Object if avatar and avatar.LocationType == LocationType.EXACT else None

    def knows(self, other: "Person") -> bool:
        return self.region.objects.lookup_avatar(other.session.agent_id) is not None

    async def knows_parcels(self) -> None:
        await asyncio.wait_for(self.region.parcel_manager.parcels_downloaded.wait(), DEADLINE_S)

    async def walk(self, observers: list["Person"]) -> tuple[Vector3, Vector3]:
        """Walks until all observers saw it go WALK_M; returns where it began and where it stands for itself."""
        start = self.sees(self).Position
        moved = lambda person: distance(person.sees(self).Position, start) > WALK_M
        keys = asyncio.create_task(self._hold(AgentControlFlags.AT_POS))
        try:
            for person in observers:
                await person.until(f"{self.name} walks", lambda: moved(person))
        finally:
            keys.cancel()
        self._send_keys(AgentControlFlags(0), reliable=True)
        await self.until("own avatar stands", lambda: standing(self.sees(self)))
        return start, self.sees(self).Position

    async def handle_of(self, region_name: str) -> int:
        """The region's handle as the map tells it."""
        reply = self.session.message_handler.wait_for(
            ("MapBlockReply",),
            predicate=lambda m: any(text(block["Name"]) == region_name for block in m["Data"]),
            timeout=DEADLINE_S,
        )
        ids = {"AgentID": self.session.agent_id, "SessionID": self.session.id}
        await self.client.main_circuit.send_reliable(
            Message(
                "MapNameRequest",
                Block("AgentData", **ids, Flags=2, EstateID=0, Godlike=False),
                Block("NameData", Name=region_name),
            )
        )
        block = next(b for b in (await reply)["Data"] if text(b["Name"]) == region_name)
        return (block["X"] * 256) << 32 | block["Y"] * 256

    async def _hold(self, flags: AgentControlFlags) -> None:
        while True:
            self._send_keys(flags)
            await asyncio.sleep(KEY_REPEAT_S)

    def _send_keys(self, flags: AgentControlFlags, reliable: bool = False) -> None:
        upright = Quaternion(0.0, 0.0, 0.0, 1.0)
        self.client.main_circuit.send(
            Message(
                "AgentUpdate",
                Block(
                    "AgentData",
                    AgentID=self.session.agent_id,
                    SessionID=self.session.id,
                    BodyRotation=upright,
                    HeadRotation=upright,
                    ControlFlags_=flags,
                    fill_missing=True,
                ),
                flags=PacketFlags.RELIABLE if reliable else PacketFlags(0),
            )
        )

    def _on_chat(self, message: Message) -> None:
        chat = message["ChatData"]
        self.chats.append((text(chat["FromName"]), text(chat["Message"])))

    def _on_any(self, _message: Message) -> None:
        asyncio.get_running_loop().create_task(self._wake())

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()


async def visit(login_uri: str) -> None:
    with urllib.request.urlopen(urllib.parse.urljoin(login_uri, "/api/info"), timeout=DEADLINE_S) as reply:
        region_names = [region["name"] for region in json.load(reply)["regions"]]
    ann, ben = Person("Hippoann"), Person("Hippoben")

    await asyncio.gather(ann.enter(login_uri), ben.enter(login_uri))
    await ann.until("sees both", lambda: ann.sees(ann) and ann.sees(ben))
    await ben.until("sees both", lambda: ben.sees(ann) and ben.sees(ben))
    assert ann.sees(ben).NameValue.to_dict()["FirstName"] == "Hippoben", ann.sees(ben).NameValue
    for person in (ann, ben):
        await person.knows_parcels()
    say("two clients entered, know their parcel and see each other")

    for speaker, listener, words in ((ann, ben, "Grüße, 世界 👋"), (ben, ann, "zurück!")):
        await speaker.client.send_chat(words)
        await listener.until(f"hears {words!r}", lambda: (speaker.name, words) in listener.chats)
    say("they talked")

    start, end = await ann.walk([ann, ben])
    same_place = lambda: standing(ben.sees(ann)) and distance(ben.sees(ann).Position, end) < SAME_PLACE_M
    await ben.until("the walker stopped where it stands", same_place)
    say(f"one walked {distance(start, end):.1f} m and stopped at the same place for both")

    failed = None
    try:
        await asyncio.wait_for(ann.client.teleport(NOWHERE, Vector3(1, 1, 1)), DEADLINE_S)
    except RuntimeError as error:
        failed = str(error)
    assert failed == "Failed to teleport", failed
    await ann.client.send_chat("still here")
    await ben.until("hears who could not travel", lambda: (ann.name, "still here") in ben.chats)
    say("one could not travel to nowhere and goes on")

    home = ann.region.name
    away = next(name for name in region_names if name != home)
    await ann.client.teleport(await ann.handle_of(away), Vector3(100, 100, 40))
    assert ann.region.name == away, ann.region.name
    await ann.until("own avatar elsewhere", lambda: ann.sees(ann))
    await ann.knows_parcels()
    await ben.until("the traveller is gone", lambda: not ben.sees(ann))
    await ann.client.teleport(await ann.handle_of(home), Vector3(128, 128, 40))
    await ben.until("the traveller is back", lambda: ben.sees(ann))
    say(f"one travelled to {away} and back")

    # Closing the client under its own request would be reported as a failure of that, here as on the way home.
    await ann.knows_parcels()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "Request All Materials"))
    await ann.client.aclose()
    await ben.until("the other has left", lambda: not ben.knows(ann))
    await ben.client.aclose()
    say("both left")


def standing(avatar) -> bool:
    return distance(avatar.Velocity, Vector3(0, 0, 0)) < STANDING_M_PER_S


def distance(a: Vector3, b: Vector3) -> float:
    return ((a.X - b.X) ** 2 + (a.Y - b.Y) ** 2 + (a.Z - b.Z) ** 2) ** 0.5


def text(value) -> str:
    return (value if isinstance(value, str) else value.decode("utf8")).rstrip("\0")


def say(words: str) -> None:
    print(f"hippolyzer: {words}", flush=True)


class Faults(logging.Handler):
    """Collects what hippolyzer complains about."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        # hippolyzer 0.15.6 has room for the four overlay messages of a 256 m region; a larger one has more.
        if record.getMessage() == "Failed in handler for ParcelOverlay" and record.exc_info[0] is IndexError:
            return
        self.lines.append(self.format(record))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--login", required=True, help="login URI of the server")
    faults = Faults()
    logging.basicConfig(level=logging.WARNING, handlers=[faults])
    try:
        asyncio.run(visit(parser.parse_args().login))
    finally:
        for line in faults.lines:
            print(f"hippolyzer complains: {line}", file=sys.stderr)
    return 1 if faults.lines else 0


if __name__ == "__main__":
    sys.exit(main())
