"""The application block as Corundum runs it: registers, packets with tags and time stamps, CNPs."""

import random
from collections.abc import Iterator

import pytest

from precog_host.device import Device
from precog_host.transport import BusError
from precog_hw.corundum.interface import PORTS
from precog_models.packet.card import Card, CardConfig
from precog_sim.rtl.packet_nic import PacketNic
from precog_spec.frames.opcodes import CNP

from ..models.packet.frames import A_ADDRESS, A_QP, B4, B_QP, packet
from .corundum_bench import (
    CNP_TAG,
    PORT_COUNT,
    TAG_BITS,
    TS_BITS,
    Bench,
    Frame,
    Run,
    completions,
    transport,
)
from .packet_bench import CONFIG, TICK_PS

BOOT_CYCLES = 6000  # until every table is empty, with room
OPCODE = 42  # where it stands in a RoCEv2 frame over IPv4 without tags
pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic")]


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(CONFIG, TICK_PS)
    yield made
    made.close()


def wait(bench: Bench) -> None:
    """Until the NIC takes packets."""
    for _ in range(BOOT_CYCLES // 10):
        bench.tick(10)
        if bench.nic.peek("s_axis_rx_tready"):
            bench.tick(2)
            return
    raise AssertionError("the NIC must take packets")


def some(rng: random.Random, count: int, bits: int, longest: int = 200) -> list[Frame]:
    """Of any length and content, some of them bad, each with something beside it."""
    return [
        Frame(
            rng.randbytes(rng.randrange(1, longest)),
            rng.randrange((1 << bits) - 1),
            rng.random() < 0.1,
        )
        for _ in range(count)
    ]


def account(run: Run) -> None:
    """Every completion that is the host's comes back, in order, and no other."""
    assert run.completions == completions(run.sent)


def test_from_reset_to_traffic(bench: Bench, seed: int) -> None:
    """What comes before the NIC is ready passes; then all goes through it, and keeps its side."""
    rng = random.Random(seed)
    early = some(rng, 12, TS_BITS, 60)
    assert bench.run(rx=early, rng=rng, idle=0.3, stall=0.3, settle=20).rx == early
    assert not bench.nic.peek("s_axis_rx_tready")
    wait(bench)
    out, back = some(rng, 20, TAG_BITS), some(rng, 24, TS_BITS)
    run = bench.run(tx=out, rx=back, rng=rng, idle=0.3, stall=0.3)
    assert run.tx == out
    assert run.rx == back
    assert [tag for tag, _ in run.completions] == [frame.side for frame in out]
    account(run)
    with Device(transport(bench)) as device:
        assert device.packet is not None
        counters = device.packet.counters()
        assert sum(counters["rx"].values()) == len(back)
        assert sum(counters["tx"].values()) == len(out)


def test_packets_arrive_while_the_nic_becomes_ready(bench: Bench, seed: int) -> None:
    """The way through the NIC opens between two packets of a stream that never pauses."""
    rng = random.Random(seed)
    probe = PacketNic(CONFIG, tick_ps=TICK_PS).block
    while not probe.peek("s_axis_rx_tready"):
        probe.tick()
    bench.nic.tick(probe.cycles - rng.randrange(20, 40))  # its pins have been idle
    probe.close()
    frames = some(rng, 60, TS_BITS, 60)
    run = bench.run(rx=frames, rng=rng)
    assert run.rx == frames
    with Device(transport(bench)) as device:
        assert device.packet is not None
        assert 0 < sum(device.packet.counters()["rx"].values()) < len(frames)


def test_registers(bench: Bench, seed: int) -> None:
    """Our identity at 0; holes, and all that lies beyond the map, are refused and wedge nothing."""
    rng = random.Random(seed)
    host = transport(bench)
    first = host.read32(0)
    outside = [1 << 16, (1 << 24) - 4, *(rng.randrange(1 << 14, 1 << 22) * 4 for _ in range(5))]
    for address in outside:
        with pytest.raises(BusError, match="SLVERR"):
            host.read32(address)
        with pytest.raises(BusError, match="SLVERR"):
            host.write32(address, rng.getrandbits(32))
        assert host.axil_read(address) == (0, 2)
    assert host.read32(0) == first
    with Device(host) as device:
        assert device.qp(1).status() is not None


def test_scores_cnps_and_what_is_dropped(bench: Bench, seed: int) -> None:
    """Shims leave and arrive, marks make CNPs, frames vanish: tags and times stay with theirs."""
    rng = random.Random(seed)
    wait(bench)
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    peer.add(0, A_ADDRESS, A_QP, B_QP, score=64)
    with Device(transport(bench)) as device:
        assert device.packet is not None
        device.packet.bind(1, B4, remote_qp=B_QP, local_qp=A_QP, score=37)
        device.packet.set_parameters(enabled=1, interval_ticks=1, drop_malformed=1)
        out = [
            Frame(packet(rng.randbytes(rng.randrange(99)), psn=psn), rng.randrange(CNP_TAG))
            for psn in range(12)
        ]
        back, expected = [], []
        for psn in range(20):
            plain = packet(rng.randbytes(rng.randrange(99)), psn=psn, back=True, ip={"tos": 3})
            frame = bytearray(peer.transmit(plain, psn, psn).frame)
            stamp = rng.getrandbits(TS_BITS)
            spoilt = rng.random() < 0.3
            if spoilt:
                frame[OPCODE + rng.randrange(8)] ^= 1 << rng.randrange(8)
            else:
                expected.append(Frame(plain, stamp))
            back.append(Frame(bytes(frame), stamp))
        run = bench.run(tx=out, rx=back, rng=rng, idle=0.2, stall=0.2)
        assert run.rx == expected
        account(run)
        ours = [frame for frame in run.tx if frame.side == CNP_TAG]
        hosts = [frame for frame in run.tx if frame.side != CNP_TAG]
        assert [frame.side for frame in hosts] == [frame.side for frame in out]
        restored = [peer.receive(frame.data, 0, 0).received.frame for frame in hosts]
        assert restored == [frame.data for frame in out]
        for frame in ours:
            assert len(frame.data) in (74, 82)
            assert peer.receive(frame.data, 0, 0).received.descriptor.opcode == CNP
        counters = device.packet.counters()["events"]
        assert len(ours) == counters["cnp_sent"]
        assert counters["dropped"] == len(back) - len(expected)
        assert sum(tag == CNP_TAG for tag, _ in run.sent) == len(ours)


def test_no_row_of_time_stamps_is_needed_twice(bench: Bench, seed: int) -> None:
    """As many packets as the NIC holds at all, of one beat each: fewer than there are rows."""
    rng = random.Random(seed)
    wait(bench)
    frames = some(rng, 150, TS_BITS, 9)
    bench.put("m_axis_sync_rx_tready", 0)
    bench.put("s_axis_sync_rx_tvalid", 1)
    bench.put("s_axis_sync_rx_tlast", 1)
    held = 0
    for cycle in range(300):
        frame = frames[held]
        bench.put("s_axis_sync_rx_tdata", int.from_bytes(frame.data, "little"))
        bench.put("s_axis_sync_rx_tkeep", (1 << len(frame.data)) - 1)
        bench.put("s_axis_sync_rx_tuser", frame.side << 1 | frame.bad)
        bench.settle()
        held += bench.get("s_axis_sync_rx_tready")
        bench.tick()
        assert held < 64, cycle
    assert held >= 8
    run = bench.run(rx=frames[held:], rng=rng)
    assert run.rx == frames


def test_everything_else_passes_or_is_answered(bench: Bench, seed: int) -> None:
    """Random inputs at all ports but the registers and the NIC's: each output is one of few."""
    rng = random.Random(seed)
    outputs = [port.name for port in PORTS if not port.inward]
    free = [
        port.name
        for port in PORTS
        if port.inward and not re_own(port.name) and port.name not in ("clk", "rst")
    ]
    for _ in range(5):
        for name in free:
            size = bench.bytes_of(name)
            bits = bench.bits_of(name, CONFIG.width)
            assert (bits + 7) // 8 <= size
            bench.poke(**{name: rng.getrandbits(bits)})
        bench.settle()
        seen = {name: bench.peek(name) for name in (*free, *outputs)}
        for name in outputs:
            if re_own(name):
                continue
            bits = bench.bits_of(name, CONFIG.width)
            ones = (1 << bits) - 1
            if "_axis_direct_" in name or "_axis_if_" in name:
                other = ("m" if name[0] == "s" else "s") + name[1:]
                assert seen[name] == seen[other], name
            elif name.startswith(("ctrl_dma_ram", "data_dma_ram")):
                ram, what = name[:13], name[13:]
                expected = {
                    **{"wr_cmd_ready": ones, "wr_done": seen[f"{ram}wr_cmd_valid"]},
                    "rd_cmd_ready": seen[f"{ram}rd_resp_ready"],
                    **{"rd_resp_data": 0, "rd_resp_valid": seen[f"{ram}rd_cmd_valid"]},
                }
                assert seen[name] == expected[what], name
            elif name == "jtag_tdo":
                assert seen[name] == seen["jtag_tdi"]
            elif name.endswith(("bready", "rready")):
                assert seen[name] == ones, name
            else:
                assert seen[name] == 0, name
    past_the_nic(bench, rng)


def re_own(name: str) -> bool:
    """A port of the registers, or of the packets of a port with a NIC."""
    return name.startswith("s_axil_app_ctrl") or "_axis_sync_" in name


def past_the_nic(bench: Bench, rng: random.Random) -> None:
    """The second port has none: wires."""
    assert PORT_COUNT == 2
    pairs = [
        (port.name, ("m" if port.name[0] == "s" else "s") + port.name[1:])
        for port in PORTS
        if port.inward and "_axis_sync_" in port.name
    ]
    for _ in range(20):
        for name, _ in pairs:
            bench.put(name, rng.getrandbits(bench.part(name)), port=1)
        bench.settle()
        for name, other in pairs:
            assert bench.get(other, port=1) == bench.get_input(name, port=1), name
