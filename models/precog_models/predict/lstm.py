"""The integer LSTM, bit for bit what the gateware computes; and its image of 2048 bytes.

Equations (4)-(8) of the thesis with hidden size 16, unrolled over T inputs, then a linear head.
Formats and image layout are `contract`'s. Where a sum is rounded and saturated is chosen so that
the hardware needs one adder for each:

    P_1 = b,  P_{k+1} = sat16((Wh . h_k) / 2**(4 + sh_h) + b)     PRE; h has 15 fraction bits
    pre = P_k + (Wx . x_k) / 2**(1 + sh_x)                        x has 12 fraction bits
    i, f, o = sigmoid(pre);  g = tanh(pre)
    s_k = 2**3 * f * c_{k-1} + i * g                              31 fraction bits, exact
    c_k = s_k / 2**19                                             C
    h_k = o * tanh(s_k / 2**15) / 2**16                           both floor: wires
    out = sat16((Wl . h_T) / 2**(3 + sh_l) + bl)                  OUT

Divisions round to nearest, ties up, unless said otherwise. `pre` needs no limit, since the
activations saturate; c needs none, since |c_k| grows by less than 1 a step and T <= 8.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import (
    CONTRACT_HASH,
    HEAD_ROWS,
    HEADER_OFFSET,
    HIDDEN,
    IMAGE_BYTES,
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_SHIFT,
    MAX_STEPS,
    ROW_BYTES,
    Fmt,
    HeadKind,
)

from ..fixed import saturate, shift_half_up
from ..jit import njit
from .activation import sigmoid_q, tanh_q

__all__ = [
    "LstmWeights",
    "cell",
    "forward",
    "forward_stream",
    "forward_windows",
    "head",
    "pack",
    "recur",
    "unpack",
]

_GATES = 4 * HIDDEN
_HEADER = struct.Struct("<BBBBII12x")
_FRAC_PRE = Fmt.PRE.frac_bits
_FRAC_TANH = 16  # the argument of the cell's tanh keeps these, so that it need not be rounded
_SHIFT_H = Fmt.H.frac_bits - Fmt.PRE.frac_bits
_SHIFT_X = Fmt.X.frac_bits - Fmt.PRE.frac_bits
_SHIFT_L = Fmt.H.frac_bits - Fmt.OUT.frac_bits
_ALIGN_C = Fmt.H.frac_bits - Fmt.C.frac_bits  # i * g has that many bits more than f * c
_SHIFT_C = 16 + _ALIGN_C  # the gates' 16 fraction bits and the alignment
_SHIFT_TANH = 16 + Fmt.H.frac_bits - _FRAC_TANH
_SHIFT_O = 16

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LstmWeights:
    """A model's integers. Gate row r = gate * 16 + unit, gates in the order i, f, g, o."""

    wh: Ints  # [64, 16] int8 range; real value w * 2**-sh_h[row]
    wx: Ints  # [64, 8] int8 range; columns from `inputs` on are zero
    b: Ints  # [64] PRE
    sh_h: Ints  # [64] 0..7
    sh_x: Ints  # [64] 0..7
    wl: Ints  # [16, 16] int8 range; rows from `outputs` on are zero
    bl: Ints  # [16] OUT
    sh_l: Ints  # [16] 0..7
    inputs: int
    steps: int
    outputs: int
    kind: HeadKind = HeadKind.RTT
    version: int = 0
    contract_hash: int = CONTRACT_HASH

    def __post_init__(self) -> None:
        for name, value, high in (
            ("inputs", self.inputs, MAX_INPUTS),
            ("steps", self.steps, MAX_STEPS),
            ("outputs", self.outputs, MAX_OUTPUTS),
        ):
            if not 1 <= value <= high:
                raise ValueError(f"{name} must be in 1..{high}, not {value!r}")
        if not 0 <= self.version < 1 << 32:
            raise ValueError(f"version must be a 32-bit unsigned number, not {self.version!r}")
        if self.contract_hash != CONTRACT_HASH:
            raise ValueError(
                f"contract hash must be {CONTRACT_HASH:#010x}, not {self.contract_hash:#010x}: "
                "the model was made for other formats, quantize it again"
            )
        byte = (-128, 127)
        shift = (0, MAX_SHIFT)
        for name, shape, (low, high) in (
            ("wh", (_GATES, HIDDEN), byte),
            ("wx", (_GATES, MAX_INPUTS), byte),
            ("b", (_GATES,), (Fmt.PRE.min, Fmt.PRE.max)),
            ("sh_h", (_GATES,), shift),
            ("sh_x", (_GATES,), shift),
            ("wl", (MAX_OUTPUTS, HIDDEN), byte),
            ("bl", (MAX_OUTPUTS,), (Fmt.OUT.min, Fmt.OUT.max)),
            ("sh_l", (MAX_OUTPUTS,), shift),
        ):
            array = getattr(self, name)
            if array.dtype != np.int64:
                raise TypeError(f"{name} must be an int64 array, not {array.dtype}")
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
            if array.min() < low or array.max() > high:
                raise ValueError(
                    f"{name} must lie in {low}..{high}, not {array.min()}..{array.max()}"
                )
        if self.wx[:, self.inputs :].any():
            raise ValueError(f"wx must be zero from input {self.inputs} on")
        if any(array[self.outputs :].any() for array in (self.wl, self.bl, self.sh_l)):
            raise ValueError(f"wl, bl and sh_l must be zero from output {self.outputs} on")


