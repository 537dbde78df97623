# %% [markdown] tags=["en"]
# # 4 · What does each token make of what it has heard?
#
# {{path}}
#
# After attention every token is on its own: the **feed-forward network** (FFN) reads one vector, tests it for 1,536 things, and adds a vector to it.
# More than half of the model's weights are there.
# Here you compute this half of a block yourself, follow a logit back to the parts that made it, and find one neuron without which *Rome* is not the answer.

# %% [markdown] tags=["en"]
# ## What you will see
#
# - Both norms and both kinds of FFN by hand, each equal to the model's to the last digit or nearly.
# - The winning logit as a sum over 61 parts, and then over 46,080 neurons, with nothing left over.
# - One neuron that costs the answer when it is switched off, and what becomes of a model without its residuals or its norms.

# %% [markdown] tags=["en"]
# ## What you need
#
# Matrix products and a little PyTorch; {{nb:03}} for what comes before.
# About 1.2 GB of memory; the page runs in about half a minute.

# %% [markdown] tags=["en"]
# ## Set up

# %%
from dataclasses import replace

from helpers import check_close, load_model, trace
from helpers.ffn import block_modules, hooked, model_shapes
from helpers.figures import bars, lines, strips
from helpers.figures.ffn import signed_bars, stacked_shares
from helpers.intervene import intervene
from helpers.neurons import nearest_tokens
from helpers.small_models import random_model
from helpers.tokens import token_labels
from helpers.weights import activation, block_weights, final_norm, sizes

import torch  # after helpers, which tells it how to wait for its threads

# %%
lm = load_model()
prompt = "The capital of France is Paris. The capital of Italy is"
seen = trace(lm, prompt)
ids = torch.tensor([seen.token_ids], device=lm.device)
layer, w, bend = 0, block_weights(lm, 0), activation(lm)  # bend: the function between the FFN's matrices
n_tokens, n_layers, d_mlp = len(seen.tokens), sizes(lm).n_layers, w.w_up.shape[0]
answer = int(seen["logits"][-1].argmax())
name = token_labels(lm.tokenizer, [answer])[0]
print(f"{n_layers} blocks with an FFN of {d_mlp:,} neurons each; the model's answer here is {name}")

# %% [markdown] tags=["en"]
# ## What comes in
#
# One vector a token: the embedding, and on top of it what attention has brought.
# This running sum is the **residual stream**, called `x` here.

# %%
x = seen[f"block{layer}.mid"]  # (n_tokens, d_model)
strips(x, seen.tokens, title="What the second half of block 0 receives",
       caption=seen.caption("residual stream after attention", layer=layer))

# %% [markdown] tags=["en"]
# ## 1 · Why is every vector brought to a standard length first?
#
# Thirty blocks add to the stream, and it grows: you will see by how much in step 6.
# A matrix that had to cope with any length could rely on nothing.
# So each half of a block looks at a copy of standard length, and the stream itself stays as it is.
#
# **LayerNorm** (2016) subtracts the mean and divides by the spread.
# **RMSNorm** (Zhang & Sennrich, 2019) skips the subtraction: it divides by the root of the mean square.

# %%
toy = torch.tensor([3.0, 4.0])  # toy numbers
root = toy.pow(2).mean().sqrt()
print(f"RMSNorm: mean square {toy.pow(2).mean():.1f}, divide by {root:.2f}: {toy / root}")
centred = toy - toy.mean()
root = centred.pow(2).mean().sqrt()
print(f"LayerNorm: subtract {toy.mean():.1f}, divide by {root:.2f}: {centred / root}")

# %% [markdown] tags=["en"]
# Then each of the 576 numbers is multiplied by a learned weight of its own.
# The tiny **eps** under the root keeps a vector of zeros from being divided by zero; it does more than that, as *Break it* will show.

# %%
for part, norm, stream in (("norm1", w.norm1, seen["embed"]), ("norm2", w.norm2, x)):
    if norm.subtracts_mean:  # not in this model
        stream = stream - stream.mean(dim=-1, keepdim=True)
    mean_square = stream.pow(2).mean(dim=-1, keepdim=True)  # (n_tokens, 1)
    h = stream / (mean_square + norm.eps).sqrt() * norm.weight + norm.bias  # the bias is 0 here
    check_close(f"{part}, block 0", h, seen[f"block{layer}.{part}"])

