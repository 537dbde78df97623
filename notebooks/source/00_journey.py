# %% [markdown] tags=["en"]
# # 0 · How does a prompt become text?
#
# {{path}}
#
# You type a few words and a language model goes on writing.
# In between lies one function.
# A list of whole numbers goes in, one score for every entry of a vocabulary comes out, and the rest of the work is done around it, once for every piece of text.
# This page opens that function and follows one prompt through a real model: every number below is computed while you watch, from the model's own weights.

# %% [markdown] tags=["en"]
# ## What you will see
#
# - Your prompt as the model reads it: pieces, numbers, and thirty rounds of arithmetic, each with its true shape.
# - The block in which the answer appears, and an earlier word that a head looks at on the way.
# - 49,152 probabilities under your hands: drag the temperature and see which tokens stay in the game.

# %% [markdown] tags=["en"]
# ## What you need
#
# No machine learning, and as much Python as it takes to change one line.
# The model is SmolLM2-135M-Instruct, small enough for a laptop: about 1 GB of memory for a prompt of this length, and the whole page runs in about half a minute.
# Its weights come as a 4-bit file and are unpacked to 32-bit numbers once, before anything is computed.
# Run a cell with Shift+Enter, or all of them from the *Run* menu.

# %% [markdown] tags=["en"]
# ## Set up

# %%
from helpers import check_close, generate, load_model, next_token_probs, trace
from helpers.figures import bars, heatmap, lines, strips
from helpers.tokens import token_chips, token_labels
from helpers.weights import activation, block_weights, final_norm, position_vectors, sizes

import torch  # after helpers, which tells it how to wait for its threads

# %%
lm = load_model()
n_layers, n_heads = sizes(lm).n_layers, sizes(lm).n_heads
n_weights = sum(weights.numel() for weights in lm.model.parameters())
print(f"{lm.name}: {n_weights:,} weights in {n_layers} blocks")

# %% [markdown] tags=["en"]
# One line drives the whole page.
# Put your own text there, in any language, and run all cells again.
# Where the text below quotes a result, it is the result for this default prompt.

# %%
prompt = "The capital of France is Paris. The capital of Italy is"
seen = trace(lm, prompt)  # one forward pass; every tensor on the way is kept

# %% [markdown] tags=["en"]
# ## 1 · What does the model read?
#
# Not letters.
# A **tokenizer** cuts the text into **tokens**, pieces that occurred often in the text it was built from, and each token has a number, its **id**.
# The list of ids is all that the model is given.
# The mark `␣` is a space: for most words the space in front is part of the token.
# Where a token is only part of a character, as often in Chinese or emoji, its bytes are shown instead, two hex digits each.

# %%
token_chips(lm.tokenizer, seen.token_ids)

# %%
n_tokens = len(seen.token_ids)
print(f"{len(prompt)} characters became {n_tokens} tokens of a vocabulary of {sizes(lm).n_vocab:,}")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - `␣capital` stands there twice, with the same id both times. An id says *which* piece it is; it does not say *where* it stands.
# - Replace the prompt with `我想吃苹果`. Why do five characters need eleven tokens? ({{nb:01}})

# %% [markdown] tags=["en"]
# ## 2 · How does an id become something to compute with?
#
# The id picks one row of a table, the **embedding** matrix: 49,152 rows, one a token, of 576 learned numbers each.
# Such a row is called a vector.
# At this point it holds what the model knows of a token on its own, before it has looked at any other.

# %%
table = lm.model.get_input_embeddings().weight  # (n_vocab, d_model)
x = table[seen.token_ids]  # (n_tokens, d_model)
positions = position_vectors(lm, n_tokens)  # zero: this model brings in positions elsewhere
check_close("embedding", x + positions, seen["embed"])

# %%
strips(x, seen.tokens, title="One vector a token", caption=seen.caption("embedding"))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Two rows are equal to the last digit wherever a token occurs twice: the table knows nothing of neighbours or of order.
# - So the vector of the last `␣is` has not heard of Italy yet. How could it ever end in *Rome*? ({{nb:02}} reads the table, the next step answers the question.)

