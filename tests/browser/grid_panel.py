"""An explorer with a grid, as a person has it before them."""


class GridPanel:
    """The explorer number `index` on the page: `kind` names its classes (tj-kind), `grid_name` its grid."""

    kind = grid_name = ""

    def __init__(self, page, index=0):
        self.page = page
        self.box = page.locator(f".tj-{self.kind}").nth(index)
        self.grid = self.box.get_by_role("application", name=self.grid_name)

    def press(self, *keys):
        """Press keys with the grid in focus."""
        self.grid.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def sentence(self):
        """What the explorer says in words."""
        return self.box.locator(f".tj-{self.kind}-says").inner_text()

    def cells(self, name):
        """The numbers in the line `name` of its table."""
        return self.box.locator("tr", has_text=name).locator("td").all_inner_texts()