# %% [markdown] tags=["en"]
# ## 2 · What does the FFN do with it?
#
# Each row of `w_gate` and `w_up` is compared with the vector; 1,536 rows give 1,536 numbers.
# One such place in the middle is a **neuron**.
# The gate decides whether it speaks, `up` what it says, and **SiLU**, $z \cdot \text{sigmoid}(z)$, turns the first into a valve: shut far below zero, open above.
# Their product is the neuron's **activation**.
# The whole is called **SwiGLU** (Shazeer, 2020).

# %%
gates, ups = torch.tensor([-6.0, -1.0, 0.0, 2.0, 6.0]), torch.full((5,), 3.0)  # toy numbers
for gate, act in zip(gates, torch.nn.functional.silu(gates) * ups):
    print(f"gate {gate:4.0f} and up 3.0 make {act:5.2f}")

# %%
h = seen[f"block{layer}.norm2"]
up = h @ w.w_up.T + w.b_up  # (n_tokens, d_mlp); no biases in this model
if w.w_gate is None:
    act = bend(up)  # GPT-2 has no gate
else:
    gate = h @ w.w_gate.T + w.b_gate
    act = bend(gate) * up
check_close("activations, block 0", act, seen[f"block{layer}.act"])

# %% [markdown] tags=["en"]
# Every neuron has one column in `w_down`: the vector it writes into the stream, as long as its activation says and turned round where that is negative.
# The FFN's result is the sum of these 1,536 vectors.
# Again the recipe is the same in all blocks, so check them all.

# %%
added = []
for i in range(n_layers):
    block = block_weights(lm, i)
    added.append(seen[f"block{i}.act"] @ block.w_down.T + block.b_down)  # (n_tokens, d_model)
theirs = [seen[f"block{i}.mlp"] for i in range(n_layers)]
check_close("what the FFNs add", torch.stack(added), torch.stack(theirs))
check_close("the stream after block 0", x + added[0], seen["block0"])

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Nothing here mixes tokens: row 3 of the result depends on row 3 of the input alone. Where in the code can you see that?

# %% [markdown] tags=["en"]
# ## 3 · How was it done before, and why a gate?
#
# GPT-2 (2019) has LayerNorm, biases, and an FFN of two matrices with **GELU** between them; here in its tanh form.
# To compare we need a model of that shape. This one is two blocks small and its **weights are random**: good for checking arithmetic, good for nothing else.

# %%
old = trace(random_model(lm, "gpt2"), seen.token_ids)
v = block_weights(random_model(lm, "gpt2"), 0)
centred = old["block0.mid"] - old["block0.mid"].mean(dim=-1, keepdim=True)
variance = centred.pow(2).mean(dim=-1, keepdim=True)
normed = centred / (variance + v.norm2.eps).sqrt() * v.norm2.weight + v.norm2.bias
check_close("LayerNorm", normed, old["block0.norm2"], against="the random model")
z = old["block0.norm2"] @ v.w_up.T + v.b_up
gelu = 0.5 * z * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (z + 0.044715 * z**3)))
check_close("GELU", gelu, old["block0.act"], against="the random model")
check_close("FFN of 2019", gelu @ v.w_down.T + v.b_down, old["block0.mlp"], against="the random model")

# %% [markdown] tags=["en"]
# SiLU and GELU are curves of much the same shape. What the gate adds is a **product**:
# without it a neuron answers one question about the vector, with it the answer to one question is multiplied by the answer to another, *is this about a capital* by *which country*.
# A sum of bent single answers can only imitate that with many neurons.
# The price is a third matrix.

# %% [markdown] tags=["en"]
# ## 4 · Who wrote the answer?
#
# Nothing is ever erased from the stream: the last vector is the embedding plus 30 attention results plus 30 FFN results.
# The final norm divides all of it by one and the same number, known once the last vector is known.
# So the winning logit splits into 61 parts, exactly.
#
# A logit means nothing alone: add 5 to all of them and no probability moves.
# We therefore also count what a part gives the answer **above the average token**.

# %%
norm, table = final_norm(lm), lm.model.get_output_embeddings().weight  # (n_vocab, d_model)

