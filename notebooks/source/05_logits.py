# %% [markdown] tags=["en"]
# # 5 · How does a vector become a guess among 49,152 tokens?
#
# {{path}}
#
# Thirty blocks have written into the stream, and what comes out is still 576 numbers a token.
# The next word has to be picked from 49,152.
# Here you turn the one into the other, and with that the chain closes: on this page you compute the model's logits from nothing but token ids and weights.
# Then you look back into the stack and ask where the answer came from.

# %% [markdown] tags=["en"]
# ## What you will see
#
# - The whole model in one loop that fits on half a screen, equal to the real one.
# - What it would have said after 0, 1, 2, … blocks, at every token; and a transplant that finds the two blocks in which *Italy* reaches the answer.
# - How much each word of a text surprises the model, and the one number that sums it up: perplexity.

# %% [markdown] tags=["en"]
# ## What you need
#
# Matrix products and a little PyTorch; {{nb:03}} and {{nb:04}} for what happens inside a block.
# About 1 GB of memory; the page runs in well under a minute, with a prompt of a few hundred tokens in some minutes.

# %% [markdown] tags=["en"]
# ## Set up

# %%
from functools import partial

from helpers import check_close, load_model, trace
from helpers.errors import CheckFailed
from helpers.figures import lines, strips
from helpers.figures.lens import measures, token_grid
from helpers.layouts import layout_of
from helpers.tokens import token_labels
from helpers.weights import activation, block_weights, final_norm, position_vectors, sizes

import torch  # after helpers, which tells it how to wait for its threads

# %%
lm = load_model()
prompt = "The capital of France is Paris. The capital of Italy is"
seen = trace(lm, prompt)
size = sizes(lm)
n_tokens, n_layers, n_vocab, d_head = len(seen.tokens), size.n_layers, size.n_vocab, size.d_head

# %% [markdown] tags=["en"]
# ## What comes in
#
# The residual stream after the last block: one vector a token, the sum of its embedding and of everything that attention and FFNs have added.

# %%
x = seen[f"block{n_layers - 1}"]  # (n_tokens, d_model)
strips(x, seen.tokens, title="What the last block hands over",
       caption=seen.caption("residual stream", layer=n_layers - 1))

# %% [markdown] tags=["en"]
# ## 1 · Why one more norm?
#
# Sixty additions, two in each block, let the vectors grow, and not evenly: with the default prompt the first token's is almost nine times as long as the last one's.
# If length counted in what follows, it would drown the direction, and the direction is what the blocks have worked on.
# So the model divides each vector by its root mean square, as before every attention and every FFN ({{nb:04}}), and multiplies with learned weights.
# Toy numbers first: ten times the vector, the same result.

