"""The words of the lens explorer: (English, Chinese)."""

STRINGS = {
    "lens.depth": ("blocks done", "已完成的块"),
    "lens.position": ("position", "位置"),
    "lens.grid": (
        "Logit lens. Up and down change how many blocks are done, left and right the position.",
        "Logit lens。上下键改变已完成的块数，左右键改变位置。",
    ),
    "lens.mode": ("Each cell shows", "每格显示"),
    "lens.guess": ("the likeliest token there", "该处最可能的词元"),
    "lens.answer": ("the rank of the final answer", "最终答案的名次"),
    "lens.input": ("token", "词元"),
    "lens.says": (
        "After {depth} of {layers} blocks, at {token}: {guess} with {share}.",
        "{layers} 个块完成 {depth} 个后，在 {token} 处：{guess}，{share}。",
    ),
    "lens.is_answer": ("It is the final answer.", "这就是最终答案。"),
    "lens.not_answer": (
        "The final answer {answer} has rank {rank}, probability {share}.",
        "最终答案 {answer} 排第 {rank}，概率 {share}。",
    ),
    "lens.bits": ("Entropy {bits} bits.", "熵 {bits} 比特。"),
    "lens.top": ("The likeliest tokens there", "该处最可能的词元"),
    "lens.course": ("Rank of {answer} at this position", "{answer} 在此位置的名次"),
    "lens.scale_guess": (
        "Colour: probability of the token shown; bold: it is the final answer.",
        "颜色：所示词元的概率；粗体：它就是最终答案。",
    ),
    "lens.scale_answer": (
        "Colour: rank of the column's final answer, logarithmic; full colour is rank 1.",
        "颜色：该列最终答案的名次（对数）；颜色最深为第 1 名。",
    ),
    "lens.caption": (
        "Model {name}, {n_tokens} tokens, {dtype}: final norm and vocabulary table at every depth.",
        "模型 {name}，{n_tokens} 个词元，{dtype}：在每个深度使用最终归一化和词表矩阵。",
    ),
    "lens.capped": (
        "Shown are the last {shown} tokens; the {hidden} before them are left out.",
        "只显示最后 {shown} 个词元，之前的 {hidden} 个未显示。",
    ),
    "lens.table": (
        "At {token}, the likeliest next token after some of the {layers} blocks (final answer: {answer})",
        "在 {token} 处，{layers} 个块中若干个完成后的最可能词元（最终答案：{answer}）",
    ),
    "lens.next": ("likeliest", "最可能"),
    "lens.share": ("probability", "概率"),
    "lens.rank": ("rank of the answer", "答案的名次"),
}