def centred(part):
    return part - part.mean() if norm.subtracts_mean else part  # LayerNorm only

scale = (centred(seen[f"block{n_layers - 1}"][-1]).pow(2).mean() + norm.eps).sqrt()
places = ["embed"] + [f"block{i}.{part}" for i in range(n_layers) for part in ("attn", "mlp")]
parts = torch.stack([centred(seen[place][-1]) / scale * norm.weight for place in places])  # (61, d_model)
logits, above = seen["logits"][-1], table[answer] - table.mean(dim=0)  # above: what sets its row apart
to_logit, gains = parts @ table[answer], parts @ above  # (61,)
check_close("sum of 61 parts", to_logit.sum() + norm.bias @ table[answer], logits[answer])
check_close("the same, above average", gains.sum() + norm.bias @ above, logits[answer] - logits.mean())

# %%
kinds = {"attention": slice(1, None, 2), "FFN": slice(2, None, 2)}  # after the embedding they take turns
for kind, where in kinds.items():
    print(f"{kind:10} {to_logit[where].sum():6.2f} of the logit, {gains[where].sum():6.2f} of what it is above average")
lines(range(n_layers), {kind: gains[where] for kind, where in kinds.items()}, x_title="block",
      y_title="above the average token", title=f"What each block adds to the logit of {name}",
      caption=seen.caption("exact parts of the last logit, through the final norm"))

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Of the logit as it stands the FFNs seem to give nearly all. Above the average token attention gives more. Which of the two figures would you quote?
# - The large steps are in blocks 22 to 29. The earlier ones are not idle: what could they be writing that is not an answer yet?
# - Attention's largest step is in block 23. What comes right before it, in the FFN of block 22? (Step 5 has a name for it.)

# %% [markdown] tags=["en"]
# ## 5 · Which neurons was it?
#
# An FFN's result is itself a sum, one vector a neuron, so the decomposition goes on: 30 · 1,536 = 46,080 parts.
# The part of a neuron is its **push**: activation times the dot product of its column with the direction that tells the answer from the average token.

# %%
towards = centred(above * norm.weight / scale)  # (d_model,)
push, bias = [], []
for i in range(n_layers):
    block = block_weights(lm, i)
    push.append(seen[f"block{i}.act"][-1] * (towards @ block.w_down))
    bias.append(towards @ block.b_down)
push = torch.stack(push)  # (n_layers, d_mlp)
check_close("neurons of each block", push.sum(dim=1) + torch.stack(bias), gains[kinds["FFN"]], against="the blocks")
up, down = push[push > 0].sum(), push[push < 0].sum()
print(f"{push.numel():,} neurons push up by {up:.1f} and down by {-down:.1f}: together {push.sum():.1f}")

# %% [markdown] tags=["en"]
# A tug of war with thousands on either side.
# Does a neuron with a large push matter?
# A measurement decides: take the strongest of each block, **switch it off** (its activation becomes 0 at every token while the model runs), and read the answer's probability.
# For the five whose loss hurts most we list the tokens whose direction in the vocabulary is nearest to what the neuron writes, as seen through the final norm's weight.

# %%
def probability():
    return lm.model(ids).logits[0, -1].softmax(dim=-1)[answer].item()
numbers, without = torch.arange(d_mlp, device=lm.device), []
for i, j in enumerate(push.argmax(dim=1).tolist()):
    with torch.no_grad(), intervene(lm, {f"block{i}.act": lambda act, j=j: act * (numbers != j)}):
        without.append(probability())
print(f"{name} with all neurons: {logits.softmax(dim=-1)[answer]:.1%}")
for i in torch.tensor(without).argsort()[:5].tolist():
    j = int(push[i].argmax())
    writes = seen[f"block{i}.act"][-1, j] * block_weights(lm, i).w_down[:, j]  # (d_model,)
    up, _ = nearest_tokens(lm, writes[None])
    print(f"{without[i]:6.1%} without neuron {j} of block {i}:", *token_labels(lm.tokenizer, up[0, :6]))

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - One neuron of 46,080, number 1005 in block 24, and `␣Rome` falls from 65 % to 9 %. Its own push is 0.23 of 9.1. How can so small a part matter so much?
#   (What it writes is read by the blocks that follow. A push counts the direct way to the logit alone.)
# - Cities in block 22, Italy in block 23, capitals in block 24: the neurons can be read in the order in which they are used.
# - Most of the 46,080 cannot be named like this. And neuron 625 of block 28, with the second-largest push of all, promotes countries: without it `␣Rome` *gains*, to 79 %. Who else did it help?

