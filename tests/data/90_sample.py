# %% [markdown] tags=["en"]
# # 90 · What does a build keep?
#
# {{path}}
#
# A sample for the tests: one cell for every kind of output.

# %% [markdown] tags=["zh"]
# # 90 · 构建保留什么？
#
# {{path}}

# %%
import os

import plotly.graph_objects as go
from IPython.display import display

prompt = "The capital of France is"

# %% [markdown] tags=["en"]
# ## 1 · Text
#
# The words that the table below shows come from the language.

# %% [markdown] tags=["zh"]
# ## 1 · 文本

# %%
print(prompt, os.environ["TOKEN_JOURNEY_LANG"])
print("queries (5, 9, 64): same as the model, largest difference 6e-08, in 12.3 ms")

# %%
print("tokens: 5")

# %% [markdown] tags=["en"]
# ## 2 · A table and a figure

# %% [markdown] tags=["zh"]
# ## 2 · 表与图

# %%
view = {"model_id": "0123456789abcdef", "version_major": 2, "version_minor": 0}
table = "<table><tr><th>token</th><th>p</th></tr><tr><td>Paris</td><td>0.772</td></tr></table>"
bundle = {"application/vnd.jupyter.widget-view+json": view, "text/html": table, "text/plain": "Explorer"}
display(bundle, raw=True)

# %%
layout = {"meta": {"alt": "Two bars, the second twice the first."}, "width": 300, "height": 200}
go.Figure(go.Bar(x=["is", "Paris"], y=[0.1, 0.2]), layout)

# %% tags=["nbval-ignore-output"]
print("Rome", "Madrid")

# %% tags=["raises-exception"]
int("Paris")

# %% [markdown] tags=["en"]
# ## Exercises
#
# Write a function that doubles. One minute.

# %% [markdown] tags=["zh"]
# ## 练习


# %% tags=["exercise"]
def double(x): ...


# %% tags=["check"]
print("Right: double(x)." if double(4) == 8 else "Not done yet: double(x).")

# %% [markdown] tags=["en"]
# <details><summary>Hint</summary>
#
# Not this:
# ```python
# def double(x):
#     return x + 2
# ```
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def double(x):
#     return 2 * x
# ```
# </details>

# %% [markdown] tags=["zh"]
# <details><summary>答案</summary>
#
# ```python
# def double(x):
#     return 2 * x
# ```
# </details>
