# %% [markdown] tags=["en"]
# # 7 · Why does the second token cost so much less than the first?
#
# {{path}}
#
# The loop at the end of {{nb:00}} read the whole text again for every new token.
# Nearly all of that work repeats what has been done before.
# What can be kept, what does it cost to keep it, and what goes wrong when it is kept carelessly?

# %% [markdown] tags=["en"]
# ## What you will see
#
# - One step of generation that computes a single row in each of 30 blocks, written out in full and equal to the model's.
# - The bill: bytes a token, and time a token with and without a cache over the length of the text, measured on your machine.
# - Which savings are free and which are not, and four ways in which a cache goes wrong without any error.

# %% [markdown] tags=["en"]
# ## What you need
#
# {{nb:03}}, where the attention of one block is computed for all tokens at once.
# About 1 GB of memory; the page runs in about a minute.

# %% [markdown] tags=["en"]
# ## Set up

# %%
import statistics

from helpers import check_close, generate, load_model, trace
from helpers.corpus import read_lines
from helpers.errors import CheckFailed
from helpers.ffn import model_shapes
from helpers.figures import heatmap, lines, strips
from helpers.intervene import intervene
from helpers.kv_cache import cache_bytes, forward_with_cache, keys_values, new_cache
from helpers.timing import now
from helpers.weights import activation, block_weights, final_norm, position_vectors, sizes

import torch  # after helpers, which tells it how to wait for its threads

# %%
lm = load_model()
prompt = "The capital of France is Paris. The capital of Italy is"
seen = trace(lm, prompt)
size = sizes(lm)
n_tokens, n_layers, d_head = len(seen.tokens), size.n_layers, size.d_head
n_heads, n_kv_heads = size.n_heads, size.n_kv_heads
weights = [block_weights(lm, i) for i in range(n_layers)]
print(f"{n_tokens=} {n_layers=} {n_heads=} {n_kv_heads=} {d_head=}")

# %% [markdown] tags=["en"]
# ## What comes in
#
# One forward pass over the prompt: in every block a query, a key and a value for every token, as {{nb:03}} derives them.
# Here are the keys of the first key head of block 0, turned to their positions.

# %%
k_name = "k_rot" if "block0.k_rot" in seen else "k"  # GPT-2 turns nothing
strips(seen[f"block0.{k_name}"][:, 0], seen.tokens, title="One key a token",
       caption=seen.caption("keys of KV head 0, after rotation", layer=0))

# %% [markdown] tags=["en"]
# ## 1 · What changes in the past when a token is added?
#
# Running totals show the idea: add a number at the end, and every earlier total stays as it was.
# The model is built the same way. The causal mask lets a token look back only, so nothing about an earlier token can depend on a later one.
# Put the answer behind the prompt and compare the old rows.

# %%
print(torch.tensor([3, 1, 4]).cumsum(0).tolist(), torch.tensor([3, 1, 4, 1]).cumsum(0).tolist())  # toy numbers
answer = int(seen["logits"][-1].argmax())
longer = trace(lm, [*seen.token_ids, answer])
for name in (f"block0.{k_name}", f"block{n_layers - 1}.{k_name}", f"block{n_layers - 1}.v", "logits"):
    check_close(f"old rows of {name}", longer[name][:n_tokens], seen[name], rtol=5e-4, atol=5e-4, against="before")

# %% [markdown] tags=["en"]
# Every tensor of the pass has gained one row and kept the others.
# Computing those others again was wasted.

# %% [markdown] tags=["en"]
# ## 2 · What does the new token need from the old ones?
#
# Not their queries: a query is used by its own token only.
# Not their residual stream: the FFN looks at one token alone.
# Attention is the one place where another token's numbers enter, and it asks for two things: the keys, to be compared with, and the values, to be mixed.
# So keep these, in every block. That is the **KV cache**.
#
# Reading the prompt fills it. This first pass is called **prefill**; each later pass, for one token, is a **decode** step.

