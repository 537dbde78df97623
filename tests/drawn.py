"""What plotly.js writes on the page for a figure."""

DRAWN = ("text", "ticktext", "name", "hovertemplate")


def texts(node):
    """Every string in a figure's JSON that plotly.js draws."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in DRAWN:
                yield from (
                    [value] if isinstance(value, str) else texts(value) if isinstance(value, dict) else flat(value)
                )
            elif key != "meta":
                yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)


def flat(value):
    """The strings of a list, or of a list of lists."""
    for one in value:
        yield from [one] if isinstance(one, str) else flat(one)
