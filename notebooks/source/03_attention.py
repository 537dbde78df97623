# %% [markdown] tags=["en"]
# # 3 · Which earlier tokens does each token look at?
#
# {{path}}
#
# A token's vector starts out knowing nothing of its neighbours, and yet *The capital of Italy is* ends in *Rome*.
# Attention is the one place in the model where information moves from one position to another.
# Here you compute it yourself, from the block's weights to the vector it adds to the stream, and compare what you get with the model's own tensors.

# %% [markdown] tags=["en"]
# ## What you will see
#
# - Small steps from one tensor to the next, each equal to the model's: queries, keys, values, scores, mask, shares, mix, output.
# - All 270 attention patterns of your prompt at once, heads with a job you can name, and what becomes of the answer without them.
# - What goes wrong, and by how much, when one step is left out or done in the wrong order.

# %% [markdown] tags=["en"]
# ## What you need
#
# Matrix products and a little PyTorch; {{nb:00}} for the whole picture.
# About 1 GB of memory; the page runs in well under a minute.

# %% [markdown] tags=["en"]
# ## Set up

# %%
from helpers import check_close, load_model, trace
from helpers.errors import CheckFailed
from helpers.figures import head_grid, lines, strips
from helpers.intervene import intervene
from helpers.kv_cache import forward_with_cache
from helpers.weights import block_weights, sizes

import torch  # after helpers, which tells it how to wait for its threads

# %%
lm = load_model()
prompt = "The capital of France is Paris. The capital of Italy is"
seen = trace(lm, prompt)

# %%
layer = 0
w = block_weights(lm, layer)  # w.w_q, w.b_q, …: the block's matrices and biases
size = sizes(lm)
n_tokens, d_model, d_head = len(seen.tokens), size.d_model, size.d_head
n_layers, n_heads, n_kv_heads = size.n_layers, size.n_heads, size.n_kv_heads
print(f"{n_tokens=} {d_model=} {n_layers=} {n_heads=} {n_kv_heads=} {d_head=}")

# %% [markdown] tags=["en"]
# ## What comes in
#
# One vector a token.
# Block 0 receives the embeddings, brings each vector to a standard length (the norm, taken apart in {{nb:04}}), and hands the result to attention.
# We call it `h`.

# %%
h = seen[f"block{layer}.norm1"]  # (n_tokens, d_model)
strips(h, seen.tokens, title="What attention receives in block 0",
        caption=seen.caption("embedding after the first norm", layer=layer))

# %% [markdown] tags=["en"]
# ## 1 · What does each token ask, and what does it offer?
#
# Each head turns every vector into three shorter ones of `d_head` numbers.
# The **query** is what a token looks for, the **key** is what it can be found by, the **value** is what it hands over if found.
# All three are matrix products with learned weights.
# How well a query fits a key is their dot product: large when they point the same way.

# %%
query = torch.tensor([1.0, 2.0])  # toy numbers
for name, key in {"same direction": [2.0, 4.0], "at right angles": [2.0, -1.0], "opposite": [-1.0, -2.0]}.items():
    print(f"{name:16} {query @ torch.tensor(key):5.1f}")

# %% [markdown] tags=["en"]
# Now the model's. The heads lie side by side in one matrix: nine groups of 64 rows make nine queries a token.
# Some models add a bias; in this one all of `w.b_q`, `w.b_k`, `w.b_v` are zero.

# %%
q = (h @ w.w_q.T + w.b_q).view(n_tokens, n_heads, d_head)
k = (h @ w.w_k.T + w.b_k).view(n_tokens, n_kv_heads, d_head)
v = (h @ w.w_v.T + w.b_v).view(n_tokens, n_kv_heads, d_head)
check_close("queries, block 0", q, seen[f"block{layer}.q"])
check_close("keys, block 0", k, seen[f"block{layer}.k"])
check_close("values, block 0", v, seen[f"block{layer}.v"])

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - There are nine queries a token, but three keys and three values. Who shares with whom?

# %% [markdown] tags=["en"]
# ## 2 · Why nine questions and only three answers?
#
# During generation the keys and values of all earlier tokens are kept in memory ({{nb:07}}).
# With **grouped-query attention** (GQA; Ainslie et al., 2023) three neighbouring query heads share one key and one value head, so that a third of the memory is enough.
# To compute, each key head is repeated for its group: heads 0, 1, 2 use key 0, heads 3, 4, 5 use key 1, and so on.

