# %% [markdown] tags=["en"]
# # 2 · Where does a token's vector come from, and how does it know its place?
#
# {{path}}
#
# The model is given whole numbers and computes with vectors.
# A table turns the first into the second, and the table is learned: what does it say about words, and what does it not?
# It says nothing about order, so positions have to come in some other way.
# Four such ways are computed here; the one this model uses is re-derived in all of its blocks.

# %% [markdown] tags=["en"]
# ## What you will see
#
# - The vector of each of your tokens, its real neighbours, and a map of words that you can turn.
# - Every query and key of every block, turned by your own code and equal to the model's.
# - The same passage read at a distance the model was never trained for, and what three repairs are worth.

# %% [markdown] tags=["en"]
# ## What you need
#
# Vectors, dot products, sine and cosine; {{nb:01}} for where the ids come from.
# About 1 GB of memory; the page runs in well under a minute.

# %% [markdown] tags=["en"]
# ## Set up

# %%
from helpers import check_close, load_model, trace
from helpers.figures import lines, strips
from helpers.figures.embed import word_map
from helpers.rope import rope_frequencies, rope_theta, turning
from helpers.tokens import token_chips, token_labels
from helpers.weights import block_weights, final_norm, position_vectors, sizes

import torch  # after helpers, which tells it how to wait for its threads

lm = load_model()
prompt = "The capital of France is Paris. The capital of Italy is"
seen = trace(lm, prompt)

# %% [markdown] tags=["en"]
# ## What comes in
#
# A list of ids, one for each piece of the prompt. Point at a piece for its number.

# %%
size, n_tokens = sizes(lm), len(seen.tokens)
n_vocab, d_model, d_head = size.n_vocab, size.d_model, size.d_head
n_layers, n_heads, group = size.n_layers, size.n_heads, size.n_heads // size.n_kv_heads
print(f"{n_tokens=} {n_vocab=} {d_model=}")
token_chips(lm.tokenizer, seen.token_ids)

# %% [markdown] tags=["en"]
# ## 1 · How does a number become a vector?
#
# By looking it up.
# The **embedding** matrix has one row for every entry of the vocabulary; token *i* gets row *i*.
# In formulas one often finds a product instead: a vector of zeros with a single 1 at place *i*, a **one-hot** vector, times the matrix.
# It is the same row, found by multiplying everything else by zero.

# %%
toy_table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])  # toy numbers: three tokens of two numbers
print("one-hot product:", (torch.tensor([0.0, 1.0, 0.0]) @ toy_table).tolist(), " row 1:", toy_table[1].tolist())

embedding = lm.model.get_input_embeddings()
table, scale = embedding.weight, getattr(embedding, "scalar_embed_scale", 1.0)  # Gemma has a factor
x = table[seen.token_ids] * scale  # (n_tokens, d_model)
one_hot = torch.zeros(n_vocab, device=lm.device)
one_hot[seen.token_ids[0]] = scale
check_close("one-hot times the table", one_hot @ table, x[0], against="the row")
check_close("embedding", x + position_vectors(lm, n_tokens), seen["embed"])

# %% [markdown] tags=["en"]
# ## 2 · Which tokens lie close together?
#
# Two vectors that point the same way are used by the model in a similar way.
# The **cosine** measures it: the dot product, divided by both lengths. It is 1 for the same direction, 0 at right angles, −1 for opposite ones.
# Divide every row by its length once, and one product compares a token with all 49,152.

# %%
a, b = torch.tensor([3.0, 4.0]), torch.tensor([6.0, 8.0])  # toy numbers: b is twice as long as a
print(f"dot product {a @ b:.0f}, cosine {(a @ b) / (a.norm() * b.norm()):.2f}")
unit = table / table.norm(dim=-1, keepdim=True)

def token(word):
    ids = lm.tokenizer.encode(word, add_special_tokens=False)
    return ids[0] if len(ids) == 1 else None  # None: no single token of this vocabulary

for word in (" king", " Italy", " Monday", "7", " apple", " capital", " bank"):
    if (i := token(word)) is not None:
        print(f"{word!r:11}", *token_labels(lm.tokenizer, (unit @ unit[i]).topk(8).indices[1:]))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - The nearest neighbour of a word is mostly the word itself: with a capital, without its space, in the plural. To the tokenizer these are unrelated numbers; the model had to learn that they belong together.
