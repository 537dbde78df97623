# %% [markdown] tags=["en"]
# # 6 · How does a distribution become a text?
#
# {{path}}
#
# The model has done its part: 49,152 numbers, one for each token that could come next.
# It has not said which one to take.
# Everything that makes a text dull or wild, repetitive or broken, happens in the few lines between those numbers and the next token.
# Here you write these lines, all of them, compare each with the library's own, and then let a text grow and branch under your hands.

# %% [markdown] tags=["en"]
# ## What you will see
#
# - Nine rules, each in one to five lines, equal to `transformers`' own; and what goes wrong when two of them change places.
# - 10,000 throws of a die with 49,152 sides, and a test that would notice if it were loaded.
# - Why the likeliest token at every step does not make the likeliest text, and why nobody wants the likeliest text anyway.

# %% [markdown] tags=["en"]
# ## What you need
#
# Softmax, from {{nb:05}}; {{nb:00}} for the whole picture.
# About 1 GB of memory; the page runs in under a minute.

# %% [markdown] tags=["en"]
# ## Set up

# %%
import codecs

from helpers import check_close, generate, load_model, trace
from helpers.figures import bars, lines
from helpers.generate import stream
from helpers.tokens import token_bytes, token_labels

import torch  # after helpers, which tells it how to wait for its threads

# %%
lm = load_model()
import transformers  # whose rules ours are compared with

prompt = "The capital of France is Paris. The capital of Italy is"
seen = trace(lm, prompt)
ids, n_tokens, n_vocab = list(seen.token_ids), len(seen.token_ids), seen["logits"].shape[-1]

def theirs(processor, logits):  # one of transformers' own rules on our logits; it wants a batch axis
    return processor(torch.tensor([ids], device=lm.device), logits[None].clone())[0]

def library(n_texts=1, **options):  # the new tokens that transformers' own generate writes after the prompt
    start = torch.tensor([ids] * n_texts, device=lm.device)
    return lm.model.generate(start, attention_mask=torch.ones_like(start), **options)[:, n_tokens:]

# %% [markdown] tags=["en"]
# ## What comes in
#
# One row of logits, the last position's.
# Softmax makes probabilities of it.

# %%
logits = seen["logits"][-1]  # (n_vocab,)
top = logits.softmax(dim=-1).topk(min(12, n_vocab))
bars(token_labels(lm.tokenizer, top.indices), top.values, title="What the model offers",
     caption=seen.caption("softmax of the last row of logits"))

# %% [markdown] tags=["en"]
# ## 1 · The best one, or a throw of dice?
#
# Two honest ways to choose: always take the largest (**greedy** decoding), or draw, each token as often as its probability says.
# **Temperature** leads from one to the other.
# It divides the logits before softmax: below 1 the gaps between logits widen and the favourite gains, above 1 they shrink and the tail gains.
# Dividing by 0 leads nowhere, so 0 needs a line of its own: it stands for greedy.

# %%
def warmed(logits, temperature):
    if temperature == 0:  # greedy: the largest logit alone is left
        return torch.full_like(logits, -torch.inf).index_fill(0, logits.argmax(), 0.0)
    return logits / temperature

toy = torch.tensor([2.0, 1.0, 0.0])  # toy numbers
for t in (0, 0.5, 1, 2):
    print(f"T = {t:<3}", [round(share, 3) for share in warmed(toy, t).softmax(dim=-1).tolist()])
rule = transformers.TemperatureLogitsWarper(0.7)
check_close("temperature 0.7", warmed(logits, 0.7), theirs(rule, logits), against="transformers")

# %% [markdown] tags=["en"]
# Now the two ends.
# If every token had the same chance, each would have 1/49,152.
# How far from that is the favourite?

# %%
for t in (0.01, 0.5, 1, 2, 100, 10_000):
    p = warmed(logits, t).softmax(dim=-1)
    print(f"T = {t:<6g} favourite {p.max():.3f}, {p.max() * n_vocab:8,.0f} times an equal share")
print("T = 0 by division gives numbers:", not (logits / 0).softmax(dim=-1).isnan().any())

