"""A table read row by row from a model's file is the loaded model's."""

import torch

from helpers.stored_table import stored_table


def test_rows_and_neighbours_are_the_models(lm):
    table, weight = stored_table("smollm2-135m"), lm.model.get_input_embeddings().weight
    assert len(table.pieces) == len(weight)
    king = lm.tokenizer.encode(" king")[0]
    row = table.row("Ġking")
    torch.testing.assert_close(row, weight[king])
    unit = weight / weight.norm(dim=-1, keepdim=True)
    expected = (unit @ unit[king]).topk(5).indices.tolist()
    nearest, other = table.nearest(torch.stack([row, 3 * weight[1000]]), 5)
    assert nearest == lm.tokenizer.convert_ids_to_tokens(expected)
    assert other[0] == lm.tokenizer.convert_ids_to_tokens([1000])[0]


def test_a_text_of_several_pieces_has_no_row(lm):
    assert stored_table("smollm2-135m").row("two words") is None


def test_a_file_that_was_not_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", str(tmp_path))
    assert stored_table("gemma3-270m") is None


def test_what_the_page_says_of_gemma(gemma):
    table = stored_table("gemma3-270m")
    assert table.row("王后") is None and table.row("国王") is not None
    apple = table.nearest(table.row("苹果")[None], 10)[0]
    assert apple[0] == "苹果" and {"Apple", "手机", "iPhone"} <= set(apple) and "梨" not in apple