# %%
cache = [(seen[f"block{i}.{k_name}"], seen[f"block{i}.v"]) for i in range(n_layers)]
theirs = new_cache(lm)
forward_with_cache(lm, seen.token_ids, theirs)
for i in (0, n_layers - 1):
    for name, ours, model in zip(("keys", "values"), cache[i], keys_values(theirs, i)):
        check_close(f"{name} kept in block {i}", ours, model)

# %% [markdown] tags=["en"]
# ## 3 · How does one token pass through attention?
#
# As in {{nb:03}}, with one row where there were many: one query, one key, one value.
# The position is the token's place in the whole text. It is the first new token of its pass, yet it must be turned as number 12, not as number 0.


# %%
def turn(x, position):
    """Rotate x (heads, d_head) to its place; models without rotation add positions to the embedding instead."""
    rotary = getattr(lm.model.base_model, "rotary_emb", None)
    if rotary is None:
        return x
    cos, sin = (part[0] for part in rotary(x, torch.tensor([[position]], device=x.device)))
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin

# %% [markdown] tags=["en"]
# The new key and value join the cache *before* the query looks, because a token may look at itself.
# And no mask is needed: everything in the cache is past.


# %%
def append(old, new):
    return tuple(torch.cat([rows, row[None]]) for rows, row in zip(old, new))  # one row more

