"""Amounts of money as the shop writes them."""


def euros(cents):
    """1990 as "19.90"."""
    return f"{cents // 100}.{cents % 100:02d}"
