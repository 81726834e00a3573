"""Wilson score interval of a proportion (E. B. Wilson, 1927), at 95 %."""

from math import sqrt

Z = 1.959963984540054


def wilson(hits, n):
    share = hits / n
    spread = Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    middle = share + Z * Z / (2 * n)
    scale = 1 + Z * Z / n
    return (middle - spread) / scale, (middle + spread) / scale


def said(hits, n):
    low, high = wilson(hits, n)
    return f"{hits}/{n}  95 % Wilson {100 * low:.0f}-{100 * high:.0f} %"
