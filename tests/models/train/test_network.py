"""Our written-out LSTM against torch's own."""

import numpy as np
import pytest
import torch

from precog_models.train.network import Network


@pytest.mark.parametrize(("inputs", "outputs", "steps"), [(1, 1, 3), (4, 7, 1), (8, 16, 8)])
def test_forward_and_gradients_are_torchs(inputs: int, outputs: int, steps: int, seed: int) -> None:
    network = Network(inputs=inputs, outputs=outputs, steps=steps, seed=seed % 2**31).double()
    lstm = torch.nn.LSTM(inputs, 16, batch_first=True).double()
    head = torch.nn.Linear(16, outputs).double()
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(network.w_ih)
        lstm.weight_hh_l0.copy_(network.w_hh)
        lstm.bias_ih_l0.copy_(network.bias)
        lstm.bias_hh_l0.zero_()
        head.weight.copy_(network.head_w)
        head.bias.copy_(network.head_b)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(40, steps, inputs, dtype=torch.double, generator=generator)
    ours, theirs = network(x), head(lstm(x)[0][:, -1])
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    if steps > 1:
        torch.testing.assert_close(network.w_hh.grad, lstm.weight_hh_l0.grad, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(network.w_ih.grad, lstm.weight_ih_l0.grad, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(network.bias.grad, lstm.bias_ih_l0.grad, rtol=1e-9, atol=1e-9)

    exported = network.to_float_lstm()
    np.testing.assert_allclose(
        exported.forward(x.numpy()), ours.detach().numpy(), rtol=0, atol=1e-12
    )


def test_seed_and_input_scale_decide_the_start() -> None:
    one, same, other = Network(seed=1), Network(seed=1), Network(seed=2)
    wide = Network(seed=1, input_scale=4.0)
    assert torch.equal(one.w_hh, same.w_hh)
    assert not torch.equal(one.w_hh, other.w_hh)
    assert torch.equal(one.w_ih * 4.0, wide.w_ih)
    assert torch.equal(one.w_hh, wide.w_hh)
