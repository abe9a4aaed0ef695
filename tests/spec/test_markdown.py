"""Tables in Markdown, to the letter: committed pages change with them."""

from precog_spec.markdown import table


def test_a_table() -> None:
    shown = "| law | p95 |  |\n| --- | ---: | --- |\n| a | 2 |  |\n| b | 3.5 | c |"
    assert table(iter(["law", "p95", ""]), [["a", 2, ""], ("b", 3.5, "c")], "lr") == shown
    assert table(["law"], []) == "| law |\n| --- |"
