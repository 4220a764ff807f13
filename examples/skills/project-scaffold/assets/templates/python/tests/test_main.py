import unittest

from @MODULE@.main import greet


class Greeting(unittest.TestCase):
    def test_names_the_guest(self):
        self.assertIn("Ada", greet("Ada"))


if __name__ == "__main__":
    unittest.main()
