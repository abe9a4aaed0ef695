"""Comparisons as yosys maps them best: all of them as "less than"."""

__all__ = ["COMPARE", "COMPARE_FILE"]

COMPARE_FILE = "compare.v"


def _rule(cell: str, *, swaps: bool, inverts: bool) -> str:
    """A rule of `techmap`: `cell` becomes `$lt`, of inputs that change places, or inverted."""
    first, second = ("B", "A") if swaps else ("A", "B")
    return f"""\
(* techmap_celltype = "${cell}" *)
module compare_{cell} (A, B, Y);
    parameter A_SIGNED = 0;
    parameter B_SIGNED = 0;
    parameter A_WIDTH = 1;
    parameter B_WIDTH = 1;
    parameter Y_WIDTH = 1;
    input [A_WIDTH-1:0] A;
    input [B_WIDTH-1:0] B;
    output [Y_WIDTH-1:0] Y;
    generate
        if (A_WIDTH == 0 || B_WIDTH == 0)  // a constant 0 of Amaranth's; `opt` knows what it is
            wire _TECHMAP_FAIL_ = 1;
        else begin
            wire less;
            \\$lt #(
                .A_SIGNED({first}_SIGNED), .B_SIGNED({second}_SIGNED),
                .A_WIDTH({first}_WIDTH), .B_WIDTH({second}_WIDTH), .Y_WIDTH(1)
            ) compare (.A({first}), .B({second}), .Y(less));
            assign Y = {"!" * inverts}less;
        end
    endgenerate
endmodule
"""


#: Rules of yosys' `techmap`. Its `alumacc` makes a carry chain of any comparison, and of all but
#: `$lt` a test for equality as well: 31 LUTs in six levels for 32 bits, where none is needed.
COMPARE = "".join(
    (
        _rule("gt", swaps=True, inverts=False),
        _rule("ge", swaps=False, inverts=True),
        _rule("le", swaps=True, inverts=True),
    )
)
