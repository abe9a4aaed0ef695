"""ONNX LSTM nodes in, or refused with the reason."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from precog_models.float_lstm import FloatLstm
from precog_models.importer import ModelImportError
from precog_models.importer.onnx_lstm import from_onnx, load_onnx

TO_IOFC = [0, 3, 1, 2]  # of i, f, g, o


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def reference(rng: np.random.Generator, inputs: int = 1, outputs: int = 1) -> FloatLstm:
    return FloatLstm(
        w_ih=floats(rng, 64, inputs).astype(float),
        w_hh=floats(rng, 64, 16).astype(float),
        bias=floats(rng, 64).astype(float),
        head_w=floats(rng, outputs, 16).astype(float),
        head_b=floats(rng, outputs).astype(float),
        steps=3,
    )


def iofc(rows: np.ndarray) -> np.ndarray:
    return rows.reshape(4, 16, -1)[TO_IOFC].reshape(rows.shape)


def build(
    model: FloatLstm,
    *,
    attributes: dict[str, Any] | None = None,
    lstm_inputs: list[str] | None = None,
    extra: dict[str, np.ndarray] | None = None,
    before: list[onnx.NodeProto] | None = None,
    between: list[onnx.NodeProto] | None = None,
    hidden: str = "y_h",
    head: str = "gemm",
    after: list[onnx.NodeProto] | None = None,
    skip: tuple[str, ...] = (),
) -> onnx.ModelProto:
    """A graph x -> LSTM -> head, with what a test wants to be different."""
    tensors = {
        "W": iofc(model.w_ih)[None],
        "R": iofc(model.w_hh)[None],
        "B": np.concatenate([iofc(model.bias), np.zeros(64)])[None],
        "head_w": model.head_w,
        "head_t": model.head_w.T.copy(),
        "head_b": model.head_b,
    } | (extra or {})
    nodes = [
        *(before or []),
        helper.make_node(
            "LSTM",
            lstm_inputs or ["x", "W", "R", "B"],
            ["y", "y_h", "y_c"],
            **({"hidden_size": 16} | (attributes or {})),
        ),
        *(between or []),
    ]
    if head == "gemm":
        nodes.append(helper.make_node("Gemm", [hidden, "head_w", "head_b"], ["out"], transB=1))
    else:
        nodes.append(helper.make_node("MatMul", [hidden, "head_t"], ["product"]))
        nodes.append(helper.make_node("Add", ["head_b", "product"], ["out"]))
    nodes += after or []
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 1, model.inputs])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(
                np.asarray(v, dtype=v.dtype if v.dtype.kind == "i" else "f4"), k
            )
            for k, v in tensors.items()
            if k not in skip
        ],
    )
    return helper.make_model(graph)


def assert_equal(a: FloatLstm, b: FloatLstm) -> None:
    for name in ("w_ih", "w_hh", "bias", "head_w", "head_b"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("head", ["gemm", "matmul"])
def test_round_trip(head: str, seed: int, tmp_path: Path) -> None:
    model = reference(np.random.default_rng(seed), inputs=4, outputs=6)
    path = tmp_path / "model.onnx"
    path.write_bytes(build(model, head=head).SerializeToString())
    assert_equal(load_onnx(path), model)


def test_biases_are_summed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = reference(rng)
    wb = rng.integers(-8, 8, 64) / 8
    both = np.concatenate([iofc(wb), iofc(model.bias - wb)]).astype(np.float32)[None]
    imported = from_onnx(build(model, extra={"B": both}))
    np.testing.assert_allclose(imported.bias, model.bias, rtol=0, atol=1e-6)
    bare = from_onnx(build(model, lstm_inputs=["x", "W", "R"]))
    assert not bare.bias.any()


def test_initializers_are_followed_through_constant_graphs(seed: int) -> None:
    model = reference(np.random.default_rng(seed), inputs=2)
    w = iofc(model.w_ih)
    r = np.concatenate([np.full((7, 16), 9.0), iofc(model.w_hh)])
    wide = numpy_helper.from_array(iofc(model.bias).astype(np.float64))
    before = [
        helper.make_node("Transpose", ["w_t"], ["w_2"], perm=[1, 0]),
        helper.make_node("Unsqueeze", ["w_2", "axis0"], ["w_3"]),
        helper.make_node("Identity", ["w_3"], ["W"]),
        helper.make_node("Slice", ["r_long", "seven", "end", "axis0"], ["r_2"]),
        helper.make_node("Unsqueeze", ["r_2"], ["R"], axes=[0]),  # opset 11's form
        helper.make_node("Constant", [], ["wb"], value=wide),
        helper.make_node("Cast", ["wb"], ["wb_f"], to=TensorProto.FLOAT),
        helper.make_node("Concat", ["wb_f", "zeros"], ["b_flat"], axis=0),
        helper.make_node("Reshape", ["b_flat", "b_shape"], ["B"]),
    ]
    extra = {
        "w_t": w.T.copy(),
        "r_long": r,
        "axis0": np.array([0]),
        "seven": np.array([7]),
        "end": np.array([2**31 - 1]),
        "zeros": np.zeros(64),
        "b_shape": np.array([1, -1]),
    }
    assert_equal(from_onnx(build(model, before=before, extra=extra, skip=("W", "R", "B"))), model)


@pytest.mark.filterwarnings("ignore")  # torch's exporter warns about itself
def test_what_torch_exports_is_read(seed: int, tmp_path: Path) -> None:
    class Predictor(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = torch.nn.LSTM(1, 16, batch_first=True)
            self.fc = torch.nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(self.rnn(x)[0][:, -1])

    torch.manual_seed(seed)
    model = Predictor().eval()
    path = tmp_path / "model.onnx"
    torch.onnx.export(model, (torch.zeros(1, 3, 1),), path, dynamo=False)
    x = torch.randn(20, 3, 1)
    expected = model(x).detach().numpy()
    np.testing.assert_allclose(load_onnx(path).forward(x.numpy()), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"direction": "bidirectional"}, "direction must be forward, not bidirectional"),
        ({"direction": "reverse"}, "direction must be forward, not reverse"),
        ({"clip": 3.0}, "no clip"),
        ({"input_forget": 1}, "must not be coupled"),
        ({"activations": ["HardSigmoid", "Tanh", "Tanh"]}, "must be Sigmoid, Tanh, Tanh"),
        ({"hidden_size": 8}, "hidden size must be 16, not 8"),
    ],
)
def test_attributes_that_the_engine_lacks_are_refused(
    attributes: dict[str, Any], message: str
) -> None:
    model = reference(np.random.default_rng(0))
    with pytest.raises(ModelImportError, match=message):
        from_onnx(build(model, attributes=attributes))


def test_default_activations_may_be_spelled_out() -> None:
    model = reference(np.random.default_rng(0))
    spelled = {"activations": ["Sigmoid", "Tanh", "Tanh"], "direction": "forward"}
    assert_equal(from_onnx(build(model, attributes=spelled)), model)


def test_peepholes_lengths_and_initial_states_are_refused() -> None:
    model = reference(np.random.default_rng(0))
    for position, name, message in (
        (4, "lengths", "without sequence_lens"),
        (5, "state", "initial_h must be zero"),
        (6, "state", "initial_c must be zero"),
        (6, "x", "initial_c must be zero"),
        (7, "peep", "no peephole"),
    ):
        inputs = ["x", "W", "R", "B", "", "", "", ""]
        inputs[position] = name
        extra = {
            "lengths": np.array([3]),
            "state": np.ones((1, 1, 16)),
            "peep": np.full((1, 48), 0.5),
        }
        with pytest.raises(ModelImportError, match=message):
            from_onnx(build(model, lstm_inputs=inputs, extra=extra))
    zero = {"state": np.zeros((1, 1, 16))}
    inputs = ["x", "W", "R", "B", "", "state", "state", ""]
    assert_equal(from_onnx(build(model, lstm_inputs=inputs, extra=zero)), model)


def test_structures_that_the_engine_lacks_are_refused() -> None:
    rng = np.random.default_rng(0)
    model = reference(rng)
    second = helper.make_node("LSTM", ["y", "W", "R"], ["z", "", ""], hidden_size=16)
    relu = helper.make_node("Relu", ["y_h"], ["r"])
    clip = helper.make_node("Sigmoid", ["out"], ["end"])
    gather = helper.make_node("Gather", ["y", "first"], ["y_first"], axis=0)
    second_head = helper.make_node("Gemm", ["y_h", "head_w"], ["out2"], transB=1)
    first = {"first": np.array(0)}
    wide = {"W": np.zeros((1, 64, 9), dtype=np.float32)}
    two = {"R": np.zeros((2, 64, 16), dtype=np.float32)}
    nan = {"R": np.full((1, 64, 16), np.nan, dtype=np.float32)}
    outputs = {"head_w": np.zeros((17, 16)), "head_b": np.zeros(17)}
    big = {"R": np.zeros((1, 80, 20), dtype=np.float32)}
    cases: list[tuple[onnx.ModelProto, str]] = [
        (build(model, between=[second]), r"one LSTM node \(one layer\), not 2"),
        (build(model, between=[relu], hidden="r"), "not to Relu"),
        (build(model, after=[clip]), "not lead to Sigmoid"),
        (build(model, between=[gather], hidden="y_first", extra=first), "last of 3 steps"),
        (build(model, after=[second_head]), "one linear head, not 2"),
        (build(model, hidden="y_c2"), "one linear head, not 0"),
        (build(model, extra=wide), "inputs must be in 1..8, not 9"),
        (build(model, extra=two), "R must hold one direction"),
        (build(model, extra=nan), "w_hh must be finite"),
        (build(model, extra=big), "hidden size must be 16, not 20"),
        (build(model, lstm_inputs=["x", "x", "R"]), "W must be a constant, not an input"),
        (
            build(model, extra=outputs),
            "outputs must be in 1..16, not 17",
        ),
    ]
    for graph, message in cases:
        with pytest.raises(ModelImportError, match=message):
            from_onnx(graph)


def test_external_weights_and_other_files_are_refused(tmp_path: Path) -> None:
    graph = build(reference(np.random.default_rng(0)))
    weights = next(i for i in graph.graph.initializer if i.name == "R")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="../../etc/passwd")
    with pytest.raises(ModelImportError, match="inside of the file: R is external"):
        from_onnx(graph)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\xff" * 100)
    with pytest.raises(ModelImportError, match="must be an ONNX file"):
        load_onnx(path)
    path.write_bytes(b"")
    with pytest.raises(ModelImportError, match="not 0"):
        load_onnx(path)


def test_a_cycle_of_constants_is_refused() -> None:
    loop = [
        helper.make_node("Identity", ["a"], ["W"]),
        helper.make_node("Identity", ["W"], ["a"]),
    ]
    graph = build(reference(np.random.default_rng(0)), before=loop, skip=("W",))
    with pytest.raises(ModelImportError, match="32 operators in a row, without a cycle"):
        from_onnx(graph)


def node(kind: str, inputs: list[str], output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, [output], **attributes)


#: Constants that the graphs below name.
NUMBERS = {
    "i0": np.array(0),
    "i2": np.array(2),
    "v0": np.array([0]),
    "v1": np.array([1]),
    "v2": np.array([2]),
    "v3": np.array([3]),
    "minus1": np.array(-1),
    "end": np.array([2**63 - 1]),
    "rows": np.array([-1, 16]),
    "halves": np.array([-1, 8]),
    "kept": np.array([0, 0, -1]),
    "k": np.array(100.0),
}
SQUEEZED = node("Squeeze", ["y", "v1"], "s")  # [step, batch, hidden]


@pytest.mark.parametrize(
    "between",
    [
        [SQUEEZED, node("Gather", ["s", "minus1"], "h", axis=0)],
        [SQUEEZED, node("Gather", ["s", "i2"], "h", axis=0)],
        [SQUEEZED, node("Slice", ["s", "v2", "end", "v0"], "t"), node("Squeeze", ["t", "v0"], "h")],
        [
            SQUEEZED,
            node("Slice", ["s", "v2", "v3", "v0"], "t"),
            node("Reshape", ["t", "rows"], "h"),
        ],
        [
            node("Transpose", ["y"], "s", perm=[0, 2, 1, 3]),
            node("Reshape", ["s", "kept"], "t"),
            node("Gather", ["t", "minus1"], "h", axis=0),
        ],
        [
            SQUEEZED,
            node("Transpose", ["s"], "t", perm=[1, 0, 2]),
            node("Slice", ["t", "v0", "end", "v0"], "u"),  # y[:, -1] of a batch_first LSTM
            node("Gather", ["u", "minus1"], "h", axis=1),
        ],
        [node("Squeeze", ["y_h", "v0"], "h")],
        [node("Flatten", ["y_h"], "h", axis=2)],
        [node("Gather", ["y_h", "i0"], "h", axis=0)],
    ],
)
@pytest.mark.parametrize("head", ["gemm", "matmul"])
def test_the_last_step_in_every_spelling(between: list[onnx.NodeProto], head: str) -> None:
    model = reference(np.random.default_rng(0), outputs=3)
    graph = build(model, between=between, hidden="h", head=head, extra=NUMBERS)
    assert_equal(from_onnx(graph), model)


def test_the_step_may_be_picked_behind_the_head() -> None:
    model = reference(np.random.default_rng(0), outputs=3)
    for pick, message in (("minus1", ""), ("i0", "last of 3 steps")):
        after = [node("Gather", ["out", pick], "end_", axis=0)]
        parts = {"hidden": "s", "head": "matmul", "after": after, "extra": NUMBERS}
        graph = build(model, between=[SQUEEZED], **parts)
        if not message:
            assert_equal(from_onnx(graph), model)
            continue
        with pytest.raises(ModelImportError, match=message):
            from_onnx(graph)
    graph = build(model, between=[SQUEEZED], hidden="s", head="matmul", extra=NUMBERS)
    with pytest.raises(ModelImportError, match="last of 3 steps, not all"):
        from_onnx(graph)


@pytest.mark.parametrize(
    ("between", "message"),
    [
        ([SQUEEZED, node("Slice", ["s", "v0", "v1", "v0"], "h")], "last of 3 steps"),
        ([SQUEEZED, node("Slice", ["s", "v1", "end", "v0"], "h")], "last of 3 steps"),
        ([SQUEEZED, node("Gather", ["s", "minus1"], "h", axis=1)], "on the batch axis"),
        ([SQUEEZED, node("Gather", ["s", "minus1"], "h", axis=2)], "on the feature axis"),
        ([SQUEEZED, node("Slice", ["s", "v0", "v1", "v1"], "h")], "on the batch axis"),
        ([node("Squeeze", ["y_c", "v0"], "h")], "not the cell's Y_c"),
        ([SQUEEZED, node("Reshape", ["s", "rows"], "h")], "steps, batch and features apart"),
        ([node("Reshape", ["y_h", "halves"], "h")], "steps, batch and features apart"),
        ([SQUEEZED, node("Flatten", ["s"], "h", axis=0)], "must not mix steps and features"),
        ([node("Transpose", ["y_h"], "h", perm=[0, 2, 1])], "on the last axis"),
        ([node("Squeeze", ["y"], "h")], "a Squeeze must name its axes"),
        ([node("Squeeze", ["y", "v0"], "h")], "must not remove the step axis"),
        ([node("Gather", ["table", "y_h"], "h")], "on its left"),
        ([node("Gather", ["y_h"], "h")], "Gather must have an input at position 1"),
        ([node("Slice", ["y_h"], "h")], "a Slice must have starts and ends"),
        ([node("Transpose", ["y_h"], "h", perm=[0, 0, 2])], "must permute 3 axes"),
        ([node("Gather", ["y_h", "i0"], "h", axis=7)], r"axis of Gather must be in -3\.\.2, not 7"),
    ],
)
def test_what_another_tensor_than_the_last_state_is_refused(
    between: list[onnx.NodeProto], message: str
) -> None:
    model = reference(np.random.default_rng(0), outputs=3)
    with pytest.raises(ModelImportError, match=message):
        from_onnx(build(model, between=between, hidden="h", extra=NUMBERS))


def test_nothing_may_compute_before_the_lstm() -> None:
    model = reference(np.random.default_rng(0))
    inputs = ["x2", "W", "R", "B"]
    for before, message in (
        (node("Mul", ["x", "k"], "x2"), "not what is made by Mul"),
        (node("Slice", ["x", "v0", "end", "v0"], "x2"), "not what is made by Slice"),
        (node("Identity", ["k"], "x2"), "not what is a constant"),
    ):
        with pytest.raises(ModelImportError, match=message):
            from_onnx(build(model, before=[before], lstm_inputs=inputs, extra=NUMBERS))
    layout = node("Transpose", ["x"], "x2", perm=[1, 0, 2])
    assert_equal(from_onnx(build(model, before=[layout], lstm_inputs=inputs)), model)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"layout": 1}, r"layout must be 0 \(steps first\), not 1"),
        ({"activation_alpha": [0.5]}, "no attribute activation_alpha"),
        ({"activation_beta": [0.5]}, "no attribute activation_beta"),
        ({"direction": 3}, "direction must be forward, not 3"),
        ({"direction": b"\xff\xfe"}, "direction must be forward"),
        ({"activations": "Tanh"}, "must be Sigmoid, Tanh, Tanh, not Tanh"),
    ],
)
def test_attributes_of_another_kind_are_refused(attributes: dict[str, Any], message: str) -> None:
    model = reference(np.random.default_rng(0))
    with pytest.raises(ModelImportError, match=message):
        from_onnx(build(model, attributes=attributes))


def test_malformed_tensors_and_nodes_are_refused(tmp_path: Path) -> None:
    model = reference(np.random.default_rng(0))
    graph = build(model)
    next(i for i in graph.graph.initializer if i.name == "W").data_type = 99
    with pytest.raises(ModelImportError, match="tensor W must have a data type of ONNX, not 99"):
        from_onnx(graph)
    graph = build(model)
    weights = next(i for i in graph.graph.initializer if i.name == "W")
    weights.CopyFrom(helper.make_tensor("W", TensorProto.STRING, [1], [b"abc"]))
    with pytest.raises(ModelImportError, match="W must hold real numbers"):
        from_onnx(graph)
    path = tmp_path / "model.onnx"
    for position, message in ((1, "Gemm must have an input"), (0, "LSTM must have an input")):
        graph = build(model)
        del graph.graph.node[position].input[1:]
        path.write_bytes(graph.SerializeToString())
        with pytest.raises(ModelImportError, match=f"^{path}: {message} at position 1$"):
            load_onnx(path)


def test_what_is_imported_computes_what_the_graph_computes() -> None:
    """Random damage: a graph is refused with a reason, or is what the reference runs."""
    rng = random.Random(1)
    names = ["", "x", "W", "R", "B", "y", "y_h", "s", "h", "out", "v0", "v1", "i2", "none"]
    kinds = ["Gather", "Slice", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose", "Gemm"]
    values: list[Any] = [3, -9, 0, 1, 1.5, "x", [1, 2], [0], [1, 0, 2], ["a"]]
    model = reference(np.random.default_rng(0))
    between = [SQUEEZED, node("Gather", ["s", "i2"], "h", axis=0)]
    plain = build(model, between=between, hidden="h", extra=NUMBERS)
    x = np.random.default_rng(1).normal(size=(3, 1, 1)).astype(np.float32)
    computed = 0
    for _ in range(600):
        graph = onnx.ModelProto()
        graph.CopyFrom(plain)
        damaged = rng.choice(list(graph.graph.node))
        what = rng.randrange(5)
        if what == 0:
            damaged.input[rng.randrange(len(damaged.input))] = rng.choice(names)
        elif what == 1:
            del damaged.input[rng.randrange(len(damaged.input)) :]
        elif what == 2:
            del damaged.output[:]
        elif what == 3:
            damaged.op_type = rng.choice(kinds)
        else:
            name = rng.choice(["axis", "axes", "perm", "transA", "direction", "layout", "starts"])
            kept = [attribute for attribute in damaged.attribute if attribute.name != name]
            del damaged.attribute[:]
            damaged.attribute.extend([*kept, helper.make_attribute(name, rng.choice(values))])
        try:
            imported = from_onnx(graph)
        except ModelImportError:
            continue
        try:
            out = ReferenceEvaluator(graph).run(None, {"x": x})[0]
        except Exception:  # it cannot run, for whatever reason
            continue
        assert np.asarray(out).item() == pytest.approx(
            imported.forward(x.transpose(1, 0, 2)).item(), abs=1e-4
        )
        computed += 1
    assert computed > 10