# %%
names = torch.tensor([0, 1, 2])  # toy numbers: three key heads
print("repeated within the group:", names.repeat_interleave(3).tolist())
print("tiled, which is wrong:    ", names.repeat(3).tolist())

# %% [markdown] tags=["en"]
# With one key and value head for each query head the scheme is called **MHA** (multi-head attention), with a single one for all **MQA** (multi-query; Shazeer, 2019).
# The switch below makes this model either of them, in all blocks at once: keys and values are averaged over as many heads as shall share.
# The price is measured as the probability that is left for the model's own answer.

# %%
group, answer = n_heads // n_kv_heads, int(seen["logits"][-1].argmax())

def share(n_left):
    def averaged(kv):  # (n_tokens, n_kv_heads, d_head)
        groups = kv.unflatten(1, (n_left, -1)).mean(dim=2)
        return groups.repeat_interleave(n_kv_heads // n_left, dim=1)
    return {f"block{i}.{name}": averaged for i in range(n_layers) for name in "kv"}

# %%
for name, n_left in {"MHA": n_heads, "GQA": n_kv_heads, "MQA": 1}.items():
    kept = 2 * n_layers * n_left * d_head * 4  # keys and values, float32
    with intervene(lm, share(min(n_left, n_kv_heads))):
        p = forward_with_cache(lm, seen.token_ids, cache=None, last_only=True)[-1].softmax(dim=-1)[answer]
    print(f"{name}: {kept:7,} bytes a token, probability of the answer {p:.3f}")

# %% [markdown] tags=["en"]
# As MHA this model would hold three copies of each key; copies change no answer, they cost memory.
# As MQA it loses the answer altogether: so much sharing takes further training, it cannot be switched on in a finished model.

# %% [markdown] tags=["en"]
# ## 3 · How does a query know where a key stands?
#
# It does not, so far: the same token has the same key at every position.
# The model therefore turns each query and key by angles that grow with its position, a method known as **RoPE** (rotary position embedding; Su et al., 2021).
# How the angles are chosen is the subject of {{nb:02}}; here the turned vectors are taken from the trace.
# Two facts can be checked here: turning changes no length, and position 0 is not turned at all. Values are not turned either, as step 7 will confirm.

# %%
q, k = w.q_norm(q), w.k_norm(k)  # changes nothing here; Qwen 3 and Gemma 3 bring both to a standard length first
q_rot, k_rot = seen.get(f"block{layer}.q_rot", q), seen.get(f"block{layer}.k_rot", k)
check_close("length of the queries", q_rot.norm(dim=-1), q.norm(dim=-1), against="before turning")
check_close("length of the keys", k_rot.norm(dim=-1), k.norm(dim=-1), against="before turning")
check_close("the first token is not turned", q_rot[0], q[0], against="before turning")

# %% [markdown] tags=["en"]
# ## 4 · How well does each question fit each key?
#
# Dot products of every query with every key, head by head, divided by $\sqrt{d_\text{head}}$.
# Why divide? The dot product of 64 numbers is spread about eight times as widely as a single product, and softmax turns wide spreads into all-or-nothing.
# The division undoes the growth (Vaswani et al., 2017).

# %%
k_turned = k_rot.repeat_interleave(group, dim=1)  # (n_tokens, n_heads, d_head): shared within the group
fits = torch.einsum("ihd,jhd->hij", q_rot, k_turned)  # (n_heads, n_tokens, n_tokens)
scores = fits / d_head**0.5

# %% [markdown] tags=["en"]
# ## 5 · Who may look at whom?
#
# While the model was trained, every position had to predict the token after it.
# A position that could see later tokens would read the answer off the page.
# The **causal mask** sets their scores to $-\infty$.
# A token may look at itself: only what lies strictly above the diagonal is removed.

# %%
future = torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=lm.device).triu(diagonal=1)
print(future[:4, :4].int())  # 1: not allowed
scores = scores.masked_fill(future, -torch.inf)
check_close("scores, block 0", scores, seen[f"block{layer}.scores"])

# %% [markdown] tags=["en"]
# ## 6 · How do scores become shares?
#
# Softmax along each row: raise *e* to every score, divide by the row's total.
# $e^{-\infty}$ is 0, so what is masked gets nothing.
# The result is the **attention pattern**: one row for each token that looks, one column for each token that is looked at.