# %% [markdown] tags=["en"]
# ## 6 · What if nothing were added, or nothing normed?
#
# Three interventions on the trained model, a line or two each.
# *No residual*: every block hands on what it computed, without the stream it came from.
# *No norm*: both halves of every block read the stream as it is.
# *Norm after*: the same, but the stream itself is normed after each block, much as in 2017.
# We ask for the last vector's size (root mean square) at every depth, and at the end for how alike the tokens have become (mean cosine between two positions).

# %%
modules = [block_modules(lm, i) for i in range(n_layers)]
changes = {
    "as it is": [], "no residual": [(m.block, lambda entering, out: out - entering) for m in modules],
    "no norm": [(norm, lambda entering, out: entering) for m in modules for norm in (m.norm1, m.norm2)],
}
norms = [block_weights(lm, i).norm2 for i in range(n_layers)]
after = [(m.block, lambda entering, out, norm=norm: norm(out)) for m, norm in zip(modules, norms)]
changes["norm after"] = changes["no norm"] + after

# %%
curves = {}
for change, hooks in changes.items():
    kept = []  # the stream after every block
    keep = [(m.block, lambda entering, out, kept=kept: kept.append(out[0])) for m in modules]
    with torch.no_grad(), hooked(hooks + keep):
        last = lm.model(ids).logits[0, -1]
    stream = torch.stack(kept)  # (n_layers, n_tokens, d_model)
    size = stream[:, -1].pow(2).mean(dim=-1).sqrt().log10()
    curves[change] = [value for value in size.tolist() if value < torch.inf]  # what is finite
    direction = torch.nn.functional.normalize(stream[-1], dim=-1)
    alike = (direction.sum(dim=0).pow(2).sum() - n_tokens) / max(1, n_tokens * (n_tokens - 1))
    print(f"{change:12} numbers in {len(curves[change])} blocks, tokens alike {alike:5.2f}, {name} {last.softmax(-1)[answer]:6.1%}")
lines(range(n_layers), curves, title="Size of the last token's vector",
      x_title="block", y_title="log10 of root mean square",
      caption=seen.caption("stream after each block; a line ends where the numbers overflow"))

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - As it is, the vector becomes sixteen times as long on its way, in steps that no block would notice through its norm.
# - Without norms it grows more than ten-thousandfold a block, and in the fourth float32 has no number left for it: from there on all is `nan`, not a number.
# - Without residuals the sizes stay tame, since every block still norms its input. The answer is lost all the same: what a block wrote is gone after the next.
# - With the norm after, all tokens end up pointing the same way. This model's weights were trained for the norm before: it shows what *it* needs, not that others cannot be trained.

# %% [markdown] tags=["en"]
# "Deep networks cannot be trained without residuals" is a claim about gradients. On toy stacks it can be tried: random FFNs, 64 wide, and the size of the gradient that reaches the bottom, for a gradient of size 1 at the top.

# %%
def gradient_at_bottom(depth, residual, norm, width=64):  # toy sizes, random weights
    dice = torch.Generator().manual_seed(0)
    bottom = x = torch.randn(8, width, generator=dice, requires_grad=True)
    for _ in range(depth):
        w_up = torch.randn(4 * width, width, generator=dice) / width**0.5
        w_down = torch.randn(width, 4 * width, generator=dice) / (4 * width) ** 0.5
        h = x / (x.pow(2).mean(dim=-1, keepdim=True) + 1e-5).sqrt() if norm else x
        x = torch.nn.functional.silu(h @ w_up.T) @ w_down.T + (x if residual else 0)
    top = torch.randn(x.shape, generator=dice)
    return (torch.autograd.grad(x, bottom, top)[0].norm() / top.norm()).item()

