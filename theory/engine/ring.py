"""Ring graphs: traces of cyclic words in matrices and their transposes, up to rotation and reversal. [P] §3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Word = tuple[int, ...]
"""Letters in order: ``2 i`` is the i-th matrix of the model, ``2 i + 1`` its transpose."""

Product = tuple[Word, ...]
"""A product of rings, each canonical, in sorted order; the empty product is 1."""


def transpose(word: Word) -> Word:
    """The transposed word: reversed, every letter transposed.

    >>> transpose((0, 2, 3))
    (2, 3, 1)
    """
    return tuple(letter ^ 1 for letter in reversed(word))


def canonical(word: Word) -> Word:
    """The ring of a word: the smallest among all rotations of it and of its transpose, which share one trace.

    >>> canonical((3, 0, 2)) == canonical((3, 1, 2)) == (0, 2, 3)
    True
    """
    return min(_least_rotation(word), _least_rotation(transpose(word)))


def product(words: Iterable[Word]) -> Product:
    """The canonical product of the traces of ``words`` (none of them empty)."""
    return tuple(sorted(canonical(word) for word in words))


def symmetries(word: Word) -> int:
    """How many rotations of the word and of its transpose give the word back: the order of the ring's symmetry group.

    >>> symmetries((1, 0, 1, 0)), symmetries((0, 2, 3))
    (4, 1)
    """
    turned = transpose(word)
    rotations = [word[i:] + word[:i] for i in range(len(word))] + [turned[i:] + turned[:i] for i in range(len(word))]
    return sum(rotation == word for rotation in rotations)


def count_letters(rings: Iterable[Word]) -> Mapping[int, int]:
    """How often each matrix (by index, transposed or not) occurs.

    >>> count_letters([(1, 0, 2, 3)])
    {0: 2, 1: 2}
    """
    counts: dict[int, int] = {}
    for word in rings:
        for letter in word:
            counts[letter >> 1] = counts.get(letter >> 1, 0) + 1
    return counts


def _least_rotation(word: Word) -> Word:
    if len(word) < 2:
        return word
    first = min(word)
    return min(word[i:] + word[:i] for i, letter in enumerate(word) if letter == first)
