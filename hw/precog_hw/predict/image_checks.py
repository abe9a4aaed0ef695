"""Checks of an image that was loaded: its length, CRC, contract hash, header and tree.

Latency: `good` and `outcome` follow the last word and the header by two cycles.
"""

from enum import IntEnum

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data

from precog_spec.config import NicConfig
from precog_spec.contract import CONTRACT_HASH, MAX_INPUTS, MAX_OUTPUTS, TREE_DEPTH, Cell, HeadKind

from .tree_check import TreeCheck

__all__ = ["IMAGE_WORDS", "LoadStatus", "header_limits", "image_outcome"]

IMAGE_WORDS = 512


class LoadStatus(IntEnum):
    """What became of the last load, as the register map's `LOAD_STATUS` has it."""

    IDLE = 0
    LOADING = 1
    OK = 2
    BAD_CRC = 3
    BAD_LENGTH = 4
    BAD_CONTRACT = 5
    BAD_HEADER = 6
    SET_IN_USE = 7
    NOT_BEGUN = 8
    BAD_TREE = 9


def header_limits(config: NicConfig, header: data.View) -> tuple[tuple[str, Value, int], ...]:
    """Name, value and largest value of the header's sizes; the smallest value is 1."""
    return (
        ("inputs", header[0][0:8], MAX_INPUTS),
        ("steps", header[0][8:16], config.steps),
        ("outputs", header[0][16:24], MAX_OUTPUTS),
    )


def image_outcome(
    m: Module,
    config: NicConfig,
    *,
    taken: data.View,
    header: data.View,
    count: Value,
    crc: Value,
    wanted: Value,
) -> tuple[Signal, Signal]:
    """Add the checks to `m`.

    Parameters
    ----------
    m : Module
    config : NicConfig
        With `tree`, `m` gets a submodule `tree_check`.
    taken : view of image_word_layout
        Words of the image, as they come.
    header : view of 4 words
        The header, from the words so far.
    count : Value
        Words since the load began.
    crc, wanted : Value
        CRC-32 of the words, and the expected one.

    Returns
    -------
    outcome : Signal(4)
        A `LoadStatus`: the first check that failed, or OK.
    good : Signal(1)
        All checks passed.
    """
    limits = header_limits(config, header)
    cell_fits: Value = header[3] == Cell.LSTM
    faulty: Value = Const(0)
    if config.tree:
        m.submodules.tree_check = check = TreeCheck(config)
        m.d.comb += [check.i.eq(taken), check.steps.eq(header[0][8:16])]
        depth, of_tree = header[3][8:], header[0][24:] == HeadKind.QUEUE
        is_tree = (header[3][:8] == Cell.TREE) & (depth != 0) & (depth <= TREE_DEPTH)
        cell_fits = Mux(of_tree, is_tree, cell_fits)
        faulty = of_tree & check.fault
    good_header = Signal()
    good_tree = Signal()
    good_crc = Signal()
    good_contract = Signal()
    good_length = Signal()
    ranges = [(value != 0) & (value <= limit) for _, value, limit in limits]
    m.d.sync += [
        good_header.eq(
            ranges[0] & ranges[1] & ranges[2] & (header[0][24:] <= max(HeadKind)) & cell_fits
        ),
        good_tree.eq(~faulty),
        good_crc.eq(crc == wanted),
        good_contract.eq(header[2] == CONTRACT_HASH),
        good_length.eq(count == IMAGE_WORDS),
    ]
    outcome = Signal(4)
    good = Signal()
    m.d.sync += good.eq(good_length & good_crc & good_contract & good_header & good_tree)
    with m.If(~good_length):
        m.d.sync += outcome.eq(LoadStatus.BAD_LENGTH)
    with m.Elif(~good_crc):
        m.d.sync += outcome.eq(LoadStatus.BAD_CRC)
    with m.Elif(~good_contract):
        m.d.sync += outcome.eq(LoadStatus.BAD_CONTRACT)
    with m.Elif(~good_header):
        m.d.sync += outcome.eq(LoadStatus.BAD_HEADER)
    with m.Elif(~good_tree):
        m.d.sync += outcome.eq(LoadStatus.BAD_TREE)
    with m.Else():
        m.d.sync += outcome.eq(LoadStatus.OK)
    return outcome, good
