import re
import unittest

import tally


class Counting(unittest.TestCase):
    def test_words_are_counted_whatever_their_case(self):
        self.assertEqual(tally.count("To be or not to be")["to"], 2)


class Documents(unittest.TestCase):
    def test_the_readme_has_every_option(self):
        options = re.findall(r"--\w+", tally.parser().format_help())
        with open("README.md") as readme:
            text = readme.read()
        missing = sorted({it for it in options if it != "--help" and it not in text})
        self.assertTrue(missing == [], "README.md lacks " + ", ".join(missing))


if __name__ == "__main__":
    unittest.main()