# - Countries stand with countries, days with days. The neighbours of `7` come in order: 6, 8, 9, 5, 4, 3.
# - `␣capital` stands beside *capitalize* and *lowercase* as well as *capitalists*. One row has to serve all meanings of a word. What could tell them apart? Not the table: its neighbours in the text.
#
# How much is a cosine worth?

# %%
dice = torch.Generator().manual_seed(0)
left, right = torch.randint(0, n_vocab, (2, 4_000), generator=dice)
print(f"two random tokens, on average: {(unit[left] * unit[right]).sum(dim=-1).mean():.2f}")

pairs = " king, queen; good, bad; hot, cold; apple, pear; apple, iPhone; bank, money; apple, computer;7, seven"
for words in pairs.split(";"):
    i, j = map(token, words.split(","))
    if i is not None and j is not None:
        print(f"{words:16} {unit[i] @ unit[j]:.2f}")

mean = table.mean(dim=0)
common = unit @ mean / mean.norm()  # cosine of every row with the mean of all rows
print(f"with the mean: ids 100 to 999 {common[100:1000].mean():.2f}, the last 9,000 {common[-9000:].mean():.2f}")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default model
#
# - Two tokens picked at random have a cosine of 0.44, not 0. All vectors lean the same way, and the rarer a token, the more so (a small id means that the piece was merged early, so it is frequent). The first thing a vector says is how common its token is; a cosine has to be read against that.
# - *Good* and *bad* are close, closer than two random tokens. Near does not mean *the same*: it means *in the same places*.
# - *7* and *seven*, *bank* and *money*, *apple* and *computer* are farther apart than random tokens. Yet *apple* is close to *iPhone*. What does that say about the texts it was learned from?

# %% [markdown] tags=["en"]
# ## 3 · Can one calculate with words?
#
# A famous example says: *king* − *man* + *woman* ≈ *queen* (Mikolov et al., 2013).
# It is usually shown with a rule that goes unmentioned: the three words one starts from are not allowed as answers.
# So here are twenty such questions of several kinds, with the answer as it comes, the answer under that rule, and, for comparison, the nearest neighbour of the third word with no arithmetic at all.

# %%
from helpers.word_lists import GROUPS, QUESTIONS

found = []
print(f"{'':28} as it comes   by the rule   no arithmetic")
for words in QUESTIONS:  # "man king woman queen": man is to king as woman is to …
    a, b, c, d = (token(f" {word}") for word in words.split())
    if None in (a, b, c, d):
        continue  # not single tokens of this vocabulary
    target = unit[b] - unit[a] + unit[c]
    sums, near_c = ((unit @ vector).topk(4).indices.tolist() for vector in (target, unit[c]))
    answers = [sums[0], *(next(i for i in ids if i not in (a, b, c)) for ids in (sums, near_c))]
    found.append([answer == d for answer in answers])
    print(f"{words:28}", *(f"{label:13}" for label in token_labels(lm.tokenizer, answers)))
for name, right_ones in zip(["as it comes", "by the rule", "no arithmetic"], zip(*found)):
    print(f"{name}: {sum(right_ones)} of {len(right_ones)} right")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default model
#
# - *Queen* comes out on top even without the rule. Chosen as the only example, it would prove too much: as they come, 7 of the 20 answers are right.
# - With the rule it is 13, and 4 need no arithmetic: the answer is the third word's neighbour anyway.
# - Under the rule *Paris* − *France* finds Berlin and Tokyo, and does not find Rome. So the directions are there, roughly, and by no means everywhere.

# %% [markdown] tags=["en"]
# ## 4 · What does the space look like?
#
# Nobody sees 576 dimensions.
# **Principal component analysis** picks the directions along which the chosen vectors differ most; the singular value decomposition finds them.
# Two of them make a map, three one that can be turned.

# %%
chosen = {token(f" {word}"): name for name, words in GROUPS.items() for word in words.split()}
chosen.pop(None, None)  # words that this vocabulary cuts into pieces
chosen = chosen or dict.fromkeys(seen.token_ids, "prompt")
names = list(chosen.values())
labels = [label.removeprefix("␣") for label in token_labels(lm.tokenizer, list(chosen))]

