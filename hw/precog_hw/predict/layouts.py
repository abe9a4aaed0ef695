"""Shapes of the LSTM engine: what its pieces hand to each other, and the sizes that follow.

A *unit* is one of the 16 cells; a *quad* four neighbouring units, one 32-bit word of an image row
per gate; a *group* the `columns` units that the element-wise pipe finishes together. A *pass* is
one step of one window for all units. Step k (from 1) of a window reads the state of index k - 1 and
writes that of index k.
"""

from dataclasses import dataclass

from amaranth.hdl import signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out, Signature

from precog_spec.config import NicConfig
from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, Fmt
from precog_spec.engine.image_fields import BANKS
from precog_spec.engine.isa import WORD
from precog_spec.secded import PAIR_BITS, PROGRAM_AT_BITS, STORED_BITS, check_bits

__all__ = [
    "EPOCH_BITS",
    "GATES",
    "JOBS",
    "OUTPUTS",
    "PASSES",
    "QUADS",
    "X_VECTOR",
    "Sizes",
    "answer_layout",
    "image_word_layout",
    "load_layout",
    "model_layout",
    "pass_layout",
    "place_layout",
    "program_answer_layout",
    "program_place_layout",
    "program_put_layout",
    "program_scrub_layout",
    "program_signature",
    "scrub_layout",
    "scrub_ports",
    "slot_layout",
    "tag_layout",
]

GATES = 4
QUADS = HIDDEN // 4
JOBS = 4  # samples in flight
PASSES = 8  # hidden vectors that wait for the MAC array; a sample makes at most T - 1
EPOCH_BITS = 32  # commits are counted with this many bits: a model's identity

X_VECTOR = data.ArrayLayout(signed(Fmt.X.width), MAX_INPUTS)
OUTPUTS = data.ArrayLayout(signed(Fmt.OUT.width), MAX_OUTPUTS)