temperatures = [0.1 * i for i in range(1, 31)]
curves = torch.stack([warmed(logits, t).softmax(dim=-1)[top.indices[:4]] for t in temperatures])
lines(temperatures, dict(zip(token_labels(lm.tokenizer, top.indices[:4]), curves.T)),
      "What temperature does to the four favourites",
      seen.caption("softmax of logits / T, last position"), x_title="temperature", y_title="probability")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Toward 0 the favourite takes all; at 10,000 it has what everyone has. The runners-up rise first and fall later: at which temperature is the second one at its best?
# - `transformers` refuses a temperature of 0 with an error and has a switch instead, `do_sample=False`. Other programs read 0 as greedy, as we do.

# %% [markdown] tags=["en"]
# ## 2 · Which tokens may be drawn at all?
#
# At temperature 1 each of the 49,140 tokens outside the picture is next to impossible, but there are so many of them.
# A text of some hundred words draws hundreds of times; one absurd token is enough to derail it.
# Three rules cut the tail.
# **Top-k** keeps a number of tokens. **Top-p** (Holtzman et al., 2020) keeps the likeliest ones until together they reach *p*; the token that crosses the border stays.
# **Min-p** (Nguyen et al., 2024) keeps what is at least *p* times as likely as the favourite.

# %%
def top_k(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[-1], -torch.inf)

def top_p(logits, p):
    probs, order = logits.softmax(dim=-1).sort(descending=True)
    likelier = probs.cumsum(dim=-1) - probs  # what the tokens before it hold together
    return logits.index_fill(0, order[likelier >= p], -torch.inf)

def min_p(logits, p):
    probs = logits.softmax(dim=-1)
    return logits.masked_fill(probs < p * probs.max(), -torch.inf)

toy = torch.tensor([0.5, 0.3, 0.2]).log()  # toy numbers: after 0.5 the sum is still below 0.6
print("top-p 0.6 keeps", top_p(toy, 0.6).isfinite().tolist())

# %% [markdown] tags=["en"]
# The same three on the real row.
# Then the question that decides between them: what do they keep where the model is sure, and where it is not?
# Below are three positions of the prompt: the surest, the middle one, the least sure.

# %%
check_close("top-k 40", top_k(logits, 40), theirs(transformers.TopKLogitsWarper(40), logits), against="transformers")
check_close("top-p 0.9", top_p(logits, 0.9), theirs(transformers.TopPLogitsWarper(0.9), logits), against="transformers")
check_close("min-p 0.05", min_p(logits, 0.05), theirs(transformers.MinPLogitsWarper(0.05), logits),
            against="transformers")

