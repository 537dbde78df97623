"""The words of the generation explorer: (English, Chinese)."""

STRINGS = {
    "generation.title": ("Generation explorer", "生成探索器"),
    "generation.step": ("step", "步"),
    "generation.token": ("token", "词元"),
    "generation.before": ("before", "之前"),
    "generation.after": ("after", "之后"),
    "generation.second": ("runner-up, before", "第二名（之前）"),
    "generation.cut": ("cut", "去掉"),
    "generation.no_settings": ("all settings off", "所有设置关闭"),
    "generation.settings": ("Settings: {settings}", "设置：{settings}"),
    "generation.table": (
        "The likeliest text, token by token; probability before and after the settings ({settings})",
        "逐个词元的最可能文本；设置（{settings}）之前与之后的概率",
    ),
    "generation.prompt": ("prompt", "提示"),
    "generation.text": ("The text so far. Press a token to go back to it.", "目前的文本。按一个词元可回到那里。"),
    "generation.likeliest": ("Take the likeliest", "取最可能的"),
    "generation.draw": ("Draw one", "抽取一个"),
    "generation.back": ("Back", "后退"),
    "generation.start": ("To the prompt", "回到提示"),
    "generation.choices": (
        "What could come as token {step}. Enter takes one.",
        "第 {step} 个词元可能是什么。按回车键选取。",
    ),
    "generation.kept": (
        "Can be drawn: {kept}. Listed: {listed}.",
        "可被抽到：{kept}。列出：{listed}。",
    ),
    "generation.scale": ("√ scale", "√ 刻度"),
    "generation.computing": ("computing …", "计算中……"),
    "generation.needs_kernel": (
        "This branch has not been computed, and there is no kernel on this page to compute it. "
        "Go back, or open the notebook and run it.",
        "这个分支尚未计算，而本页没有内核来计算。请后退，或打开笔记本并运行。",
    ),
    "generation.no_answer": (
        "No answer from the kernel yet. It may be busy; if it was stopped, run the cell again.",
        "内核尚未回答。它可能正忙；如果已停止，请重新运行单元格。",
    ),
    "generation.ended_stop": (
        "{token} is a stop token: the text ends here. Go back to try another way.",
        "{token} 是停止词元：文本在此结束。可后退再试。",
    ),
    "generation.ended_full": ("The context window is full.", "上下文窗口已满。"),
    "generation.at_start": ("Nothing is written yet.", "还没有写任何词元。"),
    "generation.took": (
        "Token {step} is {token}: {before} before the settings, {after} after them.",
        "第 {step} 个词元是 {token}：设置之前 {before}，之后 {after}。",
    ),
    "generation.forced": (
        "Token {step} is {token}: {before} before the settings, which cut it. No draw could have taken it.",
        "第 {step} 个词元是 {token}：设置之前 {before}，设置把它去掉了，抽取不到它。",
    ),
    "generation.next": ("Likeliest now: {token}, {share}.", "现在最可能：{token}，{share}。"),
    "generation.branches": ("Branches. Arrow keys walk, Enter goes there.", "分支。方向键移动，回车键前往。"),
    "generation.branch": ("branch", "分支"),
    "generation.logprob": ("ln p", "ln p"),
    "generation.each": ("a token", "每词元"),
    "generation.remove": ("Remove branch {n}", "移除分支 {n}"),
    "generation.explain": (
        "Colour: probability before the settings. Faint: shared with the branch above. "
        "ln p: logarithm of the probability the model itself gives the branch.",
        "颜色：设置之前的概率。淡色：与上一分支相同。ln p：模型自身给该分支的概率的对数。",
    ),
    "generation.caption": ("Model {name}, prompt of {n_tokens} tokens.", "模型 {name}，提示有 {n_tokens} 个词元。"),
}