# %% [markdown] tags=["en"]
# ## 3 · Which tokens does each token look at?
#
# **Attention** carries information from earlier positions to later ones.
# Every token asks a question, every earlier token offers an answer, and a share between 0 and 1 says how much of each offer is taken.
# One such round of questions is a **head**.
# This model has 9 heads in each of its 30 blocks: 270 patterns for your prompt.
# The picture shows the one in which the last token looks hardest at a single earlier token, the very first not counted.

# %%
last_rows = [seen[f"block{i}.pattern"][:, -1] for i in range(n_layers)]
looks = torch.stack(last_rows)  # (n_layers, n_heads, n_tokens): where the last token looks
looks[:, :, [0, -1]] = 0  # not the first token, not itself
layer, head = divmod(int(looks.amax(-1).argmax()), n_heads)
target = int(looks[layer, head].argmax())
pattern = seen[f"block{layer}.pattern"][head]  # (n_tokens, n_tokens)
share = pattern[-1, target].item()
print(f"block {layer}, head {head}: {seen.tokens[-1]} takes {share:.1%} from {seen.tokens[target]}")

# %%
heatmap(pattern, seen.tokens, seen.tokens,
        title=f"Block {layer}, head {head}: who looks at whom",
        caption=seen.caption("attention pattern", layer=layer, head=head))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Read the last row: nine tenths of what this head brings to the final `␣is` come from `␣Italy`.
# - Every row adds up to 1: to look harder at one token is to look away from the others.
# - The upper right is empty. Why may a model that writes from left to right never look ahead? ({{nb:03}})

# %% [markdown] tags=["en"]
# ## 4 · What happens at each position alone?
#
# After listening, each token is worked on by itself.
# The **feed-forward network** (FFN) tests its vector for 1,536 features, passes on the ones that respond, and turns them into 576 numbers again.
# Here are the last two of its steps for block 0, next to the model's.

# %%
w, bend = block_weights(lm, 0), activation(lm)
gate, up = seen.get("block0.gate"), seen["block0.up"]  # (n_tokens, d_mlp)
act = bend(up) if gate is None else bend(gate) * up  # older models have no gate
check_close("features that respond, block 0", act, seen["block0.act"])
check_close("what the FFN adds, block 0", act @ w.w_down.T + w.b_down, seen["block0.mlp"])

# %%
matrices = [w.w_up, w.w_down] if gate is None else [w.w_gate, w.w_up, w.w_down]
in_ffn = n_layers * sum(matrix.numel() for matrix in matrices)
print(f"{tuple(act.shape)}: {n_tokens} tokens, {act.shape[1]:,} features each")
print(f"{in_ffn / n_weights:.1%} of the model's weights are in its FFNs")

# %% [markdown] tags=["en"]
# More than half of all weights sit in these matrices, and no token can see another one here.
# Which features fire, and what for? ({{nb:04}})

# %% [markdown] tags=["en"]
# ## 5 · What do thirty blocks add up to?
#
# Attention and FFN make one **block**.
# Neither replaces the vector it is given: each *adds* its result to it.
# The running sum is called the **residual stream**, and it is the only thing that one block hands to the next.

# %%
after_block = seen["embed"] + seen["block0.attn"] + seen["block0.mlp"]
check_close("input + attention + FFN", after_block, seen["block0"])

# %% [markdown] tags=["en"]
# Since the stream keeps its shape, it can be read at any depth.
# Suppose the model had to stop after block 0, or 10, or 28, and name the next token from what it has: how likely would each candidate be?
# Asking this is known as the **logit lens** (nostalgebraist, 2020).

# %%
states = torch.stack([seen["embed"][-1]] + [seen[f"block{i}"][-1] for i in range(n_layers)])
out_table = lm.model.get_output_embeddings().weight  # (n_vocab, d_model)
lens = (final_norm(lm)(states) @ out_table.T).softmax(dim=-1)  # (1 + n_layers, n_vocab)
final = lens[-1].topk(4).indices
curves = {name: lens[:, i] for name, i in zip(token_labels(lm.tokenizer, final), final)}
lines(range(n_layers + 1), curves, "If the model stopped here",
      seen.caption("last position, final norm and vocabulary table applied at every depth"),
      x_title="blocks done", y_title="probability")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - For most of the depth the eventual answer is nowhere to be seen. With the default prompt `␣Rome` goes from 3 % to 65 % in the very last block.