# %%
def normed(x, norm):  # (…, d_model); older models subtract the mean first
    x = x - x.mean(dim=-1, keepdim=True) if norm.subtracts_mean else x
    return x / (x.pow(2).mean(dim=-1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias

for toy in (torch.tensor([3.0, 4.0]), torch.tensor([30.0, 40.0])):  # toy numbers
    print(toy.tolist(), "→", [round(number, 2) for number in (toy / toy.pow(2).mean().sqrt()).tolist()])

# %%
h_final = normed(x, final_norm(lm))  # (n_tokens, d_model)
check_close("final norm", h_final, seen["final_norm"])
for when, vectors in {"before": x, "after": h_final}.items():
    lengths = vectors.norm(dim=-1)
    print(f"{when} the norm the longest vector is {lengths.max() / lengths.min():.1f} times the shortest")

# %% [markdown] tags=["en"]
# ## 2 · How is a vector compared with every token?
#
# The **language-model head** (LM head) is a table with one row for each token of the vocabulary.
# A token's score is the dot product of its row with the vector: large when the two point the same way.
# These scores are the **logits**.
# In toy numbers, three tokens and two dimensions:

# %%
toy_table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # toy numbers: one row a token
print("logits:", (torch.tensor([2.0, 1.0]) @ toy_table.T).tolist())

# %%
table = lm.model.get_input_embeddings().weight  # (n_vocab, d_model): how tokens come in
out_table = lm.model.get_output_embeddings().weight  # (n_vocab, d_model): how they go out
logits = h_final @ out_table.T  # (n_tokens, n_vocab)
check_close("logits", logits, seen["logits"])
print("one table for both ends:", out_table is table)
for token, guess in list(zip(seen.tokens, token_labels(lm.tokenizer, logits.argmax(dim=-1))))[-12:]:
    print(f"{token:12} → {guess}")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - There is a guess at *every* token, not at the last one alone. Row *i* is the guess for token *i* + 1.
# - This model reads the embedding table of {{nb:02}} backwards; such tables are called **tied** (Press & Wolf, 2016).
# - After `␣Italy` it expects `␣is`, and that is what comes. After `␣of` it expects `␣France` again. Why is that a good guess?

# %% [markdown] tags=["en"]
# ## 3 · What is a logit worth?
#
# Alone, nothing. There is no scale on which 15 is a lot.
# **Softmax** turns logits into probabilities: raise *e* to each, divide by the total.
# Add the same amount to all of them and it cancels, so that only differences count: a lead of 1 always means 2.7 times the probability.

# %%
toy_logits = torch.tensor([3.0, 2.0, 0.0])  # toy numbers
for added in (0.0, 10.0):
    exps = (toy_logits + added).exp()
    print(f"{added:4.0f} added:", [round(share, 3) for share in (exps / exps.sum()).tolist()])

# %% [markdown] tags=["en"]
# The exponential has a trap: it grows so fast that a computer runs out of numbers.

# %%
large = torch.tensor([88.0, 89.0, 90.0])  # toy numbers
exps = large.exp()
print("in float32:", *[f"{value:.2g}" for value in exps], "→ shares", (exps / exps.sum()).tolist())
n_over = logits[-1].half().exp().isinf().sum()
print(f"in float16: {n_over} of this prompt's own {n_vocab:,} logits overflow")

# %% [markdown] tags=["en"]
# Infinity divided by infinity is not a number (`nan`).
# The cure is the fact above: adding a constant changes nothing, so subtract the largest logit first.
# Then the largest exponential is $e^0 = 1$, and none can overflow.

# %%
def softmax(x):
    exps = (x - x.amax(dim=-1, keepdim=True)).exp()
    return exps / exps.sum(dim=-1, keepdim=True)

probs = softmax(logits)  # (n_tokens, n_vocab)
check_close("probabilities", probs, seen["logits"].softmax(dim=-1), against="torch's softmax")
print("88, 89, 90:", [round(share, 3) for share in softmax(large).tolist()])
print("tokens with probability 0:", (probs[-1] == 0).sum().item())

# %% [markdown] tags=["en"]
# ## 4 · How sure is the model?
#
# The likeliest token alone does not tell.
# 65 % could leave one rival or thousands.
# **Entropy** weighs the whole distribution: the average of $-\log_2 p$, in bits.
# One bit is the doubt before tossing a coin, three bits the doubt among eight equal choices; a blind guess among 49,152 has 15.6.

# %%
def entropy(probs):  # (…, n_vocab) -> (…): bits
    return -torch.where(probs > 0, probs * probs.log2(), 0.0).sum(dim=-1)

for name, toy in {"coin": [0.5, 0.5], "eight sides": [1 / 8] * 8}.items():  # toy numbers
    print(f"{name}: {entropy(torch.tensor(toy)):.1f} bits")
best = probs[-1].topk(5)
print(*[f"{name} {p:.1%}" for name, p in zip(token_labels(lm.tokenizer, best.indices), best.values)])
measures(seen.tokens, entropy(probs), title="Doubt about the next token", unit="bits",
         caption=seen.caption("entropy of the probabilities after each token"))

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - After `␣Italy` hardly any doubt is left, and after `␣of` a great deal: any country, any noun. The text decides, not the model's mood.
# - After the final `␣is` there are 2.6 bits of doubt, as much as among six equal choices, although `␣Rome` holds 65 %. Where are the other five?

# %% [markdown] tags=["en"]
# ## 5 · Was that the whole model?
#
# Yes. Nothing else is in it.
# So put together what five notebooks have taken apart, and start from the ids alone: no trace, no tensor of the model's, only weights.
# One piece from {{nb:02}} is needed again, the rotation of queries and keys by their position.

# %%
rotates = "block0.q_rot" in seen  # GPT-2 does not: a rotation by no angle
theta = lm.config.rope_parameters.get("rope_theta", 10_000.0) if rotates else 1.0
speeds = theta ** (-torch.arange(0, d_head, 2, device=lm.device) / d_head)  # (d_head / 2,)
angles = rotates * torch.arange(n_tokens, device=lm.device)[:, None, None] * speeds
bend, group = activation(lm), size.n_heads // size.n_kv_heads

def rotate(x):  # (n_tokens, heads, d_head): the halves are the two coordinates of each pair
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], dim=-1)

