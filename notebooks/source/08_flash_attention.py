# %% [markdown] tags=["en"]
# # 8 · Can attention do without its largest matrix?
#
# {{path}}
#
# Attention compares every token with every earlier one, and writes each comparison down before it uses it.
# That table grows with the square of the text, soon outweighs the model, and is thrown away at once.
# This page gets the same result without ever having the table, in pieces small enough to stay close to the processor.

# %% [markdown] tags=["en"]
# ## What you will see
#
# - How much the table costs in memory and in traffic: counted, measured on your machine, and set beside the numbers of GPUs.
# - A softmax that is taken piece by piece and never knows what is still to come, equal to the model's for every size of piece.
# - Your own attention inside the real model, which writes the same text with it; the same method as a GPU kernel.

# %% [markdown] tags=["en"]
# ## What you need
#
# {{nb:03}} for attention and its mask, {{nb:07}} for the cache that a new token reads.
# About 1.3 GB of memory; the page runs in about half a minute. No GPU.

# %% [markdown] tags=["en"]
# ## Set up

# %%
from helpers import check_close, generate, load_model, trace
from helpers.corpus import read_lines
from helpers.errors import CheckFailed, ReaderError
from helpers.figures import heatmap, lines
from helpers.flash import attend_split, tiles
from helpers.flash_backward import TiledAttention
from helpers.flash_counts import accelerators, naive_traffic, tiled_traffic
from helpers.peak import kept_for_gradients, peak_of
from helpers.plug import own_attention
from helpers.show import source_of
from helpers.timing import median_seconds
from helpers.weights import sizes

import torch  # after helpers, which tells it how to wait for its threads

# %%
lm = load_model()
prompt = "The capital of France is Paris. The capital of Italy is"
seen = trace(lm, prompt)
size = sizes(lm)
n_tokens, n_heads, n_kv_heads, d_head = len(seen.tokens), size.n_heads, size.n_kv_heads, size.d_head
layer = size.n_layers // 2
q_name, k_name = ("q_rot", "k_rot") if "block0.q_rot" in seen else ("q", "k")  # GPT-2 turns nothing
print(f"{n_tokens=} {n_heads=} {n_kv_heads=} {d_head=}, most pictures from block {layer}")

# %% [markdown] tags=["en"]
# ## What comes in
#
# Of one block: a query for every token and head, a key and a value for every token and KV head, turned to their positions.
# What goes out is as small as what comes in. Between the two stands this, once for each head. At a dozen tokens it is still the smallest thing here; it will not stay so.

# %%
q, k, v = (seen[f"block{layer}.{name}"] for name in (q_name, k_name, "v"))
pattern = seen[f"block{layer}.pattern"]
print(f"in: q {tuple(q.shape)}, k and v {tuple(k.shape)}; between: {tuple(pattern.shape)}")
heatmap(pattern[0], seen.tokens, seen.tokens, title="The table that shall never exist",
        caption=seen.caption("attention weights", layer=layer, head=0))

# %% [markdown] tags=["en"]
# ## 1 · How much does the table weigh?
#
# First the usual way, as in {{nb:03}}: all scores, then all weights, then the mix.
# Queries may be fewer than keys, as in a decode step; then they are the last ones of the text.
# (Gemma 3 hides what lies far back as well, by a sliding window; there the check below would stop you. `helpers/flash.py` knows windows.)


