"""Colors that are distinguishable with every kind of color vision, shared by plots and pages."""

# Eight hues that also differ in lightness: any two differ by at least 19 in Lab, also for people without red, green or
# blue receptors.
_HUES = ("#0a4f79", "#e8b91a", "#19946a", "#d76ea3", "#5dbde7", "#8f3b16", "#6e52b7", "#8b8d00")
# With more clusters than hues, hues repeat in lighter or darker shades; neighbors always differ in hue.
_SHIFTS = (0.0, 0.4, -0.3, 0.66, -0.45)

SEQUENTIAL = ("#fbfcfe", "#d5e3f0", "#9dc3df", "#5a9bc9", "#2a6fa8", "#0c3f73", "#06264a")
"""Colors from 0 to 1: one hue, with evenly decreasing lightness."""
# Dark pages start from their own background, so that 0 is invisible there too.
_SEQUENTIAL_DARK = ("#1b2028", "#1d3a57", "#215a88", "#3380b5", "#5fa8d6", "#a3d0ec", "#eef7fd")
NO_CLUSTER = "#9aa0a6"
"""The color of rows without a cluster."""


def cluster_colors(n_clusters: int) -> list[str]:
    """Return a color for each cluster."""
    return [_shift(_HUES[c % len(_HUES)], _SHIFTS[c // len(_HUES) % len(_SHIFTS)]) for c in range(n_clusters)]


def page_colors() -> dict[str, list[str]]:
    """Return the colors of a page: of clusters, which repeat, and from 0 to 1 on light and dark pages."""
    clusters = cluster_colors(len(_HUES) * len(_SHIFTS))
    return {"clusters": clusters, "light": list(SEQUENTIAL), "dark": list(_SEQUENTIAL_DARK)}


def _shift(color: str, amount: float) -> str:
    """Return a color mixed with white (amount > 0) or black (amount < 0)."""
    target = 255 if amount > 0 else 0
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (target - part) * abs(amount)):02x}" for part in parts)