# %%
toy = torch.tensor([2.0, 1.0, -torch.inf]).softmax(dim=-1)  # toy numbers: the third one lies in the future
print("toy row:", [round(share, 3) for share in toy.tolist()])
pattern = scores.softmax(dim=-1)  # (n_heads, n_tokens, n_tokens)
check_close("attention pattern, block 0", pattern, seen[f"block{layer}.pattern"])
check_close("every row adds up to 1", pattern.sum(dim=-1), torch.ones(n_heads, n_tokens), against="1")

# %%
head_grid(pattern, seen.tokens, title="The nine heads of block 0", caption=seen.caption("attention pattern", layer=layer))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - The first row of every head is a single dark cell. Token 0 has nothing but itself to look at: what is its share?
# - Some heads prefer the diagonal, some a neighbour, some spread their attention evenly. Which of the nine looks least like a neighbour's?

# %% [markdown] tags=["en"]
# ## 7 · What is carried over?
#
# Each head takes the values of all tokens, weighted with its row of shares.
# A share of 0.9 on one token means that the result is close to that token's value.

# %%
v_shared = v.repeat_interleave(group, dim=1)  # (n_tokens, n_heads, d_head)
mixed = torch.einsum("hij,jhd->ihd", pattern, v_shared)  # (n_tokens, n_heads, d_head)
check_close("mixed values, block 0", mixed, seen[f"block{layer}.mixed"])

# %% [markdown] tags=["en"]
# ## 8 · How do nine results become one vector?
#
# Lay the nine results side by side, 9 · 64 = 576 numbers, and multiply by one more matrix: the **output projection**.
# It decides where in the stream each head may write.
# Leave it out and every head would be confined to 64 places of its own.

# %%
side_by_side = mixed.reshape(n_tokens, n_heads * d_head)
added = side_by_side @ w.w_o.T + w.b_o  # (n_tokens, d_model)
check_close("what attention adds, block 0", added, seen[f"block{layer}.attn"])

check_close("the stream after attention", seen["embed"] + added, seen[f"block{layer}.mid"])

# %% [markdown] tags=["en"]
# The last line says what *adds* means: the block's input stays in the stream and attention's result is put on top.

# %% [markdown] tags=["en"]
# ## 9 · What do the other 29 blocks do with this?
#
# The same eight steps with other weights, on a stream that already carries what earlier blocks have found.
# That the recipe holds in all of them is checked in one loop, from the turned queries and keys to the pattern.

# %%
turned = "_rot" if f"block{layer}.q_rot" in seen else ""  # GPT-2 turns nothing
rebuilt = []
for i in range(n_layers):
    keys = seen[f"block{i}.k{turned}"].repeat_interleave(group, dim=1)
    fits = torch.einsum("ihd,jhd->hij", seen[f"block{i}.q{turned}"], keys)
    rebuilt.append((fits / d_head**0.5).masked_fill(future, -torch.inf).softmax(dim=-1))
patterns = torch.stack([seen[f"block{i}.pattern"] for i in range(n_layers)])
check_close("all patterns of all blocks", torch.stack(rebuilt), patterns)

# %% [markdown] tags=["en"]
# ## 10 · What do the heads do?
#
# First the numbers: the share of attention that goes to the first token, to the token before, and to the token itself, averaged over the prompt.

# %%
later = patterns[:, :, 1:]  # (n_layers, n_heads, …): rows with an earlier token to look at
kinds = {
    "first token": later[..., 0].mean(dim=(1, 2)),
    "token before": patterns.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=(1, 2)),
    "itself": later.diagonal(offset=1, dim1=-2, dim2=-1).mean(dim=(1, 2)),
}
lines(range(n_layers), kinds, title="Where attention goes", x_title="block", y_title="mean share",
      caption=seen.caption("mean over heads and over all tokens but the first"))

# %% [markdown] tags=["en"]
# From block 3 on, nearly every block puts more than half of its attention on the first token, be it ever so dull: here it is `The`. The exceptions, around blocks 10 and 16, are where the heads with a job sit.
# It is a parking place: a row must add up to 1, and a head that finds nothing to fetch has to put its share somewhere.
# The effect is known as the **attention sink** (Xiao et al., 2023).
#
# Other jobs show on a text without meaning.
# Take 24 random tokens and repeat them: whoever wants to predict the second half must find the same token in the first half and look at what came *after* it.
# A head that does so is called an **induction head** (Olsson et al., 2022).