surest = seen["logits"].softmax(dim=-1).amax(dim=-1)  # (n_tokens,)
for i in surest.argsort(descending=True)[[0, n_tokens // 2, -1]].tolist():
    row = seen["logits"][i]
    kept = {"top-k 40": top_k(row, 40), "min-p 0.05": min_p(row, 0.05)}
    kept |= {"top-p 0.9": top_p(row, 0.9), "top-p 0.3": top_p(row, 0.3)}
    counts = ", ".join(f"{name} keeps {int(cut.isfinite().sum())}" for name, cut in kept.items())
    print(f"after {seen.tokens[i]} (favourite {surest[i]:.3f}): {counts}")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Where one token has 97 %, top-k still lets 39 others in. Top-p and min-p leave one: they follow the model's certainty, top-k does not.
# - Where nothing stands out, top-p 0.9 opens the door to 228 tokens, min-p to 36. Which of the two would you trust at a high temperature?
# - Top-p 0.3 leaves a single token at two of the three positions. Is a *low* top-p wild or tame? (Fact check)

# %% [markdown] tags=["en"]
# ## 3 · How can a text be kept from repeating itself?
#
# By making the tokens it already holds less likely.
# The **repetition penalty** (Keskar et al., 2019) divides their logits by a number above 1.
# Division brings a *negative* logit closer to zero, that is, it makes the token likelier, so negative ones are multiplied instead.
# A token that occurs five times is penalized once.

# %%
def penalize_repetition(logits, ids, penalty):
    used = torch.tensor(sorted(set(ids)), device=logits.device)
    old = logits[used]
    return logits.index_copy(0, used, torch.where(old > 0, old / penalty, old * penalty))

rule = transformers.RepetitionPenaltyLogitsProcessor(1.3)
check_close("repetition penalty 1.3", penalize_repetition(logits, ids, 1.3), theirs(rule, logits),
            against="transformers")
used = max(set(ids), key=lambda i: logits[i])  # of the prompt's own tokens the likeliest
for name, row in {"the model's logits": logits, "the same, all 30 lower": logits - 30}.items():
    before, after = (x.softmax(dim=-1)[used] for x in (row, penalize_repetition(row, ids, 1.3)))
    print(f"{name:23} {token_labels(lm.tokenizer, [used])[0]}: {before:.3f} → {after:.4f}")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Both rows of logits mean the same distribution: only differences count ({{nb:05}}). Yet the penalty treats them differently. It is the one rule here that depends on where a model's zero happens to lie.
#
# The rule of OpenAI's interface has no such flaw: it subtracts.
# The **presence penalty** takes a fixed amount from every token that has occurred, the **frequency penalty** takes an amount for each time.
# The formula stands in [OpenAI's documentation](https://platform.openai.com/docs/api-reference/parameter-details), and llama.cpp and vLLM have it too; `transformers` has no such class.
# So we hand it one. Any class will do that has this method: the tokens so far in, scores in, scores out. In step 7 the library writes with it.

# %%
def penalize_presence(logits, ids, presence, frequency=0.0):
    counts = torch.bincount(torch.tensor(ids, device=logits.device), minlength=len(logits))
    return logits - presence * (counts > 0) - frequency * counts

class PresencePenalty(transformers.LogitsProcessor):
    def __call__(self, input_ids, scores):  # (n_texts, n_tokens), (n_texts, n_vocab): one row a text
        rows = zip(scores, input_ids.tolist())
        return torch.stack([penalize_presence(row, written, presence=2.0) for row, written in rows])

ours = penalize_presence(logits, ids, 2.0)
check_close("as a class of our own", theirs(PresencePenalty(), logits), ours, against="our function")
lower = penalize_presence(logits - 30, ids, 2.0)
check_close("all logits 30 lower", lower.softmax(dim=-1), ours.softmax(dim=-1), against="before")

# %% [markdown] tags=["en"]
# ## 4 · How is a word forbidden?
#
# Its logit becomes $-\infty$.
# A word of several tokens must not be forbidden token by token, or every word that shares a piece with it is lost too: its *last* token is barred, and only where the others stand right before it.

# %%
def ban(logits, ids, words):  # words: lists of token ids
    last = [word[-1] for word in words if ids[len(ids) - len(word) + 1 :] == word[:-1]]
    return logits.index_fill(0, torch.tensor(last, dtype=torch.long, device=logits.device), -torch.inf)

first, second, third = logits.topk(3).indices.tolist()
words = [[first], [ids[-1], second], [first, third]]  # the third one has not begun yet
rule = transformers.NoBadWordsLogitsProcessor(words)
check_close("bad words", ban(logits, ids, words), theirs(rule, logits), against="transformers")
left = ban(logits, ids, [[first]]).softmax(dim=-1).topk(5)
print("without", token_labels(lm.tokenizer, [first])[0], "→", *token_labels(lm.tokenizer, left.indices))

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - `␣Rome` is gone and `␣Roma` is still there. So are `Rome` without a space and `␣R` followed by `ome`. A ban forbids ids; it knows nothing of meanings.

# %% [markdown] tags=["en"]
# ## 5 · Does the order matter?
#
# `transformers` applies the rules in a fixed order: repetition penalty, bans, your own classes, then temperature, top-k, top-p, min-p.
# Follow a few tokens through five of them: favourites, and some from further down.

# %%
rules = {
    "repetition 1.2": lambda x: penalize_repetition(x, ids, 1.2),
    "T 1.5": lambda x: warmed(x, 1.5),
    "top-k 50": lambda x: top_k(x, 50),
    "top-p 0.9": lambda x: top_p(x, 0.9),
    "min-p 0.02": lambda x: min_p(x, 0.02),
}
steps = {"the model": logits}
for name, rule in rules.items():
    steps[name] = rule(list(steps.values())[-1])
amounts = {"RepetitionPenaltyLogitsProcessor": 1.2, "TemperatureLogitsWarper": 1.5}
amounts |= {"TopKLogitsWarper": 50, "TopPLogitsWarper": 0.9, "MinPLogitsWarper": 0.02}
chain = transformers.LogitsProcessorList(getattr(transformers, name)(x) for name, x in amounts.items())
check_close("all five in a row", steps["min-p 0.02"], theirs(chain, logits), against="transformers")

# %% [markdown] tags=["en"]
# Read a row of the table from left to right.
# Below the table two neighbours change places; the last number is the share of the probability that this moves to other tokens.

# %%
print(f"{'':12}", *(f"{name:>14}" for name in steps))
for i in logits.topk(40).indices[[0, 1, 2, 5, 11, 19, 39]].tolist():
    probs = [x.softmax(dim=-1)[i] for x in steps.values()]
    shares = (f"{p:14.3f}" if p else f"{'cut':>14}" for p in probs)
    print(f"{token_labels(lm.tokenizer, [i])[0]:12}", *shares)
print(f"{'tokens kept':12}", *(f"{int(x.isfinite().sum()):14,}" for x in steps.values()))

names = ["repetition 1.2", "T 1.5", "top-k 50", "T 1.5", "top-p 0.9", "top-k 50"]
for a, b in zip(names, names[1:]):
    right, swapped = rules[b](rules[a](logits)), rules[a](rules[b](logits))
    moved = (right.softmax(dim=-1) - swapped.softmax(dim=-1)).abs().sum() / 2
    kept = [f"{int(x.isfinite().sum()):6,}" for x in (right, swapped)]
    print(f"{a:14} ⇄ {b:10} kept {kept[0]} → {kept[1]}, {moved:.3f} moved")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Temperature takes from the favourite, and each cut gives back to those who stay.
# - Two divisions commute, and heating changes no rank, so the first three swaps change nothing.
# - The fourth does: heated first, top-p 0.9 keeps 455 tokens; asked before the heating, ten. The same two numbers, two different machines: settings do not carry over from one program to another unless their orders agree.
# - The last one, top-p before top-k, is a small difference. Where does it come from? (Of what are the 90 %?)

# %% [markdown] tags=["en"]
# ## 6 · Do the dice obey?
#
# Draw 10,000 tokens from the model's distribution and count.
# No count will hit its expected value, so how far off may it be?
# The chi-square test adds up (observed − expected)² / expected over all tokens and says how often honest dice are at least that far off.
# Tokens that are expected fewer than five times are pooled into one.
# We call the dice loaded if the chance is below one in a million.

# %%
def chance(counts, probs):
    expected = counts.sum() * probs.cpu().double()
    rare = expected < 5
    pooled = [torch.cat([x[~rare], x[rare].sum()[None]]) for x in (counts, expected)]
    chi2 = ((pooled[0] - pooled[1]) ** 2 / pooled[1].clamp(min=1e-9)).sum()
    freedom = max(1, int((pooled[1] > 0).sum()) - 1)  # the last cell follows from the others
    return float(torch.special.gammaincc(torch.tensor(freedom / 2).double(), chi2 / 2))

probs, dice = logits.softmax(dim=-1), torch.Generator().manual_seed(0)
draws = torch.multinomial(probs.cpu(), 10_000, replacement=True, generator=dice)
counts = torch.bincount(draws, minlength=n_vocab).double()
for t in (1.0, 1.1):
    claimed = warmed(logits, t).softmax(dim=-1)
    print(f"if they are said to be the model's at temperature {t}: loaded? {chance(counts, claimed) < 1e-6}")

# %% [markdown] tags=["en"]
# The dice are honest, and the test is sharp enough to tell temperature 1.1 from 1.
# Dice in a computer are computed: a **seed** fixes all throws to come.
# What does it fix, and what not?

# %%
def throws(probs, seed, n=1000):
    dice = torch.Generator().manual_seed(seed)
    return torch.multinomial(probs.cpu(), n, replacement=True, generator=dice)

def one_by_one(probs, seed, n=1000):  # the same function, asked for a single token each time
    dice = torch.Generator().manual_seed(seed)
    return torch.cat([torch.multinomial(probs.cpu(), 1, generator=dice) for _ in range(n)])

drawn, half = throws(probs, seed=1), logits.bfloat16().float().softmax(dim=-1)
others = {"the same seed again": throws(probs, 1), "another seed": throws(probs, 2)}
others |= {"same seed, logits rounded to bfloat16": throws(half, 1)}
others |= {"same seed, one call for each draw": one_by_one(probs, 1)}
for name, other in others.items():
    print(f"{name:38} equal in {(drawn == other).double().mean():.0%} of 1,000 draws")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - A seed repeats a run on the same program, the same numbers, the same device. Another library, another precision, and the throws mean something else.
# - In a text one draw that differs is enough: from there on the prompts differ, and with them everything. That is why this page never quotes a sampled text.

# %% [markdown] tags=["en"]
# ## 7 · And then?
#
# Append the token, run the model again. That is all of it.
# It ends when the model says so: a **stop token** is a token like any other, with a logit at every step, and the model has learned to prefer it where a text is over.
# The loop knows nothing of rules; whoever calls it says how to choose.

# %%
stop_ids = {lm.tokenizer.eos_token_id}

def write(ids, choose, n_new):
    written = list(ids)
    with torch.inference_mode():
        for _ in range(n_new):
            logits = lm.model(torch.tensor([written], device=lm.device)).logits[0, -1]  # (n_vocab,)
            written.append(int(choose(logits, written)))
            if written[-1] in stop_ids:
                break
    return written[len(ids) :]

# %%
greedy = write(ids, lambda x, _: x.argmax(), 8)
check_close("greedy text", greedy, library(do_sample=False, max_new_tokens=8)[0], against="the model's generate")

fresh = write(ids, lambda x, written: penalize_presence(x, written, 2.0).argmax(), 8)
own = transformers.LogitsProcessorList([PresencePenalty()])
theirs_fresh = library(do_sample=False, max_new_tokens=8, logits_processor=own)[0]
check_close("with our own class", fresh, theirs_fresh, against="the model's generate")
for name, text in {"greedy": greedy, "presence 2": fresh, "stops at": stop_ids}.items():
    print(f"{name:10}", *token_labels(lm.tokenizer, text))

# %% [markdown] tags=["en"]
# The library keeps what it has computed ({{nb:07}}) and still writes the same tokens.
# With the default prompt the presence penalty turns the full stop into a comma: a full stop stands in the prompt, so it costs 2.
#
# One thing is left before the text can be shown while it grows.
# A token is not a character: a Chinese character or an emoji often takes two or three tokens, and none of them alone is readable.
# Show each token by itself and the reader sees `�`.
# The cure is to hold bytes back until a character is complete.

# %%
pieces = lm.tokenizer.encode("天气🙂 ok", add_special_tokens=False)
print("each token alone:", [lm.decode([i]) for i in pieces])
decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
print("held back:       ", [decoder.decode(token_bytes(lm.tokenizer, i)) for i in pieces])

streamed = list(stream(lm, prompt, max_new_tokens=8))  # the same decoder behind the model
print("streamed:        ", "|".join(streamed))
whole = generate(lm, prompt, max_new_tokens=8).text
print("joined, the text of generate:", "".join(streamed) == whole)

# %% [markdown] tags=["en"]
# ## 8 · When does a text repeat itself?
#
# Count the single tokens in it, the pairs, the runs of three and of four. Which share of them are different from all others?
# 1 means that nothing comes twice.
# We let the model write 15 texts of 40 tokens, three at each of five temperatures, in one batch: a class of our own gives each row its temperature.
# The stop token is held back so that all texts are equally long.

# %% tags=["nbval-ignore-output"]
heat, n_texts, n_new = [0, 0.5, 1.0, 1.5, 2.0], 3, 40
each = [t for t in heat for _ in range(n_texts)]

class OneTemperatureEach(transformers.LogitsProcessor):
    def __call__(self, input_ids, scores):
        return torch.stack([warmed(row, t) for row, t in zip(scores, each)])

torch.manual_seed(0)
own = transformers.LogitsProcessorList([OneTemperatureEach()])
length = dict(min_new_tokens=n_new, max_new_tokens=n_new)
texts = library(len(each), do_sample=True, top_k=0, logits_processor=own, **length).tolist()
for t, text in zip(heat, texts[::n_texts]):
    print(f"T {t}: {lm.decode(text[:24])!r}")

# %% tags=["nbval-ignore-output"]
def distinct(text, n):
    runs = [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]
    return len(set(runs)) / len(runs)

def at(t, n):
    return sum(distinct(text, n) for text, its in zip(texts, each) if its == t) / n_texts

curves = {f"runs of {n}": [at(t, n) for t in heat] for n in (1, 2, 3, 4)}
lines(heat, curves, "Share of runs that are new",
      seen.caption(f"{n_texts} texts of {n_new} tokens at each temperature"),
      x_title="temperature", y_title="distinct")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - In greedy text not much more than half of all pairs are new; with a little heat, most of them. Is a high score therefore good? Read the texts at 1.5 and 2.
# - There hardly anything repeats, because hardly anything is a sentence. Repetition is one failure, noise the other; the useful settings lie between.
# - A repetition penalty does not choose: it pushes against *every* word used before, full stops and articles included.

# %% [markdown] tags=["en"]
# ## 9 · Why not search for the likeliest text?
#
# Greedy takes the best *token* at each step. The best *text* may begin with a worse one.
# **Beam search** keeps several unfinished texts, lets each grow by every possible token, and keeps the best few of all.
# A text's score is the sum of its tokens' log-probabilities.

# %%
def beam_search(ids, n_new, n_beams):
    beams, scores = torch.tensor([ids], device=lm.device), torch.zeros(1, device=lm.device)
    with torch.inference_mode():
        for _ in range(n_new):
            log_p = lm.model(beams).logits[:, -1].log_softmax(dim=-1)  # (n_beams, n_vocab)
            log_p[:, list(stop_ids)] = -torch.inf
            scores, best = (scores[:, None] + log_p).flatten().topk(n_beams)
            beams = torch.cat([beams[best // n_vocab], best[:, None] % n_vocab], dim=1)
    return beams[0, len(ids) :].tolist()

beam, greedy = beam_search(ids, 14, n_beams=4), beam_search(ids, 14, n_beams=1)
length = dict(min_new_tokens=14, max_new_tokens=14)
check_close("beam search", beam, library(num_beams=4, do_sample=False, **length)[0], against="the model's generate")

# %% tags=["nbval-ignore-output"]
def log_prob(text):
    with torch.inference_mode():
        rows = lm.model(torch.tensor([ids + text], device=lm.device)).logits[0].log_softmax(dim=-1)
    return float(sum(rows[n_tokens - 1 + i, token] for i, token in enumerate(text)))

sampled = texts[each.index(1.0)][:14]
for name, text in {"beam search, 4": beam, "greedy": greedy, "drawn at T 1": sampled}.items():
    print(f"{name:15} ln p {log_prob(text):6.1f}  {lm.decode(text)!r}")

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Beam search finds a text that the model thinks about 90 times as likely as greedy's. Likelier is not truer: it says that New York City is a capital.
# - The text that was drawn is far less likely than both, and so is nearly everything people write: Holtzman et al. (2020) measured that human text keeps taking unlikely words. The likeliest continuation is the one that says least.
# - Where there is one right answer, as in translation, beam search was long the standard, and even there a wider search ends in worse texts, down to empty ones (Stahlberg & Byrne, 2019). In a chat it costs *n* times the work, cannot be streamed before it is finished, and flattens the text. So chat models draw.

# %% [markdown] tags=["en"]
# ## 10 · Which settings for which task?
#
# Nobody has measured this for your model and your task but you.
# The table is **advice**: common starting points, in `transformers`' order of rules, with the reason that speaks for each.
#
# | task | start with | because |
# |---|---|---|
# | one right answer: extraction, classification, arithmetic | greedy | a draw can only move away from the best guess |
# | code | temperature 0.2, top-p 0.95 | one wrong token breaks a program; keep the penalties off, since code repeats itself by nature |
# | chat | temperature 0.7, top-p 0.9 | varied, with the tail cut |
# | stories, ideas | temperature 1.0 to 1.2, min-p 0.05 | heat that min-p holds together |
# | several answers, the best of which is chosen | temperature 0.8 to 1.0, top-p 0.95 | they must differ to be worth comparing |
# | a text that runs in circles | repetition penalty 1.05 to 1.15, or presence 0.5 | a little: it pushes against full stops too, as step 7 shows |
#
# Change one setting at a time, and look first at what the model's makers recommend: some models that reason at length write in circles when greedy.

# %% [markdown] tags=["en"]
# ## Try it
#
# All rules on your prompt's own logits.
# The bars of *What comes in* are its outlines; filled is what the settings leave, struck out what they cut.
# With a temperature of 0.7 and top-p 0.9, as below, it starts with very few tokens. How far must you heat until ten may be drawn?

# %%
from helpers.widgets import SamplingExplorer

explorer = SamplingExplorer(logits, lm.tokenizer, context_ids=ids, temperature=0.7, top_p=0.9)
explorer

# %% [markdown] tags=["en"]
# And now a whole text, with the settings of the sliders above.
# Press a token to force it, go back, draw another. Every way you went stays below as a branch.
# The first twelve tokens and one branch are computed already; where you leave them, the kernel computes the next step.
# Each branch gets a copy of the cache ({{nb:07}}): shared, they would write into each other.

# %%
from helpers.widgets.generation import GenerationExplorer

settings = {name: value for name, value in explorer.settings.items() if name != "context_ids"}
tree = GenerationExplorer(lm, prompt, **settings)
tree

# %% [markdown] tags=["en"]
# **Things to notice**, with the default prompt
#
# - Branch 1 is greedy, branch 2 took the runner-up in one place. Which has the larger ln p? Greedy gave away a factor of 27 for half a percent.
# - Force something absurd, and go on with the likeliest. How many tokens does the model need to make sense of it?
# - `tree.text`, `tree.path`, `tree.log_prob()` hold what you chose; `tree.path = []` goes back to the prompt.

# %% [markdown] tags=["en"]
# ## Break it
#
# Three slips, and none raises an error by itself.
# The dice test of step 6 is asked about each.

# %%
right = top_p(warmed(logits, 1.5), 0.9).softmax(dim=-1)
late = warmed(top_p(logits, 0.9), 1.5).softmax(dim=-1)
draws = {"as it should be": throws(right, 0, 10_000), "temperature after top-p": throws(late, 0, 10_000)}
draws |= {"seed set anew before each draw": torch.cat([throws(right, 0, 1) for _ in range(200)])}
for name, drawn in draws.items():
    counts = torch.bincount(drawn, minlength=n_vocab).double()
    different = int((counts > 0).sum())
    print(f"{name:31} {different:4} different tokens, loaded? {chance(counts, right) < 1e-6}")
likely = logits.softmax(dim=-1).sort(descending=True).values
for p in (0.9, 0.5):
    short = int((likely.cumsum(dim=-1) < p).sum())  # the token that crosses p is dropped
    print(f"top-p {p} without the crossing token keeps {short} instead of {short + 1}")

# %% [markdown] tags=["en"]
# With the default prompt the last line reads 0: the favourite alone is above one half, so the faulty rule cuts *everything*, and softmax of nothing is `nan`.
# A seed set anew before each draw throws the same number every time: 200 draws, one token.

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · From logits to what is drawn from (10 minutes).** Temperature, then top-p, returned as probabilities that add up to 1.
# Do not call the page's `top_p`: work on the sorted probabilities and find your way back to the vocabulary's order.

# %% tags=["exercise"]
def nucleus(logits, temperature, p):
    """logits (n_vocab,), temperature above 0, p in (0, 1] -> probabilities (n_vocab,)"""
    return ...

# %% tags=["check"]
from helpers.exercises.sampling import check_nucleus, check_penalize_recent, check_write

check_nucleus(nucleus, logits)

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# A token is cut if the tokens *likelier than it* already hold `p`. Its own share does not count.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `probs.sort(descending=True)` returns the values and where they came from, `order`. `kept.scatter(0, order, values)` puts them back.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def nucleus(logits, temperature, p):
#     probs, order = (logits / temperature).softmax(dim=-1).sort(descending=True)
#     probs = probs.masked_fill(probs.cumsum(dim=-1) - probs >= p, 0.0)
#     return torch.zeros_like(logits).scatter(0, order, probs / probs.sum())
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · A penalty that forgets (6 minutes).** llama.cpp penalizes only what occurred lately. Write the repetition penalty for the last `window` tokens.

# %% tags=["exercise"]
def penalize_recent(logits, ids, penalty, window):
    """logits (n_vocab,), ids a list of token ids, the newest last -> logits (n_vocab,)"""
    return ...

# %% tags=["check"]
check_penalize_recent(penalize_recent, logits, ids)

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# `ids[-window:]` are the last ones. What must happen to a negative logit, and what to a token that occurs twice in the window?
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def penalize_recent(logits, ids, penalty, window):
#     used = torch.tensor(sorted(set(ids[-window:])), device=logits.device)
#     old = logits[used]
#     return logits.index_copy(0, used, torch.where(old > 0, old / penalty, old * penalty))
# ```
# </details>

# %% [markdown] tags=["en"]
# **3 · The loop (8 minutes).** `next_logits(ids)` stands for the model: all tokens so far in, logits (n_vocab,) out.
# Write greedily, at most `n_new` tokens. A stop token ends the text and is not part of it. Return the new tokens only.

# %% tags=["exercise"]
def write_until(next_logits, ids, stop_ids, n_new):
    """next_logits: list of ids -> logits; ids a list; stop_ids a set -> list of new ids"""
    return ...

# %% tags=["check"]
def next_logits(so_far):
    return lm.model(torch.tensor([so_far], device=lm.device)).logits[0, -1]

check_write(write_until, next_logits, ids)

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# Look at the token *before* you append it. And what does the model need to see at the next step?
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def write_until(next_logits, ids, stop_ids, n_new):
#     written = list(ids)
#     for _ in range(n_new):
#         token = int(next_logits(written).argmax())
#         if token in stop_ids:
#             break
#         written.append(token)
#     return written[len(ids):]
# ```
# </details>

# %% [markdown] tags=["en"]
# ## Fact check
#
# **"A low top-p, below 0.5, draws odd tokens."** The opposite. In step 2 top-p 0.3 keeps a single token wherever the favourite has 30 % or more, and that is greedy. Odd tokens come from a *high* top-p at a high temperature.
#
# **"Temperature toward 0 is greedy, toward infinity it is uniform."** True, as step 1 shows: at 0.01 the favourite has everything, at 10,000 it has an equal share to within a percent or so. At 0 itself the formula has no value; greedy is a branch of its own.
#
# **"Greedy text repeats itself."** Measured in step 8: it has the fewest distinct runs of all five temperatures. It repeats itself; that is not to say that repeats vanish with heat alone, or that noise is better.
#
# **"ChatGPT uses a temperature of about 0.7, for code 0.2."** Cannot be verified: the settings of a closed service are not published. Treat both as advice of the kind in step 10.

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `logits` | (n_vocab,) | what the model offers at the last position |
# | `steps["min-p 0.02"]` | (n_vocab,) | what the rules leave of it: $-\infty$ where a token is cut |
# | `probs` | (n_vocab,) | what a token is drawn from |
# | `greedy`, `texts` | lists of token ids | text |
#
# The loop of step 7 reads the whole text again for every token it adds, and yet the library wrote the same text much faster. What does it keep? {{nb:07}} takes it apart.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - Holtzman et al., *The Curious Case of Neural Text Degeneration*, 2020. [arXiv:1904.09751](https://arxiv.org/abs/1904.09751): top-p, and why likely is not good.
# - Keskar et al., *CTRL*, 2019. [arXiv:1909.05858](https://arxiv.org/abs/1909.05858): the repetition penalty, in section 4.1.
# - Nguyen et al., *Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs*, 2024. [arXiv:2407.01082](https://arxiv.org/abs/2407.01082)
# - Stahlberg & Byrne, *On NMT Search Errors and Model Errors: Cat Got Your Tongue?*, 2019. [arXiv:1908.10090](https://arxiv.org/abs/1908.10090): the likeliest translation is often empty.