# %%
def by_head(x):
    """(n_tokens, heads, d_head) -> (n_heads, n_tokens, d_head); what heads share, once for each of them"""
    return x.transpose(0, 1).repeat_interleave(n_heads // x.shape[1], dim=0)

def naive(q, k, v):
    """What every head mixes for every query, (n_q, n_heads, d_head), by way of the whole table."""
    scores = by_head(q) @ by_head(k).mT / d_head**0.5  # (n_heads, n_q, n_k)
    future = torch.ones_like(scores[0], dtype=torch.bool).triu(1 + len(k) - len(q))
    pattern = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
    return (pattern @ by_head(v)).transpose(0, 1)

check_close(f"mixed values, block {layer}", naive(q, k, v), seen[f"block{layer}.mixed"])

# %% [markdown] tags=["en"]
# A prompt of a dozen tokens hides the cost, so read a story as well, from the beginning again where it is too short.
# `own_attention` puts a function of ours in the place of the model's attention, in every block; here one that also keeps what the first block hands it.

# %%
longest = min(1024, lm.config.max_position_embeddings)
story = lm.tokenizer("\n".join(read_lines("english")))["input_ids"]
long_ids, kept = (story * longest)[:longest], []

def naive_that_keeps(q, k, v, window):
    if not kept:
        kept.append((q, k, v))
    return naive(q, k, v)

with own_attention(lm, naive_that_keeps), torch.inference_mode():
    lm.model.base_model(input_ids=torch.tensor([long_ids], device=lm.device), use_cache=False)
long_q, long_k, long_v = (x.clone() for x in kept[0])
lengths = [longest // 2**i for i in (4, 3, 2, 1, 0)]
print(f"{longest} tokens of a story: q {tuple(long_q.shape)}")

# %% [markdown] tags=["en"]
# Under the mask no row sees what follows it, so the first 512 rows are those of a text of 512 tokens, and one pass serves all lengths.
# How much memory does one block's attention need on the way?

# %%
def first(n):
    return long_q[:n], long_k[:n], long_v[:n]

def held(attention, n):
    return peak_of(lambda: attention(*first(n)), lm.device)

naive_peak = [held(naive, n) for n in lengths]
for n, peak in zip(lengths, naive_peak):
    table = n_heads * n * n * 4
    print(f"{n:5} tokens: table {table / 1e6:5.2f} MB, held at once {peak / 1e6:6.2f} MB: {peak / table:.1f} tables")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Twice the text, four times the memory. At which length would the table of a single block outweigh all the weights of this model, half a gigabyte?
# - Three tables are held at once: scores, masked scores, weights. (At 64 tokens the keys, copied for each head, weigh as much as a table.) A tidier program needs fewer, yet never less than one.

# %% [markdown] tags=["en"]
# ## 2 · Is it the arithmetic that takes the time, or the carrying?
#
# A processor computes on what lies in small fast memory beside it; the table lies in large slow memory, a road away.
# Written once and read once as scores, and again as weights, every entry travels four times, 16 bytes in all.
# How many operations is that good for?
#
# A score is `d_head` products and as many sums, and later it multiplies `d_head` values: 4 · `d_head` operations for every entry of the table. How many bytes travel follows from the shapes.
# Divide the one by the other. If a device can do 200 operations while a byte arrives, and the algorithm has 31 for it, the device waits most of the time: the road is the **bottleneck**.
#
# So measure how fast your machine multiplies and how fast it reads. GPUs compute with 2-byte numbers, hence their bytes are half of ours.

# %% tags=["nbval-ignore-output"]
def rates():
    square, many = torch.ones(1024, 1024, device=lm.device), torch.ones(16_000_000, device=lm.device)
    products = 2 * 1024**3 / median_seconds(lambda: square @ square, lm.device)  # 1024³ times a product and a sum
    return products, many.nbytes / median_seconds(lambda: many.sum(), lm.device)

flops_per_s, bandwidth = rates()
n, shape = longest, {"n_heads": n_heads, "n_kv_heads": n_kv_heads, "d_head": d_head}
work, moved = 4 * n_heads * n * n * d_head, naive_traffic(n, n, **shape).total
measured = median_seconds(lambda: naive(*first(n)), lm.device)
print(f"{n} tokens: {work / 1e9:.2f} billion operations take {work / flops_per_s * 1e3:.1f} ms, {moved / 1e6:.0f} MB take "
      f"{moved / bandwidth * 1e3:.1f} ms; measured {measured * 1e3:.0f} ms")
print(f"naive attention offers {work / moved:.0f} operations a byte here, {2 * work / moved:.0f} on a GPU")
for chip in [{"name": "this machine", "flops": flops_per_s, "bytes_per_s": bandwidth}, *accelerators()]:
    print(f"{chip['name']:14} can do {chip['flops'] / chip['bytes_per_s']:4.0f} while a byte arrives")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - The GPUs wait. Naive attention gives them a fraction of the operations that they could do meanwhile: this gap is called the **memory wall**. Figures of the GPUs: NVIDIA's data sheets ([sources](../data/README.md)).
# - A laptop's processor computes slowly enough for its memory to keep up, more or less. And yet the measured time is far beyond both. Our count assumes that scaling and mask cost no pass of their own; here each is one, each writes a new table, and memory that is new has to be asked of the operating system first.
# - More operations per byte can only come from fewer bytes. The table has to stay at home.

# %% [markdown] tags=["en"]
# ## 3 · Can a softmax be taken before all scores are known?
#
# The weights of a row are $e^{s_j}/\sum_j e^{s_j}$, and in practice $e^{s_j-m}/\sum_j e^{s_j-m}$ with the row's largest score $m$, since $e^{89}$ is more than a 32-bit number can hold.
# Both $m$ and the sum seem to need the whole row. But when a larger score turns up, what has been summed so far is put right by a single factor, $e^{m_{old}-m_{new}}$.
# That is the **online softmax** (Milakov and Gimelshein, 2018). In the toy below, 1.135 is counted from 3; counted from 5 it is $1.135 \cdot e^{3-5} = 0.154$.


# %%
def add_piece(maximum, total, scores):
    """The largest score so far and the sum of e^(score - maximum), after one more piece of the row."""
    larger = torch.maximum(maximum, scores.max())
    return larger, total * (maximum - larger).exp() + (scores - larger).exp().sum()

toy = torch.tensor([1.0, 3.0, 2.0, 5.0])  # toy numbers
maximum, total = torch.tensor(-torch.inf), torch.tensor(0.0)
for piece in toy.split(2):
    maximum, total = add_piece(maximum, total, piece)
    print(f"after {[round(x) for x in piece.tolist()]}: maximum {maximum:.0f}, total {total:.3f}")
print(f"all at once: {(toy - toy.max()).exp().sum():.3f}")

# %% [markdown] tags=["en"]
# Now the last row of a real head, a few scores at a time; of the block's heads, the one whose largest score comes latest.
# `factor` is what the older total is multiplied by: 0 at first, when there is nothing to keep, and 1 when no larger score has turned up.

# %%
last_rows = seen[f"block{layer}.scores"][:, -1]  # (n_heads, n_tokens)
head = int(last_rows.argmax(dim=-1).argmax())
row = last_rows[head]
maximum, total = torch.full_like(row[0], -torch.inf), torch.zeros_like(row[0])
for start in range(0, n_tokens, 4):
    before = maximum
    maximum, total = add_piece(maximum, total, row[start : start + 4])
    print(f"tokens {start:2} to {min(start + 4, n_tokens) - 1:2}: maximum {maximum:6.2f}, "
          f"factor {(before - maximum).exp():.3f}, total {total:.3f}")
check_close(f"weights of the row, head {head}", (row - maximum).exp() / total, pattern[head, -1])

# %% [markdown] tags=["en"]
# ## 4 · And without keeping the weights?
#
# The last line above still needed every score again. But the weights are wanted only for the mix, and the mix is a sum too: $\sum_j e^{s_j-m} v_j$.
# It can grow along with the total and shrink by the same factor. Divide once, at the end.
#
# So three things are kept for each row: the maximum, the total, the unfinished mix. A piece of scores is used and forgotten.
# The same for many rows and all heads at once; a block of rows by a block of columns is a **tile**.


# %%
def add_tile(running, scores, values):
    """running: maximum and total (n_heads, rows), mixed (n_heads, rows, d_head);
    scores (n_heads, rows, columns), values (n_heads, columns, d_head)"""
    maximum, total, mixed = running
    larger = torch.maximum(maximum, scores.amax(dim=-1))
    shrink, shares = (maximum - larger).exp(), (scores - larger[..., None]).exp()
    return larger, shrink * total + shares.sum(dim=-1), shrink[..., None] * mixed + shares @ values

scores, values = seen[f"block{layer}.scores"][:, -1:], by_head(v)  # one row in each head
maximum, total = torch.full_like(scores[..., 0], -torch.inf), torch.zeros_like(scores[..., 0])
running = maximum, total, torch.zeros_like(values[:, :1])
for start in range(0, n_tokens, 4):
    running = add_tile(running, scores[..., start : start + 4], values[:, start : start + 4])
_, total, mixed = running
check_close("mixed values, last token", (mixed / total[..., None])[:, 0], seen[f"block{layer}.mixed"][-1])

# %% [markdown] tags=["en"]
# ## 5 · What does the whole algorithm look like?
#
# For each block of queries, walk along the keys, tile by tile. The scores of a tile are made on the spot.
#
# A causal mask has two effects. Tiles in which every key lies in the future are never made.
# In tiles that the diagonal cuts, each *element* is masked by its own position; the code below asks in every tile, and in a whole one nothing happens.
# And since every row sees the first token, its maximum is a number after the first tile; a sliding window needs one more precaution, which `helpers/flash.py` takes.


# %%
def is_future(columns, rows):
    return columns > rows[:, None]

def attend(q, k, v, block_q=64, block_k=64, step=add_tile, hidden=is_future):
    """FlashAttention, forward: as `naive`, one tile at a time."""
    keys, values, mixed, n_before = by_head(k), by_head(v), torch.empty_like(q), len(k) - len(q)
    for rows in torch.arange(n_before, len(k), device=q.device).split(block_q):  # positions of a block of queries
        queries = by_head(q[rows - n_before])  # (n_heads, rows, d_head)
        zeros = torch.zeros_like(queries)
        running = torch.full_like(zeros[..., 0], -torch.inf), zeros[..., 0], zeros
        for columns in torch.arange(int(rows[-1]) + 1, device=q.device).split(block_k):  # beyond, all is future
            scores = queries @ keys[:, columns].mT / d_head**0.5  # (n_heads, rows, columns): one tile
            running = step(running, scores.masked_fill(hidden(columns, rows), -torch.inf), values[:, columns])
        mixed[rows - n_before] = (running[2] / running[1][..., None]).transpose(0, 1)
    return mixed

# %%
few = min(n_tokens, 32)  # rows enough for every case; tiles of a single score take their time
theirs = torch.stack([seen[f"block{i}.mixed"][:few] for i in range(size.n_layers)])
for block_q, block_k in ((1, 1), (2, 3), (4, 4), (5, 16), (64, 64)):
    ours = torch.stack([
        attend(*(seen[f"block{i}.{name}"][:few] for name in (q_name, k_name, "v")), block_q, block_k)
        for i in range(size.n_layers)
    ])
    check_close(f"tiles of {block_q} x {block_k}, all blocks", ours, theirs)
long_text = first(longest)
check_close(f"the story, {longest} tokens", attend(*long_text), naive(*long_text), against="the whole table")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - The tiles need not divide the length, and a tile of one score is as right as a tile that holds them all. The size is a matter of speed alone.
# - Nothing is approximated. The differences are those of sums taken in another order ({{nb:07}}).

# %% [markdown] tags=["en"]
# ## 6 · What does it save?
#
# In memory: for each row of a block three things, and one tile. Nothing of size n² is left.
# In traffic: queries and results pass once; keys and values pass once for every block of queries, and skipped tiles do not pass at all.

# %%
tiled_peak = [held(attend, n) for n in lengths]
for n, before, after in zip(lengths, naive_peak, tiled_peak):
    counted = [naive_traffic(n, n, **shape), tiled_traffic(list(tiles(n, n)), **shape)]
    held_text = f"{before / 1e6:6.1f} and {after / 1e6:5.2f} MB ({before / after:4.1f} x)"
    moved_text = f"{counted[0].total / 1e6:6.1f} and {counted[1].total / 1e6:5.1f} MB"
    print(f"{n:5} tokens: held {held_text}; moved {moved_text}")
series = {"whole table": naive_peak, "tiles of 64 x 64": tiled_peak}
lines(lengths, {name: [peak / 1e6 for peak in peaks] for name, peaks in series.items()},
      title="Memory that one block's attention holds", x_title="tokens", y_title="MB",
      caption=f"Measured: tensors alive at once beside q, k, v; {lm.name}, block 0, a story, float32.")

# %% tags=["nbval-ignore-output"]
sizes_of_tiles = (16, 64, 256)
whole_s = median_seconds(lambda: naive(*first(longest)), lm.device)
print(f"{longest} tokens, whole table: {whole_s * 1e3:6.1f} ms")
for block in sizes_of_tiles:
    tiled_s = median_seconds(lambda block=block: attend(*first(longest), block, block), lm.device)
    print(f"tiles of {block:3} x {block:3}: {tiled_s * 1e3:14.1f} ms, {whole_s / tiled_s:.2f} x as fast")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - The tiled way holds about a megabyte for its tile, and some 7 KB for each further token: the result, and a copy of the keys and values for the heads that share them. For short texts the table is smaller than that.
# - Small tiles are slow here, since Python is asked for every one of them. Larger ones win even on a CPU: they never fill fresh memory with a whole table.
# - One of the two ratios doubles with the text, the other creeps towards a limit. Which, and what does that say about "3 times faster"?

# %% [markdown] tags=["en"]
# Is it enough for a GPU? Count operations per byte again, for tiles of several shapes.
# The tile must fit into the fast memory of one of the GPU's processors, two or three hundred kilobytes.

# %%
for block_q, block_k in ((64, 64), (64, 128), (128, 64), (256, 64)):
    made = [tile for tile in tiles(longest, longest, block_q, block_k) if tile.kind != "skipped"]
    pairs = sum((t.rows.stop - t.rows.start) * (t.columns.stop - t.columns.start) for t in made)
    bytes_ = [tiled_traffic(made, **shape, number=2, shared=shared).total for shared in (False, True)]
    alone, together = (4 * n_heads * pairs * d_head / count for count in bytes_)
    print(f"tiles of {block_q:3} x {block_k:3}: {alone:3.0f} operations a byte, "
          f"{together:3.0f} if heads share loaded keys")

# %% [markdown] tags=["en"]
# More *rows* in a tile give more work for each key that is loaded; more columns change nothing.
# Real kernels take 128 rows or more, and find keys that another processor has loaded a moment ago in a cache that all share, which this count leaves out. So they come near what the chip can do.

# %% [markdown] tags=["en"]
# ## 7 · What if there is only one query?
#
# In a decode step ({{nb:07}}) one row looks at a long cache. There is one block of queries, hence one walk along the keys for each head, and a GPU with a hundred processors would keep nine busy.
# **FlashDecoding** (Dao et al., 2023) cuts the *keys* into parts, lets each part be walked at the same time, and merges.
# A finished part hands over two things: its mix, already divided, and $L = m + \ln(\mathrm{total})$, the logarithm of $\sum_j e^{s_j}$ itself.
# A part's share in the whole is its $e^L$ over the sum of all $e^L$: once more a softmax.

# %%
part = max(1, longest // 4)
row, parts = long_q[-1:], []
for start in range(0, longest, part):
    keys, values = by_head(long_k[start : start + part]), by_head(long_v[start : start + part])
    scores = (by_head(row) @ keys.mT / d_head**0.5)[:, 0]  # (n_heads, part); all of it is past
    parts.append((torch.einsum("hj,hjd->hd", scores.softmax(dim=-1), values), scores.logsumexp(dim=-1)))
weight = torch.stack([log_total for _, log_total in parts]).softmax(dim=0)  # (parts, n_heads)
merged = sum(w[:, None] * mixed for w, (mixed, _) in zip(weight, parts))
whole = naive(row, long_k, long_v)
check_close("one query, merged", merged, whole[0], against="the whole row")
split, _ = attend_split(row, long_k, long_v, n_splits=7)
check_close("one query, seven parts (helpers/flash.py)", split, whole, against="the whole row")
print("weight of each part in head 0:", [round(w, 2) for w in weight[:, 0].tolist()])

# %% [markdown] tags=["en"]
# Tiles also save work under a **sliding window**, where a row sees only the last so many tokens: most tiles lie outside.
# Gemma 3 270M has a window of 512 in most of its blocks ({{nb:07}}). How many tiles of 64 x 64 are left of a text of 4,096 tokens?

# %%
for window in (None, 1024, 512, 64):
    kinds = [tile.kind for tile in tiles(4096, 4096, 64, 64, window=window)]
    made = len(kinds) - kinds.count("skipped")
    cut = kinds.count("partly")
    print(f"window {window or 'none':4}: {made:4} of {len(kinds)} tiles are made, {cut} of them cut by the mask")

# %% [markdown] tags=["en"]
# ## 8 · How can such a model be trained?
#
# Training sends gradients back, and the gradient of a softmax needs the weights. The naive way keeps the whole table until then, in every block.
# FlashAttention keeps one number a row instead, the $L$ of step 7: with it, any tile of weights is $e^{s - L}$ and can be **recomputed** when its turn comes. More arithmetic, less carrying.
# A small case, in 64 bits, so that torch's own derivative can be compared with ours.


# %%
given = [x.double().requires_grad_() for x in first(min(128, longest))]

def tiled(q, k, v):
    return TiledAttention.apply(q, k, v, 16, 16, True, None)  # helpers/flash_backward.py: tiles of 16 x 16, causal

gradients = []
for name, attention in (("whole table", naive), ("tiles, recomputed", tiled)):
    mixed, kept_sizes = kept_for_gradients(lambda attention=attention: attention(*given))
    gradients.append(torch.autograd.grad(mixed.square().sum(), given))
    print(f"{name}: {sum(kept_sizes):,} numbers kept, in tensors of {', '.join(f'{n:,}' for n in kept_sizes)}")
for name, theirs, ours in zip("qkv", *gradients):
    check_close(f"gradient of {name}", ours, theirs, against="torch's own")

# %% [markdown] tags=["en"]
# With the default prompt: 147,456 is 9 · 128 · 128, the table. Without it there are queries, keys, values and the mix, and 1,152 = 9 · 128 logarithms.

# %% [markdown] tags=["en"]
# ## 9 · What does it look like on a GPU?
#
# The same loop, written for one block of rows and the heads that share a KV head; thousands of copies run side by side, and each keeps its tile on the chip.
# This is the heart of [helpers/flash_triton.py](../helpers/flash_triton.py), in **Triton**, a language for GPU kernels inside Python. In this loop, bytes travel only in the two calls of `_load`.
# Where there is no GPU, Triton's interpreter runs it slowly on the processor: enough to prove that it is right.

# %%
few = min(200, longest)  # several tiles of 64 columns: in a single one nothing would be rescaled
try:
    from helpers.flash_triton import attend_triton

    short = first(few)
    check_close("the Triton kernel", attend_triton(*short), naive(*short), against="the whole table")
except ReaderError as without:
    print(without)  # no Triton here: the sentence says how to get it, the rest of the page does without
print(source_of("flash_triton", "_add_tiles"))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - From `higher` to `shrink`, and where `total` and `mixed` are made anew, this is `add_tile` of step 4, with $2^x$ in place of $e^x$.
# - The loop is compiled in two versions (`MASKED`). Tiles that the mask leaves whole run through the one without any test in it.

# %% [markdown] tags=["en"]
# ## 10 · Does the model write the same?
#
# The last proof: our function of step 5 in all thirty blocks, for the prompt and for each new token behind the cache.
# No mask is handed to it and no table made.

# %%
calls = []

def ours_in_the_model(q, k, v, window):  # a window is for models that have one; this one has none
    calls.append((len(q), len(k)))
    return attend(q, k, v, 4, 4)

theirs = generate(lm, prompt, max_new_tokens=20)
with own_attention(lm, ours_in_the_model):
    ours = generate(lm, prompt, max_new_tokens=20)
check_close("token ids", ours.token_ids, theirs.token_ids, rtol=0, atol=0)
steps = calls[:: size.n_layers]  # one call for each block
print(f"{len(calls)} calls; queries and keys in the first steps: {steps[:3]}")
print(prompt + ours.text)

# %% [markdown] tags=["en"]
# ## Try it
#
# Tile by tile, with the running maximum, total and mix of each row. The picture shows what the mask makes of the tiles of 4 x 4; the explorer starts at the first of them.

# %%
shown = min(n_tokens, 40)
of_tile = {"skipped": -torch.inf, "partly": 0.5, "whole": 1.0}
made = torch.zeros(shown, shown)
for tile in tiles(shown, shown, 4, 4):
    made[tile.rows, tile.columns] = of_tile[tile.kind]
heatmap(made, seen.tokens[:shown], seen.tokens[:shown],
        title="Tiles that are made (1), cut by the mask (0.5), skipped (empty)",
        caption=seen.caption("tiles of 4 x 4 under the causal mask"))

# %%
from helpers.widgets import FlashExplorer

explorer = FlashExplorer(seen, layer=layer, head=head)
explorer

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Step through the lower blocks of rows. Which rows rescale after their first tile? Then try other heads: most rows of most heads have their largest score in the very first column. Why ({{nb:03}})?
# - Make the tiles as large as the text: one tile, no rescaling. What is the price?
# - For a dozen tokens, tiles of 4 x 4 move *more* bytes than the whole table does: keys and values come again for every block of rows. Which of the two sizes, rows or columns, changes that?
# - Switch to a single query. How many of the tiles are cut by the mask now?

# %% [markdown] tags=["en"]
# ## Break it
#
# Four planted mistakes, each on the whole prompt: in tiles of 4 x 4, and once more in a single tile that holds everything.


# %%
def no_rescaling(running, scores, values):
    larger = torch.maximum(running[0], scores.amax(dim=-1))
    shares = (scores - larger[..., None]).exp()
    return larger, running[1] + shares.sum(dim=-1), running[2] + shares @ values

def only_the_total(running, scores, values):
    larger, total, _ = add_tile(running, scores, values)
    return larger, total, no_rescaling(running, scores, values)[2]

def from_the_corner(columns, rows):
    return is_future(columns - columns[0], rows - rows[0])

# %%
slips = {
    "old sums not rescaled": (no_rescaling, is_future),
    "only the total rescaled": (only_the_total, is_future),
    "mask by tile, not by element": (add_tile, lambda columns, rows: columns[:1, None] > rows[-1]),
    "mask counted from the corner": (add_tile, from_the_corner),
}
for name, (step, hidden) in slips.items():
    for block in (4, max(n_tokens, 4)):
        try:
            broken = attend(q, k, v, block, block, step, hidden)
            check_close(f"{name}, tiles of {block}", broken, seen[f"block{layer}.mixed"])
        except CheckFailed as error:
            print("stopped: " + str(error).split(" (ours")[0])

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Three of the four mistakes are invisible in a single tile: there is nothing to rescale, and one corner serves for all positions. A test of a tiled algorithm whose input fits into one tile tests nothing.
# - The mask by tile is wrong in both: on the diagonal, some of a tile's keys are future for some of its rows. At which size would it be right?

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · Merge (10 minutes).** Two sets of keys have been walked apart from each other, for the same rows. Of each there is (maximum, total, mixed): (rows,), (rows,) and (rows, d_head), the mix not yet divided.
# Return the same three for both sets together. A set may hold nothing for some rows: its maximum is minus infinity, its total and its mix are 0.


# %% tags=["exercise"]
def merge(a, b):
    return ...  # maximum, total, mixed

# %% tags=["check"]
from helpers.exercises.flash import check_attend_block, check_merge, check_tiles_to_load

check_merge(merge, seen, layer=layer)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# The larger of the two maxima is the new one, row by row. Each set is then rescaled by its own factor, `(its maximum - new maximum).exp()`, and one of the two factors is 1.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Minus infinity less minus infinity is no number. Where both sets are empty, measure from 0.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def merge(a, b):
#     maximum = torch.maximum(a[0], b[0])
#     base = maximum.masked_fill(maximum == -torch.inf, 0.0)
#     of_a, of_b = (a[0] - base).exp(), (b[0] - base).exp()
#     total = of_a * a[1] + of_b * b[1]
#     return maximum, total, of_a[:, None] * a[2] + of_b[:, None] * b[2]
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · One block of queries (15 minutes).** A single head: `q` (rows, d_head), whose first row stands at position `first_row`; `k` and `v` (n_tokens, d_head). Divide the scores by √d_head, hide later keys element by element, walk along the keys in tiles of `block_k`, return the mix (rows, d_head).
# The check also watches how many scores you hold at once.


# %% tags=["exercise"]
def attend_block(q, k, v, first_row, block_k):
    return ...

# %% tags=["check"]
check_attend_block(attend_block, seen, layer=layer)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Three tensors outside the loop: `maximum` full of minus infinity, `total` and `mixed` full of zeros. `range(0, len(k), block_k)` gives the left edges.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Row i stands at `first_row + i`, column j of the tile at `left + j`: compare these two, not i and j.
# </details>
#
# <details><summary>Hint 3</summary>
#
# A tile that lies wholly in a row's future has no largest score. If you start at the left, the maximum is a number by then; take care that it stays the larger of the two.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def attend_block(q, k, v, first_row, block_k):
#     mixed = torch.zeros_like(q)
#     maximum, total = torch.full_like(q[:, 0], -torch.inf), torch.zeros_like(q[:, 0])
#     place = torch.arange(first_row, first_row + len(q), device=q.device)
#     for left in range(0, len(k), block_k):
#         keys, values = k[left : left + block_k], v[left : left + block_k]
#         columns = torch.arange(left, left + len(keys), device=q.device)
#         scores = (q @ keys.T / q.shape[1] ** 0.5).masked_fill(columns > place[:, None], -torch.inf)
#         larger = torch.maximum(maximum, scores.amax(dim=1))
#         shrink, shares = (maximum - larger).exp(), (scores - larger[:, None]).exp()
#         total = shrink * total + shares.sum(dim=1)
#         mixed, maximum = shrink[:, None] * mixed + shares @ values, larger
#     return mixed / total[:, None]
# ```
# </details>

# %% [markdown] tags=["en"]
# **3 · How many tiles? (8 minutes).** `n_tokens` queries and keys under a causal mask, each row seeing the last `window` keys up to itself (`None`: all earlier ones). How many tiles of `block` x `block` hold at least one visible pair?


# %% tags=["exercise"]
def tiles_to_load(n_tokens, block, window):
    return ...

# %% tags=["check"]
check_tiles_to_load(tiles_to_load)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Rows `top` to `bottom` of a block see, between them, the keys from `top - window + 1` (or 0) to `bottom`. Which tiles do these fall into?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Key j lies in tile `j // block`. The last block of rows may be smaller than the others.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def tiles_to_load(n_tokens, block, window):
#     count = 0
#     for top in range(0, n_tokens, block):
#         bottom = min(top + block, n_tokens) - 1
#         oldest = 0 if window is None else max(0, top - window + 1)
#         count += bottom // block - oldest // block + 1
#     return count
# ```
# </details>

# %% [markdown] tags=["en"]
# ## Fact check
#
# **"FlashAttention saves 20 % of the memory and is 3 times faster."** A single percentage cannot be right at more than one length.
# The memory of the attention itself goes from n² to n (step 6): here the tiles hold *more* than the naive way up to 128 tokens, a thirteenth of it at 1,024, and beyond that the ratio about doubles with the text. (The paper's own figure is up to 20 *times* less memory, at long lengths.) What part of a *program's* memory that is depends on what else it holds.
# The time falls by what the device spent on carrying the table, and by the tiles that the mask skips. On a CPU with tiles of 16 x 16 it rises, also measured in step 6. Dao et al. (2022) trained GPT-2 up to 3 times as fast as Hugging Face's code of that time, on A100s; Dao (2023) made the attention itself about twice as fast again.
#
# **"FlashAttention is an approximation."** Equal to the whole table for every tile size, in every block, to rounding (steps 5 and 10).
#
# **"It computes less."** A causal mask skips nearly half of the tiles, and a good naive program would do so as well. Otherwise it computes more: rescaling, and in training every score a second time (step 8). It *carries* less.

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `add_tile(running, scores, values)` | (n_heads, rows), twice; (n_heads, rows, d_head) | maximum, total and unfinished mix after one more tile |
# | `attend(q, k, v, block_q, block_k)` | (n_q, n_heads, d_head) | FlashAttention, forward |
# | a finished part | (n_heads, d_head) and (n_heads,) | mix and logarithm of the total: all that parts need to be merged |
#
# The road of one request ends here: from text to the next token, without work that a cache or a tile can spare. What happens when a hundred requests arrive at once is the subject of {{nb:09}}.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - Dao et al., *FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness*, 2022. [arXiv:2205.14135](https://arxiv.org/abs/2205.14135)
# - Dao, *FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning*, 2023. [arXiv:2307.08691](https://arxiv.org/abs/2307.08691)
# - Milakov and Gimelshein, *Online normalizer calculation for softmax*, 2018. [arXiv:1805.02867](https://arxiv.org/abs/1805.02867)
# - Dao et al., *Flash-Decoding for long-context inference*, 2023: [pytorch.org/blog/flash-decoding](https://pytorch.org/blog/flash-decoding/)