# %%
dice = torch.Generator().manual_seed(0)
half = torch.randint(lm.config.vocab_size, (24,), generator=dice).tolist()
again = trace(lm, half + half)
repeated = torch.stack([again[f"block{i}.pattern"] for i in range(n_layers)])
jobs = {"first token": repeated[:, :, 1:, 0].mean(dim=-1)}
jobs["token before"] = repeated.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)
jobs["induction"] = repeated.diagonal(offset=-23, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)
for job, score in jobs.items():
    i, j = divmod(int(score.argmax()), n_heads)
    print(f"{job:12} strongest in block {i}, head {j}: {score[i, j]:.2f}")

# %% [markdown] tags=["en"]
# Is a head that looks at the right word also the one that matters?
# Take its contribution away, leave everything else, and see what becomes of the answer.
# Below, for the six heads in which the last token looks hardest at one earlier token, the first token and itself not counted.

# %%
def without(head):
    return lambda mixed: mixed.index_fill(1, torch.tensor([head], device=mixed.device), 0.0)

looks = patterns[:, :, -1].clone()
looks[:, :, [0, -1]] = 0
first = looks.amax(dim=-1).flatten().sort(descending=True).indices[:6]
hardest = [divmod(int(i), n_heads) for i in first]
for i, head in hardest:
    with intervene(lm, {f"block{i}.mixed": without(head)}):
        p = forward_with_cache(lm, seen.token_ids, cache=None, last_only=True)[-1].softmax(dim=-1)[answer]
    place = seen.tokens[int(looks[i, head].argmax())]
    print(f"block {i:2}, head {head}: {looks[i, head].max():.2f} on {place}, answer without: {p:.2f}")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - The answer has 0.65 with all heads at work. Without head 4 of block 23 it falls to 0.04; without head 4 of block 16, which looks harder at `␣Italy`, it hardly moves.
# - A pattern shows where a head looks. It does not show whether anyone needs what it brings: that takes an experiment.

# %% [markdown] tags=["en"]
# ## Try it
#
# The nine heads of block 0 in step 6 are the top row of the grid below; all 270 are in it.
# Click a small map, or move with the arrow keys; point at a cell for its number. (`layer` in the code is a block's number.)

# %%
from helpers.widgets import AttentionExplorer

best_layer, best_head = hardest[0]
explorer = AttentionExplorer(seen, layer=best_layer, head=best_head, row=n_tokens - 1)
explorer

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Block 16, head 4 fetches `␣Italy` for the final `␣is`. Which other heads in blocks 11 to 16 do the same?
# - Block 18, head 6, the strongest induction head, looks at `␣Paris`. Why there? (What followed the *previous* `␣is`?)

# %% [markdown] tags=["en"]
# ## Break it
#
# Four slips that still give a clean-looking pattern, each row adding up to 1.
# The number is the largest difference from the model's pattern in block 0.

# %%
def pattern_of(q, k, scale=d_head**0.5, mask=future):
    fits = torch.einsum("ihd,jhd->hij", q, k)
    return (fits / scale).masked_fill(mask, -torch.inf).softmax(dim=-1)

slips = {
    "no rotation": pattern_of(q, k.repeat_interleave(group, dim=1)),
    "not divided": pattern_of(q_rot, k_turned, scale=1.0),
    "keys tiled": pattern_of(q_rot, k_rot.repeat(1, group, 1)),
    "no mask": pattern_of(q_rot, k_turned, mask=torch.zeros_like(future)),
}

# %%
for name, wrong in slips.items():
    off = (wrong - seen[f"block{layer}.pattern"]).abs().max().item()
    try:
        check_close(name, wrong, seen[f"block{layer}.pattern"])
    except CheckFailed:
        print(f"{name:12} off by {off:.2f}, stopped by the check")

# %% [markdown] tags=["en"]
# None of these raises an error by itself, and but for the missing mask none of the patterns looks wrong.

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · The pattern (10 minutes).** Write steps 2 and 4 to 6 as one function: from turned queries and keys to the pattern.
# It must work for any number of tokens, heads and key heads.

# %% tags=["exercise"]
def attention_pattern(q, k):
    """q (n_tokens, n_heads, d_head), k (n_tokens, n_kv_heads, d_head);
    returns (n_heads, n_tokens, n_tokens)"""
    return ...

# %% tags=["check"]
from helpers.exercises.attention import check_attention_output, check_attention_pattern, check_kv_bytes

