"""The words of the tile explorer: (English, Chinese)."""

STRINGS = {
    "flash.title": ("Attention tile by tile", "分块计算注意力"),
    "flash.tile": ("Tile", "分块"),
    "flash.head": ("Head", "头"),
    "flash.block_q": ("Rows a tile", "分块行数"),
    "flash.block_k": ("Columns a tile", "分块列数"),
    "flash.window": ("Window", "窗口"),
    "flash.none": ("none", "无"),
    "flash.decode": ("one query against the cache (decode)", "一个查询对整个缓存（解码）"),
    "flash.back": ("One tile back", "退回一个分块"),
    "flash.next": ("One tile on", "前进一个分块"),
    "flash.grid": (
        "The head's scores, tile by tile. Left and right go to the tile before and after, up and down to other rows.",
        "这个头的分数，一个分块一个分块地计算。左右键到前一个和后一个分块，上下键换行。",
    ),
    "flash.axes": (
        "Scores of head {head}: queries down, keys across.",
        "第 {head} 头的分数：纵向是查询，横向是键。",
    ),
    "flash.row": ("row {first}", "行 {first}"),
    "flash.rows": ("rows {first} to {last}", "行 {first} 到 {last}"),
    "flash.column": ("column {first}", "列 {first}"),
    "flash.columns": ("columns {first} to {last}", "列 {first} 到 {last}"),
    "flash.whole_tile": (
        "Tile {tile} of {tiles}: {rows}, {columns}: loaded.",
        "第 {tile} 个分块，共 {tiles} 个：{rows}，{columns}：已载入。",
    ),
    "flash.partly": (
        "Tile {tile} of {tiles}: {rows}, {columns}: loaded; the mask hides {hidden} of its {scores} scores.",
        "第 {tile} 个分块，共 {tiles} 个：{rows}，{columns}：已载入；{scores} 个分数中有 {hidden} 个被掩码隐藏。",
    ),
    "flash.skipped_tile": (
        "Tile {tile} of {tiles}: {rows}, {columns}: skipped. The mask hides all of it, so nothing is loaded.",
        "第 {tile} 个分块，共 {tiles} 个：{rows}，{columns}：跳过。整个分块都被掩码隐藏，什么也不载入。",
    ),
    "flash.begin": (
        "{count} of {rows} rows meet their first scores.",
        "{rows} 行中有 {count} 行得到第一批分数。",
    ),
    "flash.larger": (
        "{count} of {rows} rows found a larger score and rescaled what they had by {factors}.",
        "{rows} 行中有 {count} 行遇到更大的分数，已有的结果乘以 {factors}。",
    ),
    "flash.kept": (
        "No row found a larger score: nothing is rescaled.",
        "没有一行遇到更大的分数：不需要重新缩放。",
    ),
    "flash.both": ("{low} and {high}", "{low} 和 {high}"),
    "flash.between": ("{low} to {high}", "{low} 到 {high}"),
    "flash.done_rows": (
        "End of these rows: divided by the total, done.",
        "这些行结束：除以总和，完成。",
    ),
    "flash.same": (
        "Largest difference to the model's own result: {difference}.",
        "与模型自身结果的最大差：{difference}。",
    ),
    "flash.other": (
        "The model's own result differs by up to {difference}: in this block its rows see {own}.",
        "与模型自身结果最多相差 {difference}：模型在这个块里每行看到{own}。",
    ),
    "flash.own_all": ("all earlier tokens", "所有更早的词元"),
    "flash.own_last": ("the last {window} tokens", "最近的 {window} 个词元"),
    "flash.unfinished": (
        "These rows are unfinished: {left} more to come before the division.",
        "这些行尚未完成：除法之前还有 {left} 个分块。",
    ),
    "flash.token": ("row", "行"),
    "flash.maximum": ("maximum so far", "当前最大"),
    "flash.factor": ("rescaled by", "缩放"),
    "flash.total": ("total so far", "当前总和"),
    "flash.mix": ("mix of values so far", "当前的值混合"),
    "flash.first": ("first", "首次"),
    "flash.done": ("done", "完成"),
    "flash.skipped": ("skipped", "跳过"),
    "flash.key_score": ("score of the tile at hand, {low} to {high}", "当前分块的分数，{low} 到 {high}"),
    "flash.key_past": ("earlier tile, forgotten", "先前的分块，已丢弃"),
    "flash.key_hidden": ("hidden by the mask", "被掩码隐藏"),
    "flash.key_skipped": ("skipped tile, never loaded", "跳过的分块，从不载入"),
    "flash.key_mix": ("unfinished mix", "未完成的混合"),
    "flash.key_done": ("divided by the total (√ scale, each row its own)", "已除以总和（√ 刻度，每行各自）"),
    "flash.tiled": ("tile by tile", "分块计算"),
    "flash.whole": ("whole matrix", "整个矩阵"),
    "flash.n_loaded": ("tiles loaded so far", "已载入的分块"),
    "flash.n_skipped": ("tiles skipped so far", "已跳过的分块"),
    "flash.n_scores": ("scores held now", "现在保存的分数"),
    "flash.n_state": ("maxima, totals and mix held now", "现在保存的最大值、总和与混合"),
    "flash.n_moved": ("bytes moved so far", "已搬运的字节"),
    "flash.n_to_move": ("bytes moved in all", "总共搬运的字节"),
    "flash.of": ("{now} of {all}", "{now} / {all}"),
    "flash.more": (
        "Here the tiles move more: keys and values are loaded again for every block of rows.",
        "这里分块搬运得更多：每组行都要重新载入键和值。",
    ),
    "flash.fewer": (
        "Here the tiles move less: the scores are never written to memory.",
        "这里分块搬运得更少：分数从不写入内存。",
    ),
    "flash.caption": (
        "Model {name}, block {layer}, {dtype}; {d_head} numbers a head in q, k, v; scores are q · k times {scale}; "
        "bytes are those of one head.",
        "模型 {name}，第 {layer} 块，{dtype}；每个头的 q、k、v 有 {d_head} 个数，分数是 q · k 乘以 {scale}。"
        "字节数按一个头计算。",
    ),
    "flash.capped": (
        "The first {shown} of {n_tokens} tokens take part: no later token changes what the model computes for them.",
        "{n_tokens} 个词元中只取前 {shown} 个：后面的词元不会改变模型对它们的计算。",
    ),
    "flash.table": (
        "Tile {tile} of {tiles}, block {layer}, head {head}: the rows after it",
        "第 {tile} 个分块，共 {tiles} 个；第 {layer} 块，第 {head} 头：计算后的各行",
    ),
}