vectors = unit[list(chosen)]
u, s, _ = torch.linalg.svd(vectors - vectors.mean(dim=0), full_matrices=False)
places = torch.nn.functional.pad(u[:, :3] * s[:3], (0, 3 - len(s[:3])))  # (words, 3)
kept = [f"{100 * (s[:n] ** 2).sum() / (s**2).sum():.0f} % of their spread" for n in (2, 3)]
caption = f"Rows of {lm.name}'s embedding matrix, brought to length 1; principal components"
word_map(places[:, :2], labels, names, title="The side that shows most", caption=f"{caption}: {kept[0]}.")

# %%
word_map(places, labels, names, title="The same in three dimensions: drag", caption=f"{caption}: {kept[1]}.")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Groups keep together although nobody told the model about countries or fruit. Turn the map: do the capitals stand apart from their countries, and in a common direction?
# - The captions say how little of the spread survives. Two words that touch here may be far apart along the 573 directions left out: neighbours are read off the cosine, not off a map.

# %% [markdown] tags=["en"]
# ## 5 · Is the table read once or twice?
#
# At the very end the model has to name one of 49,152 tokens, and compares its last vector with one vector for each.
# Many models use the same table for both ends: **tied** embeddings (Press and Wolf, 2017).
# It saves a second matrix, and it means that to *read* a token and to *predict* it are the same direction.

# %%
out_table = lm.model.get_output_embeddings().weight  # (n_vocab, d_model)
check_close("logits", seen["final_norm"] @ out_table.T, seen["logits"])
n_weights = sum(weights.numel() for weights in lm.model.parameters())
print("one tensor for both ends:", out_table is embedding.weight)
print(f"the table holds {out_table.numel() / n_weights:.1%} of all weights")
ids = torch.tensor(seen.token_ids, device=lm.device)
without_blocks = final_norm(lm)(x) @ out_table.T
for name, logits in {"without blocks": without_blocks, "with all blocks": seen["logits"]}.items():
    print(f"{name}: {(logits.argmax(dim=-1) == ids).sum()} of {n_tokens} tokens predict themselves")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Without its blocks a tied model mostly repeats what it reads: a row fits itself best. The thirty blocks have to move every vector away from its own token, towards the next one. How they do it is followed step by step in {{nb:05}}.

# %% [markdown] tags=["en"]
# ## 6 · How could a vector say where it stands?
#
# The table gives `␣is` one vector, at every place in the text.
# The Transformer of 2017 adds a second vector, one for each position, made of sines and cosines: pair *i* of its numbers goes round once in $2\pi \cdot 10000^{2i/d}$ positions, the first pair in about 6, the last in about 60,000.
# Read together they are like the hands of a clock, fast ones for the neighbourhood, slow ones for the whole text.

# %%
pair = torch.arange(d_model // 2)
angle = torch.arange(20)[:, None] / 10_000 ** (2 * pair / d_model)  # (positions, d_model / 2)
sinusoidal = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)  # (positions, d_model)
print(f"length: a position's vector {sinusoidal[0].norm():.0f}, a token's {table.norm(dim=-1).median():.0f}")
strips(sinusoidal[:, 0::2], [f"position {p}" for p in range(20)], title="Sinusoidal positions: their sines",
       caption=f"Computed from the formula of Vaswani et al. (2017) for d_model = {d_model}.")

# %% [markdown] tags=["en"]
# GPT-2 adds vectors too, but learns them: a second table, with one row for each position.
# Here is a model of its shape with random weights, which shows the mechanism and nothing else.
# Our model is asked beside it: does the same token get the same vector at two positions?

# %%
from helpers.small_models import random_model

gpt2_shape, twice = random_model(lm, "gpt2"), seen.token_ids[:1] * 2  # one token at positions 0 and 1
for model in (gpt2_shape, lm):
    rows = trace(model, twice)["embed"]
    print(f"{model.name}: the same vector at both positions? {torch.equal(rows[0], rows[1])}")

learned = gpt2_shape.model.transformer.wpe.weight  # (positions, d_model)
rows = gpt2_shape.model.get_input_embeddings().weight[twice]
check_close("token row + position row", rows + learned[:2], trace(gpt2_shape, twice)["embed"], against="a random model")
print(f"the learned table ends with position {len(learned) - 1:,}")