check_attention_pattern(attention_pattern, seen, layer=0)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Four lines: repeat the keys, take the dot products, mask, softmax. All sizes can be read from `q.shape` and `k.shape`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)` is True where a token lies in the future.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def attention_pattern(q, k):
#     n_tokens, n_heads, d_head = q.shape
#     k = k.repeat_interleave(n_heads // k.shape[1], dim=1)
#     scores = torch.einsum("ihd,jhd->hij", q, k) / d_head**0.5
#     future = torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=q.device).triu(diagonal=1)
#     return scores.masked_fill(future, -torch.inf).softmax(dim=-1)
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · The output (8 minutes).** From the pattern to what attention adds to the stream.

# %% tags=["exercise"]
def attention_output(pattern, v, w_o):
    """pattern (n_heads, n_tokens, n_tokens), v (n_tokens, n_kv_heads, d_head),
    w_o (d_model, n_heads * d_head); returns (n_tokens, d_model)"""
    return ...

# %% tags=["check"]
check_attention_output(attention_output, seen, w.w_o, layer=0)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# The heads of one token have to lie side by side before the last product: (n_tokens, n_heads, d_head) first, then `reshape`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# PyTorch stores a linear layer's weight as (out, in), so the product is with its transpose.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def attention_output(pattern, v, w_o):
#     n_heads, n_tokens, _ = pattern.shape
#     v = v.repeat_interleave(n_heads // v.shape[1], dim=1)
#     mixed = torch.einsum("hij,jhd->ihd", pattern, v)
#     return mixed.reshape(n_tokens, -1) @ w_o.T
# ```
# </details>

# %% [markdown] tags=["en"]
# **3 · What sharing saves (4 minutes).** How many bytes of keys and values must be kept for one token, over all blocks, in float32?
# Write it for any model: `size` holds `n_layers`, `n_heads`, `n_kv_heads`, `d_head` and `d_model`.

# %% tags=["exercise"]
def kv_bytes(size):
    return ...

# %% tags=["check"]
check_kv_bytes(kv_bytes, size)

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# Keys *and* values, for every block, for every key head, `d_head` numbers of four bytes.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def kv_bytes(size):
#     return 2 * size.n_layers * size.n_kv_heads * size.d_head * 4
# ```
# </details>

# %% [markdown] tags=["en"]
# ## Fact check
#
# **"A token attends to the tokens before it, not to itself."** Often read, and wrong: the mask spares the diagonal, and the line *itself* in step 10 is nowhere zero.

# %% [markdown] tags=["en"]
# **"Without positions, *I want to eat apples* and *apples eat to want I* are the same to attention."**
# True as long as there is neither rotation nor mask: shuffle the tokens and the outputs are the same vectors, shuffled.
# The mask alone ends the symmetry, since a token's output then depends on which tokens happen to stand before it.

# %%
order = torch.arange(n_tokens - 1, -1, -1)  # the prompt backwards
nothing_hidden = torch.zeros_like(future)

def output(order, mask):
    shares = pattern_of(q[order], k.repeat_interleave(group, dim=1)[order], mask=mask)
    return torch.einsum("hij,jhd->ihd", shares, v_shared[order])

for name, mask in {"no mask": nothing_hidden, "causal mask": future}.items():
    forwards, backwards = output(torch.arange(n_tokens), mask), output(order, mask)
    off = (forwards[order] - backwards).abs().max().item()
    print(f"{name}: the same vectors in another order? {off < 1e-4}")

# %% [markdown] tags=["en"]
# **"The cache holds 2 · layers · heads · head size numbers a token."** Heads that share are stored once: it is *key* heads, 3 here and not 9: 46,080 bytes a token in float32, as in step 2.

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `seen["block0.pattern"]` | (n_heads, n_tokens, n_tokens) | who looks at whom, and how much |
# | `seen["block0.mixed"]` | (n_tokens, n_heads, d_head) | what each head brings back |
# | `seen["block0.attn"]` | (n_tokens, d_model) | what attention adds to the stream |
# | `seen["block0.mid"]` | (n_tokens, d_model) | the stream that goes on to the FFN |
#
# Every token has now heard from the others; {{nb:04}} is about what it makes of that, on its own.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - Vaswani et al., *Attention Is All You Need*, 2017. [arXiv:1706.03762](https://arxiv.org/abs/1706.03762)
# - Ainslie et al., *GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints*, 2023. [arXiv:2305.13245](https://arxiv.org/abs/2305.13245)
# - Olsson et al., *In-context Learning and Induction Heads*, 2022. [arXiv:2209.11895](https://arxiv.org/abs/2209.11895)
# - Xiao et al., *Efficient Streaming Language Models with Attention Sinks*, 2023. [arXiv:2309.17453](https://arxiv.org/abs/2309.17453)