# %%
stream = table[seen.token_ids] + position_vectors(lm, n_tokens)  # zero here; GPT-2 adds its positions now
for w in (block_weights(lm, i) for i in range(n_layers)):
    h = normed(stream, w.norm1)
    flat = (h @ weight.T + bias for weight, bias in ((w.w_q, w.b_q), (w.w_k, w.b_k), (w.w_v, w.b_v)))
    q, k, v = (part.view(n_tokens, -1, d_head) for part in flat)  # side by side: the heads
    q, k = rotate(w.q_norm(q)), rotate(w.k_norm(k))
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = torch.einsum("ihd,jhd->hij", q, k) / d_head**0.5
    pattern = softmax(scores + torch.full_like(scores, -torch.inf).triu(diagonal=1))
    stream = stream + torch.einsum("hij,jhd->ihd", pattern, v).flatten(1) @ w.w_o.T + w.b_o
    h = normed(stream, w.norm2)
    up = h @ w.w_up.T + w.b_up
    act = bend(up) if w.w_gate is None else bend(h @ w.w_gate.T + w.b_gate) * up
    stream = stream + act @ w.w_down.T + w.b_down
our_logits = normed(stream, final_norm(lm)) @ out_table.T

# %%
check_close("from ids to logits, all blocks", our_logits, seen["logits"])
print("same guess at every token:", torch.equal(our_logits.argmax(dim=-1), seen["logits"].argmax(dim=-1)))

# %% [markdown] tags=["en"]
# Fifteen lines.
# A bias, a norm on the queries, a missing gate or a missing rotation is all that tells LLaMA, Qwen and GPT-2 apart here.
# (Gemma 3 scales its embeddings, rotates in two ways and norms what it adds; there the check above would stop you.)
# What makes a model large or good lies in the weights.

# %% [markdown] tags=["en"]
# ## 6 · How well does it predict a text?
#
# Take a text that is already written, and ask at each token: what probability had the model given it?
# Row *i* holds the guess for token *i* + 1, so rows are shifted by one against tokens; the first token is never guessed and the last row has nothing to be compared with.
# **Surprise** is $-\log_2 p$ of the token that came, in bits.
# **Perplexity** is 2 to the power of the mean surprise: among how many equal choices the model seems to waver on average.

# %%
def surprise(text):
    read = trace(lm, text)
    ids = torch.tensor(read.token_ids, device=lm.device)
    log_probs = read["logits"].log_softmax(dim=-1)  # in one step: finite where softmax rounds to 0
    in_nats = -log_probs[:-1].gather(1, ids[1:, None])[:, 0]  # (n_tokens - 1,)
    return read, in_nats / torch.tensor(2.0).log()

text = "Two plus two is four. Three plus three is six. Four plus four is banana."
for ending in ("eight", "banana"):
    read, bits = surprise(text.replace("banana", ending))
    print(f"… {ending}: mean surprise {bits.mean():.1f} bits, perplexity {2 ** bits.mean():.1f}")
measures(read.tokens[1:], bits, title="How much each token surprises the model", unit="bits",
         caption=read.caption("−log₂ of the probability of the token that came"))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - `␣banana` costs more than 24 bits: the model had given it less than one part in ten million. One such word out of 17 more than doubles the perplexity of the whole text.