for residual, norm in ((True, True), (True, False), (False, True), (False, False)):
    sizes_found = [f"{depth}: {gradient_at_bottom(depth, residual, norm):.0e}" for depth in (1, 10, 40)]
    print(f"residual {residual!s:5}  norm {norm!s:5}  gradient by depth", *sizes_found)

# %% [markdown] tags=["en"]
# With neither, the gradient is gone; with residuals alone it explodes; with both it stays within a factor of six over 40 blocks.
# And with norms alone it holds as well: a vanishing gradient is not the whole story of why deep models add.

# %% [markdown] tags=["en"]
# ## 7 · Where are the weights?
#
# Shapes are enough to count them, also of models that no laptop holds.
# Per block: queries and output, keys and values; three matrices for every expert (one, unless the model has more: next step).

# %%
def budget(s):
    """Weights by part, from a model's sizes."""
    attention = 2 * s["d_model"] * s["d_head"] * (s["n_heads"] + s["n_kv_heads"])
    router = s["d_model"] * s["n_experts"] if s["n_experts"] > 1 else 0
    ffn = 3 * s["d_model"] * s["d_mlp"] * s["n_experts"] + router
    norms = s["norms_per_block"] * s["d_model"] + 2 * s["d_head"] * s["qk_norms"]
    tables = s["n_vocab"] * s["d_model"] * (1 if s["tied"] else 2)
    parts = {"attention": attention, "FFN": ffn, "norms": norms}
    blocks = {part: s["n_layers"] * n for part, n in parts.items()}
    return {**blocks, "vocabulary": tables, "last norm": s["d_model"]}

# %%
rows, shown = {}, ("attention", "FFN", "vocabulary")
for shape in model_shapes():
    parts = budget(shape)
    total = sum(parts.values())
    rows[shape["name"]] = [parts[part] / total for part in shown]
    print(f"{shape['name']:13} {total:14,} weights:", *[f"{part} {parts[part] / total:.1%}" for part in shown])
print(f"counted in {lm.name}: {sum(p.numel() for p in lm.model.parameters()):,}")
stacked_shares(rows, shown, title="Where the weights are",
               caption="Counted from published shapes (data/model_shapes.json).")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - The smaller the model, the more of it is vocabulary: 63 % of Gemma 3 270M is one table.
# - Llama 3's attention shrank to half of LLaMA 2's share. Which number in the shapes did that? ({{nb:03}}, step 2)

# %% [markdown] tags=["en"]
# ## 8 · Can a model own more weights than it uses?
#
# In a **mixture of experts** (MoE) each block has several FFNs and a **router**, one small matrix that scores them for every token.
# Each token goes to its best two; their results are added, weighted by the router's softmax over those two.
# The model below has Mixtral's shape with 8 experts, two blocks, and again **random weights**.

# %%
moe = random_model(lm, "mixtral")
routed, mlp = trace(moe, seen.token_ids), block_modules(moe, 0).mlp
h = routed["block0.norm2"]
scores = h @ mlp.gate.weight.T  # (n_tokens, n_experts)
best = scores.topk(moe.config.num_experts_per_tok)
shares, chosen = best.values.softmax(dim=-1), best.indices  # (n_tokens, 2) both
check_close("router", scores, routed["block0.router"], against="the random model")
check_close("experts chosen", chosen, routed["block0.experts"], against="the random model")
check_close("their shares", shares, routed["block0.expert_weights"], against="the random model")

# %%
added = torch.zeros_like(h)
for token in range(n_tokens):
    for share, expert in zip(shares[token], chosen[token]):
        gate, up = (mlp.experts.gate_up_proj[expert] @ h[token]).chunk(2)  # two matrices stored as one
        added[token] += share * (mlp.experts.down_proj[expert] @ (torch.nn.functional.silu(gate) * up))
check_close("what the experts add", added, routed["block0.mlp"], against="the random model")
load = torch.bincount(chosen.flatten(), minlength=len(mlp.experts.down_proj))
bars([f"expert {i}" for i in range(len(load))], load / load.sum(), title="Where the tokens went",
     caption=routed.caption("share of all choices, random weights", layer=0))

