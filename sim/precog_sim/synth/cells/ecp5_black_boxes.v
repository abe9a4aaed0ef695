// Behavioural models of the two ECP5 cells that Yosys only knows as black boxes.
//
// Written from Lattice's sysDSP (FPGA-TN-02205) and sysMEM (FPGA-TN-02204) usage guides, and, for
// the use of the memory's pins, from Yosys' own mapping rules. Only what the netlists use is
// modelled: what is not stops the simulator while it elaborates.

// An 18 x 18 multiplier with optional registers on its inputs, in its middle and on its output.
// Each register has its own clock, clock enable and reset, chosen by name; resets are synchronous.
module MULT18X18D (
    input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
    input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
    input CLK3, CLK2, CLK1, CLK0,
    input CE3, CE2, CE1, CE0,
    input RST3, RST2, RST1, RST0,
    input SRIA17, SRIA16, SRIA15, SRIA14, SRIA13, SRIA12, SRIA11, SRIA10, SRIA9, SRIA8, SRIA7,
        SRIA6, SRIA5, SRIA4, SRIA3, SRIA2, SRIA1, SRIA0,
    input SRIB17, SRIB16, SRIB15, SRIB14, SRIB13, SRIB12, SRIB11, SRIB10, SRIB9, SRIB8, SRIB7,
        SRIB6, SRIB5, SRIB4, SRIB3, SRIB2, SRIB1, SRIB0,
    output SROA17, SROA16, SROA15, SROA14, SROA13, SROA12, SROA11, SROA10, SROA9, SROA8, SROA7,
        SROA6, SROA5, SROA4, SROA3, SROA2, SROA1, SROA0,
    output SROB17, SROB16, SROB15, SROB14, SROB13, SROB12, SROB11, SROB10, SROB9, SROB8, SROB7,
        SROB6, SROB5, SROB4, SROB3, SROB2, SROB1, SROB0,
    output ROA17, ROA16, ROA15, ROA14, ROA13, ROA12, ROA11, ROA10, ROA9, ROA8, ROA7, ROA6, ROA5,
        ROA4, ROA3, ROA2, ROA1, ROA0,
    output ROB17, ROB16, ROB15, ROB14, ROB13, ROB12, ROB11, ROB10, ROB9, ROB8, ROB7, ROB6, ROB5,
        ROB4, ROB3, ROB2, ROB1, ROB0,
    output ROC17, ROC16, ROC15, ROC14, ROC13, ROC12, ROC11, ROC10, ROC9, ROC8, ROC7, ROC6, ROC5,
        ROC4, ROC3, ROC2, ROC1, ROC0,
    output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19,
        P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0,
    output SIGNEDP
);
    parameter REG_INPUTA_CLK = "NONE", REG_INPUTA_CE = "CE0", REG_INPUTA_RST = "RST0";
    parameter REG_INPUTB_CLK = "NONE", REG_INPUTB_CE = "CE0", REG_INPUTB_RST = "RST0";
    parameter REG_INPUTC_CLK = "NONE", REG_INPUTC_CE = "CE0", REG_INPUTC_RST = "RST0";
    parameter REG_PIPELINE_CLK = "NONE", REG_PIPELINE_CE = "CE0", REG_PIPELINE_RST = "RST0";
    parameter REG_OUTPUT_CLK = "NONE", REG_OUTPUT_CE = "CE0", REG_OUTPUT_RST = "RST0";
    parameter CLK0_DIV = "ENABLED", CLK1_DIV = "ENABLED", CLK2_DIV = "ENABLED", CLK3_DIV =
        "ENABLED";
    parameter HIGHSPEED_CLK = "NONE", GSR = "ENABLED", CAS_MATCH_REG = "FALSE";
    parameter SOURCEB_MODE = "B_SHIFT", MULT_BYPASS = "DISABLED", RESETMODE = "SYNC";

    generate
        if (MULT_BYPASS != "DISABLED") begin : g_bypass
            $fatal(1, "MULT_BYPASS is not modelled");
        end
        if (RESETMODE != "SYNC") begin : g_reset
            $fatal(1, "only synchronous resets are modelled");
        end
        if (REG_INPUTC_CLK != "NONE") begin : g_c
            $fatal(1, "operand C is not modelled");
        end
    endgenerate

    wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1,
        A0};
    wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1,
        B0};
    // A bit more than the operand carries its sign, or a zero.
    wire [18:0] a_ext = {SIGNEDA & a[17], a};
    wire [18:0] b_ext = {SIGNEDB & b[17], b};
    wire [18:0] a_used, b_used;
    wire signed [37:0] product = $signed(a_used) * $signed(b_used);
    wire [35:0] middle, result;

    precog_dsp_register #(19, REG_INPUTA_CLK, REG_INPUTA_CE, REG_INPUTA_RST) register_a (
        {CLK3, CLK2, CLK1, CLK0}, {CE3, CE2, CE1, CE0}, {RST3, RST2, RST1, RST0}, a_ext, a_used);
    precog_dsp_register #(19, REG_INPUTB_CLK, REG_INPUTB_CE, REG_INPUTB_RST) register_b (
        {CLK3, CLK2, CLK1, CLK0}, {CE3, CE2, CE1, CE0}, {RST3, RST2, RST1, RST0}, b_ext, b_used);
    precog_dsp_register #(36, REG_PIPELINE_CLK, REG_PIPELINE_CE, REG_PIPELINE_RST) register_middle (
        {CLK3, CLK2, CLK1, CLK0}, {CE3, CE2, CE1, CE0}, {RST3, RST2, RST1, RST0}, product[35:0],
            middle);
    precog_dsp_register #(36, REG_OUTPUT_CLK, REG_OUTPUT_CE, REG_OUTPUT_RST) register_output (
        {CLK3, CLK2, CLK1, CLK0}, {CE3, CE2, CE1, CE0}, {RST3, RST2, RST1, RST0}, middle, result);

    assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19,
        P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} =
        result;
    assign SIGNEDP = SIGNEDA | SIGNEDB;
    assign {SROA17, SROA16, SROA15, SROA14, SROA13, SROA12, SROA11, SROA10, SROA9, SROA8, SROA7,
        SROA6, SROA5, SROA4, SROA3, SROA2, SROA1, SROA0} = 18'b0;
    assign {SROB17, SROB16, SROB15, SROB14, SROB13, SROB12, SROB11, SROB10, SROB9, SROB8, SROB7,
        SROB6, SROB5, SROB4, SROB3, SROB2, SROB1, SROB0} = 18'b0;
    assign {ROA17, ROA16, ROA15, ROA14, ROA13, ROA12, ROA11, ROA10, ROA9, ROA8, ROA7, ROA6,
        ROA5, ROA4, ROA3, ROA2, ROA1, ROA0} = 18'b0;
    assign {ROB17, ROB16, ROB15, ROB14, ROB13, ROB12, ROB11, ROB10, ROB9, ROB8, ROB7, ROB6,
        ROB5, ROB4, ROB3, ROB2, ROB1, ROB0} = 18'b0;
    assign {ROC17, ROC16, ROC15, ROC14, ROC13, ROC12, ROC11, ROC10, ROC9, ROC8, ROC7, ROC6,
        ROC5, ROC4, ROC3, ROC2, ROC1, ROC0} = 18'b0;