# - Yet block 16 was already looking at `␣Italy`. What was it storing, if not the answer? ({{nb:05}})

# %% [markdown] tags=["en"]
# ## 6 · How does a vector become a choice of 49,152?
#
# Only the last position is asked what comes next.
# Its vector, brought to a standard length, is compared with every row of a table of 49,152 vectors; the better the match, the higher the score.
# These scores are the **logits**.
# In this model the table is the one from step 2, read in the other direction.

# %%
h = seen["final_norm"][-1]  # (d_model,)
logits = h @ out_table.T  # (n_vocab,)
check_close("logits", logits, seen["logits"][-1])
print("one table for both ends:", out_table is table)

# %%
best = logits.topk(5)
for name, value in zip(token_labels(lm.tokenizer, best.indices), best.values):
    print(f"{name:12} {value:6.2f}")

# %% [markdown] tags=["en"]
# ## 7 · What does a score mean?
#
# Alone, nothing: only differences between logits count.
# **Softmax** makes shares of them. Raise *e* to each logit, divide by the total.
# Two toy numbers first: one point more means 2.7 times the share, whatever the two numbers are.

# %%
toy_logits = torch.tensor([3.0, 2.0])  # toy numbers
toy = toy_logits.exp() / toy_logits.exp().sum()
print([round(share, 3) for share in toy.tolist()], "ratio", round((toy[0] / toy[1]).item(), 2))

# %%
exps = (logits - logits.max()).exp()  # the same shares, and exp cannot overflow
probs = exps / exps.sum()
check_close("probabilities", probs, seen["logits"][-1].softmax(dim=-1), against="torch's softmax")

# %%
top = probs.topk(12)
bars(token_labels(lm.tokenizer, top.indices), top.values, title="The 12 most likely next tokens",
     caption=seen.caption("softmax of the last row of logits"))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - With the default prompt the runners-up are Italian cities, the country, the Italian spelling *Roma*, and fragments such as `␣T` and `␣Nap`. Which words could those begin?
# - The other 49,140 tokens share what is left. None of them has probability zero. ({{nb:05}})

# %% [markdown] tags=["en"]
# ## 8 · Which token is taken?
#
# The model's part ends here. It returns a distribution, and it takes another rule to pick from it: the likeliest token, or a draw with dice that have 49,152 sides.
# **Temperature** divides the logits before softmax; **top-k**, **top-p** and **min-p** cut the tail off; a **repetition penalty** lowers what the text already contains.
# Drag, and see what each rule keeps and what it throws away.

# %%
from helpers.widgets import SamplingExplorer

explorer = SamplingExplorer(logits, lm.tokenizer, context_ids=seen.token_ids)
explorer

# %% [markdown] tags=["en"]
# The next cell takes the settings from the sliders above and draws ten times with them.
# Move a slider, run the cell again, compare.

# %%
chosen = next_token_probs(logits, **explorer.settings)
print(f"{(chosen > 0).sum():,} of {len(chosen):,} tokens can be drawn")
dice = torch.Generator().manual_seed(0)
draws = torch.multinomial(chosen.cpu(), 10, replacement=True, generator=dice)
print(*token_labels(lm.tokenizer, draws))

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Lower the temperature towards 0: one token takes everything. Raise it to 2: at which setting do the first absurd tokens turn up among the ten draws?
# - With top-p at 0.9, how many tokens are left? Does that number depend on the prompt? ({{nb:06}})

# %% [markdown] tags=["en"]
# ## 9 · And then?
#
# The chosen token is appended to the prompt, and everything starts again.
# That loop is the whole of text generation: the model writes one token, reads all of it again, writes the next.
# Taking the likeliest token each time is called **greedy** decoding.

# %%
ids = list(seen.token_ids)
with torch.inference_mode():
    for _ in range(12):
        logits_now = lm.model(torch.tensor([ids], device=lm.device)).logits[0, -1]
        ids.append(int(logits_now.argmax()))
        if ids[-1] == lm.tokenizer.eos_token_id:
            break