# %%
mixtral = next(shape for shape in model_shapes() if shape["n_experts"] > 1)
total = sum(budget(mixtral).values())
expert = mixtral["n_layers"] * 3 * mixtral["d_model"] * mixtral["d_mlp"]
used = total - (mixtral["n_experts"] - mixtral["n_active"]) * expert
dense = total - (mixtral["n_experts"] - 1) * expert  # the same model with one FFN a block
print(f"{mixtral['name']}: {total / 1e9:.1f} billion weights, {used / 1e9:.1f} billion used for a token")
print(f"against one FFN a block: {total / dense:.1f} times the weights, {used / dense:.1f} times the multiplications")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - With random weights the load is uneven, and an expert may get no token at all. In training a further term in the loss pulls it towards even; what would it cost to wait for the busiest expert?
# - Each weight used is one multiplication and one addition a token: 2 FLOPs. All 46.7 billion have to be in memory, though only 12.9 billion work on any one token.

# %% [markdown] tags=["en"]
# ## Try it
#
# First a picture: in the block with the largest single push, the eight neurons that push hardest, up or down.

# %%
i = int(push.max(dim=1).values.argmax())
strong = push[i].abs().topk(min(8, d_mlp)).indices.tolist()
signed_bars([f"neuron {j}" for j in strong], push[i, strong], title=f"Block {i}: push on {name}",
            caption=seen.caption("direct effect on the last logit, above the average token", layer=i))

# %% [markdown] tags=["en"]
# The explorer holds the strongest neurons of every block at every token.
# Choose a block and a token, then a neuron in the list: where in the prompt does it fire, and what does it push up there?
# The list can be sorted by push, or by the length of what a neuron writes, which tells more in early blocks.

# %%
from helpers.widgets import NeuronExplorer

explorer = NeuronExplorer(lm, seen)
explorer

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Block 23, neuron 325 is silent until the last token. Block 24, neuron 1005 has fired once before: where, and what is the model about to say there?
# - Change the prompt to *The capital of Japan is*. Neuron 1005 of block 24 fires again, 325 of block 23 does not. And with *The largest city of Italy is*?
# - Sort by length, take the first token and block 11: two neurons write vectors about a hundred times as long as the third's, or longer. Which neuron takes most of it back, in block 28? ({{nb:03}} calls this token a parking place.)

# %% [markdown] tags=["en"]
# ## Break it
#
# Three slips in block 0, each of them easy to make: a wrong eps, gate and up exchanged, the norm after the addition instead of before.
# By how much is the result off, and what would one see in the answer?

# %%
def ffn(x, norm=w.norm2, gate=w.w_gate, up=w.w_up):
    h = norm(x)
    act = bend(h @ up.T + w.b_up) if gate is None else bend(h @ gate.T) * (h @ up.T)
    return act @ w.w_down.T + w.b_down

norm1, norm2 = (replace(norm, eps=norm.eps / 10) for norm in (w.norm1, w.norm2))
slips = {"eps a tenth": ffn(x, norm=norm2), "norm after": w.norm2(x + ffn(x, norm=lambda x: x)) - x}
if w.w_gate is not None:
    slips["gate and up swapped"] = ffn(x, gate=w.w_up, up=w.w_gate)
for slip, wrong in slips.items():
    with torch.no_grad(), intervene(lm, {"block0.mlp": lambda right, wrong=wrong: wrong}):
        print(f"{slip:20} off by {(wrong - seen['block0.mlp']).abs().max():.2g}, {name} {probability():.1%}")
off = (norm1(seen["embed"]) - seen["block0.norm1"]).abs().max()
print(f"eps a tenth, in the first norm itself: off by {off:.1g}")

# %% [markdown] tags=["en"]
# `check_close` stops all of them, and with the default prompt it has to: the wrong eps leaves no trace in the answer.
# In the norm itself it shows as 0.0004, which is why our checks allow 0.0001 and not 0.001.

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · RMSNorm (5 minutes).** Step 1 as a function, for any number of tokens and any width.

# %% tags=["exercise"]
def rms_norm(x, weight, eps):
    """x (n_tokens, d_model), weight (d_model,) -> (n_tokens, d_model)"""
    return ...

# %% tags=["check"]
from helpers.exercises.ffn import check_rms_norm, check_swiglu, check_weights_used