# %% [markdown] tags=["en"]
# ## 7 · Must anything be added?
#
# Position matters in one place only: where tokens look at each other.
# So it can be put there.
# **ALiBi** (attention with linear biases; Press et al., 2021) leaves all vectors alone and lowers the score of what is far: by a fixed slope times the distance, another slope for each head, nothing learned.
# With equal scores otherwise, how far does each head see?

# %%
slopes = 2.0 ** (-8 * torch.arange(1, 9) / 8)  # eight heads: 1/2, 1/4, … 1/256
distance = torch.arange(2000)
shares = (-slopes[:, None] * distance).softmax(dim=-1)  # (heads, distances)
half = (shares.cumsum(dim=-1) < 0.5).sum(dim=-1) + 1
print("half of the attention rests on the last", half.tolist(), "tokens")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - From head to head the view doubles. A distance never seen in training is only a little farther: that is ALiBi's point. But what is far can never count for more than what is near.

# %% [markdown] tags=["en"]
# ## 8 · What if position is an angle?
#
# **RoPE** (rotary position embedding; Su et al., 2021) takes the clock hands and adds nothing.
# The numbers of a query are taken in pairs, each pair is an arrow in the plane, and at position *p* the arrow of pair *i* is turned by $p \cdot \theta^{-2i/d}$. Keys likewise. Here $\theta$ is 100,000, and a head has 32 pairs.
# Turning changes no length, only the angle between a query and a key.

# %%
def frequencies(layer):  # (d_head / 2,) radians a position
    theta, pair = rope_theta(lm, layer), torch.arange(d_head // 2, device=lm.device)
    if theta is None:
        return rope_frequencies(lm, layer).to(lm.device)  # zeros where a model turns nothing
    return theta ** (-2 * pair / d_head)

def rotate(x, positions, frequencies):  # x (n, heads, d_head): pair i is numbers i and i + d_head / 2
    angle = positions[:, None, None] * frequencies
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), dim=-1)

arrow = torch.tensor([[[1.0, 0.0]]] * 3)  # toy numbers, three times, at positions 0, 1 and 2
print(rotate(arrow, torch.arange(3), torch.tensor([torch.pi / 2])).round().int().tolist())

# %% [markdown] tags=["en"]
# The arrow (1, 0) stands still at position 0, points up at 1 and back at 2.
# Now the real queries and keys, in every block.

# %%
positions = torch.arange(n_tokens, device=lm.device)
bare, turned = {"q": [], "k": []}, {"q": [], "k": []}
for i in range(n_layers):
    w = block_weights(lm, i)
    for name, norm in (("q", w.q_norm), ("k", w.k_norm)):  # no norm here; Qwen 3 has one
        bare[name].append(norm(seen[f"block{i}.{name}"]))
        turned[name].append(rotate(bare[name][i], positions, frequencies(i)))
for name, ours in turned.items():
    model = [seen.get(f"block{i}.{name}_rot", seen[f"block{i}.{name}"]) for i in range(n_layers)]
    check_close(f"{name} of all {n_layers} blocks, turned", torch.stack(ours), torch.stack(model))

# %% [markdown] tags=["en"]
# ## 9 · What does a score know of the positions?
#
# Turn both arrows by the same angle and the angle between them stays.
# So a score cannot depend on where query and key stand, only on how far apart they are.
# To test it, move the whole prompt 5,000 positions on, then pull it apart so that neighbours are three apart.

# %%
q, k, near = bare["q"][0].double(), bare["k"][0].double(), frequencies(0).double()

def scores_at(places):
    keys = rotate(k, places, near).repeat_interleave(group, dim=1)
    return torch.einsum("ihd,jhd->hij", rotate(q, places, near), keys) / d_head**0.5

check_close("all scores, 5,000 positions on", scores_at(positions + 5000), scores_at(positions), against="unmoved")
check_close("the model's, where not masked", scores_at(positions).tril(), seen["block0.scores"].tril())
print("unchanged when pulled apart?", torch.allclose(scores_at(3 * positions), scores_at(positions)))

# %% [markdown] tags=["en"]
# ## 10 · Which two numbers make a pair?
#
# The paper pairs neighbours: numbers 0 and 1, 2 and 3, … (**interleaved**). Most code, ours included, pairs number *i* with number *i* + 32 (**half-split**).
# Neither is better. The numbers of a query have no order of their own, so the rows of the query and key matrices can be rearranged to suit: the arrows are the same, only written down in another order.
# Written interleaved, a pair can also be read as one complex number, and turning is a product.