def attend(i, h, position, cache, join=append):
    """What attention adds in block i for one token, h (d_model,); its key and value join cache[i]."""
    w = weights[i]
    q, k, v = (m @ h + b for m, b in ((w.w_q, w.b_q), (w.w_k, w.b_k), (w.w_v, w.b_v)))
    q, k = (turn(norm(x.view(-1, d_head)), position) for norm, x in ((w.q_norm, q), (w.k_norm, k)))
    cache[i] = join(cache[i], (k, v.view(-1, d_head)))
    keys, values = (rows.repeat_interleave(n_heads // n_kv_heads, dim=1) for rows in cache[i])
    pattern = (torch.einsum("hd,jhd->hj", q, keys) / d_head**0.5).softmax(dim=-1)  # (n_heads, n_tokens + 1)
    return w.w_o @ torch.einsum("hj,jhd->hd", pattern, values).flatten() + w.b_o

# %%
h = longer["block0.norm1"][-1]  # (d_model,): the new token's vector, and only that one
added = attend(0, h, n_tokens, list(cache))
check_close("what attention adds for the new token, block 0", added, longer["block0.attn"][-1])

# %% [markdown] tags=["en"]
# ## 4 · And through the whole model?
#
# Embedding, thirty blocks, final norm, logits, each for a single row.
# The FFN is the one of {{nb:04}}; it never looked at other tokens anyway.

# %%
table, out_table = lm.model.get_input_embeddings().weight, lm.model.get_output_embeddings().weight
bend, last_norm, places = activation(lm), final_norm(lm), position_vectors(lm, n_tokens + 12)

def step(token_id, position, cache, join=append):
    """Logits (n_vocab,) after one more token; the cache grows by one row in every block."""
    x = table[token_id] + places[position]
    for i, w in enumerate(weights):
        x = x + attend(i, w.norm1(x), position, cache, join)
        h = w.norm2(x)
        up = w.w_up @ h + w.b_up
        act = bend(up) if w.w_gate is None else bend(w.w_gate @ h + w.b_gate) * up
        x = x + w.w_down @ act + w.b_down
    return out_table @ last_norm(x)

# %% [markdown] tags=["en"]
# Three ways to the same logits: this step, the model's own cached step, and the model reading everything again.
# Then the loop: prefill once, twelve tokens, one row each.

# %%
ours = step(answer, n_tokens, list(cache))
check_close("our step, the model's step", ours, forward_with_cache(lm, [answer], theirs)[-1], rtol=5e-4, atol=5e-4)
check_close("our step, everything again", ours, longer["logits"][-1], rtol=5e-4, atol=5e-4,
            against="the model without a cache")
written = generate(lm, prompt, max_new_tokens=12)
ids, growing = [answer], list(cache)
while len(ids) < len(written.token_ids):
    ids.append(int(step(ids[-1], n_tokens + len(ids) - 1, growing).argmax()))
check_close("our tokens, generate's", ids, written.token_ids, against="generate")
print(f"the cache grew from {len(cache[0][0])} to {len(growing[0][0])} rows a block")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Twelve tokens were written, yet the cache has grown by eleven rows. Which token left none, and when would it?

# %% [markdown] tags=["en"]
# ## 5 · Why are the logits not equal to the last digit?
#
# The formulas are the same, the sums are not taken in the same order.
# A processor multiplies one row by a matrix in another way than it multiplies thirteen, and numbers of finite length do not add up to the same in every order.
# If that is the whole reason, the difference must shrink when each number carries more digits.

# %%
print(0.1 + 0.2 + 0.3 == 0.3 + 0.2 + 0.1)  # toy numbers
act, w_down = longer["block0.act"], weights[0].w_down  # (n_tokens + 1, d_mlp), (d_model, d_mlp)
for dtype in (torch.float32, torch.float64):
    rows, matrix = act.reshape(-1, w_down.shape[1]).to("cpu", dtype), w_down.to("cpu", dtype)
    check_close(f"one row at a time, {dtype}", torch.stack([matrix @ row for row in rows]), rows @ matrix.T,
                against="all at once")

# %% [markdown] tags=["en"]
# In 64 bits the difference falls by many orders of magnitude: it was rounding, nothing else.
# The consequence is practical. A cached run is compared with a tolerance, here 5e-4, and never with `==`; a close race between two tokens may be decided the other way.

# %% [markdown] tags=["en"]
# ## 6 · What does it cost to keep?
#
# For each token, in each block, one key and one value for every *KV* head, `d_head` numbers each.
# Multiply, and compare with what the model's own cache occupies.

# %%
a_token = 2 * n_layers * n_kv_heads * d_head * 4  # keys and values, float32
check_close("bytes of the model's cache", cache_bytes(theirs), a_token * (n_tokens + 1), against="the formula")
print(f"{a_token:,} bytes a token; counted with all {n_heads} query heads: {a_token * n_heads // n_kv_heads:,}")
lengths = [0, 1024, 2048, 4096, 8192]
kinds = {"MHA: 9 KV heads": 9 * 4, "GQA: 3, as it is": 3 * 4, "MQA: 1": 1 * 4, "GQA, int8": 3 * 1}
megabytes = {name: [2 * 30 * 64 * bytes_ * n / 1e6 for n in lengths] for name, bytes_ in kinds.items()}
lines(lengths, megabytes, title="What a cache of SmolLM2's shape takes up", x_title="tokens", y_title="MB",
      caption="Computed: 30 layers, heads of 64 numbers, 4 bytes a number where nothing else is said.")

# %% [markdown] tags=["en"]
# **Sharing** keys and values among heads (GQA, MQA) is free only if the model was trained so; {{nb:03}} shows what becomes of this one when it is forced.
# A second way is to let most blocks look back over a short distance only, a **sliding window**: Gemma 3 270M keeps 512 tokens in 15 of its 18 blocks (Gemma Team, 2025).
# The older models below hold every head; what do the newer ones save?

# %%
for shape in model_shapes():
    row = 2 * shape["n_kv_heads"] * shape["d_head"] * 2  # bytes a token and block in float16
    all_tokens = shape["n_layers"] * row * 8192 / 1e6
    print(f"{shape['name']:13} {row * shape['n_layers']:8,} bytes a token, {all_tokens:6,.0f} MB for 8,192 tokens")
    if shape["name"].startswith("Gemma"):
        kept = (15 * min(8192, 512) + 3 * 8192) * row / 1e6
        print(f"{'':13} with its windows {kept:.0f} MB")

# %% [markdown] tags=["en"]
# ## 7 · What does it save?
#
# Without a cache, every new token costs a pass over the whole text: as much as the first token.
# So two times tell everything: that of a pass over `n` tokens, which is also the time until the first token (**TTFT**), and that of one step behind `n` cached tokens.

# %%
longest = min(512, lm.config.max_position_embeddings - 8)
lengths = [longest // 2**k for k in (4, 3, 2, 1, 0)]
many = (seen.token_ids * longest)[:longest]

def seconds(ids, cache):
    start = now(lm.device)
    forward_with_cache(lm, ids, cache, last_only=True)
    return now(lm.device) - start

def first_and_later(n):
    cache = new_cache(lm)
    return seconds(many[:n], cache), statistics.median(seconds(many[:1], cache) for _ in range(5))

# %% tags=["nbval-ignore-output"]
first_and_later(lengths[0])  # a warm-up
rounds = [[first_and_later(n) for n in lengths] for _ in range(3)]
first, later = torch.tensor(rounds).median(dim=0).values.T * 1e3  # milliseconds
for n, a, b in zip(lengths, first.tolist(), later.tolist()):
    print(f"{n:4} tokens: first {a:6.0f} ms, each later one {b:4.0f} ms with cache: {a / b:4.1f} times faster")
lines(lengths, {"without cache (= first token)": first, "with cache": later}, title="Time for one more token",
      x_title="tokens so far", y_title="ms",
      caption=f"Measured at the last build: medians of 3 passes and 15 steps, {lm.name}, {lm.device}.")

# %% [markdown] tags=["en"]
# How does the time until the first token grow: in proportion to the prompt, or faster?
# Fit $a + b\,n + c\,n^2$ and ask where the quadratic part would overtake the linear one.

# %% tags=["nbval-ignore-output"]
n = torch.tensor(lengths, dtype=torch.float64)
terms = torch.stack([n**0, n, n**2], dim=1)
scale = 1 / first.double()  # relative errors count alike at every length
a, b, c = torch.linalg.lstsq(terms * scale[:, None], (first.double() * scale)[:, None]).solution.flatten().tolist()
print(f"first token: {a:.0f} ms + {b:.2f} ms · n + {c:.5f} ms · n²")
if c > 0:
    print(f"the parts are equal at {b / c:,.0f} tokens" + (", extrapolated" if b / c > longest else ""))
else:
    print("the quadratic part is too small to be measured at these lengths")

# %% [markdown] tags=["en"]
# The two parts can also be counted, without a clock.
# A token passes every matrix once, whatever the length: the linear part. Each *pair* of tokens is one dot product and one mixing per head: the quadratic part.

# %%
names = ("w_q", "w_k", "w_v", "w_o", "w_gate", "w_up", "w_down")
matrices = sum(getattr(w, name).numel() for w in weights for name in names if getattr(w, name) is not None)
a_pair = 2 * n_layers * n_heads * d_head
print(f"{matrices:,} multiplications a token, {a_pair:,} a pair, equal at {matrices / a_pair:,.0f} tokens")
for n in (16, 256, 4096):
    without, cached = n * matrices + n**2 * a_pair, matrices + n * a_pair
    print(f"one more token after {n:5,}: {without / 1e9:8.1f} billion without cache, {cached / 1e9:.2f} with it")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - With the cache, the curve is nearly flat. What is left to do is dominated by reading the weights, about half a gigabyte for every token, however long the text ({{nb:13}}).
# - The cache has made the multiplications hundreds of times fewer, and the time fell by less. A step that is limited by memory does not get faster by computing less.
# - Did the clock put the crossing earlier than the count does? The n² scores are not only multiplied: they are written to memory and read again for the mask, the softmax and the mixing. Could attention do without writing them? ({{nb:08}})

# %% [markdown] tags=["en"]
# ## 8 · Could we throw old tokens away?
#
# A window in every block would bound the cache for good. This model was not trained with one, so try it on a short story and look at the **perplexity**: how many tokens it hesitates between, on average ({{nb:05}}).
# In {{nb:03}} most heads parked their attention on the first token. What if that one is thrown away with the others?

# %%
story = lm.tokenizer("\n".join(read_lines("english")))["input_ids"][: min(256, longest)]
place = torch.arange(len(story), device=lm.device)
back = place[:, None] - place  # (n, n): how far back each column lies

def perplexity(kept):
    """On the story, when each token sees only what `kept` (n, n) allows."""
    mask = torch.zeros_like(back, dtype=lm.model.dtype).masked_fill(~kept, torch.finfo(lm.model.dtype).min)
    logits = lm.model(input_ids=torch.tensor([story], device=lm.device), attention_mask=mask[None, None]).logits[0]
    return logits[:-1].log_softmax(dim=-1)[place[:-1], story[1:]].mean().neg().exp().item()

# %%
whole = perplexity(back >= 0)
print(f"everything kept: {len(story)} rows, perplexity {whole:.0f}")
for window in (len(story) // 4, len(story) // 16):
    recent = (back >= 0) & (back < window)
    with_first = recent | ((back >= 0) & (place < 1))
    print(f"the last {window}: {perplexity(recent):.0f}; with the first token: {perplexity(with_first):.0f}")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default model
#
# - Sixty-four tokens are a quarter of the story. Kept alone they more than double the perplexity; with the first token kept as well, they lose little. One row in each block makes the difference.
# - Nothing of use stands in that row. It is the parking place, and without it every head has to put its attention where it does harm (Xiao et al., 2023).

# %% [markdown] tags=["en"]
# ## 9 · Could we keep fewer digits?
#
# A number in the cache need not have 32 bits. Take the smallest and the largest of a group, divide the span into 255 equal steps (8 bits) or 15 (4 bits), and keep only the number of the step.
# A group may be one token's key, or one **channel**, the same place in the keys of all tokens.


# %% tags=["nbval-ignore-output"]
def rounded(bits, dim):
    def squeeze(x):  # (n_tokens, n_kv_heads, d_head); dim -1: a group a token, dim 0: a group a channel
        low, high = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
        unit = ((high - low) / (2**bits - 1)).clamp_min(1e-9)
        return ((x - low) / unit).round() * unit + low
    return squeeze

toy = rounded(2, -1)(torch.tensor([0.0, 0.1, 0.5, 1.0]))  # toy numbers, 2 bits: four values
print([round(value, 2) for value in toy.tolist()])
for bits, how, k_dim in ((8, "token", -1), (4, "token", -1), (4, "channel", 0)):
    changes = {f"block{i}.k": rounded(bits, k_dim) for i in range(n_layers)}
    with intervene(lm, changes | {f"block{i}.v": rounded(bits, -1) for i in range(n_layers)}):
        print(f"{bits} bits, keys by {how}: perplexity {perplexity(back >= 0):.1f} (in 32 bits {whole:.1f})")

# %% [markdown] tags=["en"]
# Keys are rounded here before they are turned, values as they are; every token reads rounded rows, itself included.
# With two more bytes each for the smallest value and the step of a token's group, int8 takes 12,240 bytes a token and int4 6,480, of 46,080.
#
# **Things to notice**, with the default model
#
# - Eight bits cost nothing that shows. Four bits hurt when grouped by token, and hardly at all when the keys are grouped by channel. Why keys? Some of their channels are large for *every* token; in a token's group they leave no steps for the rest (Liu et al., KIVI, 2024).
# - The 4-bit numbers depend on your machine more than any other here: a difference in the last digit pushes a value over the edge of a step, and the step is wide. The order of the three stays.

# %% [markdown] tags=["en"]
# ## Try it
#
# The text above, token by token. The picture is the explorer's first decode step: what the new token reads in each block, averaged over the heads.

# %%
whole_text = trace(lm, [*seen.token_ids, *written.token_ids[:-1]])
row = min(n_tokens, len(whole_text.tokens) - 1)  # the first generated token
some = range(0, n_layers, max(1, n_layers // 10))
reads = torch.stack([whole_text[f"block{i}.pattern"][:, row].mean(dim=0) for i in some])
heatmap(reads[:, : row + 1], [f"block {i}" for i in some], whole_text.tokens[: row + 1],
        title="What the first generated token reads", row_title="in this block", column_title="rows of this token",
        caption=whole_text.caption("attention of the last token, mean over the heads"))

# %%
from helpers.widgets import CacheExplorer

explorer = CacheExplorer(lm, whole_text, n_prompt=n_tokens)
explorer

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Orange is computed in this step, blue is read. Step on: the orange column moves, the blue field grows by one column.
# - Switch the cache off. Where has the blue gone, and what happens to the two totals?
# - Step 0 is the prefill. Does the cache change anything there?

# %% [markdown] tags=["en"]
# ## Break it
#
# The last token of the prompt once more, as a decode step behind the others; the right step must give the model's own answer.
# Then one planted mistake at a time. The effect is the part of the probability that moves to other tokens.


# %%
def both_in_front(old, new):
    return tuple(torch.cat([row[None], rows]) for rows, row in zip(old, new))

def value_in_front(old, new):
    return append(old, new)[0], both_in_front(old, new)[1]

slips = {
    "right": (n_tokens - 1, append),
    "position 0 in each step": (0, append),
    "new value in front, new key behind": (n_tokens - 1, value_in_front),
    "both in front": (n_tokens - 1, both_in_front),
    "looks before it joins": (n_tokens - 1, lambda old, new: old if len(old[0]) else append(old, new)),
    "reads an empty row as well": (n_tokens - 1, lambda old, new: append(append(old, new), [0 * x for x in new])),
}

# %%
def rows_until(n):
    return [(keys[:n], values[:n]) for keys, values in cache]
last = seen.token_ids[-1]
outcomes = {name: step(last, position, rows_until(n_tokens - 1), join) for name, (position, join) in slips.items()}
start, shared = max(n_tokens - 2, 0), rows_until(max(n_tokens - 2, 0))
for i, token_id in enumerate(lm.encode(" Germany")):
    step(token_id, start + i, shared)  # a branch that should have had a copy
for i, token_id in enumerate(seen.token_ids[start:]):
    outcomes["shared with another branch"] = step(token_id, start + i, shared)
for name, logits in outcomes.items():
    try:
        check_close(name, logits, seen["logits"][-1], rtol=5e-4, atol=5e-4)
    except CheckFailed:
        p, right = logits.softmax(dim=-1), seen["logits"][-1].softmax(dim=-1)
        print(f"{name}: stopped; answer {p[answer]:.3f}, {(p - right).abs().sum() / 2:.2f} of the probability moves")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - The order of the rows does not matter as long as keys and values keep the same one: the position is inside the key. Only the rotation knows who stood where.
# - Looking before joining moves a tenth of the probability and leaves the answer on top. No reader of the text would notice; a check does.
# - Reading one empty row, as a cache with room to spare makes easy, moves a hundredth. It is the smallest effect here and would be the last one found.
# - The shared cache says *Berlin*. It has read a word that nobody wrote.
# - None of the six raises an error.

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · The cached step (12 minutes).** Attention for `n_new` new tokens behind the cached ones: one in a decode step, several when a prompt is read in pieces.
# Let the new keys and values join, then attend. Return what is mixed, and the cache as it is now.


# %% tags=["exercise"]
def attend_cached(q, k, v, keys, values):
    """q (n_new, n_heads, d_head); k, v (n_new, n_kv_heads, d_head); keys, values (n_old, n_kv_heads, d_head)"""
    return ...  # mixed (n_new, n_heads, d_head), keys, values

# %% tags=["check"]
from helpers.exercises.kv_cache import check_attend_cached, check_positions, check_tokens_that_fit

check_attend_cached(attend_cached, seen, layer=0)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Tokens are the first axis: `torch.cat([keys, k])` puts the new rows below the old ones.
# </details>
#
# <details><summary>Hint 2</summary>
#
# New token number 0 sees all `n_old` cached rows and itself. In a mask of shape (n_new, n_old + n_new), the first hidden column of row 0 is `n_old + 1`: `triu(diagonal=n_old + 1)`.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def attend_cached(q, k, v, keys, values):
#     n_new, n_heads, d_head = q.shape
#     n_old, n_kv_heads, _ = keys.shape
#     keys, values = torch.cat([keys, k]), torch.cat([values, v])
#     shared_k, shared_v = (x.repeat_interleave(n_heads // n_kv_heads, dim=1) for x in (keys, values))
#     scores = torch.einsum("ihd,jhd->hij", q, shared_k) / d_head**0.5
#     future = torch.ones(n_new, n_old + n_new, dtype=torch.bool, device=q.device).triu(diagonal=n_old + 1)
#     pattern = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
#     return torch.einsum("hij,jhd->ihd", pattern, shared_v), keys, values
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · Which positions? (3 minutes).** `n_cached` tokens are in the cache and `n_new` follow in one pass. Return the list of their positions.


# %% tags=["exercise"]
def positions(n_cached, n_new):
    return ...

# %% tags=["check"]
check_positions(positions)

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# The very first token of a text stands at position 0. At which one does the token stand that has three before it?
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def positions(n_cached, n_new):
#     return list(range(n_cached, n_cached + n_new))
# ```
# </details>

# %% [markdown] tags=["en"]
# **3 · How long a text fits? (5 minutes).** After loading the weights, `n_bytes` of memory are free, and `batch` conversations of equal length run side by side.
# How many tokens can each have at most, with `number` bytes for each number of the cache? `size` is what `sizes(lm)` returns.


# %% tags=["exercise"]
def tokens_that_fit(size, n_bytes, batch, number):
    return ...

# %% tags=["check"]
check_tokens_that_fit(tokens_that_fit, size)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# First the bytes of one token: keys and values, every layer, every *KV* head, `d_head` numbers of `number` bytes.
# </details>
#
# <details><summary>Hint 2</summary>
#
# A token fits or it does not: `//` rounds down.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def tokens_that_fit(size, n_bytes, batch, number):
#     a_token = 2 * size.n_layers * size.n_kv_heads * size.d_head * number
#     return n_bytes // (a_token * batch)
# ```
# </details>

# %% [markdown] tags=["en"]
# ## Fact check
#
# **"Without a cache each step is O(n²)."** Of what? The attention scores of a step are n² pairs; the projections and FFNs, which are most of the work up to some 3,000 tokens in this model, grow with n (step 7).
# A whole text of n tokens is one power higher: n³ and n². With a cache a step has n pairs and one row of projections, a whole text n² and n.
#
# **"The KV cache speeds up the first token."** It does not: the first token needs every row of the prompt, and step 0 of the explorer is the same with and without. It speeds up every later one.
#
# **"KV cache bytes = 2 · layers · heads · head size · length · batch · bytes."** True with *KV* heads: 3 here and not 9, 46,080 bytes a token in float32 (step 6); counted with query heads it would be three times as much.
#
# **"The KV cache is 2 to 3 times faster."** At one length. It is the ratio of the two curves in step 7, and it grows with the text: about twice at 32 tokens, more than ten times at 512 where this page was built.
#
# **"Prefill time is proportional to the length of the prompt."** Nearly, as long as prompts are short: a linear part and a quadratic part. Counted in multiplications they are equal at 3,072 tokens with the default model; in measured time the crossing of step 7 can lie much earlier, because the n² scores also travel through memory. Where it lies beyond the lengths measured, it is extrapolated.

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `cache[i]` | two of (n_tokens, n_kv_heads, d_head) | keys and values of block i, kept |
# | `step(token_id, position, cache)` | (n_vocab,) | logits of one more token, one row a block |
# | `first`, `later` | (5,) | measured milliseconds: a whole pass, a cached step |
#
# A decode step reads the whole cache to make one row. How attention reads it without ever writing down the scores is the subject of {{nb:08}}; how many requests share one memory, of {{nb:09}}.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - Pope et al., *Efficiently Scaling Transformer Inference*, 2022. [arXiv:2211.05102](https://arxiv.org/abs/2211.05102): prefill and decode, counted.
# - Xiao et al., *Efficient Streaming Language Models with Attention Sinks*, 2023. [arXiv:2309.17453](https://arxiv.org/abs/2309.17453)
# - Liu et al., *KIVI: A Tuning-Free Asymmetric 2bit Quantization for KV Cache*, 2024. [arXiv:2402.02750](https://arxiv.org/abs/2402.02750)
# - Gemma Team, *Gemma 3 Technical Report*, 2025. [arXiv:2503.19786](https://arxiv.org/abs/2503.19786)