# - Read the three `␣plus` from top to bottom. What has the model learned between the first and the second, with no change to its weights?
# - The first line is `␣plus`, not `Two`. Why does *Two* cost nothing?

# %% [markdown] tags=["en"]
# ## 7 · When does the answer come up?
#
# The stream has the same shape at every depth.
# So read it early: apply the final norm and the table after 0, 1, 2, … blocks, as though the model stopped there.
# This is the **logit lens** (nostalgebraist, 2020).
# One depth at a time; all at once would be 31 · 49,152 numbers a token.

# %%
last = slice(-48, None)  # of a longer prompt the last 48 tokens
depths = torch.stack([seen[key][last] for key in ("embed", *(f"block{i}" for i in range(n_layers)))])
final = seen["logits"][last].argmax(dim=-1)  # (n_tokens,): the whole model's guess at each token
guess, sure, doubt = [], [], []
for vectors in depths:  # (n_tokens, d_model) after 0, 1, … blocks
    read_early = softmax(normed(vectors, final_norm(lm)) @ out_table.T)
    guess.append(read_early.argmax(dim=-1))
    sure.append(read_early.amax(dim=-1))
    doubt.append(entropy(read_early))
guess, sure, doubt = (torch.stack(part) for part in (guess, sure, doubt))  # (1 + n_layers, n_tokens)
check_close("the last depth is the model", sure[-1], seen["logits"][last].softmax(dim=-1).amax(dim=-1))

# %%
own = table[seen.token_ids][last]  # (n_tokens, d_model): each token's own embedding
agree = (guess == final).float().mean(dim=-1)
alike = torch.cosine_similarity(depths, own, dim=-1).mean(dim=-1)
curves = {"tokens whose guess is the final one": agree, "cosine with the token's own embedding": alike}
lines(range(n_layers + 1), curves, title="From the token to the answer",
      x_title="blocks done", y_title="share, cosine",
      caption=seen.caption("logit lens, and the stream against the embedding, mean over the tokens"))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - The stream points along the token's own embedding before block 0. How many blocks does that last?
# - The guesses settle one by one, over more than half of the depth. Is there a floor on which the model makes up its mind?

# %% [markdown] tags=["en"]
# ## 8 · Where does the answer come from?
#
# The lens shows what can be read, not what causes what. For that one has to interfere.
#
# Run the prompt a second time with one token exchanged, at the place that the last token looks at hardest: `␣Italy` becomes `␣Spain`.
# Then transplant: take the vector of *one* position from the second run, put it into the first after *d* blocks, and let the model finish.
# As long as the transplant changes the answer, what the answer needs is still at that position.
# Row *d* of one batch carries the transplant at depth *d*.

# %%
looks = torch.stack([seen[f"block{i}.pattern"][:, -1] for i in range(n_layers)])
looks[..., [0, -1]] = 0  # not the first token, not itself
place, answer = int(looks.amax(dim=(0, 1)).argmax()), int(probs[-1].argmax())
other_ids = list(seen.token_ids)
other_ids[place] = lm.encode(" Spain")[-1]
other = trace(lm, other_ids)
instead = int(other["logits"][-1].argmax())
labels = token_labels(lm.tokenizer, [answer, instead])
print(f"{seen.tokens[place]}: {labels[0]};  {other.tokens[place]}: {labels[1]}")

# %%
blocks = lm.model.get_submodule(layout_of(lm.model).blocks)

def transplanted(position):  # -> (n_layers, n_vocab)
    def put(depth, block, inputs):
        inputs[0][depth, position] = other["embed" if depth == 0 else f"block{depth - 1}"][position]

    hooks = [block.register_forward_pre_hook(partial(put, depth)) for depth, block in enumerate(blocks)]
    try:
        batch = torch.tensor([seen.token_ids] * n_layers, device=lm.device)
        with torch.inference_mode():
            return softmax(lm.model(batch, logits_to_keep=1, use_cache=False).logits[:, -1])
    finally:
        for hook in hooks:
            hook.remove()