# %%
order = torch.arange(d_head).view(2, -1).T.flatten()  # 0, 32, 1, 33, …: partners side by side

def rotate_neighbours(x, places):
    arrows = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # (n, heads, d_head / 2)
    turns = torch.polar(torch.ones_like(near), places[:, None] * near)  # complex, of length 1
    return torch.view_as_real(arrows * turns[:, None]).flatten(-2)

keys = rotate_neighbours(k[..., order], positions).repeat_interleave(group, dim=1)
interleaved = torch.einsum("ihd,jhd->hij", rotate_neighbours(q[..., order], positions), keys)
check_close("scores, the other convention", interleaved / d_head**0.5, scores_at(positions), against="half-split")

# %% [markdown] tags=["en"]
# ## 11 · What happens past the trained length?
#
# This model was trained on texts of up to 8,192 tokens.
# Twelve of its 32 hands go round too slowly to finish even one turn in that time: at larger distances they point where they never pointed in training.
#
# Does that matter? Here is a test that a laptop can run.
# The model reads a passage of 64 tokens twice, and the second reading starts late: its positions are moved on by a gap.
# Whoever can look back across the gap can copy. The measure is **perplexity** over the second reading ({{nb:05}}): 1 is perfect copying, 10 is as unsure as choosing among ten tokens.

# %%
from helpers.corpus import read_lines

