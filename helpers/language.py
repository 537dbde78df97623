"""The words that widgets and figures show, in the reader's language.

A value goes in at `{name}`: by `text` in Python, by the explorer's own JavaScript in the browser.
"""

import os
from pathlib import Path

from helpers.errors import ReaderError

LANGUAGES = ("en", "zh")

STRINGS = {  # key: (English, Chinese)
    "explorer.missing": (
        "The live explorer needs the package anywidget; this table is its first state. "
        "Install it with: python -m pip install anywidget",
        "交互式探索器需要 anywidget 包；这张表是它的初始状态。安装命令：python -m pip install anywidget",
    ),
    "sampling.title": ("Sampling explorer", "采样探索器"),
    "sampling.repetition_penalty": ("Repetition penalty", "重复惩罚"),
    "sampling.temperature": ("Temperature", "温度"),
    "sampling.top_k": ("Top-k", "Top-k"),
    "sampling.top_p": ("Top-p", "Top-p"),
    "sampling.min_p": ("Min-p", "Min-p"),
    "sampling.off": ("off", "关闭"),
    "sampling.greedy": ("0 (greedy)", "0（贪心）"),
    "sampling.model_says": ("the model says", "模型给出"),
    "sampling.changes_none": ("changes nothing", "没有改变"),
    "sampling.less": ("{count} tokens already there: less likely", "已出现的 {count} 个词元：概率降低"),
    "sampling.more": ("{count} tokens already there: likelier", "已出现的 {count} 个词元：概率升高"),
    "sampling.sharper": ("sharper: the likely gain", "更集中：大的更大"),
    "sampling.flatter": ("flatter: the unlikely gain", "更平均：小的变大"),
    "sampling.no_context": ("no earlier tokens", "没有更早的词元"),
    "sampling.cuts": ("cuts {cut}, leaves {left}", "去掉 {cut} 个，留下 {left} 个"),
    "sampling.cuts_none": ("cuts nothing", "没有去掉任何词元"),
    "sampling.kept": (
        "Kept {kept} of {all} tokens, holding {held} of the original probability.",
        "保留 {all} 个词元中的 {kept} 个，占原始概率的 {held}。",
    ),
    "sampling.likeliest": ("Most likely: {token}, {share}.", "最可能：{token}，{share}。"),
    "sampling.tokens": ("Tokens, likeliest first", "词元，最可能的在前"),
    "sampling.scale": ("√ scale", "√ 刻度"),
    "sampling.before": ("before", "之前"),
    "sampling.after": ("after", "之后"),
    "sampling.cut": ("cut", "去掉"),
    "sampling.cut_by": ("cut: {step}", "{step} 去掉"),
    "sampling.more_kept": ("{count} more kept", "另有 {count} 个保留"),
    "sampling.more_cut": ("{count} more cut", "另有 {count} 个去掉"),
    "sampling.draw": ("Draw a token", "抽取一个词元"),
    "sampling.reset": ("Reset", "重置"),
    "sampling.unlabelled": ("id {id} (rank {rank})", "编号 {id}（第 {rank} 位）"),
    "sampling.token": ("token", "词元"),
    "attention.layer": ("Block", "块"),
    "attention.head": ("Head", "头"),
    "attention.strongest": ("Strongest on the", "平均份额最大的头："),
    "attention.first": ("first token", "第一个词元"),
    "attention.previous": ("previous token", "前一个词元"),
    "attention.itself": ("token itself", "词元自身"),
    "attention.find": ("{label}: block {layer}, head {head}", "{label}：第 {layer} 块，第 {head} 头"),
    "attention.place": ("Block {layer}, head {head}", "第 {layer} 块，第 {head} 头"),
    "attention.row": (
        "Block {layer}, head {head}: {from} looks most at {to} ({weight}).",
        "第 {layer} 块，第 {head} 头：{from} 最关注 {to}（{weight}）。",
    ),
    "attention.rest": (
        "A share of {weight} is on tokens not shown.",
        "另有 {weight} 的份额落在未显示的词元上。",
    ),
    "attention.group": (
        "Query heads {first} to {last} share KV head {kv}.",
        "第 {first} 到 {last} 个查询头共用 KV 头 {kv}。",
    ),
    "attention.means": (
        "This head's mean share: first token {first}, previous token {previous}, token itself {itself}.",
        "这个头的平均份额：第一个词元 {first}，前一个词元 {previous}，词元自身 {itself}。",
    ),
    "attention.alone": ("A single token can look only at itself.", "只有一个词元，它只能看自己。"),
    "attention.bars": ("{from} looks at", "{from} 看向"),
    "attention.from": ("looks from", "从哪里看"),
    "attention.to": ("is looked at", "看向哪里"),
    "attention.later": ("later tokens: masked", "之后的词元：被遮住"),
    "attention.kv": ("KV", "KV"),
    "attention.overview": (
        "All heads. Up and down change the block, left and right the head.",
        "所有的头。上下键换块，左右键换头。",
    ),
    "attention.map": (
        "Attention map of the selected head. Up and down change the row, left and right the column.",
        "所选头的注意力图。上下键换行，左右键换列。",
    ),
    "attention.scale": (
        "Colour: share, linear; each row sums to 1.",
        "颜色表示份额，线性刻度；每一行之和为 1。",
    ),
    "attention.caption": (
        "Model {name}, {n_tokens} tokens, attention pattern in {dtype}.",
        "模型 {name}，{n_tokens} 个词元，{dtype} 的注意力模式。",
    ),
    "attention.capped": (
        "Shown are the first token and the last {last}; the {hidden} between them are left out.",
        "这里显示第一个词元和最后 {last} 个词元，中间 {hidden} 个未显示。",
    ),
    "attention.table": (
        "Block {layer}, head {head}: what {label} looks at",
        "第 {layer} 块，第 {head} 头：{label} 看向哪里",
    ),
    "attention.weight": ("share", "份额"),
    "tokenize.title": ("Tokenizer explorer", "分词探索器"),
    "tokenize.text": ("Text: type here", "文本：在此输入"),
    "tokenize.summary": (
        "{characters} characters, {bytes} bytes, {pieces} pieces: {ratio} bytes a piece",
        "{characters} 个字符，{bytes} 个字节，{pieces} 个片段：每个片段 {ratio} 字节",
    ),
    "tokenize.step": ("Merges done", "已完成的合并"),
    "tokenize.of": ("{step} of {steps}", "第 {step} 步，共 {steps} 步"),
    "tokenize.bytes": ("Bytes", "字节"),
    "tokenize.tokens": ("Tokens", "词元"),
    "tokenize.back": ("One merge back", "退回一次合并"),
    "tokenize.next": ("One merge on", "再合并一次"),
    "tokenize.unmerged": ("No merge yet: one piece a byte.", "尚未合并：每个字节一个片段。"),
    "tokenize.no_merges": ("There is nothing to merge here.", "这里没有可合并的片段。"),
    "tokenize.merge": (
        "Merge {step} of {steps}: {left} + {right} → {made}, learned as number {rank} of {all}.",
        "第 {step} 次合并（共 {steps} 次）：{left} + {right} → {made}，训练时第 {rank} 个学到（共 {all} 个）。",
    ),
    "tokenize.pieces": (
        "Pieces. Left and right choose one and show how it was made.",
        "片段。左右键选择，并显示它由哪些合并得来。",
    ),
    "tokenize.more": ("… and {n} more", "……还有 {n} 个"),
    "tokenize.special": ("special", "特殊"),
    "tokenize.rank": ("merge {rank}", "合并 {rank}"),
    "tokenize.about": (
        "{label}: id {id}, bytes {bytes}, made by {merges} merges.",
        "{label}：编号 {id}，字节 {bytes}，由 {merges} 次合并得来。",
    ),
    "tokenize.about_byte": (
        "{label}: id {id}, the byte {bytes}. No merge made it: it is one of the entries to begin with.",
        "{label}：编号 {id}，字节 {bytes}。不由合并得来：它是最初的条目之一。",
    ),
    "tokenize.about_special": (
        "{label}: id {id}, a special token. It is looked for first, no merge makes it, and no merge crosses it.",
        "{label}：编号 {id}，特殊词元。它最先被查找，不由合并产生，合并也不会越过它。",
    ),
    "tokenize.piece": ("piece", "片段"),
    "tokenize.id": ("id", "编号"),
    "tokenize.table": ("{n} tokens", "{n} 个词元"),
}


def language():
    """`"en"` or `"zh"`: what TOKEN_JOURNEY_LANG says, else the language of the notebook's folder.

    Raises ReaderError when TOKEN_JOURNEY_LANG names another language.
    """
    chosen = os.environ.get("TOKEN_JOURNEY_LANG") or ("zh" if Path.cwd().name == "zh" else "en")
    if chosen not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ReaderError(f"TOKEN_JOURNEY_LANG is {chosen!r}, but these pages are written in: {known}.")
    return chosen


def text(key, **values):
    """The string `key` in the reader's language, with `values` filled in."""
    return STRINGS[key][LANGUAGES.index(language())].format(**values)


def strings(prefix):
    """{name: string, not filled in} of every key `prefix.name`: what an explorer's JavaScript needs."""
    column = LANGUAGES.index(language())
    start = f"{prefix}."
    return {key.removeprefix(start): row[column] for key, row in STRINGS.items() if key.startswith(start)}