# %%
at_place, at_last = transplanted(place), transplanted(n_tokens - 1)
check_close("before block 0: the other prompt", at_place[0], other["logits"][-1].softmax(dim=-1))
curves = {f"transplant at {seen.tokens[place]}": at_place[:, answer]}
curves[f"at the last {seen.tokens[-1]}"] = at_last[:, answer]
lines(range(n_layers), curves, title=f"Is it still {labels[0]}?",
      x_title="blocks done before the transplant", y_title=f"probability of {labels[0]}",
      caption=seen.caption(f"one vector from the run with {other.tokens[place]}"))

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Up to 23 blocks, the transplant at `␣Italy` turns *Rome* into *Madrid*. From 25 on, it does nothing. The country travels to the last token in blocks 23 and 24, and hardly anywhere else.
# - Block 16 looks at `␣Italy` harder than any other ({{nb:03}}), and a transplant after it, at the last token, leaves *Rome* in front. Looking at a token is not yet using it.
# - At depth 25 the last vector decides between *Rome* and *Madrid*. What rank has *Rome* in the lens there? Look it up below.

# %% [markdown] tags=["en"]
# ## Try it
#
# The lens at every third depth, for the last twelve tokens. Top row: no block done; bottom row: the whole model.

# %%
every_third = [*range(0, n_layers, 3), n_layers]  # depths
names = [token_labels(lm.tokenizer, guess[depth]) for depth in every_third]
token_grid(names, sure[every_third], every_third, seen.tokens[last],
           title="What the model would say if it stopped",
           row_title="blocks done", column_title="after this token",
           caption=seen.caption("likeliest token, coloured by its probability"))

# %% [markdown] tags=["en"]
# And at every depth: click a cell, or move with the arrow keys; switch from guesses to the rank of the final answer.
# Guesses that are already the final one are bold.

# %%
from helpers.widgets import LensExplorer

explorer = LensExplorer(lm, seen)
explorer

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - In the top row most tokens predict themselves. Which property of the table makes them do so?
# - Between depth 2 and depth 24 the last column says little more than `,`, `.` or `␣`, and says it with confidence. Switch to ranks: meanwhile `␣Rome` climbs from place 7,590 after 4 blocks to 418 after 24, without ever showing.
# - At depth 25, where the transplant says that the answer is decided, `␣Rome` stands at rank 155. The lens reads with the last block's alphabet; what earlier blocks write in another one, it misses (Belrose et al., 2023).

# %% [markdown] tags=["en"]
# ## Break it
#
# Four slips that give numbers without any complaint.

# %%
ids = torch.tensor(seen.token_ids, device=lm.device)
right, high = probs[-1], logits[-1] - logits[-1].max() + 90  # the same differences, higher up
unshifted = probs.gather(1, ids[:, None]).log2().mean()  # row i against token i
shifted = probs[:-1].gather(1, ids[1:, None]).log2().mean() if n_tokens > 1 else torch.zeros(())
slips = {
    "final norm left out": (softmax(seen[f"block{n_layers - 1}"] @ out_table.T)[-1], right),
    "row 0 for the last": (probs[0], right),
    "exp of high logits": (high.exp() / high.exp().sum(), right),
    "perplexity not shifted": (2**-unshifted, 2**-shifted),
}
for name, (wrong, model) in slips.items():
    try:
        check_close(name, wrong, model)
    except CheckFailed:
        print(f"{name:22} off by {(wrong - model).abs().max().item():.2g}, stopped")

# %% [markdown] tags=["en"]
# `nan` is the lucky case: it can be seen. The other three look like results.

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · Softmax that cannot overflow (5 minutes).** Probabilities along the last axis, for logits of any shape and any size.

# %% tags=["exercise"]
def stable_softmax(logits):
    """logits (…, n_vocab) -> probabilities (…, n_vocab)"""
    return ...

# %% tags=["check"]
from helpers.exercises.logits import check_lens_probability, check_perplexity, check_stable_softmax

check_stable_softmax(stable_softmax, seen["logits"])

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Subtract from each row its own largest logit before the exponential.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `keepdim=True` keeps the last axis, so that a maximum or a sum of each row can be subtracted from it or divide it.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def stable_softmax(logits):
#     exps = (logits - logits.amax(dim=-1, keepdim=True)).exp()
#     return exps / exps.sum(dim=-1, keepdim=True)
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · Perplexity (8 minutes).** From the logits of a text and its token ids to one number.