@dataclass(frozen=True)
class Sizes:
    """Derived sizes of the engine.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Raises
    ------
    ValueError
        The element-wise pipe is narrower than what the MAC array takes in a cycle.
    """

    config: NicConfig

    def __post_init__(self) -> None:
        if self.config.columns < self.ways:
            raise ValueError(
                f"columns must be at least {self.ways} at {self.config.lanes} lanes, "
                f"not {self.config.columns!r}"
            )

    @property
    def gates(self) -> int:
        """Gates of a unit that are worked on at once; one after the other with few lanes."""
        return GATES if self.config.lanes >= HIDDEN else 1

    @property
    def units(self) -> int:
        """Units whose gate rows the MAC array works on at once."""
        return min(HIDDEN, self.config.lanes // self.gates)

    @property
    def ways(self) -> int:
        """Hidden values that the MAC array takes in a cycle."""
        return self.config.lanes // (self.gates * self.units)

    @property
    def turns(self) -> int:
        """How often a hidden vector goes through the MAC array: for all units, gate after gate."""
        return HIDDEN // self.units * (GATES // self.gates)

    @property
    def turn_bits(self) -> int:
        """Width of a turn's number: {gate, units}, of both what is not worked on at once."""
        return self.turns.bit_length() - 1

    @property
    def unit_turn_bits(self) -> int:
        """Bits of it that say which units."""
        return (HIDDEN // self.units).bit_length() - 1

    @property
    def input_stage(self) -> int:
        """The stage of the element-wise pipe, slots being in stage 0, that takes the input."""
        return 2 if self.gates == GATES else 1

    @property
    def groups(self) -> int:
        """Groups of units."""
        return HIDDEN // self.config.columns

    @property
    def group_bits(self) -> int:
        """Width of a group's number."""
        return (self.groups - 1).bit_length()

    @property
    def sub_bits(self) -> int:
        """Bits of a group's number that are its place inside a quad."""
        return self.group_bits - 2

    @property
    def step_bits(self) -> int:
        """Width of a state's index, 0..steps - 1."""
        return max(1, (self.config.steps - 1).bit_length())

    @property
    def state_rows(self) -> int:
        """Rows of a state memory."""
        return self.config.qps << self.step_bits << self.group_bits


def image_word_layout(config: NicConfig) -> data.StructLayout:
    """A word of an image that is being loaded."""
    return data.StructLayout(
        {"en": 1, "set": config.set_bits, "row": 5, "word": 4, "data": data.ArrayLayout(8, 4)}
    )


def load_layout(config: NicConfig) -> data.StructLayout:
    """A write of one image word into memories that hold it.

    With `config.ecc` it has its share of the pair's `check` bits, and goes to the first `copies` of
    the words, to the second, to the trees' third, or to all.
    """
    guarded = {"check": STORED_BITS - 32, "copies": 2 + config.tree} if config.ecc else {}
    return data.StructLayout({**image_word_layout(config).members, **guarded})


def place_layout(config: NicConfig) -> data.StructLayout:
    """A stored word: of which set, where in the image, and which copy of it.

    With `config.tree` a third one may be meant by `tree`, `second` being 0 then.
    """
    third = {"tree": 1} if config.tree else {}
    return data.StructLayout({"set": config.set_bits, "row": 5, "word": 4, "second": 1, **third})


def scrub_layout(config: NicConfig) -> data.StructLayout:
    """A stored word that is to be read when its memory is not; `valid` falls between two."""
    return data.StructLayout({"valid": 1, "place": place_layout(config)})


def answer_layout() -> data.StructLayout:
    """The word that was read; 0 while not `valid`."""
    return data.StructLayout({"word": STORED_BITS, "valid": 1})


def scrub_ports(config: NicConfig) -> dict[str, Member]:
    """Members of a block with weight memories; none without `config.ecc`."""
    if not config.ecc:
        return {}
    return {"scrub": In(scrub_layout(config)), "scrubbed": Out(answer_layout())}


def program_place_layout(cores: int) -> data.StructLayout:
    """A word of a program, `secded.program_bits`, in the copy of a core."""
    bank_bits = (BANKS - 1).bit_length()
    return data.StructLayout(
        {"at": PROGRAM_AT_BITS, "bank": bank_bits, "core": (cores - 1).bit_length()}
    )


def program_scrub_layout(cores: int) -> data.StructLayout:
    """A program's word that is to be read, or looked at."""
    return data.StructLayout({"valid": 1, "place": program_place_layout(cores)})


def program_answer_layout() -> data.StructLayout:
    """The word that was read, with zeros for the data bits that it lacks; 0 while not `valid`."""
    return data.StructLayout({"data": WORD, "check": check_bits(PAIR_BITS), "valid": 1})


def program_put_layout(cores: int) -> data.StructLayout:
    """A write of a program's word in the copy of one core."""
    return data.StructLayout(
        {
            "en": 1,
            "place": program_place_layout(cores),
            "data": WORD,
            "check": check_bits(PAIR_BITS),
        }
    )


def program_signature(cores: int) -> Signature:
    """Scrubber's side of the law engine's programs.

    A request stays until it is answered, and is answered at most five cycles longer. A put stays
    until `put_ready`. `fail_stb` is of the bank of `request`. A `suspect` is a word that was not as
    it was written when the engine read it.
    """
    return Signature(
        {
            "request": Out(program_scrub_layout(cores)),
            "answer": In(program_answer_layout()),
            "put": Out(program_put_layout(cores)),
            "put_ready": In(1),
            "valid": In(BANKS),
            "fail_stb": Out(1),
            "suspect": In(program_scrub_layout(cores)),
        }
    )


def model_layout(config: NicConfig) -> data.StructLayout:
    """What a slot of the map stands for. Without `live` the others mean nothing.

    The `kind` of its head (`contract.HeadKind`) is there where there is more than one. Those of
    kind QUEUE have a tree's `depth` where that is what they are.
    """
    return data.StructLayout(
        {
            "live": 1,
            "set": config.set_bits,
            "epoch": EPOCH_BITS,
            "inputs": 3,  # I - 1
            "steps": 3,  # T - 1
            "outputs": 4,  # O - 1
            **({"kind": 1} if config.forecast else {}),
            **({"depth": 3} if config.tree else {}),
        }
    )


def slot_layout(config: NicConfig) -> data.StructLayout:
    """One cycle of the element-wise pipe: input `i` of group `group` in the pass of `step`.

    With few lanes, of its gate `gate`.
    """
    sizes = Sizes(config)
    return data.StructLayout(
        {
            "valid": 1,
            "qp": config.qp_bits,
            "set": config.set_bits,
            "job": 2,
            "step": sizes.step_bits,  # index of the state that is read
            "group": sizes.group_bits,
            **({"gate": 2} if sizes.gates == 1 else {}),
            "input": 3,
            "first": 1,  # the sum over the inputs begins
            "done": 1,  # ... and ends, that of the last gate: this slot's results count
            "last_group": 1,  # of the pass
            "last_pass": 1,  # of the sample
            "final": 1,  # the window's last step: its h goes to the head, no state is written
            "outputs": 4,  # O - 1
        }
    )


def tag_layout(config: NicConfig) -> data.StructLayout:
    """Whose state a queue pair's rows hold, and how many inputs are kept where."""
    return data.StructLayout(
        {
            "valid": 1,
            "epoch": EPOCH_BITS,
            "next": Sizes(config).step_bits,
            "kept": range(config.steps),
        }
    )


def pass_layout(config: NicConfig) -> data.StructLayout:
    """A hidden vector that waits for the MAC array."""
    return data.StructLayout(
        {
            "qp": config.qp_bits,
            "set": config.set_bits,
            "step": Sizes(config).step_bits,  # index of the state that is written
            "job": 2,
            "last": 1,  # of the sample
        }
    )