def pack(weights: LstmWeights) -> bytes:
    """The image of a model: 2048 bytes in `contract`'s layout."""
    w = weights
    rows = np.zeros((32, ROW_BYTES), dtype=np.uint8)
    rows[0:16] = w.wh.T.astype(np.int8).view(np.uint8)
    rows[16:24] = w.wx.T.astype(np.int8).view(np.uint8)
    rows[24:26] = np.frombuffer(w.b.astype("<i2").tobytes(), dtype=np.uint8).reshape(2, -1)
    rows[26] = w.sh_h | w.sh_x << 4
    rows[slice(*HEAD_ROWS)] = w.wl.astype(np.int8).view(np.uint8).reshape(4, -1)
    tail = w.bl.astype("<i2").tobytes()
    tail += (w.sh_l[0::2] | w.sh_l[1::2] << 4).astype(np.uint8).tobytes()
    tail += _HEADER.pack(w.inputs, w.steps, w.outputs, w.kind, w.version, w.contract_hash)
    return rows[:31].tobytes() + tail


def unpack(image: bytes) -> LstmWeights:
    """The model of an image.

    Raises
    ------
    ValueError
        Wrong length, contract hash, header field, shift, or a non-zero unused byte.
    """
    if len(image) != IMAGE_BYTES:
        raise ValueError(f"a model image must have {IMAGE_BYTES} bytes, not {len(image)}")
    rows = np.frombuffer(image, dtype=np.uint8).reshape(32, ROW_BYTES)
    inputs, steps, outputs, kind, version, contract_hash = _HEADER.unpack_from(image, HEADER_OFFSET)
    if kind not in tuple(HeadKind):
        raise ValueError(f"head kind must be one of {[int(k) for k in HeadKind]}, not {kind!r}")
    tail = rows[31]
    nibbles = np.stack([tail[32:40] & 15, tail[32:40] >> 4], axis=1).reshape(-1)
    weights = LstmWeights(
        wh=rows[0:16].view(np.int8).T.astype(np.int64),
        wx=rows[16:24].view(np.int8).T.astype(np.int64),
        b=rows[24:26].reshape(-1).view("<i2").astype(np.int64),
        sh_h=(rows[26] & 15).astype(np.int64),
        sh_x=(rows[26] >> 4).astype(np.int64),
        wl=rows[slice(*HEAD_ROWS)].view(np.int8).reshape(MAX_OUTPUTS, HIDDEN).astype(np.int64),
        bl=tail[:32].view("<i2").astype(np.int64),
        sh_l=nibbles.astype(np.int64),
        inputs=inputs,
        steps=steps,
        outputs=outputs,
        kind=HeadKind(kind),
        version=version,
        contract_hash=contract_hash,
    )
    if pack(weights) != image:
        raise ValueError("unused bytes of a model image must be zero")
    return weights