# %% tags=["exercise"]
def perplexity(logits, ids):
    """logits (n_tokens, n_vocab), ids (n_tokens,) -> a number, at least 1"""
    return ...

# %% tags=["check"]
check_perplexity(perplexity, read["logits"], read.token_ids)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# `logits[:-1]` are the guesses that can be checked, `ids[1:]` the tokens that came.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `log_probs.gather(1, ids[1:, None])` picks one entry from each row. Mean first, then the power; the base of the logarithm and of the power must be the same.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def perplexity(logits, ids):
#     log_probs = logits[:-1].log_softmax(dim=-1)
#     return (-log_probs.gather(1, ids[1:, None]).mean()).exp()
# ```
# </details>

# %% [markdown] tags=["en"]
# **3 · The lens for one token (6 minutes).** How likely is the token `answer` at each depth? `norm` is the final norm, ready to be called: `norm(x)`.

# %% tags=["exercise"]
def lens_probability(depths, norm, table, answer):
    """depths (n_depths, d_model), table (n_vocab, d_model), answer an id -> (n_depths,)"""
    return ...

# %% tags=["check"]
check_lens_probability(lens_probability, seen, final_norm(lm), out_table)

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# Norm, table, softmax over the vocabulary, and of each row the entry `answer`. It is one line.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def lens_probability(depths, norm, table, answer):
#     return (norm(depths) @ table.T).softmax(dim=-1)[:, answer]
# ```
# </details>

# %% [markdown] tags=["en"]
# ## Fact check
#
# **"Layers 1 to 8 are literal, 9 to 24 handle syntax, 25 to 32 the task."** Said of models with 32 blocks; this one has 30.
# Three bands would show as steps. Measured on this prompt:

# %%
bands = {"1 to 8": slice(1, 9), "9 to 24": slice(9, 25), "25 on": slice(25, None)}  # depths, blocks done
print("blocks done   own token   doubt in bits   final guesses, from the first depth to the last")
for name, band in bands.items():
    if band.start <= n_layers:
        measured = f"{alike[band].mean():11.2f} {doubt[band].mean():15.1f}"
        print(f"{name:11} {measured}   {agree[band][0]:.0%} → {agree[band][-1]:.0%}")

# %% [markdown] tags=["en"]
# What is measured, with the default prompt:
#
# - *Literal* ends with the first block, not with the eighth: from then on the cosine with the token's own embedding is about 0. (A low cosine does not prove that the token is forgotten; it has left the direction it came in.)
# - The guesses become final one token after another, over the upper two thirds of the stack: a gradient. How deep a token needs to go depends on the token.
# - Doubt does not sink with depth. The lens is *most* in doubt in the last blocks, where many candidates compete.
# - One step there is, and a sharp one: *Italy* reaches the last token in blocks 23 and 24. It belongs to this fact in this model, not to a band.
#
# Verdict: a useful picture of a tendency, not three floors. Which blocks *handle syntax* was not measured here, and the numbers come from one prompt.

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `seen["final_norm"]` | (n_tokens, d_model) | the stream at standard length |
# | `seen["logits"]` | (n_tokens, n_vocab) | a score for every token of the vocabulary, at every position |
# | `probs` | (n_tokens, n_vocab) | the same as probabilities; the last row is about the token to come |
#
# The model's part is done: it has given a distribution, and no word. {{nb:06}} is about choosing one.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - nostalgebraist, *interpreting GPT: the logit lens*, 2020. [lesswrong.com](https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens)
# - Belrose et al., *Eliciting Latent Predictions from Transformers with the Tuned Lens*, 2023. [arXiv:2303.08112](https://arxiv.org/abs/2303.08112)
# - Meng et al., *Locating and Editing Factual Associations in GPT*, 2022. [arXiv:2202.05262](https://arxiv.org/abs/2202.05262): transplants as a method.
# - Press & Wolf, *Using the Output Embedding to Improve Language Models*, 2016. [arXiv:1608.05859](https://arxiv.org/abs/1608.05859): tied tables.
