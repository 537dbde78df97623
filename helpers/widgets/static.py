"""An explorer on a page without a kernel: the same module, on a stand-in for the notebook's widget model."""

import json
from base64 import b64encode

from helpers.widgets.base import FOLDER, bundle

_NOT_OURS = {"layout", "tabbable", "tooltip"}  # what every ipywidget carries

_PAGE = """<div class="tj-static">{table}</div>
<style>{css}</style>
<script type="module">
const place = document.querySelector(".tj-static:not([data-live])");
place.dataset.live = "";
const load = (text) => import(URL.createObjectURL(new Blob([text], {{ type: "text/javascript" }})));
const [explorer, page] = await Promise.all([{esm}, {stand_in}].map(load));
explorer.default.render({{ model: new page.StaticModel({state}), el: place }});
</script>
"""


def static_state(explorer):
    """{trait: value} of what the browser is sent, ready for JSON: bytes as {"base64": text}."""
    sent = explorer.trait_names(sync=True)
    names = [name for name in sent if not name.startswith("_") and name not in _NOT_OURS]
    return {name: _plain(getattr(explorer, name)) for name in sorted(names)}


def static_html(explorer):
    """A piece of HTML that shows `explorer` live without a kernel; where scripts are off, its table."""
    return _PAGE.format(
        table=explorer.table(),
        css=explorer._css,
        esm=_script(explorer._esm),
        stand_in=_script(bundle(FOLDER / "static_model.js")),
        state=_script(static_state(explorer)),
    )


def _plain(value):
    return {"base64": b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def _script(value):
    """JSON that may stand inside a script element."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/").replace("<!--", "<\\!--")
