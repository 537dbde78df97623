"""What `transformers` itself hands out in one forward pass, under the keys of a trace."""

from contextlib import contextmanager

import torch


def reference(lm, token_ids):
    """{key: tensor}: hidden states, attention patterns and logits, without the batch axis."""
    with eager_experts(lm.model), torch.no_grad():
        ids = torch.tensor([token_ids], device=lm.device)
        out = lm.model(input_ids=ids, output_hidden_states=True, output_attentions=True, use_cache=False)
    n_layers = lm.config.num_hidden_layers
    assert (len(out.hidden_states), len(out.attentions)) == (n_layers + 1, n_layers)
    # the last hidden state is handed out after the final norm
    keys = ["embed", *(f"block{i}" for i in range(n_layers - 1)), "final_norm"]
    theirs = dict(zip(keys, out.hidden_states, strict=True))
    theirs |= {f"block{i}.pattern": attention for i, attention in enumerate(out.attentions)}
    return {key: value[0] for key, value in {**theirs, "logits": out.logits}.items()}


@contextmanager
def eager_experts(model):
    """A mixture of experts runs its plain loop inside the block; its grouped kernel rounds differently."""
    before = model.config._experts_implementation
    if before is not None:
        model.set_experts_implementation("eager")
    yield
    if before is not None:
        model.set_experts_implementation(before)