check_rms_norm(rms_norm, seen, w.norm2)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Square, mean over the last axis with `keepdim=True`, add eps, root, divide.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def rms_norm(x, weight, eps):
#     mean_square = x.pow(2).mean(dim=-1, keepdim=True)
#     return x / (mean_square + eps).sqrt() * weight
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · SwiGLU (5 minutes).** The whole FFN, from the normed vectors to what it adds, without biases.

# %% tags=["exercise"]
def swiglu(h, w_gate, w_up, w_down):
    """h (n_tokens, d_model), w_gate and w_up (d_mlp, d_model), w_down (d_model, d_mlp)"""
    return ...

# %% tags=["check"]
check_swiglu(swiglu, seen, w)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Three products with transposed matrices. `torch.nn.functional.silu` bends one of the first two.
# </details>
#
# <details><summary>Hint 2</summary>
#
# The gate is bent, `up` is not, and the two are multiplied number by number.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def swiglu(h, w_gate, w_up, w_down):
#     act = torch.nn.functional.silu(h @ w_gate.T) * (h @ w_up.T)
#     return act @ w_down.T
# ```
# </details>

# %% [markdown] tags=["en"]
# **3 · Weights at work (8 minutes).** How many weights work on one token, norms not counted?
# `shape` is an entry of `model_shapes()`; the check tries all five and a made-up small one. A tied vocabulary table counts once.

# %% tags=["exercise"]
def weights_used(shape):
    return ...

# %% tags=["check"]
check_weights_used(weights_used, model_shapes())

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Start from `budget`. Only `n_active` experts work on a token, but the router has to score all of them.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def weights_used(shape):
#     parts = budget(shape | {"n_experts": 1})
#     expert = 3 * shape["d_model"] * shape["d_mlp"]
#     router = shape["d_model"] * shape["n_experts"] if shape["n_experts"] > 1 else 0
#     more = shape["n_layers"] * ((shape["n_active"] - 1) * expert + router)
#     return parts["attention"] + parts["FFN"] + parts["vocabulary"] + more
# ```
# </details>

# %% [markdown] tags=["en"]
# ## Fact check
#
# **"A block computes LayerNorm(H + A)."** So it did in 2017: the norm after the addition, **post-norm**. Modern decoders norm what goes *in* and leave the sum alone, **pre-norm**, and most use RMSNorm.
# The two are not two spellings of one thing: *Break it* put the norm after the addition in a single block, and the answer was gone.
#
# **"FFN(x) = gelu(xW₁)W₂."** True of GPT-2, as step 3 confirms. The models people run today have three matrices.
# The width 11,008 belongs to that: two matrices of width 4·4,096 hold 134 million weights, three of width 11,008 hold 135 million.
# Quoting 11,008 with two matrices undercounts by a third.
#
# **"In LLaMA-2-7B, FFN 67 %, attention 25 %."** From the shapes: 64.2 % and 31.9 %, the vocabulary tables 3.9 %.
#
# **"MoE: ten times the parameters for two to three times the cost."** For Mixtral 8x7B: 46.7 billion weights, 12.9 billion used for a token; against the same model with one FFN a block that is 6.4 times the weights for 1.8 times the multiplications.
# The name suggests 8 · 7 = 56 billion; attention and vocabulary exist only once.

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `seen["block0.norm2"]` | (n_tokens, d_model) | the stream at standard length |
# | `seen["block0.act"]` | (n_tokens, d_mlp) | how far each neuron fires |
# | `seen["block0.mlp"]` | (n_tokens, d_model) | what the FFN adds to the stream |
# | `seen["block29"]` | (n_tokens, d_model) | the stream after all blocks |
#
# The last row of the last stream holds the answer, mixed with everything else; {{nb:05}} turns it into 49,152 probabilities.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - Zhang & Sennrich, *Root Mean Square Layer Normalization*, 2019. [arXiv:1910.07467](https://arxiv.org/abs/1910.07467)
# - Shazeer, *GLU Variants Improve Transformer*, 2020. [arXiv:2002.05202](https://arxiv.org/abs/2002.05202)
# - Geva et al., *Transformer Feed-Forward Layers Are Key-Value Memories*, 2021. [arXiv:2012.14913](https://arxiv.org/abs/2012.14913)
# - Jiang et al., *Mixtral of Experts*, 2024. [arXiv:2401.04088](https://arxiv.org/abs/2401.04088)
