"""The checks of the exercises, one module a notebook: `from helpers.exercises.attention import check_kv_bytes`."""
