"""The words of the KV cache explorer: (English, Chinese)."""

STRINGS = {
    "cache.step": ("Step", "步"),
    "cache.block": ("Block", "块"),
    "cache.back": ("One step back", "退回一步"),
    "cache.next": ("One step on", "前进一步"),
    "cache.use": ("use the cache", "使用缓存"),
    "cache.grid": (
        "Rows of keys and values, a line for each block. Left and right change the step, up and down the block.",
        "键和值的行，每个块一行。左右键换步，上下键换块。",
    ),
    "cache.prefill": (
        "Step 0, prefill: {computed} tokens at once, {computed} rows computed in each block, none read from the cache.",
        "第 0 步，预填充：一次处理 {computed} 个词元，每个块计算 {computed} 行，没有读取缓存。",
    ),
    "cache.cached": (
        "Step {step}: {token} at position {position}. In each block 1 row computed, {read} read from the cache.",
        "第 {step} 步：位置 {position} 的 {token}。每个块计算 1 行，从缓存读取 {read} 行。",
    ),
    "cache.again": (
        "Step {step}: {token} at position {position}. In each block all {computed} rows computed, "
        "{repeated} of them again.",
        "第 {step} 步：位置 {position} 的 {token}。每个块计算全部 {computed} 行，其中 {repeated} 行是重复计算。",
    ),
    "cache.reads": (
        "Block {block}: {token} reads most from {to} ({weight}).",
        "第 {block} 块：{token} 从 {to} 读得最多（{weight}）。",
    ),
    "cache.reads_none": (
        "Step on to see what the first generated token reads.",
        "前进一步，看第一个生成的词元读取什么。",
    ),
    "cache.hidden": ("{weight} of it is on tokens not shown.", "另有 {weight} 落在未显示的词元上。"),
    "cache.bars": ("share read in block {block}", "第 {block} 块读取的份额"),
    "cache.computed": ("computed in this step", "本步计算"),
    "cache.read": ("read from the cache, darker: a larger share", "从缓存读取，颜色越深份额越大"),
    "cache.with": ("with cache", "有缓存"),
    "cache.without": ("without", "无缓存"),
    "cache.row_computed": ("rows computed, a block", "每块计算的行"),
    "cache.row_read": ("rows read from the cache, a block", "每块从缓存读取的行"),
    "cache.row_now": ("multiplications in this step", "本步乘法次数"),
    "cache.row_total": ("multiplications so far", "累计乘法次数"),
    "cache.row_bytes": ("bytes in the cache", "缓存字节数"),
    "cache.million": ("{n} million", "{n} 百万"),
    "cache.caption": (
        "Model {name}, {n_tokens} tokens, {n_prompt} of them the prompt, {dtype}. Shares: attention, mean over heads. "
        "Multiplications: weights and the pairs of tokens that the mask allows, without the vocabulary table.",
        "模型 {name}，{n_tokens} 个词元，其中提示 {n_prompt} 个；份额：注意力在各头上的平均，{dtype}。"
        "乘法次数：权重和掩码允许的词元对，不含词表矩阵。",
    ),
    "cache.capped": (
        "Shown are the first token and the last {last}; the {hidden} between them are left out.",
        "这里显示第一个词元和最后 {last} 个词元，中间 {hidden} 个未显示。",
    ),
    "cache.table": ("Step {step}: {token}, with the cache and without", "第 {step} 步：{token}，有缓存和无缓存"),
    "cache.what": ("", ""),
}