@njit
def cell(wx: Ints, sh_x: Ints, x: Ints, p: Ints, c: Ints, h: Ints) -> None:
    """One element-wise pass: `p` [64], `c` [16] and `x` [8] to the new `c` and `h`, in place."""
    for u in range(HIDDEN):
        pre0 = pre1 = pre2 = pre3 = 0
        for gate in range(4):
            r = gate * HIDDEN + u
            acc = 0
            for i in range(MAX_INPUTS):
                acc += wx[r, i] * x[i]
            pre = p[r] + shift_half_up(acc, _SHIFT_X + sh_x[r])
            if gate == 0:
                pre0 = pre
            elif gate == 1:
                pre1 = pre
            elif gate == 2:
                pre2 = pre
            else:
                pre3 = pre
        ig = sigmoid_q(pre0) * tanh_q(pre2, _FRAC_PRE)
        s = (sigmoid_q(pre1) * c[u] << _ALIGN_C) + ig
        c[u] = shift_half_up(s, _SHIFT_C)
        h[u] = (sigmoid_q(pre3) * tanh_q(s >> _SHIFT_TANH, _FRAC_TANH)) >> _SHIFT_O


@njit
def recur(wh: Ints, b: Ints, sh_h: Ints, h: Ints, p: Ints) -> None:
    """The recurrent product: `p` [64] of the next step from `h` [16]."""
    for r in range(_GATES):
        acc = 0
        for j in range(HIDDEN):
            acc += wh[r, j] * h[j]
        p[r] = saturate(shift_half_up(acc, _SHIFT_H + sh_h[r]) + b[r], 16)


@njit
def head(wl: Ints, bl: Ints, sh_l: Ints, h: Ints, outputs: int, out: Ints) -> None:
    """The linear head: `out` [16] from `h` [16]; entries from `outputs` on become zero."""
    out[:] = 0
    for o in range(outputs):
        acc = 0
        for j in range(HIDDEN):
            acc += wl[o, j] * h[j]
        out[o] = saturate(shift_half_up(acc, _SHIFT_L + sh_l[o]) + bl[o], 16)


@njit
def forward(
    wh: Ints,
    wx: Ints,
    b: Ints,
    sh_h: Ints,
    sh_x: Ints,
    wl: Ints,
    bl: Ints,
    sh_l: Ints,
    x: Ints,
    steps: int,
    outputs: int,
    out: Ints,
) -> None:
    """Run `steps` steps over the rows of `x` [>= steps, 8], oldest first, into `out` [16].

    Weights as in `LstmWeights`, scalars and int64 arrays so that compiled callers can use it.
    """
    p = b.copy()
    c = np.zeros(HIDDEN, dtype=np.int64)
    h = np.zeros(HIDDEN, dtype=np.int64)
    for k in range(steps):
        if k:
            recur(wh, b, sh_h, h, p)
        cell(wx, sh_x, x[k], p, c, h)
    head(wl, bl, sh_l, h, outputs, out)


@njit
def _forward_many(
    wh: Ints,
    wx: Ints,
    b: Ints,
    sh_h: Ints,
    sh_x: Ints,
    wl: Ints,
    bl: Ints,
    sh_l: Ints,
    x: Ints,
    steps: int,
    outputs: int,
    out: Ints,
) -> None:
    for n in range(x.shape[0]):
        forward(wh, wx, b, sh_h, sh_x, wl, bl, sh_l, x[n], steps, outputs, out[n])


def forward_windows(weights: LstmWeights, x: Ints) -> Ints:
    """Predict from many windows.

    Parameters
    ----------
    weights : LstmWeights
        The model.
    x : ndarray of int64, shape (n, steps, 8)
        Inputs in X's format, oldest first.

    Returns
    -------
    ndarray of int64, shape (n, 16)
        Outputs in OUT's format.
    """
    w = weights
    if x.ndim != 3 or x.shape[1:] != (w.steps, MAX_INPUTS):
        raise ValueError(f"x must have shape (n, {w.steps}, {MAX_INPUTS}), not {x.shape}")
    out = np.zeros((len(x), MAX_OUTPUTS), dtype=np.int64)
    _forward_many(w.wh, w.wx, w.b, w.sh_h, w.sh_x, w.wl, w.bl, w.sh_l, x, w.steps, w.outputs, out)
    return out


def forward_stream(weights: LstmWeights, x: Ints) -> Ints:
    """Predict after each of a queue pair's samples `x` [n, 8]; the past before the first is zero.

    Returns
    -------
    ndarray of int64, shape (n, 16)
        Outputs in OUT's format.
    """
    past = np.zeros((weights.steps - 1, MAX_INPUTS), dtype=np.int64)
    padded = np.concatenate([past, x])
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.steps, axis=0)
    return forward_windows(weights, np.ascontiguousarray(windows.transpose(0, 2, 1)))
