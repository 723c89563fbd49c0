"""Counts the words of a text."""

import argparse
import sys
from collections import Counter


def count(text):
    """How often each word occurs."""
    return Counter(text.lower().split())


def parser():
    options = argparse.ArgumentParser(prog="tally", description=__doc__)
    return options


def main():
    parser().parse_args()
    for word, n in sorted(count(sys.stdin.read()).items()):
        print(n, word)


if __name__ == "__main__":
    main()