endmodule

// One optional register of a multiplier: CLOCK, ENABLE and RESET name a pin of each kind, or NONE.
module precog_dsp_register #(
    parameter WIDTH = 18,
    parameter CLOCK = "NONE",
    parameter ENABLE = "CE0",
    parameter RESET = "RST0"
) (
    input [3:0] clk, input [3:0] ce, input [3:0] rst,
    input [WIDTH-1:0] d, output [WIDTH-1:0] q
);
    generate
        if (CLOCK == "NONE") begin : g_wire
            assign q = d;
        end else begin : g_register
            localparam C = (CLOCK == "CLK0") ? 0 : (CLOCK == "CLK1") ? 1 : (CLOCK == "CLK2") ? 2 :
                3;
            localparam E = (ENABLE == "CE0") ? 0 : (ENABLE == "CE1") ? 1 : (ENABLE == "CE2") ? 2 :
                3;
            localparam R = (RESET == "RST0") ? 0 : (RESET == "RST1") ? 1 : (RESET == "RST2") ? 2 :
                3;
            wire clock = clk[C];
            reg [WIDTH-1:0] held = 0;
            always @(posedge clock)
                if (rst[R]) held <= 0;
                else if (ce[E]) held <= d;
            assign q = held;
        end
    endgenerate
endmodule