trained = lm.config.max_position_embeddings
turns = trained * frequencies(0).cpu() / (2 * torch.pi)  # of each pair, within the trained length
print(f"pairs that never finish a turn in {trained:,} positions: {(turns < 1).sum()} of {len(turns)}")
passage = lm.tokenizer.encode(" ".join(read_lines("english")))[: min(64, trained // 4)]
half = len(passage)

@torch.inference_mode()
def perplexity(ids, places):  # of the last `half` tokens
    ids = torch.tensor([ids], device=lm.device)
    mask = torch.ones_like(ids)  # one text: without this, a jump in positions would start another
    places = places[None].to(lm.device)
    out = lm.model(ids, position_ids=places, attention_mask=mask, logits_to_keep=half)
    return torch.nn.functional.cross_entropy(out.logits[0, :-1], ids[0, 1 - half :]).exp().item()

# %% [markdown] tags=["en"]
# Three repairs change the frequencies, and no weight, so that a text four times as long fits:
#
# - **linear** (position interpolation; Chen et al., 2023): every hand four times slower. No angle is new, but next to every token stands one at distance ¼.
# - **NTK-aware** (bloc97, 2023): another θ, so that the slowest hand becomes four times slower and the fastest stays as it is.
# - **YaRN** (Peng et al., 2023): hands with more than 32 turns in the trained length stay, those with less than one are slowed four times, the others in between; and all scores grow a little.

# %% tags=["nbval-ignore-output"]
keep = ((turns - 1) / 31).clamp(0, 1)  # YaRN: 1 from 32 turns on, 0 below one turn
slow = torch.arange(d_head // 2) / (d_head // 2 - 1)  # 0 for the fastest pair, 1 for the slowest
repairs = {"no repair": (lambda f: f, 1), "linear": (lambda f: f / 4, 1), "NTK-aware": (lambda f: f / 4**slow, 1)}
repairs["YaRN"] = (lambda f: keep * f + (1 - keep) * f / 4, 1.139)  # 0.1 ln 4 + 1, on cosine and sine
shares = (0, 0.25, 0.5, 0.9, 1.5, 2.5, 3.5) if turns.any() else (0,)  # a table of positions ends
gaps, there = [round(share * trained) for share in shares], torch.arange(2 * half)
measured, alone = {}, perplexity(passage, there[:half])
for name, (change, factor) in repairs.items():
    with turning(lm, change, factor):  # afterwards the model is as it was
        measured[name] = [perplexity(passage * 2, there + gap * (there >= half)) for gap in gaps]
figure = lines(gaps, measured, title="Can it still copy?", x_title="gap in positions", y_title="perplexity",
               caption=f"{lm.name}, {half} tokens read twice, trained on {trained:,} positions. "
               f"Dotted: the second reading without the first, {alone:.0f}.")
figure.update_yaxes(type="log", dtick=1).add_hline(y=alone, line=dict(dash="dot", color="gray"))

# %% [markdown] tags=["en"]
# **Things to notice**, with the default model
#
# - Without repair the model copies across 4,096 positions, and no longer across 7,373, which is still inside the trained length: to be trained *up to* 8,192 is not to be good at 8,192.
# - Beyond, it is worse off than if it had never read the first passage, at 20,480 by far. The far tokens are not ignored: their scores are wrong, and some win.
# - NTK-aware and YaRN go on copying past the trained length, YaRN as far as 20,480, and pay for it a little with no gap at all.
# - Linear is worst from the start. With neighbours at distance ¼ the model cannot even read; Chen et al. train it for a thousand steps more, which nobody did here.
#
# What this does not measure: a long real text, in which thousands of tokens compete for attention.
# That takes minutes on a CPU and was done once: 16,384 tokens of Python's own reference manual, perplexity in stretches of 2,048 (`benchmarks/rope_length.py`, CPU, 30 November 2026).
#
# | tokens | up to 8,192 | up to 10,240 | up to 12,288 | up to 14,336 | up to 16,384 |
# |---|---|---|---|---|---|
# | no repair | 8.7 | 6.4 | 27 | 248 | 761 |
# | NTK-aware | 10.4 | 7.7 | 12.3 | 14.6 | 11.0 |
# | YaRN | 10.2 | 7.3 | 12.1 | 14.9 | 10.6 |

# %% [markdown] tags=["en"]
# ## Try it
#
# A score depends on the distance, and each head in its own way.
# The dot product is linear, so the average over all pairs of tokens is the score of the average query with the average key.
# Which head cares most about the token right before?

# %%
distances = torch.arange(41, device=lm.device)

def by_distance(q, k, layer):  # q (n_heads, d_head), k (n_kv_heads, d_head) -> (n_heads, distances)
    far = rotate(q.expand(41, -1, -1), distances, frequencies(layer))
    return (far * k.repeat_interleave(group, dim=0)).sum(dim=-1).T / d_head**0.5

means = torch.stack([by_distance(bare["q"][i].mean(0), bare["k"][i].mean(0), i) for i in range(n_layers)])
lead = means[..., 1] - torch.cat((means[..., :1], means[..., 2:]), dim=-1).amax(dim=-1)  # of distance 1
layer, head = divmod(int(lead.argmax()), n_heads)
last, before, place = n_tokens - 1, max(n_tokens - 2, 0), f"head {head} of block {layer}"
curves = {f"all {n_layers * n_heads} heads, mean": means.mean(dim=(0, 1)), f"{place}, mean": means[layer, head]}
one_pair = f"there, {seen.tokens[last]} → {seen.tokens[before]}"
curves[one_pair] = by_distance(bare["q"][layer][last], bare["k"][layer][before], layer)[head]
lines(distances.tolist(), curves, title="Score by distance", x_title="distance", y_title="score",
      caption=seen.caption("queries and keys, turned by the distance")).update_traces(mode="lines")

# %% [markdown] tags=["en"]
# On average a score falls with the distance: what is near is favoured before a word has been looked at.
# The chosen head is pickier. One step back its score leaps, and nowhere else.
#
# How does it do that? Turn the hands yourself.
# Slide a position and watch the fast pairs run and the slow ones creep; slide *Move both by* and everything turns while the score stands still.

# %%
from helpers.widgets import RotationExplorer

caption = seen.caption("queries and keys before rotation", layer=layer)
explorer = RotationExplorer(bare["q"][layer], bare["k"][layer], frequencies(layer), seen.tokens,
                            head=head, pair=0, key=before, caption=caption)
explorer

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - At distance 1 the hands of pair 0, the fastest, lie on each other: it alone adds more than the whole score. Put the key three positions farther back and it takes as much away.
# - But pair 0 comes round every six positions. What keeps the head from looking six tokens back? Look at pairs 1 to 12 at distance 1, then at distance 7.
# - Pair 25 takes away most, and hardly moves over these distances: it lowers the score of every token alike, which softmax does not notice.

# %% [markdown] tags=["en"]
# ## Break it
#
# The file this model was loaded from stores query and key rows interleaved; the loader has to bring them into half-split order.
# Suppose it forgot. Every shape fits, no error is raised, and each pair is made of two numbers that never belonged together.

# %%
from helpers.intervene import intervene

keys = rotate_neighbours(k, positions).repeat_interleave(group, dim=1)
mixed_up = torch.einsum("ihd,jhd->hij", rotate_neighbours(q, positions), keys) / d_head**0.5
off = (mixed_up - scores_at(positions)).tril().abs().max()
print(f"scores of block 0 off by up to {off:.0f}")

def forgot(rows):
    return rows[..., order.to(rows.device)]

with intervene(lm, {f"block{i}.{name}": forgot for i in range(n_layers) for name in "qk"}):
    wrong = trace(lm, seen.token_ids)["logits"][-1].softmax(dim=-1)
probs = seen["logits"][-1].softmax(dim=-1)
best = probs.argmax()
print(f"{token_labels(lm.tokenizer, [best])[0]}: {probs[best]:.1%}, with the wrong pairs {wrong[best]:.1%}")

# %% [markdown] tags=["en"]
# ␣Rome is still first: the damaged model answers, more weakly, and nobody who only reads its answers will notice.
# The slip is a classic of converting weights from one library to another; the check of step 8 finds it at once.

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · Neighbours (6 minutes).** The `k` rows nearest to row `i` by cosine, nearest first, without row `i` itself.

# %% tags=["exercise"]
def nearest(table, i, k):
    """table (n_rows, d_model) -> the k row numbers"""
    return ...

# %% tags=["check"]
from helpers.exercises.embed import check_alibi, check_moved, check_nearest, check_turn

check_nearest(nearest, table, seen.token_ids[-1])

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Divide every row by its own length: `norm(dim=-1, keepdim=True)`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Row `i` has cosine 1 with itself. Set that entry to minus infinity before `topk`.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def nearest(table, i, k):
#     unit = table / table.norm(dim=-1, keepdim=True)
#     fits = unit @ unit[i]
#     fits[i] = -torch.inf
#     return fits.topk(k).indices
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · RoPE as in the paper (10 minutes).** Turn the pairs of neighbours, numbers 2*i* and 2*i* + 1, by position times $\theta^{-2i/d}$.
# The positions are given: they need not start at 0.

# %% tags=["exercise"]
def turn(x, positions, theta):
    """x (n_tokens, n_heads, d_head), positions (n_tokens) -> the same shape"""
    return ...

# %% tags=["check"]
check_turn(turn, seen, rope_theta(lm))

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# `x[..., 0::2]` are the first numbers of all pairs, `x[..., 1::2]` the second. There are `d_head // 2` frequencies.
# </details>
#
# <details><summary>Hint 2</summary>
#
# To lay two results side by side again: `torch.stack((a, b), dim=-1).flatten(-2)`.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def turn(x, positions, theta):
#     d_head = x.shape[-1]
#     frequency = theta ** (-2 * torch.arange(d_head // 2, device=x.device) / d_head)
#     angle = (positions[:, None] * frequency)[:, None]
#     a, b = x[..., 0::2], x[..., 1::2]
#     turned = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
#     return torch.stack(turned, dim=-1).flatten(-2)
# ```
# </details>

# %% [markdown] tags=["en"]
# **3 · Sinusoidal vectors move by turning (10 minutes).** You are given rows of `sinusoidal` from step 6 and are not told their positions.
# Return what stands `k` positions later.
# That this can be done is why sines and cosines were chosen in 2017, and where RoPE comes from.

# %% tags=["exercise"]
def moved(vectors, k):
    """vectors (n, d_model), sines in the even places -> the same shape"""
    return ...

# %% tags=["check"]
check_moved(moved, sinusoidal)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# sin(*a* + *b*) = sin *a* cos *b* + cos *a* sin *b*, and cos(*a* + *b*) = cos *a* cos *b* − sin *a* sin *b*. What is *b* for pair *i*?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `k / 10_000 ** (2 * pair / d_model)`, with `pair` from 0 to `d_model // 2 - 1`.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def moved(vectors, k):
#     d_model = vectors.shape[-1]
#     angle = k / 10_000 ** (2 * torch.arange(d_model // 2) / d_model)
#     sin, cos = vectors[:, 0::2], vectors[:, 1::2]
#     later = sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()
#     return torch.stack(later, dim=-1).flatten(1)
# ```
# </details>

# %% [markdown] tags=["en"]
# **4 · ALiBi (8 minutes).** What is added to the scores: minus slope times distance for earlier tokens, 0 for the token itself, minus infinity for later ones.
# With `n_heads` heads, a power of two, the slope of head *h* is $2^{-8h/n}$, heads counted from 1.

# %% tags=["exercise"]
def alibi(n_heads, n_tokens):
    """-> (n_heads, n_tokens, n_tokens): rows look, columns are looked at"""
    return ...

# %% tags=["check"]
check_alibi(alibi)

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# `distance = positions[:, None] - positions` is (n_tokens, n_tokens). Which of its entries are negative?
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def alibi(n_heads, n_tokens):
#     slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
#     positions = torch.arange(n_tokens)
#     distance = positions[:, None] - positions
#     return (-slopes[:, None, None] * distance).masked_fill(distance < 0, -torch.inf)
# ```
# </details>

# %% [markdown] tags=["en"]
# ## Fact check
#
# **"国王 (king) and 王后 (queen) differ along a direction *gender*; 苹果 (apple) is near 梨 (pear)."**
# In English, on this page: the first holds for *king* and *queen*, and for 13 of 20 such questions under the usual rule; the second holds, 0.63 against 0.44 for random tokens, with *iPhone* at 0.59.
# SmolLM2 has no token for these Chinese words; Gemma 3 does, and its table alone is enough to ask.

# %% tags=["nbval-ignore-output"]
from helpers.stored_table import stored_table

chinese = stored_table("gemma3-270m")
if chinese is None:
    print("Gemma 3's file is not here; to fetch it (238 MB): python -m helpers fetch gemma3-270m")
else:
    print("王后 is one token:", chinese.row("王后") is not None)
    rows = torch.stack([chinese.row(word) for word in ("国王", "苹果", "男人", "女人")])
    king, apple, man, woman = torch.nn.functional.normalize(rows)
    asked = {"国王": king, "苹果": apple, "国王 − 男人 + 女人": king - man + woman}
    for name, pieces in zip(asked, chinese.nearest(torch.stack(list(asked.values())), 10)):
        print(f"{name}:", *pieces)

# %% [markdown] tags=["en"]
# 王后 does not exist for Gemma 3: it reads 王 and 后. The arithmetic gives 国王 itself first and 女王, *queen regnant*, second.
# The neighbours of 国王 are kings in Russian, English and German. And 苹果 lies beside the company: *Apple*, 手机 (mobile phone), *iPhone*; no pear is among the first nine.
# What a table holds near is what its texts mention together.
#
# **"A position encoding is added to the embedding."** True of sinusoidal and learned positions (step 6). With RoPE and ALiBi nothing is added: this model's `embed` is the row of the table and nothing else, and positions enter as angles between queries and keys (step 8), or as a number on the score (step 7).
#
# **"RoPE extrapolates well."** Not by itself. The formula has no last position, but the model was never trained on the angles beyond; without repair this one stops copying even before its trained length ends, and breaks soon after it (step 11).

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `seen["embed"]` | (n_tokens, d_model) | the row of each token, no position in it |
# | `frequencies(i)` | (d_head / 2) | the angle per position of each pair, in radians |
# | `seen["block0.q_rot"]`, `.k_rot` | (n_tokens, heads, d_head) | queries and keys, turned by their positions |
#
# Every token has a vector and every query knows its distance to every key; {{nb:03}} lets them look at each other.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - Vaswani et al., *Attention Is All You Need*, 2017. [arXiv:1706.03762](https://arxiv.org/abs/1706.03762): sinusoidal positions.
# - Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding*, 2021. [arXiv:2104.09864](https://arxiv.org/abs/2104.09864)
# - Press et al., *Train Short, Test Long: Attention with Linear Biases*, 2021. [arXiv:2108.12409](https://arxiv.org/abs/2108.12409)
# - Peng et al., *YaRN: Efficient Context Window Extension of Large Language Models*, 2023. [arXiv:2309.00071](https://arxiv.org/abs/2309.00071); linear scaling and NTK-aware scaling are compared there.
