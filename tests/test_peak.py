"""The most memory a computation holds: exact where the answer can be counted by hand."""

import torch

from helpers.flash import attend_tiled, tiles
from helpers.flash_counts import Traffic, naive_traffic, tiled_traffic
from helpers.peak import kept_for_gradients, peak_of

KB = 1024


def floats(n_bytes):
    return torch.ones(n_bytes // 4)


def test_what_is_held_at_once_counts_and_what_is_given_back_does_not():
    assert peak_of(lambda: [floats(4 * KB) for _ in range(3)]) == 12 * KB
    assert peak_of(lambda: [floats(4 * KB).sum().item() for _ in range(3)]) == 4 * KB + 4
    x = floats(8 * KB)
    assert peak_of(lambda: (x.view(2, -1).T, x.add_(1.0))) == 0  # views, and an operation in place
    assert peak_of(lambda: x + 1.0) == 8 * KB
    assert peak_of(lambda: (x + 1.0) + 1.0) == 16 * KB  # one is read while the other is written


def test_the_matrix_is_quadratic_and_the_tiles_are_not():
    def naive(q):
        scores = torch.einsum("ihd,jhd->hij", q, q)
        return torch.einsum("hij,jhd->ihd", scores.softmax(dim=-1), q)

    def peaks(n):
        q = torch.randn(n, 3, 16)
        return peak_of(lambda: naive(q)), peak_of(lambda: attend_tiled(q, q, q, 32, 32))

    (naive_1, tiled_1), (naive_2, tiled_2) = peaks(256), peaks(512)
    assert naive_1 >= 2 * 3 * 256**2 * 4  # scores and pattern
    assert 3.8 < naive_2 / naive_1 < 4.2
    assert tiled_2 / tiled_1 < 2.0 and tiled_2 < naive_2 / 10


def test_traffic_by_hand():
    assert naive_traffic(n_q=2, n_k=4, n_heads=2, n_kv_heads=1, d_head=3, number=1) == Traffic(
        read=12 + 12 + 16 + 16 + 12, written=16 + 16 + 12
    )
    of_tiles = list(tiles(4, 4, 2, 2))  # three of four are loaded
    per_head = tiled_traffic(of_tiles, n_heads=2, n_kv_heads=1, d_head=3, number=1)
    assert tiled_traffic(tiles(4, 4, 2, 2), n_heads=2, n_kv_heads=1, d_head=3, number=1) == per_head
    assert per_head == Traffic(read=24 + 2 * 2 * 6 * 3, written=24 + 4 * 2 * 4)
    assert tiled_traffic(of_tiles, 2, 1, 3, number=1, shared=True).read == 24 + 2 * 6 * 3


def test_tiles_move_less_the_longer_the_text():
    def ratio(n):
        shape = {"n_heads": 9, "n_kv_heads": 3, "d_head": 64}
        return naive_traffic(n, n, **shape).total / tiled_traffic(list(tiles(n, n, 64, 64)), **shape).total

    assert 1 < ratio(256) < ratio(1024) < ratio(4096)


def test_each_tensor_kept_for_gradients_is_counted_once():
    x = torch.randn(3, 4, requires_grad=True)
    pattern, kept = kept_for_gradients(lambda: x.softmax(dim=-1) @ torch.eye(4))
    assert kept == [12, 16]  # softmax and product keep the same pattern; the product keeps the other matrix too
    assert pattern.shape == (3, 4)