print(lm.decode(ids))

# %%
written = generate(lm, prompt, max_new_tokens=12)
check_close("our tokens against generate's", ids[n_tokens:], written.token_ids, against="generate")
token_chips(lm.tokenizer, written.token_ids)

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - The model does not stop at *Rome*, it goes on to the next country. Nothing told it to stop: the end of a text is a token like any other.
# - Our loop reads the whole text again for every new token; `generate` does not, and gets the same tokens. What does it keep? ({{nb:07}})

# %% [markdown] tags=["en"]
# ## Break it
#
# If all that the last position knows of the others has to come through attention, the answer should vanish when there is nothing to look at.
# So give the model the last token alone: the same id, the same weights, the same arithmetic.
# (This removes all context at once; {{nb:03}} takes away one head at a time, {{nb:05}} swaps one word.)

# %%
alone = trace(lm, seen.token_ids[-1:])["logits"][-1].softmax(dim=-1)
answer = int(probs.argmax())
name = token_labels(lm.tokenizer, [answer])[0]
print(f"{name}: {probs[answer]:.1%} with the whole prompt, {alone[answer]:.1%} with its last token")
print("likeliest now:", *token_labels(lm.tokenizer, alone.topk(5).indices))

# %% [markdown] tags=["en"]
# Not one weight has changed; what is gone is the text to look back at.

# %% [markdown] tags=["en"]
# ## Every part of the model, and where it is explained
#
# Nothing on this page was left out by accident.
# The table below is read from the model itself: every tensor on the way, the modules that make it, how many weights they hold, and the notebook that takes the step apart.

# %%
from helpers.model_map import model_map

parts = model_map(lm, seen)
parts

# %%
print(f"{parts.n_weights:,} weights in the table, {n_weights:,} in the model")

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · Temperature (3 minutes).** Write the function that turns logits and a temperature into probabilities.
# The check tries it on this page's logits and on others.

# %% tags=["exercise"]
def with_temperature(logits, temperature):
    return ...

# %% tags=["check"]
from helpers.exercises.journey import check_top_share, check_with_temperature

check_with_temperature(with_temperature, logits)

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# A temperature above 1 must make the distribution flatter. Which operation on the logits brings them closer together?
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def with_temperature(logits, temperature):
#     return (logits / temperature).softmax(dim=-1)
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · How much do the best ten hold? (4 minutes).** Return the probability that the next token is one of the `k` likeliest, as one number.

# %% tags=["exercise"]
def top_share(logits, k):
    return ...

# %% tags=["check"]
check_top_share(top_share, logits)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# The probabilities of all tokens together are 1. Those of ten tokens are less than 1: softmax has to come before the cut.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `topk(k).values` gives the `k` largest entries of a tensor.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def top_share(logits, k):
#     return logits.softmax(dim=-1).topk(k).values.sum()
# ```
# </details>

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `seen.token_ids` | n_tokens | the prompt as the model reads it |
# | `seen["embed"]` | (n_tokens, d_model) | one vector a token, from the table |
# | `seen["block0.pattern"]` … | (n_heads, n_tokens, n_tokens) | who looks at whom |
# | `seen["block0"]` … | (n_tokens, d_model) | the residual stream after each block |
# | `seen["logits"]` | (n_tokens, n_vocab) | a score for every token of the vocabulary |
#
# That is the trip from end to end. Each stop has a notebook of its own, in which you compute the numbers yourself; the one that is asked about most is {{nb:03}}.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - Vaswani et al., *Attention Is All You Need*, 2017. [arXiv:1706.03762](https://arxiv.org/abs/1706.03762): where the block comes from.
# - Touvron et al., *LLaMA: Open and Efficient Foundation Language Models*, 2023. [arXiv:2302.13971](https://arxiv.org/abs/2302.13971): the architecture that this model follows.
# - Ben Allal et al., *SmolLM2: When Smol Goes Big*, 2025. [arXiv:2502.02737](https://arxiv.org/abs/2502.02737): the model on this page.