// A block RAM of 18 kbit. Port A of 36 bits is the write port of a pseudo dual port memory, port B
// of 36 bits its read port; 18 and 9 bits are true dual port. A byte is 9 bits; in the 18 and 36
// bit widths the low address pins are byte enables of a write.
module DP16KD (
    input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5,
        DIA4, DIA3, DIA2, DIA1, DIA0,
    input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
    input CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
    output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5,
        DOA4, DOA3, DOA2, DOA1, DOA0,
    input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5,
        DIB4, DIB3, DIB2, DIB1, DIB0,
    input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
    input CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
    output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5,
        DOB4, DOB3, DOB2, DOB1, DOB0
);
    parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18, REGMODE_A = "NOREG", REGMODE_B = "NOREG";
    parameter RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC", GSR = "ENABLED", INIT_DATA =
        "STATIC";
    parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", WID = 0;
    parameter WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL", CLKAMUX = "CLKA", CLKBMUX = "CLKB";
    parameter [319:0] INITVAL_00 = 320'd0;
    parameter [319:0] INITVAL_01 = 320'd0;
    parameter [319:0] INITVAL_02 = 320'd0;
    parameter [319:0] INITVAL_03 = 320'd0;
    parameter [319:0] INITVAL_04 = 320'd0;
    parameter [319:0] INITVAL_05 = 320'd0;
    parameter [319:0] INITVAL_06 = 320'd0;
    parameter [319:0] INITVAL_07 = 320'd0;
    parameter [319:0] INITVAL_08 = 320'd0;
    parameter [319:0] INITVAL_09 = 320'd0;
    parameter [319:0] INITVAL_0A = 320'd0;
    parameter [319:0] INITVAL_0B = 320'd0;
    parameter [319:0] INITVAL_0C = 320'd0;
    parameter [319:0] INITVAL_0D = 320'd0;
    parameter [319:0] INITVAL_0E = 320'd0;
    parameter [319:0] INITVAL_0F = 320'd0;
    parameter [319:0] INITVAL_10 = 320'd0;
    parameter [319:0] INITVAL_11 = 320'd0;
    parameter [319:0] INITVAL_12 = 320'd0;
    parameter [319:0] INITVAL_13 = 320'd0;
    parameter [319:0] INITVAL_14 = 320'd0;
    parameter [319:0] INITVAL_15 = 320'd0;
    parameter [319:0] INITVAL_16 = 320'd0;
    parameter [319:0] INITVAL_17 = 320'd0;
    parameter [319:0] INITVAL_18 = 320'd0;
    parameter [319:0] INITVAL_19 = 320'd0;
    parameter [319:0] INITVAL_1A = 320'd0;
    parameter [319:0] INITVAL_1B = 320'd0;
    parameter [319:0] INITVAL_1C = 320'd0;
    parameter [319:0] INITVAL_1D = 320'd0;
    parameter [319:0] INITVAL_1E = 320'd0;
    parameter [319:0] INITVAL_1F = 320'd0;
    parameter [319:0] INITVAL_20 = 320'd0;
    parameter [319:0] INITVAL_21 = 320'd0;
    parameter [319:0] INITVAL_22 = 320'd0;
    parameter [319:0] INITVAL_23 = 320'd0;
    parameter [319:0] INITVAL_24 = 320'd0;
    parameter [319:0] INITVAL_25 = 320'd0;
    parameter [319:0] INITVAL_26 = 320'd0;
    parameter [319:0] INITVAL_27 = 320'd0;
    parameter [319:0] INITVAL_28 = 320'd0;
    parameter [319:0] INITVAL_29 = 320'd0;
    parameter [319:0] INITVAL_2A = 320'd0;
    parameter [319:0] INITVAL_2B = 320'd0;
    parameter [319:0] INITVAL_2C = 320'd0;
    parameter [319:0] INITVAL_2D = 320'd0;
    parameter [319:0] INITVAL_2E = 320'd0;
    parameter [319:0] INITVAL_2F = 320'd0;
    parameter [319:0] INITVAL_30 = 320'd0;
    parameter [319:0] INITVAL_31 = 320'd0;
    parameter [319:0] INITVAL_32 = 320'd0;
    parameter [319:0] INITVAL_33 = 320'd0;
    parameter [319:0] INITVAL_34 = 320'd0;
    parameter [319:0] INITVAL_35 = 320'd0;
    parameter [319:0] INITVAL_36 = 320'd0;
    parameter [319:0] INITVAL_37 = 320'd0;
    parameter [319:0] INITVAL_38 = 320'd0;
    parameter [319:0] INITVAL_39 = 320'd0;
    parameter [319:0] INITVAL_3A = 320'd0;
    parameter [319:0] INITVAL_3B = 320'd0;
    parameter [319:0] INITVAL_3C = 320'd0;
    parameter [319:0] INITVAL_3D = 320'd0;
    parameter [319:0] INITVAL_3E = 320'd0;
    parameter [319:0] INITVAL_3F = 320'd0;

    generate
        if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG") begin : g_regmode
            $fatal(1, "output registers are not modelled");
        end
        if (RESETMODE != "SYNC") begin : g_reset
            $fatal(1, "only synchronous resets are modelled");
        end
        if (CLKAMUX != "CLKA" || CLKBMUX != "CLKB") begin : g_clk
            $fatal(1, "inverted clock");
        end
        if (DATA_WIDTH_A < 9 || DATA_WIDTH_B < 9) begin : g_width
            $fatal(1, "widths below a byte are not modelled");
        end
    endgenerate

    reg [8:0] memory [0:2047];
    integer i;
    localparam [64*320-1:0] INIT = {
        INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C,
        INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38,
        INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34,
        INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
        INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C,
        INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28,
        INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24,
        INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20,
        INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C,
        INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
        INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14,
        INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10,
        INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C,
        INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
        INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04,
        INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00};
    // 16 words of 18 bits, each in 20, make an INITVAL.
    initial for (i = 0; i < 2048; i = i + 1) memory[i] = INIT[20 * (i >> 1) + 9 * (i & 1) +: 9];

    wire [13:0] address_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4,
        ADA3, ADA2, ADA1, ADA0};
    wire [13:0] address_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4,
        ADB3, ADB2, ADB1, ADB0};
    wire [35:0] data_a = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8,
        DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
        DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
    wire [17:0] data_b = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8,
        DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
    wire select_a = CEA & ({CSA2, CSA1, CSA0} == 3'b000);
    wire select_b = CEB & ({CSB2, CSB1, CSB0} == 3'b000);
    reg [35:0] out_a = 0, out_b = 0;

    function automatic [10:0] byte_of(input [13:0] address, input integer width);
        byte_of = (width == 36) ? {address[13:5], 2'b00} : (width == 18) ? {address[13:4], 1'b0}
            : address[13:3];
    endfunction

    // Both ports see the memory as it was before the edge; port A's write is committed first.
    integer k;
    always @(posedge CLKA) begin
        if (select_a & WEA) begin
            for (k = 0; k < DATA_WIDTH_A / 9; k = k + 1)
                if (DATA_WIDTH_A == 9 || address_a[k])
                    memory[byte_of(address_a, DATA_WIDTH_A) + k[10:0]] <= data_a[9 * k +: 9];
        end
        if (RSTA) out_a <= 0;
        else if (select_a && DATA_WIDTH_A != 36 && !(WEA && WRITEMODE_A == "NORMAL"))
            for (k = 0; k < DATA_WIDTH_A / 9; k = k + 1)
                out_a[9 * k +: 9] <=
                    (WEA && WRITEMODE_A == "WRITETHROUGH" && (DATA_WIDTH_A == 9 || address_a[k]))
                    ? data_a[9 * k +: 9] : memory[byte_of(address_a, DATA_WIDTH_A) + k[10:0]];
    end
    integer n;
    always @(posedge CLKB) begin
        if (select_b & WEB) begin
            for (n = 0; n < DATA_WIDTH_B / 9; n = n + 1)
                if (DATA_WIDTH_B == 9 || address_b[n])
                    memory[byte_of(address_b, DATA_WIDTH_B) + n[10:0]] <= data_b[9 * (n & 1) +: 9];
        end
        if (RSTB) out_b <= 0;
        else if (select_b && !(WEB && WRITEMODE_B == "NORMAL"))
            for (n = 0; n < DATA_WIDTH_B / 9; n = n + 1)
                out_b[9 * n +: 9] <=
                    (WEB && WRITEMODE_B == "WRITETHROUGH" && (DATA_WIDTH_B == 9 || address_b[n]))
                    ? data_b[9 * (n & 1) +: 9] : memory[byte_of(address_b, DATA_WIDTH_B) + n[10:0]];
    end
    // A 36-bit read gives its low half on port A's pins, its high half on port B's.
    assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6,
        DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = (DATA_WIDTH_B == 36) ? out_b[17:0] : out_a[17:0];
    assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6,
        DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = (DATA_WIDTH_B == 36) ? out_b[35:18] : out_b[17:0];
endmodule
